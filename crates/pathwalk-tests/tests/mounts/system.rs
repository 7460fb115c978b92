//! What is compared: a system that carries out operations and tells its mounts.

use std::collections::HashMap;

use super::files::Owner;
use super::op::Op;
pub(crate) use pathwalk_tests::mounts::Line;

/// What a file system with directories has.
pub(crate) const DIRECTORIES: [&str; 6] = ["a", "b", "a/a", "a/b", "b/a", "b/b"];

/// Why an operation did not succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    Errno(i32),
    /// The operation makes no sense now, or would do what is not compared. Nothing was done.
    Skipped,
}

/// A system of mounts with one caller.
///
/// A new one has a namespace, number 0 of the caller's, whose root mount carries a file system with
/// directories, which is the caller's root. Each file system with directories has `a`, `b`, `a/a`,
/// `a/b`, `b/a` and `b/b`, and the file `f`. The caller's working directory is its root.
pub(crate) trait System {
    /// Carries out an operation; returns what a file is, where it was asked. A system that leads
    /// decides what is skipped; the one that follows is not asked for it.
    fn run(&mut self, op: &Op) -> Result<Option<Owner>, Failure>;

    /// The mounts of the caller's namespace below the caller's root.
    fn mountinfo(&mut self) -> Vec<Line>;
}

/// Renames numbers by their first appearance.
pub(crate) fn normalize(lines: &mut [Line]) {
    fn rename(names: &mut HashMap<u64, u64>, number: &mut u64) {
        let next = names.len() as u64;
        *number = *names.entry(*number).or_insert(next);
    }
    let mut mounts = HashMap::new();
    let mut superblocks = HashMap::new();
    let mut groups = HashMap::new();
    for line in lines {
        rename(&mut mounts, &mut line.id);
        rename(&mut mounts, &mut line.parent);
        rename(&mut superblocks, &mut line.superblock);
        for group in [&mut line.shared, &mut line.master, &mut line.propagate_from] {
            group.iter_mut().for_each(|group| rename(&mut groups, group));
        }
    }
}
