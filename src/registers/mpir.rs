//! MPIR: where on the host's PCI a function sits (device-access 4.10).

use super::layout::register;

register! {
    /// MPIR. `depth`, `pcie_index`, `node` and `dpn_v` are set when reading.
    Mpir = 0x9059, "MPIR", 16 bytes {
        /// Host buses.
        host_buses: u8 = 0x0 [3:0],
        /// Node.
        node: u8 = 0x0 [15:8],
        /// PCIe index.
        pcie_index: u8 = 0x0 [23:16],
        /// Depth.
        depth: u8 = 0x0 [29:24],
        /// Addressed by DPN.
        dpn_v: bool = 0x0 [30],
        /// Socket direct: the card is two PCI devices.
        sdm: bool = 0x0 [31],
        /// Subordinate bus.
        subordinate_bus: u8 = 0x4 [7:0],
        /// Secondary bus.
        secondary_bus: u8 = 0x4 [15:8],
        /// Segment.
        segment_base: u8 = 0x4 [23:16],
        /// The segment is valid.
        segment_valid: bool = 0x4 [24],
        /// Segments are supported.
        segment_cap: bool = 0x4 [25],
        /// Socket-direct group.
        sd_group: u8 = 0x8 [2:0],
        /// Device number.
        device: u8 = 0x8 [7:3],
        /// Local port, high bits.
        lp_msb: u8 = 0x8 [13:12],
        /// Bus number.
        bus: u8 = 0x8 [23:16],
        /// Local port.
        local_port: u8 = 0x8 [31:24],
        /// Slot number.
        slot_number: u16 = 0xc [12:0],
        /// Connected devices.
        num_con_devices: u8 = 0xc [23:16],
        /// Host; valid with MCAM feature 77.
        host_index: u8 = 0xc [30:24],
        /// The slot number is valid.
        slot_cap: bool = 0xc [31],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registers::Register;

    #[test]
    fn fields_lie_where_the_table_says() {
        let image = [
            0x80, 0x01, 0x00, 0x02, 0x01, 0x00, 0x04, 0x05, 0x01, 0x03, 0x10, 0x0a, 0x81, 0x02,
            0x00, 0x07,
        ];
        let mpir = Mpir::decode(&image).unwrap();
        assert!(mpir.sdm && mpir.segment_valid && mpir.slot_cap && !mpir.dpn_v);
        assert_eq!((mpir.pcie_index, mpir.host_buses), (1, 2));
        assert_eq!((mpir.secondary_bus, mpir.subordinate_bus), (4, 5));
        assert_eq!((mpir.bus, mpir.device, mpir.sd_group), (3, 1, 2));
        assert_eq!((mpir.local_port, mpir.lp_msb), (1, 1));
        assert_eq!(
            (mpir.slot_number, mpir.num_con_devices, mpir.host_index),
            (7, 2, 1)
        );
        assert_eq!(mpir.encode(), image);
    }
}
