//! The resource format of VPD (device-access 5.2).
//!
//! | tag | content |
//! | --- | --- |
//! | 0x82 | identifier string |
//! | 0x90 | read-only keywords: two characters, a length byte, data |
//! | 0x91 | read-write keywords |
//! | 0x78 | end |
//!
//! A large resource has a little-endian 16-bit length behind its tag. The identifier and the
//! read-only area must be there, each area at most once; any other tag is an error. Data that
//! ends between two resources counts as ended: some boards have no end tag.

use super::{Area, Checksum, Keyword, SIZE_LIMIT, Vpd, VpdError};

const IDENTIFIER: u8 = 0x82;
const READ_ONLY: u8 = 0x90;
const READ_WRITE: u8 = 0x91;
const END: u8 = 0x78;

/// Tag and 16-bit length.
const HEADER: usize = 3;

/// Two characters and a length byte.
const KEYWORD_HEADER: usize = 3;

impl Vpd {
    /// Parses VPD from its first byte.
    ///
    /// # Errors
    /// [`VpdError::Format`] with the offset, what was expected and what is there.
    pub fn parse(bytes: &[u8]) -> Result<Self, VpdError> {
        let mut identifier = None;
        let mut areas = Areas::default();
        let mut at = 0;
        while let Some(&tag) = bytes.get(at) {
            if tag == END {
                break;
            }
            if !is_large(tag) {
                return Err(wrong(at, "a VPD resource tag", &format!("byte {tag:#04x}")));
            }
            let data = resource(bytes, at)?;
            let start = at + HEADER;
            match tag {
                IDENTIFIER if identifier.is_none() => identifier = Some(text(data)),
                READ_ONLY if !areas.read_only => {
                    areas.read_only = true;
                    areas.add(bytes, start..start + data.len(), Area::ReadOnly)?;
                }
                READ_WRITE if !areas.read_write => {
                    areas.read_write = true;
                    areas.add(bytes, start..start + data.len(), Area::ReadWrite)?;
                }
                _ => return Err(wrong(at, "each resource once", "a second one")),
            }
            at = start + data.len();
        }
        let identifier = identifier.ok_or_else(|| missing(at, "an identifier string"))?;
        if !areas.read_only {
            return Err(missing(at, "a read-only area"));
        }
        Ok(Self {
            identifier,
            keywords: areas.keywords,
            checksum: areas.checksum,
        })
    }
}

/// Reads VPD resource by resource, up to its end tag, its first mistake, or the end of what
/// there is. `read(offset, buffer)` says how many bytes it delivered.
pub(super) fn collect(
    read: impl FnMut(usize, &mut [u8]) -> Result<usize, VpdError>,
) -> Result<Vec<u8>, VpdError> {
    let mut taken = Taken {
        bytes: Vec::new(),
        read,
    };
    while let Some(&[tag]) = taken.more(1)? {
        if !is_large(tag) {
            break;
        }
        let Some(&[low, high]) = taken.more(2)? else {
            break;
        };
        if taken.more(length(low, high))?.is_none() {
            break;
        }
    }
    Ok(taken.bytes)
}

/// What has been read so far.
struct Taken<R> {
    bytes: Vec<u8>,
    read: R,
}

impl<R: FnMut(usize, &mut [u8]) -> Result<usize, VpdError>> Taken<R> {
    /// The next `count` bytes; `None` when there are fewer.
    fn more(&mut self, count: usize) -> Result<Option<&[u8]>, VpdError> {
        let start = self.bytes.len();
        let mut buffer = vec![0; count.min(SIZE_LIMIT.saturating_sub(start))];
        let delivered = (self.read)(start, &mut buffer)?;
        buffer.truncate(delivered);
        self.bytes.append(&mut buffer);
        Ok(self.bytes.get(start..start + count))
    }
}

fn is_large(tag: u8) -> bool {
    matches!(tag, IDENTIFIER | READ_ONLY | READ_WRITE)
}

fn length(low: u8, high: u8) -> usize {
    usize::from(u16::from_le_bytes([low, high]))
}

/// Data of the large resource whose tag is at `at`.
fn resource(bytes: &[u8], at: usize) -> Result<&[u8], VpdError> {
    let Some(&[low, high]) = bytes.get(at + 1..at + HEADER) else {
        return Err(ends(at + 1, "a 16-bit length", bytes.len()));
    };
    let start = at + HEADER;
    bytes
        .get(start..start + length(low, high))
        .ok_or_else(|| ends(start, "the data of the resource", bytes.len()))
}

/// The keyword areas seen so far.
struct Areas {
    keywords: Vec<Keyword>,
    checksum: Checksum,
    read_only: bool,
    read_write: bool,
}

impl Default for Areas {
    fn default() -> Self {
        Self {
            keywords: Vec::new(),
            checksum: Checksum::Absent,
            read_only: false,
            read_write: false,
        }
    }
}

impl Areas {
    /// Walks the keywords in `range`, which lies inside `bytes`.
    fn add(
        &mut self,
        bytes: &[u8],
        range: std::ops::Range<usize>,
        area: Area,
    ) -> Result<(), VpdError> {
        let inside = bytes.get(..range.end).unwrap_or(bytes);
        let mut at = range.start;
        while at < inside.len() {
            let Some(&[first, second, length]) = inside.get(at..at + KEYWORD_HEADER) else {
                return Err(ends(at, "a keyword of three bytes", inside.len()));
            };
            let start = at + KEYWORD_HEADER;
            let end = start + usize::from(length);
            let value = inside
                .get(start..end)
                .ok_or_else(|| ends(start, "the value of the keyword", inside.len()))?;
            let name = [first, second];
            if !name.iter().all(u8::is_ascii_graphic) {
                let found = format!("{first:02x} {second:02x}");
                return Err(wrong(at, "a keyword of two printable characters", &found));
            }
            if area == Area::ReadOnly && name == *b"RV" {
                self.checksum = check(inside.get(..=start).unwrap_or(inside));
            }
            self.keywords.push(Keyword {
                name: text(&name),
                value: value.to_vec(),
                area,
            });
            at = end;
        }
        Ok(())
    }
}

/// Everything up to the checksum byte adds up to zero.
fn check(bytes: &[u8]) -> Checksum {
    match bytes.iter().fold(0u8, |sum, &byte| sum.wrapping_add(byte)) {
        0 => Checksum::Valid,
        sum => Checksum::Wrong { sum },
    }
}

fn text(bytes: &[u8]) -> String {
    crate::bytes::text(bytes).trim().to_owned()
}

fn wrong(offset: usize, expected: &'static str, found: &str) -> VpdError {
    VpdError::Format {
        offset,
        expected,
        found: found.to_owned(),
    }
}

fn missing(offset: usize, expected: &'static str) -> VpdError {
    wrong(offset, expected, "the end")
}

fn ends(offset: usize, expected: &'static str, end: usize) -> VpdError {
    wrong(offset, expected, &format!("the end at {end:#x}"))
}
