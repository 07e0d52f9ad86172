//! mstflint, unmodified, on the card of a bench.

use std::process::{Command, Stdio};
use std::sync::Arc;

use cxfw::lab::mount::View;
use cxfw::pci::ConfigSource;

use super::bench::Bench;
use super::way::Way;

/// The thread that made it sees the lab where the hardware would be, for good.
pub struct Tool {
    view: View,
    address: String,
}

impl Tool {
    /// For the card of `bench`, reached through `source`.
    pub fn new(bench: &Bench, source: Arc<dyn ConfigSource>) -> Self {
        Self {
            view: View::enter(&bench.roots(), source).unwrap(),
            address: bench.address(),
        }
    }

    /// Runs it. Whether it succeeded, and all it printed.
    pub fn run(&self, way: Way, args: &[&str]) -> (bool, String) {
        let mut command = Command::new("mstflint");
        command.args(["-d", &self.address]).args(way.options());
        self.view.prepare(command.args(args).stdin(Stdio::null()));
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        (output.status.success(), text)
    }
}
