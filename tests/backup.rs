//! The flash of a simulated card is saved to a file and put back.

#![expect(
    clippy::unwrap_used,
    reason = "in a test, a panic is the report of a failure"
)]

mod one_card;

use std::path::Path;

use cxfw::card::CardReport;
use cxfw::flash::backup::{
    Backup, BackupError, BackupOptions, Destination, OtherCard, Scope, plan_restore, restore, save,
};
use cxfw::flash::direct::{BurnError, BurnOptions, Through, burn};
use cxfw::flash::{Burned, Cancel};
use cxfw::lab::Lab;
use cxfw::lab::chip::Violations;
use cxfw::lab::host::CardSpec;
use cxfw::progress::{Event, Phase};
use one_card::{CARDS, FLASH, newer, published, with_device};

/// A lab of one card with a small flash.
struct Bench {
    dir: tempfile::TempDir,
    lab: Lab,
    card: CardSpec,
}

impl Bench {
    fn new(name: &str) -> Self {
        Self::with(name, |_| ())
    }

    fn with(name: &str, change: impl FnOnce(&mut CardSpec)) -> Self {
        let host = one_card::host(name, change);
        let card = host.cards[0].clone();
        let dir = tempfile::tempdir().unwrap();
        let lab = Lab::create(&dir.path().join("lab"), &host).unwrap();
        Self { dir, lab, card }
    }

    fn report(&self) -> CardReport {
        one_card::survey(&self.lab).report
    }

    fn save(
        &self,
        (scope, destination): (Scope, Destination<'_>),
        cancel: &Cancel,
        events: &mut Vec<Event>,
    ) -> Result<Backup, Box<BackupError>> {
        with_device(&self.lab, |device, lock| {
            let options = BackupOptions {
                lock,
                through: Through::Auto,
                scope,
            };
            save(device, &options, destination, cancel, &mut |event| {
                events.push(event);
            })
            .map_err(Box::new)
        })
    }

    fn save_here(&self, scope: Scope) -> Backup {
        let folder = Destination::Folder(self.dir.path());
        let what = (scope, folder);
        self.save(what, &Cancel::new(), &mut Vec::new()).unwrap()
    }

    fn restore(&self, file: &Path, other: OtherCard) -> Result<Burned, Box<BurnError>> {
        let bytes = std::fs::read(file).unwrap();
        with_device(&self.lab, |device, lock| {
            let options = BurnOptions::under(lock);
            let cancel = Cancel::new();
            restore(device, (&bytes, other), &options, &cancel, &mut |_| ()).map_err(Box::new)
        })
    }

    fn flash(&self) -> Vec<u8> {
        let chip = self.lab.chip(&self.card.name).unwrap();
        chip.read_flash(0, FLASH).unwrap()
    }

    /// Burns a newer firmware and restarts into it.
    fn update(&self) {
        let image = published(&self.card, newer(&self.card, 1));
        with_device(&self.lab, |device, lock| {
            let options = BurnOptions::under(lock);
            burn(device, &image, &options, &Cancel::new(), &mut |_| ()).unwrap()
        });
        self.lab.reset().unwrap();
    }

    fn assert_well_behaved(&self) {
        let chip = self.lab.chip(&self.card.name).unwrap();
        assert_eq!(chip.violations(), Violations::default());
    }
}

/// Every card, and every kind of backup. The whole of a flash takes long to read, so once is
/// enough.
const CARDS_AND_SCOPES: [(&str, Scope); 4] = [
    ("cx3-10g", Scope::Whole),
    ("cx3-10g", Scope::InUse),
    ("cx4lx", Scope::InUse),
    ("cx5-recovery", Scope::InUse),
];

/// Files in a folder that are no lab.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "lab")
        .collect();
    names.sort();
    names
}

#[test]
fn the_file_is_the_flash_and_is_named_by_what_it_holds() {
    for name in CARDS {
        let bench = Bench::new(name);
        let mut events = Vec::new();
        let folder = Destination::Folder(bench.dir.path());
        let backup = bench
            .save((Scope::Whole, folder), &Cancel::new(), &mut events)
            .unwrap();
        assert!(
            std::fs::read(&backup.path).unwrap() == bench.flash(),
            "{name}"
        );
        assert!(backup.sound);
        let file = backup.path.file_name().unwrap().to_str().unwrap();
        let prefix = format!(
            "{}_{}_{}_",
            bench.card.psid, bench.card.firmware.version, bench.card.mac
        );
        assert!(file.starts_with(&prefix), "{file}");
        assert_eq!(files(bench.dir.path()), [file]);
        let ended = |phase| events.contains(&Event::PhaseDone { phase });
        assert!(ended(Phase::Read) && ended(Phase::Verify));
        bench.assert_well_behaved();
    }
}

