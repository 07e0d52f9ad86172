//! Reads the XML of an index.

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::document::{Document, FORMAT, ROWS, TEXT};
use super::draft::Draft;
use crate::release::http::printable;

/// What is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1.
    pub column: usize,
    /// What is wrong.
    pub reason: String,
}

/// Reads a document.
///
/// # Errors
/// [`Fault`]: it is no index, or not a whole one.
pub fn read(bytes: &[u8]) -> Result<Document, Fault> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return Err(fault_at(bytes, error.valid_up_to(), "not UTF-8 text")),
    };
    let mut parser = Parser {
        reader: reader(text),
        text,
        document: Document::default(),
        row: None,
        place: Place::Outside,
        value: String::new(),
        seen: 0,
    };
    loop {
        match parser.step() {
            Ok(true) => {}
            Ok(false) => return Ok(parser.document),
            Err(reason) => return Err(parser.fault(&reason)),
        }
    }
}

/// Where in the document the reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the root element.
    Outside,
    /// In the root element.
    Index,
    /// In a row.
    Release,
    /// In an element of a row whose text is wanted.
    Text(Kind),
    /// Behind the root element.
    Behind,
}

/// Elements of a row that have a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Description,
    PartNumber,
    Version,
    Notes,
}

struct Parser<'a> {
    reader: Reader<&'a [u8]>,
    text: &'a str,
    document: Document,
    row: Option<Draft>,
    place: Place,
    /// Text of the current element.
    value: String,
    /// Rows met.
    seen: usize,
}

