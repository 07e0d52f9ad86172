//! One function, opened: which way leads in, and what is behind it.

use std::path::Path;
use std::sync::Arc;

use super::cr::Cr;
use super::error::AccessError;
use super::gateway::{FirmwareGuard, Flash, GatewayError, Layout, Window};
use super::icmd::Icmd;
use super::legacy::Legacy;
use super::patience::Patience;
use super::semaphore::{FlashSemaphore, Semaphore, random_token};
use super::space::Space;
use super::vsec::{CapabilityType, Vsec};
use super::{RegisterAccess, Way};
use crate::bytes::bits;
use crate::image::HwId;
use crate::model::{self, ImageFormat, Model};
use crate::pci::{ConfigError, ConfigSpace};

/// CR address of hardware id `[15:0]` and revision `[23:16]` (device-access 3.1).
const HARDWARE_ID: u32 = 0xf_0014;
/// What CR space reads as under secure host.
const SECURE_HOST: u32 = 0xbad0_cafe;

/// Whether firmware runs on a chip (device-access 1.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecoveryState {
    /// It does.
    Running,
    /// The boot ROM found no usable image and shows a recovery id ("livefish").
    Recovery,
    /// The chip shows its normal id, but its firmware was refused ("zombiefish").
    Zombie,
}

/// An opened function.
#[derive(Debug)]
pub struct Device {
    config: ConfigSpaceHandle,
    cr: Cr,
    icmd: Option<Icmd>,
    model: Option<&'static Model>,
    token: u32,
}

/// Configuration space with a name to print.
struct ConfigSpaceHandle(Arc<dyn ConfigSpace>);

impl std::fmt::Debug for ConfigSpaceHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0.device())
    }
}

