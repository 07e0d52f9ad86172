//! The HTTP client: every request of the program goes through it.
//!
//! What it adds to the library below: one error for each cause ([`error`], [`diagnosis`]), the
//! system's and the site's certificates ([`tls`]), proxies that can be named in an error
//! ([`proxy`]), redirects only to where they may lead ([`hosts`]), a time-out for every wait
//! ([`timeouts`]), and bodies that are counted while they are read ([`answer`]).
//!
//! A redirect is followed from https to https only (from plain http to either), to the host that
//! was asked for or one on the list, at most [`MAX_REDIRECTS`] times.

pub mod answer;
mod diagnosis;
pub mod error;
pub mod hosts;
pub mod proxy;
mod retry;
pub mod timeouts;
pub mod tls;

use std::path::PathBuf;
use std::sync::OnceLock;

use reqwest::blocking::{RequestBuilder, Response};
use reqwest::header::{self, HeaderMap};
use reqwest::redirect::Policy;
use reqwest::{StatusCode, Url};

pub use answer::Answer;
pub use error::{HttpError, RedirectFault, TlsFault, Wait};
pub use hosts::AllowedHosts;
pub use proxy::{Proxies, ProxyChoice};
pub use retry::Retries;
pub use timeouts::Timeouts;

/// Redirects in a row.
pub const MAX_REDIRECTS: usize = 5;

const USER_AGENT: &str = concat!("cxfw/", env!("CARGO_PKG_VERSION"));

/// How to connect.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Files of PEM certificates to believe, beside the system's and the built-in roots.
    pub ca_files: Vec<PathBuf>,
    /// What is said of proxies beside the environment.
    pub proxy: ProxyChoice,
    /// Hosts a redirect may lead to, beside the one asked for.
    pub allowed_hosts: AllowedHosts,
    /// Longest waits.
    pub timeouts: Timeouts,
    /// Repeated attempts.
    pub retries: Retries,
}

/// A connection pool with the rules of this program.
#[derive(Debug, Clone)]
pub struct Client {
    inner: reqwest::blocking::Client,
    proxies: Proxies,
    allowed_hosts: AllowedHosts,
    timeouts: Timeouts,
    retries: Retries,
}

/// Makes the client when it is needed first: whoever works with folders only is not bothered by
/// what is wrong with proxies and certificates.
#[derive(Debug, Default)]
pub struct Connector {
    settings: Settings,
    client: OnceLock<Result<Client, HttpError>>,
}

impl Connector {
    /// A client with these settings, once it is asked for.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            client: OnceLock::new(),
        }
    }

    /// The client.
    ///
    /// # Errors
    /// As [`Client::new`].
    pub fn client(&self) -> Result<&Client, HttpError> {
        let made = self
            .client
            .get_or_init(|| Client::new(self.settings.clone()));
        made.as_ref().map_err(Clone::clone)
    }
}

/// What is asked.
#[derive(Debug, Clone, Default)]
enum Ask {
    #[default]
    Get,
    Post(String),
}

/// The part of a file that is still missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rest {
    /// Bytes that are there already.
    pub from: u64,
    /// `ETag` or `Last-Modified` of the file they are from, so that they are never completed with
    /// bytes of another one.
    pub validator: Option<String>,
}

impl Client {
    /// A client with these settings.
    ///
    /// # Errors
    /// [`HttpError::BadCaFile`], [`HttpError::BadProxy`] and [`HttpError::Setup`].
    pub fn new(settings: Settings) -> Result<Self, HttpError> {
        let setup = |error: reqwest::Error| HttpError::Setup {
            reason: diagnosis::root(&error),
        };
        let mut builder = reqwest::blocking::Client::builder()
            .tls_backend_preconfigured(tls::client_config(&settings.ca_files)?)
            .user_agent(USER_AGENT)
            .redirect(Policy::none())
            .referer(false)
            .no_proxy()
            .connect_timeout(settings.timeouts.connect)
            .timeout(settings.timeouts.stall);
        let proxies = Proxies::new(&settings.proxy)?;
        for proxy in proxies.for_client().map_err(setup)? {
            builder = builder.proxy(proxy);
        }
        Ok(Self {
            inner: builder.build().map_err(setup)?,
            proxies,
            allowed_hosts: settings.allowed_hosts,
            timeouts: settings.timeouts,
            retries: settings.retries,
        })
    }

    /// The rules of repetition, for a caller that has to resume between attempts.
    #[must_use]
    pub const fn retries(&self) -> &Retries {
        &self.retries
    }

    /// Whether a host is on the list of those that others may send us to.
    #[must_use]
    pub fn may_go_to(&self, url: &Url) -> bool {
        url.host_str()
            .is_some_and(|host| self.allowed_hosts.contains(host))
    }

    /// One GET, redirects followed; `rest` asks for the end of a file only. The answer is a
    /// success (2xx) whose body has still to be read.
    ///
    /// # Errors
    /// [`HttpError`], any but those of the body.
    pub fn get(&self, url: &Url, rest: Option<&Rest>) -> Result<Answer, HttpError> {
        let mut headers = HeaderMap::new();
        // Firmware is compressed already, and sizes and ranges mean the bytes as they are.
        headers.insert(header::ACCEPT_ENCODING, value("identity"));
        if let Some(rest) = rest {
            headers.insert(header::RANGE, value(&format!("bytes={}-", rest.from)));
            if let Some(validator) = &rest.validator {
                headers.insert(header::IF_RANGE, value(validator));
            }
        }
        self.send(url, &Ask::Get, &headers)
    }

