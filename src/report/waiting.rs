//! Progress of reading firmware files, on stderr: nothing while it is quick, then how much has been
//! inflated, until it is done.

use std::io::{self, Write};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;

use super::printable;
use super::progress::Style;
use crate::bundle::{Bundle, Meter};

/// What is quicker than this is not worth a bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time between two looks at the meter.
const PACE: Duration = Duration::from_millis(100);

/// Shows that reading goes on, from its first second until it is dropped.
#[derive(Debug)]
pub struct Waiting {
    /// Dropped to end the thread.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

/// What is being read.
struct Job {
    name: String,
    meter: Meter,
    total: Option<u64>,
}

impl Waiting {
    /// For files that are read from now on. A style without a live bar shows nothing, but for JSON.
    #[must_use]
    pub fn new(style: Style) -> Self {
        let shown = matches!(style, Style::Bar | Style::Json);
        let (jobs, next) = mpsc::channel();
        let thread = shown.then(|| {
            thread::spawn(move || {
                if let Some(job) = patience(&next) {
                    match style {
                        Style::Json => tell(&next, job),
                        _ => draw(&next, job),
                    }
                }
            })
        });
        Self {
            jobs: Some(jobs),
            thread,
        }
    }

    /// The images of this bundle are read now.
    pub fn reading(&self, bundle: &Bundle) {
        let job = Job {
            name: printable(&bundle.path().display().to_string()),
            meter: bundle.meter().clone(),
            total: bundle.inflated_size(),
        };
        // Nobody looks where nothing is shown.
        let _ = self.jobs.as_ref().map(|jobs| jobs.send(job));
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // A thread that failed to draw has nothing more to say.
            let _ = thread.join();
        }
    }
}

/// Waits until there is something to show; `None` when all is done before.
fn patience(next: &mpsc::Receiver<Job>) -> Option<Job> {
    let mut job = next.recv().ok()?;
    loop {
        match next.recv_timeout(PATIENCE) {
            Ok(another) => job = another,
            Err(RecvTimeoutError::Timeout) => return Some(job),
            Err(RecvTimeoutError::Disconnected) => return None,
        }
    }
}

fn draw(next: &mpsc::Receiver<Job>, mut job: Job) {
    let bar = bar(&job);
    loop {
        bar.set_position(job.meter.inflated());
        bar.tick();
        match next.recv_timeout(PACE) {
            Ok(another) => {
                job = another;
                bar.set_style(style(&job));
                bar.set_length(job.total.unwrap_or(0));
                bar.set_message(job.name.clone());
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    bar.finish_and_clear();
}

fn bar(job: &Job) -> ProgressBar {
    let bar = ProgressBar::new(job.total.unwrap_or(0)).with_style(style(job));
    bar.set_message(job.name.clone());
    bar
}

fn style(job: &Job) -> ProgressStyle {
    let template = match job.total {
        Some(total) if total > 0 => "{msg} - {percent:>3}% [{bar:30}] {bytes}/{total_bytes}",
        _ => "{msg} - {spinner} {bytes}",
    };
    let style = ProgressStyle::with_template(template);
    style
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

/// One JSON object a second.
fn tell(next: &mpsc::Receiver<Job>, mut job: Job) {
    loop {
        let object = json!({"event": "reading", "file": job.name,
                            "inflated": job.meter.inflated(), "total": job.total});
        let _ = writeln!(io::stderr(), "{object}");
        match next.recv_timeout(PATIENCE) {
            Ok(another) => job = another,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}
