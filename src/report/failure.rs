//! An error on its way to the user: what failed, what caused it, what to do next.

use std::error::Error;
use std::io::{self, Write};

use super::{Palette, printable};

/// Prints an error with its causes, then a blank line and the advice.
///
/// # Errors
/// What the writer says.
pub fn print(
    out: &mut dyn Write,
    palette: Palette,
    error: &dyn Error,
    advice: Option<&str>,
) -> io::Result<()> {
    let mut chain = chain(error).into_iter();
    let head = chain.next().unwrap_or_default();
    writeln!(out, "{} {}", palette.error("error:"), printable(&head))?;
    for cause in chain {
        writeln!(out, "  caused by: {}", printable(&cause))?;
    }
    advise(out, palette, advice)
}

/// Prints a failure that is no error value any more.
///
/// # Errors
/// What the writer says.
pub fn plain(
    out: &mut dyn Write,
    palette: Palette,
    text: &str,
    advice: Option<&str>,
) -> io::Result<()> {
    writeln!(out, "{} {}", palette.error("error:"), printable(text))?;
    advise(out, palette, advice)
}

fn advise(out: &mut dyn Write, palette: Palette, advice: Option<&str>) -> io::Result<()> {
    if let Some(advice) = advice {
        writeln!(out)?;
        writeln!(out, "{} {}", palette.advice("advice:"), printable(advice))?;
    }
    Ok(())
}

/// The messages of an error and its causes. A cause whose text its parent already carries is left
/// out: it would say the same twice.
#[must_use]
pub fn chain(error: &dyn Error) -> Vec<String> {
    let mut messages = vec![error.to_string()];
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !messages.iter().any(|parent| parent.contains(&message)) {
            messages.push(message);
        }
        cause = error.source();
    }
    messages
}

/// One line of warning.
///
/// # Errors
/// What the writer says.
pub fn warning(out: &mut dyn Write, palette: Palette, text: &str) -> io::Result<()> {
    writeln!(out, "{} {}", palette.warning("warning:"), printable(text))
}
