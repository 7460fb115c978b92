//! A hit stores nothing: with all slots and tables made read-only, a compiler's lookups are still answered, and rightly.
//!
//! Each case runs in a forked child. It protects every range that the engine says its caches lie in, rounded outward to whole pages, and
//! then does one thing. Asking what is cached must end well; controls that store into the first or the last word of a range, or that
//! ask what is not cached, must die of `SIGSEGV`. A last control shows that without protection the same stores are harmless, so that it
//! is the protection that kills.
//!
//! Rounding outward may take in neighbours on the heap. That is sound, and only makes the proof stricter, because a child writes to no
//! heap: it neither allocates nor frees, which it must not anyway, since the process that it was forked from has other threads.

use std::error::Error;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pathwalk::{Access, At, Attributes, Context, Credentials, Errno, MountFlags, Vfs, VfsBuilder, internals};
use pathwalk_bench::trace::{Question, Trace};
use pathwalk_memfs::MemFs;
use pathwalk_tests::tree::gcc_tree;

/// Paths that cross four mounts, down and up.
const CROSSINGS: [&[u8]; 2] = [b"/m/m/m/m/f", b"/m/m/m/m/../../../../m/m/m/m/f"];

/// So few that a way through them is remembered.
const FEW_CROSSINGS: [&[u8]; 2] = [b"/m/m/f", b"/m/m/../../m/f"];

/// A child that is not done by then hangs, which is a failure.
const MOST_SECONDS: u32 = 60;

/// What a child ends with.
mod end {
    pub(crate) const WELL: i32 = 0;
    pub(crate) const WRONG_ANSWER: i32 = 10;
    pub(crate) const NOT_PROTECTED: i32 = 11;
    pub(crate) const PANIC: i32 = 12;
}

/// How a child ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    Exit(i32),
    Signal(i32),
}

/// A first and one past the last address.
type Range = (usize, usize);

/// Caches that hold all that will be asked, with the marks of a hit on it.
struct Warm {
    context: Context,
    questions: Vec<Question>,
    answers: Vec<Result<(), Errno>>,
    /// All paths, and what they are at once.
    paths: Vec<Box<[u8]>>,
    at_once: Vec<Result<Attributes, Errno>>,
    ranges: Vec<Range>,
}

impl Warm {
    /// Whole paths are not learned: that stores.
    fn new(who: Credentials) -> Result<Warm, Box<dyn Error>> {
        Warm::built(internals::learning_never(Vfs::builder()), who, &CROSSINGS)
    }

    fn built(builder: VfsBuilder, who: Credentials, crossings: &[&[u8]]) -> Result<Warm, Box<dyn Error>> {
        let fs = MemFs::new();
        gcc_tree()?.lay_into(&fs)?;
        fs.mkdir("/m", 0o755)?;
        fs.file("/private", 0o600)?;
        let vfs = builder.build(fs)?;
        let root = vfs.context(Credentials::root());
        for at in ["/m", "/m/m", "/m/m/m", "/m/m/m/m"] {
            let on = MemFs::new();
            on.mkdir("/m", 0o755)?;
            on.file("/f", 0o644)?;
            root.mount(on, At::Cwd, at, MountFlags::empty())?;
        }
        let context = vfs.context(who);
        let mut questions = Trace::gcc().questions().to_vec();
        // Not for everyone: its inode is looked at.
        questions.extend(crossings.iter().chain([&&b"/private"[..]]).map(|path| Question {
            line: 0,
            path: (*path).into(),
            want: Access::READ,
        }));
        let ask = || questions.iter().map(|question| context.access(&question.path[..], question.want)).collect::<Vec<_>>();
        // The first pass fills the caches, the second leaves the marks, and the third finds what was learned.
        let answers = ask();
        assert_eq!(ask(), answers);
        assert_eq!(ask(), answers);
        assert_eq!(answers.iter().filter(|answer| **answer == Err(Errno::ENOENT)).count(), 118);
        let paths: Vec<Box<[u8]>> = questions.iter().map(|question| question.path.clone()).collect();
        let at_once = Vec::new();
        let mut ranges = [internals::memory_ranges(&vfs), internals::mount_ranges(&vfs)].concat();
        // A memo that is off has none.
        ranges.retain(|(start, end)| start != end);
        assert!(!ranges.is_empty() && ranges.iter().all(|(start, end)| start < end));
        Ok(Warm { context, questions, answers, paths, at_once, ranges })
    }

