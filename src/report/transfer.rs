//! Progress of downloads on stderr: a bar with speed and time left on a terminal, a line for each
//! file otherwise, or one JSON object a line.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::printable;
use super::progress::Style;
use crate::progress::Transfer;

/// With the size known.
const SIZED: &str =
    "{msg} - {percent:>3}% [{bar:30}] {bytes}/{total_bytes} {bytes_per_sec} {eta} left";
/// Without.
const UNSIZED: &str = "{msg} - {bytes} {bytes_per_sec}";

/// Shows one download after the other.
#[derive(Debug)]
pub struct TransferBoard {
    style: Style,
    file: Option<File>,
}

/// The download that is under way.
#[derive(Debug)]
struct File {
    name: String,
    bar: Option<ProgressBar>,
    speed: Speed,
    total: Option<u64>,
    /// Last percentage (or MiB, without a size) told in JSON.
    told: Option<u64>,
}

/// Bytes a second since the transfer began or went on.
#[derive(Debug)]
struct Speed {
    since: Instant,
    from: u64,
}

impl TransferBoard {
    /// Nothing under way so far.
    #[must_use]
    pub const fn new(style: Style) -> Self {
        Self { style, file: None }
    }

    /// Shows one event. What stderr says to it is nobody's business.
    pub fn show(&mut self, event: &Transfer) {
        if self.style == Style::Silent {
            return;
        }
        let text = match event {
            Transfer::Started { name, done, total } => self.start(name, *done, *total),
            Transfer::Advanced { done } => self.advance(*done),
            Transfer::Note { text } => Some(match self.style {
                Style::Json => json!({"event": "note", "text": text}).to_string(),
                _ => printable(text),
            }),
        };
        if let Some(text) = text {
            self.say(&text);
        }
    }

    /// The file is there and verified, or will not be.
    pub fn end(&mut self, well: bool) {
        let Some(file) = self.file.take() else {
            return;
        };
        if let Some(bar) = &file.bar {
            bar.finish_and_clear();
        }
        let name = printable(&file.name);
        match self.style {
            Style::Json if well => {
                let object = json!({"event": "transfer_done", "file": file.name});
                self.say(&object.to_string());
            }
            Style::Lines if well => self.say(&format!("Downloading {name} - OK")),
            _ => {}
        }
    }

    fn start(&mut self, name: &str, done: u64, total: Option<u64>) -> Option<String> {
        let again = self.file.as_ref().is_some_and(|file| file.name == name);
        let bar = self.file.take().and_then(|file| file.bar);
        let bar = (self.style == Style::Bar).then(|| bar.unwrap_or_else(ProgressBar::no_length));
        if let Some(bar) = &bar {
            dress(bar, name, done, total);
        }
        let speed = Speed {
            since: Instant::now(),
            from: done,
        };
        self.file = Some(File {
            name: name.to_owned(),
            bar,
            speed,
            total,
            told: None,
        });
        match self.style {
            Style::Json => Some(
                json!({"event": "transfer_started", "file": name, "done": done, "total": total})
                    .to_string(),
            ),
            Style::Lines if !again => Some(format!("Downloading {} ...", printable(name))),
            _ => None,
        }
    }

    fn advance(&mut self, done: u64) -> Option<String> {
        let file = self.file.as_mut()?;
        if let Some(bar) = &file.bar {
            bar.set_position(done);
        }
        if self.style != Style::Json {
            return None;
        }
        file.object(done).map(|object| object.to_string())
    }

    /// A line, with the bar out of its way.
    fn say(&self, text: &str) {
        let print = || {
            let _ = writeln!(io::stderr(), "{text}");
        };
        match self.file.as_ref().and_then(|file| file.bar.as_ref()) {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl File {
    /// Every percentage once.
    fn object(&mut self, done: u64) -> Option<Value> {
        let step = match self.total {
            Some(total) => done.saturating_mul(100).checked_div(total).unwrap_or(100),
            None => done >> 20,
        };
        if self.told.replace(step) == Some(step) {
            return None;
        }
        let (speed, left) = self.speed.at(done, self.total, self.speed.since.elapsed());
        Some(
            json!({"event": "transfer", "file": self.name, "done": done, "total": self.total,
                    "bytes_per_second": speed, "seconds_left": left}),
        )
    }
}

impl Speed {
    /// Bytes a second after this time, and the seconds that the rest takes at that.
    fn at(&self, done: u64, total: Option<u64>, took: Duration) -> (Option<u64>, Option<u64>) {
        let moved = u128::from(done.saturating_sub(self.from));
        let speed = (moved * 1000).checked_div(took.as_millis());
        let speed = speed.and_then(|speed| u64::try_from(speed).ok());
        let left = total
            .map(|total| total.saturating_sub(done))
            .zip(speed)
            .and_then(|(rest, speed)| rest.checked_div(speed));
        (speed, left)
    }
}

fn dress(bar: &ProgressBar, name: &str, done: u64, total: Option<u64>) {
    let template = if total.is_some() { SIZED } else { UNSIZED };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    if let Some(total) = total {
        bar.set_length(total);
    }
    bar.set_message(format!("Downloading {}", printable(name)));
    bar.set_position(done);
    bar.reset_eta();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_tells_speed_and_time_left() {
        let speed = Speed {
            since: Instant::now(),
            from: 1000,
        };
        let told = |done, total, seconds| speed.at(done, total, Duration::from_secs(seconds));
        assert_eq!(told(3000, Some(9000), 2), (Some(1000), Some(6)));
        assert_eq!(told(3000, None, 2), (Some(1000), None));
        assert_eq!(told(1000, Some(9000), 2), (Some(0), None));
        assert_eq!(told(1000, Some(9000), 0), (None, None));
    }

    #[test]
    fn json_tells_every_percentage_once() {
        let mut board = TransferBoard::new(Style::Json);
        board.start("x.mfa", 0, Some(1000));
        let told = (0..=1000).filter_map(|done| board.advance(done)).count();
        assert_eq!(told, 101);
    }
}
