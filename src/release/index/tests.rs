//! Indexes as documents: what is written is read, what is broken is named with its place, what
//! makes no sense is left out.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::document::{Document, Row};
use super::read::{Fault, read};
use super::write::write;
use super::*;
use crate::release::cache::Cache;
use crate::release::digest::{self, Digest};
use crate::release::http::Connector;
use crate::release::name::FilePath;
use crate::release::record::{Place, component_version};

fn row(psid: &str, version: &str) -> Row {
    Row {
        psid: Psid::new(psid).unwrap(),
        part_numbers: vec!["MCX555A-ECA_Ax".to_owned(), "MCX555A-ECAT".to_owned()],
        device: Some("ConnectX-5".to_owned()),
        description: Some("100GbE; \"QSFP28\" <&> é".to_owned()),
        versions: vec![
            component_version("FW", version),
            component_version("PXE", "3.6.0902"),
        ],
        branch: Some("16.35".to_owned()),
        date: "2021-12-06".parse().ok(),
        minimum: "16.26.1040".parse().ok(),
        file: FilePath::new("cx5/a & b.mfa").unwrap(),
        size: 1234,
        sha256: Digest::of(b"file"),
        image_sha256: Some(Digest::of(b"image")),
        notes: Some("https://docs.example.invalid/5\nSecond line".to_owned()),
    }
}

fn document(rows: Vec<Row>) -> Document {
    Document {
        serial: 2_021_120_600,
        date: "2021-12-06".parse().ok(),
        rows,
        warnings: Vec::new(),
    }
}

/// A document with these rows, written by hand.
fn by_hand(rows: &str) -> String {
    format!("<?xml version=\"1.0\"?>\n<index version=\"1\" serial=\"5\">\n{rows}\n</index>\n")
}

fn minimal(device: &str, version: &str) -> String {
    format!(
        "<release psid=\"MT_1\" device=\"{device}\"><version component=\"FW\">{version}</version>\
         <file name=\"x.mfa\" size=\"1\" sha256=\"{}\"/></release>",
        Digest::of(b"")
    )
}

fn warnings(rows: &str) -> Vec<String> {
    read(by_hand(rows).as_bytes()).unwrap().warnings
}

fn fault(text: &str) -> Fault {
    read(text.as_bytes()).unwrap_err()
}

#[test]
fn what_is_written_is_read_and_written_alike() {
    let document = document(vec![
        row("MT_0000000010", "16.35.4506"),
        row("MT_0000000011", "16.35.3006"),
    ]);
    let bytes = write(&document).unwrap();
    let again = read(&bytes).unwrap();
    assert_eq!(again, document);
    assert_eq!(write(&again).unwrap(), bytes);
}

