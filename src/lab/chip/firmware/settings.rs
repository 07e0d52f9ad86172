//! Configuration of the board as tools ask for it: MNVDA, MVTS, MLOCK (device-access 4.11).

use crate::registers::mlock::LockState;
use crate::registers::mnvda::{BaseAddressCapabilities, BaseAddresses};
use crate::registers::{Mlock, Mnvda, Mvts};

use super::super::icmd::{Method, TlvStatus};
use super::{Firmware, read_only, reply};

impl Firmware<'_> {
    /// Base addresses and their number, in force or of the factory. Nothing can be set.
    pub(super) fn mnvda(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        read_only(method)?;
        let running = &self.running;
        reply(image, |request: Mnvda| {
            let (mac, guid) = if request.default {
                (running.original_mac, running.original_guid)
            } else {
                (running.mac, running.guid)
            };
            let answer = match request.tlv_type {
                Mnvda::BASE_ADDRESSES => Mnvda::from(&BaseAddresses {
                    mac: mac.value,
                    guid: guid.value,
                }),
                Mnvda::BASE_ADDRESS_CAPABILITIES => Mnvda::from(&BaseAddressCapabilities {
                    guid_en: true,
                    mac_en: true,
                    num_macs: mac.count,
                    num_guids: guid.count,
                }),
                _ => return Err(TlvStatus::BadParameter),
            };
            if request.data.len() < answer.data.len() {
                return Err(TlvStatus::TooShort);
            }
            Ok(Mnvda {
                read_current: request.read_current,
                default: request.default,
                rd_en: true,
                ..answer
            })
        })
    }

    /// This board was never stamped: nothing is stored, any stamp is taken and forgotten.
    pub(super) fn mvts(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        match method {
            Method::Read => reply(image, |request: Mvts| {
                Ok(Mvts {
                    running_flag: request.running_flag,
                    ..Mvts::default()
                })
            }),
            Method::Write => Ok(()),
        }
    }

    /// The host is not locked out.
    pub(super) fn mlock(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        read_only(method)?;
        reply(image, |_: Mlock| {
            Ok(Mlock {
                operation: LockState::Unlocked,
                ..Mlock::default()
            })
        })
    }
}
