//! Self-extracting programs: an executable with zip archives appended, one of which holds a bundle
//! (bundles 4.4). They are data here and never run.

use std::io::Cursor;

use zip::read::ZipArchive;

use super::archive::Archive;
use super::content::Content;
use super::error::Fault;
use crate::bytes::le16;

const END_OF_DIRECTORY: &[u8; 4] = b"PK\x05\x06";
const LOCAL_HEADER: &[u8; 4] = b"PK\x03\x04";
/// Size of an end-of-directory record without its comment.
const END_OF_DIRECTORY_SIZE: usize = 22;
/// Four bytes that look like an end record are met in programs by chance; this many are looked at.
const CANDIDATES: usize = 64;
/// The same for local headers.
const LOCAL_CANDIDATES: usize = 65_536;

/// The firmware of the archives inside the program in `content`.
///
/// Archives are found by their end records, the last one first, each record's offsets counted
/// from wherever the archive really starts; a program cut short, without an end record, by the
/// local headers.
///
/// # Errors
/// [`Fault::NoFirmware`], [`Fault::LimitExceeded`], and what is wrong with an archive that has
/// firmware, where no other has.
pub fn open(content: Content) -> Result<Archive, Fault> {
    let mut archive = Archive::empty(content.clone());
    let mut damage = None;
    let mut rest = content.clone();
    for _ in 0..CANDIDATES {
        let Some((position, end)) = last_end_record(rest.as_slice()) else {
            break;
        };
        let mut before = position;
        let zip = content
            .part(0, end as u64)
            .and_then(|part| ZipArchive::new(Cursor::new(part)).ok());
        if let Some(zip) = zip.filter(|zip| !zip.is_empty()) {
            before = usize::try_from(zip.offset()).unwrap_or(0).min(position);
            match archive.add(zip) {
                Ok(_) => {}
                Err(fault @ Fault::LimitExceeded { .. }) => return Err(fault),
                Err(fault) => {
                    damage.get_or_insert(fault);
                }
            }
        }
        match content.part(0, before as u64) {
            Some(part) => rest = part,
            None => break,
        }
    }
    if archive.members().is_empty() && damage.is_none() {
        add_local_members(&mut archive, content.as_slice())?;
    }
    match damage {
        None if archive.members().is_empty() => Err(Fault::NoFirmware {
            found: "no firmware: the file is a program without an archive of firmware in it"
                .to_owned(),
        }),
        Some(fault) if archive.members().is_empty() => Err(fault),
        _ => Ok(archive),
    }
}

/// Position of the last end-of-directory record, and where it ends.
fn last_end_record(bytes: &[u8]) -> Option<(usize, usize)> {
    let position = bytes.windows(4).rposition(|at| at == END_OF_DIRECTORY)?;
    let comment = usize::from(le16(bytes, position + 20).unwrap_or(0));
    let end = position + END_OF_DIRECTORY_SIZE + comment;
    Some((position, end.min(bytes.len())))
}

fn add_local_members(archive: &mut Archive, bytes: &[u8]) -> Result<(), Fault> {
    let headers = bytes.windows(4).enumerate();
    let headers = headers.filter(|(_, at)| at == LOCAL_HEADER);
    let mut headers = headers.take(LOCAL_CANDIDATES);
    headers.try_for_each(|(offset, _)| archive.add_local(offset))
}
