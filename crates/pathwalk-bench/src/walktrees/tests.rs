//! Tests with small trees, walked whole.

use std::path::Path;

use pathwalk::HandOver;
use pathwalk_synthfs::Shape;

use super::trees::{Trees, make};
use super::{Ask, Peer, Plan, Probe, Report, Room, Run, Subject, Which, Who, run};

const OURS: Who = Who::Pathwalk;

fn plan(shape: (u32, u32, u32), room: Room, trees: Trees) -> Plan {
    let subject = Subject::Trees { trees, ask: Ask::ForSiblings };
    Plan { shape: Shape::new(shape.0, shape.1, shape.2).unwrap(), room, subject, rounds: 1 }
}

/// Returns a plan for inode caches alone.
fn compared(room: Room, caches: &[Who], rounds: u32) -> Plan {
    let subject = Subject::Nodes(caches.to_vec());
    Plan { shape: Shape::new(3, 4, 50).unwrap(), room, subject, rounds }
}

fn walked(plan: &Plan) -> Report {
    let mut last = 0;
    let report = run(plan, &mut |_, _, done| {
        assert!(done >= last, "progress never goes back");
        last = done;
    });
    let report = report.unwrap_or_else(|error| panic!("{error}: {}", std::error::Error::source(&error).unwrap()));
    assert_eq!(last, plan.lookups());
    report
}

/// Returns the errors that a run ends with, in one line.
fn refused(plan: &Plan) -> String {
    let error = run(plan, &mut |_, _, _| ()).unwrap_err();
    format!("{error}: {}", std::error::Error::source(&error).unwrap())
}

fn made(dir: &Path, shape: (u32, u32, u32)) -> Trees {
    make(dir, Shape::new(shape.0, shape.1, shape.2).unwrap(), &mut |_| ()).unwrap();
    Trees::Host(dir.to_owned())
}

fn check_times(run: &Run) {
    for which in Which::BOTH {
        let pass = run.pass(which);
        assert!(pass.seconds > 0.0 && pass.files_per_second() > 0.0 && pass.used.user >= 0.0 && pass.used.system >= 0.0);
    }
}

#[test]
fn with_room_for_all_the_second_pass_asks_nobody() {
    let report = walked(&plan((3, 4, 50), Room::All, Trees::Synth));
    let [run] = &report.runs[..] else { panic!("{report:?}") };
    check_times(run);
    assert_eq!((run.who, run.first.files, run.repeated.files), (OURS, 600, 600));
    let (first, repeated) = (run.first.served.unwrap(), run.repeated.served.unwrap());
    assert_eq!(first.fs_lookups, 600 + 12 + 3);
    assert_eq!(first.lock_free, 0, "every file was a miss");
    assert_eq!(first.hand_overs[HandOver::Miss as usize], 600);
    assert_eq!((repeated.fs_lookups, repeated.lock_free, repeated.evictions), (0, 600, 0));
    let memory = run.memory.unwrap();
    assert_eq!((memory.names, memory.inodes), (616, 616));
    assert!(memory.capacity >= 616 && memory.looks >= 2, "{memory:?}");
    assert!(report.notes.is_empty());
}

#[test]
fn all_first_probes_find_the_same() {
    let caches = [
        Who::Inodes(Probe::LockFree),
        Who::Inodes(Probe::Locked),
        Who::Inodes(Probe::Global),
        Who::Peer(Peer::QuickCache),
        Who::Peer(Peer::DashMap),
    ];
    // With room for 100 of the 600 inodes, most are evicted before they are looked up again.
    for room in [Room::All, Room::Entries(100)] {
        let report = walked(&compared(room, &caches, 2));
        let of = |round: u32| report.runs.iter().filter(move |run| run.round == round).map(|run| run.who);
        assert!(of(0).eq(caches), "{report:?}");
        assert!(of(1).eq(caches.iter().copied().cycle().skip(1).take(caches.len())), "{report:?}");
        report.runs.iter().for_each(check_times);
        assert!(report.runs.iter().all(|run| run.first.files == 600 && run.memory.is_none()));
        let [first, last] = [caches[0], caches[4]];
        assert!(report.ratio(last, first, Which::First).unwrap().median > 0.0);
    }
}

#[test]
fn room_that_an_inode_cache_cannot_have_is_refused() {
    let refused = |room| refused(&compared(room, &[Who::Inodes(Probe::Locked)], 1));
    assert!(refused(Room::Bytes(1 << 20)).contains("not of bytes"));
    assert!(refused(Room::Entries(1 << 31)).contains("room for 2147483648 inodes"));
    assert!(refused(Room::Entries(0)).contains("room for 0 inodes"));
}

