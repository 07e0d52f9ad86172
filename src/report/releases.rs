//! What was fetched and what a mirror is made of, for people.

use std::io::{self, Write};

use super::json::{FetchedFile, Mirror};
use super::printable;

/// A line for each file, and one that counts.
///
/// # Errors
/// What the writer says.
pub fn fetched(
    out: &mut dyn Write,
    files: &[FetchedFile],
    not_listed: &[String],
) -> io::Result<()> {
    for file in files {
        writeln!(out, "{}", line(file))?;
    }
    for psid in not_listed {
        writeln!(out, "{psid}: not listed")?;
    }
    let counted: Vec<String> = ["downloaded", "copied", "kept"]
        .into_iter()
        .filter_map(|result| {
            let count = files.iter().filter(|file| file.result == result).count();
            (count > 0).then(|| format!("{count} {result}"))
        })
        .collect();
    let counted = if counted.is_empty() {
        "nothing".to_owned()
    } else {
        counted.join(", ")
    };
    writeln!(out, "Summary: {counted}")
}

/// `fw/x.mfa: MT_1 16.35.4506 from online, downloaded`.
fn line(file: &FetchedFile) -> String {
    let version = file.version.iter().cloned();
    let what: Vec<String> = file.psids.iter().cloned().chain(version).collect();
    let what = if what.is_empty() {
        String::new()
    } else {
        format!("{} ", what.join(" "))
    };
    format!(
        "{}: {what}from {}, {}",
        printable(&file.file.display().to_string()),
        printable(&file.source),
        file.result
    )
}

/// What the mirror holds, and what it does not.
///
/// # Errors
/// What the writer says.
pub fn mirror(out: &mut dyn Write, mirror: &Mirror<'_>) -> io::Result<()> {
    for file in mirror.files {
        writeln!(out, "{}", line(file))?;
    }
    let index = printable(&mirror.index.display().to_string());
    let change = if mirror.changed {
        "written"
    } else {
        "as it was"
    };
    writeln!(
        out,
        "{index}: {change}, serial {}, {} release(s) in {} file(s)",
        mirror.serial, mirror.releases, mirror.firmware_files
    )?;
    let signature = match mirror.signature {
        "made" => "signed",
        "kept" => "its signature still fits",
        "removed" => "its signature was removed, since it no longer fits; sign it with --sign KEY",
        _ => "not signed",
    };
    writeln!(out, "{index}: {signature}")?;
    for left_out in &mirror.left_out {
        writeln!(
            out,
            "{}: left out, {}",
            printable(&left_out.file),
            printable(&left_out.reason)
        )?;
    }
    Ok(())
}
