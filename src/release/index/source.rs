//! Gets an index from a web server or a folder and checks it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::Url;

use super::document::{self, Document, Row};
use super::error::IndexError;
use super::memory::{self, Verdict};
use super::signature::{self, Keys};
use super::{FILE_NAME, Index, read};
use crate::release::cache::Cache;
use crate::release::content;
use crate::release::digest::{self, Digest};
use crate::release::http::hosts::is_loopback;
use crate::release::http::{Client, Connector, HttpError, shown};
use crate::release::record::{Place, Release};

/// Where an index is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IndexPlace {
    /// A file on this machine.
    Local(PathBuf),
    /// A document on a web server.
    Remote(Url),
}

/// An index to be read, and whom to believe about it.
#[derive(Debug, Clone)]
pub struct IndexSource {
    /// Where it is.
    pub place: IndexPlace,
    /// Keys it has to be signed with; none: it need not be signed.
    pub keys: Keys,
    /// How reports call it.
    pub name: Arc<str>,
}

/// The files of an index.
struct Files {
    index: Vec<u8>,
    signature: Option<Vec<u8>>,
    /// What the file beside it says of its digest, and under which name.
    digest: Option<(String, String)>,
    /// The document's own address after redirects, or its path.
    base: IndexPlace,
}

impl IndexPlace {
    /// What a user wrote: an address or a path, of the document or of its folder.
    ///
    /// # Errors
    /// [`IndexError::BadPlace`].
    pub fn parse(text: &str) -> Result<Self, IndexError> {
        let bad = |reason: String| IndexError::BadPlace {
            text: crate::release::http::printable(text),
            reason,
        };
        let Some((scheme, rest)) = text.split_once("://") else {
            return Ok(Self::Local(in_folder(Path::new(text))));
        };
        match scheme {
            "file" => Ok(Self::Local(in_folder(Path::new(rest)))),
            "http" | "https" => {
                let mut url = Url::parse(text).map_err(|error| bad(error.to_string()))?;
                let document = Path::new(url.path())
                    .extension()
                    .is_some_and(|end| end == "xml");
                if !document && let Ok(mut path) = url.path_segments_mut() {
                    path.pop_if_empty().push(FILE_NAME);
                }
                Ok(Self::Remote(url))
            }
            _ => Err(bad(format!("`{scheme}` is not supported"))),
        }
    }

    /// For messages.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Local(path) => path.display().to_string(),
            Self::Remote(url) => shown(url),
        }
    }

    /// The file of that name beside it.
    pub(super) fn beside(&self, file: &crate::release::name::FilePath) -> Place {
        match self {
            Self::Local(path) => {
                Place::Local(file.below(path.parent().unwrap_or_else(|| Path::new("."))))
            }
            Self::Remote(url) => {
                let mut url = url.clone();
                if let Ok(mut path) = url.path_segments_mut() {
                    path.pop().extend(file.as_str().split('/'));
                }
                url.set_query(None);
                Place::Remote(url)
            }
        }
    }
}

fn in_folder(path: &Path) -> PathBuf {
    if path.is_dir() {
        path.join(FILE_NAME)
    } else {
        path.to_owned()
    }
}

impl IndexSource {
    /// Anybody on the way could put another index in its place: it comes over plain http from
    /// another host, and need not be signed.
    #[must_use]
    pub fn is_unprotected(&self) -> bool {
        let open = match &self.place {
            IndexPlace::Local(_) => false,
            IndexPlace::Remote(url) => url.scheme() == "http" && !is_loopback(url),
        };
        open && self.keys.is_empty()
    }

    /// The index, checked. `cache` remembers which index was seen.
    ///
    /// # Errors
    /// [`IndexError`]; then none of its releases may be used.
    pub fn load(&self, connector: &Connector, cache: Option<&Cache>) -> Result<Index, IndexError> {
        let files = match &self.place {
            IndexPlace::Local(path) => self.local(path)?,
            IndexPlace::Remote(url) => self.remote(url, connector.client()?)?,
        };
        let place = self.place.shown();
        // Neither digest nor signature would say what it is.
        if let Some(page) = content::web_page(&files.index) {
            let page = page.title;
            return Err(IndexError::WebPage { place, page });
        }
        let found = Digest::of(&files.index);
        let signed_by = if self.keys.is_empty() {
            None
        } else {
            let verified = self.keys.verify(&files.index, files.signature.as_deref());
            Some(verified.map_err(|fault| IndexError::Signature {
                place: place.clone(),
                fault,
            })?)
        };
        check_digest(&place, &files, found)?;
        let document = read_document(&place, &files.index)?;
        let serial = document.serial;
        let mut index = self.index(document, &files.base);
        index.signed_by = signed_by;
        self.remember(&mut index, serial, found, cache)?;
        if index.signed_by.is_none()
            && matches!(&files.base, IndexPlace::Remote(url) if url.scheme() == "http")
        {
            index.warnings.push(format!(
                "{place}: neither signed nor over https: anybody on the way could change it"
            ));
        }
        Ok(index)
    }

