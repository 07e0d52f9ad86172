//! What a site says for all its hosts: `/etc/cxfw/config.toml`.
//!
//! ```toml
//! cache = "/var/cache/cxfw"             # fetched files
//! backup = "/var/lib/cxfw/backups"      # saved firmware
//! cafile = ["site-ca.pem"]              # authorities to believe, beside the system's
//! proxy = "http://proxy.example:3128"   # in place of https_proxy; "none": no proxy
//! no_proxy = ["mirror.example"]         # beside $no_proxy
//! allowed_hosts = ["*.example"]         # where redirects may lead, beside the vendor's hosts
//! keys = ["RWQ...", "site.pub"]         # with one, every index has to be signed
//!
//! [[source]]                            # in the order of trust
//! index = "https://mirror.example/fw/"  # or a folder
//! name = "site"
//! keys = ["RWQ..."]                     # in place of those above
//!
//! [[source]]
//! online = "https://www.mellanox.com"   # the vendor's service
//! key = "last_release"                  # and a `name`, where two services are asked
//!
//! [branches]                            # release lines to stay on, by chip
//! "ConnectX-7" = "28.39.*"
//!
//! [timeouts]                            # in seconds
//! connect = 15                          # for a connection
//! stall = 30                            # for an answer to begin, and for each further byte
//! grace = 60                            # for every body, whatever its size
//! slowest = 16384                       # bytes a second that a body has to make beyond that
//! attempts = 5                          # in a row that bring nothing
//! pause = 0.5                           # before the second attempt; doubled before each further one
//! ```
//!
//! Everything may be left out. A key that nobody knows and a value that makes no sense are errors
//! with line and column: a misspelt `proxy` must not be a proxy that is not used. Paths are taken
//! from the folder of the file.

#[cfg(test)]
mod tests;
mod timeouts;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use toml::Spanned;

use crate::model::Model;
use crate::plan::Branch;
use crate::release::http::{self, AllowedHosts, ProxyChoice, Retries, Timeouts};
use crate::release::index::{IndexPlace, IndexSource, Keys, family};
use crate::release::service::{self, NAME, PUBLIC_KEY, VENDOR_SERVER};
use crate::release::source::Source;
use crate::sys;

/// A site's words, understood.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Folder of fetched files.
    pub cache: Option<PathBuf>,
    /// Folder of saved firmware.
    pub backup: Option<PathBuf>,
    /// Files of authorities to believe.
    pub ca_files: Vec<PathBuf>,
    /// Proxies.
    pub proxy: ProxyChoice,
    /// Where redirects may lead, beside the vendor's hosts.
    pub allowed_hosts: AllowedHosts,
    /// Keys for indexes that are named on the command line.
    pub keys: Keys,
    /// Sources in order.
    pub sources: Vec<Source>,
    /// Release lines to stay on, by chip.
    pub branches: Vec<(&'static Model, Branch)>,
    /// Longest waits for servers.
    pub timeouts: Timeouts,
    /// Repeated attempts.
    pub retries: Retries,
}

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It says something that makes no sense.
    #[error("{}:{line}:{column}: {reason}", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
        /// What is wrong.
        reason: String,
    },
}

/// The file as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    cache: Option<PathBuf>,
    backup: Option<PathBuf>,
    #[serde(default)]
    cafile: Vec<PathBuf>,
    proxy: Option<Spanned<String>>,
    #[serde(default)]
    no_proxy: Vec<String>,
    #[serde(default)]
    allowed_hosts: Vec<Spanned<String>>,
    #[serde(default)]
    keys: Vec<Spanned<String>>,
    #[serde(default, rename = "source")]
    sources: Vec<Spanned<WrittenSource>>,
    #[serde(default)]
    branches: BTreeMap<Spanned<String>, Spanned<String>>,
    #[serde(default)]
    timeouts: timeouts::Written,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSource {
    index: Option<Spanned<String>>,
    online: Option<Spanned<String>>,
    name: Option<String>,
    key: Option<Spanned<String>>,
    keys: Option<Vec<Spanned<String>>>,
}

/// What is wrong, and the byte where it begins.
struct Fault {
    at: usize,
    reason: String,
}

impl Config {
    /// The configuration at `path`; without one the site's, which need not be there.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn load(path: Option<&Path>) -> Result<Self, ConfigError> {
        let file = path.unwrap_or_else(|| Path::new(sys::CONFIG_FILE));
        match fs::read_to_string(file) {
            Ok(text) => Self::parse(file, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_none() => {
                Ok(Self::default())
            }
            Err(source) => Err(ConfigError::Io {
                path: file.to_owned(),
                source,
            }),
        }
    }

