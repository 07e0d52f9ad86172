//! `cxfw verify`: every check on bundles and images, a line for each section.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::settings::{Format, Settings};
use super::source;
use crate::bundle::{Bundle, Content, Fault, Kind};
use crate::image::{self, Verification};
use crate::report::json::{self, VerifiedFile};
use crate::report::{flint, list};

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Bundles and images
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl VerifyArgs {
    /// Checks every file; one that fails does not stop the others.
    ///
    /// # Errors
    /// Only when the result cannot be written.
    pub fn run(&self, settings: &Settings) -> Result<Exit, CliError> {
        settings.no_xml("verify")?;
        let mut out = BufWriter::new(io::stdout().lock());
        let mut files = Vec::new();
        for path in &self.files {
            let (file, error) = check(path);
            if settings.format == Format::Text {
                for (psid, verification) in &file.images {
                    list::heading(&mut out, &file.file, psid.as_deref())?;
                    out.write_all(flint::verification(verification).as_bytes())?;
                }
                out.flush()?;
                if let Some(error) = &error {
                    super::tell(settings, error);
                }
            }
            files.push(file);
        }
        if settings.format == Format::Json {
            json::verify(&mut out, &files)?;
        }
        out.flush()?;
        let passed = files.iter().all(VerifiedFile::passed);
        Ok(if passed { Exit::Done } else { Exit::Failed })
    }
}

/// Checks the container and every image in it.
fn check(path: &Path) -> (VerifiedFile, Option<CliError>) {
    let mut file = VerifiedFile {
        file: path.display().to_string(),
        kind: None,
        problem: None,
        images: Vec::new(),
    };
    let error = match source::open_file(path) {
        Ok(bundle) => {
            file.kind = Some(bundle.kind().to_string());
            check_images(&bundle, &mut file).err()
        }
        Err(error) => match damaged_image(path, &error) {
            Some(verification) => {
                file.kind = Some(Kind::Image.to_string());
                file.images.push((None, verification));
                None
            }
            None => Some(error),
        },
    };
    file.problem = error.as_ref().map(CliError::problem);
    (file, error)
}

/// A bare image that is too damaged to be a bundle: its lines say where.
fn damaged_image(path: &Path, error: &CliError) -> Option<Verification> {
    match error {
        CliError::Bundle(error) if matches!(error.fault, Fault::Image(_)) => {
            let bare = error.member.is_none().then(|| Content::open(path).ok())??;
            Some(image::verify(bare.as_slice()))
        }
        _ => None,
    }
}

/// One pass over the container makes its checks and those of its images.
fn check_images(bundle: &Bundle, file: &mut VerifiedFile) -> Result<(), CliError> {
    let mut images = BTreeMap::new();
    bundle.read_each(|entry, bytes| {
        if entry.other.is_none() {
            let board = match bundle.kind() {
                Kind::Image => None,
                _ => entry.psid.as_ref().map(ToString::to_string),
            };
            images.insert(entry.index, (board, image::verify(bytes)));
        }
    })?;
    file.images.extend(images.into_values());
    Ok(())
}
