//! MGIR: general information on the chip and the firmware that runs (device-access 4.1).

use super::layout::{Octets, codes, register};
use crate::identity::{Mac, Psid};
use crate::version::{Date, FwVersion};

codes! {
    /// Kind of an expansion ROM.
    RomKind {
        /// No ROM in this place.
        None = 0, "none";
        /// Flexboot, which mlxup calls PXE.
        Pxe = 1, "PXE";
        /// UEFI driver.
        Uefi = 2, "UEFI";
        /// UEFI command-line configuration.
        Clp = 3, "CLP";
        /// NVMe boot.
        Nvme = 4, "NVMe";
        /// Open Firmware.
        Fcode = 5, "FCODE";
        /// UEFI driver of the virtio network device.
        UefiVirtioNet = 6, "UEFI Virtio net";
        /// UEFI driver of the virtio block device.
        UefiVirtioBlk = 7, "UEFI Virtio blk";
        /// Flexboot of the virtio network device.
        PxeVirtioNet = 8, "PXE Virtio net";
    }
}

/// One expansion ROM as the firmware reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rom {
    /// Kind.
    pub kind: RomKind,
    /// Architecture: 0 unspecified, 1 AMD64, 2 AARCH64, 3 both, 4 IA32.
    pub arch: u8,
    /// First number of the version.
    pub major: u8,
    /// Second number.
    pub minor: u8,
    /// Third number.
    pub build: u16,
}

