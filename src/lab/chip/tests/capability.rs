use super::client::{ADDRESS, CONTROL, COUNTER, CR, DATA, ICMD, SEMAPHORE, SEMAPHORES};
use super::*;

/// Capability ids and offsets in the order of the list.
fn capabilities(client: &Client) -> Vec<(u8, u16)> {
    let mut list = Vec::new();
    let mut offset = client.config(0x34) & 0xff;
    while offset != 0 && list.len() < 16 {
        let at = u16::try_from(offset).unwrap();
        let dword = client.config(at);
        list.push((dword.to_le_bytes()[0], at));
        offset = (dword >> 8) & 0xff;
    }
    list
}

#[test]
fn a_function_shows_its_ids_and_capabilities() {
    let card = connectx_4_lx();
    let client = card.client();
    assert_eq!(client.config(0), 0x1015_15b3);
    assert_eq!(client.config(8), 0x0200_0000);
    assert_eq!(client.config(0x2c), 0x0003_15b3);
    assert_eq!(client.config(4), 0x0010_0406);
    let ids: Vec<u8> = capabilities(&client).iter().map(|&(id, _)| id).collect();
    assert_eq!(ids, [0x10, 0x03, 0x11, 0x09, 0x01]);
    // function 0 of two
    assert_eq!(client.config(0x0c) & 0x80_0000, 0x80_0000);
    assert_eq!(client.config(0x100), 0);
    assert_eq!(client.config(0xffc), 0);
}

#[test]
fn only_writable_dwords_take_a_write() {
    let card = connectx_4_lx();
    let client = card.client();
    for offset in [0, 8, 0x10, 0x2c, 0x34, 0xc0] {
        let before = client.config(offset);
        client.set_config(offset, 0xffff_ffff);
        assert_eq!(client.config(offset), before);
    }
    client.set_config(4, 0x0000_0002);
    assert_eq!(client.config(4), 0x0010_0002);
    let other = Client::new(card.chip.function(1).unwrap());
    assert_eq!(other.config(4), 0x0010_0406);
    assert!(card.chip.function(2).is_none());
}

#[test]
fn offsets_that_are_no_dword_are_refused_by_name() {
    let card = connectx_4_lx();
    let function = card.chip.function(1).unwrap();
    let error = function.read(0x1002).unwrap_err().to_string();
    assert!(
        error.starts_with("0000:03:00.1: read of config dword 0x1002"),
        "{error}"
    );
    assert!(function.write(0x1000, 0).is_err());
}

#[test]
fn the_link_is_what_the_capability_says() {
    let mut spec = chip_spec(CONNECTX_4_LX);
    spec.link = LinkSpec {
        generation: 2,
        width: 4,
        max_generation: 3,
        max_width: 8,
    };
    let card = Card::with(spec, &image_spec(CONNECTX_4_LX, "14.25.1020"));
    let client = card.client();
    assert_eq!(client.config(0x6c) & 0x3ff, 0x83);
    assert_eq!(client.config(0x70) >> 16, 0x42);
}

#[test]
fn vpd_is_read_dword_by_dword() {
    let card = connectx_4_lx();
    let client = card.client();
    let vpd = card.spec.vpd.encode();
    let mut read = Vec::new();
    for address in (0..vpd.len()).step_by(4) {
        client.set_config(0x48, u32::try_from(address).unwrap() << 16);
        assert_eq!(client.config(0x48) >> 31, 1, "flag");
        assert_eq!(client.config(0x48) & 0xff, 0x03);
        read.extend(client.config(0x4c).to_le_bytes());
    }
    assert_eq!(read, vpd);
}

#[test]
fn spaces_are_probed_by_their_status() {
    let card = connectx_4_lx();
    let client = card.client();
    client.lock();
    let present: Vec<u32> = (0..0x110).filter(|&space| client.select(space)).collect();
    client.unlock();
    assert_eq!(present, [1, 2, 3, 4, 5, 6, 7, 0xa, 0xf]);
    card.assert_no_violation();
}

#[test]
fn only_a_ticket_that_was_handed_out_takes_the_semaphore() {
    let card = connectx_4_lx();
    let client = card.client();
    let ticket = client.config(COUNTER);
    assert!(
        client.config(COUNTER) > ticket,
        "every read is a new ticket"
    );
    client.set_config(SEMAPHORE, ticket + 100);
    assert_eq!(client.config(SEMAPHORE), 0);
    assert_eq!(card.chip.violations().ticket_never_issued, 1);
    client.set_config(SEMAPHORE, ticket);
    client.set_config(SEMAPHORE, ticket + 1);
    assert_eq!(client.config(SEMAPHORE), ticket, "taken by the first");
    client.unlock();
    assert_eq!(client.config(SEMAPHORE), 0);
}

#[test]
fn access_without_the_semaphore_is_noticed() {
    let card = connectx_4_lx();
    let client = card.client();
    client.set_config(CONTROL, CR);
    client.set_config(ADDRESS, 0xf_0014);
    assert_eq!(client.config(DATA), 0x20b);
    assert_eq!(card.chip.violations().no_capability_semaphore, 2);
}

#[test]
fn an_address_outside_the_space_raises_the_syndrome_until_the_next_access() {
    let card = connectx_4_lx();
    let client = card.client();
    client.lock();
    assert!(client.select(SEMAPHORES));
    client.set_config(ADDRESS, 0x10_0000);
    assert_eq!(client.config(ADDRESS), 0xc010_0000);
    assert_eq!((client.config(CONTROL) >> 24) & 0xf, 3);
    assert_eq!(client.get(0), 0);
    assert_eq!((client.config(CONTROL) >> 24) & 0xf, 0);
    client.set_config(ADDRESS, 0x8000_0400);
    assert_eq!(client.config(ADDRESS), 0x4000_0400);
    client.unlock();
}

