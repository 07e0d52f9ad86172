//! Progress of a burn on stderr: a bar on a terminal, mlxup's closing lines without carriage
//! returns otherwise, or one JSON object a line.

use std::io::{self, Write};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::printable;
use crate::progress::{Event, Phase};

/// The moving dots flint shows while nothing can be counted (mft-compat 6.7).
const FRAMES: [&str; 10] = [
    "[.    ]", "[..   ]", "[...  ]", "[.... ]", "[.....]", "[ ....]", "[  ...]", "[   ..]",
    "[    .]", "[     ]",
];

/// How progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A live bar; needs a terminal.
    Bar,
    /// A line when a phase has ended.
    Lines,
    /// A JSON object a line.
    Json,
    /// Nothing.
    Silent,
}

/// Shows the events of one card's burn.
#[derive(Debug)]
pub struct Progress {
    style: Style,
    device: String,
    bar: Option<ProgressBar>,
    /// Last percentage told in JSON, so that every value is told once.
    told: Option<(Phase, u64)>,
}

impl Progress {
    /// For the burn of `device`.
    #[must_use]
    pub fn new(style: Style, device: &str) -> Self {
        Self {
            style,
            device: device.to_owned(),
            bar: None,
            told: None,
        }
    }

    /// Shows one event. What stderr says to it is nobody's business: a burn does not stop because
    /// its progress cannot be shown.
    pub fn show(&mut self, event: &Event) {
        match self.style {
            Style::Bar => self.draw(event),
            Style::Lines => {
                if let Some(line) = line(event) {
                    let _ = writeln!(io::stderr(), "{line}");
                }
            }
            Style::Json => {
                if let Some(object) = self.object(event) {
                    let _ = writeln!(io::stderr(), "{object}");
                }
            }
            Style::Silent => {}
        }
    }

    fn draw(&mut self, event: &Event) {
        match *event {
            Event::Progress { phase, done, total } => {
                let bar = self.bar.get_or_insert_with(|| new_bar(phase));
                if total > 0 {
                    bar.set_length(total);
                    bar.set_position(done);
                } else {
                    bar.tick();
                }
            }
            Event::PhaseDone { .. } | Event::Note { .. } => {
                if let Some(bar) = self.bar.take() {
                    bar.finish_and_clear();
                }
                if let Some(line) = line(event) {
                    let _ = writeln!(io::stderr(), "{line}");
                }
            }
            Event::Started { .. } => {}
        }
    }

    fn object(&mut self, event: &Event) -> Option<serde_json::Value> {
        let device = &self.device;
        Some(match event {
            Event::Started { bytes } => {
                json!({"event": "started", "device": device, "bytes": bytes})
            }
            Event::Progress { phase, done, total } => {
                let percent = done
                    .saturating_mul(100)
                    .checked_div(*total)
                    .unwrap_or(*done);
                if self.told.replace((*phase, percent)) == Some((*phase, percent)) {
                    return None;
                }
                json!({"event": "progress", "device": device, "phase": word(*phase),
                       "done": done, "total": total})
            }
            Event::PhaseDone { phase } => {
                json!({"event": "phase_done", "device": device, "phase": word(*phase)})
            }
            Event::Note { text } => json!({"event": "note", "device": device, "text": text}),
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(phase: Phase) -> ProgressBar {
    let bar = ProgressBar::no_length();
    let template = match phase {
        Phase::Write | Phase::Read => "{msg} - {percent:>3}% [{bar:30}] {bytes}/{total_bytes}",
        _ => "{msg} - {spinner}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> ").tick_strings(&FRAMES));
    }
    bar.set_message(stage(phase));
    bar
}

/// The line of an ended phase, with the ten blanks mlxup prints. Phases that mlxup does not show
/// have none.
fn line(event: &Event) -> Option<String> {
    match event {
        Event::PhaseDone {
            phase: Phase::Verify | Phase::Activate,
        }
        | Event::Started { .. }
        | Event::Progress { .. } => None,
        Event::PhaseDone { phase } => Some(format!("{} -   OK          ", stage(*phase))),
        Event::Note { text } => Some(printable(text)),
    }
}

/// The name users know a phase by (burn 7.9).
const fn stage(phase: Phase) -> &'static str {
    match phase {
        Phase::Initialize => "FSMST_INITIALIZE",
        Phase::Write => "Writing Boot image component",
        Phase::Verify => "Verifying",
        Phase::Activate => "Activating",
        Phase::Read => "Reading flash",
        Phase::Erase => "Erasing flash",
    }
}

const fn word(phase: Phase) -> &'static str {
    match phase {
        Phase::Initialize => "initialize",
        Phase::Write => "write",
        Phase::Verify => "verify",
        Phase::Activate => "activate",
        Phase::Read => "read",
        Phase::Erase => "erase",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_end_as_mlxup_ends_them() {
        let line = |phase| line(&Event::PhaseDone { phase });
        assert_eq!(
            line(Phase::Initialize).unwrap(),
            "FSMST_INITIALIZE -   OK          "
        );
        assert_eq!(
            line(Phase::Write).unwrap(),
            "Writing Boot image component -   OK          "
        );
        assert_eq!(line(Phase::Activate), None);
    }

    #[test]
    fn json_tells_every_percentage_once() {
        let mut progress = Progress::new(Style::Json, "0000:03:00.0");
        let mut told = Vec::new();
        for done in (0..=1000).step_by(2) {
            let event = Event::Progress {
                phase: Phase::Write,
                done,
                total: 1000,
            };
            told.extend(progress.object(&event));
        }
        assert_eq!(told.len(), 101);
        assert_eq!(told[1]["done"], 10);
        assert_eq!(told[100]["done"], 1000);
    }
}
