//! A program: settings, and steps with an actor each. It has a text form with one step a line.
//!
//! ```text
//! settings PROTECT_SYMLINKS+OBSERVE
//! root mkdir "a" 0755
//! user open 0 "a/b" CREATE+WRITE 0644
//! ```
//!
//! Empty lines and lines that begin with a `#` are ignored.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use bitflags::bitflags;
use pathwalk::MountFlags;

use crate::cast::{self, Actor};
use crate::op::Op;
use crate::words::{Words, read_flags, write_flags};

bitflags! {
    /// The settings of a whole program.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub(crate) struct Settings: u32 {
        /// The switch `protected_symlinks`.
        const PROTECT_SYMLINKS = 1;
        /// The switch `protected_hardlinks`.
        const PROTECT_HARDLINKS = 2;
        /// A look at the named nodes after each operation.
        const OBSERVE = 4;
        /// The rule that the actor of the step looks, and not root.
        const OBSERVE_AS_ACTOR = 8;
        /// The engine's file system requires that names are revalidated before each use.
        const ASK_NAMES = 16;
        /// The engine's file system requires the same of absent names.
        const ASK_ABSENCE = 32;
        /// The engine's file system checks permissions itself.
        const OWN_RULE = 64;
        /// The engine's file system gives the bodies of links on request only.
        const BODIES_ON_REQUEST = 128;
        /// The engine's file system does not report whether there is an ACL.
        const ACL_UNKNOWN = 256;
        /// The engine's caches have room for few entries.
        const SMALL_BUDGET = 512;
        /// The last step runs on a read-only mount, with no file open. The model has no mounts.
        const READ_ONLY = 1024;
        /// The engine's invalidation or eviction of cached entries before each step, although
        /// nothing changed.
        const FORGETFUL = 2048;
        /// The engine has no memo of whole paths. Without a setting it has one that learns each
        /// path that is walked.
        const NO_MEMO = 1 << 13;
        /// The engine has a memo with room for two entries.
        const SMALL_MEMO = 1 << 14;
        /// The engine has a memo with room for all paths.
        const LARGE_MEMO = 1 << 15;
        /// The memo learns at its normal pace: some of the paths that are walked again.
        const PACED_MEMO = 1 << 16;
        /// The memo learns the directory of each path that is walked, and no path.
        const DIRECTORIES_MEMO = 1 << 17;
        /// The mount has accesses to nodes stored as `relatime` says. Without this setting and the
        /// next one, the mount is `noatime`. Nothing looks at nodes but the steps themselves.
        const RELATIME = 1 << 18;
        /// The mount has each access stored.
        const STRICTATIME = 1 << 19;
        /// The mount has no access to a directory stored.
        const NODIRATIME = 1 << 20;
        /// The engine's file system requires that attributes are asked for at each use.
        const ASK_ATTRIBUTES = 1 << 21;
        /// Branches are rebased before each fork of them and before each commit.
        const REBASES = 1 << 22;
        /// The file system has room for few nodes.
        const FEW_NODES = 1 << 24;
        /// The file system has room for few pages.
        const FEW_PAGES = 1 << 25;
        /// A look at the whole tree and at all open files after each operation.
        const WATCH = 4096;
        /// The engine's file system pauses around each call.
        const LATE = 1 << 27;
        /// The engine has the smallest budget that it accepts.
        const LEAST_BUDGET = 1 << 28;
        /// The engine is called through its caches alone, and through a context where they have no
        /// answer.
        const BY_CACHED = 1 << 29;
        /// The engine is called through a ring.
        const BY_RING = 1 << 30;
        /// The engine is called through futures.
        const BY_ASYNC = 1 << 31;
    }
}

impl Settings {
    /// The settings that select a face.
    pub(crate) const FACES: Settings = Settings::BY_CACHED.union(Settings::BY_RING).union(Settings::BY_ASYNC);

    /// The settings under which accesses are stored.
    pub(crate) const ACCESSES: Settings = Settings::RELATIME.union(Settings::STRICTATIME);