#[test]
fn a_written_index_looks_like_this() {
    let mut row = row("MT_0000000010", "16.35.4506");
    row.part_numbers.truncate(1);
    row.image_sha256 = None;
    let text = String::from_utf8(write(&document(vec![row])).unwrap()).unwrap();
    insta::assert_snapshot!(text, @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <index version="1" serial="2021120600" date="2021-12-06">
      <release psid="MT_0000000010" device="ConnectX-5" branch="16.35" date="2021-12-06" minimum="16.26.1040">
        <description>100GbE; &quot;QSFP28&quot; &lt;&amp;&gt; é</description>
        <part-number>MCX555A-ECA_Ax</part-number>
        <version component="FW">16.35.4506</version>
        <version component="PXE">3.6.0902</version>
        <file name="cx5/a &amp; b.mfa" size="1234" sha256="3b9c358f36f0a31b6ad3e14f309c7cf198ac9246e8316f9ce543d5b19ac02b80"/>
        <notes>https://docs.example.invalid/5
    Second line</notes>
      </release>
    </index>
    "#);
}

#[test]
fn what_nobody_knows_is_passed_over() {
    let row = minimal("ConnectX-5", "16.35.4506")
        .replace(
            "<file ",
            "<advisory level=\"3\"><text>x</text><file/></advisory><cve/><file ",
        )
        .replace("<release ", "<!-- new --><release colour=\"red\" ");
    let text = by_hand(&format!(
        "<maker name=\"x\"/><more><release/></more>\n{row}"
    ));
    let document = read(text.as_bytes()).unwrap();
    assert_eq!(document.rows.len(), 1);
    assert_eq!(document.warnings, [""; 0]);
    assert_eq!(document.rows[0].file.as_str(), "x.mfa");
}

#[test]
fn a_row_that_makes_no_sense_is_left_out_with_the_reason() {
    let good = minimal("ConnectX-6", "20.38.1002");
    let cases = [
        (
            good.replace("20.38.1002", "28.39.5124"),
            "version 28.39.5124 begins with 28, as that of ConnectX-7, but firmware of ConnectX-6 begins with 20",
        ),
        (good.replace("MT_1", ""), "`` is not a PSID"),
        (
            good.replace("x.mfa", "../x.mfa"),
            "file name `../x.mfa` refused: it leaves its folder",
        ),
        (
            good.replace("x.mfa", "/etc/passwd"),
            "file name `/etc/passwd` refused: it is absolute",
        ),
        (
            good.replace("size=\"1\"", "size=\"-1\""),
            "size `-1` is no number",
        ),
        (good.replace("size=\"1\"", ""), "the file has no size"),
        (good.replace("sha256=\"e", "sha256=\"x"), "is not a SHA-256"),
        (good.replace("FW", "PXE"), "it has no FW version"),
        (
            good.replace("psid", "minimum=\"20.x\" psid"),
            "`20.x` is not a firmware version",
        ),
        (
            good.replace("psid", "date=\"soon\" psid"),
            "`soon` is not a date",
        ),
        (good.replace("<file", "<fill"), "it has no file"),
    ];
    for (row, reason) in cases {
        let found = warnings(&row);
        assert_eq!(found.len(), 1, "{row}");
        assert!(found[0].contains(reason), "{} / {reason}", found[0]);
        assert!(found[0].starts_with("release 1 ("), "{}", found[0]);
    }
    assert!(warnings(&good).is_empty());
}

#[test]
fn a_document_that_is_no_whole_index_is_named_with_its_place() {
    let whole = by_hand(&minimal("ConnectX-5", "16.35.4506"));
    let reason = |text: &str| fault(text).reason;
    assert_eq!(reason(""), "it ends before its last element does");
    assert_eq!(reason("{}"), "text outside of the index");
    assert_eq!(
        reason("<html></html>"),
        "the first element is <html>, expected <index>"
    );
    assert_eq!(
        reason("<index serial=\"1\"/>"),
        "index version ``, known is 1"
    );
    assert_eq!(
        reason("<index version=\"2\"/>"),
        "index version `2`, known is 1"
    );
    assert_eq!(reason("<index version=\"1\"/>"), "the index has no serial");
    assert_eq!(
        reason("<index version=\"1\" serial=\"-1\"/>"),
        "serial `-1` is no number"
    );
    assert_eq!(
        reason(&format!("{whole}<index/>")),
        "there is more behind the index"
    );
    assert_eq!(
        reason(&whole.replace("16.35", "&firmware;")),
        "unknown entity `&firmware;`"
    );
    let dtd = "<!DOCTYPE index [<!ENTITY a \"b\">]>\n";
    assert_eq!(
        reason(&format!("{dtd}{whole}")),
        "an index has no document type"
    );
    let lines = "<index version=\"1\" serial=\"5\">\n\n  <release psid=\"x\" psid=\"y\">";
    let Fault { line, reason, .. } = fault(lines);
    assert_eq!(line, 3, "{reason}");
    assert_eq!(
        fault("<index version=\"1\" serial=\"5\">\n  </release>").line,
        2
    );
    assert_eq!(read(b"<index>\n\xff").unwrap_err().line, 2);
    for at in 0..whole.trim_end().len() {
        assert!(read(&whole.as_bytes()[..at]).is_err(), "cut at {at}");
    }
}

#[test]
fn texts_and_rows_have_limits() {
    let long = "x".repeat(document::TEXT + 1);
    let row = minimal("ConnectX-5", "16.35.4506")
        .replace("<file", &format!("<notes>{long}</notes><file"));
    assert_eq!(
        fault(&by_hand(&row)).reason,
        "a text of more than 65536 bytes"
    );
    let many = by_hand(&"<release/>".repeat(document::ROWS + 1));
    assert_eq!(fault(&many).reason, "more than 100000 releases");
}

/// Folder with an index of these bytes.
fn folder(bytes: &[u8]) -> (tempfile::TempDir, IndexSource) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(FILE_NAME), bytes).unwrap();
    let source = IndexSource {
        place: IndexPlace::parse(dir.path().to_str().unwrap()).unwrap(),
        keys: Keys::default(),
        name: "site".into(),
    };
    (dir, source)
}

