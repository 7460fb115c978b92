//! The table: every question about every path, by every asker, from every starting point, on both sides.
//!
//! Each question goes to the kernel once and to the engine twice: with nothing cached, so that the locked walk asks the file
//! system for all of it, and again at once, so that the lock-free walk answers from the cache. All three answers must be equal.
//!
//! The asking thread has its own root, working directory and credentials; the process keeps its own.

use std::ffi::CString;
use std::fmt::Write as _;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};

use pathwalk::{Credentials, Handle, Name, NewKind, NewNode, Vfs, internals};
use pathwalk_memfs::{MemFs, Options};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};

use crate::asker::Asker;
use crate::place::{Filesystem, Place};
use crate::question::{self, Answer, Ask, Engine, Kernel};

/// How many disagreements are printed; they tend to come in thousands, with one cause.
const SHOWN: usize = 40;

/// A descriptor that nobody has open.
const CLOSED: i32 = 1 << 20;

/// A working directory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cwd {
    Path(&'static str),
    /// A directory that was removed meanwhile.
    Removed,
}

/// What the call names as its starting point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// `AT_FDCWD`
    Cwd,
    /// A descriptor on this path, a link itself included.
    Opened(&'static str),
    RemovedDirectory,
    RemovedFile,
    /// A number that is no descriptor; a handle of another `Vfs`.
    Invalid,
}

/// Where walks start. The root is changed last, so that working directory and descriptor may lie outside of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    pub(crate) root: &'static str,
    pub(crate) cwd: Cwd,
    pub(crate) origin: Origin,
}

impl Start {
    pub(crate) const fn cwd(path: &'static str) -> Start {
        Start { root: "/", cwd: Cwd::Path(path), origin: Origin::Cwd }
    }

    pub(crate) const fn at(origin: Origin) -> Start {
        Start { root: "/", cwd: Cwd::Path("/"), origin }
    }
}

/// What is asked, by whom and from where.
pub(crate) struct Table<'a> {
    pub(crate) place: &'a Place,
    pub(crate) vfs: &'a Vfs,
    pub(crate) askers: Vec<Asker>,
    pub(crate) starts: Vec<Start>,
    pub(crate) paths: Vec<Vec<u8>>,
}

/// A second file system, for handles that are foreign.
pub(crate) fn vfs(options: Options) -> Vfs {
    builder().build(MemFs::with(options)).expect("a Vfs")
}

/// With a budget that a tree of ours fits in, and little more, so that evicting everything is cheap.
pub(crate) fn builder() -> pathwalk::VfsBuilder {
    Vfs::builder().budget(1 << 20)
}

