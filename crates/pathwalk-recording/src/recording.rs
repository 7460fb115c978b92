//! What a recording comes to: its distinct lookups, how often each was asked, and what was left out and why.
//!
//! Memory grows with what is distinct, never with repeats: the order of the lookups is kept as a sample of bounded length.

use pathwalk::Access;

/// A call that looks up a name. Source: the man page of each.
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

/// Whose rights count. Source: `AT_EACCESS` in `faccessat2(2)`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ids {
    /// The real ids, as `access(2)` has it.
    Real,
    /// The effective ids.
    Effective,
}

/// What becomes of a link in the last component.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Links {
    /// It is followed.
    Follow,
    /// It is what is asked about.
    Stay,
}

/// What was asked. An open is asked as an access by its mode, an execution as an access to execute by the effective ids.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Question {
    /// May this be done?
    Access {
        /// What; empty for mere existence.
        want: Access,
        /// By whom.
        ids: Ids,
        /// The last link.
        links: Links,
    },
    /// Is it a directory, and may this be done with it? As `chdir` asks (to search), and an open with `O_DIRECTORY`. By the effective ids.
    Directory {
        /// What.
        want: Access,
        /// The last link.
        links: Links,
    },
    /// What are its attributes?
    Stat {
        /// The last link.
        links: Links,
    },
    /// Where does the link lead?
    Readlink,
}

/// Where a lookup starts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Start {
    /// At the root: the path is absolute.
    Root,
    /// In the directory of this number in [`Recording::starts`].
    Directory(u32),
}

/// One lookup.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Lookup {
    /// The call that asked.
    pub call: Call,
    /// What it asked.
    pub question: Question,
    /// From where.
    pub start: Start,
    /// The path as the program gave it: bytes without a NUL, maybe empty, maybe too long.
    pub path: Box<[u8]>,
}

/// How often the program got which answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Answers {
    /// It was there, and allowed.
    pub fine: u64,
    /// `ENOENT`.
    pub absent: u64,
    /// Any other errno.
    pub failed: u64,
    /// The recording does not say.
    pub unknown: u64,
}

impl Answers {
    /// How often it was asked.
    pub fn total(&self) -> u64 {
        self.fine + self.absent + self.failed + self.unknown
    }

    /// Adds those of another.
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
    /// What was looked up.
    pub lookup: Lookup,
    /// The line on which it was first asked, from 1.
    pub line: u64,
    /// What the program was told.
    pub answers: Answers,
}

/// Why a lookup cannot be asked again, known from the recording alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum LeftOut {
    /// A relative path in a directory that the recording does not tell.
    UnknownDirectory,
    /// The directory it starts in was removed.
    RemovedDirectory,
    /// The process had changed its root, or its mounts.
    OtherRoot,
    /// The path was not readable for strace, or cut off.
    UnknownPath,
    /// `openat2` with resolve flags.
    ResolveFlags,
    /// A call on a name that is not one of [`Call`]: `statfs`, `getxattr`.
    OtherCall,
}

/// A line that could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    /// Its number, from 1.
    pub line: u64,
    /// Its beginning, escaped.
    pub text: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// What is counted besides.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Lines, and bytes (uncompressed).
    pub lines: u64,
    /// Bytes, uncompressed.
    pub bytes: u64,
    /// Processes and threads that were seen.
    pub processes: u64,
    /// Lookups left out, by reason.
    pub left_out: std::collections::BTreeMap<LeftOut, u64>,
    /// Calls that change something, by name.
    pub changes: std::collections::BTreeMap<String, u64>,
    /// Lookups that are left out as [`LeftOut::OtherCall`], by the call's name.
    pub other_calls: std::collections::BTreeMap<String, u64>,
    /// Calls with an empty path on a descriptor alone, as `fstat` is made: no name is looked up.
    pub no_name: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// The first of them.
    pub first_unreadable: Vec<Unreadable>,
    /// What is wrong with a packed file that ends early. All that came before the end counts.
    pub cut_short: Option<String>,
}

/// What was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recording {
    /// Distinct lookups, in the order of their first line.
    pub lookups: Vec<Recorded>,
    /// Directories in which relative paths start, absolute.
    pub starts: Vec<Box<[u8]>>,
    /// Every [`stride`](Self::stride)-th lookup in the order in which they were asked, as places in [`lookups`](Self::lookups).
    pub sequence: Vec<u32>,
    /// See [`sequence`](Self::sequence); 1 if it has all.
    pub stride: u64,
    /// What is counted besides.
    pub tally: Tally,
}
