//! What a process that died left held, and what it did not.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use super::super::fake::{Fake, Faults};
use super::super::{AccessError, Device, Patience, read_register};
use crate::registers::Mcc;

/// Writes the claims another process would have; locked as long as the file is kept.
fn claims_of(dir: &Path, function: &str, ticket: u32, token: u32) -> File {
    let mut file = File::create(dir.join(format!("{function}.99-0.claims"))).unwrap();
    file.write_all(&ticket.to_le_bytes()).unwrap();
    file.write_all(&token.to_le_bytes()).unwrap();
    file.lock().unwrap();
    file
}

fn private_folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn open(fake: &std::sync::Arc<Fake>, dir: &Path) -> Result<Device, AccessError> {
    Device::open_with(fake.clone(), None, Some(dir), Patience::SHORT)
}

const DEAD_TICKET: u32 = 0x55;
const DEAD_TOKEN: u32 = 0x1234;

/// A chip whose three semaphores are held.
fn held() -> std::sync::Arc<Fake> {
    Fake::new(|chip| {
        chip.semaphore = DEAD_TICKET;
        for semaphore in &mut chip.semaphores {
            semaphore.2 = DEAD_TOKEN;
        }
        chip.firmware.answer = Box::new(|_, _, _| 0);
        chip.faults = Faults::default();
    })
}

#[test]
fn what_a_killed_process_held_is_freed_when_it_is_wanted() {
    let dir = private_folder();
    let fake = held();
    drop(claims_of(
        dir.path(),
        "0000:03:00.0",
        DEAD_TICKET,
        DEAD_TOKEN,
    ));
    let device = open(&fake, dir.path()).unwrap();
    read_register(device.registers().unwrap(), &Mcc::default()).unwrap();
    drop(device.flash_semaphore().unwrap());
    fake.assert_nothing_held();
    drop(device);
    // nothing of it is held any more, so the next one forgets it
    open(&fake, dir.path()).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn what_a_living_process_holds_is_left_alone() {
    let dir = private_folder();
    let fake = held();
    let _alive = claims_of(dir.path(), "0000:03:00.0", DEAD_TICKET, DEAD_TOKEN);
    let error = open(&fake, dir.path()).unwrap_err();
    assert!(matches!(
        error,
        AccessError::SemaphoreHeld {
            owner: DEAD_TICKET,
            ..
        }
    ));
    assert_eq!(fake.chip().semaphore, DEAD_TICKET);
}

#[test]
fn a_dead_process_with_other_numbers_or_another_function_proves_nothing() {
    for (function, ticket) in [
        ("0000:03:00.0", DEAD_TICKET + 1),
        ("0000:04:00.0", DEAD_TICKET),
    ] {
        let dir = private_folder();
        let fake = held();
        drop(claims_of(dir.path(), function, ticket, ticket));
        assert!(matches!(
            open(&fake, dir.path()).unwrap_err(),
            AccessError::SemaphoreHeld { .. }
        ));
        assert_eq!(fake.chip().semaphore, DEAD_TICKET);
    }
}

#[test]
fn a_claims_file_cut_short_is_forgotten() {
    let dir = private_folder();
    fs::write(dir.path().join("0000:03:00.0.7-0.claims"), [1, 2]).unwrap();
    let fake = Fake::new(|_| {});
    let device = open(&fake, dir.path()).unwrap();
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    drop(device);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_used_is_named() {
    let dir = private_folder();
    let path = dir.path().join("file");
    fs::write(&path, "").unwrap();
    let fake = Fake::new(|_| {});
    let error = open(&fake, &path).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("cannot use {}", path.display())),
        "{error}"
    );
    assert_eq!(fake.chip().semaphore, 0);
}
