//! Operations a second of create, rename, unlink, mkdir, rmdir and of listing a directory, on a
//! `MemFs` through the engine and on a directory of the host (`/dev/shm` unless another is given)
//! through the kernel. Both sides make the same calls as root; a file is created by opening and
//! closing it. Medians of rounds in turns. The engine's budget holds all names twice: a rename
//! leaves the old name as a negative dentry.
//!
//! `cargo run --release -p pathwalk-bench --example names [DIRECTORY]`
//!
//! The first column of figures is the whole operation through the engine, the second the kernel's.

use std::error::Error;
use std::ffi::CString;
use std::hint::black_box;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use pathwalk::{At, Context, Credentials, FileSystem, Handle, OpenFlags, OpenFor, OpenHow, RenameFlags, UnlinkFlags, Vfs};
use pathwalk_memfs::MemFs;
use rustix::fs::{self, AtFlags, CWD, Mode, OFlags};

const NAMES: usize = 10_000;
const ROUNDS: usize = 20;
const OPERATIONS: [&str; 6] = ["create", "list", "rename", "unlink", "mkdir", "rmdir"];

type Times = [Duration; OPERATIONS.len()];

fn names(prefix: &str) -> Vec<CString> {
    (0..NAMES).map(|i| CString::new(format!("{prefix}{i:06}")).expect("no NUL")).collect()
}

fn timed<E>(act: impl FnOnce() -> Result<(), E>) -> Result<Duration, E> {
    let begin = Instant::now();
    act()?;
    Ok(begin.elapsed())
}

fn list(fs: &MemFs, dir: &str) -> Result<(), Box<dyn Error>> {
    let open = fs.open(fs.key(dir)?, OpenFor::READ)?;
    let mut listed = 0;
    open.read_dir(0, &mut |entry| {
        black_box(entry);
        listed += 1;
        ControlFlow::Continue(())
    })?;
    assert_eq!(listed, NAMES);
    Ok(())
}

fn through_engine(fs: &MemFs, who: &Context, dir: &Handle, from: &[CString], to: &[CString]) -> Result<Times, Box<dyn Error>> {
    let at = At::Handle(dir);
    let how = OpenHow { flags: OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::WRITE, mode: 0o644, ..OpenHow::default() };
    let none = RenameFlags::empty();
    Ok([
        timed(|| from.iter().try_for_each(|name| who.openat(at, name, how).map(drop)))?,
        timed(|| list(fs, "d"))?,
        timed(|| from.iter().zip(to).try_for_each(|(from, to)| who.renameat(at, from, at, to, none)))?,
        timed(|| to.iter().try_for_each(|name| who.unlinkat(at, name, UnlinkFlags::empty())))?,
        timed(|| from.iter().try_for_each(|name| who.mkdirat(at, name, 0o755)))?,
        timed(|| from.iter().try_for_each(|name| who.unlinkat(at, name, UnlinkFlags::REMOVEDIR)))?,
    ])
}

fn through_kernel(dir: &OwnedFd, from: &[CString], to: &[CString]) -> rustix::io::Result<Times> {
    let (flags, mode) = (OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY, Mode::from(0o644));
    Ok([
        timed(|| from.iter().try_for_each(|name| fs::openat(dir, name, flags, mode).map(drop)))?,
        timed(|| {
            let listed = fs::Dir::read_from(dir.as_fd())?.count();
            assert_eq!(listed, NAMES + 2);
            Ok(())
        })?,
        timed(|| from.iter().zip(to).try_for_each(|(from, to)| fs::renameat(dir, from, dir, to)))?,
        timed(|| to.iter().try_for_each(|name| fs::unlinkat(dir, name, AtFlags::empty())))?,
        timed(|| from.iter().try_for_each(|name| fs::mkdirat(dir, name, Mode::from(0o755))))?,
        timed(|| from.iter().try_for_each(|name| fs::unlinkat(dir, name, AtFlags::REMOVEDIR)))?,
    ])
}

/// The times of each round, by operation.
#[derive(Default)]
struct Side(Vec<Times>);

impl Side {
    /// Returns the median time of an operation on one name, in nanoseconds.
    fn each(&self, operation: usize) -> f64 {
        let mut times: Vec<Duration> = self.0.iter().map(|round| round[operation]).collect();
        times.sort();
        times[times.len() / 2].as_secs_f64() * 1e9 / NAMES as f64
    }
}

fn table(title: &str, engine: &Side, kernel: &Side) {
    println!("{title}\n{:<8} {:>12} {:>12} {:>7}", "", "memfs ns", "kernel ns", "times");
    for (at, operation) in OPERATIONS.iter().enumerate() {
        let (engine, kernel) = (engine.each(at), kernel.each(at));
        println!("{operation:<8} {engine:>12.1} {kernel:>12.1} {:>7.1}", kernel / engine);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (from, to) = (names("from"), names("to"));
    let memfs = MemFs::new();
    memfs.mkdir("d", 0o755)?;
    let vfs = Vfs::builder().budget(8 << 20).build(memfs.alias())?;
    let who = vfs.context(Credentials::root());
    let dir = who.lookup("/d")?;
    let place = std::env::args().nth(1).unwrap_or_else(|| "/dev/shm".into());
    let scratch = tempfile::tempdir_in(place)?;
    let open = fs::openat(CWD, scratch.path(), OFlags::DIRECTORY | OFlags::RDONLY, Mode::empty())?;

    let (mut engine, mut kernel) = (Side::default(), Side::default());
    for _ in 0..ROUNDS {
        through_engine(&memfs, &who, &dir, &from, &to)?;
        engine.0.push(through_engine(&memfs, &who, &dir, &from, &to)?);
        through_kernel(&open, &from, &to)?;
        kernel.0.push(through_kernel(&open, &from, &to)?);
    }
    table("in turns, each after a round of its own that does not count:", &engine, &kernel);

    (engine, kernel) = (Side::default(), Side::default());
    for _ in 0..ROUNDS {
        engine.0.push(through_engine(&memfs, &who, &dir, &from, &to)?);
        kernel.0.push(through_kernel(&open, &from, &to)?);
    }
    table("\nin turns, so that each begins with the processor's caches full of the other's names:", &engine, &kernel);
    Ok(())
}
