//! Whether a firmware version can be one of a chip: listings have been seen that put one chip's
//! firmware under another's name.

use crate::model::{MODELS, Model};
use crate::version::FwVersion;

/// The chip people mean by `ConnectX-6 Dx`, `ConnectX6DX`, `connectx6dx`.
#[must_use]
pub fn model(device: &str) -> Option<&'static Model> {
    let wanted = plain(device);
    MODELS
        .iter()
        .find(|model| plain(model.name) == wanted || plain(model.long_name) == wanted)
}

fn plain(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.map(|c| c.to_ascii_lowercase()).collect()
}

/// The first number of a version tells the chip family (mft-compat 4.4). Chips nobody knows
/// cannot be checked.
///
/// # Errors
/// The sentence to tell.
pub fn check(device: &str, version: FwVersion) -> Result<(), String> {
    let Some(model) = model(device).filter(|model| model.fw_major != 0) else {
        return Ok(());
    };
    if model.fw_major == version.major {
        return Ok(());
    }
    let owner = MODELS.iter().find(|other| other.fw_major == version.major);
    let owner = owner.map_or_else(String::new, |other| {
        format!(", as that of {}", other.long_name)
    });
    Err(format!(
        "version {version} begins with {}{owner}, but firmware of {} begins with {}",
        version.major, model.long_name, model.fw_major
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_of_another_chip_is_found_however_the_name_is_written() {
        let version: FwVersion = "28.39.5124".parse().unwrap();
        for name in ["ConnectX-6", "ConnectX6", "connectx 6"] {
            assert_eq!(
                check(name, version).unwrap_err(),
                "version 28.39.5124 begins with 28, as that of ConnectX-7, but firmware of ConnectX-6 begins with 20"
            );
        }
        assert_eq!(check("ConnectX-7", version), Ok(()));
        assert_eq!(check("ConnectX-77", version), Ok(()));
        assert_eq!(model("ConnectX-6 Dx").unwrap().name, "ConnectX6DX");
    }
}
