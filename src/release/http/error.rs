//! What can go wrong between here and a server. Every cause is its own variant: an administrator
//! who reads "proxy" looks elsewhere than one who reads "name" or "certificate".

use std::path::PathBuf;
use std::time::Duration;

/// A failed request or a broken answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpError {
    /// The name of the server has no address.
    #[error("{host}: the name cannot be resolved ({reason})")]
    Dns {
        /// The name.
        host: String,
        /// What the resolver says.
        reason: String,
    },
    /// Nobody listens, or there is no route.
    #[error("{host}: cannot connect ({reason})")]
    Unreachable {
        /// Host and port.
        host: String,
        /// What the system says.
        reason: String,
    },
    /// The proxy is not there.
    #[error("proxy {proxy}: cannot connect ({reason})")]
    ProxyUnreachable {
        /// Host and port of the proxy.
        proxy: String,
        /// What the system says.
        reason: String,
    },
    /// HTTP 407: the proxy wants a name and a password, or others.
    #[error("proxy {proxy}: wants authentication (HTTP 407)")]
    ProxyAuthentication {
        /// Host and port of the proxy.
        proxy: String,
    },
    /// The proxy is there and does not make the connection.
    #[error("proxy {proxy}: refuses a connection to {host} ({reason})")]
    ProxyRefused {
        /// Host and port of the proxy.
        proxy: String,
        /// Host and port of the server.
        host: String,
        /// What the client library says.
        reason: String,
    },
    /// The connection is not secure.
    #[error("{host}: {fault}")]
    Tls {
        /// Host and port of the server.
        host: String,
        /// Why.
        fault: TlsFault,
    },
    /// An answer that is no success.
    #[error("{url}: HTTP {status}")]
    Status {
        /// Asked for, after redirects.
        url: String,
        /// Number and its usual words.
        status: reqwest::StatusCode,
    },
    /// A redirect that is not followed.
    #[error("{url}: redirect to {to} refused: {fault}")]
    Redirect {
        /// Asked for.
        url: String,
        /// Where it leads, as the server wrote it.
        to: String,
        /// Why not.
        fault: RedirectFault,
    },
    /// Nothing happened for too long, or it took too long altogether.
    #[error("{url}: {wait} ({} s)", seconds(*after))]
    TimedOut {
        /// Asked for.
        url: String,
        /// What was waited for.
        wait: Wait,
        /// For how long.
        after: Duration,
    },
    /// The connection broke before the answer was whole.
    #[error("{url}: connection lost after {received} bytes ({reason})")]
    Lost {
        /// Asked for.
        url: String,
        /// Bytes of the body that had arrived, from its beginning.
        received: u64,
        /// What the client library says.
        reason: String,
    },
    /// More than is accepted, announced or sent.
    #[error("{url}: {size} bytes, at most {limit} are accepted")]
    TooLarge {
        /// Asked for.
        url: String,
        /// Announced, or received so far.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The answer contradicts HTTP or the request.
    #[error("{url}: {reason}")]
    Protocol {
        /// Asked for.
        url: String,
        /// What is wrong.
        reason: String,
    },
    /// An address that cannot be used.
    #[error("`{text}`: {reason}")]
    BadUrl {
        /// As it was written.
        text: String,
        /// Why not.
        reason: String,
    },
    /// A proxy setting that cannot be used. Passwords in it are left out.
    #[error("proxy setting {setting}: {reason}")]
    BadProxy {
        /// Option or environment variable.
        setting: String,
        /// Why not.
        reason: String,
    },
    /// A file of certificates that cannot be used.
    #[error("{}: {reason}", path.display())]
    BadCaFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The client itself could not be made.
    #[error("cannot set up a connection: {reason}")]
    Setup {
        /// What the client library says.
        reason: String,
    },
}

/// What is wrong with a secure connection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsFault {
    /// The certificate was good once.
    #[error("the certificate has expired")]
    Expired,
    /// The certificate will be good, or the clock is wrong.
    #[error("the certificate is not valid yet")]
    NotYetValid,
    /// Self-signed, or by an authority nobody told us about.
    #[error("the certificate is self-signed or of an unknown authority")]
    UnknownIssuer,
    /// A good certificate of somebody else.
    #[error("the certificate is for another name")]
    WrongName,
    /// The authority took the certificate back.
    #[error("the certificate was revoked")]
    Revoked,
    /// What speaks there does not speak TLS, or breaks it off.
    #[error("no secure connection ({0})")]
    Handshake(String),
}

