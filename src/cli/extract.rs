//! `cxfw extract`: one image out of a bundle, checked on the way.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::settings::Settings;
use super::source;
use crate::bundle::{Bundle, Entry};
use crate::identity::Psid;
use crate::image::ImageInfo;

/// Arguments of `extract`.
#[derive(Debug, Args)]
pub struct ExtractArgs {
    /// The bundle
    file: PathBuf,

    /// Board the image is for
    #[arg(long, value_name = "PSID")]
    psid: String,

    /// Variant, where the bundle holds several for the board
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,

    /// Where to write it, `-` for stdout [default: a name made of chip, version and part number]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl ExtractArgs {
    /// Takes the image out; nothing is overwritten.
    ///
    /// # Errors
    /// A bundle or image that cannot be used, or a file that cannot be written.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("extract")?;
        let bundle = source::open_file(&self.file)?;
        let entry = self.entry(&bundle)?;
        let bytes = bundle.read(entry.index)?;
        let info = bundle.image_info(entry.index)?;
        let output = self
            .output
            .clone()
            .unwrap_or_else(|| file_name(&info).into());
        if output.as_os_str() == "-" {
            io::stdout().write_all(&bytes)?;
            return Ok(Exit::Done);
        }
        write_new(&output, &bytes)?;
        writeln!(io::stdout(), "{}", output.display())?;
        Ok(Exit::Done)
    }

    /// The one entry that is meant. People write PSIDs in any case; the bundle's own form decides.
    fn entry<'a>(&self, bundle: &'a Bundle) -> Result<&'a Entry, CliError> {
        let wanted = Psid::new(&self.psid).ok_or_else(|| CliError::NotAPsid {
            text: self.psid.clone(),
        })?;
        let is_board = |psid: &Psid| psid.as_str().eq_ignore_ascii_case(wanted.as_str());
        let hits: Vec<&Entry> = bundle
            .entries()
            .iter()
            .filter(|entry| entry.psid.as_ref().is_some_and(is_board))
            .filter(|entry| self.tag.as_ref().is_none_or(|tag| *tag == entry.tag))
            .collect();
        match hits[..] {
            [entry] => Ok(entry),
            [] => Err(CliError::NotInBundle {
                file: self.file.clone(),
                psid: wanted.to_string(),
                present: bundle
                    .entries()
                    .iter()
                    .filter_map(|entry| entry.psid.as_ref().map(ToString::to_string))
                    .collect(),
            }),
            _ => Err(CliError::SeveralInBundle {
                file: self.file.clone(),
                psid: wanted.to_string(),
                count: hits.len(),
            }),
        }
    }
}

/// `fw-ConnectX4LX-rel-14_32_1010-MCX4121A-ACA_Ax.bin` (mft-compat 4.7). Text from the image
/// becomes part of a file name, so everything but letters, digits, `-`, `_` and `.` is replaced.
fn file_name(info: &ImageInfo) -> String {
    let chip = info.model().map_or("unknown", |model| model.name);
    let version = info.version.map_or_else(
        || "unknown".to_owned(),
        |version| version.to_string().replace('.', "_"),
    );
    let board = match (&info.psid, info.part_number.as_str()) {
        (Some(psid), "") => psid.to_string(),
        (_, part_number) => part_number.to_owned(),
    };
    let keep = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    format!("fw-{chip}-rel-{version}-{board}.bin")
        .chars()
        .map(|c| if keep(c) { c } else { '_' })
        .collect()
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    let failed = |action| {
        move |source| CliError::File {
            action,
            path: path.to_owned(),
            source,
        }
    };
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(failed("create"))?;
    file.write_all(bytes).map_err(failed("write"))
}
