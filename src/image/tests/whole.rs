//! Images taken out of what they came in.

use super::*;

#[test]
fn an_image_is_the_same_taken_from_a_file_a_package_and_a_dump() {
    let file = fixture("fs3-cx4lx");
    let taken = whole(&file).unwrap();
    assert_eq!(taken.bytes[..], file[..taken.bytes.len()]);
    assert_eq!(taken.bytes.len() as u64, taken.layout.size);
    let mut masked = component(&file).unwrap();
    masked.truncate(taken.bytes.len());
    let unmasked = whole(&masked).unwrap();
    assert_eq!(unmasked.bytes[..16], marker::MARKER_A);
    assert_eq!(unmasked.info.version, taken.info.version);
}

#[test]
fn an_image_in_chunks_is_put_together() {
    let dump = fixture("fs2-striped-odd");
    let start = starts(&dump).unwrap()[0].address;
    let taken = whole_at(&dump, start).unwrap();
    assert_ne!(start, 0);
    let info = query(&taken.bytes).unwrap();
    assert_eq!(
        (info.version, info.psid),
        (taken.info.version, taken.info.psid)
    );
    assert!(verify(&taken.bytes).passed());
}

#[test]
fn a_damaged_image_is_not_taken() {
    let mut file = fixture("fs4-cx5");
    let code = section_of(&file, 3);
    put(&mut file, code.physical + 8, 0xdead_beef);
    assert!(matches!(whole(&file).unwrap_err(), ImageError::Sections(_)));
}
