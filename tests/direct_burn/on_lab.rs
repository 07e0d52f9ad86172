//! Direct burns of simulated cards, through the gateway and through the firmware.

use cxfw::card::CardReport;
use cxfw::flash::direct::{
    BurnError, BurnOptions, Plan, PsidChange, RecoveryIdentity, Through, burn, plan,
};
use cxfw::flash::{Activation, Boots, Burned, Cancel};
use cxfw::lab::Lab;
use cxfw::lab::build::build_image;
use cxfw::lab::chip::{Boot, Violations};
use cxfw::lab::host::HostSpec;
use cxfw::progress::Event;
use cxfw::version::FwVersion;

use crate::one_card::{self, newer, published, with_device};

/// The ConnectX-5 of the default host, which is in recovery there.
const CX5: &str = "cx5-recovery";

/// A lab of one card of the default host, with a small flash.
struct Bench {
    _dir: tempfile::TempDir,
    lab: Lab,
    host: HostSpec,
    name: &'static str,
}

impl Bench {
    fn new(name: &'static str) -> Self {
        Self::with(name, |_| ())
    }

    fn with(name: &'static str, change: impl FnOnce(&mut cxfw::lab::host::CardSpec)) -> Self {
        let host = one_card::host(name, change);
        let dir = tempfile::tempdir().unwrap();
        let lab = Lab::create(&dir.path().join("lab"), &host).unwrap();
        Self {
            _dir: dir,
            lab,
            host,
            name,
        }
    }

    fn report(&self) -> CardReport {
        one_card::survey(&self.lab).report
    }

    /// An image for the card's board.
    fn image(&self, version: FwVersion) -> Vec<u8> {
        published(&self.host.cards[0], version)
    }

    /// The next version of the card's firmware.
    fn newer(&self) -> FwVersion {
        newer(&self.host.cards[0], 1)
    }

