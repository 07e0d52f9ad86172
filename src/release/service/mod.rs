//! The vendor's online service: which release it lists for a board (mft-compat 5).
//!
//! One POST asks for up to [`BATCH`] boards. The answer says for each whether it is listed; that
//! is never mixed up with a question that got no answer, which is an error. [`answer`] reads what
//! the server sends, with the liberties servers take.

mod answer;

use std::sync::Arc;

use reqwest::Url;
use serde_json::json;

use super::content;
use super::http::hosts::is_loopback;
use super::http::{Client, HttpError, JsonAnswer, shown};
use super::record::{Asked, Place, Release, Unsorted, component_version, same_board};
use crate::identity::Psid;

pub use answer::{BadAnswer, ListedFile};

/// Where the vendor's service is.
pub const VENDOR_SERVER: &str = "https://www.mellanox.com";
/// Release stream of the public.
pub const PUBLIC_KEY: &str = "last_release";
/// How sources call the service.
pub const NAME: &str = "online";

/// Path of the service on its server.
const ENDPOINT: &str = "downloads/firmware/mlx_fw_online_query.php";
/// Boards in one request (mft-compat 5.2).
pub const BATCH: usize = 50;
/// Largest answer, in bytes; one board takes less than 1 kB.
const ANSWER: u64 = 4 << 20;

/// The service.
#[derive(Debug, Clone)]
pub struct Service {
    client: Client,
    server: Url,
    key: String,
    name: Arc<str>,
}

/// What the service knows of the boards that were asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// One for each board that is listed, in the order of the question.
    pub releases: Vec<Release>,
    /// Boards that are not.
    pub unlisted: Vec<Psid>,
    /// Boards of which the answer makes no sense, and why.
    pub faulty: Vec<(Psid, ServiceError)>,
    /// Oddities of the answer, one sentence each.
    pub warnings: Vec<String>,
}

/// A question without a usable answer. It says nothing about the boards.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// On the way to the server and back.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The address of the server cannot be used.
    #[error("server `{server}`: {reason}")]
    BadServer {
        /// As it was written.
        server: String,
        /// Why not.
        reason: String,
    },
    /// A web page came in place of an answer.
    #[error("{url}: a web page{} in place of the answer", page.as_ref().map_or_else(String::new, |title| format!(" (`{title}`)")))]
    WebPage {
        /// Who sent it.
        url: String,
        /// Title of the page.
        page: Option<String>,
    },
    /// The answer is not what the protocol says.
    #[error("{url}: bad answer: {fault}")]
    BadAnswer {
        /// Who sent it.
        url: String,
        /// Where, and what is wrong.
        fault: BadAnswer,
    },
}

impl ServiceError {
    /// Stable word for programs.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Http(error) => error.class(),
            Self::BadServer { .. } => "bad_url",
            Self::WebPage { .. } => "web_page",
            Self::BadAnswer { .. } => "bad_answer",
        }
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub const fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Http(error) => error.advice(),
            Self::BadServer { .. } => Some("give --server-url https://HOST"),
            Self::WebPage { .. } => Some(
                "a proxy or a login page is in the way; open the address in a browser to see it",
            ),
            Self::BadAnswer { .. } => {
                Some("check --server-url; an index of your own works without this service")
            }
        }
    }
}

/// What is asked about boards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// What is newest for these cards.
    Newest = 0,
    /// What there is for these PSIDs.
    Psids = 3,
}

impl Service {
    /// The service at `server` (the part of the address before `/downloads/...`); `key` selects a
    /// release stream.
    ///
    /// # Errors
    /// [`ServiceError::BadServer`]: not an https address. Plain http is for servers on this very
    /// host only: nothing but TLS says whose firmware it is.
    pub fn new(client: Client, server: &str, key: &str) -> Result<Self, ServiceError> {
        Ok(Self {
            client,
            server: server_url(server)?,
            key: key.to_owned(),
            name: Arc::from(NAME),
        })
    }

    /// The same, as reports are to call it.
    #[must_use]
    pub fn named(mut self, name: &Arc<str>) -> Self {
        self.name = Arc::clone(name);
        self
    }

    /// The newest release for each of these boards.
    ///
    /// # Errors
    /// [`ServiceError`]; then nothing is known about any of them.
    pub fn newest(&self, asked: &[Asked]) -> Result<Listing, ServiceError> {
        self.boards(asked, Mode::Newest)
    }

