//! What is compared: a system that carries out operations and tells its mounts.

use std::collections::HashMap;

use super::files::Owner;
use super::op::Op;

/// What a file system with directories has.
pub(crate) const DIRECTORIES: [&str; 6] = ["a", "b", "a/a", "a/b", "b/a", "b/b"];

/// Why an operation did not succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Failure {
    Errno(i32),
    /// The operation makes no sense now, or would do what is not compared. Nothing was done.
    Skipped,
}

/// A line of `mountinfo`. Numbers are names: only which are equal matters, and the order of lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    pub(crate) id: u64,
    pub(crate) parent: u64,
    pub(crate) superblock: u64,
    pub(crate) root: String,
    pub(crate) point: String,
    /// As in [`Op::Attributes`].
    pub(crate) flags: u32,
    pub(crate) shared: Option<u64>,
    pub(crate) master: Option<u64>,
    pub(crate) propagate_from: Option<u64>,
    pub(crate) unbindable: bool,
    pub(crate) id_mapped: bool,
}

impl Line {
    /// Reads a line of `/proc/self/mountinfo`.
    pub(crate) fn parse(line: &str) -> Line {
        let fields: Vec<&str> = line.split(' ').collect();
        let (major, minor) = fields[2].split_once(':').expect("major:minor");
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let optional = |name: &str| {
            let field = fields[6..].iter().find_map(|field| field.strip_prefix(name))?;
            field.strip_prefix(':').map(number)
        };
        let options: Vec<&str> = fields[5].split(',').collect();
        let names = [("ro", 1), ("noexec", 2), ("nosymfollow", 4), ("nosuid", 8)];
        let flags = names.iter().filter(|(name, _)| options.contains(name)).map(|(_, bit)| bit).sum();
        Line {
            id: number(fields[0]),
            parent: number(fields[1]),
            superblock: number(major) << 32 | number(minor),
            root: fields[3].to_string(),
            point: fields[4].to_string(),
            flags,
            shared: optional("shared"),
            master: optional("master"),
            propagate_from: optional("propagate_from"),
            unbindable: fields[6..].contains(&"unbindable"),
            id_mapped: options.contains(&"idmapped"),
        }
    }
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
