//! JSON: one object on stdout, also when the run failed. Field names are a promise to scripts;
//! the schemas are `docs/schema/*.json`.
//!
//! A value that could not be read is null; the reason is in `error`.

mod card;
mod list;
mod update;
mod verify;

use std::io::{self, Write};

use serde::Serialize;

use super::CardView;

pub use list::ListedFile;
pub use list::{extracted, list};
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
    /// `image`, `directory` or `lab`.
    pub kind: &'static str,
    /// File or directory.
    pub name: String,
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
    source: Option<&SourceName>,
    errors: &[Problem],
) -> io::Result<()> {
    #[derive(Serialize)]
    struct Body<'a> {
        cards: Vec<card::Card<'a>>,
    }
    let cards = cards
        .iter()
        .map(|view| card::Card::new(view, source))
        .collect();
    write(out, "cxfw.query/1", Body { cards }, errors)
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
        "query" | "update" => "cards",
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
