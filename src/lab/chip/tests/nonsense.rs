//! Whatever a tool does, a chip answers, and lets go of its lock.

use proptest::prelude::*;

use super::client::{ADDRESS, CONTROL, DATA, SEMAPHORES};
use super::*;
use crate::lab::chip::icmd::Method;

/// Registers of this firmware, and ids around them.
fn register_ids() -> impl Strategy<Value = u16> {
    prop_oneof![
        0x9010u16..0x9030,
        0x9060u16..0x9065,
        Just(0x907f),
        Just(0x9162),
        any::<u16>()
    ]
}

/// CR addresses worth a try.
fn addresses() -> impl Strategy<Value = u32> {
    prop_oneof![
        0xf_0000u32..0xf_0500,
        0u32..0x40,
        0x10_0000u32..0x10_0400,
        any::<u32>()
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn config_cycles_at_random_do_no_harm(
        steps in prop::collection::vec((0u16..0x110, any::<bool>(), any::<u32>()), 1..200),
        targets in prop::collection::vec((1u32..0x10, addresses(), any::<u32>()), 1..100),
    ) {
        for card in [connectx_5(), connectx_3()] {
            let client = card.client();
            for &(dword, write, value) in &steps {
                if write {
                    client.set_config(dword * 4, value);
                } else {
                    client.config(dword * 4);
                }
            }
            for &(space, address, value) in &targets {
                client.set_config(CONTROL, space);
                client.set_config(DATA, value);
                client.set_config(ADDRESS, address);
                client.config(DATA);
                client.set_config(0x58, address);
                client.set_config(0x5c, value);
            }
            prop_assert!(matches!(card.chip.boot().unwrap(), Boot::Running(_) | Boot::Recovery));
        }
    }

    #[test]
    fn registers_with_random_contents_do_no_harm(
        calls in prop::collection::vec(
            (register_ids(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..0x300)),
            1..60,
        ),
    ) {
        let card = connectx_5();
        let client = card.client();
        for (id, write, mut image) in calls {
            image.truncate(image.len() / 4 * 4);
            let method = if write { Method::Write } else { Method::Read };
            // any answer is one
            let _ = client.send(id, method, &mut image);
        }
        prop_assert_eq!(client.read(SEMAPHORES, 0), 0);
        prop_assert_eq!(card.chip.violations().no_capability_semaphore, 0);
    }
}
