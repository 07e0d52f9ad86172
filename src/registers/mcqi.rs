//! MCQI: what one component can do, its version, how it is activated (device-access 4.3).

use super::layout::{Octets, codes, layout, register};
use crate::version::{Date, FwVersion};

/// Room for data in the register, bytes.
pub const DATA_SIZE: usize = 0x7c;

codes! {
    /// What is asked of a component.
    InfoType {
        /// [`Capabilities`].
        Capabilities = 0, "capabilities";
        /// [`Version`].
        Version = 1, "version";
        /// [`ActivationMethod`].
        ActivationMethod = 5, "activation method";
    }
}

register! {
    /// MCQI. Indices, `info_type`, `offset` and `data_size` are set when reading.
    Mcqi = 0x9061, "MCQI", 0x94 bytes {
        /// Position in the component table, from MCQS.
        component_index: u16 = 0x00 [15:0],
        /// Device behind the card; valid with MCAM feature 18.
        device_index: u16 = 0x00 [27:16],
        /// Ask of the component that becomes active with the next reset.
        read_pending_component: bool = 0x00 [31],
        /// 0 adapter or switch, 1 gearbox.
        device_type: u8 = 0x04 [7:0],
        /// What is asked.
        info_type: InfoType = 0x08 [4:0],
        /// Bytes there are.
        info_size: u32 = 0x0c [31:0],
        /// First byte wanted.
        offset: u32 = 0x10 [31:0],
        /// Bytes wanted, at most [`DATA_SIZE`].
        data_size: u16 = 0x14 [15:0],
        /// The data; see [`Mcqi::info`].
        data: Octets<0x7c> = 0x18 [124 bytes],
    }
}

layout! {
    /// What a component can do.
    pub Capabilities: 0x14 bytes {
        /// Bit n = info type n is answered.
        supported_info_bitmask: u32 = 0x0 [31:0],
        /// Present size, bytes.
        component_size: u32 = 0x4 [31:0],
        /// Largest size that is taken, bytes.
        max_component_size: u32 = 0x8 [31:0],
        /// Most data one MCDA may carry, bytes.
        mcda_max_write_size: u16 = 0xc [15:0],
        /// log2 of the unit MCDA sizes and offsets are multiples of.
        log_mcda_word_size: u8 = 0xc [31:28],
        /// Base GUID and MAC must match.
        match_base_guid_mac: bool = 0x10 [26],
        /// The time stamp is checked.
        check_user_timestamp: bool = 0x10 [27],
        /// The PSID must match.
        match_psid: bool = 0x10 [28],
        /// The chip must match.
        match_chip_id: bool = 0x10 [29],
        /// Only signed components are taken.
        signed_updates_only: bool = 0x10 [30],
        /// The component can be read back.
        rd_en: bool = 0x10 [31],
    }
}

layout! {
    /// A time as MCQI has it: BCD digits in each field.
    pub Timestamp: 8 bytes {
        /// Hours.
        hours: u8 = 0x0 [15:8],
        /// Minutes.
        minutes: u8 = 0x0 [23:16],
        /// Seconds.
        seconds: u8 = 0x0 [31:24],
        /// Day of the month.
        day: u8 = 0x4 [7:0],
        /// Month.
        month: u8 = 0x4 [15:8],
        /// Year, four digits.
        year: u16 = 0x4 [31:16],
    }
}

impl Timestamp {
    /// The date.
    #[must_use]
    pub fn date(&self) -> Option<Date> {
        Date::from_bcd(self.year, self.month, self.day)
    }
}

layout! {
    /// Version of a component.
    pub Version: 0x7c bytes {
        /// Bytes used of `version_string`.
        version_string_length: u8 = 0x00 [7:0],
        /// `user_defined_time` is valid.
        user_defined_time_valid: bool = 0x00 [28],
        /// `build_time` is valid.
        build_time_valid: bool = 0x00 [29],
        /// Third number.
        subminor: u16 = 0x04 [15:0],
        /// Second number.
        minor: u8 = 0x04 [23:16],
        /// First number.
        major: u8 = 0x04 [31:24],
        /// When it was built, high dword first; see [`Version::build_date`].
        build_time: u64 = 0x08 [8 bytes],
        /// A time of the user's choice.
        user_defined_time: u64 = 0x10 [8 bytes],
        /// Version of the tool that built it.
        build_tool_version: u32 = 0x18 [31:0],
        /// Version as text: for the boot image, the product version.
        version_string: Octets<92> = 0x20 [92 bytes],
    }
}

