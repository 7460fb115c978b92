//! Checks that a hit stores nothing: with all slots and tables made read-only, a compiler's lookups
//! still get the right answers.
//!
//! Each case runs in a forked child. The child protects every range that the engine reports for its
//! caches, rounded outward to whole pages, and then does one task. A lookup of cached paths must
//! end well. Controls that store into the first or the last word of a range, or that look up a path
//! that is not cached, must die of `SIGSEGV`. A last control shows that the same stores are
//! harmless without protection, so that it is the protection that ends the child.
//!
//! Rounding outward may include neighbours on the heap. That is sound, and only makes the proof
//! stricter, because a child writes to no heap: it neither allocates nor frees. It must do neither
//! anyway, since the process that it was forked from has other threads.

use std::error::Error;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pathwalk::{Access, Attributes, Context, Credentials, Errno, MountFlags, Vfs, VfsBuilder, internals};
use pathwalk_memfs::MemFs;
use pathwalk_tests::tree::gcc_tree;
use pathwalk_trace::trace::{Question, Trace};

/// Paths that cross four mounts, down and up.
const CROSSINGS: [&[u8]; 2] = [b"/m/m/m/m/f", b"/m/m/m/m/../../../../m/m/m/m/f"];

/// Paths with so few crossings that the memo stores them.
const FEW_CROSSINGS: [&[u8]; 2] = [b"/m/m/f", b"/m/m/../../m/f"];

/// The time limit of a child; a child that exceeds it hangs, which is a failure.
const MOST_SECONDS: u32 = 60;

/// The exit codes of a child.
mod end {
    pub(crate) const WELL: i32 = 0;
    pub(crate) const WRONG_ANSWER: i32 = 10;
    pub(crate) const NOT_PROTECTED: i32 = 11;
    pub(crate) const PANIC: i32 = 12;
}

/// The end of a child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Ended {
    Exit(i32),
    Signal(i32),
}

/// The first and one past the last address of a range.
type Range = (usize, usize);

/// Caches with all paths of the lookups, and with the marks of a hit on them.
struct Warm {
    context: Context,
    questions: Vec<Question>,
    answers: Vec<Result<(), Errno>>,
    /// All paths, and their attributes as the batch calls return them.
    paths: Vec<Box<[u8]>>,
    at_once: Vec<Result<Attributes, Errno>>,
    ranges: Vec<Range>,
}

