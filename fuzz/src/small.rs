//! Small things: file names, VPD, register images.

use cxfw::bundle::FileName;
use cxfw::identity::Psid;
use cxfw::pci::vpd::Vpd;
use cxfw::registers::{
    Mcam, Mcc, Mcda, Mcqi, Mcqs, Mfai, Mfba, Mfbe, Mfmc, Mfpa, Mfrl, Mfsv, Mgir, Mirc, Mlock,
    Mnvda, Mpir, Mqis, Msgi, Mvts, Register,
};

/// Text a user or a file system gives: file name, version, PSID.
pub fn name(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(name) = FileName::parse(&text) {
        assert!(!name.version.is_empty());
        let _ = name.firmware();
    }
    let _ = text.parse::<cxfw::version::FwVersion>();
    if let Some(psid) = Psid::from_field(bytes) {
        assert_eq!(Psid::new(psid.as_str()), Some(psid));
    }
}

/// Vital product data as a card stores it.
pub fn vpd(bytes: &[u8]) {
    if let Ok(vpd) = Vpd::parse(bytes) {
        let _ = (vpd.part_number(), vpd.serial(), vpd.engineering_change());
    }
}

/// An answer to each access register: what decodes comes back from its own encoding.
pub fn registers(bytes: &[u8]) {
    fn decode<R: Register + PartialEq + std::fmt::Debug>(image: &[u8]) {
        if let Ok(value) = R::decode(image) {
            let again = R::decode(&value.encode());
            assert!(again.is_ok_and(|again| again == value), "{}", R::NAME);
        }
    }
    decode::<Mcam>(bytes);
    decode::<Mcc>(bytes);
    decode::<Mcda>(bytes);
    decode::<Mcqi>(bytes);
    decode::<Mcqs>(bytes);
    decode::<Mfai>(bytes);
    decode::<Mfba>(bytes);
    decode::<Mfbe>(bytes);
    decode::<Mfmc>(bytes);
    decode::<Mfpa>(bytes);
    decode::<Mfrl>(bytes);
    decode::<Mfsv>(bytes);
    decode::<Mgir>(bytes);
    decode::<Mirc>(bytes);
    decode::<Mlock>(bytes);
    decode::<Mnvda>(bytes);
    decode::<Mpir>(bytes);
    decode::<Mqis>(bytes);
    decode::<Msgi>(bytes);
    decode::<Mvts>(bytes);
}
