//! A wrong bit now and then on reading: the burn reads again and ends well.

use crate::bench::{Bench, Command, ConnectX3, ConnectX5, Lx, Recovery};

#[test]
fn a_burn_reads_again_what_read_wrong_and_says_so() {
    for way in [ConnectX3, Lx, ConnectX5, Recovery] {
        for command in [Command::Direct, Command::Restore] {
            let bench = Bench::new(way);
            let before = bench.identity();
            bench.break_card("bit-errors --every 500");
            let ran = bench.run(command);
            assert_eq!(ran.code, Some(0), "{way:?} {command:?}: {ran:?}");
            bench.lab.assert_well_behaved();
            bench.break_card("--clear");
            bench.assert_runs_new();
            if way != Recovery {
                assert_eq!(bench.identity(), before, "{way:?}");
            }
        }
    }
}
