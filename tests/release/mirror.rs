//! Mirrors: the same folder gives the same index, only changes are examined again, and what is
//! listed can be fetched from any web server.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cxfw::identity::Psid;
use cxfw::release::http::Connector;
use cxfw::release::index::{Keys, Signer};
use cxfw::release::mirror::{self, Built, Extra, MirrorError, Options, SignatureState};
use cxfw::release::{Index, IndexPlace, IndexSource, Place};

use crate::firmware::{BOARD, VERSION, bundle, image};

fn build(folder: &Path) -> Built {
    mirror::build(folder, &Options::default(), &mut |_| ()).unwrap()
}

fn index(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("index.xml")).unwrap()
}

fn load(folder: &Path) -> Index {
    let source = IndexSource {
        place: IndexPlace::parse(folder.to_str().unwrap()).unwrap(),
        keys: Keys::default(),
        name: "site".into(),
    };
    source.load(&Connector::default(), None).unwrap()
}

/// A folder with a bundle, a bare image in a subfolder, and files that are something else.
fn folder() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("cx5")).unwrap();
    fs::write(
        dir.path().join("all.mfa"),
        bundle(&[(BOARD, VERSION), ("MT_2", "16.35.3006")]),
    )
    .unwrap();
    fs::write(dir.path().join("cx5/old.bin"), image(BOARD, "16.28.1002")).unwrap();
    fs::write(dir.path().join("README"), "for people\n").unwrap();
    fs::write(dir.path().join(".hidden.bin"), image("MT_3", VERSION)).unwrap();
    dir
}

/// Makes a file look older, so that a change in the same instant is seen as one.
fn age(path: &Path) {
    let file = fs::File::options().write(true).open(path).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    file.set_modified(time - Duration::from_secs(60)).unwrap();
}

#[test]
fn a_folder_becomes_a_mirror_with_every_image_that_can_be_offered() {
    let dir = folder();
    let built = build(dir.path());
    assert_eq!((built.files, built.releases, built.passed_over), (2, 3, 1));
    assert_eq!(built.problems, []);
    assert_eq!(built.signature, SignatureState::None);
    assert_eq!(built.serial, 2_021_120_600);
    let index = load(dir.path());
    assert_eq!(index.warnings, [""; 0]);
    let found: Vec<_> = index.find(&Psid::new(BOARD).unwrap()).collect();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].firmware(), VERSION.parse().ok());
    assert_eq!(found[0].place, Place::Local(dir.path().join("all.mfa")));
    assert_eq!(found[1].place, Place::Local(dir.path().join("cx5/old.bin")));
    assert_eq!(found[0].device.as_deref(), Some("ConnectX-5"));
    assert_eq!(found[0].part_numbers, ["MCX555A-ECA_Ax"]);
    assert_eq!(found[0].branch.as_deref(), Some("16.35"));
    let texts: Vec<_> = found[0]
        .versions
        .iter()
        .map(|version| (version.kind.as_str(), version.text.as_str()))
        .collect();
    assert_eq!(texts, [("FW", VERSION), ("PXE", "3.6.0902")]);
    assert_eq!(index.find(&Psid::new("MT_3").unwrap()).count(), 0);
}

#[test]
fn the_same_folder_gives_the_same_bytes_and_a_second_run_changes_nothing() {
    let (one, other) = (folder(), folder());
    build(one.path());
    build(other.path());
    assert_eq!(index(one.path()), index(other.path()));
    let before = fs::metadata(one.path().join("index.xml"))
        .unwrap()
        .modified()
        .unwrap();
    let again = build(one.path());
    assert!(!again.changed);
    assert_eq!(again.examined, []);
    assert_eq!(again.releases, 3);
    let after = fs::metadata(one.path().join("index.xml"))
        .unwrap()
        .modified()
        .unwrap();
    assert_eq!(before, after);
    // Nor does a run that has to look at everything again.
    fs::remove_file(one.path().join(".cxfw-mirror.json")).unwrap();
    let again = build(one.path());
    assert_eq!((again.changed, again.examined.len()), (false, 2));
}

#[test]
fn only_what_changed_is_examined_and_the_serial_grows() {
    let dir = folder();
    let first = build(dir.path());
    let path = dir.path().join("cx5/old.bin");
    fs::write(&path, image(BOARD, "16.29.1016")).unwrap();
    age(&path);
    let second = build(dir.path());
    assert_eq!(
        second
            .examined
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["cx5/old.bin"]
    );
    assert_eq!(second.serial, first.serial + 1);
    fs::remove_file(&path).unwrap();
    let third = build(dir.path());
    assert_eq!((third.examined.len(), third.releases), (0, 2));
    assert_eq!(third.serial, second.serial + 1);
    // An index that somebody edited is not believed.
    let edited = String::from_utf8(index(dir.path()))
        .unwrap()
        .replace(VERSION, "16.99.9999");
    fs::write(dir.path().join("index.xml"), edited).unwrap();
    let fourth = build(dir.path());
    assert_eq!(fourth.examined.len(), 1);
    assert!(
        load(dir.path())
            .releases()
            .iter()
            .all(|release| release.firmware() <= VERSION.parse().ok())
    );
}

