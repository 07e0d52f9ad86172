//! Zip archives as they are downloaded: firmware beside release notes, in folders
//! (bundles 4.5, 5.4).
//!
//! Members are read in memory and nothing is ever written under a member's name. A member is
//! firmware when its content starts with a known signature; everything else is passed over.

use std::io::{Cursor, Read};

use zip::read::{ZipArchive, ZipFile};
use zip::result::ZipError;

use super::content::Content;
use super::error::Fault;
use super::limits;
use super::signature::{self, Signature};

type Zip = ZipArchive<Cursor<Content>>;

/// Bytes of a member behind a local header that are looked at to see what it is, header included.
const LOCAL_HEAD: usize = 8192;

/// An open archive: its firmware members.
#[derive(Debug)]
pub struct Archive {
    zips: Vec<Zip>,
    content: Content,
    members: Vec<Member>,
    /// What all members inflate to, as far as their headers say.
    plain: u64,
}

/// One member that holds firmware.
#[derive(Debug, Clone)]
pub struct Member {
    /// Name inside the archive, checked to be harmless.
    pub name: String,
    /// What its content is.
    pub signature: Signature,
    /// Plain bytes, as its header says.
    size: u64,
    place: Place,
}

/// Where a member is found.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// In the central directory of a zip: number of the zip, number of the member.
    Listed(usize, usize),
    /// Behind a local header at this offset, where there is no usable directory.
    Local(usize),
}

/// Something a member's bytes can be read from, with what its header says.
struct Opened<'a, R: Read> {
    file: ZipFile<'a, R>,
    name: String,
}

impl Archive {
    /// Opens the zip archive in `content`.
    ///
    /// # Errors
    /// [`Fault::ZipCorrupt`], [`Fault::UnsafeName`], [`Fault::LimitExceeded`],
    /// [`Fault::UnsupportedCompression`], [`Fault::NoFirmware`].
    pub fn zip(content: Content) -> Result<Self, Fault> {
        let zip = ZipArchive::new(Cursor::new(content.clone())).map_err(|e| corrupt("", &e))?;
        let mut archive = Self::empty(content);
        let others = archive.add(zip)?;
        if archive.members.is_empty() {
            return Err(Fault::NoFirmware {
                found: format!("no member of the archive is firmware{}", in_words(&others)),
            });
        }
        Ok(archive)
    }

    /// An archive without members, for [`Archive::add`] and [`Archive::add_local`].
    pub(super) const fn empty(content: Content) -> Self {
        Self {
            zips: Vec::new(),
            members: Vec::new(),
            plain: 0,
            content,
        }
    }

    /// Takes in the firmware members of one zip inside the content; returns what the others are.
    pub(super) fn add(&mut self, mut zip: Zip) -> Result<Vec<String>, Fault> {
        limits::MEMBERS.check(zip.len() as u64)?;
        if zip.has_duplicate_names() {
            return Err(Fault::ZipCorrupt {
                member: String::new(),
                reason: "two members have the same name".to_owned(),
            });
        }
        for name in zip.file_names_raw() {
            check_name(name)?;
        }
        let mut others = Vec::new();
        for number in 0..zip.len() {
            let mut opened = listed(&mut zip, number)?;
            if opened.file.entry().is_file() {
                let member = opened.recognise(Place::Listed(self.zips.len(), number))?;
                match member {
                    member if member.is_firmware() => self.take_in(member)?,
                    other => others.push(format!("{} is {}", other.name, other.signature)),
                }
            }
        }
        self.zips.push(zip);
        Ok(others)
    }

    /// Takes in the member behind the local header at `offset`, if there is one and it is
    /// firmware.
    pub(super) fn add_local(&mut self, offset: usize) -> Result<(), Fault> {
        let content = self.content.clone();
        // Letting go of a member reads all that is left of it.
        let head = content.as_slice().get(offset..).unwrap_or_default();
        let mut reader = Cursor::new(head.get(..LOCAL_HEAD).unwrap_or(head));
        let Ok(mut opened) = local(&mut reader) else {
            return Ok(());
        };
        check_name(opened.file.entry().name_raw())?;
        let member = opened.recognise(Place::Local(offset));
        if let Some(member) = member.ok().filter(Member::is_firmware) {
            self.take_in(member)?;
        }
        Ok(())
    }

    fn take_in(&mut self, member: Member) -> Result<(), Fault> {
        // One that is too large itself is refused by its own name when it is read.
        self.plain += member.size.min(limits::IMAGE.allowed);
        limits::members(self.content.as_slice().len() as u64).check(self.plain)?;
        self.members.push(member);
        limits::MEMBERS.check(self.members.len() as u64)?;
        Ok(())
    }

