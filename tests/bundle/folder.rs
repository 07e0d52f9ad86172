//! Folders of firmware and of what else lies there.

use cxfw::bundle::{Bundle, Options, Subfolders};

use crate::made::zip;
use crate::{CX3, CX6DX, Files, image, mfa, refusal};

#[test]
fn a_folder_lists_what_is_firmware_and_reports_what_should_be() {
    let files = Files::new();
    files.put("a.mfa", &mfa(&[("MT_2420110034", "14.32.1010")]));
    files.put("b.bin", &image(CX6DX, "MT_0000000359", "22.41.1000"));
    files.put("broken.mfa", b"MFAR but not an archive at all");
    files.put("readme.txt", b"the firmware of our hosts");
    files.put("empty.bin", b"");
    files.put("hole.mfa", &[0; 4096]);
    files.put("fw-ConnectX5-rel-16_35_4554.bin", b"<html>404</html>");
    let two = zip(&[
        ("x.bin", &image(CX3, "MT_1170110023", "2.42.5000")),
        ("y.bin", &image(CX3, "MT_1060110018", "2.42.5000")),
    ]);
    files.put("two.zip", &two);
    files.put("deeper/c.bin", &image(CX6DX, "MT_0000000360", "22.41.1000"));
    std::os::unix::fs::symlink(files.path(), files.path().join("deeper/loop")).unwrap();
    std::os::unix::fs::symlink("b.bin", files.path().join("link.bin")).unwrap();

    let bundle = Bundle::open(files.path()).unwrap();
    let listed = |bundle: &Bundle| -> Vec<String> {
        let entries = bundle.entries().iter();
        entries
            .map(|e| {
                format!(
                    "{} {}",
                    e.file.file_name().unwrap().display(),
                    e.psid.as_ref().unwrap()
                )
            })
            .collect()
    };
    let flat = [
        "a.mfa MT_2420110034",
        "b.bin MT_0000000359",
        "link.bin MT_0000000359",
        "two.zip MT_1170110023",
        "two.zip MT_1060110018",
    ];
    assert_eq!(listed(&bundle), flat);
    let problems: Vec<String> = bundle.problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems[0].contains("broken.mfa: "), "{problems:?}");
    assert!(problems[1].contains("an HTML page"), "{problems:?}");
    assert!(problems[2].contains("filled with zeros"), "{problems:?}");
    let skipped = bundle.skipped().iter();
    let skipped: Vec<_> = skipped.map(|s| s.file.file_name().unwrap()).collect();
    assert_eq!(skipped, ["empty.bin", "readme.txt"]);
    assert_eq!(
        bundle.read(4).unwrap(),
        image(CX3, "MT_1060110018", "2.42.5000")
    );

    let recursive = Options {
        subfolders: Subfolders::Read,
        ..Options::default()
    };
    let deep = Bundle::open_with(files.path(), &recursive).unwrap();
    assert_eq!(listed(&deep).len(), 6);
    assert!(listed(&deep).contains(&"c.bin MT_0000000360".to_owned()));
}

#[test]
fn a_fifo_in_a_folder_is_left_alone() {
    let files = Files::new();
    files.put("b.bin", &image(CX6DX, "MT_0000000359", "22.41.1000"));
    let fifo = files.path().join("a.bin");
    let status = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(status.unwrap().success());
    assert_eq!(Bundle::open(files.path()).unwrap().entries().len(), 1);
    refusal(&fifo, "not_a_file");
}