    /// The configuration in `text`, which is that of the file `path`.
    ///
    /// # Errors
    /// [`ConfigError::Wrong`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, ConfigError> {
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        let written: Result<Written, Fault> = toml::from_str(text).map_err(|error| Fault {
            at: error.span().map_or(text.len(), |span| span.start),
            reason: error.message().to_owned(),
        });
        written
            .and_then(|written| Self::understand(written, folder))
            .map_err(|fault| {
                let (line, column) = position(text, fault.at);
                ConfigError::Wrong {
                    path: path.to_owned(),
                    line,
                    column,
                    reason: fault.reason,
                }
            })
    }

    fn understand(written: Written, folder: &Path) -> Result<Self, Fault> {
        let keys = keys(&written.keys, folder)?;
        let mut sources: Vec<Source> = Vec::new();
        for source in written.sources {
            let at = source.span().start;
            let source = understand_source(source, &keys, folder)?;
            // Answers say by name which source they are from.
            if sources.iter().any(|known| known.name() == source.name()) {
                let reason = format!("a second source with the name `{}`", source.name());
                return Err(Fault { at, reason });
            }
            sources.push(source);
        }
        let (timeouts, retries) = written.timeouts.understand()?;
        Ok(Self {
            cache: written.cache.map(|path| folder.join(path)),
            backup: written.backup.map(|path| folder.join(path)),
            ca_files: written
                .cafile
                .iter()
                .map(|path| folder.join(path))
                .collect(),
            proxy: ProxyChoice {
                proxy: written.proxy.as_ref().map(proxy).transpose()?,
                no_proxy: written.no_proxy,
            },
            allowed_hosts: allowed_hosts(&written.allowed_hosts)?,
            branches: branches(&written.branches)?,
            keys,
            sources,
            timeouts,
            retries,
        })
    }
}

fn understand_source(
    source: Spanned<WrittenSource>,
    keys_of_site: &Keys,
    folder: &Path,
) -> Result<Source, Fault> {
    let at = source.span().start;
    let fault = |reason: &str| Fault {
        at,
        reason: reason.to_owned(),
    };
    let source = source.into_inner();
    match (source.index, source.online) {
        (Some(index), None) => {
            if let Some(key) = source.key {
                return Err(at_value(&key, "`key` is for `online`; an index has `keys`"));
            }
            let keys = match source.keys {
                Some(written) => keys(&written, folder)?,
                None => keys_of_site.clone(),
            };
            let place = IndexPlace::parse(&below(folder, index.get_ref()))
                .map_err(|error| at_value(&index, error))?;
            let name = source.name.unwrap_or_else(|| place.shown());
            Ok(Source::Index(IndexSource {
                place,
                keys,
                name: Arc::from(name),
            }))
        }
        (None, Some(server)) => {
            if source.keys.is_some() {
                return Err(fault("`keys` are for an `index`"));
            }
            if !server.get_ref().is_empty() {
                service::server_url(server.get_ref()).map_err(|error| at_value(&server, error))?;
            }
            let server = Some(server.into_inner()).filter(|server| !server.is_empty());
            let key = source.key.map(Spanned::into_inner);
            Ok(Source::Online {
                server: server.unwrap_or_else(|| VENDOR_SERVER.to_owned()),
                key: key.unwrap_or_else(|| PUBLIC_KEY.to_owned()),
                name: source.name.as_deref().unwrap_or(NAME).into(),
            })
        }
        _ => Err(fault("a source has either `index` or `online`")),
    }
}

fn proxy(written: &Spanned<String>) -> Result<String, Fault> {
    let text = written.get_ref();
    http::proxy::parse("proxy", text).map_err(|error| at_value(written, error))?;
    Ok(text.clone())
}

/// Names and `*.NAME`; an address with `https://` or a path would never be one of them.
fn allowed_hosts(written: &[Spanned<String>]) -> Result<AllowedHosts, Fault> {
    for host in written {
        let text = host.get_ref();
        if text.is_empty() || text == "*" || text.contains(['/', ' ']) {
            let reason = format!("`{text}` is no host: write NAME or *.NAME");
            return Err(at_value(host, reason));
        }
    }
    let hosts: Vec<&str> = written.iter().map(|host| host.get_ref().as_str()).collect();
    Ok(AllowedHosts::new(&hosts))
}

fn keys(written: &[Spanned<String>], folder: &Path) -> Result<Keys, Fault> {
    let mut texts = Vec::new();
    for key in written {
        let text = key.get_ref();
        // A key is a key before it is a file of that name.
        let text = match Keys::new(&[text]) {
            Ok(_) => text.clone(),
            Err(_) => below(folder, text),
        };
        Keys::new(&[&text]).map_err(|error| at_value(key, error))?;
        texts.push(text);
    }
    Keys::new(&texts).map_err(|error| Fault {
        at: 0,
        reason: error.to_string(),
    })
}

fn branches(
    written: &BTreeMap<Spanned<String>, Spanned<String>>,
) -> Result<Vec<(&'static Model, Branch)>, Fault> {
    let mut branches = Vec::new();
    for (chip, branch) in written {
        let model = family::model(chip.get_ref())
            .ok_or_else(|| at_value(chip, format!("`{}` is no chip known here", chip.get_ref())))?;
        let line: Branch = branch
            .get_ref()
            .parse()
            .map_err(|error| at_value(branch, error))?;
        if !line.is_of(model.fw_major) {
            let reason = format!(
                "{line} is no line of {}: its versions begin with {}",
                model.long_name, model.fw_major
            );
            return Err(at_value(branch, reason));
        }
        if branches
            .iter()
            .any(|(known, _): &(&Model, Branch)| known.hw_id == model.hw_id)
        {
            return Err(at_value(
                chip,
                format!("a second line for {}", model.long_name),
            ));
        }
        branches.push((model, line));
    }
    Ok(branches)
}

/// A path of the file's folder; addresses stay as they are.
fn below(folder: &Path, text: &str) -> String {
    if text.contains("://") {
        text.to_owned()
    } else {
        folder.join(text).to_string_lossy().into_owned()
    }
}

fn at_value<T>(value: &Spanned<T>, reason: impl ToString) -> Fault {
    Fault {
        at: value.span().start,
        reason: reason.to_string(),
    }
}

/// Line and column of a byte.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    (line, column)
}