#[test]
fn a_backup_put_back_gives_the_old_firmware_and_keeps_the_card() {
    for (name, scope) in CARDS_AND_SCOPES {
        let bench = Bench::new(name);
        let before = bench.report();
        let backup = bench.save_here(scope);
        bench.update();
        assert_ne!(bench.report().firmware.stored, before.firmware.stored);
        let burned = bench.restore(&backup.path, OtherCard::Refuse).unwrap();
        assert_eq!(Some(burned.to), before.firmware.stored);
        bench.lab.reset().unwrap();
        let after = bench.report();
        assert_eq!(after.firmware.stored, before.firmware.stored, "{name}");
        assert_eq!(
            (
                after.base_mac,
                after.port_macs,
                after.base_guid,
                after.port_guids
            ),
            (
                before.base_mac,
                before.port_macs,
                before.base_guid,
                before.port_guids
            )
        );
        bench.assert_well_behaved();
    }
}

#[test]
fn another_cards_backup_is_refused_unless_told_and_never_takes_the_cards_addresses() {
    for name in CARDS {
        let theirs = Bench::with(name, |card| {
            card.mac = "0002c9aabbcc".parse().unwrap();
            card.guid = "0002c90300aabbcc".parse().unwrap();
            card.firmware.version.minor += 5;
        });
        let backup = theirs.save_here(Scope::InUse);
        let bench = Bench::new(name);
        let before = bench.report();
        let error = bench.restore(&backup.path, OtherCard::Refuse).unwrap_err();
        assert_eq!(error.reason(), "other_card");
        assert_eq!(
            error.to_string(),
            format!(
                "the backup is of the card with MAC 0002c9aabbcc, this is the card with MAC {}",
                bench.card.mac
            )
        );
        let burned = bench.restore(&backup.path, OtherCard::Allow).unwrap();
        assert_eq!(burned.to, theirs.card.firmware.version);
        bench.lab.reset().unwrap();
        let after = bench.report();
        assert_eq!(after.base_mac, before.base_mac, "{name}");
        assert_eq!(after.port_macs, before.port_macs, "{name}");
    }
}

#[test]
fn a_blank_card_gets_its_addresses_back_from_its_backup() {
    for (name, scope) in CARDS_AND_SCOPES {
        let bench = Bench::new(name);
        let before = bench.report();
        let backup = bench.save_here(scope);
        let chip = bench.lab.chip(name).unwrap();
        chip.write_flash(0, &vec![0xff; FLASH as usize]).unwrap();
        bench.lab.reset().unwrap();
        let error = bench.restore(&backup.path, OtherCard::Refuse).unwrap_err();
        assert_eq!(
            error.reason(),
            "other_card",
            "the card cannot say it is the one"
        );
        bench.restore(&backup.path, OtherCard::Allow).unwrap();
        bench.lab.reset().unwrap();
        let after = bench.report();
        assert!(!after.recovery, "{name}");
        assert_eq!(
            (
                after.psid,
                after.base_mac,
                after.port_macs,
                after.base_guid,
                after.port_guids
            ),
            (
                before.psid,
                before.base_mac,
                before.port_macs,
                before.base_guid,
                before.port_guids
            )
        );
        bench.assert_well_behaved();
    }
}

#[test]
fn files_that_are_no_backup_of_such_a_flash_are_refused() {
    let bench = Bench::new("cx5-recovery");
    let backup = bench.save_here(Scope::InUse);
    let mut bytes = std::fs::read(&backup.path).unwrap();
    let file = bench.dir.path().join("other.bin");
    let refusal = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        bench
            .restore(&file, OtherCard::Allow)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refusal(&bytes[..0x10_0000]),
        "the file is no backup of this card's flash: it has 0x100000 bytes, the flash 0x200000"
    );
    assert_eq!(
        refusal(&vec![0xff; FLASH as usize]),
        "there is no good image for this chip in the file: there was none on the flash it was copied \
         from, or it has changed since"
    );
    assert!(refusal(b"not a backup").contains("no backup"));
    bytes[0x7900] ^= 1;
    assert!(refusal(&bytes).starts_with("the image in the backup is not valid: "));
}

#[test]
fn a_file_is_never_replaced_and_none_is_left_half_done() {
    let bench = Bench::new("cx4lx");
    let path = bench.dir.path().join("mine.bin");
    std::fs::write(&path, "precious").unwrap();
    let to = Destination::File(&path);
    let error = bench
        .save((Scope::Whole, to), &Cancel::new(), &mut Vec::new())
        .unwrap_err();
    assert_eq!(error.reason(), "backup_exists");
    assert_eq!(std::fs::read(&path).unwrap(), b"precious");
    let cancel = Cancel::new();
    cancel.request();
    let folder = Destination::Folder(bench.dir.path());
    let error = bench
        .save((Scope::Whole, folder), &cancel, &mut Vec::new())
        .unwrap_err();
    assert!(error.is_interrupted());
    assert_eq!(files(bench.dir.path()), ["mine.bin"]);
    let nowhere = Destination::Folder(Path::new("/nonexistent/folder"));
    let error = bench
        .save((Scope::Whole, nowhere), &cancel, &mut Vec::new())
        .unwrap_err();
    assert!(error.to_string().starts_with("cannot "), "{error}");
}

