//! Hosts a redirect may lead to, and this very host.

use std::net::IpAddr;

use reqwest::Url;

/// Where the vendor's service redirects to (mft-compat 5.1: the public host redirects today).
pub const VENDOR_HOSTS: [&str; 4] = [
    "mellanox.com",
    "*.mellanox.com",
    "nvidia.com",
    "*.nvidia.com",
];

/// Names (`mirror.example`) and patterns for everything below a name (`*.example`). Case does not
/// matter.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    /// These names and patterns.
    #[must_use]
    pub fn new<S: AsRef<str>>(patterns: &[S]) -> Self {
        let lower = |pattern: &S| pattern.as_ref().trim().to_ascii_lowercase();
        Self(patterns.iter().map(lower).collect())
    }

    /// The vendor's.
    #[must_use]
    pub fn vendor() -> Self {
        Self::new(&VENDOR_HOSTS)
    }

    /// These as well.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.0.extend(other.0.iter().cloned());
        self
    }

    /// Whether `host` is on the list.
    #[must_use]
    pub fn contains(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.0
            .iter()
            .any(|pattern| match pattern.strip_prefix('*') {
                Some(suffix) => suffix.starts_with('.') && host.ends_with(suffix),
                None => host == *pattern,
            })
    }
}

/// Whether it is on this very host: nobody else is on the way there.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let address = host.trim_start_matches('[').trim_end_matches(']');
            address
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_holds_what_is_below_the_name_and_nothing_that_looks_alike() {
        let hosts = AllowedHosts::vendor();
        assert!(hosts.contains("network.nvidia.com"));
        assert!(hosts.contains("WWW.Mellanox.com"));
        assert!(hosts.contains("mellanox.com"));
        for other in ["notmellanox.com", "mellanox.com.example", "nvidia.com.", ""] {
            assert!(!hosts.contains(other), "{other}");
        }
        assert!(!AllowedHosts::new(&["*"]).contains("any.example"));
    }
}
