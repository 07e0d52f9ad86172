//! Releases: firmware on offer elsewhere, found, fetched and checked.
//!
//! - [`source`] asks several sources at once: the vendor's [`service`] and [`index`] files, and puts
//!   the answers together ([`findings`]);
//! - [`record`] is what they answer: one [`Release`] for each image on offer;
//! - [`download`] makes its file be on this machine, [`partial`] while it is on its way, [`cache`]
//!   where runs share it; [`content`] proves that it holds what was promised;
//! - [`mirror`] makes a folder a source for hosts without internet;
//! - [`http`] is every connection; [`digest`] and [`name`] are what files are called and known by.
//!
//! Nothing here trusts a server: what it says is a promise, and a file that does not keep it is
//! not kept either. "Not listed" is an answer; a source that gave none is an error, and no error
//! is ever taken for an answer.

pub mod cache;
pub mod content;
pub mod digest;
pub mod download;
pub mod findings;
pub mod http;
pub mod index;
pub mod mirror;
pub mod name;
pub mod partial;
pub mod record;
pub mod service;
pub mod source;

pub use cache::Cache;
pub use digest::Digest;
pub use download::{DownloadError, Downloader, Expected, Fetched, Freshness, How, Order};
pub use findings::{Findings, Searched};
pub use index::{Index, IndexError, IndexPlace, IndexSource};
pub use name::FilePath;
pub use record::{Asked, Place, Release, Unsorted};
pub use service::{Listing, Service, ServiceError};
pub use source::{Source, SourceError, Sources};