register! {
    /// MGIR.
    Mgir = 0x9020, "MGIR", 0xa0 bytes {
        /// Software (PCI) device id, 4117 for ConnectX-4 Lx.
        device_id: u16 = 0x00 [15:0],
        /// Chip revision.
        device_hw_revision: u16 = 0x00 [31:16],
        /// Process-voltage-speed bin.
        pvs: u8 = 0x04 [4:0],
        /// Process node, 1 = 40 nm to 6 = 3 nm; valid with MCAM feature 35.
        technology: u8 = 0x04 [15:11],
        /// Ports; 12 bits with MCAM feature 78.
        num_ports: u16 = 0x04 [27:16],
        /// Hardware id, as CR 0xf0014 `[15:0]`.
        hw_dev_id: u16 = 0x08 [15:0],
        /// Who manages the cable modules by default.
        module_master_fw_default: u8 = 0x0c [17:16],
        /// Co-packaged optics.
        cpo: bool = 0x0c [27],
        /// `ga` is valid.
        ga_valid: bool = 0x0c [28],
        /// Development part; valid with MCAM feature 61.
        development: bool = 0x0c [30],
        /// The chip serves as a PCIe switch only; valid with MCAM feature 74.
        pci_switch_only_mode: bool = 0x0c [31],
        /// Manufacturing base MAC, bits 47:32.
        manufacturing_base_mac_high: u16 = 0x10 [15:0],
        /// Geographical address.
        ga: u8 = 0x10 [21:16],
        /// Chip type.
        chip_type: u8 = 0x10 [27:24],
        /// Manufacturing base MAC, bits 31:0.
        manufacturing_base_mac_low: u32 = 0x14 [31:0],
        /// Seconds since the firmware started.
        uptime: u32 = 0x1c [31:0],
        /// Firmware sub-minor in 8 bits; superseded by `extended_subminor`.
        subminor: u8 = 0x20 [7:0],
        /// Firmware minor in 8 bits; superseded by `extended_minor`.
        minor: u8 = 0x20 [15:8],
        /// Firmware major in 8 bits; superseded by `extended_major`.
        major: u8 = 0x20 [23:16],
        /// Secured firmware: flash cannot be written past it.
        secured: bool = 0x20 [24],
        /// Signed firmware.
        signed_fw: bool = 0x20 [25],
        /// Debug firmware.
        debug: bool = 0x20 [26],
        /// Development firmware (on switches: development branch).
        dev: bool = 0x20 [27],
        /// The string TLV is understood.
        string_tlv: bool = 0x20 [28],
        /// Development secure (switches).
        dev_sc: bool = 0x20 [30],
        /// Build id.
        build_id: u32 = 0x24 [31:0],
        /// Build year, four BCD digits.
        year: u16 = 0x28 [15:0],
        /// Build day, BCD.
        day: u8 = 0x28 [23:16],
        /// Build month, BCD.
        month: u8 = 0x28 [31:24],
        /// Build time, BCD HHMM.
        hour: u16 = 0x2c [15:0],
        /// Best-known version, sub-minor.
        bkv_subminor: u8 = 0x2c [19:16],
        /// Best-known version, minor.
        bkv_minor: u8 = 0x2c [23:20],
        /// Best-known version, major.
        bkv_major: u8 = 0x2c [27:24],
        /// PSID, ASCII, NUL padded.
        psid: Octets<16> = 0x30 [16 bytes],
        /// Version of the board's configuration.
        ini_file_version: u32 = 0x40 [31:0],
        /// Firmware major.
        extended_major: u32 = 0x44 [31:0],
        /// Firmware minor.
        extended_minor: u32 = 0x48 [31:0],
        /// Firmware sub-minor.
        extended_subminor: u32 = 0x4c [31:0],
        /// In-service update major.
        isfu_major: u16 = 0x50 [15:0],
        /// Disabled tiles, a bit each.
        disabled_tiles: u16 = 0x50 [31:16],
        /// Life cycle, bits 1:0; see [`Mgir::life_cycle`].
        life_cycle_low: u8 = 0x54 [1:0],
        /// Secure boot.
        sec_boot: bool = 0x54 [2],
        /// Flash is encrypted; valid with MCAM feature 40.
        encryption: bool = 0x54 [3],
        /// Life cycle, bits 4:2; valid with MCAM feature 61.
        life_cycle_msb: u8 = 0x54 [6:4],
        /// Device state.
        dev_state: bool = 0x54 [11],
        /// An in-service update is possible.
        issu_able: bool = 0x54 [13],
        /// Programmable data path security; valid with MCAM feature 61.
        pds: bool = 0x54 [14],
        /// The erasure-coding engine is off.
        ec_offload_engine_disabled: bool = 0x54 [15],
        /// Device counter.
        dev_counter: u8 = 0x54 [20:16],
        /// Driver sub-minor, as the driver reported it.
        driver_subminor: u8 = 0x60 [7:0],
        /// Driver minor.
        driver_minor: u8 = 0x60 [15:8],
        /// Driver major.
        driver_major: u8 = 0x60 [23:16],
        /// Kind of ROM 3.
        rom3_type: RomKind = 0x64 [3:0],
        /// Architecture of ROM 3.
        rom3_arch: u8 = 0x64 [7:4],
        /// Kind of ROM 2.
        rom2_type: RomKind = 0x64 [11:8],
        /// Architecture of ROM 2.
        rom2_arch: u8 = 0x64 [15:12],
        /// Kind of ROM 1.
        rom1_type: RomKind = 0x64 [19:16],
        /// Architecture of ROM 1.
        rom1_arch: u8 = 0x64 [23:20],
        /// Kind of ROM 0.
        rom0_type: RomKind = 0x64 [27:24],
        /// Architecture of ROM 0.
        rom0_arch: u8 = 0x64 [31:28],
        /// Version of ROM 0: build `[15:0]`, minor `[23:16]`, major `[31:24]`.
        rom0_version: u32 = 0x68 [31:0],
        /// Version of ROM 1.
        rom1_version: u32 = 0x6c [31:0],
        /// Version of ROM 2.
        rom2_version: u32 = 0x70 [31:0],
        /// Version of ROM 3.
        rom3_version: u32 = 0x74 [31:0],
        /// Development branch tag, ASCII.
        dev_branch_tag: Octets<28> = 0x80 [28 bytes],
    }
}

impl Mgir {
    /// The version that runs; `None` when all numbers are zero or one has more than 16 bits.
    #[must_use]
    pub fn fw_version(&self) -> Option<FwVersion> {
        let version = FwVersion::new(
            u16::try_from(self.extended_major).ok()?,
            u16::try_from(self.extended_minor).ok()?,
            u16::try_from(self.extended_subminor).ok()?,
        );
        (!version.is_zero()).then_some(version)
    }

    /// Build date of the firmware.
    #[must_use]
    pub fn date(&self) -> Option<Date> {
        Date::from_bcd(self.year, self.month, self.day)
    }

    /// PSID.
    #[must_use]
    pub fn psid(&self) -> Option<Psid> {
        Psid::from_field(&self.psid.0)
    }

    /// Manufacturing base MAC.
    #[must_use]
    pub fn manufacturing_base_mac(&self) -> Option<Mac> {
        let high = u64::from(self.manufacturing_base_mac_high);
        Mac::new(high << 32 | u64::from(self.manufacturing_base_mac_low))
    }

