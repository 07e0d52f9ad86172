//! Releases: firmware on offer elsewhere, found, fetched and checked.

pub mod cache;
pub mod content;
pub mod digest;
pub mod download;
pub mod http;
pub mod index;
pub mod mirror;
pub mod name;
pub mod partial;
pub mod record;
pub mod service;

pub use cache::Cache;
pub use digest::Digest;
pub use download::{DownloadError, Downloader, Fetched, Freshness, How, Order};
pub use index::{Index, IndexError, IndexPlace, IndexSource};
pub use name::FilePath;
pub use record::{Asked, Place, Release};
pub use service::{Listing, Service, ServiceError};
