//! Who the firmware is and what it has: MGIR, MCAM, MQIS, MSGI (device-access 4.1, 4.7, 4.11).

use crate::registers::mgir::RomKind;
use crate::registers::mqis::InfoType;
use crate::registers::{Mcam, Mgir, Mqis, Msgi, Octets};
use crate::version::Date;

use super::super::boot::RunningRom;
use super::super::icmd::{Method, TlvStatus};
use super::super::{cells::Cell, seconds};
use super::{Firmware, known_registers, read_only, reply};

/// MCAM features that are true here: the reset state of MFRL is valid.
const FEATURES: &[u16] = &[21];

/// Life cycle "GA secured" (device-access 3.1).
const GA_SECURED: u8 = 1;

impl Firmware<'_> {
    pub(super) fn mgir(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        read_only(method)?;
        reply(image, |_: Mgir| Ok(self.general_information()))
    }

    fn general_information(&self) -> Mgir {
        let running = &self.running;
        let spec = &self.cycle.spec;
        let [major, minor, subminor] = running.version;
        let mac = running.original_mac.value.to_be_bytes();
        let (year, month, day) = bcd_date(running.date);
        let uptime = seconds().wrapping_sub(self.cycle.cells.get(Cell::BootTime));
        let low = |number: u16| number.to_be_bytes()[1];
        let mut mgir = Mgir {
            device_id: spec.functions.first().map_or(0, |function| function.device),
            device_hw_revision: spec.revision.into(),
            num_ports: u16::try_from(spec.functions.len()).unwrap_or(1),
            hw_dev_id: spec.hw_id,
            manufacturing_base_mac_high: u16::from_be_bytes([mac[2], mac[3]]),
            manufacturing_base_mac_low: u32::from_be_bytes([mac[4], mac[5], mac[6], mac[7]]),
            uptime,
            major: low(major),
            minor: low(minor),
            subminor: low(subminor),
            secured: running.secure,
            signed_fw: running.signed || running.secure,
            debug: running.debug,
            dev: running.dev,
            year,
            month,
            day,
            hour: running.time.map_or(0, |[hour, minute, _]| {
                u16::from_be_bytes([bcd(hour.into()), bcd(minute.into())])
            }),
            psid: Octets::new(running.psid.as_bytes()),
            extended_major: major.into(),
            extended_minor: minor.into(),
            extended_subminor: subminor.into(),
            life_cycle_low: if spec.secure { GA_SECURED } else { 0 },
            sec_boot: spec.secure,
            ..Mgir::default()
        };
        put_roms(&mut mgir, &running.roms);
        mgir
    }

    pub(super) fn mcam(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        read_only(method)?;
        reply(image, |request: Mcam| {
            let blank = Mcam {
                access_reg_group: request.access_reg_group,
                feature_group: request.feature_group,
                ..Mcam::default()
            };
            let with_registers =
                known_registers().fold(blank, |mcam, known| mcam.with_register(known.id));
            let features = if request.feature_group == 0 {
                FEATURES
            } else {
                &[]
            };
            Ok(features
                .iter()
                .fold(with_registers, |mcam, &feature| mcam.with_feature(feature)))
        })
    }

    pub(super) fn mqis(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        read_only(method)?;
        reply(image, |request: Mqis| {
            let text = match request.info_type {
                InfoType::ModelName => &self.running.part_number,
                InfoType::ModelDescription => &self.running.description,
                InfoType::ImageVsd => &self.running.vsd,
                InfoType::DeviceVsd => &self.running.device_vsd,
                _ => return Err(TlvStatus::BadParameter),
            };
            let offset = usize::from(request.read_offset);
            let rest = text.as_bytes().get(offset..).unwrap_or_default();
            let given = request.read_length.min(Mqis::PIECE).into();
            let piece = rest.get(..given).unwrap_or(rest);
            Ok(Mqis {
                info_length: u16::try_from(text.len()).unwrap_or(u16::MAX),
                read_length: u16::try_from(piece.len()).unwrap_or(0),
                info_string: Octets::new(piece),
                ..request
            })
        })
    }

    pub(super) fn msgi(&self, method: Method, image: &mut [u8]) -> Result<(), TlvStatus> {
        read_only(method)?;
        let vpd = &self.cycle.spec.vpd;
        let keyword = |name| vpd.keyword(name).unwrap_or("").as_bytes();
        reply(image, |_: Msgi| {
            Ok(Msgi {
                serial_number: Octets::new(keyword("SN")),
                part_number: Octets::new(keyword("PN")),
                revision: Octets::new(keyword("EC")),
                product_name: Octets::new(vpd.identifier.as_bytes()),
            })
        })
    }
}

/// The first four ROMs MGIR has places for.
fn put_roms(mgir: &mut Mgir, roms: &[RunningRom]) {
    let mut places = [(RomKind::None, 0, 0); 4];
    for (place, rom) in places.iter_mut().zip(roms) {
        let kind = (1..=8)
            .map(RomKind::from_code)
            .find(|kind| kind.to_string() == rom.kind)
            .unwrap_or_default();
        let number = |index: usize| rom.version.get(index).copied().unwrap_or(0);
        let version = (number(0) << 24) | ((number(1) & 0xff) << 16) | (number(2) & 0xffff);
        *place = (kind, rom.cpu, version);
    }
    (mgir.rom0_type, mgir.rom0_arch, mgir.rom0_version) = places[0];
    (mgir.rom1_type, mgir.rom1_arch, mgir.rom1_version) = places[1];
    (mgir.rom2_type, mgir.rom2_arch, mgir.rom2_version) = places[2];
    (mgir.rom3_type, mgir.rom3_arch, mgir.rom3_version) = places[3];
}

/// Two decimal digits as BCD.
pub(super) fn bcd(number: u16) -> u8 {
    u8::try_from(((number / 10 % 10) << 4) | (number % 10)).unwrap_or(0)
}

/// Year, month and day as BCD; zero when there is no date.
pub(super) fn bcd_date(date: Option<[u16; 3]>) -> (u16, u8, u8) {
    let Some([year, month, day]) = date else {
        return (0, 0, 0);
    };
    let date = Date {
        year,
        month: u8::try_from(month).unwrap_or(0),
        day: u8::try_from(day).unwrap_or(0),
    };
    let [high, low, month, day] = date.to_bcd().to_be_bytes();
    (u16::from_be_bytes([high, low]), month, day)
}