#[test]
fn without_room_for_all_it_evicts_within_its_budget() {
    let report = walked(&plan((2, 10, 400), Room::Entries(1000), Trees::Synth));
    let run = &report.runs[0];
    let memory = run.memory.unwrap();
    assert!((1000..1010).contains(&memory.capacity) && memory.peak_names <= memory.capacity, "{memory:?}");
    let evictions = run.first.served.unwrap().evictions + run.repeated.served.unwrap().evictions;
    assert!(evictions >= 2 * 8000 - 1010, "{evictions}");
}

#[test]
fn the_kernel_walks_beside_it_and_turns_change() {
    let dir = tempfile::tempdir().unwrap();
    let trees = made(dir.path(), (2, 3, 20));
    let plan = Plan { rounds: 2, ..plan((2, 3, 20), Room::All, trees) };
    let report = walked(&plan);
    let order: Vec<_> = report.runs.iter().map(|run| (run.who, run.round)).collect();
    assert_eq!(order, [(Who::Kernel, 0), (OURS, 0), (OURS, 1), (Who::Kernel, 1)]);
    report.runs.iter().for_each(check_times);
    assert!(report.runs.iter().all(|run| run.memory.is_some() == (run.who == OURS)));
    for which in Which::BOTH {
        assert!(report.ratio(OURS, Who::Kernel, which).unwrap().median > 0.0);
        assert_eq!(report.ratio(Who::Kernel, Who::Kernel, which).unwrap().median, 1.0);
    }
    assert!(report.ratio(OURS, Who::Inodes(Probe::Global), Which::First).is_none());
    assert!(report.notes.len() <= 1, "at most that the caches could not be dropped");
}

#[test]
fn directories_are_asked_for_as_a_whole_unless_one_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let trees = made(dir.path(), (2, 3, 20));
    let around = plan((2, 3, 20), Room::All, trees.clone());
    let one_by_one = Plan { subject: Subject::Trees { trees, ask: Ask::OneByOne }, ..around.clone() };
    let first = |plan: &Plan| walked(plan).runs.iter().find_map(|run| run.first.served).expect("ours");
    let (around, one_by_one) = (first(&around), first(&one_by_one));
    assert_eq!((one_by_one.fs_lookups, one_by_one.siblings), (128, 0));
    assert_eq!(around.fs_lookups + around.siblings, 128);
    // Where this process may not list a directory without a trace, all names are looked up one by
    // one.
    assert!(around.siblings == 0 || around.lock_free >= 60, "{around:?}");
}

#[test]
fn what_cannot_be_walked_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let trees = made(dir.path(), (1, 2, 3));
    let says = refused(&plan((1, 2, 4), Room::All, trees.clone()));
    assert!(says.contains("t0/d1/f3") && says.contains("--make") && says.contains("No such file"), "{says}");
    std::fs::remove_file(dir.path().join("t0/d1/f1")).unwrap();
    let says = refused(&plan((1, 2, 3), Room::All, trees.clone()));
    assert!(says.contains("/t0/d1/f1") && says.contains("stat(2)"), "{says}");
    assert!(refused(&plan((1, 0, 1), Room::All, trees.clone())).contains("there are none"));
    assert!(refused(&plan((1, 1, 1), Room::All, Trees::Host("/no/such/dir".into()))).contains("/no/such/dir"));
    assert!(refused(&plan((1, 1, 1), Room::Bytes(7), Trees::Synth)).contains("7 bytes"));
    assert!(refused(&plan((1, 1, 1), Room::Bytes(u64::MAX), Trees::Synth)).contains("too large"));
}

#[test]
fn answers_that_change_are_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let trees = made(dir.path(), (1, 1, 2));
    let names = ["a", "t0/d0/f0"].map(|name| dir.path().join(name));
    std::fs::write(&names[0], "").unwrap();
    let mut moved = false;
    let mut swap = |who, which, _| {
        if (who, which, moved) == (Who::Kernel, Which::Repeated, false) {
            std::fs::rename(&names[0], &names[1]).unwrap();
            moved = true;
        }
    };
    let error = run(&plan((1, 1, 2), Room::All, trees), &mut swap).unwrap_err().to_string();
    assert!(error.contains("checking the answers"), "{error}");
}
