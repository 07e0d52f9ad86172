//! JSON: one object on stdout, also when the run failed. Field names are a promise to scripts;
//! the schemas are `docs/schema/*.json`.
//!
//! A value that could not be read is null; the reason is in `error`.

mod backup;
mod card;
mod list;
mod releases;
mod update;
mod verify;

use std::io::{self, Write};

use serde::Serialize;

use super::CardView;

pub use backup::{Restored, restored, saved};
pub use list::ListedFile;
pub use list::{extracted, list};
pub use releases::{Download, FetchedFile, LeftOut, Mirror, download, mirror};
pub use update::Update;
pub use verify::{VerifiedFile, VerifiedImage, verify};

/// What made the whole run fail, or one part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Stable word for programs.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

/// Where the images of a run came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SourceName {
    /// `image`, `directory`, `lab`, `online`, `index`, or `releases` for several lists.
    pub kind: &'static str,
    /// File, directory, address, or what the site calls it.
    pub name: String,
}

/// A place where was looked for images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SearchedSource {
    /// As in [`SourceName`].
    pub kind: &'static str,
    /// As in [`SourceName`].
    pub name: String,
    /// Why it gave no answer; then nothing is known of what it has.
    pub error: Option<Problem>,
}

impl From<&SourceName> for SearchedSource {
    fn from(source: &SourceName) -> Self {
        Self {
            kind: source.kind,
            name: source.name.clone(),
            error: None,
        }
    }
}

/// Where the images of a run came from, as a whole and one by one.
#[derive(Debug, Clone, Copy, Default)]
pub struct SourceList<'a> {
    /// All of it; `None` when there was none.
    pub whole: Option<&'a SourceName>,
    /// Each.
    pub searched: &'a [SearchedSource],
}

/// Name and version of this program.
const TOOL: &str = concat!("cxfw ", env!("CARGO_PKG_VERSION"));

#[derive(Serialize)]
struct Document<'a, T> {
    schema: &'a str,
    tool: &'a str,
    #[serde(flatten)]
    body: T,
    errors: &'a [Problem],
}

/// `cxfw.query/1`.
///
/// # Errors
/// What the writer says.
pub fn query(
    out: &mut dyn Write,
    cards: &[CardView<'_>],
    source: SourceList<'_>,
    errors: &[Problem],
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Body<'a> {
        sources: &'a [SearchedSource],
        cards: Vec<card::Card<'a>>,
    }
    let cards = cards
        .iter()
        .map(|view| card::Card::new(view, source.whole))
        .collect();
    let sources = source.searched;
    write(out, "cxfw.query/1", Body { sources, cards }, errors)
}

/// `cxfw.update/1`: the cards as they were before, and what became of each.
///
/// # Errors
/// What the writer says.
pub fn update(out: &mut dyn Write, update: &Update<'_>, errors: &[Problem]) -> io::Result<()> {
    write(out, "cxfw.update/1", update::Body::new(update), errors)
}

/// A run of `command` that failed before there was anything to tell.
///
/// # Errors
/// What the writer says.
pub fn failed(out: &mut dyn Write, command: &str, problem: &Problem) -> io::Result<()> {
    let member = match command {
        "query" | "update" | "backup" | "restore" => "cards",
        _ => "files",
    };
    let body = std::collections::BTreeMap::from([(member, serde_json::Value::Array(Vec::new()))]);
    let schema = format!("cxfw.{command}/1");
    write(out, &schema, body, std::slice::from_ref(problem))
}

fn write(
    out: &mut dyn Write,
    schema: &str,
    body: impl Serialize,
    errors: &[Problem],
) -> io::Result<()> {
    let document = Document {
        schema,
        tool: TOOL,
        body,
        errors,
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)
}
