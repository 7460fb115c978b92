//! The two sides that are compared: the kernel, in a directory of its own, and the engine.

use std::ffi::CString;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use pathwalk::{Context, Credentials, Errno, NewKind, OpenFlags, Vfs};
use pathwalk_memfs::MemFs;

/// The names of a pipe, each by another way.
pub(crate) const NAMES: [&str; 4] = ["pipe", "link", "other", "dir/../pipe"];

/// A side with a pipe that has the [`NAMES`].
pub(crate) trait Side: Clone + Send + 'static {
    type File: Ends;

    fn new() -> Self;
    fn open(&self, name: &str, flags: OpenFlags) -> Result<Self::File, Errno>;
}

/// An open file, without what only one side has. A file that is shared may be used by two threads.
pub(crate) trait Ends: Send + Sync + 'static {
    fn read(&self, size: usize) -> Result<Vec<u8>, Errno>;
    fn write(&self, data: &[u8]) -> Result<usize, Errno>;
    fn read_at(&self, size: usize) -> Result<Vec<u8>, Errno>;
    fn write_at(&self, data: &[u8]) -> Result<usize, Errno>;
    fn seek(&self) -> Result<u64, Errno>;
    fn set_len(&self) -> Result<(), Errno>;
    fn sync(&self) -> Result<(), Errno>;
    fn size(&self) -> Result<u64, Errno>;
}

/// The kernel's side: the path of a directory that is removed with the last clone.
#[derive(Clone)]
pub(crate) struct Kernel(Arc<tempfile::TempDir>);

impl Kernel {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

fn errno(error: std::io::Error) -> Errno {
    Errno::from(&error)
}

fn make_pipe(path: &Path) {
    let path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path ends with a NUL, and outlives the call, which writes to none of our memory.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
}

impl Side for Kernel {
    type File = std::fs::File;

    fn new() -> Kernel {
        let kernel = Kernel(Arc::new(tempfile::tempdir().unwrap()));
        make_pipe(&kernel.path("pipe"));
        std::os::unix::fs::symlink("pipe", kernel.path("link")).unwrap();
        std::fs::hard_link(kernel.path("pipe"), kernel.path("other")).unwrap();
        std::fs::create_dir(kernel.path("dir")).unwrap();
        kernel
    }

    fn open(&self, name: &str, flags: OpenFlags) -> Result<std::fs::File, Errno> {
        let pairs = [
            (OpenFlags::CREATE, libc::O_CREAT),
            (OpenFlags::EXCLUSIVE, libc::O_EXCL),
            (OpenFlags::TRUNCATE, libc::O_TRUNC),
            (OpenFlags::APPEND, libc::O_APPEND),
            (OpenFlags::DIRECTORY, libc::O_DIRECTORY),
            (OpenFlags::NOFOLLOW, libc::O_NOFOLLOW),
            (OpenFlags::PATH, libc::O_PATH),
            (OpenFlags::NONBLOCK, libc::O_NONBLOCK),
        ];
        let custom = pairs.iter().filter(|(ours, _)| flags.contains(*ours)).map(|(_, theirs)| *theirs);
        let mut options = OpenOptions::new();
        // With `O_PATH` the kernel looks at neither right.
        options.read(flags.intersects(OpenFlags::READ | OpenFlags::PATH)).write(flags.contains(OpenFlags::WRITE));
        options.custom_flags(custom.fold(0, |all, flag| all | flag)).mode(0o666);
        options.open(self.path(name)).map_err(errno)
    }
}

impl Ends for std::fs::File {
    fn read(&self, size: usize) -> Result<Vec<u8>, Errno> {
        filled(size, |buffer| Read::read(&mut &*self, buffer).map_err(errno))
    }

    fn write(&self, data: &[u8]) -> Result<usize, Errno> {
        Write::write(&mut &*self, data).map_err(errno)
    }

    fn read_at(&self, size: usize) -> Result<Vec<u8>, Errno> {
        filled(size, |buffer| FileExt::read_at(self, buffer, 0).map_err(errno))
    }

