//! `cxfw verify`: every check on bundles and images, a line for each section.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::error::CliError;
use super::exit::Exit;
use super::settings::{Format, Settings};
use super::{source, standard_input};
use crate::bundle::{Bundle, Content, Entry, Fault, Kind, Members, Options, facts};
use crate::image::{self, Verification};
use crate::report::json::{self, VerifiedFile, VerifiedImage};
use crate::report::waiting::Waiting;
use crate::report::{flint, list};

/// Arguments of `verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// Bundles, images, or folders of them; `-` for standard input
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
            let waiting = Waiting::new(settings.progress);
            let (file, errors) = check(path, &waiting);
            drop(waiting);
            if settings.format == Format::Text {
                for image in &file.images {
                    list::heading(&mut out, &image.place)?;
                    out.write_all(flint::verification(&image.verification).as_bytes())?;
                }
                out.flush()?;
                for error in &errors {
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
fn check(path: &Path, waiting: &Waiting) -> (VerifiedFile, Vec<CliError>) {
    let name = if is_piped(path) {
        Path::new(standard_input::NAME)
    } else {
        path
    };
    let mut file = VerifiedFile::new(name);
    let options = Options {
        members: Members::All,
        ..Options::default()
    };
    let errors = match source::open(path, &options) {
        Ok(bundle) => {
            waiting.reading(&bundle);
            file.file = bundle.path().display().to_string();
            file.kind = Some(bundle.kind().to_string());
            check_images(&bundle, &mut file)
        }
        Err(error) => match damaged_image(path, &error) {
            Some(verification) => {
                file.kind = Some(Kind::Image.to_string());
                file.images.push(VerifiedImage {
                    place: file.file.clone(),
                    psid: None,
                    verification,
                });
                Vec::new()
            }
            None => vec![error],
        },
    };
    file.problems = errors.iter().map(CliError::problem).collect();
    (file, errors)
}

/// A bare image that is too damaged to be a bundle: its lines say where.
fn damaged_image(path: &Path, error: &CliError) -> Option<Verification> {
    match error {
        CliError::Bundle(error)
            if matches!(error.fault, Fault::Image(_)) && error.member.is_none() =>
        {
            let bare = if is_piped(path) {
                Content::of_file(&standard_input::file().ok()?)
            } else {
                Content::open(path)
            };
            Some(image::verify(bare.ok()?.as_slice()))
        }
        _ => None,
    }
}

fn is_piped(path: &Path) -> bool {
    path.as_os_str() == standard_input::DASH
}

/// One pass over the container makes its checks and those of its images. Returns what is wrong
/// beside the images' own failures.
fn check_images(bundle: &Bundle, file: &mut VerifiedFile) -> Vec<CliError> {
    let mut images = BTreeMap::new();
    let mut misfiled = Vec::new();
    let walked = bundle.read_each(|entry, bytes| {
        if entry.other.is_some() {
            return;
        }
        let verification = image::verify(bytes);
        if let Some(info) = verification.info.clone().filter(|_| verification.passed())
            && let Err(fault) = facts::for_board(entry.psid.as_ref(), info)
        {
            misfiled.push(entry.error(fault).into());
        }
        let image = VerifiedImage {
            place: place(bundle, entry),
            psid: entry.psid.as_ref().map(ToString::to_string),
            verification,
        };
        images.insert(entry.index, image);
    });
    file.images.extend(images.into_values());
    // An image that could not even be described shows that in its lines.
    let of_container = |fault: &Fault| !matches!(fault, Fault::Image(_));
    let problems = bundle.problems().iter();
    let problems = problems.filter(|problem| of_container(&problem.fault));
    let problems = problems.cloned().map(CliError::from);
    let walked = walked.err().map(CliError::from);
    problems.chain(misfiled).chain(walked).collect()
}

/// How the lines of an image are announced: file, member, board; a bare image is its file.
fn place(bundle: &Bundle, entry: &Entry) -> String {
    let file = entry.file.display();
    let bare = bundle.kind() == Kind::Image;
    let board = entry.psid.as_ref().map(ToString::to_string);
    let inside = entry.member.clone().into_iter().chain(board);
    let inside: Vec<String> = inside.filter(|_| !bare).collect();
    if inside.is_empty() {
        file.to_string()
    } else {
        format!("{file} ({})", inside.join(", "))
    }
}