    /// Returns the flags of the mount that concern the times of accesses.
    pub(crate) fn of_accesses(self) -> MountFlags {
        let rule = match () {
            () if self.contains(Settings::STRICTATIME) => MountFlags::STRICTATIME,
            () if self.contains(Settings::RELATIME) => MountFlags::RELATIME,
            () => MountFlags::NOATIME,
        };
        rule | if self.contains(Settings::NODIRATIME) { MountFlags::NODIRATIME } else { MountFlags::empty() }
    }
}

/// One operation and its actor.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Step {
    pub(crate) actor: Actor,
    pub(crate) op: Op,
}

/// The steps under one mount, by processes that begin at the root.
pub(crate) struct Act<'a> {
    pub(crate) mount: MountFlags,
    pub(crate) steps: &'a [Step],
}

/// Settings and steps.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Program {
    pub(crate) settings: Settings,
    pub(crate) steps: Vec<Step>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = format!("{} ", self.actor.name());
        self.op.write(&mut line);
        f.write_str(&line)
    }
}

impl FromStr for Step {
    type Err = anyhow::Error;

    fn from_str(line: &str) -> Result<Step> {
        let mut words = Words::of(line);
        let actor = cast::called(words.word()?)?;
        let op = Op::read(&mut words)?;
        words.end()?;
        Ok(Step { actor, op })
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut settings = String::new();
        write_flags(&self.settings, &mut settings);
        writeln!(f, "settings {settings}")?;
        self.steps.iter().try_for_each(|step| writeln!(f, "{step}"))
    }
}

impl FromStr for Program {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Program> {
        let mut program = Program::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            program.take(line).with_context(|| format!("line {}: `{line}`", index + 1))?;
        }
        if program.steps.is_empty() {
            bail!("the program has no steps: give at least one line such as `root mkdir \"a\" 0755`");
        }
        Ok(program)
    }
}

/// The limits of nodes, and of pages of 4,096 bytes, in programs with little room.
const FEW_NODES: u64 = 24;
const FEW_PAGES: u64 = 8;

/// The number of pages of 4,096 bytes in other programs: 1 GiB, so that copies of holes end.
pub(crate) const MANY_PAGES: u64 = 1 << 18;

impl Settings {
    /// Returns the limits of nodes and of pages.
    pub(crate) fn limits(self) -> [Option<u64>; 2] {
        let limit = |flag, few| self.contains(flag).then_some(few);
        [limit(Settings::FEW_NODES, FEW_NODES), limit(Settings::FEW_PAGES, FEW_PAGES)]
    }
}

impl Program {
    /// Returns the acts: the steps between one mount and the next. Each act but the first begins
    /// with the step that mounts; in a program with `READ_ONLY`, the last step is an act of its
    /// own.
    pub(crate) fn acts(&self) -> Vec<Act<'_>> {
        let mut acts = vec![Act { mount: MountFlags::empty(), steps: &[] }];
        let mut from = 0;
        for (index, step) in self.steps.iter().enumerate() {
            let is_last = index + 1 == self.steps.len();
            let mount = match step.op {
                Op::Mount { flags } => Some(flags),
                _ if is_last && self.settings.contains(Settings::READ_ONLY) => Some(MountFlags::READ_ONLY),
                _ => None,
            };
            if let Some(mount) = mount {
                from = index;
                acts.push(Act { mount, steps: &[] });
            }
            if let Some(act) = acts.last_mut() {
                act.steps = &self.steps[from..=index];
            }
        }
        acts
    }

    /// Returns whether a step changes the tree of mounts.
    pub(crate) fn changes_mounts(&self) -> bool {
        self.steps.iter().any(|step| step.op.changes_mounts())
    }

    fn take(&mut self, line: &str) -> Result<()> {
        match line.strip_prefix("settings ") {
            Some(flags) => self.settings = read_flags(flags.trim())?,
            None => self.steps.push(line.parse()?),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate;

    #[test]
    fn what_is_written_is_read_again() {
        for seed in 0..50 {
            let program = generate::program(seed, 200, generate::Files::Any);
            let text = program.to_string();
            assert_eq!(text.parse::<Program>().expect("it was written by us"), program, "{text}");
        }
    }

    #[test]
    fn nonsense_is_refused_with_its_line() {
        for text in ["", "root fly", "nobody2 unlink \"a\"", "root unlink a", "root unlink \"a\" b", "settings NONE"] {
            assert!(text.parse::<Program>().is_err(), "{text}");
        }
    }
}