    fn with_options<T>(
        &self,
        change: impl FnOnce(&mut BurnOptions<'_>),
        job: impl FnOnce(&cxfw::access::Device, &BurnOptions<'_>) -> T,
    ) -> T {
        with_device(&self.lab, |device, lock| {
            let mut options = BurnOptions::under(lock);
            change(&mut options);
            job(device, &options)
        })
    }

    fn burn(
        &self,
        image: &[u8],
        change: impl FnOnce(&mut BurnOptions<'_>),
    ) -> Result<Burned, Box<BurnError>> {
        self.with_options(change, |device, options| {
            burn(device, image, options, &Cancel::new(), &mut |_| ()).map_err(Box::new)
        })
    }

    fn plan(
        &self,
        image: &[u8],
        change: impl FnOnce(&mut BurnOptions<'_>),
    ) -> Result<Plan, Box<BurnError>> {
        self.with_options(change, |device, options| {
            plan(device, image, options).map_err(Box::new)
        })
    }

    /// The chip has seen nothing that a tool must never do.
    fn assert_well_behaved(&self) {
        let chip = self.lab.chip(self.name).unwrap();
        assert_eq!(chip.violations(), Violations::default());
    }

    /// The firmware that runs after a restart.
    fn restart(&self) -> FwVersion {
        self.lab.reset().unwrap();
        match self.lab.status().unwrap()[0].boot.clone() {
            Some(Boot::Running(running)) => {
                let [major, minor, subminor] = running.version;
                FwVersion::new(major, minor, subminor)
            }
            other => panic!("the card does not boot: {other:?}"),
        }
    }
}

fn through(way: Through) -> impl FnOnce(&mut BurnOptions<'_>) {
    move |options| options.through = way
}

/// What must be the same before and after.
fn identity(report: &CardReport) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        report.psid.clone(),
        report.base_mac,
        report.base_guid,
        report.port_macs,
        report.port_guids,
        report.original_base_mac,
        report.serial.clone(),
        report.part_number.clone(),
    )
}

#[test]
fn cards_of_every_generation_are_burned_in_every_way_and_stay_themselves() {
    let ways = [
        ("cx3-10g", Through::Auto),
        ("cx4lx", Through::Auto),
        ("cx4lx", Through::Gateway),
        (CX5, Through::Auto),
        (CX5, Through::Gateway),
    ];
    for (name, way) in ways {
        let bench = Bench::new(name);
        let before = bench.report();
        let new = bench.newer();
        let burned = bench.burn(&bench.image(new), through(way)).unwrap();
        assert_eq!(burned.to, new, "{name} {way:?}");
        assert_eq!(burned.from, before.firmware.stored);
        assert_eq!(bench.restart(), new, "{name} {way:?}");
        let after = bench.report();
        assert_eq!(after.firmware.stored, Some(new));
        assert_eq!(identity(&after), identity(&before), "{name} {way:?}");
        bench.assert_well_behaved();
        // and back, out of the other slot
        let old = before.firmware.stored.unwrap();
        bench.burn(&bench.image(old), through(way)).unwrap();
        assert_eq!(bench.restart(), old);
        assert_eq!(identity(&bench.report()), identity(&before));
        bench.assert_well_behaved();
    }
}

#[test]
fn the_way_is_chosen_by_whether_firmware_works_from_the_flash() {
    let route = |name, way| {
        let bench = Bench::new(name);
        let plan = bench
            .plan(&bench.image(bench.newer()), through(way))
            .unwrap();
        plan.route.to_string()
    };
    assert_eq!(
        route(CX5, Through::Auto),
        "through the running firmware (MFBA, MFBE), which works from the flash"
    );
    assert_eq!(
        route(CX5, Through::Gateway),
        "through the flash gateway, past the running firmware, which may hang"
    );
    assert_eq!(
        route("cx3-10g", Through::Auto),
        "through the flash gateway; no firmware works from the flash"
    );
    let bench = Bench::new("cx3-10g");
    let error = bench
        .plan(&bench.image(bench.newer()), through(Through::Firmware))
        .unwrap_err();
    assert_eq!(error.reason(), "no_firmware");
}

#[test]
fn an_activation_is_told_that_fits_the_way() {
    let activation = |name, way| {
        let bench = Bench::new(name);
        let burned = bench
            .burn(&bench.image(bench.newer()), through(way))
            .unwrap();
        burned.activation
    };
    assert_eq!(activation(CX5, Through::Auto), Activation::Reset);
    assert_eq!(activation(CX5, Through::Gateway), Activation::Reboot);
    assert_eq!(activation("cx3-10g", Through::Auto), Activation::Reboot);
}

#[test]
fn cards_in_recovery_are_burned_through_the_gateway_and_come_back() {
    for name in ["cx3-10g", "cx4lx", CX5] {
        let bench = Bench::with(name, |card| card.recovery = true);
        assert!(bench.report().recovery, "{name}");
        let new = bench.newer();
        let plan = bench.plan(&bench.image(new), |_| ()).unwrap();
        assert_eq!(
            plan.route.to_string(),
            "through the flash gateway; no firmware runs"
        );
        let burned = bench.burn(&bench.image(new), |_| ()).unwrap();
        assert_eq!(
            (burned.from, burned.activation),
            (None, Activation::ColdBoot)
        );
        assert_eq!(bench.restart(), new, "{name}");
        let report = bench.report();
        let spec = &bench.host.cards[0];
        let mac = report.base_mac.or(report.port_macs[0]);
        assert_eq!(mac, Some(spec.mac), "{name}");
        bench.assert_well_behaved();
    }
}

#[test]
fn a_blank_card_is_burned_with_the_addresses_on_its_label() {
    for name in ["cx3-10g", "cx4lx", CX5] {
        let bench = Bench::new(name);
        let chip = bench.lab.chip(name).unwrap();
        chip.write_flash(0, &vec![0xff; 0x20_0000]).unwrap();
        bench.lab.reset().unwrap();
        let image = bench.image(bench.newer());
        let error = bench.burn(&image, |_| ()).unwrap_err();
        assert_eq!(
            (error.reason(), error.boots),
            ("no_identity", Boots::Nothing)
        );
        let spec = &bench.host.cards[0];
        let identity = RecoveryIdentity::new(spec.guid, spec.mac);
        let told = |options: &mut BurnOptions<'_>| options.choices.identity = Some(identity);
        bench.burn(&image, told).unwrap();
        assert_eq!(bench.restart(), bench.newer(), "{name}");
        let report = bench.report();
        let mac = report.base_mac.or(report.port_macs[0]);
        assert_eq!(mac, Some(spec.mac), "{name}");
        assert_eq!(report.psid.as_ref(), Some(&spec.psid));
        bench.assert_well_behaved();
    }
}

#[test]
fn secure_firmware_is_left_alone_on_every_way() {
    let bench = Bench::with("cx6dx", |card| card.flash.slot_log2 = Some(19));
    let image = bench.image(bench.newer());
    for way in [Through::Auto, Through::Firmware, Through::Gateway] {
        let error = bench.burn(&image, through(way)).unwrap_err();
        assert_eq!(error.reason(), "secure_firmware", "{way:?}");
        assert!(error.is_refusal());
    }
    bench.assert_well_behaved();
}

#[test]
fn an_update_that_waits_for_its_restart_is_not_burned_over() {
    let bench = Bench::new("cx4lx");
    let first = bench.newer();
    bench.burn(&bench.image(first), |_| ()).unwrap();
    let second = FwVersion::new(first.major, first.minor + 1, 0);
    let error = bench.burn(&bench.image(second), |_| ()).unwrap_err();
    assert_eq!(error.reason(), "pending_activation");
    assert_eq!(bench.restart(), first);
    bench.burn(&bench.image(second), |_| ()).unwrap();
    assert_eq!(bench.restart(), second);
}

#[test]
fn another_boards_image_needs_its_own_consent() {
    let bench = Bench::new(CX5);
    let mut spec = bench.host.cards[0].image_spec().unwrap();
    spec.psid = "MT_9999999999".parse().unwrap();
    let image = build_image(&spec).unwrap();
    let error = bench.burn(&image, |_| ()).unwrap_err();
    assert_eq!(error.reason(), "psid_mismatch");
    let before = bench.report();
    bench
        .burn(&image, |options| {
            options.choices.psid_change = PsidChange::Allow;
        })
        .unwrap();
    bench.restart();
    let after = bench.report();
    assert_eq!(after.psid, Some(spec.psid));
    assert_eq!(after.base_mac, before.base_mac);
}

#[test]
fn a_burn_that_is_stopped_leaves_the_card_free_for_the_next() {
    let bench = Bench::new("cx4lx");
    let image = bench.image(bench.newer());
    for way in [Through::Auto, Through::Gateway] {
        let cancel = Cancel::new();
        let error = bench
            .with_options(through(way), |device, options| {
                let mut sink = |event| {
                    if let Event::Progress { .. } = event {
                        cancel.request();
                    }
                };
                burn(device, &image, options, &cancel, &mut sink)
            })
            .unwrap_err();
        assert!(error.is_interrupted(), "{error}");
        assert!(matches!(error.boots, Boots::Old(Some(_))));
    }
    bench.burn(&image, through(Through::Gateway)).unwrap();
    assert_eq!(bench.restart(), bench.newer());
    bench.assert_well_behaved();
}
