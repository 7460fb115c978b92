//! The two sides: the kernel and the engine, asked the same prepared question.
//!
//! Each has its own form of a start directory: the kernel a descriptor, the engine a handle.
//! `answer` returns everything that was found, for comparing. `succeeds` makes the same call
//! without keeping anything, for timing, with the commonest call first.

use std::cell::RefCell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use pathwalk::{At, Context, Errno, Handle, Steps};
use pathwalk_bench::kernel::{access, errno, faccessat, fstatat, mode, readlinkat, statx};
use rustix::fs::{CWD, Mode, OFlags, open};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::answer::{Answer, Facts, Found};
use super::question::{Ask, From, Prepared};

/// The size of a buffer for links: larger than the longest link, as in C programs.
const BUFFER: usize = 4096;

thread_local! {
    /// The buffer that links are read into. It is cleared once, not for each link.
    static LINK: RefCell<[u8; BUFFER]> = const { RefCell::new([0; BUFFER]) };
}

/// The number of descriptors that are left for everything else: the engine opens some while it
/// looks up names.
const SPARE: usize = 64;

/// A start directory on the kernel's side.
#[derive(Debug)]
pub(crate) enum StartDirectory {
    /// Its descriptor.
    Open(OwnedFd),
    /// A directory for which there is no descriptor left. Paths are joined to its path.
    Joined,
    /// A directory that cannot be opened now.
    Gone(Errno),
}

/// The kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    starts: Vec<StartDirectory>,
}

impl Kernel {
    /// Opens a descriptor of each start directory, as far as this process may have that many.
    pub(crate) fn new(starts: &[Box<[u8]>]) -> Kernel {
        let limit = getrlimit(Resource::Nofile).current.map_or(usize::MAX, |limit| limit as usize);
        let allowed = limit.saturating_sub(SPARE);
        let (first, rest) = starts.split_at(allowed.min(starts.len()));
        let mut starts: Vec<_> = first.iter().map(|path| open_start(path)).collect();
        starts.extend(rest.iter().map(|path| joined_start(path)));
        Kernel { starts }
    }

    /// Returns the state of a start directory.
    pub(crate) fn start(&self, number: u32) -> &StartDirectory {
        &self.starts[number as usize]
    }

    /// Asks a question and returns the answer.
    pub(crate) fn answer(&self, question: &Prepared) -> Answer {
        match question.ask {
            Ask::Stat(flags) | Ask::Statx(flags) => {
                statx(self.at(question.from)?, &question.path, flags).map(|stat| Found::Attributes(Box::new(Facts::from(&stat))))
            }
            Ask::Readlink => body(|buffer| readlinkat(self.at(question.from)?, &question.path, buffer)),
            Ask::PlainAccess(_) | Ask::Access(..) => self.ask(question).map(|()| Found::Allowed),
        }
    }

    /// Asks a question as cheaply as a C program could.
    #[inline(always)]
    pub(crate) fn succeeds(&self, question: &Prepared) -> bool {
        match question.ask {
            Ask::PlainAccess(want) => access(&question.path, mode(want)).is_ok(),
            _ => self.ask(question).is_ok(),
        }
    }

    #[inline(never)]
    fn ask(&self, question: &Prepared) -> Result<(), Errno> {
        let path = question.path.as_c_str();
        match question.ask {
            Ask::PlainAccess(want) => access(path, mode(want)),
            Ask::Access(want, flags) => faccessat(self.at(question.from)?, path, mode(want), flags),
            Ask::Stat(flags) => fstatat(self.at(question.from)?, path, flags).map(drop),
            Ask::Statx(flags) => statx(self.at(question.from)?, path, flags).map(drop),
            Ask::Readlink => LINK.with_borrow_mut(|buffer| readlinkat(self.at(question.from)?, path, buffer)).map(drop),
        }
    }

    #[inline(always)]
    fn at(&self, from: From) -> Result<BorrowedFd<'_>, Errno> {
        match from {
            From::Here => Ok(CWD),
            From::Directory(number) => match &self.starts[number as usize] {
                StartDirectory::Open(fd) => Ok(fd.as_fd()),
                StartDirectory::Joined => Err(Errno::EMFILE),
                StartDirectory::Gone(errno) => Err(*errno),
            },
        }
    }
}

fn open_start(path: &[u8]) -> StartDirectory {
    match open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(fd) => StartDirectory::Open(fd),
        Err(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => StartDirectory::Joined,
        Err(other) => StartDirectory::Gone(errno(other)),
    }
}

/// Checks a start directory without keeping its descriptor.
fn joined_start(path: &[u8]) -> StartDirectory {
    match open_start(path) {
        StartDirectory::Open(_) => StartDirectory::Joined,
        other => other,
    }
}

/// Raises the limit of descriptors of this process to its maximum. A failure is not an error.
pub(crate) fn allow_many_descriptors() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// The engine.
#[derive(Debug)]
pub(crate) struct Engine {
    context: Context,
    starts: Vec<Result<Handle, Errno>>,
}