    /// The release listed for each of these PSIDs, whatever card they are for.
    ///
    /// # Errors
    /// As [`Service::newest`].
    pub fn look_up(&self, psids: &[Psid]) -> Result<Listing, ServiceError> {
        let asked: Vec<Asked> = psids
            .iter()
            .map(|psid| Asked {
                psid: psid.clone(),
                version: None,
            })
            .collect();
        self.boards(&asked, Mode::Psids)
    }

    /// Every file the service lists.
    ///
    /// # Errors
    /// As [`Service::newest`].
    pub fn files(&self) -> Result<Vec<ListedFile>, ServiceError> {
        let body = json!({
            "mode": 2, "psids": "", "os": "all", "type": "all", "devs": "all", "key": self.key,
        });
        let (url, answer) = self.ask(&body)?;
        answer::files(&answer).map_err(|fault| ServiceError::BadAnswer { url, fault })
    }

    /// Every file of firmware the service lists.
    ///
    /// # Errors
    /// As [`Service::newest`]; also for a file whose name or address cannot be used.
    pub fn firmware(&self) -> Result<Vec<Unsorted>, ServiceError> {
        let files = self.files()?;
        let firmware = files.into_iter().filter(ListedFile::is_firmware);
        firmware.map(|file| self.unsorted(file)).collect()
    }

    fn unsorted(&self, file: ListedFile) -> Result<Unsorted, ServiceError> {
        let bad = |field: &str, found: &str, reason: String| ServiceError::BadAnswer {
            url: shown(&self.server),
            fault: BadAnswer::Field {
                field: field.to_owned(),
                expected: format!("the name and address of a file ({reason})"),
                found: super::http::printable(found),
            },
        };
        let place = self
            .file_url(&file.url)
            .map_err(|reason| bad("URL", &file.url, reason))?;
        let name = file.file_name();
        Ok(Unsorted {
            file: name.map_err(|error| bad("Name", &file.name, error.reason.to_owned()))?,
            place: Place::Remote(place),
            notes: file.notes,
            source: Arc::clone(&self.name),
        })
    }

    /// Where a listed file is.
    ///
    /// # Errors
    /// The address leads nowhere that may be asked.
    pub fn file_url(&self, path: &str) -> Result<Url, String> {
        let url = self
            .server
            .join(path.trim_start_matches('/'))
            .map_err(|error| error.to_string())?;
        if url.scheme() != self.server.scheme() && url.scheme() != "https" {
            return Err("it is not https".to_owned());
        }
        if url.host_str() != self.server.host_str() && !self.client.may_go_to(&url) {
            return Err("the host is not on the list of allowed hosts".to_owned());
        }
        Ok(url)
    }

    fn boards(&self, asked: &[Asked], mode: Mode) -> Result<Listing, ServiceError> {
        let mut listing = Listing::default();
        for batch in distinct(asked).chunks(BATCH) {
            let (url, answer) = self.ask(&self.question(batch, mode))?;
            let boards = answer::boards(&answer).map_err(|fault| ServiceError::BadAnswer {
                url: url.clone(),
                fault,
            })?;
            self.sort_out(batch, boards, &url, &mut listing);
        }
        Ok(listing)
    }

    fn question(&self, batch: &[&Asked], mode: Mode) -> serde_json::Value {
        let joined = |item: &dyn Fn(&Asked) -> String| {
            let items: Vec<String> = batch.iter().map(|asked| item(asked)).collect();
            items.join(",")
        };
        let psids = joined(&|asked| asked.psid.as_str().to_ascii_uppercase());
        let mode_number = mode as u8;
        if mode == Mode::Psids {
            return json!({"mode": mode_number, "psids": psids, "key": self.key});
        }
        let version = |asked: &Asked| asked.version.map(|version| version.to_string());
        json!({
            "mode": mode_number,
            "psids": psids,
            "devs": ",".repeat(batch.len().saturating_sub(1)),
            "versions": joined(&|asked| version(asked).unwrap_or_default()),
            "key": self.key,
        })
    }

