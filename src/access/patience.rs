//! How long every wait of this room may last.

use std::time::Duration;

/// Bounds and pauses of all waits. One value, [`Patience::USUAL`], serves every card; a test that
/// wants to see a wait end brings a shorter one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Attempts at the capability's semaphore (device-access 2.2).
    pub semaphore_tries: u32,
    /// Pause between them.
    pub semaphore_pause: Duration,
    /// Attempts between two looks whether the owner is dead.
    pub attempts_a_look: u32,
    /// Reads of the address flag (device-access 2.4).
    pub flag_polls: u32,
    /// Pause after every sixteenth of them.
    pub flag_pause: Duration,
    /// Attempts at a semaphore of space 0xa: ICMD (device-access 3.3), flash (burn 7.3).
    pub token_tries: u32,
    /// Longest of the random pauses between them.
    pub token_pause: Duration,
    /// How often "configuration not done" may be seen before ICMD is given up (burn 10.2 waits
    /// up to 1 s after a reset).
    pub configuration_tries: u32,
    /// Pause between them.
    pub configuration_pause: Duration,
    /// Reads of ICMD busy after the first tight ones (device-access 3.3: about 40 s).
    pub busy_polls: u32,
    /// Longest pause between them; the first is an eighth.
    pub busy_pause: Duration,
    /// How often a register is sent that the firmware answers with "busy".
    pub busy_register_tries: u32,
    /// Pause between them.
    pub busy_register_pause: Duration,
    /// Attempts at the flash gateway's lock (burn 8.2).
    pub gateway_tries: u32,
    /// Pause between them.
    pub gateway_pause: Duration,
    /// Attempts at the flash semaphore of ConnectX-3's command register (burn 8.2).
    pub hcr_tries: u32,
    /// Pause between them.
    pub hcr_pause: Duration,
    /// Reads of the gateway's busy bit (burn 8.3).
    pub gateway_busy_polls: u32,
    /// Longest wait for a flash part, however many looks were taken; the slowest erases take 4 s.
    pub flash_longest: Duration,
    /// Before a flash part's status is looked at after a page program (burn 8.4).
    pub program_first: Duration,
    /// What is added to that for each byte programmed.
    pub program_byte: Duration,
    /// Looks at the status after a page program.
    pub program_polls: u32,
    /// Pause between them.
    pub program_pause: Duration,
    /// Before the status is looked at after an erase.
    pub erase_first: Duration,
    /// Looks at the status after an erase.
    pub erase_polls: u32,
    /// Pause between them.
    pub erase_pause: Duration,
}

/// Reads of the address flag between two pauses.
pub const FLAG_POLLS_A_PAUSE: u32 = 16;

/// Reads of ICMD busy before the first pause.
pub const TIGHT_BUSY_POLLS: u32 = 5;

impl Patience {
    /// The bounds the specification names. ConnectX-3's flash semaphore is tried for 6 s and not for
    /// 20: whoever works with the flash lets go of it more often than that, and who asks a card
    /// whose semaphore is held by a dead owner wants to hear of it.
    pub const USUAL: Self = Self {
        semaphore_tries: 2048,
        semaphore_pause: Duration::from_millis(1),
        attempts_a_look: 64,
        flag_polls: 2048,
        flag_pause: Duration::from_millis(1),
        token_tries: 256,
        token_pause: Duration::from_millis(49),
        configuration_tries: 100,
        configuration_pause: Duration::from_millis(10),
        busy_polls: 5120,
        busy_pause: Duration::from_millis(8),
        busy_register_tries: 10,
        busy_register_pause: Duration::from_millis(20),
        gateway_tries: 1024,
        gateway_pause: Duration::from_millis(1),
        hcr_tries: 60,
        hcr_pause: Duration::from_millis(100),
        gateway_busy_polls: 5000,
        flash_longest: Duration::from_secs(6),
        program_first: Duration::from_micros(10),
        program_byte: Duration::from_micros(1),
        program_polls: 30_000,
        program_pause: Duration::from_micros(10),
        erase_first: Duration::from_millis(20),
        erase_polls: 10_000,
        erase_pause: Duration::from_micros(300),
    };

    /// A few tries without pauses, so that a test sees the end of each wait.
    #[cfg(test)]
    pub const SHORT: Self = Self {
        semaphore_tries: 20,
        semaphore_pause: Duration::ZERO,
        attempts_a_look: 4,
        flag_polls: 20,
        flag_pause: Duration::ZERO,
        token_tries: 20,
        token_pause: Duration::ZERO,
        configuration_tries: 5,
        configuration_pause: Duration::ZERO,
        busy_polls: 20,
        busy_pause: Duration::ZERO,
        busy_register_tries: 4,
        busy_register_pause: Duration::ZERO,
        gateway_tries: 20,
        gateway_pause: Duration::ZERO,
        hcr_tries: 5,
        hcr_pause: Duration::ZERO,
        gateway_busy_polls: 20,
        flash_longest: Duration::from_secs(6),
        program_first: Duration::ZERO,
        program_byte: Duration::ZERO,
        program_polls: 20,
        program_pause: Duration::ZERO,
        erase_first: Duration::ZERO,
        erase_polls: 20,
        erase_pause: Duration::ZERO,
    };
}
