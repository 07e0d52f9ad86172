//! The process behind a lock, where one of this host is known to live.

use std::fs;
use std::path::Path;

use crate::access::claims::{self, Slot};

/// A living owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Process id.
    pub pid: u32,
    /// Name of its program.
    pub program: String,
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "process {} (`{}`)", self.pid, self.program)
    }
}

/// How the names of other tools' programs begin.
const TOOLS: [&str; 4] = ["mst", "flint", "mlx", "mft"];

impl Owner {
    /// The owner of a number that a semaphore of `function` shows: a process of cxfw that wrote
    /// it down, or, for a token, a tool that has it for its process id (burn 11.1). That any
    /// other process has that id proves nothing.
    pub(in crate::access) fn of(
        locks: Option<&Path>,
        function: &str,
        slot: Slot,
        number: u32,
    ) -> Option<Self> {
        let claimant = locks.and_then(|dir| claims::living(dir, function, slot, number));
        if let Some(pid) = claimant {
            return Self::process(pid);
        }
        Self::process(number).filter(|owner| slot == Slot::Token && owner.is_tool())
    }

    /// A tool that works on one of `functions`: it has its configuration space or its memory
    /// open. For locks that name nobody.
    #[must_use]
    pub fn tool_on(functions: &[String]) -> Option<Self> {
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter_map(Self::process)
            .filter(Self::is_tool)
            .find(|owner| owner.has_open(functions))
    }

    fn process(pid: u32) -> Option<Self> {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
        Some(Self {
            pid,
            program: crate::bytes::text(name.trim().as_bytes()),
        })
    }

    fn is_tool(&self) -> bool {
        TOOLS.iter().any(|start| self.program.starts_with(start))
    }

    fn has_open(&self, functions: &[String]) -> bool {
        let Ok(files) = fs::read_dir(format!("/proc/{}/fd", self.pid)) else {
            return false;
        };
        files.flatten().any(|entry| {
            let file = fs::read_link(entry.path()).unwrap_or_default();
            file.components().any(|part| {
                let part = part.as_os_str().to_string_lossy();
                functions
                    .iter()
                    .any(|function| part.contains(function.as_str()))
            })
        })
    }
}