    fn ask(&self, body: &serde_json::Value) -> Result<(String, serde_json::Value), ServiceError> {
        let endpoint = self
            .server
            .join(ENDPOINT)
            .map_err(|error| ServiceError::BadServer {
                server: shown(&self.server),
                reason: error.to_string(),
            })?;
        let JsonAnswer { url, is_html, body } =
            self.client
                .post_json(&endpoint, &body.to_string(), ANSWER)?;
        let url = shown(&url);
        if let Some(page) = content::web_page(&body) {
            let page = page.title;
            return Err(ServiceError::WebPage { url, page });
        }
        match serde_json::from_slice(&body) {
            Ok(answer) => Ok((url, answer)),
            Err(_) if is_html => Err(ServiceError::WebPage { url, page: None }),
            Err(error) => Err(ServiceError::BadAnswer {
                url,
                fault: BadAnswer::not_json(&error, body.len()),
            }),
        }
    }

    /// Puts what the server says of boards to the boards that were asked for.
    fn sort_out(
        &self,
        batch: &[&Asked],
        boards: Vec<answer::Board>,
        url: &str,
        listing: &mut Listing,
    ) {
        for board in &boards {
            if !batch
                .iter()
                .any(|asked| same_board(&asked.psid, &board.psid))
            {
                let psid = super::http::printable(&board.psid);
                listing.warnings.push(format!(
                    "{}: an answer for {psid}, which nobody asked for",
                    self.name
                ));
            }
        }
        for asked in batch {
            let mut answers = boards
                .iter()
                .filter(|board| same_board(&asked.psid, &board.psid));
            let found = answers.find_map(|board| board.found.clone().transpose());
            let release = match found {
                None => {
                    listing.unlisted.push(asked.psid.clone());
                    continue;
                }
                Some(found) => found.and_then(|found| self.release(asked, &found)),
            };
            let release = match release {
                Ok(release) => release,
                Err(fault) => {
                    let fault = BadAnswer::Row {
                        psid: asked.psid.to_string(),
                        fault: Box::new(fault),
                    };
                    let url = url.to_owned();
                    let error = ServiceError::BadAnswer { url, fault };
                    listing.faulty.push((asked.psid.clone(), error));
                    continue;
                }
            };
            match asked.contradiction(&release) {
                None => listing.releases.push(release),
                Some(warning) => {
                    listing.warnings.push(warning);
                    listing.unlisted.push(asked.psid.clone());
                }
            }
        }
    }

    fn release(&self, asked: &Asked, found: &answer::Found) -> Result<Release, BadAnswer> {
        let bad = |field: &str, found: &str, expected: String| BadAnswer::Field {
            field: format!("{}.{field}", asked.psid),
            expected,
            found: super::http::printable(found),
        };
        let place = self.file_url(&found.url).map_err(|reason| {
            bad(
                "URL",
                &found.url,
                format!("the address of a file ({reason})"),
            )
        })?;
        let file = found.file_name().map_err(|error| {
            bad(
                "Name",
                &found.name,
                format!("a file name ({})", error.reason),
            )
        })?;
        Ok(Release {
            psid: asked.psid.clone(),
            part_numbers: found.part_number.iter().cloned().collect(),
            device: None,
            description: None,
            versions: found
                .versions
                .iter()
                .map(|(kind, text)| component_version(kind, text))
                .collect(),
            branch: None,
            date: None,
            minimum: None,
            file,
            place: Place::Remote(place),
            size: None,
            sha256: None,
            image_sha256: None,
            notes: found.notes.clone(),
            source: Arc::clone(&self.name),
        })
    }
}

/// The address of the service at `server`.
///
/// # Errors
/// [`ServiceError::BadServer`], as for [`Service::new`].
pub fn server_url(server: &str) -> Result<Url, ServiceError> {
    let bad = |reason: &str| ServiceError::BadServer {
        server: super::http::printable(server),
        reason: reason.to_owned(),
    };
    let slash = if server.ends_with('/') { "" } else { "/" };
    let url = Url::parse(&format!("{server}{slash}")).map_err(|error| bad(&error.to_string()))?;
    let allowed = match url.scheme() {
        "https" => url.has_host(),
        "http" => is_loopback(&url),
        _ => false,
    };
    if !allowed {
        return Err(bad("only https is accepted"));
    }
    Ok(url)
}

/// Each board once.
fn distinct(asked: &[Asked]) -> Vec<&Asked> {
    let mut distinct: Vec<&Asked> = Vec::new();
    for one in asked {
        if !distinct
            .iter()
            .any(|seen| same_board(&seen.psid, one.psid.as_str()))
        {
            distinct.push(one);
        }
    }
    distinct
}
