//! Where device data lies: at the end of a file or a flash, at absolute addresses.

use crate::model::ImageFormat;

/// What the image is laid into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A file just large enough.
    EndOfFile,
    /// A flash of this many bytes, at least 2 MiB.
    Flash(u64),
}

impl Place {
    /// The device data area for an image that ends at `image_end`.
    pub(super) const fn area(self, format: ImageFormat, image_end: u64) -> DeviceArea {
        match (self, format) {
            (Self::EndOfFile, _) => DeviceArea::at_end_of_file(image_end),
            (Self::Flash(size), ImageFormat::Fs2 | ImageFormat::Fs3) => DeviceArea::fs3_flash(size),
            (Self::Flash(size), ImageFormat::Fs4 | ImageFormat::Fs5) => DeviceArea::fs4_flash(size),
        }
    }
}

/// Addresses of the device data sections, in bytes from the start of the file or flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceArea {
    /// FW_NV_LOG.
    pub nv_log: u64,
    /// NV_DATA (0).
    pub nv_data_0: u64,
    /// NV_DATA (2).
    pub nv_data_2: u64,
    /// Bytes of each of the three.
    pub nv_size: u32,
    /// The two places of DEV_INFO. FS3 has one entry and both places just below MFG_INFO, the
    /// nearer one first (images-fs3 6.3).
    pub dev_info: [u64; 2],
    /// MFG_INFO.
    pub mfg_info: u64,
    /// VPD_R0.
    pub vpd: u64,
    /// DTOC (FS4).
    pub dtoc: u64,
    /// End of the area: size of the file or flash.
    pub end: u64,
}

/// Bytes of the smallest area, in a file: a page for each section.
const FILE_AREA: u64 = 0x8000;
/// File sizes are multiples of this.
const FILE_UNIT: u64 = 0x1_0000;
/// VPD follows MFG_INFO (0x140 bytes) in the same sector (images-fs4 6.2).
const VPD_AFTER_MFG: u64 = 0x140;
/// Flash up to this size has the ConnectX-5 layout (images-fs4 6.2).
const SMALL_FLASH: u64 = 0x100_0000;

impl DeviceArea {
    /// The area at the end of a file whose image ends at `image_end`.
    const fn at_end_of_file(image_end: u64) -> Self {
        let end = (image_end + FILE_AREA).next_multiple_of(FILE_UNIT);
        let base = end - FILE_AREA;
        Self {
            nv_log: base,
            nv_data_0: base + 0x1000,
            nv_data_2: base + 0x2000,
            nv_size: 0x1000,
            dev_info: [base + 0x5000, base + 0x4000],
            mfg_info: base + 0x6000,
            vpd: base + 0x6000 + VPD_AFTER_MFG,
            dtoc: end - 0x1000,
            end,
        }
    }

    /// The area of an FS4 flash: the reference layout, counted from the end (images-fs4 6.2).
    const fn fs4_flash(size: u64) -> Self {
        let (nv_log, nv_data_0, nv_data_2, dev_info) = if size <= SMALL_FLASH {
            (0x7_0000, 0x5_0000, 0x4_0000, [0x3_0000, 0x2_0000])
        } else {
            (0x10_0000, 0xe_0000, 0xc_0000, [0xa_0000, 0x9_0000])
        };
        Self {
            nv_log: size - nv_log,
            nv_data_0: size - nv_data_0,
            nv_data_2: size - nv_data_2,
            nv_size: 0x1_0000,
            dev_info: [size - dev_info[0], size - dev_info[1]],
            mfg_info: size - 0x8000,
            vpd: size - 0x8000 + VPD_AFTER_MFG,
            dtoc: size - 0x1000,
            end: size,
        }
    }

    /// The area of an FS3 flash: the last 256 KiB, each section erasable by itself.
    const fn fs3_flash(size: u64) -> Self {
        let mfg_info = size - 0x1000;
        Self {
            nv_log: size - 0x4_0000,
            nv_data_0: size - 0x3_0000,
            nv_data_2: size - 0x2_0000,
            nv_size: 0x1_0000,
            dev_info: [mfg_info - 0x1000, mfg_info - 0x2000],
            mfg_info,
            vpd: mfg_info + VPD_AFTER_MFG,
            dtoc: size,
            end: size,
        }
    }
}