impl Version {
    /// The version; `None` when all numbers are zero.
    #[must_use]
    pub fn fw_version(&self) -> Option<FwVersion> {
        let version = FwVersion::new(u16::from(self.major), u16::from(self.minor), self.subminor);
        (!version.is_zero()).then_some(version)
    }

    /// Build date, where it is valid.
    #[must_use]
    pub fn build_date(&self) -> Option<Date> {
        self.build_time_valid
            .then(|| Timestamp::get(&self.build_time.to_be_bytes()))?
            .date()
    }

    /// Sets the build time and marks it valid.
    #[must_use]
    pub fn with_build_time(mut self, time: &Timestamp) -> Self {
        let mut bytes = [0; Timestamp::BYTES];
        time.put(&mut bytes);
        self.build_time = u64::from_be_bytes(bytes);
        self.build_time_valid = true;
        self
    }

    /// The version text, bounded by its length field and by its room.
    #[must_use]
    pub fn text(&self) -> String {
        let used = usize::from(self.version_string_length);
        crate::bytes::text(
            self.version_string
                .0
                .get(..used)
                .unwrap_or(&self.version_string.0),
        )
    }
}

layout! {
    /// What makes a component active.
    pub ActivationMethod: 4 bytes {
        /// All hosts have to agree.
        all_hosts_sync: bool = 0x0 [0],
        /// It becomes active by itself when it is updated.
        auto_activate: bool = 0x0 [1],
        /// Firmware reset.
        pending_fw_reset: bool = 0x0 [2],
        /// Restart of the server.
        pending_server_reboot: bool = 0x0 [3],
        /// DC power cycle.
        pending_server_dc_power_cycle: bool = 0x0 [4],
        /// AC power cycle.
        pending_server_ac_power_cycle: bool = 0x0 [5],
        /// It can activate itself.
        self_activation: bool = 0x0 [6],
    }
}

/// The data of MCQI by `info_type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Info {
    /// Capabilities.
    Capabilities(Capabilities),
    /// Version.
    Version(Version),
    /// Activation method.
    ActivationMethod(ActivationMethod),
}

impl Mcqi {
    /// A request for one kind of information on the component at `component_index`.
    #[must_use]
    pub fn request(component_index: u16, info_type: InfoType) -> Self {
        let wanted = match info_type {
            InfoType::Capabilities => Capabilities::BYTES,
            InfoType::ActivationMethod => ActivationMethod::BYTES,
            InfoType::Version | InfoType::Other(_) => DATA_SIZE,
        };
        Self {
            component_index,
            info_type,
            data_size: u16::try_from(wanted).unwrap_or_default(),
            ..Self::default()
        }
    }

    /// The data, read as `info_type` says; `None` for types without a layout here and for an
    /// answer that does not start at the beginning.
    #[must_use]
    pub fn info(&self) -> Option<Info> {
        if self.offset != 0 {
            return None;
        }
        let data = &self.data.0;
        match self.info_type {
            InfoType::Capabilities => Some(Info::Capabilities(Capabilities::get(data))),
            InfoType::Version => Some(Info::Version(Version::get(data))),
            InfoType::ActivationMethod => Some(Info::ActivationMethod(ActivationMethod::get(data))),
            InfoType::Other(_) => None,
        }
    }

