//! Lookups that fail or panic while other threads wait for them: the waiting threads wake and ask
//! again, and none takes the failure for an answer.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::explore;
use super::fs::{Fault, ROOT};
use super::world::{FILE, Hash, World};
use crate::Errno;

/// Returns the answer of a walk; `None` if it panicked.
fn ask(world: &World, path: &str) -> Option<Result<u64, Errno>> {
    catch_unwind(AssertUnwindSafe(|| world.ino(path))).ok()
}

fn check(hash: Hash, fault: Fault, name: &'static str, answer: Result<u64, Errno>) {
    let world = World::new(hash, |fs| {
        fs.plain(ROOT, "file", FILE);
        fs.fail_next(name, fault);
    });
    let path = format!("/{name}");
    let others = [(); 2].map(|()| {
        let path = path.clone();
        world.spawn(move |world| [(); 2].map(|()| ask(world, &path)))
    });
    let mut answers = vec![ask(&world, &path)];
    answers.extend(others.into_iter().flat_map(|other| other.join().unwrap()));
    let failed = if fault == Fault::Panic { None } else { Some(Err(Errno::EIO)) };
    assert_eq!(answers.iter().filter(|one| **one == failed).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|one| **one == Some(answer)).count(), answers.len() - 1, "{answers:?}");
    // Once for the failure, and once for all other threads.
    assert_eq!(world.fs.asked(name), 2);
    world.end();
}

#[test]
fn an_error_before_a_file() {
    explore(|hash| check(hash, Fault::Error, "file", Ok(2)));
}

#[test]
fn an_error_before_an_absence() {
    explore(|hash| check(hash, Fault::Error, "none", Err(Errno::ENOENT)));
}

/// Not run under shuttle, whose locks treat all threads as panicking while one is.
#[cfg(not(shuttle))]
#[test]
fn a_panic_before_a_file() {
    explore(|hash| check(hash, Fault::Panic, "file", Ok(2)));
}
