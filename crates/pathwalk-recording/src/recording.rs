//! The contents of a recording: its distinct lookups, how often each was asked, and what was left
//! out and why.
//!
//! Memory grows with the number of distinct lookups, never with repeats: the order of the lookups
//! is kept as a sample of bounded length.

use pathwalk::Access;

/// A call that looks up a name. Source: the man page of each call.
///
/// [`Recording`] has an example.
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
///
/// [`Recording`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Ids {
    /// The real ids, as for `access(2)`.
    Real,
    /// The effective ids.
    Effective,
}

/// The treatment of a link in the last component.
///
/// [`Recording`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Links {
    /// The link is followed.
    Follow,
    /// The question is about the link itself.
    Stay,
}

/// The question of a lookup. An open is an access by its mode. An execution is an access to execute
/// by the effective ids.
///
/// [`Recording`] has an example.
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
///
/// [`Recording`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Start {
    /// The root: the path is absolute.
    Root,
    /// The directory with this number in [`Recording::starts`].
    Directory(u32),
}

/// One lookup.
///
/// [`Recording`] has an example.
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
///
/// [`Recording`] has an example.
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
    ///
    /// [`Recording`] has an example.
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
///
/// [`Recording`] has an example.
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
///
/// [`Recording`] has an example.
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
///
/// [`Recording`] has an example.
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
///
/// [`Recording`] has an example.
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
///
/// ```
/// use pathwalk_recording::{Answers, Call, Ids, LeftOut, Links, Options, Question, Recording, Start};
/// let text = br#"12 access("/etc/hosts", R_OK) = 0
/// 12 lstat("/etc/hosts", {st_mode=S_IFREG|0644, st_size=9, ...}) = 0
/// 12 access("/etc/hosts", R_OK) = 0
/// 12 access("relative", R_OK) = -1 ENOENT (No such file or directory)
/// 12 getxattr("/etc/hosts", "user.x", NULL, 0) = -1 ENODATA (No data available)
/// "#;
/// let recording = Recording::read(&text[..], Options::default())?;
/// let first = &recording.lookups[0];
/// assert_eq!((first.line, first.lookup.call, first.lookup.start), (1, Call::Access, Start::Root));
/// assert_eq!((&*first.lookup.path, first.answers.total()), (&b"/etc/hosts"[..], 2));
/// assert!(matches!(first.lookup.question, Question::Access { ids: Ids::Real, links: Links::Follow, .. }));
/// assert!(matches!(recording.lookups[1].lookup.question, Question::Stat { links: Links::Stay }));
/// assert_eq!(first.answers, Answers { fine: 2, ..Answers::default() });
/// assert_eq!(recording.tally.left_out[&LeftOut::UnknownDirectory], 1);
/// assert_eq!((recording.tally.other_calls["getxattr"], recording.tally.unreadable), (1, 0));
///
/// // The directory of the first process makes relative paths known.
/// let options = Options { cwd: Some("/home".into()), ..Options::default() };
/// assert!(Recording::read(&text[..], options)?.tally.left_out.get(&LeftOut::UnknownDirectory).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
