//! MVTS: the time stamp images are checked against (device-access 4.11). BCD digits.

use super::layout::register;

register! {
    /// MVTS.
    Mvts = 0x902c, "MVTS", 20 bytes {
        /// Compare only, store nothing.
        check_timestamp_flag: bool = 0x00 [29],
        /// The stamp of the running firmware, rather than the stored one.
        running_flag: bool = 0x00 [30],
        /// Clear all stamps.
        clear_all_ts_flag: bool = 0x00 [31],
        /// Day.
        day: u8 = 0x04 [7:0],
        /// Month.
        month: u8 = 0x04 [15:8],
        /// Year, four digits.
        year: u16 = 0x04 [31:16],
        /// Seconds.
        seconds: u8 = 0x08 [15:8],
        /// Minutes.
        minutes: u8 = 0x08 [23:16],
        /// Hour.
        hour: u8 = 0x08 [31:24],
        /// Firmware major.
        major: u16 = 0x0c [31:16],
        /// Firmware sub-minor.
        subminor: u16 = 0x10 [15:0],
        /// Firmware minor.
        minor: u16 = 0x10 [31:16],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn fields_lie_where_the_table_says() {
        let image = [
            0x40, 0, 0, 0, 0x20, 0x21, 0x12, 0x06, 0x15, 0x47, 0x09, 0, 0, 14, 0, 0, 0, 32, 0x03,
            0xf2,
        ];
        let mvts = Mvts::decode(&image).unwrap();
        assert!(mvts.running_flag && !mvts.check_timestamp_flag && !mvts.clear_all_ts_flag);
        assert_eq!((mvts.year, mvts.month, mvts.day), (0x2021, 0x12, 0x06));
        assert_eq!((mvts.hour, mvts.minutes, mvts.seconds), (0x15, 0x47, 0x09));
        assert_eq!((mvts.major, mvts.minor, mvts.subminor), (14, 32, 1010));
        assert_eq!(mvts.encode(), image);
    }
}