    /// The members that hold firmware, in the order of the archive.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The bytes of a member, its size and CRC verified. A stored member is a view of the archive.
    ///
    /// # Errors
    /// [`Fault::LimitExceeded`] for a member above [`limits::IMAGE`], [`Fault::ZipCorrupt`].
    pub fn read(&self, member: &Member) -> Result<Content, Fault> {
        let bytes = match member.place {
            Place::Listed(zip, number) => {
                // A clone shares the directory and the bytes; reading needs a position of its own.
                let mut zip = self.zips.get(zip).cloned().ok_or(Fault::EntryNotFound {
                    index: zip,
                    count: self.zips.len(),
                })?;
                let opened = listed(&mut zip, number)?;
                match opened.stored(&self.content) {
                    Some(stored) => stored,
                    None => opened.inflate()?,
                }
            }
            Place::Local(offset) => {
                let bytes = self.content.as_slice().get(offset..).unwrap_or_default();
                local(&mut Cursor::new(bytes))?.inflate()?
            }
        };
        Ok(bytes.metered(self.content.meter()))
    }
}

impl Member {
    const fn is_firmware(&self) -> bool {
        matches!(
            self.signature,
            Signature::Image | Signature::Mfa | Signature::Mfa2 | Signature::Pldm(_)
        )
    }
}

fn listed(zip: &mut Zip, number: usize) -> Result<Opened<'_, Cursor<Content>>, Fault> {
    let file = zip.by_index(number).map_err(|error| corrupt("", &error))?;
    Opened::new(file)
}

fn local<'a, 'b>(reader: &'a mut Cursor<&'b [u8]>) -> Result<Opened<'a, Cursor<&'b [u8]>>, Fault> {
    let file = zip::read::read_zipfile_from_stream(reader);
    match file.map_err(|error| corrupt("", &error))? {
        Some(file) => Opened::new(file),
        None => Err(Fault::ZipCorrupt {
            member: String::new(),
            reason: "there is no local header".to_owned(),
        }),
    }
}

impl<'a, R: Read> Opened<'a, R> {
    fn new(file: ZipFile<'a, R>) -> Result<Self, Fault> {
        let name = String::from_utf8_lossy(file.entry().name_raw()).into_owned();
        Ok(Self { file, name })
    }

    /// Decides by the first bytes what the member is.
    fn recognise(&mut self, place: Place) -> Result<Member, Fault> {
        let mut head = Vec::new();
        let read = (&mut self.file)
            .take(signature::LENGTH as u64)
            .read_to_end(&mut head);
        read.map_err(|error| self.corrupt(error.to_string()))?;
        let signature = Signature::of(&head);
        Ok(Member {
            name: self.name.clone(),
            signature,
            size: self.file.entry().size(),
            place,
        })
    }

    /// The bytes of an uncompressed member without a copy; `None` when it is compressed or does
    /// not check out, so that inflating it says why.
    fn stored(&self, content: &Content) -> Option<Content> {
        let entry = self.file.entry();
        if entry.compression() != zip::CompressionMethod::Stored
            || entry.size() > limits::IMAGE.allowed
        {
            return None;
        }
        let bytes = content.part(self.file.data_start()?, entry.size())?;
        let intact = crc32fast::hash(bytes.as_slice()) == entry.crc32();
        (intact && entry.compressed_size() == entry.size()).then_some(bytes)
    }

    /// Inflates the member; no more than its header declares is ever produced.
    fn inflate(mut self) -> Result<Content, Fault> {
        let declared = limits::IMAGE.check(self.file.entry().size())?;
        let mut bytes = Vec::new();
        let read = (&mut self.file).take(declared + 1).read_to_end(&mut bytes);
        read.map_err(|error| self.corrupt(error.to_string()))?;
        if bytes.len() as u64 != declared {
            let more = if bytes.len() as u64 > declared {
                "more"
            } else {
                "fewer"
            };
            return Err(self.corrupt(format!("it has {more} bytes than the {declared} declared")));
        }
        Ok(bytes.into())
    }

    fn corrupt(&self, reason: String) -> Fault {
        Fault::ZipCorrupt {
            member: self.name.clone(),
            reason,
        }
    }
}

/// A name that could leave a folder it is extracted to makes the whole archive suspect, though
/// cxfw extracts nothing (bundles 5.4).
fn check_name(name: &[u8]) -> Result<(), Fault> {
    let up = name.split(|&b| b == b'/').any(|part| part == b"..");
    let odd = name.iter().any(|&b| matches!(b, b'\\' | b':' | 0));
    if name.is_empty() || name.starts_with(b"/") || up || odd {
        return Err(Fault::UnsafeName {
            member: String::from_utf8_lossy(name).into_owned(),
        });
    }
    Ok(())
}

fn corrupt(member: &str, error: &ZipError) -> Fault {
    if let ZipError::CompressionMethodNotSupported(method) = error {
        return Fault::UnsupportedCompression {
            found: format!("{method} of a zip member"),
        };
    }
    Fault::ZipCorrupt {
        member: member.to_owned(),
        reason: error.to_string(),
    }
}

/// What the members are instead, where there are few enough to say.
fn in_words(others: &[String]) -> String {
    match others {
        [] => ": it is empty".to_owned(),
        [..] if others.len() <= 3 => format!(": {}", others.join(", ")),
        _ => format!(" ({} others)", others.len()),
    }
}
