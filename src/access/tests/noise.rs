//! A function whose answers mean nothing: every door ends in an error or a value, never in a
//! panic and never in a wait without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;

use super::super::{Device, Patience, read_register};
use crate::bytes::ByteSource;
use crate::model::{MODELS, Model};
use crate::pci::{ConfigError, ConfigSpace};
use crate::registers::Mgir;

/// Answers from a list, over and over; what is written is forgotten. The capability is there, so
/// that the noise reaches what is behind it.
struct Noise {
    answers: Vec<u32>,
    next: AtomicUsize,
}

impl ConfigSpace for Noise {
    fn read(&self, offset: u16) -> Result<u32, ConfigError> {
        let next = self.next.fetch_add(1, Ordering::Relaxed);
        let noise = self.answers[next % self.answers.len()];
        Ok(match offset {
            0x04 => 0x0010_0006,
            0x34 => 0xc0,
            0xc0 => 0x0018_0009,
            _ => noise,
        })
    }

    fn write(&self, _: u16, _: u32) -> Result<(), ConfigError> {
        Ok(())
    }

    fn device(&self) -> String {
        "0000:03:00.0".to_owned()
    }
}

/// Dwords that get somewhere: flags, statuses, small numbers, ids.
fn dword() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        Just(0),
        Just(u32::MAX),
        (0u32..16).prop_map(|space| 1 << 29 | space),
        (0u32..0x300).prop_map(|value| 1 << 31 | value),
        (0u32..0x300),
    ]
}

/// More than every bounded wait takes, one after the other.
const MOST_READS: usize = 50_000;

fn use_everything(device: &Device, model: &'static Model) {
    let _ = device.hw_id();
    let _ = device.recovery_state();
    drop(device.flash_semaphore());
    if let Some(registers) = device.registers() {
        let _ = read_register(registers, &Mgir::default());
    }
    if let Ok(flash) = device.flash(model) {
        let _ = flash.read(3, 0x21);
    }
}

proptest! {
    #[test]
    fn noise_is_survived(
        answers in proptest::collection::vec(dword(), 1..40),
        model in 0..MODELS.len(),
        known: bool,
    ) {
        let noise = Arc::new(Noise { answers, next: AtomicUsize::new(0) });
        let model = &MODELS[model];
        let opened = Device::open_with(noise.clone(), known.then_some(model), None, Patience::SHORT);
        if let Ok(device) = opened {
            use_everything(&device, model);
        }
        let reads = noise.next.load(Ordering::Relaxed);
        prop_assert!(reads < MOST_READS, "{reads} reads");
    }
}