    /// This register as the answer that carries `info`.
    #[must_use]
    pub fn with_info(mut self, info: &Info) -> Self {
        let mut data = [0; DATA_SIZE];
        let (info_type, size) = match info {
            Info::Capabilities(capabilities) => {
                capabilities.put(&mut data);
                (InfoType::Capabilities, Capabilities::BYTES)
            }
            Info::Version(version) => {
                version.put(&mut data);
                (InfoType::Version, Version::BYTES)
            }
            Info::ActivationMethod(method) => {
                method.put(&mut data);
                (InfoType::ActivationMethod, ActivationMethod::BYTES)
            }
        };
        self.info_type = info_type;
        self.info_size = u32::try_from(size).unwrap_or_default();
        self.data = Octets(data);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    fn dword(image: &[u8], at: usize) -> [u8; 4] {
        image[at..at + 4].try_into().unwrap()
    }

    #[test]
    fn a_version_is_laid_out_as_the_table_says() {
        let version = Version {
            version_string_length: 10,
            major: 14,
            minor: 32,
            subminor: 1010,
            version_string: Octets::new(b"14.32.1010"),
            ..Version::default()
        }
        .with_build_time(&Timestamp {
            hours: 0x15,
            minutes: 0x47,
            seconds: 0x09,
            day: 0x06,
            month: 0x12,
            year: 0x2021,
        });
        let answer = Mcqi {
            read_pending_component: true,
            component_index: 3,
            ..Mcqi::default()
        }
        .with_info(&Info::Version(version.clone()));
        let image = answer.encode();
        assert_eq!(dword(&image, 0x00), [0x80, 0, 0, 3]);
        assert_eq!(dword(&image, 0x08), [0, 0, 0, 1]);
        assert_eq!(dword(&image, 0x0c), [0, 0, 0, 0x7c]);
        assert_eq!(dword(&image, 0x18), [0x20, 0, 0, 10]);
        assert_eq!(dword(&image, 0x1c), [14, 32, 0x03, 0xf2]);
        assert_eq!(dword(&image, 0x20), [0x09, 0x47, 0x15, 0]);
        assert_eq!(dword(&image, 0x24), [0x20, 0x21, 0x12, 0x06]);
        assert_eq!(&image[0x38..0x42], b"14.32.1010");
        let read = Mcqi::decode(&image).unwrap();
        assert_eq!(read, answer);
        assert_eq!(read.info(), Some(Info::Version(version.clone())));
        assert_eq!(version.fw_version().unwrap().to_string(), "14.32.1010");
        assert_eq!(version.build_date().unwrap().to_string(), "2021-12-06");
        assert_eq!(version.text(), "14.32.1010");
    }

    #[test]
    fn a_version_text_longer_than_its_room_is_bounded() {
        let version = Version {
            version_string_length: 255,
            version_string: Octets([b'x'; 92]),
            ..Version::default()
        };
        assert_eq!(version.text().len(), 92);
    }

    #[test]
    fn a_build_time_not_marked_valid_is_no_date() {
        let mut version = Version::default().with_build_time(&Timestamp {
            year: 0x2021,
            month: 1,
            day: 1,
            ..Timestamp::default()
        });
        version.build_time_valid = false;
        assert_eq!(version.build_date(), None);
    }

    #[test]
    fn capabilities_and_activation_are_laid_out_as_the_tables_say() {
        let mut data = [0; 0x14];
        Capabilities {
            supported_info_bitmask: 0x23,
            component_size: 0x10_0000,
            max_component_size: 0x80_0000,
            mcda_max_write_size: 128,
            log_mcda_word_size: 2,
            match_psid: true,
            rd_en: true,
            ..Capabilities::default()
        }
        .put(&mut data);
        assert_eq!(dword(&data, 0x0), [0, 0, 0, 0x23]);
        assert_eq!(dword(&data, 0x4), [0, 0x10, 0, 0]);
        assert_eq!(dword(&data, 0x8), [0, 0x80, 0, 0]);
        assert_eq!(dword(&data, 0xc), [0x20, 0, 0, 0x80]);
        assert_eq!(dword(&data, 0x10), [0x90, 0, 0, 0]);

        let answer = Mcqi::default().with_info(&Info::ActivationMethod(ActivationMethod {
            pending_fw_reset: true,
            pending_server_reboot: true,
            ..ActivationMethod::default()
        }));
        let image = answer.encode();
        assert_eq!(dword(&image, 0x08), [0, 0, 0, 5]);
        assert_eq!(dword(&image, 0x18), [0, 0, 0, 0x0c]);
    }

    #[test]
    fn types_without_a_layout_and_later_pieces_are_not_interpreted() {
        let other = Mcqi::request(0, InfoType::Other(9));
        assert_eq!(other.info(), None);
        let piece = Mcqi {
            offset: 4,
            ..Mcqi::request(0, InfoType::Version)
        };
        assert_eq!(piece.info(), None);
    }
}
