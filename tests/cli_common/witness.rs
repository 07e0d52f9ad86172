//! Whether the witness, Debian's `mstflint`, can be had, and its ways to a card.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Once;

/// A way to a card, as mstflint names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Through the running firmware; the default.
    Firmware,
    /// Flash registers of the firmware.
    Registers,
    /// The flash gateway.
    Gateway,
}

impl Way {
    /// The options.
    pub const fn options(self) -> &'static [&'static str] {
        match self {
            Self::Firmware => &[],
            Self::Registers => &["--no_fw_ctrl"],
            Self::Gateway => &["-ocr"],
        }
    }
}

/// Whether the witness can look at files. Says so once if not.
pub fn tool() -> bool {
    static TOLD: Once = Once::new();
    let installed = Command::new("mstflint").arg("-v").output().is_ok();
    granted(&TOLD, (!installed).then_some("no mstflint"))
}

/// Whether the witness can be let at the cards of a lab. Says so once if not.
pub fn witness() -> bool {
    static TOLD: Once = Once::new();
    let unshare = Command::new("unshare").args(["-m", "true"]).output();
    let missing = if !rustix::process::geteuid().is_root() {
        Some("not root")
    } else if !Path::new("/dev/fuse").exists() {
        Some("no /dev/fuse")
    } else if !unshare.is_ok_and(|output| output.status.success()) {
        Some("no mount namespaces")
    } else {
        None
    };
    granted(&TOLD, missing) && tool()
}

fn granted(told: &Once, missing: Option<&str>) -> bool {
    let Some(what) = missing else {
        return true;
    };
    let required = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!required, "the witness is required here: {what}");
    told.call_once(|| {
        // past the test harness, which shows only what failing tests print
        let _ = writeln!(std::io::stderr(), "skipped: no witness ({what})");
    });
    false
}