fn load(source: &IndexSource, cache: Option<&Cache>) -> Result<Index, IndexError> {
    source.load(&Connector::default(), cache)
}

#[test]
fn a_folder_is_an_index_and_its_files_lie_beside_it() {
    let bytes = write(&document(vec![
        row("MT_1", "16.35.3006"),
        row("MT_1", "16.35.4506"),
    ]))
    .unwrap();
    let (dir, source) = folder(&bytes);
    let index = load(&source, None).unwrap();
    let found: Vec<_> = index.find(&Psid::new("mt_1").unwrap()).collect();
    assert_eq!(found[0].firmware(), "16.35.4506".parse().ok());
    assert_eq!(found.len(), 2);
    assert_eq!(
        found[0].place,
        Place::Local(dir.path().join("cx5/a & b.mfa"))
    );
    assert_eq!(&*found[0].source, "site");
    assert_eq!(index.find(&Psid::new("MT_2").unwrap()).count(), 0);
}

#[test]
fn addresses_name_the_document_or_its_folder() {
    let shown = |text: &str| IndexPlace::parse(text).unwrap().shown();
    assert_eq!(
        shown("https://m.example/fw"),
        "https://m.example/fw/index.xml"
    );
    assert_eq!(
        shown("https://m.example/fw/"),
        "https://m.example/fw/index.xml"
    );
    assert_eq!(shown("http://m.example"), "http://m.example/index.xml");
    assert_eq!(
        shown("https://m.example/fw/list.xml?x=1"),
        "https://m.example/fw/list.xml?x=1"
    );
    assert_eq!(shown("file:///srv/fw/index.xml"), "/srv/fw/index.xml");
    assert!(IndexPlace::parse("ftp://m.example/").is_err());
    let IndexPlace::Remote(url) = IndexPlace::parse("https://m.example/fw/").unwrap() else {
        panic!();
    };
    let file = FilePath::new("cx5/a & b?.mfa").unwrap();
    let Place::Remote(file) = IndexPlace::Remote(url).beside(&file) else {
        panic!();
    };
    assert_eq!(file.as_str(), "https://m.example/fw/cx5/a%20&%20b%3F.mfa");
}

#[test]
fn a_changed_byte_is_found_by_the_digest_beside() {
    let mut bytes = write(&document(vec![row("MT_1", "16.35.4506")])).unwrap();
    let (dir, source) = folder(&bytes);
    let path = dir.path().join(FILE_NAME);
    let line = digest::line(Digest::of(&bytes), FILE_NAME);
    std::fs::write(digest::beside(&path), &line).unwrap();
    load(&source, None).unwrap();
    let at = bytes
        .windows(5)
        .position(|window| window == b"Secon")
        .unwrap();
    bytes[at] = b's';
    std::fs::write(&path, &bytes).unwrap();
    let error = load(&source, None).unwrap_err();
    assert_eq!(error.class(), "wrong_digest");
}

