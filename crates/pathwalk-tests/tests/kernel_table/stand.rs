//! The starting points of walks: the same for a thread of the kernel and for the engine.

use std::os::fd::{AsFd, OwnedFd, RawFd};

use pathwalk::{At, Credentials, Handle, Name, NewKind, NewNode, Vfs, internals};
use pathwalk_memfs::MemFs;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use xtask::face::Kind;

use crate::asker::Asker;
use crate::engine::Engine;
use crate::place::Place;
use crate::question::{self, Kernel};
use crate::table::builder;

/// A descriptor that is not open.
const CLOSED: i32 = 1 << 20;

/// A working directory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cwd {
    Path(&'static str),
    /// A directory that was removed meanwhile.
    Removed,
}

/// The starting point that a call names.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// The working directory, by `AT_FDCWD`.
    Cwd,
    /// A descriptor on this path; a link is not followed.
    Opened(&'static str),
    RemovedDirectory,
    RemovedFile,
    /// A number that is no descriptor; for the engine, a handle of another `Vfs`.
    Invalid,
}

/// The starting point of walks. The root is changed last, so that working directory and descriptor
/// may lie outside of it.
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

    /// Returns whether a walk may start at a removed directory.
    pub(crate) fn is_removed(&self) -> bool {
        matches!(self.cwd, Cwd::Removed) || matches!(self.origin, Origin::RemovedDirectory)
    }
}

/// The state of an asking thread.
pub(crate) struct Stand {
    pub(crate) kernel: Kernel,
    /// The starting point in the kernel's form.
    pub(crate) fd: RawFd,
    /// The starting point in the engine's form; `None` is the working directory.
    pub(crate) handle: Option<Handle>,
    pub(crate) engines: [Engine; Kind::ALL.len()],
    /// The owner of the descriptor, which keeps it open.
    _open: Option<OwnedFd>,
}

impl Stand {
    /// Puts this thread and a context at the starting point, and gives them the asker's
    /// credentials.
    pub(crate) fn take(place: &Place, vfs: &Vfs, asker: &Asker, start: &Start) -> Stand {
        let whole = start.root == "/";
        let descriptors = whole.then(|| open("/proc/self/fd").ok()).flatten();
        place.become_root().expect("it went well before");
        let mut context = vfs.context(Credentials::root());

        let (open, handle) = origin(vfs, start.origin);
        match start.cwd {
            Cwd::Path(path) => {
                rustix::process::chdir(path).expect("a directory of the tree");
                context.chdir(path).expect("a directory of the tree");
            }
            Cwd::Removed => {
                let removal = Removal::begin(vfs, NewKind::Directory);
                rustix::process::chdir(Removal::PATH).expect("it is there");
                context.chdir(Removal::PATH).expect("it is there");
                removal.finish();
            }
        }
        if !whole {
            rustix::process::chroot(start.root).expect("a directory of the tree");
            context.chroot(start.root).expect("a directory of the tree");
        }

        asker.take_over_this_thread(place.users).expect("changing to the asker");
        let context = context.with_credentials(asker.credentials());
        let engines = Kind::ALL.map(|kind| Engine::new(kind, context.clone(), descriptors.is_some()));
        let is_closed = matches!(start.origin, Origin::Invalid);
        let fd = if is_closed { CLOSED } else { question::raw(open.as_ref().map(AsFd::as_fd)) };
        Stand { kernel: Kernel { descriptors }, fd, handle, engines, _open: open }
    }
}

/// Returns the starting point that the call names, on both sides.
fn origin(vfs: &Vfs, origin: Origin) -> (Option<OwnedFd>, Option<Handle>) {
    match origin {
        Origin::Cwd => (None, None),
        Origin::Opened(path) => {
            let context = vfs.context(Credentials::root());
            let handle = context.lookup_at(At::Cwd, path, pathwalk::AtFlags::SYMLINK_NOFOLLOW);
            (Some(open(path).expect("in the tree")), Some(handle.expect("in the tree")))
        }
        Origin::RemovedDirectory => {
            let (fd, handle) = Removal::begin(vfs, NewKind::Directory).finish();
            (Some(fd), Some(handle))
        }
        Origin::RemovedFile => {
            let (fd, handle) = Removal::begin(vfs, NewKind::Regular).finish();
            (Some(fd), Some(handle))
        }
        Origin::Invalid => {
            let other = builder().build(MemFs::new()).expect("a Vfs");
            (None, Some(other.context(Credentials::root()).lookup("/").expect("a root")))
        }
    }
}

/// A node that is made on both sides, opened, and removed again.
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
        // The mode is not set at creation, where the umask would affect it.
        rustix::fs::chmod(Self::PATH, Mode::from_raw_mode(0o755)).expect("chmod");
        let root = vfs.context(Credentials::root()).lookup("/").expect("a root");
        let handle = internals::create(&root, Self::name(), &NewNode::new(kind, 0o755, 0, 0)).expect("create");
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
