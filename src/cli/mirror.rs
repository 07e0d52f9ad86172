//! `cxfw mirror`: an index over a folder of firmware, for sites without internet and for any web
//! server.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::args::DeviceArgs;
use super::download::{FAREWELL, boards};
use super::error::CliError;
use super::exit::Exit;
use super::fetch::{Fetch, Haul};
use super::host::Host;
use super::interrupt::{Farewell, Interrupt};
use super::release_args::{HEADING, NetworkArgs};
use super::release_error::ReleaseError;
use super::releases::asked;
use super::settings::{Format, Settings};
use crate::config::Config;
use crate::identity::Psid;
use crate::release::index::Signer;
use crate::release::mirror::{self, Built, Options, SignatureState};
use crate::release::service::{NAME, PUBLIC_KEY, VENDOR_SERVER};
use crate::release::{Asked, Source};
use crate::report::json::{LeftOut, Mirror};
use crate::report::transfer::TransferBoard;
use crate::report::{json, releases as text};

/// Password of the signing key.
const PASSWORD: &str = "CXFW_SIGN_PASSWORD";

/// Arguments of `mirror`.
#[derive(Debug, Args)]
pub struct MirrorArgs {
    /// Folder of firmware
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Sign the index with this minisign secret key; the password of a protected one is taken from
    /// CXFW_SIGN_PASSWORD
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,

    /// Number of the index, in place of the next one
    #[arg(long, value_name = "N")]
    serial: Option<u64>,

    /// First fetch releases from the vendor's online service, for --psid or --all-cards
    #[arg(long, help_heading = HEADING, requires = "boards")]
    from_online: bool,

    /// The newest release for this board; repeatable
    #[arg(long, help_heading = HEADING, value_name = "PSID", group = "boards", requires = "from_online")]
    psid: Vec<String>,

    /// The newest release for every card of this host
    #[arg(
        long,
        group = "boards",
        requires = "from_online",
        conflicts_with = "psid"
    )]
    all_cards: bool,

    /// Another server that speaks as the vendor's service does
    #[arg(long, help_heading = HEADING, value_name = "URL", requires = "from_online")]
    server_url: Option<String>,

    /// Release stream of the service
    #[arg(long, help_heading = HEADING, value_name = "KEY", requires = "from_online")]
    server_key: Option<String>,

    /// How to get there.
    #[command(flatten)]
    network: NetworkArgs,
}

impl MirrorArgs {
    /// Fetches what is wanted, then builds or renews the index.
    ///
    /// # Errors
    /// The key cannot be used, or the index not be written. Files that cannot be fetched or offered
    /// are told of beside what was done.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("mirror")?;
        self.network.refuse_insecure()?;
        // A key that cannot be used is told of before anything is fetched.
        let signer = self.sign.as_deref().map(open_key).transpose()?;
        if !self.from_online && !self.folder.is_dir() {
            return Err(CliError::NotADirectory {
                path: self.folder.clone(),
            });
        }
        let haul = if self.from_online {
            self.fetch(settings)?
        } else {
            Haul::default()
        };
        super::warn(settings, &haul.warnings);
        let options = Options {
            serial: self.serial,
            date: None,
            signer: signer.as_ref(),
        };
        let built = mirror::build(&self.folder, &options, &mut |file| {
            log::info!("examining {file}");
        })
        .map_err(ReleaseError::Mirror)?;
        if built.releases == 0 {
            let folder = self.folder.display();
            let text = format!("{folder}: no firmware in it, so the index lists nothing");
            super::warn(settings, &[text]);
        }
        report(settings, &haul, &built)?;
        Ok(if haul.failures.is_empty() && built.problems.is_empty() {
            Exit::Done
        } else {
            Exit::Failed
        })
    }

    fn fetch(&self, settings: &Settings) -> Result<Haul, CliError> {
        let service = self.service(&settings.config);
        let sources = self.network.sources(vec![service], &settings.config)?;
        let fetch = Fetch {
            sources: &sources,
            folder: &self.folder,
            freshness: self.network.freshness(),
            lines: &settings.config.branches,
        };
        let asked = self.asked(settings)?;
        let interrupt = Interrupt::listen()?;
        let waiting = interrupt.waiting(Farewell::of("mirror", settings, FAREWELL));
        let mut haul = fetch.boards(&asked, &mut TransferBoard::new(settings.progress));
        drop(waiting);
        let all_unlisted = haul.not_listed.len() == asked.len();
        if !haul.not_listed.is_empty() && (!self.all_cards || all_unlisted) {
            let names = haul.searched.iter().map(|list| list.name.clone());
            let error = ReleaseError::NotListed {
                boards: haul.not_listed.iter().map(Psid::to_string).collect(),
                searched: names.collect(),
            };
            haul.failures.push(error.into());
        }
        Ok(haul)
    }

    /// The service that was named, else the site's, else the vendor's.
    fn service(&self, config: &Config) -> Source {
        let of_site = config.sources.iter().find_map(|source| match source {
            Source::Online { server, key, .. } => Some((server.clone(), key.clone())),
            Source::Index(_) => None,
        });
        let (server, key) =
            of_site.unwrap_or_else(|| (VENDOR_SERVER.to_owned(), PUBLIC_KEY.to_owned()));
        Source::Online {
            server: self.server_url.clone().unwrap_or(server),
            key: self.server_key.clone().unwrap_or(key),
            name: NAME.into(),
        }
    }

    fn asked(&self, settings: &Settings) -> Result<Vec<Asked>, CliError> {
        if !self.all_cards {
            return boards(&self.psid);
        }
        let survey = Host::open(settings)?.survey(&DeviceArgs::default())?;
        Ok(asked(&survey.reports))
    }
}

fn open_key(path: &Path) -> Result<Signer, CliError> {
    let password = std::env::var(PASSWORD).ok();
    Ok(Signer::open(path, password).map_err(ReleaseError::Key)?)
}

fn report(settings: &Settings, haul: &Haul, built: &Built) -> Result<(), CliError> {
    let left_out = built.problems.iter().map(|problem| LeftOut {
        file: problem.file.clone(),
        reason: problem.reason.clone(),
    });
    let document = Mirror {
        index: built.index.clone(),
        serial: built.serial,
        changed: built.changed,
        signature: match built.signature {
            SignatureState::None => "none",
            SignatureState::Kept => "kept",
            SignatureState::Made => "made",
            SignatureState::Removed => "removed",
        },
        releases: built.releases,
        firmware_files: built.files,
        examined: built.examined.iter().map(ToString::to_string).collect(),
        passed_over: built.passed_over,
        left_out: left_out.collect(),
        sources: &haul.searched,
        files: &haul.files,
    };
    let mut out = BufWriter::new(io::stdout().lock());
    if settings.format == Format::Json {
        let problems: Vec<_> = haul.failures.iter().map(CliError::problem).collect();
        json::mirror(&mut out, &document, &problems)?;
    } else {
        text::mirror(&mut out, &document)?;
    }
    out.flush()?;
    for error in &haul.failures {
        super::tell(settings, error);
    }
    Ok(())
}
