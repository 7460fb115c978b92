//! Comparison of mounts with the kernel's: a system of mounts against `mount(2)` and the related
//! calls.
//!
//! [`compare::sequence`] carries out random operations on two systems and compares each result, and
//! the whole of `mountinfo` after it. The first system leads: it gets each operation before the
//! kernel does, and skips those that would leave the directories of the comparison.

mod compare;
mod engine;
mod files;
mod kernel;
mod op;
mod system;

use std::time::{SystemTime, UNIX_EPOCH};

use compare::Tally;
use engine::Engine;
use kernel::Kernel;
use op::{Kind, Op, Spot, Umount};
use system::{Failure, Line, System, normalize};
use xtask::id_maps;

fn path(path: &str) -> Spot {
    Spot::Path(path.into())
}

fn lines(kernel: &mut Kernel) -> Vec<Line> {
    let mut lines = kernel.mountinfo();
    normalize(&mut lines);
    lines
}

/// Runs a test in a namespace of its own, or reports why there is none.
fn in_namespace(test: impl FnOnce(&mut Kernel) + Send + 'static) {
    let place = tempfile::tempdir().unwrap();
    let name = place.path().to_str().unwrap().to_string();
    let thread = std::thread::spawn(move || match Kernel::new(&name) {
        Ok(mut kernel) => test(&mut kernel),
        Err(failure) => println!("skipped: no namespace of mounts, {failure:?}"),
    });
    thread.join().unwrap();
}

#[test]
fn a_mount_propagates_to_a_peer_and_leaves_with_the_original() {
    in_namespace(|kernel| {
        kernel.run(&Op::Mount(path("/a"))).unwrap();
        let shared = Op::Propagation { at: path("/a"), kind: Kind::Shared, recursive: false };
        kernel.run(&shared).unwrap();
        let bind = Op::Bind { from: path("/a"), to: path("/b"), recursive: false };
        kernel.run(&bind).unwrap();
        kernel.run(&Op::Mount(path("/a/b"))).unwrap();
        let points: Vec<String> = lines(kernel).into_iter().map(|line| line.point).collect();
        assert_eq!(points, ["/", "/a", "/b", "/a/b", "/b/b"]);
        kernel.run(&Op::Umount(path("/b/b"), Umount::Plain)).unwrap();
        assert_eq!(lines(kernel).len(), 3);
    });
}

#[test]
fn what_is_not_held_open_is_skipped() {
    in_namespace(|kernel| {
        assert_eq!(kernel.run(&Op::Mount(Spot::Held(0))), Err(Failure::Skipped));
        kernel.run(&Op::Hold { from: "/a".into(), slot: 0 }).unwrap();
        assert_eq!(kernel.run(&Op::Mount(Spot::Held(0))), Ok(None));
        assert_eq!(lines(kernel)[1].point, "/a");
    });
}

#[test]
fn rights_through_mapped_mounts_are_the_kernels() {
    if let Err(why) = id_maps::namespaces() {
        return pathwalk_tests::skipped("rights through mapped mounts", why);
    }
    in_namespace(|kernel| {
        let (asked, stories) = files::table::compare(kernel);
        let (some, count) = (stories.iter().take(20).cloned().collect::<Vec<_>>().join("\n"), stories.len());
        assert!(stories.is_empty(), "{count} of {asked} answers differ\n{some}");
        println!("{asked} questions");
    });
}

/// The number of operations that are compared, unless `PATHWALK_MOUNT_OPS` sets another.
const OPS: u64 = 3_000;

/// Returns a number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Compares random sequences. `PATHWALK_MOUNT_SEED` sets the first seed; without it, the clock
/// does.
#[test]
fn the_engine_mounts_as_the_kernel_does() {
    let place = tempfile::tempdir().unwrap();
    let name = place.path().to_str().unwrap().to_string();
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_millis() as u64);
    let (first, ops) = (setting("PATHWALK_MOUNT_SEED").unwrap_or_else(clock), setting("PATHWALK_MOUNT_OPS").unwrap_or(OPS));
    let thread = std::thread::spawn(move || {
        let mut tally = Tally::default();
        let mut seed = first;
        while tally.compared < ops {
            let mut kernel = match Kernel::new(&name) {
                Ok(kernel) => kernel,
                Err(failure) => return println!("skipped: no namespace of mounts, {failure:?}"),
            };
            if let Err(story) = compare::sequence(seed, &mut Engine::new(), &mut kernel, &mut tally) {
                panic!("{story}");
            }
            seed += 1;
        }
        if let Err(why) = id_maps::namespaces() {
            pathwalk_tests::skipped("mapped mounts", why);
        }
        let Tally { compared, succeeded, most_mounts, by_name } = tally;
        println!("seeds {first} to {seed}: {compared} compared, {succeeded} succeeded, {most_mounts} mounts at most");
        by_name.iter().for_each(|(name, counts)| println!("{name}: {counts:?}"));
    });
    thread.join().unwrap();
}
