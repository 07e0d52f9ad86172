//! `cxfw extract`: one image out of a bundle, checked on the way.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::settings::{Format, Settings};
use super::source;
use crate::bundle::{Bundle, Entry, Members, Options, name};
use crate::identity::Psid;
use crate::report::json;
use crate::report::waiting::Waiting;

/// Stands for standard output.
const DASH: &str = "-";

/// Arguments of `extract`.
#[derive(Debug, Args)]
pub struct ExtractArgs {
    /// The bundle, or `-` for standard input
    file: PathBuf,

    /// Board the image is for, in capitals or not
    #[arg(long, value_name = "PSID")]
    psid: String,

    /// Variant, where the bundle holds several for the board
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    /// Member of the archive, where several hold an image for the board
    #[arg(long, value_name = "NAME")]
    member: Option<String>,

    /// Where to write it, `-` for stdout [default: a name made of chip, version and part number]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ExtractArgs {
    /// Takes the image out; nothing is overwritten, no link is followed.
    ///
    /// # Errors
    /// A bundle or image that cannot be used, or a file that cannot be written.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("extract")?;
        let options = Options {
            members: Members::All,
            ..Options::default()
        };
        let bundle = source::open(&self.file, &options)?;
        let entry = self.entry(&bundle)?;
        let waiting = Waiting::new(settings.progress);
        waiting.reading(&bundle);
        let bytes = bundle.read(entry.index)?;
        drop(waiting);
        // What is no adapter firmware says nothing of itself.
        let is_firmware = entry.other.is_none();
        let info = is_firmware.then(|| entry.describe(&bytes)).transpose()?;
        let output = match &self.output {
            Some(output) if output.as_os_str() == DASH => {
                io::stdout().write_all(&bytes)?;
                return Ok(Exit::Done);
            }
            Some(output) => output.clone(),
            None => name::for_image(entry, info.as_ref()).into(),
        };
        write_new(&output, &bytes)?;
        let mut out = io::stdout().lock();
        match settings.format {
            Format::Json => json::extracted(&mut out, &output, entry, bytes.len() as u64)?,
            Format::Text | Format::Xml => writeln!(out, "{}", output.display())?,
        }
        Ok(Exit::Done)
    }

    /// The one entry that is meant. People write PSIDs in any case; the bundle's own form decides,
    /// and one written exactly so comes first.
    fn entry<'a>(&self, bundle: &'a Bundle) -> Result<&'a Entry, CliError> {
        let wanted = Psid::new(&self.psid).ok_or_else(|| CliError::NotAPsid {
            text: self.psid.clone(),
        })?;
        let hits = |is_board: &dyn Fn(&Psid) -> bool| -> Vec<&'a Entry> {
            let entries = bundle.entries().iter();
            entries
                .filter(|entry| entry.psid.as_ref().is_some_and(is_board))
                .filter(|entry| self.tag.as_ref().is_none_or(|tag| *tag == entry.tag))
                .filter(|entry| self.member.is_none() || self.member == entry.member)
                .collect()
        };
        let mut found = hits(&|psid| *psid == wanted);
        if found.is_empty() {
            found = hits(&|psid| psid.as_str().eq_ignore_ascii_case(wanted.as_str()));
        }
        match found[..] {
            [entry] => Ok(entry),
            [] => Err(self.not_found(bundle, &wanted)),
            _ => Err(CliError::SeveralInBundle {
                file: bundle.path().to_owned(),
                psid: wanted.to_string(),
                hits: found.into_iter().map(in_words).collect(),
            }),
        }
    }

    fn not_found(&self, bundle: &Bundle, wanted: &Psid) -> CliError {
        // Where a part of the bundle cannot be read, the image may be in that.
        if let Some(problem) = bundle.problems().first() {
            return problem.clone().into();
        }
        let psids = bundle
            .entries()
            .iter()
            .filter_map(|entry| entry.psid.as_ref());
        let mut present: Vec<String> = psids.map(ToString::to_string).collect();
        present.sort();
        present.dedup();
        CliError::NotInBundle {
            file: bundle.path().to_owned(),
            psid: wanted.to_string(),
            present,
        }
    }
}

/// What tells an image from others for the same board.
fn in_words(entry: &Entry) -> String {
    let tag = Some(&entry.tag).filter(|tag| !tag.is_empty());
    let words = [
        entry.member.clone(),
        tag.map(|tag| format!("tag {tag}")),
        entry.versions.first().map(|version| version.text.clone()),
        entry.other.clone(),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    words.join(" ")
}

/// Writes a file that is not there yet; what could not be written whole is taken away again.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let failed = |action| {
        move |source| CliError::File {
            action,
            path: path.to_owned(),
            source,
        }
    };
    // A link that is there counts as a file that is there, wherever it leads.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(failed("create"))?;
    file.write_all(bytes).map_err(|source| {
        let _ = std::fs::remove_file(path);
        failed("write")(source)
    })
}