#[test]
fn scanning_moves_on_by_itself() {
    let card = connectx_4_lx();
    let client = card.client();
    client.lock();
    assert!(client.select(7));
    client.set_config(ADDRESS, 0xf_0014);
    assert_eq!(client.config(ADDRESS), 0x800f_0018);
    assert_eq!(client.config(DATA), 0x20b);
    client.unlock();
}

#[test]
fn a_semaphore_of_the_chip_takes_the_first_token() {
    let card = connectx_4_lx();
    let client = card.client();
    for address in [0, 0x10] {
        client.write(SEMAPHORES, address, 77);
        client.write(SEMAPHORES, address, 88);
        assert_eq!(client.read(SEMAPHORES, address), 77);
        client.write(SEMAPHORES, address, 0);
        assert_eq!(client.read(SEMAPHORES, address), 0);
    }
}

#[test]
fn cr_space_tells_the_chip_and_keeps_what_can_be_written() {
    let card = connectx_5();
    let client = card.client();
    assert_eq!(client.read(CR, 0xf_0014), 0x20d);
    client.write(CR, 0xf_0014, 0);
    assert_eq!(client.read(CR, 0xf_0014), 0x20d);
    client.write(CR, 0xf_00c0, 0x80_0000);
    assert_eq!(client.read(CR, 0xf_00c0), 0x80_0000);
    client.write(CR, 0xf_0204, 2);
    assert_eq!(client.read(CR, 0xf_0204), 2);
    assert_eq!(client.read(CR, 0xb_5e04) >> 31, 0, "configuration done");
    assert_ne!(client.read(CR, 0xf_0408), 0, "firmware runs from flash");
    let known = card.chip.counters();
    assert_eq!(known.unknown_cr_accesses, 0);
    assert_eq!(client.read(CR, 0x12_3458), 0);
    client.write(CR, 0x12_3458, 1);
    assert_eq!(card.chip.counters().unknown_cr_accesses, 2);
    card.assert_no_violation();
}

#[test]
fn boot_address_of_old_chips_is_shifted() {
    let card = connectx_4_lx();
    let client = card.client();
    client.write(CR, 0xf_0000, 0x80_0000 << 8);
    assert_eq!(client.read(CR, 0xf_0000), 0x8000_0000);
}

#[test]
fn a_secure_card_says_so_in_its_life_cycle() {
    assert_eq!(connectx_6_dx().client().read(CR, 0xf_0068) & 3, 1);
}

#[test]
fn a_chip_that_never_booted_does_not_answer() {
    let card = Card::blank(chip_spec(CONNECTX_4_LX));
    assert_eq!(card.client().config(0), u32::MAX);
    assert_eq!(card.chip.status().unwrap(), None);
}

#[test]
fn cycles_are_counted() {
    let card = connectx_4_lx();
    card.chip.reset_counters().unwrap();
    let client = card.client();
    assert_eq!(client.read(CR, 0xf_0014), 0x20b);
    let counters = card.chip.counters();
    // semaphore 4 and release, space 3, address, flag, data
    assert_eq!((counters.config_reads, counters.config_writes), (7, 4));
}

#[test]
fn a_slow_bus_can_be_asked_for() {
    let mut spec = chip_spec(CONNECTX_4_LX);
    spec.cycle_delay_ns = 1_000_000;
    let card = Card::with(spec, &image_spec(CONNECTX_4_LX, "14.25.1020"));
    let start = std::time::Instant::now();
    card.client().read(CR, 0xf_0014);
    assert!(start.elapsed() >= std::time::Duration::from_millis(11));
}

#[test]
fn specs_that_describe_no_chip_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refuse = |change: fn(&mut ChipSpec)| {
        let mut spec = chip_spec(CONNECTX_4_LX);
        change(&mut spec);
        Chip::open(dir.path(), &spec).unwrap_err().to_string()
    };
    let unknown = refuse(|spec| spec.hw_id = 0x999);
    assert!(unknown.contains("0x999"), "{unknown}");
    let functions = refuse(|spec| spec.functions.clear());
    assert!(functions.contains("not 0"), "{functions}");
    let address = refuse(|spec| spec.functions[0].address = "nowhere".to_owned());
    assert!(address.contains("nowhere"), "{address}");
    let flash = refuse(|spec| spec.flash_size = 1000);
    assert!(flash.contains("0x3e8"), "{flash}");
}

#[test]
fn icmd_refuses_what_it_does_not_know() {
    let card = connectx_4_lx();
    let client = card.client();
    client.write(SEMAPHORES, 0, 1);
    client.lock();
    assert!(client.select(ICMD));
    assert_eq!(client.get(0x1000), 0x340);
    client.put(0, (0x8400 << 16) | 1);
    // a command under way cannot be disturbed
    client.put(0, 0);
    assert_eq!(client.get(0) & 1, 1);
    assert_eq!(client.get(0), (0x8400 << 16) | (1 << 8), "invalid opcode");
    client.unlock();
    card.assert_no_violation();
}

#[test]
fn a_command_without_the_icmd_semaphore_is_noticed() {
    let card = connectx_4_lx();
    let client = card.client();
    client.write(ICMD, 0, (0x9001 << 16) | 1);
    assert_eq!(card.chip.violations().no_icmd_semaphore, 1);
    assert_eq!(card.chip.counters().icmd_commands, 1);
}
