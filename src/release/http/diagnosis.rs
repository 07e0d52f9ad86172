//! From the client library's error to its cause.
//!
//! reqwest tells connect, name and time-out errors apart; the rest is found in the chain of
//! sources: rustls' own error for certificates, the system's for sockets.

use std::error::Error;
use std::io;

use reqwest::Url;
use rustls::CertificateError;

use super::error::{HttpError, TlsFault, Wait};
use super::{Client, host, shown};

/// What hyper-util says when the proxy answers CONNECT with 407; its type is not public.
const TUNNEL_AUTHENTICATION: &str = "proxy authorization required";

impl Client {
    /// Why a request got no answer.
    pub(super) fn diagnose(&self, url: &Url, error: &reqwest::Error) -> HttpError {
        if let Some(tls) = find::<rustls::Error>(error) {
            return HttpError::Tls {
                host: host(url),
                fault: tls_fault(tls),
            };
        }
        if error.is_timeout() {
            return self.timed_out(url, error);
        }
        if error.is_connect() {
            return self.not_connected(url, error);
        }
        HttpError::Lost {
            url: shown(url),
            received: 0,
            reason: loss(error),
        }
    }

    fn timed_out(&self, url: &Url, error: &reqwest::Error) -> HttpError {
        let (wait, after) = if error.is_connect() {
            (Wait::Connect, self.timeouts.connect)
        } else {
            (Wait::Answer, self.timeouts.stall)
        };
        HttpError::TimedOut {
            url: shown(url),
            wait,
            after,
        }
    }

    fn not_connected(&self, url: &Url, error: &reqwest::Error) -> HttpError {
        let (host, reason) = (host(url), root(error));
        let Some(proxy) = self.proxies.used_for(url) else {
            return if error.is_dns() {
                HttpError::Dns {
                    host: url.host_str().unwrap_or_default().to_owned(),
                    reason,
                }
            } else if innermost_io(error).is_some_and(breaks_a_handshake) {
                HttpError::Tls {
                    host,
                    fault: TlsFault::Handshake(reason),
                }
            } else {
                HttpError::Unreachable { host, reason }
            };
        };
        if reason.ends_with(TUNNEL_AUTHENTICATION) {
            HttpError::ProxyAuthentication { proxy }
        } else if error.is_dns() || innermost_io(error).is_some() {
            HttpError::ProxyUnreachable { proxy, reason }
        } else {
            HttpError::ProxyRefused {
                proxy,
                host,
                reason,
            }
        }
    }
}

/// A connection that was there and ended before TLS was.
fn breaks_a_handshake(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

fn tls_fault(error: &rustls::Error) -> TlsFault {
    let rustls::Error::InvalidCertificate(fault) = error else {
        return TlsFault::Handshake(error.to_string());
    };
    match fault {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => TlsFault::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            TlsFault::NotYetValid
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            TlsFault::WrongName
        }
        CertificateError::Revoked => TlsFault::Revoked,
        CertificateError::UnknownIssuer => TlsFault::UnknownIssuer,
        // A self-signed authority as the server's own certificate.
        other if other.to_string().contains("CaUsedAsEndEntity") => TlsFault::UnknownIssuer,
        _ => TlsFault::Handshake(error.to_string()),
    }
}

/// The first error of type `T` in the chain. An `io::Error` hides what it wraps from
/// [`Error::source`] by one step, so its inside is looked at as well.
fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref::<T>() {
            return Some(found);
        }
        let inside = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
        if let Some(found) = inside.and_then(|inside| find::<T>(inside)) {
            return Some(found);
        }
        next = error.source();
    }
    None
}

/// The system's own error, below those that only pass it on.
fn innermost_io<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    let found = find::<io::Error>(error)?;
    let below = found.get_ref().and_then(|inside| innermost_io(inside));
    below
        .or_else(|| found.source().and_then(innermost_io))
        .or(Some(found))
}

/// How a connection was lost.
pub(super) fn loss(error: &(dyn Error + 'static)) -> String {
    match innermost_io(error).map(io::Error::kind) {
        Some(io::ErrorKind::UnexpectedEof) => "the other side closed it".to_owned(),
        _ => root(error),
    }
}

/// The last words of the chain, which say the cause without the layers around it.
pub(super) fn root(error: &(dyn Error + 'static)) -> String {
    let mut last = error;
    while let Some(source) = last.source() {
        last = source;
    }
    last.to_string()
}