    fn write_at(&self, data: &[u8]) -> Result<usize, Errno> {
        FileExt::write_at(self, data, 0).map_err(errno)
    }

    fn seek(&self) -> Result<u64, Errno> {
        Seek::seek(&mut &*self, SeekFrom::Current(0)).map_err(errno)
    }

    fn set_len(&self) -> Result<(), Errno> {
        std::fs::File::set_len(self, 1).map_err(errno)
    }

    fn sync(&self) -> Result<(), Errno> {
        self.sync_all().map_err(errno)
    }

    fn size(&self) -> Result<u64, Errno> {
        self.metadata().map(|found| found.len()).map_err(errno)
    }
}

/// The engine's side.
#[derive(Clone)]
pub(crate) struct Engine(pub(crate) Context);

impl Side for Engine {
    type File = pathwalk::File;

    fn new() -> Engine {
        let vfs = Vfs::builder().budget(1 << 20).build(MemFs::new()).unwrap();
        let context = vfs.context(Credentials::root());
        context.mknod("/pipe", NewKind::Fifo, 0o600).unwrap();
        context.symlink("pipe", "/link").unwrap();
        context.link("/pipe", "/other").unwrap();
        context.mkdir("/dir", 0o755).unwrap();
        Engine(context)
    }

    fn open(&self, name: &str, flags: OpenFlags) -> Result<pathwalk::File, Errno> {
        self.0.open(format!("/{name}"), flags)
    }
}

impl Ends for pathwalk::File {
    fn read(&self, size: usize) -> Result<Vec<u8>, Errno> {
        filled(size, |buffer| pathwalk::File::read(self, buffer))
    }

    fn write(&self, data: &[u8]) -> Result<usize, Errno> {
        pathwalk::File::write(self, data)
    }

    fn read_at(&self, size: usize) -> Result<Vec<u8>, Errno> {
        filled(size, |buffer| pathwalk::File::read_at(self, buffer, 0))
    }

    fn write_at(&self, data: &[u8]) -> Result<usize, Errno> {
        pathwalk::File::write_at(self, data, 0)
    }

    fn seek(&self) -> Result<u64, Errno> {
        pathwalk::File::seek(self, SeekFrom::Current(0))
    }

    fn set_len(&self) -> Result<(), Errno> {
        pathwalk::File::set_len(self, 1)
    }

    fn sync(&self) -> Result<(), Errno> {
        pathwalk::File::sync(self, pathwalk::SyncWhat::All)
    }

    fn size(&self) -> Result<u64, Errno> {
        self.handle().attributes().map(|found| found.size)
    }
}

fn filled(size: usize, read: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; size];
    let length = read(&mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

/// A call in a thread of its own, which may wait.
pub(crate) struct Call<T> {
    thread: std::thread::JoinHandle<T>,
    id: Arc<AtomicI32>,
}

impl<T: Send + 'static> Call<T> {
    pub(crate) fn new(call: impl FnOnce() -> T + Send + 'static) -> Call<T> {
        let id = Arc::new(AtomicI32::new(0));
        let told = id.clone();
        let thread = std::thread::spawn(move || {
            // SAFETY: the call takes no arguments and touches none of our memory.
            told.store(unsafe { libc::gettid() }, Ordering::SeqCst);
            call()
        });
        Call { thread, id }
    }

    /// Returns whether the call waits: its thread sleeps, at each of many looks. It ends otherwise.
    pub(crate) fn waits(&self) -> bool {
        let mut asleep = 0;
        while asleep < 30 {
            if self.thread.is_finished() {
                return false;
            }
            std::thread::sleep(std::time::Duration::from_micros(300));
            asleep = if is_asleep(self.id.load(Ordering::SeqCst)) { asleep + 1 } else { 0 };
        }
        true
    }

    pub(crate) fn end(self) -> T {
        self.thread.join().unwrap()
    }
}

/// Returns whether a thread of this process sleeps until it is woken.
fn is_asleep(thread: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S'))
}