#[test]
fn what_cannot_be_offered_is_told_each_time() {
    let dir = folder();
    let mut damaged = image("MT_4", VERSION);
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    fs::write(dir.path().join("damaged.bin"), damaged).unwrap();
    fs::write(
        dir.path().join("cut.mfa"),
        &bundle(&[("MT_5", VERSION)])[..5000],
    )
    .unwrap();
    fs::write(dir.path().join("back\\slash.bin"), image("MT_6", VERSION)).unwrap();
    for _ in 0..2 {
        let built = build(dir.path());
        let files: BTreeSet<&str> = built
            .problems
            .iter()
            .map(|problem| problem.file.as_str())
            .collect();
        assert_eq!(
            files,
            BTreeSet::from(["back\\slash.bin", "cut.mfa", "damaged.bin"])
        );
        assert_eq!(built.releases, 3);
    }
}

#[test]
fn notes_and_minimum_come_from_beside_the_file() {
    let dir = folder();
    let file = dir.path().join("cx5/old.bin");
    let mut extra = Extra {
        notes: Some("First\r\nSecond \u{7} <&> line\n".to_owned()),
        minimum: Some("16.26.1040".to_owned()),
        branch: Some("LTS".to_owned()),
    };
    extra.write(&file).unwrap();
    build(dir.path());
    let find = || {
        load(dir.path())
            .find(&Psid::new(BOARD).unwrap())
            .last()
            .unwrap()
            .clone()
    };
    let release = find();
    assert_eq!(release.notes.as_deref(), Some("First\nSecond   <&> line"));
    assert_eq!(release.minimum, "16.26.1040".parse().ok());
    assert_eq!(release.branch.as_deref(), Some("LTS"));
    assert!(!build(dir.path()).changed);
    extra.minimum = Some("16.x".to_owned());
    extra.write(&file).unwrap();
    let built = build(dir.path());
    assert_eq!(built.problems[0].file, "cx5/old.bin.release.toml");
    assert_eq!(built.releases, 2);
    fs::remove_file(Extra::beside(&file)).unwrap();
    build(dir.path());
    assert_eq!((find().notes, find().minimum), (None, None));
}

#[test]
fn a_mirror_is_signed_once_and_loses_a_signature_that_no_longer_fits() {
    let dir = folder();
    let keys = tempfile::tempdir().unwrap();
    let pair = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    let secret = keys.path().join("site.key");
    fs::write(&secret, pair.sk.to_box(None).unwrap().to_bytes()).unwrap();
    let signer = Signer::open(&secret, None).unwrap();
    let options = Options {
        signer: Some(&signer),
        ..Options::default()
    };
    let signed = |options: &Options<'_>| {
        mirror::build(dir.path(), options, &mut |_| ())
            .unwrap()
            .signature
    };
    assert_eq!(signed(&options), SignatureState::Made);
    let text = fs::read_to_string(dir.path().join("index.xml.minisig")).unwrap();
    assert!(
        text.contains("trusted comment: cxfw index, serial 2021120600"),
        "{text}"
    );
    assert_eq!(signed(&options), SignatureState::Kept);
    assert_eq!(
        fs::read_to_string(dir.path().join("index.xml.minisig")).unwrap(),
        text
    );
    minisign_agrees(dir.path(), &pair.pk.to_base64());
    fs::remove_file(dir.path().join("cx5/old.bin")).unwrap();
    assert_eq!(signed(&Options::default()), SignatureState::Removed);
    assert!(!dir.path().join("index.xml.minisig").exists());
    assert_eq!(signed(&options), SignatureState::Made);
}

/// The minisign program, where it is installed, accepts what cxfw signed.
fn minisign_agrees(folder: &Path, key: &str) {
    let output = Command::new("minisign")
        .args(["-V", "-P", key, "-m"])
        .arg(folder.join("index.xml"))
        .output();
    match output {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => crate::system::skipped("minisign"),
    }
}

#[test]
fn serial_and_date_can_be_given_and_do_not_go_back() {
    let dir = folder();
    let options = Options {
        serial: Some(3_000_000_000),
        date: "2030-01-02".parse().ok(),
        signer: None,
    };
    let run = |options: &Options<'_>| mirror::build(dir.path(), options, &mut |_| ());
    assert_eq!(run(&options).unwrap().serial, 3_000_000_000);
    assert_eq!(load(dir.path()).date, "2030-01-02".parse().ok());
    assert!(!run(&options).unwrap().changed);
    fs::remove_file(dir.path().join("cx5/old.bin")).unwrap();
    let error = run(&options).unwrap_err();
    assert!(matches!(error, MirrorError::Serial { .. }), "{error}");
    // Losing the index does not lose the count.
    fs::remove_file(dir.path().join("index.xml")).unwrap();
    assert_eq!(build(dir.path()).serial, 3_000_000_001);
}

#[test]
fn an_index_is_valid_by_its_schema() {
    let dir = folder();
    let extra = Extra {
        notes: Some("x".to_owned()),
        minimum: Some("16.1.1".to_owned()),
        branch: None,
    };
    extra.write(&dir.path().join("all.mfa")).unwrap();
    build(dir.path());
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/index.xsd");
    let output = Command::new("xmllint")
        .args(["--noout", "--schema"])
        .arg(schema)
        .arg(dir.path().join("index.xml"))
        .output();
    match output {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(_) => crate::system::skipped("xmllint"),
    }
}
