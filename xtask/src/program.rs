//! A program: settings, and steps that each somebody takes. It can be written down, one step a line, and read again.
//!
//! ```text
//! settings PROTECT_SYMLINKS+OBSERVE
//! root mkdir "a" 0755
//! user open 0 "a/b" CREATE+WRITE 0644
//! ```
//!
//! Empty lines and what is behind a `#` at the beginning of a line do not count.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use bitflags::bitflags;
use pathwalk::MountFlags;

use crate::cast::{self, Actor};
use crate::op::Op;
use crate::words::{Words, read_flags, write_flags};

bitflags! {
    /// What holds for the whole of a program.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub(crate) struct Settings: u32 {
        /// `protected_symlinks`
        const PROTECT_SYMLINKS = 1;
        /// `protected_hardlinks`
        const PROTECT_HARDLINKS = 2;
        /// After each operation, look at what it named.
        const OBSERVE = 4;
        /// Whoever does it looks, and not root.
        const OBSERVE_AS_ACTOR = 8;
        /// The engine's file system wants to be asked about names before each use.
        const ASK_NAMES = 16;
        /// The same of names that are not there.
        const ASK_ABSENCE = 32;
        /// It checks permissions itself.
        const OWN_RULE = 64;
        /// It gives the bodies of links on request only.
        const BODIES_ON_REQUEST = 128;
        /// It does not say whether there is an ACL.
        const ACL_UNKNOWN = 256;
        /// The engine has room for few entries.
        const SMALL_BUDGET = 512;
        /// The last step finds the mount read-only, and nothing open. The model has no mounts.
        const READ_ONLY = 1024;
        /// The engine is told before each step that what it has cached may have changed, or drops it, though nothing did.
        const FORGETFUL = 2048;
        /// The engine has no memo of whole paths. Else it has one that learns each path that is walked.
        const NO_MEMO = 1 << 13;
        /// It has one with room for two.
        const SMALL_MEMO = 1 << 14;
        /// It has one with room for all.
        const LARGE_MEMO = 1 << 15;
        /// It learns as it does for users: some of what is asked again.
        const PACED_MEMO = 1 << 16;
        /// It learns the directory of each path that is walked, and no path.
        const DIRECTORIES_MEMO = 1 << 17;
        /// There is room for few nodes.
        const FEW_NODES = 1 << 24;
        /// There is room for few pages.
        const FEW_PAGES = 1 << 25;
        /// After each operation, look at the whole tree and at all that is open.
        const WATCH = 4096;
        /// The engine's file system lets others go first.
        const LATE = 1 << 27;
        /// The engine has the least room that it takes.
        const LEAST_BUDGET = 1 << 28;
        /// The engine is asked by its caches alone, and where they do not know, as ever.
        const BY_CACHED = 1 << 29;
        /// The engine is asked by a ring.
        const BY_RING = 1 << 30;
        /// The engine is asked by futures.
        const BY_ASYNC = 1 << 31;
    }
}

impl Settings {
    /// How the engine is asked.
    pub(crate) const FACES: Settings = Settings::BY_CACHED.union(Settings::BY_RING).union(Settings::BY_ASYNC);
}

/// One operation, and who does it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Step {
    pub(crate) actor: Actor,
    pub(crate) op: Op,
}

/// What is done under one mount, by processes that begin at the root.
pub(crate) struct Act<'a> {
    pub(crate) mount: MountFlags,
    pub(crate) steps: &'a [Step],
}

/// A program.
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

/// Room for nodes, and for pages of 4,096 bytes, where there is little.
const FEW_NODES: u64 = 24;
const FEW_PAGES: u64 = 8;

impl Settings {
    /// How many nodes there may be, and pages.
    pub(crate) fn limits(self) -> [Option<u64>; 2] {
        let limit = |flag, few| self.contains(flag).then_some(few);
        [limit(Settings::FEW_NODES, FEW_NODES), limit(Settings::FEW_PAGES, FEW_PAGES)]
    }
}

impl Program {
    /// Returns what is done between one mount and the next: each act but the first begins with the
    /// step that mounts, or is the last step of a program that says so.
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

    /// Tells whether a step changes the tree of mounts.
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
