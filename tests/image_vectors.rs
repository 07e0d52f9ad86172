//! Every image of the vector set against what the reference tool was recorded to say.

use std::path::PathBuf;

fn vectors() -> Option<PathBuf> {
    let root = std::env::var_os("CXFW_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/vectors"),
        PathBuf::from,
    );
    root.join("images").is_dir().then(|| root.join("images"))
}

#[test]
fn good_images_verify() {
    let Some(root) = vectors() else {
        println!("skipped: no vectors");
        return;
    };
    for name in [
        "fs2-cx3",
        "fs3-cx4lx",
        "fs4-cx5",
        "fs4-cx6dx",
        "fs4-cx7",
        "fs5-cx8",
    ] {
        let bytes = std::fs::read(root.join(format!("img/{name}.bin"))).unwrap();
        let verification = cxfw::image::verify(&bytes);
        assert!(verification.passed(), "{name}: {:?}", verification.failure);
        assert_eq!(cxfw::image::query(&bytes).ok(), verification.info, "{name}");
    }
}