impl Device {
    /// Finds the way in: the vendor-specific capability, else the legacy gateway
    /// (device-access 2.7). `model` is the chip if it is known already; else it is asked.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn open(
        config: Arc<dyn ConfigSpace>,
        model: Option<&'static Model>,
    ) -> Result<Self, AccessError> {
        Self::open_with(config, model, None, Patience::USUAL)
    }

    /// As [`Device::open`], with the folder of lock files: what this process holds is written
    /// down there, what dead processes left held is found there, and users of the legacy gateway
    /// keep apart there. The way every command opens a card.
    ///
    /// # Errors
    /// [`AccessError`], [`AccessError::LockFile`] when the folder cannot be used.
    pub fn open_shared(
        config: Arc<dyn ConfigSpace>,
        model: Option<&'static Model>,
        locks: &Path,
    ) -> Result<Self, AccessError> {
        Self::open_with(config, model, Some(locks), Patience::USUAL)
    }

    pub(super) fn open_with(
        config: Arc<dyn ConfigSpace>,
        model: Option<&'static Model>,
        locks: Option<&Path>,
        patience: Patience,
    ) -> Result<Self, AccessError> {
        let vsec = Vsec::open(config.clone(), locks, patience)?;
        let cr = match vsec.filter(|vsec| vsec.spaces().is_usable()) {
            Some(vsec) => Cr::Vsec(Arc::new(vsec)),
            None => Cr::Legacy(Arc::new(Legacy::open(config.clone(), locks, patience)?)),
        };
        let mut device = Self {
            config: ConfigSpaceHandle(config),
            cr,
            icmd: None,
            model,
            token: random_token(),
        };
        device.check_legacy()?;
        if device.model.is_none() {
            device.model = device.identify()?;
        }
        if let Cr::Vsec(vsec) = &device.cr {
            forget_dead(vsec)?;
            let icmd = |model| Icmd::new(vsec, model, device.token);
            device.icmd = device.model.and_then(icmd);
        }
        Ok(device)
    }

    /// The chip, by its hardware id; by its PCI id where the hardware id is out of reach.
    fn identify(&self) -> Result<Option<&'static Model>, AccessError> {
        match self.hw_id() {
            Ok(id) => Ok(model::by_hw_id(id.id)),
            Err(AccessError::UnsupportedSpace { .. } | AccessError::SecureHost { .. }) => {
                let id = self.pci_id()?;
                Ok(model::by_pci_id(id).or_else(|| model::by_recovery_id(id)))
            }
            Err(error) => Err(error),
        }
    }

    fn pci_id(&self) -> Result<u16, AccessError> {
        match self.config.0.read(0)? {
            u32::MAX => Err(AccessError::Config(ConfigError::Gone {
                device: self.name(),
                offset: 0,
            })),
            ids => Ok(u16::try_from(bits(ids, 31, 16)).unwrap_or(0)),
        }
    }

    /// The legacy gateway cannot be told from two unused dwords but by what it says: it must
    /// know a chip.
    fn check_legacy(&self) -> Result<(), AccessError> {
        if !matches!(self.cr, Cr::Legacy(_)) {
            return Ok(());
        }
        let id = self.hw_id()?;
        if model::by_hw_id(id.id).is_some() {
            return Ok(());
        }
        Err(AccessError::NoWay {
            device: self.name(),
            reason: format!(
                "no usable vendor-specific capability, and the legacy gateway says {:#06x} for the \
                 hardware id, which is no chip",
                id.id
            ),
        })
    }

    /// The function, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        self.cr.device()
    }

    /// How the card is reached.
    #[must_use]
    pub const fn way(&self) -> Way {
        self.cr.way()
    }

    /// The chip, if it is a known one.
    #[must_use]
    pub const fn model(&self) -> Option<&'static Model> {
        self.model
    }

    /// What the chip says it is.
    ///
    /// # Errors
    /// [`AccessError::SecureHost`] when CR space is locked, [`AccessError::Corrupted`] when the
    /// answer is no id, else [`AccessError`].
    pub fn hw_id(&self) -> Result<HwId, AccessError> {
        let value = self.read_cr(HARDWARE_ID)?;
        let (device, address) = (self.name(), HARDWARE_ID);
        let id = u16::try_from(bits(value, 15, 0)).unwrap_or(u16::MAX);
        if value == SECURE_HOST {
            return Err(AccessError::SecureHost {
                device,
                address,
                value,
            });
        }
        if id == u16::MAX || id == 0 {
            return Err(AccessError::Corrupted {
                device,
                address,
                value,
            });
        }
        Ok(HwId {
            id,
            revision: bits(value, 23, 16).to_le_bytes()[0],
        })
    }

    /// The dword at a CR address.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn read_cr(&self, address: u32) -> Result<u32, AccessError> {
        self.cr.hold()?.read(Space::Cr, address)
    }

    /// Writes the dword at a CR address.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn write_cr(&self, address: u32, value: u32) -> Result<(), AccessError> {
        self.cr.hold()?.write(Space::Cr, address, value)
    }

    /// Access registers; `None` where there is no ICMD: ConnectX-3, the legacy gateway, a chip
    /// whose firmware does not run, an unknown chip.
    #[must_use]
    pub fn registers(&self) -> Option<&dyn RegisterAccess> {
        self.icmd.as_ref().map(|icmd| icmd as &dyn RegisterAccess)
    }

    /// Takes the semaphore tools use around programming flash.
    ///
    /// # Errors
    /// [`AccessError::TokenHeld`] when another tool has it; [`AccessError::UnsupportedSpace`]
    /// where there is none (legacy gateway).
    pub fn flash_semaphore(&self) -> Result<FlashSemaphore, AccessError> {
        match &self.cr {
            Cr::Vsec(vsec) => FlashSemaphore::take(vsec, self.token),
            Cr::Legacy(_) => Err(AccessError::UnsupportedSpace {
                device: self.name(),
                space: Space::Semaphores,
            }),
        }
    }

    /// The flash, read through the flash gateway (burn 8).
    ///
    /// # Errors
    /// [`GatewayError::FirmwareRuns`] when the running firmware would hang, else
    /// [`GatewayError`].
    pub fn flash(&self, model: &'static Model) -> Result<Flash, GatewayError> {
        self.open_flash(model, FirmwareGuard::Respect)
    }

    /// As [`Device::flash`], but also while firmware works from the flash. It stands still as long
    /// as the gateway is taken and may hang: only on the user's explicit word.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub fn flash_past_firmware(&self, model: &'static Model) -> Result<Flash, GatewayError> {
        self.open_flash(model, FirmwareGuard::Override)
    }

    fn open_flash(
        &self,
        model: &'static Model,
        guard: FirmwareGuard,
    ) -> Result<Flash, GatewayError> {
        let state = self.recovery_state()?;
        let window = self.window(state);
        let guard = match state {
            RecoveryState::Running => guard,
            RecoveryState::Recovery | RecoveryState::Zombie => FirmwareGuard::NoFirmware,
        };
        Flash::open(self.cr.clone(), model, window, guard)
    }

    /// Where the gateway's registers are seen.
    fn window(&self, state: RecoveryState) -> Window {
        let no_cr = match &self.cr {
            Cr::Vsec(vsec) => vsec.spaces().choose(Space::Cr).is_none(),
            Cr::Legacy(_) => false,
        };
        if no_cr || state == RecoveryState::Zombie {
            Window::Recovery
        } else {
            Window::Cr
        }
    }

    /// The way to the chip and its gateway's registers; `None` where those are not known.
    pub(super) fn gateway(&self) -> Result<Option<(&Cr, Layout)>, AccessError> {
        let Some(model) = self.model else {
            return Ok(None);
        };
        let window = self.window(self.recovery_state()?);
        Ok(Layout::new(model.gateway, window).map(|layout| (&self.cr, layout)))
    }

    /// Whether firmware runs. Without it there are no access registers, only CR space and flash.
    ///
    /// # Errors
    /// [`AccessError`].
    pub fn recovery_state(&self) -> Result<RecoveryState, AccessError> {
        if self.shows_recovery_id(self.pci_id()?) {
            return Ok(RecoveryState::Recovery);
        }
        if self.is_zombie()? {
            return Ok(RecoveryState::Zombie);
        }
        Ok(RecoveryState::Running)
    }

    /// A recovery id equals the hardware id, on ConnectX-3 and before one more; the table of
    /// chips has both.
    fn shows_recovery_id(&self, pci_id: u16) -> bool {
        match self.model {
            Some(model) => model.recovery_ids.contains(&pci_id),
            None => model::by_recovery_id(pci_id).is_some(),
        }
    }

    /// Space 0xc says so, on the chips that have it.
    fn is_zombie(&self) -> Result<bool, AccessError> {
        let Cr::Vsec(vsec) = &self.cr else {
            return Ok(false);
        };
        if !vsec.spaces().contains(Space::Recovery) {
            return Ok(false);
        }
        let candidate = vsec.kind() == CapabilityType::Recovery
            || self.model.is_some_and(|model| {
                model.format == ImageFormat::Fs5 || matches!(model.hw_id, 0x218 | 0x21c)
            });
        if !candidate {
            return Ok(false);
        }
        let state = vsec.hold()?.read(Space::Recovery, 0)?;
        Ok(bits(state, 1, 0) == 0b11)
    }
}

/// Removes what dead processes wrote down and do not hold any more. What they still hold is freed
/// when it is wanted.
fn forget_dead(vsec: &Vsec) -> Result<(), AccessError> {
    let Some(claims) = vsec.claims() else {
        return Ok(());
    };
    if !claims.has_others()? {
        return Ok(());
    }
    let mut session = vsec.hold()?;
    let mut held = [0; 2];
    for (owner, semaphore) in held.iter_mut().zip([Semaphore::ICMD, Semaphore::FLASH]) {
        *owner = session.read(semaphore.space, semaphore.offset)?;
    }
    claims.forget_dead(&held)
}
