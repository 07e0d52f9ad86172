//! Firmware images: FS2, FS3, FS4, FS5 files and the same formats on a card's flash.

pub mod info;

pub use info::{HwId, ImageInfo, RomInfo, Security, SecurityAttribute, Uid, Uids};
