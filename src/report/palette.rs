//! Colour, for terminals only.

/// Escape codes to put around words; empty when colour is off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    coloured: bool,
}

impl Palette {
    /// A palette that colours or does not.
    #[must_use]
    pub const fn new(coloured: bool) -> Self {
        Self { coloured }
    }

    /// What went wrong: bold red.
    #[must_use]
    pub fn error(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// What to watch: bold yellow.
    #[must_use]
    pub fn warning(self, text: &str) -> String {
        self.paint("1;33", text)
    }

    /// What to do next: bold green.
    #[must_use]
    pub fn advice(self, text: &str) -> String {
        self.paint("1;32", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