impl Warm {
    /// Creates caches without a memo that learns, since learning stores.
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
            root.mount(on, at, MountFlags::empty())?;
        }
        let context = vfs.context(who);
        let mut questions = Trace::gcc().questions().to_vec();
        // The file is not readable by all users, so its inode is read.
        questions.extend(crossings.iter().chain([&&b"/private"[..]]).map(|path| Question {
            line: 0,
            path: (*path).into(),
            want: Access::READ,
        }));
        let ask = || questions.iter().map(|question| context.access(&question.path[..], question.want)).collect::<Vec<_>>();
        // The first pass fills the caches, the second leaves the marks, and the third finds the
        // entries of the memo.
        let answers = ask();
        assert_eq!(ask(), answers);
        assert_eq!(ask(), answers);
        assert_eq!(answers.iter().filter(|answer| **answer == Err(Errno::ENOENT)).count(), 118);
        let paths: Vec<Box<[u8]>> = questions.iter().map(|question| question.path.clone()).collect();
        let at_once = Vec::new();
        let mut ranges = [internals::memory_ranges(&vfs), internals::mount_ranges(&vfs)].concat();
        // A memo that is off has no range.
        ranges.retain(|(start, end)| start != end);
        assert!(!ranges.is_empty() && ranges.iter().all(|(start, end)| start < end));
        Ok(Warm { context, questions, answers, paths, at_once, ranges })
    }

    /// Leaves out the lookups of which the memo learns each time, or tries to: these count in
    /// memory that may share a page with the caches.
    fn leave_out_learned(&mut self) {
        let counts = || {
            let memo = self.context.vfs().stats().whole_paths;
            (memo.fills, memo.refusals)
        };
        let is_kept = |question: &Question| {
            let before = counts();
            _ = self.context.access(&question.path[..], question.want);
            counts() == before
        };
        let all = self.questions.iter().cloned().zip(self.answers.iter().copied());
        let (questions, answers) = all.filter(|(question, _)| is_kept(question)).unzip();
        (self.questions, self.answers) = (questions, answers);
    }

    /// Repeats all lookups.
    fn still_right(&self) -> i32 {
        let right = |(question, answer): (&Question, &Result<(), Errno>)| {
            self.context.access(&question.path[..], question.want) == *answer
        };
        if self.questions.iter().zip(&self.answers).all(right) { end::WELL } else { end::WRONG_ANSWER }
    }

    /// Repeats all lookups as batches.
    fn still_right_at_once(&self) -> i32 {
        let exists = self.context.access_many(&self.paths, Access::empty());
        let same = exists.zip(&self.at_once).all(|(found, then)| found.is_ok() == then.is_ok());
        self.context.prefetch(&*self.paths);
        let again = self.context.stat_many(&self.paths).eq(self.at_once.iter().copied());
        if same && again { end::WELL } else { end::WRONG_ANSWER }
    }

    /// Makes all pages of all ranges read-only. Returns whether that succeeded.
    fn protect(&self) -> bool {
        self.ranges.iter().all(|range| protect(*range).is_ok())
    }

    /// Returns the end of a child that protects the ranges and then runs `act`.
    fn protected_child(&self, act: impl FnOnce() -> i32) -> io::Result<Ended> {
        child(|| if self.protect() { act() } else { end::NOT_PROTECTED })
    }

    /// Returns the addresses of the first and the last word of each range.
    fn ends(&self) -> impl Iterator<Item = usize> {
        self.ranges.iter().flat_map(|(start, end)| [*start, end - size_of::<u32>()])
    }
}

/// Makes all pages of a range read-only.
fn protect((start, end): Range) -> io::Result<()> {
    // SAFETY: `sysconf` only returns a value.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(io::Error::other)?;
    let first = start / page * page;
    let length = end.next_multiple_of(page) - first;
    // SAFETY: the pages are mapped, since the range is. Without the right to write, a store faults,
    // and the child exists to show that.
    let done = unsafe { libc::mprotect(std::ptr::without_provenance_mut(first), length, libc::PROT_READ) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Stores the value that is already there.
fn store(address: usize) -> i32 {
    let word = std::ptr::with_exposed_provenance_mut::<u32>(address);
    // SAFETY: the address is aligned and within memory that the engine holds, and this process has
    // one thread. Whether it may be written is what the test finds out.
    unsafe { word.write_volatile(word.read_volatile()) };
    end::WELL
}

/// Forks; the child ends with the result of `act`.
fn child(act: impl FnOnce() -> i32) -> io::Result<Ended> {
    // SAFETY: the child neither allocates nor takes a lock before it ends: see the head of this
    // file.
    let pid = unsafe { libc::fork() };
    match pid {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: many children are expected to die of a signal, so they leave no core dump and
            // run no handler; `_exit` runs no code of the parent.
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
    // SAFETY: the process is a child of this one, and only this call waits for it.
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

/// Checks lookups that the memo of whole paths answers, or the directories in it.
#[test]
fn remembered_lookups_store_nothing() -> Result<(), Box<dyn Error>> {
    for learning in [internals::learning_at_once, internals::directories_learned_at_once] {
        for who in [Credentials::root(), Credentials::user(1000, 1000, &[])] {
            let mut warm = Warm::built(learning(Vfs::builder()), who, &FEW_CROSSINGS)?;
            warm.leave_out_learned();
            println!("{} lookups", warm.questions.len());
            assert!(warm.context.vfs().stats().whole_paths.used > 0 && warm.questions.len() > 100);
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
        let read_ahead = || warm.context.prefetch(&*warm.paths);
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