    fn local(&self, path: &Path) -> Result<Files, IndexError> {
        let index = read_file(path, document::SIZE)?;
        let mut beside = path.as_os_str().to_owned();
        beside.push(signature::SUFFIX);
        let signature = match read_file(Path::new(&beside), signature::SIZE) {
            Ok(bytes) => Some(bytes),
            Err(IndexError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Files {
            index,
            signature,
            digest: digest::text_beside(path).map(|text| (text, name.into_owned())),
            base: IndexPlace::Local(path.to_owned()),
        })
    }

    fn remote(&self, url: &Url, client: &Client) -> Result<Files, IndexError> {
        let (index, base) = client.get_whole(url, document::SIZE)?;
        let signature = if self.keys.is_empty() {
            None
        } else {
            beside(client, url, signature::SUFFIX)?
        };
        let digest = beside(client, url, ".sha256")?;
        let name = url
            .path_segments()
            .and_then(|mut path| path.next_back())
            .unwrap_or_default();
        // A page that says "not found" with a success is no digest file.
        let digest = digest.filter(|text| content::web_page(text).is_none());
        let text = digest.map(|text| String::from_utf8_lossy(&text).into_owned());
        Ok(Files {
            index,
            signature,
            digest: text.map(|text| (text, name.to_owned())),
            base: IndexPlace::Remote(base),
        })
    }

    /// The rows with their files' places.
    fn index(&self, document: Document, base: &IndexPlace) -> Index {
        let name = &self.name;
        let release = |row: Row| Release {
            place: base.beside(&row.file),
            psid: row.psid,
            part_numbers: row.part_numbers,
            device: row.device,
            description: row.description,
            versions: row.versions,
            branch: row.branch,
            date: row.date,
            minimum: row.minimum,
            file: row.file,
            size: Some(row.size),
            sha256: Some(row.sha256),
            image_sha256: row.image_sha256,
            notes: row.notes,
            source: Arc::clone(name),
        };
        let releases = document.rows.into_iter().map(release).collect();
        let mut index = Index::new(document.serial, document.date, releases);
        index.warnings = document
            .warnings
            .iter()
            .map(|warning| format!("{name}: {warning}"))
            .collect();
        index
    }

    /// Compares with what was seen here before. What cannot be trusted anyway is only warned of.
    fn remember(
        &self,
        index: &mut Index,
        serial: u64,
        sha256: Digest,
        cache: Option<&Cache>,
    ) -> Result<(), IndexError> {
        let place = match &self.place {
            IndexPlace::Local(path) => path
                .canonicalize()
                .unwrap_or_else(|_| path.clone())
                .display()
                .to_string(),
            IndexPlace::Remote(url) => shown(url),
        };
        let Some(cache) = cache else {
            return Ok(());
        };
        // Whoever may write an unsigned index must not keep the next signed one from being taken:
        // it is compared with what was signed, and remembered apart.
        let signed = cache.index_memory(&place);
        let judged = match index.signed_by {
            Some(_) => memory::judge(&signed, serial, sha256),
            None => match memory::look(&signed, serial, sha256) {
                Verdict::Fine => {
                    let unsigned = cache.index_memory(&format!("{place} (unsigned)"));
                    memory::judge(&unsigned, serial, sha256)
                }
                other => Ok(other),
            },
        };
        let verdict = match judged {
            Ok(verdict) => verdict,
            Err(error) => {
                let text = format!(
                    "{place}: cannot remember it, so an older one would not be noticed ({error})"
                );
                index.warnings.push(text);
                return Ok(());
            }
        };
        let error = match verdict {
            Verdict::Fine => return Ok(()),
            Verdict::Older(seen) => IndexError::Replayed {
                place,
                found: serial,
                seen,
            },
            Verdict::Reused => IndexError::SerialReused { place, serial },
        };
        if index.signed_by.is_some() {
            return Err(error);
        }
        index.warnings.push(error.to_string());
        Ok(())
    }
}

/// The digest beside an index is there to find half a copy and a changed byte, in either of them.
fn check_digest(place: &str, files: &Files, found: Digest) -> Result<(), IndexError> {
    let Some((text, name)) = &files.digest else {
        return Ok(());
    };
    match digest::in_text(text, name) {
        Some(expected) if expected == found => Ok(()),
        Some(expected) => Err(IndexError::WrongDigest {
            place: place.to_owned(),
            expected,
            found,
        }),
        None => Err(IndexError::NoDigest {
            place: place.to_owned(),
            name: name.clone(),
        }),
    }
}

fn read_document(place: &str, bytes: &[u8]) -> Result<Document, IndexError> {
    read::read(bytes).map_err(|fault| IndexError::Broken {
        place: place.to_owned(),
        line: fault.line,
        column: fault.column,
        reason: fault.reason,
    })
}

fn read_file(path: &Path, limit: u64) -> Result<Vec<u8>, IndexError> {
    let io = |source| IndexError::Io {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > limit {
        return Err(IndexError::TooLarge {
            place: path.display().to_string(),
            size: size.max(bytes.len() as u64),
            limit,
        });
    }
    Ok(bytes)
}

/// The document at the same address with `suffix`, if the server has it.
fn beside(client: &Client, url: &Url, suffix: &str) -> Result<Option<Vec<u8>>, HttpError> {
    let mut url = url.clone();
    url.set_path(&format!("{}{suffix}", url.path()));
    match client.get_whole(&url, signature::SIZE) {
        Ok((bytes, _)) => Ok(Some(bytes)),
        // Larger than any signature or digest: a page that says "not found" with a success.
        Err(HttpError::TooLarge { .. }) => Ok(None),
        Err(HttpError::Status { status, .. }) if status.is_client_error() => Ok(None),
        Err(error) => Err(error),
    }
}
