//! Files that are one image, and files that are no firmware at all.

use cxfw::bundle::{Bundle, Kind};

use crate::{CX3, CX4LX, CX6DX, Files, image, psid, refusal};

#[test]
fn a_bare_image_of_every_format_tells_board_and_versions() {
    let files = Files::new();
    for (pci_id, version) in [
        (CX3, "2.42.5000"),
        (CX4LX, "14.32.1010"),
        (CX6DX, "22.41.1000"),
    ] {
        let bytes = image(pci_id, "MT_0000000001", version);
        let bundle = Bundle::open(&files.put("any name", &bytes)).unwrap();
        let [entry] = bundle.entries() else {
            panic!("{:?}", bundle.entries());
        };
        assert_eq!(bundle.kind(), Kind::Image);
        assert_eq!(entry.psid, Some(psid("MT_0000000001")));
        assert_eq!(entry.firmware(), Some(version.parse().unwrap()));
        assert_eq!(bundle.read(0).unwrap(), bytes);
    }
}

#[test]
fn an_image_as_packages_carry_it_is_still_an_image_when_taken_out() {
    let files = Files::new();
    let masked = cxfw::image::component(&image(CX6DX, "MT_0000000359", "22.41.1000")).unwrap();
    assert_eq!(masked[..16], [0xff; 16]);
    let bundle = Bundle::open(&files.put("out.bin", &masked)).unwrap();
    assert_eq!(bundle.entries()[0].psid, Some(psid("MT_0000000359")));
}

#[test]
fn a_damaged_image_is_refused_when_it_is_opened() {
    let files = Files::new();
    let good = image(CX4LX, "MT_2420110034", "14.32.1010");
    refusal(&files.put("cut.bin", &good[..0x1000]), "bad_image");
}

#[test]
fn what_is_no_firmware_is_named_for_what_it_is() {
    let files = Files::new();
    refusal(&files.put("empty.bin", b""), "empty");
    refusal(&files.path().join("missing.mfa"), "io");
    let page = b"<!DOCTYPE html><html><head><title>Sign in</title></head></html>";
    let text = refusal(&files.put("fw.bin.zip", page), "no_firmware");
    assert!(text.contains("an HTML page"), "{text}");
    let token = refusal(
        &files.put("MT_0000000359-22.41.1000.token.bin", &[7; 512]),
        "no_firmware",
    );
    assert!(token.contains("of no known format"), "{token}");
    let text = refusal(
        &files.put("fw.mfa.xz", b"\xfd7zXZ\0\0\x04\xe6\xd6\xb4\x46"),
        "no_firmware",
    );
    assert!(text.contains("a bare XZ stream"), "{text}");
    refusal(
        &files.put("fw.tar.gz", b"\x1f\x8b\x08\0\0\0\0\0\0\x03"),
        "no_firmware",
    );
    let text = refusal(
        files.put("sub/notes.txt", b"notes").parent().unwrap(),
        "no_firmware",
    );
    assert!(
        text.contains("no firmware in this folder (1 other files in it)"),
        "{text}"
    );
}
