//! The contents of a recording: its distinct lookups, how often each was asked, and what was left
//! out and why.
//!
//! Memory grows with the number of distinct lookups, never with repeats: the order of the lookups
//! is kept as a sample of bounded length.

use pathwalk::Access;

/// A call that looks up a name. Source: the man page of each call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum Call {
    /// `access(2)`
    Access,
    /// `faccessat(2)`
    Faccessat,
    /// `faccessat2(2)`
    Faccessat2,
    /// `stat(2)`
    Stat,
    /// `lstat(2)`
    Lstat,
    /// `fstatat(2)`
    Newfstatat,
    /// `statx(2)`
    Statx,
    /// `readlink(2)`
    Readlink,
    /// `readlinkat(2)`
    Readlinkat,
    /// `open(2)`
    Open,
    /// `openat(2)`
    Openat,
    /// `openat2(2)`
    Openat2,
    /// `execve(2)`
    Execve,
    /// `execveat(2)`
    Execveat,
    /// `chdir(2)`
    Chdir,
}

/// The ids whose permissions count. Source: `AT_EACCESS` in `faccessat2(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ids {
    /// The real ids, as for `access(2)`.
    Real,
    /// The effective ids.
    Effective,
}

/// The treatment of a link in the last component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Links {
    /// The link is followed.
    Follow,
    /// The question is about the link itself.
    Stay,
}

/// The question of a lookup. An open is an access by its mode. An execution is an access to execute
/// by the effective ids.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Question {
    /// The question whether an access is allowed.
    Access {
        /// The access; empty for mere existence.
        want: Access,
        /// The ids that count.
        ids: Ids,
        /// The treatment of a last link.
        links: Links,
    },
    /// The question whether the path leads to a directory, and whether an access to it is allowed
    /// by the effective ids. `chdir` asks it (to search), and so does an open with `O_DIRECTORY`.
    Directory {
        /// The access.
        want: Access,
        /// The treatment of a last link.
        links: Links,
    },
    /// The question for the attributes.
    Stat {
        /// The treatment of a last link.
        links: Links,
    },
    /// The question for the body of a link.
    Readlink,
}

/// The place where a lookup starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Start {
    /// The root: the path is absolute.
    Root,
    /// The directory with this number in [`Recording::starts`].
    Directory(u32),
}

/// One lookup.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lookup {
    /// The call that asked.
    pub call: Call,
    /// The question.
    pub question: Question,
    /// The place where the path starts.
    pub start: Start,
    /// The path as the program gave it: bytes without a NUL, possibly empty, possibly too long.
    pub path: Box<[u8]>,
}

/// The number of times that the program got each answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Answers {
    /// The number of successes.
    pub fine: u64,
    /// The number of `ENOENT`.
    pub absent: u64,
    /// The number of other errors.
    pub failed: u64,
    /// The number of answers that the recording does not contain.
    pub unknown: u64,
}

impl Answers {
    /// Returns the number of times that the lookup was asked.
    pub fn total(&self) -> u64 {
        self.fine + self.absent + self.failed + self.unknown
    }

    /// Adds the numbers of another lookup.
    pub(crate) fn add(&mut self, other: Answers) {
        self.fine += other.fine;
        self.absent += other.absent;
        self.failed += other.failed;
        self.unknown += other.unknown;
    }
}

/// A distinct lookup of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// The lookup.
    pub lookup: Lookup,
    /// The line on which it was first asked, from 1.
    pub line: u64,
    /// The answers that the program got.
    pub answers: Answers,
}

/// The reason why a lookup cannot be repeated, as far as the recording alone shows it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum LeftOut {
    /// A relative path in a directory that the recording does not contain.
    UnknownDirectory,
    /// A start in a directory that was removed.
    RemovedDirectory,
    /// A process that had changed its root, or its mounts.
    OtherRoot,
    /// A path that strace could not read, or that is cut off.
    UnknownPath,
    /// A call of `openat2` with resolve flags.
    ResolveFlags,
    /// A call on a name that is not one of [`Call`]: `statfs`, `getxattr`.
    OtherCall,
}

/// A line that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Unreadable {
    /// The line's number, from 1.
    pub line: u64,
    /// The line's beginning, escaped.
    pub text: String,
    /// A description of what is wrong with it.
    pub problem: &'static str,
}

/// The counters of a recording.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Tally {
    /// The number of lines.
    pub lines: u64,
    /// The number of bytes, unpacked.
    pub bytes: u64,
    /// The number of processes and threads that were seen.
    pub processes: u64,
    /// The number of lookups left out, by reason.
    pub left_out: std::collections::BTreeMap<LeftOut, u64>,
    /// The number of calls that change something, by name.
    pub changes: std::collections::BTreeMap<String, u64>,
    /// The number of lookups left out as [`LeftOut::OtherCall`], by the call's name.
    pub other_calls: std::collections::BTreeMap<String, u64>,
    /// The number of calls with an empty path on a descriptor alone, as `fstat` is made. They look
    /// up no name.
    pub no_name: u64,
    /// The number of lines that could not be read.
    pub unreadable: u64,
    /// The first unreadable lines.
    pub first_unreadable: Vec<Unreadable>,
    /// A description of what is wrong with a packed file that ends early. Everything before the end
    /// counts.
    pub cut_short: Option<String>,
}

/// A recording that was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    /// The distinct lookups, in the order of their first line.
    pub lookups: Vec<Recorded>,
    /// The directories in which relative paths start, as absolute paths.
    pub starts: Vec<Box<[u8]>>,
    /// Every [`stride`](Self::stride)-th lookup in the order in which they were asked, as places in
    /// [`lookups`](Self::lookups).
    pub sequence: Vec<u32>,
    /// The stride of [`sequence`](Self::sequence); 1 if that contains all lookups.
    pub stride: u64,
    /// The counters.
    pub tally: Tally,
}
