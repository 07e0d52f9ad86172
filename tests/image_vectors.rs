//! Made images against what the reference tool was recorded to say: the fixtures of this project,
//! and every image of the vector set where that is at hand. Recordings are of version 4.36 where it
//! was asked again, else 4.21. Where cxfw says something better on purpose, a table says so with
//! the reason.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot read its vectors has failed"
)]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use cxfw::image::{self, CheckResult, ImageInfo};
use cxfw::report::flint;
use flate2::read::GzDecoder;

/// The vectors, or `None` where they are not (they are not part of this repository).
fn vectors() -> Option<Vectors> {
    let root = std::env::var_os("CXFW_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors"),
        PathBuf::from,
    );
    let root = root.join("images");
    if root.join("manifest.json").is_file() {
        Some(Vectors { root })
    } else {
        println!("skipped: no vectors");
        None
    }
}

struct Vectors {
    root: PathBuf,
}

impl Vectors {
    /// Names of all vectors.
    fn names(&self) -> Vec<String> {
        let manifest = fs::read(self.root.join("manifest.json")).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
        let vectors = manifest["vectors"].as_object().unwrap();
        assert!(vectors.len() > 100, "the manifest lost its vectors");
        vectors.keys().cloned().collect()
    }

    fn good(&self) -> Vec<String> {
        let mut names = self.names();
        names.retain(|name| !name.starts_with("bad-"));
        names
    }

    fn bad(&self) -> Vec<String> {
        let mut names = self.names();
        names.retain(|name| name.starts_with("bad-"));
        names
    }

    fn image(&self, name: &str) -> Vec<u8> {
        let plain = self.root.join(format!("img/{name}.bin"));
        if plain.is_file() {
            return fs::read(plain).unwrap();
        }
        unpacked(&self.root.join(format!("img/{name}.bin.gz")))
    }

    /// What the reference tool said, the newest recording.
    fn recorded(&self, name: &str, command: &str) -> String {
        let file = format!("{name}.{command}.txt");
        let newer = self.root.join("oracle-4.36").join(&file);
        let text = if newer.is_file() {
            fs::read(newer)
        } else {
            fs::read(self.root.join("oracle-4.21").join(&file))
        };
        String::from_utf8_lossy(&text.unwrap()).into_owned()
    }
}

fn unpacked(path: &Path) -> Vec<u8> {
    let packed = fs::read(path).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_fixtures_read_as_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/image");
    for name in [
        "fs2-cx3",
        "fs2-striped-odd",
        "fs3-cx4lx",
        "fs4-cx5",
        "fs4-cx7",
        "fs4-cx7-encrypted",
        "fs5-cx8",
    ] {
        let bytes = unpacked(&root.join(format!("{name}.bin.gz")));
        let recorded = |command| fs::read_to_string(root.join(format!("{name}.{command}.txt")));
        assert_eq!(query_text(&bytes), recorded("queryfull").unwrap(), "{name}");
        let verification = flint::verification(&image::verify(&bytes));
        assert_eq!(verification, recorded("verify").unwrap(), "{name}");
    }
}

fn query_text(bytes: &[u8]) -> String {
    match image::query(&bytes) {
        Ok(info) => flint::query_full(&info),
        Err(error) => format!("refused: {error}\n"),
    }
}

/// Good vectors for which another recording is the right one, with the reason.
const OTHER_RECORDING: &[(&str, &str, &str, &str)] = &[
    (
        "fs2-striped",
        "query-striped",
        "verify-striped",
        "a raw flash dump is recognised without being told so",
    ),
    (
        "fs2-striped-odd",
        "query-striped",
        "verify-striped",
        "a raw flash dump is recognised without being told so",
    ),
    (
        "fs2-striped-both",
        "query-striped",
        "verify-striped",
        "a raw flash dump is recognised without being told so",
    ),
    (
        "fs4-nodtoc",
        "query-striped",
        "verify-striped",
        "a file without a DTOC is a reduced image (images-fs4 6.1)",
    ),
    (
        "fs4-reduced",
        "query-striped",
        "verify-striped",
        "a reduced image has no addresses: the two-port block is an accident (images 5.2)",
    ),
    (
        "fs5-nodtoc",
        "query-striped",
        "verify-striped",
        "a file without a DTOC is a reduced image (images-fs4 6.1)",
    ),
];

