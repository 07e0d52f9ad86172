//! Progress of burns on stderr: a bar a card on a terminal, mlxup's closing lines without carriage
//! returns otherwise, or one JSON object a line.

use std::collections::BTreeMap;
use std::io::{self, Write};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
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

/// Shows the events of burns, one line a card.
#[derive(Debug)]
pub struct Board {
    style: Style,
    bars: MultiProgress,
    lines: BTreeMap<usize, Line>,
}

/// What is shown of one card.
#[derive(Debug)]
struct Line {
    device: String,
    /// Before everything that is told of the card; empty when it is the only one.
    prefix: String,
    bar: Option<ProgressBar>,
    /// Last percentage told in JSON, so that every value is told once.
    told: Option<(Phase, u64)>,
}

impl Board {
    /// Without cards so far.
    #[must_use]
    pub fn new(style: Style) -> Self {
        Self {
            style,
            bars: MultiProgress::new(),
            lines: BTreeMap::new(),
        }
    }

    /// A card's burn begins. `prefix` tells its lines from those of other cards.
    pub fn begin(&mut self, card: usize, device: &str, prefix: String) {
        let line = Line {
            device: device.to_owned(),
            prefix,
            bar: None,
            told: None,
        };
        self.lines.insert(card, line);
    }

    /// Shows one event of a card that has begun. What stderr says to it is nobody's business: a
    /// burn does not stop because its progress cannot be shown.
    pub fn show(&mut self, card: usize, event: &Event) {
        let Some(line) = self.lines.get_mut(&card) else {
            return;
        };
        let text = match self.style {
            Style::Bar => line.draw(event, &self.bars),
            Style::Lines => line.closing(event),
            Style::Json => line.object(event).map(|object| object.to_string()),
            Style::Silent => None,
        };
        if let Some(text) = text {
            self.aside(|| {
                let _ = writeln!(io::stderr(), "{text}");
            });
        }
    }

    /// A card's burn is over: its line goes.
    pub fn end(&mut self, card: usize) {
        if let Some(bar) = self.lines.remove(&card).and_then(|line| line.bar) {
            bar.finish_and_clear();
            self.bars.remove(&bar);
        }
    }

    /// Prints something else, with the bars out of its way.
    pub fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match self.style {
            Style::Bar => self.bars.suspend(print),
            Style::Lines | Style::Json | Style::Silent => print(),
        }
    }
}

impl Line {
    /// Moves the bar. A card that has the screen to itself gets mlxup's closing lines as well.
    fn draw(&mut self, event: &Event, bars: &MultiProgress) -> Option<String> {
        match *event {
            Event::Progress { phase, done, total } => {
                let bar = self
                    .bar
                    .get_or_insert_with(|| bars.add(ProgressBar::no_length()));
                show_phase(bar, phase, &self.prefix, total > 0);
                if total > 0 {
                    bar.set_length(total);
                    bar.set_position(done);
                } else {
                    bar.tick();
                }
                None
            }
            Event::PhaseDone { .. } if self.prefix.is_empty() => {
                if let Some(bar) = self.bar.take() {
                    bar.finish_and_clear();
                    bars.remove(&bar);
                }
                self.closing(event)
            }
            Event::Note { .. } => self.closing(event),
            Event::PhaseDone { .. } | Event::Started { .. } => None,
        }
    }

    /// The line that remains of an event.
    fn closing(&self, event: &Event) -> Option<String> {
        line(event).map(|line| format!("{}{line}", self.prefix))
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

/// Dresses a bar for a phase, unless it shows that one already: dots where its end is not known.
fn show_phase(bar: &ProgressBar, phase: Phase, prefix: &str, counted: bool) {
    let message = format!("{prefix}{}", stage(phase));
    if bar.message() == message {
        return;
    }
    let template = match phase {
        Phase::Write | Phase::Read | Phase::Erase => {
            "{msg} - {percent:>3}% [{bar:30}] {bytes}/{total_bytes}"
        }
        _ if counted => "{msg} - {percent:>3}% [{bar:30}]",
        _ => "{msg} - {spinner}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> ").tick_strings(&FRAMES));
    }
    bar.set_message(message);
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

    fn card(prefix: &str) -> Line {
        Line {
            device: "0000:03:00.0".to_owned(),
            prefix: prefix.to_owned(),
            bar: None,
            told: None,
        }
    }

    #[test]
    fn lines_of_several_cards_say_whose_they_are() {
        let event = Event::PhaseDone {
            phase: Phase::Erase,
        };
        let line = card("Device #3 (0000:03:00.0): ").closing(&event).unwrap();
        assert_eq!(
            line,
            "Device #3 (0000:03:00.0): Erasing flash -   OK          "
        );
    }

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
        let mut line = card("");
        let mut told = Vec::new();
        for done in (0..=1000).step_by(2) {
            let event = Event::Progress {
                phase: Phase::Write,
                done,
                total: 1000,
            };
            told.extend(line.object(&event));
        }
        assert_eq!(told.len(), 101);
        assert_eq!(told[1]["done"], 10);
        assert_eq!(told[100]["done"], 1000);
    }
}