    /// Life cycle in FS4 terms: 0 production, 1 GA secured, 2 GA non-secured, 3 RMA; 4 is
    /// pre-production on FS5 chips.
    #[must_use]
    pub const fn life_cycle(&self) -> u8 {
        self.life_cycle_low | self.life_cycle_msb << 2
    }

    /// The ROMs that are there, ROM 0 first.
    #[must_use]
    pub fn roms(&self) -> Vec<Rom> {
        [
            (self.rom0_type, self.rom0_arch, self.rom0_version),
            (self.rom1_type, self.rom1_arch, self.rom1_version),
            (self.rom2_type, self.rom2_arch, self.rom2_version),
            (self.rom3_type, self.rom3_arch, self.rom3_version),
        ]
        .into_iter()
        .filter(|&(kind, ..)| kind != RomKind::None)
        .map(|(kind, arch, version)| {
            let [major, minor, build_high, build_low] = version.to_be_bytes();
            Rom {
                kind,
                arch,
                major,
                minor,
                build: u16::from_be_bytes([build_high, build_low]),
            }
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    /// ConnectX-4 Lx with 14.25.1020, built 2019-02-05 15:47, written out dword by dword.
    fn image() -> Vec<u8> {
        let mut image = vec![0; 0xa0];
        let mut put = |at: usize, bytes: &[u8]| image[at..at + bytes.len()].copy_from_slice(bytes);
        put(0x00, &[0x00, 0x00, 0x10, 0x15]);
        put(0x04, &[0x00, 0x02, 0x10, 0x03]);
        put(0x08, &[0x00, 0x00, 0x02, 0x0b]);
        put(0x10, &[0x00, 0x00, 0x0c, 0x42]);
        put(0x14, &[0xa1, 0x00, 0x00, 0x01]);
        put(0x1c, &[0x00, 0x00, 0x0e, 0x10]);
        put(0x28, &[0x02, 0x05, 0x20, 0x19]);
        put(0x2c, &[0x00, 0x00, 0x15, 0x47]);
        put(0x30, b"MT_2420110034");
        put(0x44, &[0, 0, 0, 14]);
        put(0x48, &[0, 0, 0, 25]);
        put(0x4c, &[0, 0, 0x03, 0xfc]);
        put(0x54, &[0x00, 0x00, 0x20, 0x15]);
        put(0x64, &[0x11, 0x32, 0x00, 0x00]);
        put(0x68, &[3, 5, 0x02, 0xbd]);
        put(0x6c, &[14, 18, 0x00, 0x13]);
        put(0x80, b"branch");
        image
    }

    #[test]
    fn a_connectx_4_lx_is_read_field_by_field() {
        let mgir = Mgir::decode(&image()).unwrap();
        assert_eq!(mgir.device_id, 4117);
        assert_eq!((mgir.technology, mgir.pvs, mgir.num_ports), (2, 3, 2));
        assert_eq!(mgir.hw_dev_id, 0x20b);
        assert_eq!(
            mgir.manufacturing_base_mac().unwrap().to_string(),
            "0c42a1000001"
        );
        assert_eq!(mgir.uptime, 3600);
        assert_eq!(mgir.date().unwrap().to_string(), "2019-02-05");
        assert_eq!(mgir.hour, 0x1547);
        assert_eq!(mgir.psid().unwrap().as_str(), "MT_2420110034");
        assert_eq!(mgir.fw_version().unwrap().to_string(), "14.25.1020");
        assert_eq!(mgir.life_cycle(), 5);
        assert!(mgir.sec_boot && mgir.issu_able && !mgir.encryption);
        assert_eq!(mgir.dev_branch_tag.text(), "branch");
        let roms: Vec<String> = mgir
            .roms()
            .iter()
            .map(|rom| {
                format!(
                    "{} {}.{}.{} cpu {}",
                    rom.kind, rom.major, rom.minor, rom.build, rom.arch
                )
            })
            .collect();
        assert_eq!(roms, ["PXE 3.5.701 cpu 1", "UEFI 14.18.19 cpu 3"]);
        assert_eq!(mgir.encode(), image());
    }

    #[test]
    fn nothing_is_invented_for_an_empty_answer() {
        let mgir = Mgir::decode(&[0; 0xa0]).unwrap();
        assert_eq!(mgir.fw_version(), None);
        assert_eq!(mgir.date(), None);
        assert_eq!(mgir.psid(), None);
        assert_eq!(mgir.manufacturing_base_mac(), None);
        assert!(mgir.roms().is_empty());
    }
}
