//! Which proxy stands between here and a server.

use std::fmt;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{NoProxy, Url};

use super::error::HttpError;

/// Environment variables, the first one that is set counts, as for curl.
const HTTP_VARIABLES: [&str; 2] = ["http_proxy", "HTTP_PROXY"];
const HTTPS_VARIABLES: [&str; 2] = ["https_proxy", "HTTPS_PROXY"];
const ALL_VARIABLES: [&str; 2] = ["all_proxy", "ALL_PROXY"];
const NO_VARIABLES: [&str; 2] = ["no_proxy", "NO_PROXY"];

/// Word for "no proxy at all" where a proxy can be given.
const DIRECT: &str = "none";

/// Proxies by scheme of the target, and the hosts that are reached without.
#[derive(Clone, Default)]
pub struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
    no: String,
}

/// What the site or the user says; the environment fills what is left open (mft-compat 1.5).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProxyChoice {
    /// Proxy for everything, in place of the environment's; `none` for no proxy.
    pub proxy: Option<String>,
    /// Hosts without a proxy, in addition to the environment's (`no_proxy` syntax: names with
    /// their subdomains, addresses, networks, `*`).
    pub no_proxy: Vec<String>,
}

impl ProxyChoice {
    /// No proxy, whatever the environment says.
    #[must_use]
    pub fn none() -> Self {
        Self {
            proxy: Some(DIRECT.to_owned()),
            no_proxy: Vec::new(),
        }
    }
}

impl Proxies {
    /// What `choice` says, completed by the environment (mft-compat 1.5).
    ///
    /// # Errors
    /// [`HttpError::BadProxy`]: a setting that would otherwise be ignored in silence.
    pub fn new(choice: &ProxyChoice) -> Result<Self, HttpError> {
        Self::from_variables(choice, |name| std::env::var(name).ok())
    }

    fn from_variables(
        choice: &ProxyChoice,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, HttpError> {
        let first = |names: &[&'static str]| {
            names.iter().find_map(|&name| {
                let value = variable(name)?;
                (!value.trim().is_empty()).then_some((name, value))
            })
        };
        let mut no = choice.no_proxy.clone();
        no.extend(first(&NO_VARIABLES).map(|(_, value)| value));
        let no = no.join(",");
        if let Some(proxy) = &choice.proxy {
            let proxy = parse("--proxy", proxy)?;
            return Ok(Self {
                http: proxy.clone(),
                https: proxy,
                no,
            });
        }
        let of = |names: &[&'static str]| match first(names).or_else(|| first(&ALL_VARIABLES)) {
            Some((name, value)) => parse(name, &value),
            None => Ok(None),
        };
        Ok(Self {
            http: of(&HTTP_VARIABLES)?,
            https: of(&HTTPS_VARIABLES)?,
            no,
        })
    }

    /// Host and port of the proxy that a request to `url` goes through, without credentials.
    #[must_use]
    pub fn used_for(&self, url: &Url) -> Option<String> {
        let target = url.as_str().parse().ok()?;
        let proxy = self.matcher().intercept(&target)?;
        proxy.uri().authority().map(ToString::to_string)
    }

    fn matcher(&self) -> Matcher {
        let text = |url: &Option<Url>| url.as_ref().map(Url::to_string).unwrap_or_default();
        Matcher::builder()
            .http(text(&self.http))
            .https(text(&self.https))
            .no(self.no.clone())
            .build()
    }

    /// The same as the client library takes it.
    pub(super) fn for_client(&self) -> Result<Vec<reqwest::Proxy>, reqwest::Error> {
        let http = self.http.clone().map(reqwest::Proxy::http);
        let https = self.https.clone().map(reqwest::Proxy::https);
        let no_proxy = || NoProxy::from_string(&self.no);
        [http, https]
            .into_iter()
            .flatten()
            .map(|proxy| proxy.map(|proxy| proxy.no_proxy(no_proxy())))
            .collect()
    }
}

impl fmt::Debug for Proxies {
    /// Without passwords.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |url: &Option<Url>| url.as_ref().map(super::host);
        f.debug_struct("Proxies")
            .field("http", &place(&self.http))
            .field("https", &place(&self.https))
            .field("no", &self.no)
            .finish()
    }
}

/// A proxy as people write it: with or without `http://`.
///
/// # Errors
/// [`HttpError::BadProxy`], which names the `setting` it is from.
pub fn parse(setting: &str, text: &str) -> Result<Option<Url>, HttpError> {
    let bad = |reason: String| HttpError::BadProxy {
        setting: setting.to_owned(),
        reason,
    };
    let text = text.trim();
    if text.eq_ignore_ascii_case(DIRECT) {
        return Ok(None);
    }
    let full = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    let url = Url::parse(&full).map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!(
            "a {} proxy is not supported, only http and https are",
            url.scheme()
        )));
    }
    if !url.has_host() {
        return Err(bad("it names no host".to_owned()));
    }
    Ok(Some(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn proxies(variables: &[(&str, &str)], choice: &ProxyChoice) -> Result<Proxies, HttpError> {
        Proxies::from_variables(choice, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_is_read_as_curl_reads_it() {
        let environment = [
            ("https_proxy", "http://user:secret@proxy.example:3128"),
            ("ALL_PROXY", "other.example:8080"),
            ("no_proxy", "mirror.example, 10.0.0.0/8,.lab"),
        ];
        let proxies = proxies(&environment, &ProxyChoice::default()).unwrap();
        let used = |text: &str| proxies.used_for(&url(text));
        assert_eq!(
            used("https://www.example/").as_deref(),
            Some("proxy.example:3128")
        );
        assert_eq!(
            used("http://www.example/").as_deref(),
            Some("other.example:8080")
        );
        for direct in [
            "https://mirror.example/",
            "https://a.mirror.example/",
            "http://10.1.2.3/",
            "https://x.lab/",
        ] {
            assert_eq!(used(direct), None, "{direct}");
        }
        assert!(!format!("{proxies:?}").contains("secret"));
    }

    #[test]
    fn the_option_replaces_the_environments_proxies_and_adds_to_its_exceptions() {
        let environment = [("https_proxy", "http://a:1"), ("NO_PROXY", "one.example")];
        let choice = ProxyChoice {
            proxy: Some("b:2".to_owned()),
            no_proxy: vec!["two.example".to_owned()],
        };
        let chosen = proxies(&environment, &choice).unwrap();
        assert_eq!(
            chosen.used_for(&url("https://www.example/")).as_deref(),
            Some("b:2")
        );
        assert_eq!(chosen.used_for(&url("https://one.example/")), None);
        assert_eq!(chosen.used_for(&url("https://two.example/")), None);
        let direct = proxies(&environment, &ProxyChoice::none()).unwrap();
        assert_eq!(direct.used_for(&url("https://www.example/")), None);
    }

    #[test]
    fn a_setting_that_cannot_be_used_is_an_error_and_never_ignored() {
        let error =
            proxies(&[("https_proxy", "socks5://p:1")], &ProxyChoice::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "proxy setting https_proxy: a socks5 proxy is not supported, only http and https are"
        );
        let error = proxies(
            &[("https_proxy", "http://u:pw@:x/")],
            &ProxyChoice::default(),
        )
        .unwrap_err();
        assert!(!error.to_string().contains("pw"), "{error}");
    }
}