impl Table<'_> {
    /// Asks all of it. Panics with the disagreements if there are any.
    pub(crate) fn check(&self) {
        self.check_all(&question::all());
    }

    /// The same by rules for the resolution of paths.
    pub(crate) fn check_resolved(&self) {
        self.check_all(&question::resolved());
    }

    fn check_all(&self, asks: &[Ask]) {
        let asked = AtomicUsize::new(0);
        let mut disagreements = Vec::new();
        for asker in &self.askers {
            for start in &self.starts {
                // Threads that have been somebody else can't be used again.
                let found = std::thread::scope(|scope| scope.spawn(|| self.ask_as(asker, start, asks, &asked)).join());
                disagreements.extend(found.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
        }
        println!("{} questions, {} disagreements", asked.load(Ordering::Relaxed), disagreements.len());
        let shown = disagreements.iter().take(SHOWN).fold(String::new(), |text, line| text + "\n  " + line);
        assert!(disagreements.is_empty(), "{} disagreements with the kernel, among them:{shown}", disagreements.len());
    }

    fn ask_as(&self, asker: &Asker, start: &Start, asks: &[Ask], asked: &AtomicUsize) -> Vec<String> {
        let (kernel, fd, engine) = self.stand(asker, start);
        let at = if matches!(start.origin, Origin::Invalid) { CLOSED } else { question::raw(fd.as_ref().map(AsFd::as_fd)) };
        let mut disagreements = Vec::new();
        for path in &self.paths {
            let c_path = CString::new(path.as_slice()).expect("paths of the table have no NUL");
            for ask in asks.iter().copied() {
                let expected = self.comparable(kernel.ask(ask, at, &c_path));
                internals::evict(self.vfs, usize::MAX);
                let cold = self.comparable(engine.ask(ask, path));
                let warm = self.comparable(engine.ask(ask, path));
                asked.fetch_add(1, Ordering::Relaxed);
                if cold != expected || warm != expected {
                    disagreements.push(describe(asker, start, path, ask, [&expected, &cold, &warm]));
                }
            }
        }
        disagreements
    }

    fn comparable(&self, answer: Answer) -> Answer {
        match self.place.filesystem {
            Filesystem::OwnTmpfs => answer,
            Filesystem::Host => answer.without_directory_links(),
        }
    }

    /// Puts this thread and a context where the walks start, and makes them the asker.
    fn stand(&self, asker: &Asker, start: &Start) -> (Kernel, Option<OwnedFd>, Engine) {
        let whole = start.root == "/";
        let descriptors = whole.then(|| open("/proc/self/fd").ok()).flatten();
        self.place.become_root().expect("it went well before");
        let mut context = self.vfs.context(Credentials::root());

        let (fd, handle) = self.origin(start.origin);
        match start.cwd {
            Cwd::Path(path) => {
                rustix::process::chdir(path).expect("a directory of the tree");
                context.chdir(path).expect("a directory of the tree");
            }
            Cwd::Removed => {
                let removal = Removal::begin(self.vfs, NewKind::Directory);
                rustix::process::chdir(Removal::PATH).expect("it is there");
                context.chdir(Removal::PATH).expect("it is there");
                removal.finish();
            }
        }
        if !whole {
            rustix::process::chroot(start.root).expect("a directory of the tree");
            context.chroot(start.root).expect("a directory of the tree");
        }

        asker.take_over_this_thread(self.place.users).expect("changing to the asker");
        let engine =
            Engine { context: context.with_credentials(asker.credentials()), start: handle, paths: descriptors.is_some() };
        (Kernel { descriptors }, fd, engine)
    }

    fn origin(&self, origin: Origin) -> (Option<OwnedFd>, Option<Handle>) {
        match origin {
            Origin::Cwd => (None, None),
            Origin::Opened(path) => {
                let context = self.vfs.context(Credentials::root());
                let handle = context.lookupat(pathwalk::At::Cwd, path, pathwalk::AtFlags::SYMLINK_NOFOLLOW);
                (Some(open(path).expect("in the tree")), Some(handle.expect("in the tree")))
            }
            Origin::RemovedDirectory => {
                let (fd, handle) = Removal::begin(self.vfs, NewKind::Directory).finish();
                (Some(fd), Some(handle))
            }
            Origin::RemovedFile => {
                let (fd, handle) = Removal::begin(self.vfs, NewKind::Regular).finish();
                (Some(fd), Some(handle))
            }
            Origin::Invalid => {
                let foreign = vfs(Options::default()).context(Credentials::root()).lookup("/").expect("a root");
                (None, Some(foreign))
            }
        }
    }
}

/// Something that is made on both sides, opened, and removed again.
struct Removal {
    directory: bool,
    fd: OwnedFd,
    root: Handle,
    handle: Handle,
}

impl Removal {
    const PATH: &'static str = "/removed";

    fn name() -> Name<'static> {
        Name::new(&Self::PATH.as_bytes()[1..]).expect("a name")
    }

    fn begin(vfs: &Vfs, kind: NewKind<'_>) -> Removal {
        let directory = kind == NewKind::Directory;
        if directory {
            rustix::fs::mkdir(Self::PATH, Mode::from_raw_mode(0o700)).expect("mkdir");
        } else {
            rustix::fs::mknodat(CWD, Self::PATH, rustix::fs::FileType::RegularFile, Mode::from_raw_mode(0o600), 0)
                .expect("mknod");
        }
        // Not at creation, where the umask has a say.
        rustix::fs::chmod(Self::PATH, Mode::from_raw_mode(0o755)).expect("chmod");
        let root = vfs.context(Credentials::root()).lookup("/").expect("a root");
        let handle = internals::create(&root, Self::name(), &NewNode { kind, mode: 0o755, uid: 0, gid: 0 }).expect("create");
        Removal { directory, fd: open(Self::PATH).expect("it was just made"), root, handle }
    }

    fn finish(self) -> (OwnedFd, Handle) {
        let flags = if self.directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
        rustix::fs::unlinkat(CWD, Self::PATH, flags).expect("unlink");
        internals::unlink(&self.root, Self::name()).expect("unlink");
        (self.fd, self.handle)
    }
}

fn open(path: &str) -> rustix::io::Result<OwnedFd> {
    rustix::fs::open(path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn describe(asker: &Asker, start: &Start, path: &[u8], ask: Ask, [kernel, cold, warm]: [&Answer; 3]) -> String {
    let mut line = format!("{ask:?} of ");
    let _ = match path {
        [first @ .., _] if path.len() > 100 => write!(line, "\"{}\"… ({} bytes)", first[..60].escape_ascii(), path.len()),
        _ => write!(line, "\"{}\"", path.escape_ascii()),
    };
    let _ = write!(line, " by {} from {start:?}: kernel {kernel:?}, cold {cold:?}, warm {warm:?}", asker.name);
    line
}
