//! Cards with secure firmware that hands nothing out: neither the flash nor the image can be copied.

use std::path::Path;

use serde_json::Value;

use crate::cli_common::{TestLab, card, schema};

#[test]
fn secure_firmware_keeps_its_flash_to_itself() {
    let lab = TestLab::new();
    let file = lab.beside("x.bin");
    let file = file.to_str().unwrap();
    let ran = lab.run(&["backup", "-d", "41:00.0", "-o", file]);
    assert_eq!(ran.code, Some(4));
    assert_eq!(
        ran.stderr,
        "error: 0000:41:00.0: no backup was made: the card runs secure firmware, which lets no \
         tool at its flash\n\n\
         advice: no tool can copy such a flash: keep the image file of the version it runs; the \
         way back is `cxfw update --image FILE --allow-downgrade`\n"
    );
    assert!(!Path::new(file).exists());
}

/// The firmware keeps the old image until it has verified the new one.
#[test]
fn a_burn_of_secure_firmware_goes_on_without_a_backup_and_says_why() {
    let lab = TestLab::new();
    let burn = ["update", "-d", "41:00.0", "--yes", "--reinstall"];
    let ran = lab.run(&burn);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stderr.starts_with(
            "warning: 0000:41:00.0: no backup: the card runs secure firmware, which lets no tool \
             at its flash; the card's firmware keeps the old image until the new one is verified\n"
        ),
        "{}",
        ran.stderr
    );
    lab.reset();
    let document = lab.run(&[&burn[..], &["--format", "json"]].concat()).json();
    schema::check(&document, "update.json");
    let card = card(&document, "ConnectX6DX");
    assert_eq!(
        (&card["result"], &card["backup"]),
        (&"burned".into(), &Value::Null)
    );
    let reason = card["no_backup"].as_str().unwrap();
    assert!(reason.contains("secure firmware"), "{reason}");
}
