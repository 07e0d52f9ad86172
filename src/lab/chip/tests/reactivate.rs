use super::updater::Update;
use super::*;
use crate::registers::Mirc;
use crate::registers::mcc::Instruction;
use crate::registers::mirc::Status;

#[test]
fn a_staged_update_can_be_taken_back_and_followed_by_another() {
    let card = connectx_4_lx();
    let flash = card.chip.read_flash(0, 0x1000).unwrap();
    let client = card.client();
    let status = client.tell(&Mirc::default()).unwrap().status_code;
    assert_eq!(status, Status::AlreadyActivated);
    let first = component(&image_spec(CONNECTX_4_LX, "14.32.1010"));
    let second = component(&image_spec(CONNECTX_4_LX, "14.32.1020"));
    Update::locked(&card).burn(&first);
    assert_ne!(card.chip.read_flash(0, 0x1000).unwrap(), flash);
    assert_eq!(
        client.tell(&Mirc::default()).unwrap().status_code,
        Status::Ok
    );
    assert_eq!(
        client.ask(&Mirc::default()).unwrap().status_code,
        Status::Ok
    );
    assert_eq!(card.chip.read_flash(0, 0x1000).unwrap(), flash);
    assert_eq!(card.reboot().version, [14, 25, 1020]);
    Update::locked(&card).burn(&second);
    assert_eq!(card.reboot().version, [14, 32, 1020]);
    card.assert_no_violation();
}

#[test]
fn after_reactivation_an_update_is_possible_without_a_reset() {
    let card = connectx_5();
    let image = component(&image_spec(CONNECTX_5, "16.35.1012"));
    Update::locked(&card).burn(&image);
    card.client().tell(&Mirc::default()).unwrap();
    let update = Update::locked(&card);
    update.burn(&image);
    assert!(update.tell(Instruction::Cancel, 0).is_err());
    assert_eq!(card.reboot().version, [16, 35, 1012]);
}
