//! Tests that the budget holds while it is used up. This is the only test of its process, since
//! resident memory is a property of the process.

use pathwalk_bench::walktrees::trees::Trees;
use pathwalk_bench::walktrees::{Ask, Plan, Room, Subject, run};
use pathwalk_synthfs::Shape;

#[test]
fn the_budget_holds_while_eight_threads_evict() {
    const ENTRIES: u64 = 60_000;
    let plan = Plan {
        shape: Shape::new(8, 20, 500).unwrap(),
        room: Room::Entries(ENTRIES),
        subject: Subject::Trees { trees: Trees::Synth, ask: Ask::default() },
        rounds: 1,
    };
    let report = run(&plan, &mut |_, _, _| ()).unwrap();
    let memory = report.runs[0].memory.unwrap();
    assert!(memory.budget_held(), "{memory:?}");
    // These are samples: while slots change owners, one or another belongs to no thread.
    assert!(memory.peak_names >= ENTRIES - ENTRIES / 100, "{memory:?}");
    assert!(memory.bytes_per_cached_file().unwrap() <= 256.0, "{memory:?}");
}
