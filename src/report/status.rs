//! The words behind `Status:`.

use crate::plan::{Action, Decision, Reason, Status};

/// mlxup's words, where it has some for the standing; ours where it has none (mft-compat 2.3).
#[must_use]
pub fn text(decision: &Decision) -> String {
    match (decision.status, &decision.reason) {
        (Status::ActivationPending, _) if !is_forced(decision) => {
            "Update staged, activation pending".to_owned()
        }
        (Status::NewerThanSource, _) if !is_forced(decision) => {
            "Up to date (newer than the source)".to_owned()
        }
        (Status::OemNoImage, Reason::OemNoImage { brand, .. }) => {
            format!("No matching image found (updates come from {brand})")
        }
        (Status::NoImage, Reason::NotListed { searched, .. }) => {
            format!(
                "No matching image found (not listed: {})",
                searched.join(", ")
            )
        }
        (Status::Recovery, _) => "Flash recovery".to_owned(),
        (Status::NotCompared, Reason::SourceFailed { .. }) => {
            "Not compared (a source gave no answer)".to_owned()
        }
        (Status::NotCompared, _) => "Not compared".to_owned(),
        _ => mlxup(decision).to_owned(),
    }
}

/// Only words that readers of mlxup's output know.
#[must_use]
pub fn mlxup(decision: &Decision) -> &'static str {
    match (decision.status, &decision.reason) {
        (Status::Failed | Status::Recovery, _) => "Failed to open device",
        (Status::NoImage | Status::OemNoImage | Status::NotCompared, _) => {
            "No matching image found"
        }
        (_, Reason::Ambiguous { .. }) => "Multiple image files found",
        (Status::UpdateRequired, _) => "Update required",
        _ if is_forced(decision) => "Forced update required",
        (Status::UpToDate | Status::NewerThanSource | Status::ActivationPending, _) => "Up to date",
    }
}

/// Burned although no newer version calls for it.
fn is_forced(decision: &Decision) -> bool {
    decision.action == Action::Burn && decision.status != Status::UpdateRequired
}
