//! Options about releases: where to look for them, and how to get there.

use std::path::PathBuf;

use clap::Args;

use super::error::CliError;
use super::release_error::ReleaseError;
use crate::config::Config;
use crate::release::download::Limits;
use crate::release::http::{self, AllowedHosts, Connector, ProxyChoice};
use crate::release::index::Keys;
use crate::release::service::{NAME, PUBLIC_KEY, VENDOR_SERVER};
use crate::release::{Cache, Freshness, IndexPlace, IndexSource, Source, Sources};
use crate::sys;

/// Where these options stand in the help.
pub const HEADING: &str = "Releases and servers";

/// Where releases are listed.
#[derive(Debug, Clone, Default, Args)]
pub struct ReleaseArgs {
    /// Look at the vendor's online service
    #[arg(long, help_heading = HEADING)]
    pub online: bool,

    /// Look at an index: an address or a path, of the document or of its folder; repeatable
    #[arg(long, help_heading = HEADING, value_name = "URL-or-FILE")]
    pub index: Vec<String>,

    /// Another server that speaks as the vendor's service does [default: https://www.mellanox.com]
    #[arg(long, help_heading = HEADING, value_name = "URL", requires = "online")]
    pub server_url: Option<String>,

    /// Release stream of the service
    #[arg(long, help_heading = HEADING, value_name = "KEY", requires = "online")]
    pub server_key: Option<String>,

    /// Indexes have to be signed by this minisign key: its text, or a file with it; repeatable
    #[arg(long, help_heading = HEADING, value_name = "KEY", requires = "index")]
    pub index_key: Vec<String>,

    /// How to get there.
    #[command(flatten)]
    pub network: NetworkArgs,
}

/// How servers are reached, and where what they send is kept.
#[derive(Debug, Clone, Default, Args)]
pub struct NetworkArgs {
    /// Believe the certificates in this PEM file too; repeatable
    #[arg(long, help_heading = HEADING, value_name = "FILE")]
    pub cafile: Vec<PathBuf>,

    /// Proxy in place of those of the environment; `none`: no proxy
    #[arg(long, help_heading = HEADING, value_name = "URL")]
    pub proxy: Option<String>,

    /// Hosts without a proxy (names, addresses, networks), beside those of $no_proxy; repeatable
    #[arg(long, help_heading = HEADING, value_name = "HOST", value_delimiter = ',')]
    pub no_proxy: Vec<String>,

    /// Fetch files anew that were fetched before
    #[arg(long, help_heading = HEADING)]
    pub refresh: bool,

    /// Folder of fetched files
    #[arg(long, help_heading = HEADING, value_name = "DIR", env = "CXFW_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,

    /// Refused: nothing but the certificate says whose firmware it is
    #[arg(long, hide = true)]
    pub insecure: bool,
}

impl ReleaseArgs {
    /// A source was named.
    #[must_use]
    pub const fn is_given(&self) -> bool {
        self.online || !self.index.is_empty()
    }

    /// The sources that were named, else those of the site: indexes first, since they are one's
    /// own, each once.
    ///
    /// # Errors
    /// What was named is no index, or its key no key.
    pub fn list(&self, config: &Config) -> Result<Vec<Source>, CliError> {
        if !self.is_given() {
            return Ok(config.sources.clone());
        }
        let keys = if self.index_key.is_empty() {
            config.keys.clone()
        } else {
            Keys::new(&self.index_key).map_err(ReleaseError::Key)?
        };
        let mut list: Vec<Source> = Vec::new();
        for text in &self.index {
            let place = IndexPlace::parse(text).map_err(ReleaseError::Index)?;
            let name = place.shown();
            if list.iter().all(|source| *source.name() != *name) {
                list.push(Source::Index(IndexSource {
                    place,
                    keys: keys.clone(),
                    name: name.into(),
                }));
            }
        }
        if self.online {
            let server = self.server_url.clone();
            let key = self.server_key.clone();
            list.push(Source::Online {
                server: server.unwrap_or_else(|| VENDOR_SERVER.to_owned()),
                key: key.unwrap_or_else(|| PUBLIC_KEY.to_owned()),
                name: NAME.into(),
            });
        }
        Ok(list)
    }
}

impl NetworkArgs {
    /// These sources, ready to be asked.
    ///
    /// # Errors
    /// A folder that cannot be the cache; `--insecure`.
    pub fn sources(&self, list: Vec<Source>, config: &Config) -> Result<Sources, CliError> {
        self.refuse_insecure()?;
        let connector = Connector::new(self.connection(config));
        let folder = self.cache_dir.clone().or_else(|| config.cache.clone());
        let cache = Cache::open(&folder.unwrap_or_else(sys::default_cache_dir))
            .map_err(ReleaseError::Cache)?;
        Ok(Sources::new(
            list,
            connector.into(),
            cache,
            Limits::default(),
        ))
    }

    /// Certificates are always checked.
    ///
    /// # Errors
    /// [`ReleaseError::Insecure`].
    pub fn refuse_insecure(&self) -> Result<(), CliError> {
        if self.insecure {
            return Err(ReleaseError::Insecure.into());
        }
        Ok(())
    }

    /// The site's words, and what the command line adds to them or says in their place.
    fn connection(&self, config: &Config) -> http::Settings {
        let ca_files = config.ca_files.iter().chain(&self.cafile);
        let no_proxy = config.proxy.no_proxy.iter().chain(&self.no_proxy);
        http::Settings {
            ca_files: ca_files.cloned().collect(),
            proxy: ProxyChoice {
                proxy: self.proxy.clone().or_else(|| config.proxy.proxy.clone()),
                no_proxy: no_proxy.cloned().collect(),
            },
            allowed_hosts: AllowedHosts::vendor().and(&config.allowed_hosts),
            timeouts: config.timeouts,
            retries: config.retries,
        }
    }

    /// Whether files that are there are good enough.
    #[must_use]
    pub const fn freshness(&self) -> Freshness {
        if self.refresh {
            Freshness::Refresh
        } else {
            Freshness::Keep
        }
    }
}
