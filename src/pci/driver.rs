//! What the kernel's driver says about a function's firmware (device-access 1.1).
//!
//! The RDMA class shows it to everybody, so it is there when configuration space is not: without
//! root, in lockdown, and on chips too old for the register interfaces.

use super::{Function, function};
use crate::identity::Psid;
use crate::version::FwVersion;

/// The driver's report on the firmware that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverReport {
    /// The RDMA device that says so.
    pub rdma: String,
    /// Running firmware (`fw_ver`).
    pub firmware: Option<FwVersion>,
    /// Board (`board_id`).
    pub psid: Option<Psid>,
    /// The driver's name for the chip (`hca_type`: `MT4117`).
    pub chip: Option<String>,
}

impl DriverReport {
    /// The report on a function; `None` when no RDMA driver is bound, or it says nothing.
    #[must_use]
    pub fn read(function: &Function) -> Option<Self> {
        let rdma = function.rdma.first()?;
        let path = ["infiniband/", "infiniband:"]
            .map(|place| function.path.join(format!("{place}{rdma}")))
            .into_iter()
            .find(|path| path.exists())?;
        let report = Self {
            rdma: rdma.clone(),
            firmware: function::attribute(&path, "fw_ver").and_then(|text| text.parse().ok()),
            psid: function::attribute(&path, "board_id").and_then(|text| Psid::new(&text)),
            chip: function::attribute(&path, "hca_type"),
        };
        let silent = report.firmware.is_none() && report.psid.is_none() && report.chip.is_none();
        (!silent).then_some(report)
    }
}