impl Engine {
    /// Creates the engine's side with a handle on each start directory.
    pub(crate) fn new(context: Context, starts: &[Box<[u8]>]) -> Engine {
        let starts = starts.iter().map(|path| context.lookup(&path[..])).collect();
        Engine { context, starts }
    }

    /// Returns the context of the engine.
    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    /// Asks a question and returns the answer.
    pub(crate) fn answer(&self, question: &Prepared) -> Answer {
        match question.ask {
            Ask::Stat(flags) | Ask::Statx(flags) => {
                let attributes = self.context.fstatat(self.at(question.from)?, question.bytes(), flags)?;
                Ok(Found::Attributes(Box::new(Facts::from(&attributes))))
            }
            Ask::Readlink => body(|buffer| self.context.readlinkat(self.at(question.from)?, question.bytes(), buffer)),
            Ask::PlainAccess(_) | Ask::Access(..) => self.ask(question).map(|()| Found::Allowed),
        }
    }

    /// Asks a question and keeps nothing of the answer.
    #[inline(always)]
    pub(crate) fn succeeds(&self, question: &Prepared) -> bool {
        match question.ask {
            Ask::PlainAccess(want) => self.context.access(question.bytes(), want).is_ok(),
            _ => self.ask(question).is_ok(),
        }
    }

    #[inline(never)]
    fn ask(&self, question: &Prepared) -> Result<(), Errno> {
        let path = question.bytes();
        match question.ask {
            Ask::PlainAccess(want) => self.context.access(path, want),
            Ask::Access(want, flags) => self.context.faccessat(self.at(question.from)?, path, want, flags),
            Ask::Stat(flags) | Ask::Statx(flags) => self.context.fstatat(self.at(question.from)?, path, flags).map(drop),
            Ask::Readlink => {
                LINK.with_borrow_mut(|buffer| self.context.readlinkat(self.at(question.from)?, path, buffer)).map(drop)
            }
        }
    }

    /// Returns the walk of a question, step by step.
    pub(crate) fn steps(&self, question: &Prepared) -> Result<Steps, Errno> {
        Ok(self.context.steps_at(self.at(question.from)?, question.bytes(), question.flags()))
    }

    /// Returns the body of a link that a walk went over.
    pub(crate) fn link_body(&self, link: &Handle) -> Result<Box<[u8]>, Errno> {
        let mut buffer = vec![0; BUFFER];
        let length = self.context.readlinkat(link, "", &mut buffer)?;
        buffer.truncate(length);
        Ok(buffer.into())
    }

    /// Returns the steps from the root, or from this process' working directory, with links
    /// followed.
    pub(crate) fn steps_to(&self, path: &[u8]) -> Steps {
        self.context.steps(path)
    }

    #[inline(always)]
    fn at(&self, from: From) -> Result<At<'_>, Errno> {
        match from {
            From::Here => Ok(At::Cwd),
            From::Directory(number) => self.starts[number as usize].as_ref().map(At::Handle).map_err(|errno| *errno),
        }
    }
}

fn body(read: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Answer {
    LINK.with_borrow_mut(|buffer| read(buffer).map(|length| Found::Body(buffer[..length].into())))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use pathwalk::{Access, AtFlags};
    use pathwalk_bench::machine::{self, LastLinks};

    use super::super::answer::same;
    use super::*;

    #[test]
    fn both_sides_answer_the_same_from_a_start_directory() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("file"), "text").unwrap();
        symlink("file", dir.path().join("link")).unwrap();
        let starts = [dir.path().canonicalize().unwrap().as_os_str().as_encoded_bytes().into(), b"/no/such/place"[..].into()];
        let kernel = Kernel::new(&starts);
        let engine = Engine::new(machine::host(LastLinks::of_this_machine()).unwrap(), &starts);
        assert!(matches!(kernel.start(0), StartDirectory::Open(_)));
        assert!(matches!(kernel.start(1), StartDirectory::Gone(Errno::ENOENT)));
        let stay = AtFlags::SYMLINK_NOFOLLOW;
        let asks = [
            Ask::PlainAccess(Access::READ),
            Ask::Access(Access::WRITE, AtFlags::EACCESS),
            Ask::Stat(AtFlags::empty()),
            Ask::Stat(stay),
            Ask::Statx(stay),
            Ask::Readlink,
        ];
        for ask in asks {
            for path in [c"file", c"link", c"nothing", c"file/x", c""] {
                for from in [From::Here, From::Directory(0), From::Directory(1)] {
                    let question = Prepared { from, ask, path: path.into() };
                    let (ours, theirs) = (engine.answer(&question), kernel.answer(&question));
                    assert!(same(&ours, &theirs), "{question:?}: {ours:?}, {theirs:?}");
                    assert_eq!(engine.succeeds(&question), ours.is_ok(), "{question:?}");
                    assert_eq!(kernel.succeeds(&question), theirs.is_ok(), "{question:?}");
                }
            }
        }
        let link = Prepared { from: From::Directory(0), ask: Ask::Readlink, path: c"link".into() };
        assert_eq!(engine.answer(&link), Ok(Found::Body(b"file"[..].into())));
    }
}
