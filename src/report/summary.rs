//! The lines around an update: what was found, how each card ended, the sum (mft-compat 2.5, 2.6).

use std::io::{self, Write};

use super::{CardView, Ending, Outcome, backup, printable, status};
use crate::flash::Activation;
use crate::plan::{Action, Status};

/// Nine dashes introduce what follows the report.
const RULE: &str = "---------";

/// How many cards would be burned, between the report and the question, and what has to be thought
/// of before the answer. Says nothing of a plan that burns nothing and has nothing good to say either.
///
/// # Errors
/// What the writer says.
pub fn found(out: &mut dyn Write, cards: &[CardView<'_>]) -> io::Result<()> {
    let due = cards
        .iter()
        .filter(|view| view.decision.action == Action::Burn)
        .count();
    let fine = !cards.is_empty()
        && cards
            .iter()
            .all(|view| view.decision.status == Status::UpToDate);
    if due > 0 {
        writeln!(
            out,
            "{RULE}\nFound {due} device(s) requiring firmware update..."
        )?;
        grave(out, cards)?;
    } else if fine {
        writeln!(
            out,
            "{RULE}\nAll listed device(s) firmware images are up to date."
        )?;
    }
    writeln!(out)
}

/// The cards whose burn is no plain update: what happens to them, and what follows from that.
fn grave(out: &mut dyn Write, cards: &[CardView<'_>]) -> io::Result<()> {
    for (index, CardView { card, decision, .. }) in cards.iter().enumerate() {
        let advice = decision.reason.advice();
        if let (Action::Burn, Some(advice)) = (decision.action, advice) {
            let (number, device) = (index + 1, &card.device);
            let reason = printable(&decision.reason.to_string());
            writeln!(out, "Device #{number} ({device}): {reason}; {advice}")?;
        }
    }
    Ok(())
}

/// Names a card in the lines of an update. With a single card on the host mlxup leaves the number
/// out.
#[derive(Debug, Clone, Copy)]
pub struct Label<'a> {
    /// Number in the report, from 1.
    pub number: usize,
    /// The card's name.
    pub device: &'a str,
    /// It is the only one.
    pub only: bool,
}

impl Label<'_> {
    /// What begins a line about the card: nothing when it is the only one.
    #[must_use]
    pub fn prefix(&self) -> String {
        if self.only {
            String::new()
        } else {
            format!("Device #{} ({}): ", self.number, self.device)
        }
    }
}

/// The line that opens a burn.
///
/// # Errors
/// What the writer says.
pub fn burning(out: &mut dyn Write, label: &Label<'_>) -> io::Result<()> {
    writeln!(out, "{}Updating FW ...     ", label.prefix())
}

/// The line that closes a burn.
///
/// # Errors
/// What the writer says.
pub fn burned(out: &mut dyn Write, label: &Label<'_>, outcome: &Outcome) -> io::Result<()> {
    let prefix = label.prefix();
    match outcome.ending {
        Ending::Burned => writeln!(out, "{prefix}Done")?,
        Ending::Interrupted => writeln!(out, "{prefix}Interrupted")?,
        Ending::AlreadyCurrent | Ending::AlreadyStaged | Ending::Skipped => {
            writeln!(out, "{prefix}{}", printable(&outcome.reason))?;
        }
        _ => writeln!(out, "{prefix}Fail : {} ", printable(&outcome.reason))?,
    }
    backup::kept(out, &prefix, outcome)
}

/// The line of a card that was not burned: mlxup's words, and the reason.
///
/// # Errors
/// What the writer says.
pub fn not_burned(
    out: &mut dyn Write,
    label: &Label<'_>,
    view: &CardView<'_>,
    outcome: &Outcome,
) -> io::Result<()> {
    let words = match (outcome.ending, view.decision.status) {
        (_, Status::Failed) => "Device query failed".to_owned(),
        (Ending::Failed, _) => "Failed".to_owned(),
        (Ending::Refused, _) => "Refused".to_owned(),
        (_, Status::NoImage | Status::OemNoImage) => "No matching image found".to_owned(),
        _ => status::text(view.decision),
    };
    let mut reason = printable(&outcome.reason);
    if let Some(advice) = &outcome.advice {
        reason = format!("{reason}; {}", printable(advice));
    }
    writeln!(out, "Device #{}: {words} ({reason})", label.number)
}

/// What a burn would do (dry run).
///
/// # Errors
/// What the writer says.
pub fn steps(out: &mut dyn Write, label: &Label<'_>, outcome: &Outcome) -> io::Result<()> {
    writeln!(
        out,
        "Device #{} ({}): {}",
        label.number,
        label.device,
        printable(&outcome.reason)
    )?;
    for (index, step) in outcome.steps.iter().enumerate() {
        writeln!(out, "  {}. {}", index + 1, printable(step))?;
    }
    Ok(())
}

/// The end of every update: what has to follow, and one line that counts.
///
/// # Errors
/// What the writer says.
pub fn end(out: &mut dyn Write, outcomes: &[Outcome]) -> io::Result<()> {
    if outcomes.iter().any(Outcome::needs_restart) {
        writeln!(out, "\nRestart needed for updates to take effect.")?;
    }
    let cold = |outcome: &Outcome| outcome.activation == Some(Activation::ColdBoot);
    if outcomes.iter().any(cold) {
        writeln!(
            out,
            "A cold boot is needed: switch the machine off and on, so that the card is without power."
        )?;
    }
    writeln!(out, "{}", counts(outcomes))
}

/// `2 burned, 1 already current, 3 skipped`.
#[must_use]
pub fn counts(outcomes: &[Outcome]) -> String {
    let counted: Vec<String> = Ending::ALL
        .into_iter()
        .filter_map(|ending| {
            let count = outcomes
                .iter()
                .filter(|outcome| outcome.ending == ending)
                .count();
            (count > 0).then(|| format!("{count} {}", ending.words()))
        })
        .collect();
    if counted.is_empty() {
        return "Summary: no cards".to_owned();
    }
    format!("Summary: {}", counted.join(", "))
}
