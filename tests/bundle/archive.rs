//! Zip archives, and programs that carry one.

use cxfw::bundle::{Bundle, Kind, Members, Options};

use crate::made::zip;
use crate::{CX4LX, Files, fixture, image, mfa, psid, refusal};

#[test]
fn an_archive_may_hold_the_image_in_a_folder_beside_its_release_notes() {
    let files = Files::new();
    let bytes = image(CX4LX, "MT_2420110034", "14.32.1010");
    let archive = zip(&[
        ("notes/", b""),
        ("notes/release notes.pdf", b"%PDF-1.7 and so on"),
        ("firmware/14.32/fw.bin", &bytes),
    ]);
    let bundle = Bundle::open(&files.put("fw.bin.zip", &archive)).unwrap();
    let [entry] = bundle.entries() else {
        panic!("{:?}", bundle.entries());
    };
    assert_eq!(bundle.kind(), Kind::Zip);
    assert_eq!(entry.member.as_deref(), Some("firmware/14.32/fw.bin"));
    assert_eq!(entry.psid, Some(psid("MT_2420110034")));
    assert_eq!(bundle.read(0).unwrap(), bytes);
}

#[test]
fn an_archive_of_a_whole_bundle_is_that_bundle() {
    let files = Files::new();
    let inner = mfa(&[
        ("MT_2420110034", "14.32.1010"),
        ("MT_2420110004", "14.32.1010"),
    ]);
    let path = files.put("bundle.zip", &zip(&[("fw.mfa", &inner)]));
    let bundle = Bundle::open(&path).unwrap();
    assert_eq!(bundle.entries().len(), 2);
    assert_eq!(
        bundle.read(1).unwrap(),
        image(CX4LX, "MT_2420110004", "14.32.1010")
    );
    bundle.verify().unwrap();
}

#[test]
fn an_archive_with_damage_in_the_image_names_the_member() {
    let files = Files::new();
    let mut archive = zip(&[("fw.mfa", &mfa(&[("MT_2420110034", "14.32.1010")]))]);
    let middle = archive.len() / 2;
    archive[middle] ^= 0xff;
    let error = Bundle::open(&files.put("fw.zip", &archive)).unwrap_err();
    assert_eq!(error.class(), "zip_corrupt", "{error}");
    assert!(error.to_string().contains("fw.mfa"), "{error}");
}

#[test]
fn a_member_is_chosen_by_name() {
    let named = |name: &str| Options {
        members: Members::Named(name.to_owned()),
        ..Options::default()
    };
    let path = fixture("two_bins.zip");
    let text = refusal(&path, "ambiguous");
    assert!(text.contains("a.bin, b.bin"), "{text}");
    let bundle = Bundle::open_with(&path, &named("b.bin")).unwrap();
    assert_eq!(bundle.entries()[0].member.as_deref(), Some("b.bin"));
    let error = Bundle::open_with(&path, &named("c.bin")).unwrap_err();
    assert_eq!(error.class(), "member_not_found");
}

#[test]
fn a_program_gives_the_bundle_in_it_wherever_its_archive_is() {
    let files = Files::new();
    let inner = mfa(&[("MT_2420110034", "14.32.1010")]);
    let tool = zip(&[("mlxfwmanager", b"\x7fELF and so on")]);
    let firmware = zip(&[("srcs.mfa", &inner), ("ca-bundle.crt", b"-----BEGIN")]);
    let stub = [b"\x7fELF".as_slice(), &[0x90; 5000]].concat();
    let signature = vec![0x5a; 100_000];
    for (name, parts) in [
        ("one", vec![&stub, &firmware]),
        ("two, firmware first", vec![&stub, &firmware, &tool]),
        ("two, firmware last", vec![&stub, &tool, &firmware]),
        ("signed behind", vec![&stub, &firmware, &signature]),
    ] {
        let program: Vec<u8> = parts.into_iter().flatten().copied().collect();
        let bundle = Bundle::open(&files.put(name, &program)).unwrap();
        assert_eq!(bundle.kind(), Kind::SelfExtractor, "{name}");
        assert_eq!(
            bundle.entries()[0].member.as_deref(),
            Some("srcs.mfa"),
            "{name}"
        );
        assert_eq!(
            bundle.read(0).unwrap(),
            image(CX4LX, "MT_2420110034", "14.32.1010")
        );
    }
    let directory = firmware
        .windows(4)
        .position(|at| at == b"PK\x01\x02")
        .unwrap();
    let cut = [&stub, &firmware[..directory]].concat();
    let bundle = Bundle::open(&files.put("cut short", &cut)).unwrap();
    assert_eq!(bundle.entries()[0].psid, Some(psid("MT_2420110034")));
    refusal(&files.put("just a program", &stub), "no_firmware");
}
