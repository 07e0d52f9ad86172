//! A file system that is too small for a flash.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{Bench, files};

/// A file system that is too small for a flash; `None` where none can be mounted.
struct Small(PathBuf);

impl Small {
    fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
            .arg(&at)
            .output();
        match mount {
            Ok(output) if output.status.success() => Some(Self(at)),
            _ => {
                println!("skipped: no file system can be mounted here");
                None
            }
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // a test that has failed already says more than this
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_seen_before_anything_is_read_or_written() {
    let bench = Bench::new("cx4lx");
    let Some(disk) = Small::mount(bench.lab.beside("small")) else {
        return;
    };
    let folder = disk.0.to_str().unwrap();
    let ran = bench.run("backup", &["-o", folder]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr
            .contains(&format!("{folder}: the backup needs 2097152 bytes, ")),
        "{ran:?}"
    );
    let image = bench.image(1);
    let flash = bench.flash();
    let ran = bench.run("update", &["--yes", "--backup", folder, "--image", &image]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.stderr.contains("the backup needs 2097152 bytes"),
        "{ran:?}"
    );
    assert!(ran.advice().contains("--no-backup"), "{ran:?}");
    assert!(files(&disk.0).is_empty());
    assert!(bench.flash() == flash);
}