    /// Asks everything once more.
    fn still_right(&self) -> i32 {
        let right = |(question, answer): (&Question, &Result<(), Errno>)| {
            self.context.access(&question.path[..], question.want) == *answer
        };
        if self.questions.iter().zip(&self.answers).all(right) { end::WELL } else { end::WRONG_ANSWER }
    }

    /// Asks for everything at once.
    fn still_right_at_once(&self) -> i32 {
        let exists = self.context.access_many(&self.paths, Access::empty());
        let same = exists.zip(&self.at_once).all(|(found, then)| found.is_ok() == then.is_ok());
        self.context.prefetch(self.paths.iter().map(|path| (At::Cwd, path)));
        let again = self.context.stat_many(&self.paths).eq(self.at_once.iter().copied());
        if same && again { end::WELL } else { end::WRONG_ANSWER }
    }

    /// Whether all pages of all ranges are read-only from now on.
    fn protect(&self) -> bool {
        self.ranges.iter().all(|range| protect(*range).is_ok())
    }

    /// How a child ends that protects the ranges and then does this.
    fn protected_child(&self, act: impl FnOnce() -> i32) -> io::Result<Ended> {
        child(|| if self.protect() { act() } else { end::NOT_PROTECTED })
    }

    /// The first and the last word of each range.
    fn ends(&self) -> impl Iterator<Item = usize> {
        self.ranges.iter().flat_map(|(start, end)| [*start, end - size_of::<u32>()])
    }
}

/// Makes pages read-only: those of the range, whole.
fn protect((start, end): Range) -> io::Result<()> {
    // SAFETY: `sysconf` only answers.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(io::Error::other)?;
    let first = start / page * page;
    let length = end.next_multiple_of(page) - first;
    // SAFETY: the pages are mapped, since the range is; taking the right to write away makes a store fault, which is what the
    // child is there for.
    let done = unsafe { libc::mprotect(std::ptr::without_provenance_mut(first), length, libc::PROT_READ) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Stores what is there already.
fn store(address: usize) -> i32 {
    let word = std::ptr::with_exposed_provenance_mut::<u32>(address);
    // SAFETY: the address is aligned and within memory that the engine holds, and this process has one thread; whether it may be written
    // is the question.
    unsafe { word.write_volatile(word.read_volatile()) };
    end::WELL
}

/// Forks; the child ends with what `act` returns.
fn child(act: impl FnOnce() -> i32) -> io::Result<Ended> {
    // SAFETY: the child neither allocates nor takes a lock before it ends: see the head of this file.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: dying of a signal is expected of many children, so they leave no core behind and run no handler; `_exit` runs
            // nothing of the parent's.
            unsafe {
                libc::prctl(libc::PR_SET_DUMPABLE, 0);
                libc::signal(libc::SIGSEGV, libc::SIG_DFL);
                libc::alarm(MOST_SECONDS);
                libc::_exit(catch_unwind(AssertUnwindSafe(act)).unwrap_or(end::PANIC))
            }
        }
        pid => wait(pid),
    }
}