/// Good vectors no recording fits, with the reason; tests of their own cover them.
const NO_RECORDING: &[(&str, &str)] = &[(
    "fs4-slot1",
    "the reference forgets the image start and takes the image for encrypted (hazard 24)",
)];

fn recordings(name: &str) -> Option<(&'static str, &'static str)> {
    if NO_RECORDING.iter().any(|(other, _)| *other == name) {
        return None;
    }
    let other = OTHER_RECORDING.iter().find(|(other, ..)| *other == name);
    Some(
        other.map_or(("queryfull", "verify"), |(_, query, verify, _)| {
            (*query, *verify)
        }),
    )
}

#[test]
fn query_full_says_what_the_reference_says() {
    let Some(vectors) = vectors() else { return };
    for name in vectors.good() {
        let Some((command, _)) = recordings(&name) else {
            continue;
        };
        let text = query_text(&vectors.image(&name));
        assert_eq!(text, vectors.recorded(&name, command), "{name}");
    }
}

#[test]
fn verify_says_what_the_reference_says() {
    let Some(vectors) = vectors() else { return };
    for name in vectors.good() {
        let Some((_, command)) = recordings(&name) else {
            continue;
        };
        let verification = image::verify(&vectors.image(&name));
        let text = flint::verification(&verification);
        assert_eq!(text, vectors.recorded(&name, command), "{name}");
    }
}

#[test]
fn every_exception_is_still_one() {
    let Some(vectors) = vectors() else { return };
    for (name, _, _, reason) in OTHER_RECORDING {
        let bytes = vectors.image(name);
        let same = query_text(&bytes) == vectors.recorded(name, "queryfull")
            && flint::verification(&image::verify(&bytes)) == vectors.recorded(name, "verify");
        assert!(!same, "{name} needs no exception: {reason}");
    }
}

#[test]
fn an_image_in_the_second_slot_of_a_dump_is_read_where_it_lies() {
    let Some(vectors) = vectors() else { return };
    let bytes = vectors.image("fs4-slot1");
    let info = image::query(&bytes).unwrap();
    assert_eq!(info.start, 0x1_0000);
    assert_eq!(info.psid.unwrap().as_str(), "MT_0000000012");
    assert!(!info.security.encrypted);
    let verification = image::verify(&bytes);
    assert!(verification.passed(), "{:?}", verification.failure);
    let itoc = verification
        .lines
        .iter()
        .find(|line| line.name == "ITOC_HEADER");
    assert_eq!(itoc.unwrap().address, 0x1_1000);
}

/// Defects that a verification lets pass, with the reason.
const HARMLESS: &[(&str, &str)] = &[
    (
        "bad-fs4-itoc1",
        "the second ITOC is good; it is there for this",
    ),
    (
        "bad-fs4-noimageinfoptr",
        "images before ConnectX-6 Dx do not set this pointer, and the ITOC leads there as well",
    ),
    (
        "bad-fs4-twodev",
        "what a power cut leaves while DEV_INFO is rewritten (images-fs4 6.3); a warning says so",
    ),
];

/// Damage in code, which a query does not read.
const UNSEEN_BY_QUERY: &[(&str, &str)] = &[
    ("bad-fs3-sectcrc", ""),
    ("bad-fs4-sectcrc", ""),
    ("bad-fs5-sectcrc", ""),
    ("bad-fs2-imgcrc", "wrong full-image CRC"),
    ("bad-fs4-twodev", "two valid DEV_INFO copies"),
    ("bad-fs4-itoc1", ""),
    ("bad-fs4-noimageinfoptr", ""),
];

#[test]
fn every_bad_image_is_refused() {
    let Some(vectors) = vectors() else { return };
    for name in vectors.bad() {
        let bytes = vectors.image(&name);
        let failure = image::verify(&bytes).failure;
        let harmless = HARMLESS.iter().any(|(known, _)| *known == name);
        assert_eq!(failure.is_none(), harmless, "{name}: {failure:?}");
        let query = image::query(&bytes);
        match UNSEEN_BY_QUERY.iter().find(|(known, _)| *known == name) {
            None => assert!(query.is_err(), "{name}: {query:?}"),
            Some((_, warning)) => assert_warned(&name, query.unwrap(), warning),
        }
    }
}