#[test]
fn a_key_makes_a_signature_mandatory_and_an_older_index_is_refused() {
    let pair = minisign::KeyPair::generate_unencrypted_keypair().unwrap();
    let cache_dir = tempfile::tempdir().unwrap();
    let cache = Cache::open(&cache_dir.path().join("cache")).unwrap();
    let mut old = document(vec![row("MT_1", "16.35.3006")]);
    let (dir, mut source) = folder(&write(&old).unwrap());
    source.keys = Keys::new(&[pair.pk.to_base64()]).unwrap();
    let error = load(&source, Some(&cache)).unwrap_err();
    assert_eq!(error.class(), "signature");
    assert!(
        error
            .to_string()
            .ends_with("it is not signed, but a signature is required here"),
        "{error}"
    );

    let sign = |document: &Document| {
        let bytes = write(document).unwrap();
        let path = dir.path().join(FILE_NAME);
        std::fs::write(&path, &bytes).unwrap();
        let signature =
            minisign::sign(None, &pair.sk, bytes.as_slice(), Some("serial"), None).unwrap();
        std::fs::write(
            path.with_file_name("index.xml.minisig"),
            signature.to_string(),
        )
        .unwrap();
    };
    sign(&old);
    let index = load(&source, Some(&cache)).unwrap();
    assert_eq!(index.signed_by.unwrap().comment, "serial");
    let newer = Document {
        serial: old.serial + 1,
        ..document(vec![row("MT_1", "16.35.4506")])
    };
    sign(&newer);
    load(&source, Some(&cache)).unwrap();
    sign(&old);
    let error = load(&source, Some(&cache)).unwrap_err();
    assert!(
        matches!(error, IndexError::Replayed { seen, .. } if seen == newer.serial),
        "{error}"
    );
    old.serial = newer.serial;
    sign(&old);
    assert!(matches!(
        load(&source, Some(&cache)),
        Err(IndexError::SerialReused { .. })
    ));
    // Without a key the same is worth a warning only: who could forge it need not replay it.
    source.keys = Keys::default();
    let index = load(&source, Some(&cache)).unwrap();
    assert!(
        index.warnings[0].contains("was seen here before"),
        "{:?}",
        index.warnings
    );
}

#[test]
fn what_is_not_there_or_a_page_is_its_own_error() {
    let (_dir, mut source) = folder(b"<!DOCTYPE html><title>Log in</title>");
    assert_eq!(load(&source, None).unwrap_err().class(), "web_page");
    source.place = IndexPlace::Local(PathBuf::from("/nowhere/index.xml"));
    assert_eq!(load(&source, None).unwrap_err().class(), "io");
}

/// 500 boards with `releases` releases among them: read and resolved, in this time.
fn time_to_resolve(releases: usize) -> Duration {
    let board = |n: usize| format!("MT_{:010}", n % 500);
    let version = |n: usize| format!("16.{}.{}", 20 + n / 500, 1000 + n % 500);
    let rows = (0..releases).map(|n| row(&board(n), &version(n))).collect();
    let (_dir, source) = folder(&write(&document(rows)).unwrap());
    let boards: Vec<Psid> = (0..500).map(|n| Psid::new(&board(n)).unwrap()).collect();
    let since = Instant::now();
    let index = load(&source, None).unwrap();
    for psid in &boards {
        let newest = index.find(psid).next().unwrap();
        assert!(newest.firmware() >= index.find(psid).last().unwrap().firmware());
    }
    since.elapsed()
}

#[test]
fn five_hundred_boards_are_resolved_in_time_linear_in_the_index() {
    let best = |releases| (0..3).map(|_| time_to_resolve(releases)).min().unwrap();
    let (small, large) = (best(2000), best(8000));
    println!("500 boards in an index of 2000 releases: {small:?}");
    assert!(
        large < small * 10,
        "2000 releases {small:?}, 8000 releases {large:?}"
    );
    // What the promise is about is the optimised program.
    let promised = if cfg!(debug_assertions) { 2000 } else { 50 };
    assert!(small < Duration::from_millis(promised), "{small:?}");
}

proptest::proptest! {
    #[test]
    fn a_mutated_index_is_read_or_refused(at in 0usize..1000, byte: u8, cut in 0usize..1200) {
        let mut bytes = write(&document(vec![row("MT_1", "16.35.4506")])).unwrap();
        let size = bytes.len();
        bytes[at % size] = byte;
        bytes.truncate(cut);
        let _ = read(&bytes);
    }
}
