use super::client::{CR, ICMD};
use super::*;
use crate::image::marker::MARKER_A;

#[test]
fn an_erased_flash_leads_to_recovery() {
    let card = Card::blank(chip_spec(CONNECTX_4_LX));
    assert_eq!(card.chip.boot().unwrap(), Boot::Recovery);
    let client = card.client();
    assert_eq!(client.config(0), 0x020b_15b3, "the hardware id as PCI id");
    assert_eq!(client.config(8) >> 8, 0x05_8000);
    assert_eq!(client.config(0x2c), 0x020b_15b3);
    assert_eq!(client.config(0x0c) & 0x80_0000, 0);
    let other = Client::new(card.chip.function(1).unwrap());
    assert_eq!(other.config(0), u32::MAX);
    other.set_config(4, 0);
    assert_eq!(card.chip.status().unwrap(), Some(Boot::Recovery));
}

#[test]
fn in_recovery_there_is_cr_space_but_no_icmd() {
    let card = Card::blank(chip_spec(CONNECTX_4_LX));
    card.chip.boot().unwrap();
    let client = card.client();
    client.lock();
    let present: Vec<u32> = (0..0x10).filter(|&space| client.select(space)).collect();
    assert_eq!(present, [1, 2, 7, 0xa]);
    client.set_config(super::client::ADDRESS, 0);
    client.unlock();
    assert!(!present.contains(&ICMD));
    assert_eq!(client.read(CR, 0xf_0014), 0x20b);
    assert_eq!(client.read(CR, 0xb_0004) >> 31, 1, "configuration not done");
    assert_eq!(client.read(CR, 0xf_0408), 0, "nothing runs from flash");
    assert_eq!(client.config(0x48), 0, "no VPD");
}

#[test]
fn the_lowest_good_image_boots() {
    for hw_id in [CONNECTX_4_LX, CONNECTX_5, CONNECTX_3] {
        let card = Card::blank(chip_spec(hw_id));
        let new = image_spec(hw_id, "2.42.5000");
        let old = image_spec(hw_id, "2.40.1000");
        card.program(&old, Slot::Second);
        let slot = 1 << old.slot_log2;
        assert_eq!(card.reboot().start, slot);
        card.program(&new, Slot::First);
        let running = card.reboot();
        assert_eq!((running.start, running.version), (0, [2, 42, 5000]));
        // one wrong bit in the middle of it
        let middle = running.size / 2;
        let byte = card.chip.read_flash(middle, 1).unwrap()[0];
        card.chip.write_flash(middle, &[byte ^ 1]).unwrap();
        assert_eq!(card.reboot().version, [2, 40, 1000]);
        card.chip.write_flash(slot, &[0; 4]).unwrap();
        assert_eq!(card.chip.boot().unwrap(), Boot::Recovery);
    }
}

#[test]
fn a_rom_that_stops_at_the_first_pattern_boots_nothing_else() {
    for hw_id in [CONNECTX_4_LX, CONNECTX_5, CONNECTX_3] {
        let mut spec = chip_spec(hw_id);
        spec.boot_rule = BootRule::FirstPattern;
        let card = Card::blank(spec);
        let old = image_spec(hw_id, "2.40.1000");
        let slot = 1 << old.slot_log2;
        card.program(&old, Slot::Second);
        assert_eq!(card.reboot().start, slot, "the only pattern");
        card.program(&image_spec(hw_id, "2.42.5000"), Slot::First);
        assert_eq!(card.reboot().start, 0);
        let byte = card.chip.read_flash(0x1000, 1).unwrap()[0];
        card.chip.write_flash(0x1000, &[byte ^ 1]).unwrap();
        assert_eq!(card.chip.boot().unwrap(), Boot::Recovery);
        card.chip.write_flash(0, &[0; 4]).unwrap();
        assert_eq!(card.reboot().start, slot, "a broken pattern is none");
    }
}

#[test]
fn an_image_for_another_chip_does_not_boot() {
    let card = Card::blank(chip_spec(CONNECTX_4_LX));
    card.program(&image_spec(0x209, "12.28.2006"), Slot::First);
    assert_eq!(card.chip.boot().unwrap(), Boot::Recovery);
    card.chip.write_flash(0, &MARKER_A).unwrap();
    assert_eq!(card.chip.boot().unwrap(), Boot::Recovery);
}

#[test]
fn firmware_goes_on_as_it_booted_while_the_flash_changes() {
    let card = connectx_4_lx();
    let before = card.running();
    card.chip.write_flash(0, &[0; 0x2000]).unwrap();
    assert_eq!(card.running(), before);
    let mgir = card
        .client()
        .ask(&crate::registers::Mgir::default())
        .unwrap();
    assert_eq!(mgir.fw_version().unwrap().to_string(), "14.25.1020");
    assert_eq!(card.chip.boot().unwrap(), Boot::Recovery);
}

#[test]
fn an_image_that_fills_several_start_positions_boots() {
    let mut image = image_spec(CONNECTX_4_LX, "14.25.1020");
    image.code_size = 0x28_0000;
    let card = Card::with(chip_spec(CONNECTX_4_LX), &image);
    assert!(card.running().size > 0x28_0000);
}

#[test]
fn a_boot_clears_semaphores_and_keeps_the_counters() {
    let card = connectx_4_lx();
    let client = card.client();
    client.lock();
    let before = card.chip.counters();
    card.reboot();
    client.lock();
    assert!(card.chip.counters().config_reads > before.config_reads);
}

#[test]
fn state_that_cannot_be_understood_is_refused_by_name() {
    let card = connectx_4_lx();
    std::fs::write(card.dir.path().join("boot.json"), "{").unwrap();
    let error = card.chip.status().unwrap_err().to_string();
    assert!(error.contains("boot.json"), "{error}");
    let mgir = card.client().ask(&crate::registers::Mgir::default());
    assert_eq!(mgir, Err(8), "firmware that does not know itself");
    let cells = card.dir.path().join("chip.bin");
    std::fs::write(&cells, vec![0xee; 0x2000]).unwrap();
    std::fs::OpenOptions::new()
        .write(true)
        .open(&cells)
        .unwrap()
        .set_len(0x1000)
        .unwrap();
    let error = Chip::open(card.dir.path(), &card.spec)
        .unwrap_err()
        .to_string();
    assert!(error.contains("chip.bin"), "{error}");
}