impl Parser<'_> {
    /// Takes the next event; false at the end.
    fn step(&mut self) -> Result<bool, String> {
        let event = self
            .reader
            .read_event()
            .map_err(|error| error.to_string())?;
        match event {
            Event::Start(element) => self.start(&element)?,
            // Empty elements come as a start and an end.
            Event::Empty(_) => {}
            Event::End(_) => self.end(),
            Event::Text(text) => self.add_text(&text.xml10_content())?,
            Event::CData(text) => self.add_text(&text.xml10_content())?,
            Event::GeneralRef(reference) => {
                let character = resolve(&reference)?;
                self.add_text(&character)?;
            }
            Event::DocType(_) => return Err("an index has no document type".to_owned()),
            Event::Decl(_) | Event::PI(_) | Event::Comment(_) => {}
            Event::Eof if self.place == Place::Behind => return Ok(false),
            Event::Eof => return Err("it ends before its last element does".to_owned()),
        }
        Ok(true)
    }

    fn start(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        let name = element.name();
        let name = name.as_ref();
        match self.place {
            Place::Outside if name == "index" => self.start_index(element),
            Place::Outside => Err(format!(
                "the first element is <{}>, expected <index>",
                printable(name)
            )),
            Place::Index if name == "release" => self.start_row(element),
            Place::Release => self.start_part(name, element),
            Place::Behind => Err("there is more behind the index".to_owned()),
            Place::Index | Place::Text(_) => self.skip(element),
        }
    }

    fn start_index(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        let version = attribute(element, "version")?.unwrap_or_default();
        if version != FORMAT {
            return Err(format!(
                "index version `{}`, known is {FORMAT}",
                printable(&version)
            ));
        }
        let serial = attribute(element, "serial")?.ok_or("the index has no serial")?;
        self.document.serial = serial
            .trim()
            .parse()
            .map_err(|_| format!("serial `{}` is no number", printable(&serial)))?;
        self.document.date = match attribute(element, "date")? {
            Some(date) => Some(
                date.parse()
                    .map_err(|_| format!("date `{}` is no date", printable(&date)))?,
            ),
            None => None,
        };
        self.place = Place::Index;
        Ok(())
    }

    fn start_row(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        self.seen += 1;
        if self.seen > ROWS {
            return Err(format!("more than {ROWS} releases"));
        }
        self.row = Some(Draft {
            psid: attribute(element, "psid")?.unwrap_or_default(),
            device: attribute(element, "device")?,
            branch: attribute(element, "branch")?,
            date: attribute(element, "date")?,
            minimum: attribute(element, "minimum")?,
            ..Draft::default()
        });
        self.place = Place::Release;
        Ok(())
    }

    fn start_part(&mut self, name: &str, element: &BytesStart<'_>) -> Result<(), String> {
        let Some(row) = &mut self.row else {
            return Ok(());
        };
        let kind = match name {
            "description" => Kind::Description,
            "part-number" => Kind::PartNumber,
            "version" => {
                row.component = attribute(element, "component")?.unwrap_or_default();
                Kind::Version
            }
            "notes" => Kind::Notes,
            "file" => {
                row.file = attribute(element, "name")?;
                row.size = attribute(element, "size")?;
                row.sha256 = attribute(element, "sha256")?;
                row.image_sha256 = attribute(element, "image-sha256")?;
                return self.skip(element);
            }
            _ => return self.skip(element),
        };
        self.value.clear();
        self.place = Place::Text(kind);
        Ok(())
    }

    /// Passes over an element and all that is in it.
    fn skip(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        let passed = self.reader.read_to_end(element.name());
        passed.map(|_| ()).map_err(|error| error.to_string())
    }

    fn add_text(&mut self, text: &str) -> Result<(), String> {
        match self.place {
            Place::Text(_) if self.value.len() + text.len() > TEXT => {
                Err(format!("a text of more than {TEXT} bytes"))
            }
            Place::Text(_) => {
                self.value.push_str(text);
                Ok(())
            }
            Place::Outside | Place::Behind if !text.trim().is_empty() => {
                Err("text outside of the index".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self) {
        self.place = match self.place {
            Place::Text(kind) => {
                self.end_text(kind);
                Place::Release
            }
            Place::Release => {
                self.end_row();
                Place::Index
            }
            Place::Index | Place::Outside | Place::Behind => Place::Behind,
        };
    }

    fn end_text(&mut self, kind: Kind) {
        let Some(row) = &mut self.row else {
            return;
        };
        let text = self.value.trim();
        if text.is_empty() {
            return;
        }
        let text = text.to_owned();
        match kind {
            Kind::Description => row.description = Some(text),
            Kind::PartNumber => row.part_numbers.push(text),
            Kind::Version => row.versions.push((row.component.clone(), text)),
            Kind::Notes => row.notes = Some(text),
        }
    }

    fn end_row(&mut self) {
        let Some(draft) = self.row.take() else {
            return;
        };
        let psid = printable(&draft.psid);
        match draft.row() {
            Ok(row) => self.document.rows.push(row),
            Err(reason) => {
                let number = self.seen;
                let warning = format!("release {number} ({psid}) left out: {reason}");
                self.document.warnings.push(warning);
            }
        }
    }

    fn fault(&self, reason: &str) -> Fault {
        let position = self
            .reader
            .error_position()
            .max(self.reader.buffer_position());
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        fault_at(self.text.as_bytes(), position, reason)
    }
}

fn reader(text: &str) -> Reader<&[u8]> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    reader
}

fn fault_at(bytes: &[u8], position: usize, reason: &str) -> Fault {
    let before = bytes.get(..position).unwrap_or(bytes);
    let line_start = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    Fault {
        line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
        column: before.len() - line_start + 1,
        reason: reason.to_owned(),
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Result<Option<String>, String> {
    for attribute in element.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        if attribute.key.as_ref() == name {
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| error.to_string())?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}

/// A character reference, or one of XML's five entities.
fn resolve(reference: &BytesRef<'_>) -> Result<String, String> {
    if let Some(character) = reference
        .resolve_char_ref()
        .map_err(|error| error.to_string())?
    {
        return Ok(character.to_string());
    }
    let name: &str = reference;
    quick_xml::escape::resolve_predefined_entity(name)
        .map(str::to_owned)
        .ok_or_else(|| format!("unknown entity `&{};`", printable(name)))
}