    /// A small document, whole; tried again where that may help.
    ///
    /// # Errors
    /// [`HttpError`], [`HttpError::TooLarge`] for more than `limit` bytes.
    pub fn get_whole(&self, url: &Url, limit: u64) -> Result<(Vec<u8>, Url), HttpError> {
        self.retries.run(|| {
            let answer = self.get(url, None)?;
            let found = answer.url().clone();
            Ok((answer.read_whole(limit)?, found))
        })
    }

    /// A POST of a JSON document, redirects followed with the same method (but 303, which asks
    /// for a GET); tried again where that may help: the services asked only look things up.
    ///
    /// # Errors
    /// As [`Client::get_whole`].
    pub fn post_json(&self, url: &Url, body: &str, limit: u64) -> Result<JsonAnswer, HttpError> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, value("application/json"));
        headers.insert(header::CONTENT_TYPE, value("application/json"));
        let ask = Ask::Post(body.to_owned());
        self.retries.run(|| {
            let answer = self.send(url, &ask, &headers)?;
            Ok(JsonAnswer {
                url: answer.url().clone(),
                is_html: answer.is_html(),
                body: answer.read_whole(limit)?,
            })
        })
    }

    fn send(&self, url: &Url, ask: &Ask, headers: &HeaderMap) -> Result<Answer, HttpError> {
        let mut seen = vec![url.clone()];
        let mut at = url.clone();
        let mut ask = ask.clone();
        loop {
            log::debug!("asking {}", shown(&at));
            let request = self.request(&at, &ask).headers(headers.clone());
            let response = request.send().map_err(|error| self.diagnose(&at, &error))?;
            let status = response.status();
            if !is_redirect(status) {
                return self.answer(at, response);
            }
            let to = self.redirect(&at, &response, &seen)?;
            if status == StatusCode::SEE_OTHER {
                ask = Ask::Get;
            }
            log::info!("{} redirects to {}", shown(&at), shown(&to));
            seen.push(to.clone());
            at = to;
        }
    }

    fn request(&self, url: &Url, ask: &Ask) -> RequestBuilder {
        match ask {
            Ask::Get => self.inner.get(url.clone()),
            Ask::Post(body) => self.inner.post(url.clone()).body(body.clone()),
        }
    }

    fn answer(&self, url: Url, response: Response) -> Result<Answer, HttpError> {
        let status = response.status();
        if status == StatusCode::PROXY_AUTHENTICATION_REQUIRED
            && let Some(proxy) = self.proxies.used_for(&url)
        {
            return Err(HttpError::ProxyAuthentication { proxy });
        }
        if !status.is_success() {
            return Err(HttpError::Status {
                url: shown(&url),
                status,
            });
        }
        Ok(Answer::new(url, response, self.timeouts))
    }

    /// Where a redirect leads, if it may lead there.
    fn redirect(&self, from: &Url, response: &Response, seen: &[Url]) -> Result<Url, HttpError> {
        let location = response.headers().get(header::LOCATION);
        let written = location.map_or_else(String::new, |location| {
            String::from_utf8_lossy(location.as_bytes()).into_owned()
        });
        let to = from.join(&written).ok().filter(|_| location.is_some());
        match self.redirect_fault(from, to.as_ref(), seen) {
            (Some(to), None) => Ok(to.clone()),
            (_, fault) => Err(HttpError::Redirect {
                url: shown(from),
                to: printable(&written),
                fault: fault.unwrap_or(RedirectFault::Address),
            }),
        }
    }

    fn redirect_fault<'a>(
        &self,
        from: &Url,
        to: Option<&'a Url>,
        seen: &[Url],
    ) -> (Option<&'a Url>, Option<RedirectFault>) {
        let Some(to) = to.filter(|to| to.has_host()) else {
            return (None, Some(RedirectFault::Address));
        };
        let secure = to.scheme() == "https" || (from.scheme() == "http" && to.scheme() == "http");
        let asked = seen.first().and_then(Url::host_str);
        let host = to.host_str().unwrap_or_default();
        let fault = if !secure {
            Some(RedirectFault::Scheme)
        } else if asked != Some(host) && !self.allowed_hosts.contains(host) {
            Some(RedirectFault::Host)
        } else if seen.contains(to) {
            Some(RedirectFault::Loop)
        } else if seen.len() > MAX_REDIRECTS {
            Some(RedirectFault::TooMany(MAX_REDIRECTS))
        } else {
            None
        };
        (Some(to), fault)
    }
}

/// An answer that should be JSON.
#[derive(Debug, Clone)]
pub struct JsonAnswer {
    /// Who gave it, after redirects.
    pub url: Url,
    /// The server calls it a web page.
    pub is_html: bool,
    /// As it came.
    pub body: Vec<u8>,
}

const fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// A header value; one that cannot be sent is sent empty, which no server takes for another.
fn value(text: &str) -> header::HeaderValue {
    header::HeaderValue::from_str(text).unwrap_or_else(|_| header::HeaderValue::from_static(""))
}

/// `text` from outside for a message: short, and nothing in it can drive a terminal.
pub(super) fn printable(text: &str) -> String {
    const SHOWN: usize = 200;
    let clean = text.chars().map(|c| if c.is_control() { '?' } else { c });
    clean.take(SHOWN).collect()
}

/// An address for a message or a log, without a password in it.
pub(super) fn shown(url: &Url) -> String {
    if url.password().is_none() {
        return url.to_string();
    }
    let mut url = url.clone();
    // An address that has a password can have its password taken away.
    let _ = url.set_password(None);
    url.to_string()
}

/// Host and port, as an error names them.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}
