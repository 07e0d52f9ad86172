//! Containers: opened, listed, and everything taken out of them.

use cxfw::bundle::archive::Archive;
use cxfw::bundle::signature::{self, Signature};
use cxfw::bundle::single::Single;
use cxfw::bundle::{Content, Fault, extractor as program};

use super::seal::seal;

/// An MFA v1 archive with its CRC set right.
pub fn mfa1(bytes: &[u8]) {
    sealed(b"MFAR", bytes);
}

/// An MFA2 package with its digests set right.
pub fn mfa2(bytes: &[u8]) {
    sealed(signature::MFA2, bytes);
}

/// A PLDM package with its checksums set right.
pub fn pldm(bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    seal(&mut bytes);
    finish(bytes);
}

/// A zip archive. Its members' checksums guard their bytes only, so there is nothing to seal.
pub fn zip(bytes: &[u8]) {
    finish(bytes.to_vec());
}

/// A program with an archive in it.
pub fn extractor(bytes: &[u8]) {
    let found = program::open(Content::from(bytes.to_vec())).and_then(|archive| {
        let mut members = archive.members().iter();
        members.try_for_each(|member| use_single(archive.read(member)?, member.signature))
    });
    named(found);
}

/// Bytes that begin with `magic`, whatever the fuzzer put there.
fn sealed(magic: &[u8], bytes: &[u8]) {
    let mut bytes = bytes.to_vec();
    if let Some(start) = bytes.get_mut(..magic.len()) {
        start.copy_from_slice(magic);
        seal(&mut bytes);
    }
    finish(bytes);
}

fn finish(bytes: Vec<u8>) {
    named(use_up(bytes));
}

/// Every fault has a class and words.
fn named(result: Result<(), Fault>) {
    if let Err(fault) = result {
        assert!(!fault.class().is_empty() && !fault.to_string().is_empty());
    }
}

/// Everything that can be done with a container, as far as it goes.
///
/// # Errors
/// What is wrong with it.
pub fn use_up(bytes: Vec<u8>) -> Result<(), Fault> {
    let signature = Signature::of(&bytes);
    let content = Content::from(bytes);
    let archive = match signature {
        Signature::Zip => Archive::zip(content)?,
        Signature::Program => program::open(content)?,
        signature => return use_single(content, signature),
    };
    for member in archive.members() {
        use_single(archive.read(member)?, member.signature)?;
    }
    Ok(())
}

fn use_single(content: Content, signature: Signature) -> Result<(), Fault> {
    let single = Single::parse(content, signature)?;
    for entry in single.entries() {
        let read = single.read(entry.index);
        if let (Ok(bytes), Some(size)) = (&read, entry.size) {
            assert_eq!(bytes.len() as u64, size, "{entry:?}");
        }
    }
    let mut each = Vec::new();
    let whole = single.read_each(|index, bytes| each.push((index, bytes.to_vec())));
    if whole.is_ok() {
        assert_eq!(each.len(), single.entries().len());
        for (index, bytes) in each {
            assert!(
                single.read(index).is_ok_and(|again| again == bytes),
                "entry {index}"
            );
        }
    }
    let infos = single.image_infos();
    assert!(infos.is_err() || infos.is_ok_and(|infos| infos.len() <= single.entries().len()));
    single.verify()
}
