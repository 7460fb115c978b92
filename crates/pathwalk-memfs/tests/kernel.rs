//! Comparison with the kernel: the same random operations on a directory of the host and on a
//! `MemFs` give the same answers, the same errnos and the same tree.
//!
//! Any file system of the host is suitable; `/dev/shm` is used where it exists. To reproduce a
//! failure, use the seed that it prints.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, symlink};
use std::path::Path;

use pathwalk::{Errno, FileType, NewKind, RenameFlags};
use pathwalk_memfs::{Error, MemFs};
use pathwalk_tests::skipped;
use rustix::fs::{AtFlags, CWD};

const PATHS: [&str; 12] = ["a", "b", "c", "a/x", "b/x", "a/x/y", "b/x/y", "a/b", "b/a", "a/b/c", "c/a/b", "c/a"];

#[derive(Debug)]
enum Op {
    Mkdir(&'static str),
    File(&'static str),
    Fifo(&'static str),
    /// A link to an existing node that is no directory. So a walk through the link is `ENOTDIR`,
    /// whether it is followed or not.
    Symlink(&'static str),
    Link(&'static str, &'static str),
    Unlink(&'static str),
    Rename(&'static str, &'static str, RenameFlags),
}

impl Op {
    fn random(mut next: impl FnMut(usize) -> usize) -> Op {
        let (one, two) = (PATHS[next(PATHS.len())], PATHS[next(PATHS.len())]);
        match next(12) {
            0..3 => Op::Mkdir(one),
            3 => Op::File(one),
            4 => Op::Fifo(one),
            5 => Op::Symlink(one),
            6 => Op::Link(one, two),
            7 => Op::Unlink(one),
            8..10 => Op::Rename(one, two, RenameFlags::empty()),
            10 => Op::Rename(one, two, RenameFlags::NOREPLACE),
            _ => Op::Rename(one, two, RenameFlags::EXCHANGE),
        }
    }

    fn on_memfs(&self, fs: &MemFs) -> Result<(), Error> {
        match *self {
            Op::Mkdir(path) => fs.mkdir(path, 0o755),
            Op::File(path) => fs.file(path, 0o644),
            Op::Fifo(path) => fs.mknod(path, NewKind::Fifo, 0o600),
            Op::Symlink(path) => fs.symlink("/dev/null", path),
            Op::Link(from, to) => fs.link(from, to),
            Op::Unlink(path) => fs.unlink(path),
            Op::Rename(from, to, flags) => fs.rename_with(from, to, flags),
        }
    }

    fn on_host(&self, root: &Path) -> io::Result<()> {
        match *self {
            Op::Mkdir(path) => DirBuilder::new().mode(0o755).create(root.join(path)),
            Op::File(path) => File::create_new(root.join(path)).map(drop),
            Op::Fifo(path) => Ok(rustix::fs::mknodat(CWD, root.join(path), rustix::fs::FileType::Fifo, 0o600.into(), 0)?),
            Op::Symlink(path) => symlink("/dev/null", root.join(path)),
            Op::Link(from, to) => Ok(rustix::fs::linkat(CWD, root.join(from), CWD, root.join(to), AtFlags::empty())?),
            Op::Unlink(path) => {
                let path = root.join(path);
                if fs::symlink_metadata(&path)?.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }
            }
            Op::Rename(from, to, flags) => {
                let flags = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
                Ok(rustix::fs::renameat_with(CWD, root.join(from), CWD, root.join(to), flags)?)
            }
        }
    }
}

/// Returns one line for each node: path, type, links, and the path under which it was seen first.
fn tree_of_memfs(fs: &MemFs) -> Vec<String> {
    let (mut lines, mut seen, mut stack) = (Vec::new(), Vec::new(), vec![Vec::new()]);
    while let Some(path) = stack.pop() {
        let found = fs.stat(&path).unwrap();
        lines.push(line(&path, found.kind, found.nlink.into(), found.ino, &mut seen));
        if found.kind == FileType::Directory {
            stack.extend(fs.list(&path).unwrap().into_iter().map(|name| [&path, b"/".as_slice(), &name].concat()));
        }
    }
    lines
}

fn tree_of_host(root: &Path) -> Vec<String> {
    let (mut lines, mut seen, mut stack) = (Vec::new(), Vec::new(), vec![root.to_path_buf()]);
    while let Some(path) = stack.pop() {
        let found = fs::symlink_metadata(&path).unwrap();
        let kind = match found.file_type() {
            kind if kind.is_dir() => FileType::Directory,
            kind if kind.is_symlink() => FileType::Symlink,
            kind if kind.is_fifo() => FileType::Fifo,
            _ => FileType::Regular,
        };
        let beneath = &path.as_os_str().as_bytes()[root.as_os_str().len()..];
        lines.push(line(beneath, kind, found.nlink(), found.ino(), &mut seen));
        if kind == FileType::Directory {
            let mut inside: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
            inside.sort();
            stack.extend(inside);
        }
    }
    lines
}

fn line(path: &[u8], kind: FileType, links: u64, ino: u64, seen: &mut Vec<(u64, String)>) -> String {
    let path = path.escape_ascii().to_string();
    let first = match seen.iter().find(|(there, _)| *there == ino) {
        Some((_, first)) => first.clone(),
        None => {
            seen.push((ino, path.clone()));
            path.clone()
        }
    };
    format!("{path} {kind:?} {links} {first}")
}

fn compare(dir: &Path, seed: u64, steps: usize) {
    let (fs, mut state) = (MemFs::new(), seed);
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    for step in 0..steps {
        let op = Op::random(&mut next);
        let ours = op.on_memfs(&fs).map_err(|error| error.errno());
        let theirs = op.on_host(dir).map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(0)));
        assert_eq!(ours, theirs, "seed {seed}, step {step}, {op:?}, in {:#?}", tree_of_memfs(&fs));
    }
    assert_eq!(tree_of_memfs(&fs), tree_of_host(dir), "seed {seed}");
    assert_eq!((fs.usage().held, fs.usage().unlinked), (0, 0));
}

#[test]
fn the_kernel_agrees() {
    for seed in 0..20 {
        let dir = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        if fs::metadata(dir.path()).unwrap().nlink() != 2 {
            let why = format!("the file system of {} does not count the directories in a directory", dir.path().display());
            return skipped("the_kernel_agrees", &why);
        }
        compare(dir.path(), seed, 500);
    }
}
