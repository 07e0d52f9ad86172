//! What is believed: nothing is burned from a mirror of which any byte was changed.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli_common::run;
use crate::system::skipped;
use crate::{Site, flip};

/// Positions tried in each file.
const POSITIONS: usize = 12;

/// Holds an update to burning nothing.
fn burns_nothing(site: &Site, options: &[&str], about: &str) -> String {
    let ran = site.update(options);
    assert_eq!(ran.code, Some(1), "{about}: {ran:?}");
    assert!(!ran.stdout.contains("\"burned\": 1"), "{about}: {ran:?}");
    assert_eq!(site.stored(), "14.25.1020", "{about}");
    ran.json()["errors"][0]["code"]
        .as_str()
        .unwrap_or_else(|| panic!("{about}: {ran:?}"))
        .to_owned()
}

fn sweep(site: &Site, file: &Path, from: usize, options: &[&str]) {
    let size = fs::metadata(file).unwrap().len() as usize;
    for step in 0..POSITIONS {
        let at = from + (size - 1 - from) * step / (POSITIONS - 1);
        flip(file, at);
        burns_nothing(site, options, &format!("{}, byte {at}", file.display()));
        flip(file, at);
    }
}

#[test]
fn one_changed_byte_anywhere_and_nothing_is_burned() {
    let site = Site::new();
    site.mirror(&[]);
    for name in ["lab.mfa", "index.xml", "index.xml.sha256"] {
        sweep(&site, &site.folder.join(name), 0, &[]);
    }
    let ran = site.update(&[]);
    assert_eq!(crate::result(&ran), "burned", "{ran:?}");
}

#[test]
fn a_changed_file_that_no_card_needs_keeps_the_folder_from_being_used() {
    let site = Site::new();
    let other = site.folder.join("other.bin");
    fs::write(&other, crate::cli_common::old_lx_image("MT_0000000099")).unwrap();
    site.mirror(&[]);
    flip(&other, 5000);
    assert_eq!(burns_nothing(&site, &[], "another board's"), "wrong_digest");
    let error = &site.update(&[]).json()["errors"][0];
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("other.bin"), "{message}");
    // A file that was left behind was not changed.
    fs::remove_file(&other).unwrap();
    assert_eq!(crate::result(&site.update(&[])), "burned");
}

#[test]
fn an_unsigned_index_does_not_keep_the_signed_one_from_being_taken() {
    let site = Site::new();
    let Some((public, secret)) = key(&site, "site") else {
        return;
    };
    site.mirror(&["--serial", "1000"]);
    let ran = site.update(&["--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for entry in fs::read_dir(&site.folder).unwrap() {
        let path = entry.unwrap().path();
        if !path.ends_with("lab.mfa") {
            fs::remove_file(path).unwrap();
        }
    }
    site.mirror(&["--serial", "5", "--sign", &secret]);
    let ran = site.update(&["--index-key", &public]);
    assert_eq!(crate::result(&ran), "burned", "{ran:?}");
}

#[test]
fn the_public_key_is_no_key_to_sign_with() {
    let site = Site::new();
    let Some((public, _)) = key(&site, "site") else {
        return;
    };
    let ran = run(&["mirror", site.folder.to_str().unwrap(), "--sign", &public]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("that is a public key"), "{ran:?}");
}

/// A key made by minisign itself, without a password; `None` where that is not installed.
fn key(site: &Site, name: &str) -> Option<(String, String)> {
    let path = |ending: &str| {
        site.lab
            .beside(&format!("{name}.{ending}"))
            .display()
            .to_string()
    };
    let (public, secret) = (path("pub"), path("key"));
    let made = minisign(&["-G", "-W", "-f", "-p", &public, "-s", &secret])?;
    assert!(made, "minisign makes no key");
    Some((public, secret))
}

/// Whether minisign is content; `None` where it is not installed.
fn minisign(words: &[&str]) -> Option<bool> {
    let status = Command::new("minisign")
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match status {
        Ok(status) => Some(status.success()),
        Err(_) => {
            skipped("minisign");
            None
        }
    }
}

#[test]
fn a_signature_by_either_program_is_believed_by_both_and_a_key_makes_it_mandatory() {
    let site = Site::new();
    let (Some((public, secret)), Some((stranger, _))) = (key(&site, "site"), key(&site, "other"))
    else {
        return;
    };
    let index = site.index().display().to_string();
    site.mirror(&[]);
    let signed_by = ["--index-key", public.as_str()];
    assert_eq!(burns_nothing(&site, &signed_by, "unsigned"), "signature");
    // By the site's configuration as well.
    let config = site.lab.beside("config.toml");
    fs::write(&config, format!("keys = [\"{public}\"]\n")).unwrap();
    let by_config = format!("--config={}", config.display());
    assert_eq!(burns_nothing(&site, &[&by_config], "unsigned"), "signature");

    let made = site.mirror(&["--sign", &secret]);
    assert_eq!(made["signature"], "made", "{made}");
    assert_eq!(made["changed"], false, "{made}");
    assert_eq!(
        minisign(&["-V", "-q", "-p", &public, "-m", &index]),
        Some(true)
    );
    let by_stranger = ["--index-key", stranger.as_str()];
    assert_eq!(
        burns_nothing(&site, &by_stranger, "a stranger"),
        "signature"
    );
    // What is signed is everything but the first line of the signature.
    let signature = site.folder.join("index.xml.minisig");
    let text = fs::read_to_string(&signature).unwrap();
    let untrusted = text.lines().next().unwrap().len() + 1;
    sweep(&site, &signature, untrusted, &signed_by);
    for name in ["lab.mfa", "index.xml"] {
        sweep(&site, &site.folder.join(name), 0, &signed_by);
    }

    fs::remove_file(&signature).unwrap();
    assert_eq!(
        minisign(&["-S", "-W", "-s", &secret, "-m", &index]),
        Some(true)
    );
    let ran = site.update(&[&by_config]);
    assert_eq!(crate::result(&ran), "burned", "{ran:?}");
}

#[test]
fn an_older_index_with_a_good_signature_is_noticed() {
    let site = Site::new();
    let Some((public, secret)) = key(&site, "site") else {
        return;
    };
    let signed_by = ["--index-key", public.as_str(), "--dry-run"];
    let files = ["index.xml", "index.xml.sha256", "index.xml.minisig"];
    let read = || files.map(|name| fs::read(site.folder.join(name)).unwrap());
    site.mirror(&["--sign", &secret]);
    let old = read();
    fs::write(site.folder.join("lab.mfa.release.toml"), "notes = \"x\"\n").unwrap();
    let made = site.mirror(&["--sign", &secret]);
    assert_eq!(
        (&made["changed"], &made["signature"]),
        (&true.into(), &"made".into())
    );
    let ran = site.update(&signed_by);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for (name, bytes) in files.iter().zip(&old) {
        fs::write(site.folder.join(name), bytes).unwrap();
    }
    let code = burns_nothing(&site, &signed_by[..2], "an older index");
    assert_eq!(code, "replayed_index");
}

#[test]
fn a_key_that_is_none_is_named_before_anything_is_done() {
    let site = Site::new();
    let folder = site.folder.to_str().unwrap();
    let ran = run(&[
        "mirror",
        folder,
        "--sign",
        "/nowhere/key",
        "--format",
        "json",
    ]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.json()["errors"][0]["code"], "bad_key");
    assert!(!site.index().exists());
    site.mirror(&[]);
    let ran = site.update(&["--index-key", "no key"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.json()["errors"][0]["code"], "bad_key");
}