#[test]
fn a_card_in_recovery_is_saved_as_it_is() {
    let bench = Bench::with("cx5-recovery", |card| card.recovery = true);
    let backup = bench.save_here(Scope::Whole);
    assert!(!backup.sound);
    assert_eq!(backup.owner.version, None);
    assert_eq!(backup.owner.mac, Some(bench.card.mac));
    assert!(std::fs::read(&backup.path).unwrap() == bench.flash());
}

#[test]
fn secure_firmware_lets_nothing_be_read() {
    let bench = Bench::new("cx6dx");
    let folder = Destination::Folder(bench.dir.path());
    let error = bench
        .save((Scope::Whole, folder), &Cancel::new(), &mut Vec::new())
        .unwrap_err();
    assert_eq!(error.reason(), "secure_firmware");
    assert!(files(bench.dir.path()).is_empty());
}

#[test]
fn what_is_in_use_is_read_once_and_checked_by_its_checksums() {
    for name in CARDS {
        let bench = Bench::new(name);
        let chip = bench.lab.chip(name).unwrap();
        chip.reset_counters().unwrap();
        let whole = bench.save_here(Scope::Whole);
        let cost_of_whole = chip.counters().config_reads;
        chip.reset_counters().unwrap();
        let mut events = Vec::new();
        let folder = (Scope::InUse, Destination::Folder(bench.dir.path()));
        let backup = bench.save(folder, &Cancel::new(), &mut events).unwrap();
        let cost = chip.counters().config_reads;
        assert!(backup.sound, "{name}");
        assert_eq!(backup.size, u64::from(FLASH));
        assert_eq!(backup.owner, whole.owner);
        let bytes = std::fs::read(&backup.path).unwrap();
        let flash = bench.flash();
        let differ = |(copy, there): (&u8, &u8)| copy != there && *copy != 0xff;
        assert!(!bytes.iter().zip(&flash).any(differ), "{name}");
        let verify = Event::PhaseDone {
            phase: Phase::Verify,
        };
        assert!(!events.contains(&verify), "read once: {name}");
        assert!(cost * 3 < cost_of_whole, "{name}: {cost} {cost_of_whole}");
        bench.assert_well_behaved();
    }
}

#[test]
fn a_flash_without_a_good_image_is_copied_whole_and_read_twice() {
    let bench = Bench::with("cx5-recovery", |card| card.recovery = true);
    let mut events = Vec::new();
    let folder = (Scope::InUse, Destination::Folder(bench.dir.path()));
    let backup = bench.save(folder, &Cancel::new(), &mut events).unwrap();
    assert!(!backup.sound);
    assert!(std::fs::read(&backup.path).unwrap() == bench.flash());
    assert!(events.contains(&Event::PhaseDone {
        phase: Phase::Verify
    }));
}

#[test]
fn a_wrong_checksum_on_the_flash_is_told_and_copied_as_it_is() {
    let bench = Bench::new("cx4lx");
    let mut flash = bench.flash();
    // a byte of code, which a query does not read
    let chip = bench.lab.chip("cx4lx").unwrap();
    flash[0x7900] ^= 1;
    chip.write_flash(0x7900, &flash[0x7900..0x7901]).unwrap();
    let backup = bench.save_here(Scope::InUse);
    assert!(!backup.sound);
    assert_eq!(std::fs::read(&backup.path).unwrap()[0x7900], flash[0x7900]);
}

#[test]
fn backups_of_the_same_second_get_names_of_their_own() {
    let bench = Bench::new("cx3-10g");
    let mut names: Vec<_> = (0..4).map(|_| bench.save_here(Scope::InUse).path).collect();
    names.dedup();
    assert_eq!(names.len(), 4);
    assert_eq!(files(bench.dir.path()).len(), 4);
}

#[test]
fn a_plan_of_a_restore_says_of_whom_it_is_and_writes_nothing() {
    let bench = Bench::new("cx5-recovery");
    let backup = bench.save_here(Scope::InUse);
    let bytes = std::fs::read(&backup.path).unwrap();
    let before = bench.flash();
    let planned = with_device(&bench.lab, |device, lock| {
        let options = BurnOptions::under(lock);
        plan_restore(device, (&bytes, OtherCard::Refuse), &options).unwrap()
    });
    assert_eq!(planned.backup, backup.owner);
    assert_eq!(planned.card, backup.owner);
    assert_eq!(planned.plan.to, bench.card.firmware.version);
    assert!(bench.flash() == before);
}
