//! The question before a burn.

use std::io::{self, BufRead, IsTerminal, Write};

/// mlxup's question.
const QUESTION: &str = "Perform FW update? [y/N]: ";

/// Whether there is somebody to ask.
#[must_use]
pub fn possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks on stderr. Only an answer that begins with `y` or `Y` is yes; an empty line and the end
/// of the input are no (mft-compat 1.6).
///
/// # Errors
/// What the terminal says.
pub fn confirmed() -> io::Result<bool> {
    confirmed_that(QUESTION)
}

/// As [`confirmed`], with another question.
///
/// # Errors
/// What the terminal says.
pub fn confirmed_that(question: &str) -> io::Result<bool> {
    let mut stderr = io::stderr();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    answer.starts_with(['y', 'Y'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_leading_y_is_yes() {
        for yes in ["y\n", "Y\n", "yes\n", "yo"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", " y\n", "no\n", "1\n"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
