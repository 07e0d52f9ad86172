//! The container readers against the shared bundle vectors: every valid one gives exactly what
//! `expected.json` says, every broken one an error of the class named there.

#![expect(
    clippy::unwrap_used,
    reason = "a test whose vectors are not as described has to stop"
)]

use std::path::{Path, PathBuf};

use cxfw::bundle::{Bundle, Content, Fault, FileName, Members, Options, mfa, mfa2, pldm};
use cxfw::identity::Psid;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The folder of shared vectors, if this checkout has it.
fn vectors() -> Option<PathBuf> {
    let root = std::env::var_os("CXFW_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors"),
        PathBuf::from,
    );
    if root.is_dir() {
        return Some(root);
    }
    println!("skipped: no vectors");
    None
}

fn json_file(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Vectors of one kind: name, path, expectation.
fn of_kind(kind: &str) -> Vec<(String, PathBuf, Value)> {
    let Some(root) = vectors() else {
        return Vec::new();
    };
    let root = root.join("bundles");
    let Value::Object(expected) = json_file(&root.join("expected.json")) else {
        panic!("expected.json is no object");
    };
    let vectors: Vec<_> = expected
        .into_iter()
        .filter(|(_, expected)| expected["kind"] == kind)
        .map(|(name, expected)| (name.clone(), root.join(&name), expected))
        .collect();
    assert!(!vectors.is_empty(), "{kind}");
    vectors
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn psid(value: &Value) -> Psid {
    Psid::new(value.as_str().unwrap()).unwrap()
}

/// Compares an extraction with its expectation: bytes by size and digest, or an error class.
fn check_extraction(name: &str, got: Result<Vec<u8>, Fault>, expected: &Value) {
    match got {
        Ok(bytes) => {
            assert_eq!(json!(bytes.len()), expected["size"], "{name} {expected}");
            assert_eq!(sha256(&bytes), expected["sha256"], "{name} {expected}");
        }
        Err(fault) => assert_eq!(
            fault.class(),
            expected["error"],
            "{name} {expected}: {fault}"
        ),
    }
}

/// The error a broken vector gives: on opening or, where it may be lazy, on the first extraction.
fn check_error<T: std::fmt::Debug>(
    name: &str,
    opened: Result<T, Fault>,
    extract: impl Fn(&T) -> Result<Vec<u8>, Fault>,
    expected: &Value,
) {
    let fault = match opened {
        Err(fault) => fault,
        Ok(container) => {
            assert_eq!(expected["lazy"], true, "{name} opens: {container:?}");
            extract(&container).unwrap_err()
        }
    };
    assert_eq!(fault.class(), expected["error"], "{name}: {fault}");
}

#[test]
fn mfa_archives_are_read_as_expected() {
    for (name, path, expected) in of_kind("mfa1") {
        let archive = Content::open(&path).and_then(mfa::Archive::parse);
        if expected["result"] == "error" {
            let first = |archive: &mfa::Archive| {
                let psid = archive.boards()[0].psid.as_ref().unwrap();
                archive.extract(psid, mfa::FIRMWARE, "")
            };
            check_error(&name, archive, first, &expected);
            continue;
        }
        let archive = archive.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let boards: Value = archive
            .boards()
            .iter()
            .map(|board| mfa_board(&archive, board))
            .collect();
        assert_eq!(boards, expected["entries"], "{name}");
        let warned = !archive.warnings().is_empty();
        assert_eq!(warned, expected.get("warning").is_some(), "{name}");
        for wanted in expected["extract"].as_array().unwrap() {
            let image_type = u16::try_from(wanted["type"].as_u64().unwrap()).unwrap();
            let tag = wanted["tag"].as_str().unwrap();
            let got = archive.extract(&psid(&wanted["psid"]), image_type, tag);
            check_extraction(&name, got, wanted);
        }
    }
}

fn mfa_board(archive: &mfa::Archive, board: &mfa::Board) -> Value {
    let images: Value = board
        .images
        .iter()
        .map(|image| {
            let piece = archive.piece(image).unwrap();
            json!({
                "type": image.image_type, "group": image.group, "tag": image.tag,
                "sub": piece.kind.to_string(), "version": piece.version, "data_size": piece.size,
            })
        })
        .collect();
    let metadata: serde_json::Map<String, Value> = board
        .metadata()
        .map(|(key, value)| (key.into_owned(), json!(value)))
        .collect();
    json!({ "psid": board.psid.as_ref().unwrap().as_str(), "metadata": metadata, "images": images })
}

#[test]
fn a_bundle_lists_one_entry_for_each_board_and_tag_of_an_mfa() {
    for (name, path, expected) in of_kind("mfa1") {
        if name != "mfa1/groups_tags.mfa" {
            continue;
        }
        let bundle = Bundle::open(&path).unwrap();
        let tags: Vec<&str> = bundle.entries().iter().map(|e| e.tag.as_str()).collect();
        assert_eq!(tags, ["", "ROM_A", "ROM_B"]);
        for entry in bundle.entries() {
            let bytes = bundle.read(entry.index).unwrap();
            assert_eq!(entry.size, Some(bytes.len() as u64));
            let wanted = expected["extract"].as_array().unwrap().iter();
            let wanted = wanted.filter(|w| w["tag"] == entry.tag && w["type"] == 1);
            let digests: Vec<&Value> = wanted.map(|w| &w["sha256"]).collect();
            assert!(digests.contains(&&json!(sha256(&bytes))), "{entry:?}");
        }
        bundle.verify().unwrap();
    }
}

#[test]
fn mfa2_packages_are_read_as_expected() {
    for (name, path, expected) in of_kind("mfa2") {
        let package = Content::open(&path).and_then(mfa2::Package::parse);
        if expected["result"] == "error" {
            check_error(&name, package, |package| package.read(0), &expected);
            continue;
        }
        let package = package.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let stamp = package.header().stamp;
        let version = stored_version(&stamp);
        let described = json!({ "version": version, "created": stamp.to_string() });
        assert_eq!(described, expected["package"], "{name}");
        let devices: Value = package
            .devices()
            .iter()
            .map(|device| mfa2_device(&package, device))
            .collect();
        assert_eq!(devices, expected["devices"], "{name}");
        for wanted in expected["extract"].as_array().unwrap() {
            check_extraction(&name, mfa2_extract(&package, wanted), wanted);
        }
    }
}

/// The three numbers unpadded, as expected.json writes them.
fn stored_version(stamp: &mfa2::Stamp) -> String {
    let version = stamp.version;
    format!("{}.{}.{}", version.major, version.minor, version.subminor)
}

fn mfa2_device(package: &mfa2::Package, device: &mfa2::Device) -> Value {
    let components: Value = device
        .components
        .iter()
        .map(|&index| {
            let component = &package.components()[index];
            json!({
                "index": index, "version": stored_version(&component.stamp),
                "date": component.stamp.date.unwrap().to_string(), "size": component.size,
            })
        })
        .collect();
    json!({ "psid": device.psid.as_str(), "components": components })
}

/// The first component for the board with the wanted version.
fn mfa2_extract(package: &mfa2::Package, wanted: &Value) -> Result<Vec<u8>, Fault> {
    let psid = psid(&wanted["psid"]);
    let mut of_board = package.offers().filter(|(device, _)| device.psid == psid);
    let chosen = of_board.find(|&(_, number)| {
        stored_version(&package.components()[number].stamp) == wanted["version"]
    });
    match chosen {
        Some((_, number)) => package.read(number),
        None => Err(Fault::PsidNotFound {
            psid: psid.to_string(),
            present: Vec::new(),
        }),
    }
}

/// The folder of packages as they were published, and what is in each; `None` where there are none.
fn published() -> Option<(PathBuf, Value)> {
    let root = vectors()?.join("real");
    let expected = root.join("expected.json");
    if expected.is_file() {
        return Some((root, json_file(&expected)));
    }
    println!("skipped: no published packages");
    None
}

#[test]
fn published_mfa2_packages_are_read_as_expected() {
    let Some((root, packages)) = published() else {
        return;
    };
    for (name, expected) in packages.as_object().unwrap() {
        let package = Content::open(&root.join(name)).and_then(mfa2::Package::parse);
        let package = package.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(package.header().block_plain, expected["unpacked"], "{name}");
        let mut digests = vec![(0, String::new()); package.components().len()];
        let read = package.read_each(|index, bytes| digests[index] = (bytes.len(), sha256(&bytes)));
        read.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let devices: Value = package
            .offers()
            .map(|(device, number)| {
                let stamp = package.components()[number].stamp;
                json!({
                    "psid": device.psid.as_str(), "descriptor_version": stored_version(&stamp),
                    "date": stamp.date.unwrap().to_string(),
                    "size": digests[number].0, "sha256": digests[number].1,
                })
            })
            .collect();
        assert_eq!(devices, expected["devices"], "{name}");
    }
}

#[test]
fn the_versions_of_published_mfa2_packages_come_from_their_images() {
    let Some((root, packages)) = published() else {
        return;
    };
    for (name, expected) in packages.as_object().unwrap() {
        let mut bundle = Bundle::open(&root.join(name)).unwrap();
        for entry in bundle.entries() {
            assert_eq!(entry.firmware(), None, "a hint is no version: {entry:?}");
        }
        bundle.deep_versions();
        assert!(bundle.problems().is_empty(), "{:?}", bundle.problems());
        for entry in bundle.entries() {
            let version = entry.firmware().unwrap().to_string();
            assert_eq!(version, expected["image_version"], "{name} {entry:?}");
        }
    }
}

#[test]
fn pldm_packages_are_read_as_expected() {
    for (name, path, expected) in of_kind("pldm") {
        let package = Content::open(&path).and_then(pldm::Package::parse);
        if expected["result"] == "error" {
            check_error(&name, package, |package| package.read(0), &expected);
            continue;
        }
        let package = package.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        let header = package.header();
        assert_eq!(header.revision, expected["revision"], "{name}");
        assert_eq!(header.version, expected["version"], "{name}");
        assert_eq!(header.released.to_string(), expected["released"], "{name}");
        let records: Value = header.records.iter().map(pldm_record).collect();
        assert_eq!(records, expected["records"], "{name}");
        let components: Value = (0..header.components.len())
            .map(|number| pldm_component(&package, number))
            .collect();
        assert_eq!(components, expected["components"], "{name}");
        for wanted in expected["extract"].as_array().unwrap() {
            let identifier = match wanted["component"].as_str().unwrap() {
                "FW" => pldm::FW,
                "BFB" => 0x3030,
                other => panic!("{name}: component {other}"),
            };
            let found = package.find(&psid(&wanted["psid"]), identifier);
            let got = found.and_then(|number| package.read(number));
            check_extraction(&name, got, wanted);
        }
    }
}

fn pldm_record(record: &pldm::Record) -> Value {
    let id = |id: Option<u16>| id.map(|id| format!("{id:04x}"));
    let mut value = json!({
        "psid": record.psid.as_ref().map(Psid::as_str),
        "pci": [
            id(record.vendor), id(record.device),
            id(record.subsystem_vendor), id(record.subsystem),
        ],
        "components": record.components,
    });
    if let Some(recovery) = &record.recovery {
        value["recovery"] = json!(recovery);
    }
    if let Some(apsku) = record.apsku {
        value["apsku"] = json!(format!("{apsku:#010x}"));
    }
    value
}

fn pldm_component(package: &pldm::Package, number: usize) -> Value {
    let component = &package.header().components[number];
    json!({
        "classification": format!("{:#06x}", component.classification),
        "identifier": format!("{:#06x}", component.identifier),
        "name": component.name(), "version": component.version, "size": component.size,
        "sha256": sha256(package.component(number).unwrap().as_slice()),
    })
}

#[test]
fn zip_archives_are_read_as_expected() {
    for (name, path, expected) in of_kind("zip") {
        let bundle = match Bundle::open(&path) {
            Ok(bundle) => bundle,
            Err(error) => {
                assert_eq!(error.class(), expected["error"], "{name}: {error}");
                assert!(error.to_string().contains(&name), "{error}");
                continue;
            }
        };
        let entries: Value = bundle
            .entries()
            .iter()
            .map(|entry| {
                let bytes = bundle.read(entry.index).unwrap();
                json!({ "name": entry.member, "size": bytes.len(), "sha256": sha256(&bytes) })
            })
            .collect();
        assert_eq!(entries, expected["entries"], "{name}");
        bundle.verify().unwrap();
    }
}

#[test]
fn a_self_extracting_program_is_a_bundle_of_what_it_carries() {
    for (name, path, expected) in of_kind("sfx") {
        let content = Content::open(&path).unwrap();
        let archive = cxfw::bundle::extractor::open(content).unwrap();
        let [member] = archive.members() else {
            panic!("{name}: {:?}", archive.members());
        };
        assert_eq!(member.name, expected["member"], "{name}");
        let bytes = archive.read(member).unwrap();
        assert_eq!(bytes.as_slice().len(), expected["member_size"], "{name}");
        assert_eq!(
            sha256(bytes.as_slice()),
            expected["member_sha256"],
            "{name}"
        );
        assert_eq!(Bundle::open(&path).unwrap().entries().len(), 1, "{name}");
    }
}

#[test]
fn an_ambiguous_archive_gives_the_member_that_is_named_or_all() {
    let Some(root) = vectors() else {
        return;
    };
    let path = root.join("bundles/zip/two_bins.zip");
    let members = |members| Options {
        members,
        ..Options::default()
    };
    let named = |name: &str| members(Members::Named(name.to_owned()));
    let all = Bundle::open_with(&path, &members(Members::All)).unwrap();
    let b = Bundle::open_with(&path, &named("b.bin")).unwrap();
    assert_eq!(all.entries().len(), 2);
    assert_eq!(b.read(0).unwrap(), all.read(1).unwrap());
    let error = Bundle::open_with(&path, &named("c.bin")).unwrap_err();
    assert!(error.to_string().contains("a.bin, b.bin"), "{error}");
}

#[test]
fn file_names_are_taken_apart_as_expected() {
    let Some(root) = vectors() else {
        return;
    };
    let names = json_file(&root.join("bundles/names.json"));
    for case in names.as_array().unwrap() {
        let parsed = FileName::parse(case["name"].as_str().unwrap()).map(|name| {
            let mut parsed = json!({
                "device": name.device, "version": name.version, "opn": name.part_number,
                "roms": name.roms, "signed": name.signed, "ext": name.extension,
            });
            if let Some(psid) = name.psid {
                parsed["psid"] = json!(psid.as_str());
            }
            parsed
        });
        assert_eq!(json!(parsed), case["parsed"], "{}", case["name"]);
    }
}

#[test]
fn a_broken_vector_opened_by_content_is_an_error_that_names_the_file() {
    for kind in ["mfa1", "mfa2", "pldm", "zip"] {
        for (name, path, expected) in of_kind(kind) {
            if expected["result"] != "error" || expected["lazy"] == true {
                continue;
            }
            let error = Bundle::open(&path).unwrap_err();
            assert!(error.to_string().contains(&name), "{error}");
            // What has no signature of its kind is no firmware at all to the dispatcher.
            let class = expected["error"].as_str().unwrap();
            if !class.starts_with("not_a") {
                let seen = [class, "no_firmware"];
                assert!(seen.contains(&error.class()), "{name}: {error}");
            }
        }
    }
}
