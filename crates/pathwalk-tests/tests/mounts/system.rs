//! A system under comparison: it carries out operations and lists its mounts.

use std::collections::HashMap;

use super::files::Owner;
use super::op::Op;
pub(crate) use pathwalk_tests::mounts::Line;

/// The directories of a file system with directories.
pub(crate) const DIRECTORIES: [&str; 6] = ["a", "b", "a/a", "a/b", "b/a", "b/b"];

/// The reason why an operation did not succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    Errno(i32),
    /// The operation makes no sense now, or its result cannot be compared. It was not carried out.
    Skipped,
}

/// A system of mounts with one caller.
///
/// A new one has a namespace, number 0 of the caller's. The namespace's root mount carries a file
/// system with directories, which is the caller's root. Each file system with directories has `a`,
/// `b`, `a/a`, `a/b`, `b/a` and `b/b`, and the file `f`. The caller's working directory is its
/// root.
pub(crate) trait System {
    /// Carries out an operation; returns a file's attributes if the operation asks for them. The
    /// leading system decides what is skipped; a skipped operation does not reach the following
    /// one.
    fn run(&mut self, op: &Op) -> Result<Option<Owner>, Failure>;

    /// Returns the mounts of the caller's namespace below the caller's root.
    fn mountinfo(&mut self) -> Vec<Line>;
}

/// Replaces numbers by the order of their first appearance.
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