fn assert_warned(name: &str, info: ImageInfo, warning: &str) {
    if warning.is_empty() {
        assert!(info.warnings.is_empty(), "{name}: {:?}", info.warnings);
    } else {
        assert!(
            info.warnings[0].contains(warning),
            "{name}: {:?}",
            info.warnings
        );
    }
}

/// Bad vectors whose checked objects differ from the reference's, with the reason.
const OTHER_OBJECTS: &[(&str, &str)] = &[
    (
        "bad-fs2-boot2size",
        "the size is refused before anything is shown as checked",
    ),
    ("bad-fs2-sectsize", "the same"),
    ("bad-fs2-loop", "the reference never ends"),
    (
        "bad-fs2-guidptr",
        "a wrong pointer is refused before the full-image CRC is looked at",
    ),
    ("bad-fs2-infoptr", "the same"),
    (
        "bad-fs2-noend",
        "the same of a list of tags without its end",
    ),
    (
        "bad-fs3-itochdr",
        "a table with a wrong header CRC is not walked",
    ),
    (
        "bad-fs4-itocsig",
        "told from an encrypted image by what is left of the signature",
    ),
];

#[test]
fn of_a_bad_image_the_same_objects_are_checked_as_by_the_reference() {
    let Some(vectors) = vectors() else { return };
    for name in vectors.bad() {
        if OTHER_OBJECTS.iter().any(|(other, _)| *other == name) {
            continue;
        }
        let verification = image::verify(&vectors.image(&name));
        let text = flint::verification(&verification);
        let objects = |text: &str| -> Vec<String> {
            text.lines()
                .filter(|line| line.starts_with("     /0x"))
                .map(str::to_owned)
                .collect()
        };
        let recorded = vectors.recorded(&name, "verify");
        assert_eq!(objects(&text), objects(&recorded), "{name}");
    }
}

#[test]
fn the_flash_reader_finds_in_a_dump_what_the_file_reader_finds() {
    let Some(vectors) = vectors() else { return };
    for name in vectors.good() {
        let bytes = vectors.image(&name);
        let file = image::query(&bytes).unwrap();
        let on_flash = image::query_flash(&bytes, file.format);
        if name.starts_with("fs2-blank") || file.reduced {
            continue;
        }
        assert_eq!(on_flash.unwrap(), file, "{name}");
        let start = image::starts(&bytes).unwrap()[0];
        assert_eq!(start.format, file.format, "{name}");
        assert_eq!(start.address, file.start, "{name}");
    }
}

#[test]
fn masked_images_say_the_same_without_their_device_data() {
    let Some(vectors) = vectors() else { return };
    for name in vectors.good() {
        let bytes = vectors.image(&name);
        let full = image::query(&bytes).unwrap();
        let Ok(component) = image::component(&bytes) else {
            assert!(name.contains("fs2-"), "{name} has no component");
            continue;
        };
        assert_eq!(component[..16], [0xff; 16], "{name}");
        let masked = image::query_masked(&component, None).unwrap();
        assert_eq!(masked.psid, full.psid, "{name}");
        assert_eq!(masked.version, full.version, "{name}");
        assert_eq!(masked.roms, full.roms, "{name}");
        assert_eq!(masked.security, full.security, "{name}");
        assert!(masked.reduced, "{name}");
        let hinted = image::query_masked(&component, Some(full.format)).unwrap();
        assert_eq!(hinted, masked, "{name}");
        let verification = image::verify(&component);
        assert!(verification.passed(), "{name}: {:?}", verification.failure);
        let wrong = |line: &&image::SectionCheck| matches!(line.result, CheckResult::Wrong { .. });
        assert_eq!(verification.lines.iter().find(wrong), None, "{name}");
        assert_eq!(image::component(&component).unwrap(), component, "{name}");
    }
}