fn wait(pid: libc::pid_t) -> io::Result<Ended> {
    let mut status = 0;
    // SAFETY: it is this process's child, and nobody else waits for it.
    while unsafe { libc::waitpid(pid, &raw mut status, 0) } != pid {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    Ok(if libc::WIFSIGNALED(status) { Ended::Signal(libc::WTERMSIG(status)) } else { Ended::Exit(libc::WEXITSTATUS(status)) })
}

fn stores_nothing(warm: &Warm) -> Result<(), Box<dyn Error>> {
    assert_eq!(warm.protected_child(|| warm.still_right())?, Ended::Exit(end::WELL));
    Ok(())
}

#[test]
fn cached_lookups_store_nothing() -> Result<(), Box<dyn Error>> {
    for who in [Credentials::root(), Credentials::user(1000, 1000, &[])] {
        stores_nothing(&Warm::new(who.clone())?)?;
        stores_nothing(&Warm::built(Vfs::builder().whole_paths(0), who, &CROSSINGS)?)?;
    }
    Ok(())
}

/// From the memo of whole paths, and from the directories that it knows.
#[test]
fn remembered_lookups_store_nothing() -> Result<(), Box<dyn Error>> {
    for learning in [internals::learning_at_once, internals::directories_learned_at_once] {
        for who in [Credentials::root(), Credentials::user(1000, 1000, &[])] {
            let warm = Warm::built(learning(Vfs::builder()), who, &FEW_CROSSINGS)?;
            assert!(warm.context.vfs().stats().whole_paths.used > 0);
            stores_nothing(&warm)?;
        }
    }
    Ok(())
}

#[test]
fn many_cached_lookups_at_once_store_nothing() -> Result<(), Box<dyn Error>> {
    for who in [Credentials::root(), Credentials::user(1000, 1000, &[])] {
        let mut warm = Warm::new(who)?;
        // The directories on the way have no mark, and get none.
        let read_ahead = || warm.context.prefetch(warm.paths.iter().map(|path| (At::Cwd, path)));
        assert_eq!(warm.protected_child(|| (read_ahead(), end::WELL).1)?, Ended::Exit(end::WELL));
        warm.at_once = warm.context.stat_many(&warm.paths).collect();
        let before = warm.context.vfs().stats().hand_overs;
        assert_eq!(warm.still_right_at_once(), end::WELL);
        assert_eq!(warm.context.vfs().stats().hand_overs, before, "all is cached");
        assert_eq!(warm.protected_child(|| warm.still_right_at_once())?, Ended::Exit(end::WELL));
    }
    Ok(())
}

#[test]
fn a_store_anywhere_in_the_caches_is_deadly() -> Result<(), Box<dyn Error>> {
    let warm = Warm::new(Credentials::root())?;
    for address in warm.ends() {
        let ended = warm.protected_child(|| store(address))?;
        assert_eq!(ended, Ended::Signal(libc::SIGSEGV), "a store to {address:#x} of {:x?}", warm.ranges);
        assert_eq!(child(|| store(address))?, Ended::Exit(end::WELL), "without protection");
    }
    Ok(())
}

#[test]
fn what_is_not_cached_is_stored() -> Result<(), Box<dyn Error>> {
    let warm = Warm::new(Credentials::root())?;
    let ask = || warm.context.access(b"/usr/lib/not-asked-before", Access::READ).map_or(end::WELL, |()| end::WRONG_ANSWER);
    assert_eq!(warm.protected_child(ask)?, Ended::Signal(libc::SIGSEGV));
    assert_eq!(warm.still_right(), end::WELL, "the parent's memory is untouched");
    Ok(())
}

#[test]
fn the_mark_of_a_hit_is_left_once() -> Result<(), Box<dyn Error>> {
    let warm = Warm::new(Credentials::root())?;
    warm.context.lookup(b"/usr/lib/not-asked-before").unwrap_err();
    let ask = || warm.context.access(b"/usr/lib/not-asked-before", Access::READ).map_or(end::WELL, |()| end::WRONG_ANSWER);
    assert_eq!(warm.protected_child(ask)?, Ended::Signal(libc::SIGSEGV), "the first hit marks what it reached");
    assert_eq!(ask(), end::WELL);
    assert_eq!(warm.protected_child(ask)?, Ended::Exit(end::WELL), "the second finds the mark");
    Ok(())
}