/// Why a redirect is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedirectFault {
    /// Back to where it came from.
    #[error("it leads in a circle")]
    Loop,
    /// One too many.
    #[error("more than {0} in a row")]
    TooMany(usize),
    /// From https to something that is not.
    #[error("it leaves https")]
    Scheme,
    /// To a host that is not on the list.
    #[error("the host is not on the list of allowed hosts")]
    Host,
    /// No address, or none that can be read.
    #[error("it has no usable address")]
    Address,
}

/// What a time-out waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wait {
    /// TCP and TLS.
    #[error("no connection in time")]
    Connect,
    /// The first byte of the answer.
    #[error("no answer in time")]
    Answer,
    /// The next byte of the body.
    #[error("the transfer stalled")]
    Stall,
    /// The whole body, at the slowest speed that is accepted.
    #[error("the transfer is too slow")]
    Total,
}

impl HttpError {
    /// Stable word for programs.
    #[must_use]
    pub const fn class(&self) -> &'static str {
        match self {
            Self::Dns { .. } => "dns",
            Self::Unreachable { .. } => "unreachable",
            Self::ProxyUnreachable { .. } | Self::ProxyRefused { .. } | Self::BadProxy { .. } => {
                "proxy"
            }
            Self::ProxyAuthentication { .. } => "proxy_authentication",
            Self::Tls { .. } => "tls",
            Self::Status { .. } => "http_status",
            Self::Redirect { .. } => "redirect",
            Self::TimedOut { .. } => "time_out",
            Self::Lost { .. } => "connection_lost",
            Self::TooLarge { .. } => "too_large",
            Self::Protocol { .. } => "bad_answer",
            Self::BadUrl { .. } => "bad_url",
            Self::BadCaFile { .. } => "bad_ca_file",
            Self::Setup { .. } => "setup",
        }
    }

    /// What to do about it, where that is known.
    #[must_use]
    pub const fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Self::Dns { .. } => {
                "check the name and this host's resolver; behind a proxy, set https_proxy or --proxy"
            }
            Self::Unreachable { .. } => {
                "check address, route and firewall; behind a proxy, set https_proxy or --proxy"
            }
            Self::ProxyUnreachable { .. } => "check https_proxy, --proxy and no_proxy",
            Self::ProxyAuthentication { .. } => {
                "give user and password in the proxy setting: http://user:password@host:port"
            }
            Self::ProxyRefused { .. } => {
                "ask who runs the proxy to allow this host, or add it to no_proxy"
            }
            Self::Tls { fault, .. } => fault.advice(),
            Self::Redirect {
                fault: RedirectFault::Host,
                ..
            } => "if you trust that host, add it to allowed_hosts in the configuration",
            Self::Redirect {
                fault: RedirectFault::Scheme,
                ..
            } => {
                "ask who runs the server to redirect to https; firmware is not fetched over plain http from there"
            }
            Self::TimedOut { .. } | Self::Lost { .. } => {
                "try again later; a download goes on where it ended"
            }
            Self::BadProxy { .. } => "write it as http://host:port",
            Self::BadCaFile { .. } => "name a file of PEM certificates",
            Self::Status { status, .. } => match status.as_u16() {
                404 | 410 => "check the address: the server is there, but has no such file",
                500..=599 => "try again later, or ask who runs the server",
                _ => "ask who runs the server",
            },
            Self::Redirect { .. } | Self::TooLarge { .. } | Self::Protocol { .. } => {
                "check the address; otherwise ask who runs the server, or a proxy in between"
            }
            Self::BadUrl { .. } => "write it as https://HOST/PATH",
            Self::Setup { .. } => return None,
        })
    }

    /// Whether a second attempt may help: the server had a fit, or the connection broke. Nothing
    /// else is tried again (mft-compat 5.1).
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Status { status, .. } => status.is_server_error(),
            Self::Lost { .. }
            | Self::TimedOut {
                wait: Wait::Stall, ..
            } => true,
            _ => false,
        }
    }
}

impl TlsFault {
    const fn advice(&self) -> &'static str {
        match self {
            Self::Expired | Self::NotYetValid => {
                "check this host's clock; otherwise who runs the server has to renew its certificate"
            }
            Self::UnknownIssuer => {
                "give the authority that issued it with --cafile FILE, not the certificate of the server itself; a proxy that looks into TLS has one too"
            }
            Self::WrongName => "use the name the certificate is for",
            Self::Revoked => "ask who runs the server",
            Self::Handshake(_) => "check that the address is that of an https server",
        }
    }
}

fn seconds(duration: Duration) -> String {
    if duration.subsec_millis() == 0 {
        duration.as_secs().to_string()
    } else {
        format!("{:.1}", duration.as_secs_f64())
    }
}
