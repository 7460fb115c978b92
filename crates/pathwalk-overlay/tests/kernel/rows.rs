//! Operations on a branch and on the kernel's overlayfs over the same base, one at a time: results
//! and trees are compared. Then the layer is taken, and that branch compared with the mount.
//!
//! What always holds: each row begins with the same steps, so there are names of the base, removed
//! ones, new ones in their place, renamed directories and copied files. A third of the rows is
//! taken, by the seed; all with `PATHWALK_OVERLAY_ROWS=all`.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use pathwalk::{AtFlags, Context, Errno, NewKind, OpenFlags, OpenHow, RenameFlags, Resolve, SetTime, Timestamp, XattrFlags};
use rustix::fs::{CWD, FileType, Mode, Timespec, Timestamps, mknodat, renameat_with, setxattr};

use super::random::seed;
use super::world::{Shown, World, as_root, context, host, keep_accesses};

/// An operation on one name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum One {
    Read,
    List,
    ReadLink,
    Stat,
    Mkdir,
    Create,
    Append,
    Overwrite,
    OpenForWriting,
    Truncate,
    Chmod,
    Chown,
    Utimes,
    SetXattr,
    ListXattr,
    Unlink,
    Rmdir,
    RemoveAll,
    Symlink,
    Fifo,
    MakeBelow,
}

const ONES: [One; 21] = [
    One::Read,
    One::List,
    One::ReadLink,
    One::Stat,
    One::Mkdir,
    One::Create,
    One::Append,
    One::Overwrite,
    One::OpenForWriting,
    One::Truncate,
    One::Chmod,
    One::Chown,
    One::Utimes,
    One::SetXattr,
    One::ListXattr,
    One::Unlink,
    One::Rmdir,
    One::RemoveAll,
    One::Symlink,
    One::Fifo,
    One::MakeBelow,
];

/// An operation on two names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Two {
    Rename,
    RenameNoReplace,
    Exchange,
    Link,
}

const TWOS: [Two; 4] = [Two::Rename, Two::RenameNoReplace, Two::Exchange, Two::Link];

/// The names of the rows.
const NAMES: [&str; 19] = [
    "file", "one", "link", "dangling", "empty", "full", "full/x", "full/sub", "gone", "again", "again/z", "here", "here/in",
    "here/sub", "moved", "copied", "new", "newdir", "file/x",
];

/// The names of operations on two.
const FEW: [&str; 12] = ["file", "one", "two", "link", "empty", "full", "full/sub", "gone", "again", "here", "here/in", "copied"];

const TIME: i64 = 1_000_000_007;

/// Makes the base.
fn base(dir: &Path) -> io::Result<()> {
    let big: Vec<u8> = (0..20_000_u32).map(|number| (number % 251) as u8).collect();
    for made in ["empty", "full", "full/sub", "gone", "again", "moved", "moved/sub"] {
        fs::create_dir(dir.join(made))?;
    }
    for (file, data) in [
        ("file", &big[..]),
        ("one", b"one"),
        ("full/x", b"x"),
        ("full/sub/y", b"y"),
        ("gone/z", b"z"),
        ("again/z", b"z"),
        ("moved/in", b"in"),
        ("moved/sub/deep", b"deep"),
        ("copied", &big),
    ] {
        fs::write(dir.join(file), data)?;
    }
    fs::hard_link(dir.join("one"), dir.join("two"))?;
    symlink("file", dir.join("link"))?;
    symlink("nowhere", dir.join("dangling"))?;
    keep_accesses(dir)
}

/// Does on the mount what each row begins with.
fn begin_on_mount(dir: &Path) -> io::Result<()> {
    fs::remove_dir_all(dir.join("gone"))?;
    fs::remove_dir_all(dir.join("again"))?;
    fs::create_dir(dir.join("again"))?;
    fs::rename(dir.join("moved"), dir.join("here"))?;
    OpenOptions::new().append(true).open(dir.join("copied"))?.write_all(b"more")?;
    fs::write(dir.join("new"), "new")?;
    fs::create_dir(dir.join("newdir"))
}

/// Does the same on a branch.
fn begin_on_branch(context: &Context) -> Result<(), Errno> {
    context.remove_dir_all("gone")?;
    context.remove_dir_all("again")?;
    context.mkdir("again", 0o755)?;
    context.rename("moved", "here")?;
    context.open("copied", OpenFlags::WRITE | OpenFlags::APPEND)?.write_all(b"more")?;
    context.write("new", "new")?;
    context.mkdir("newdir", 0o755)
}

/// What an operation returned.
type Answer = Result<Vec<u8>, Errno>;

fn names(mut all: Vec<Vec<u8>>) -> Vec<u8> {
    all.sort();
    all.join(&b"/"[..])
}

fn nothing<T>(_: T) -> Vec<u8> {
    Vec::new()
}

impl One {
    fn on_mount(self, path: &Path) -> io::Result<Vec<u8>> {
        use std::os::unix::ffi::{OsStrExt, OsStringExt};
        use std::os::unix::fs::MetadataExt;
        let mut options = OpenOptions::new();
        match self {
            One::Read => fs::read(path),
            One::List => {
                let entries = fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().as_bytes().to_vec()));
                entries.collect::<io::Result<Vec<_>>>().map(names)
            }
            One::ReadLink => Ok(fs::read_link(path)?.into_os_string().into_vec()),
            One::Stat => {
                let of = fs::symlink_metadata(path)?;
                let size = if of.is_dir() { 0 } else { of.size() };
                Ok(format!("{:o} {} {size}", of.mode() & 0o7777, of.uid()).into_bytes())
            }
            One::Mkdir => fs::create_dir(path).map(nothing),
            One::Create => options.write(true).create_new(true).open(path).map(nothing),
            One::Append => options.append(true).open(path)?.write_all(b"appended").map(nothing),
            One::Overwrite => fs::write(path, "overwritten").map(nothing),
            One::OpenForWriting => options.write(true).open(path).map(nothing),
            One::Truncate => options.write(true).open(path)?.set_len(5000).map(nothing),
            One::Chmod => fs::set_permissions(path, fs::Permissions::from_mode(0o711)).map(nothing),
            One::Chown => chown(path, Some(7), Some(8)).map(nothing),
            One::Utimes => {
                let time = Timespec { tv_sec: TIME, tv_nsec: 3 };
                let times = Timestamps { last_access: time, last_modification: time };
                Ok(rustix::fs::utimensat(CWD, path, &times, rustix::fs::AtFlags::empty()).map(nothing)?)
            }
            One::SetXattr => Ok(setxattr(path, "user.a", b"value", rustix::fs::XattrFlags::empty()).map(nothing)?),
            One::ListXattr => {
                let mut buffer = [0; 1024];
                let length = rustix::fs::listxattr(path, &mut buffer)?;
                Ok(buffer[..length].to_vec())
            }
            One::Unlink => Ok(rustix::fs::unlinkat(CWD, path, rustix::fs::AtFlags::empty()).map(nothing)?),
            One::Rmdir => fs::remove_dir(path).map(nothing),
            One::RemoveAll => fs::remove_dir_all(path).map(nothing),
            One::Symlink => symlink("body", path).map(nothing),
            One::Fifo => Ok(mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).map(nothing)?),
            One::MakeBelow => fs::write(path.join("below"), "below").map(nothing),
        }
    }

    fn on_branch(self, context: &Context, path: &str) -> Answer {
        match self {
            One::Read => Ok(context.read(path)?),
            One::List => {
                let entries = context.read_dir(path)?.map(|entry| entry.map(|entry| entry.name().to_vec()));
                Ok(entries.collect::<Result<Vec<_>, _>>().map(names)?)
            }
            One::ReadLink => Ok(context.read_link(path)?.into_os_string().into_encoded_bytes()),
            One::Stat => {
                let of = context.lstat(path)?;
                let size = if of.kind == pathwalk::FileType::Directory { 0 } else { of.size };
                Ok(format!("{:o} {} {size}", of.mode, of.uid).into_bytes())
            }
            One::Mkdir => context.mkdir(path, 0o755).map(nothing),
            One::Create => {
                let flags = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
                context.open(path, OpenHow { flags, mode: 0o644, resolve: Resolve::empty() }).map(nothing)
            }
            One::Append => context.open(path, OpenFlags::WRITE | OpenFlags::APPEND)?.write_all(b"appended").map(nothing),
            One::Overwrite => Ok(nothing(context.write(path, "overwritten")?)),
            One::OpenForWriting => context.open(path, OpenFlags::WRITE).map(nothing),
            One::Truncate => context.open(path, OpenFlags::WRITE)?.set_len(5000).map(nothing),
            One::Chmod => context.chmod(path, 0o711).map(nothing),
            One::Chown => context.chown(path, Some(7), Some(8)).map(nothing),
            One::Utimes => {
                let time = SetTime::To(Timestamp { seconds: TIME, nanoseconds: 3 });
                context.utimensat(context.root(), path, time, time, AtFlags::empty()).map(nothing)
            }
            One::SetXattr => context.setxattr(path, "user.a", "value", XattrFlags::empty()).map(nothing),
            One::ListXattr => {
                let names = context.listxattr(path)?;
                Ok(names.iter().flat_map(|name| [name, b"\0"].concat()).collect())
            }
            One::Unlink => context.unlink(path).map(nothing),
            One::Rmdir => context.rmdir(path).map(nothing),
            One::RemoveAll => Ok(nothing(context.remove_dir_all(path)?)),
            One::Symlink => context.symlink("body", path).map(nothing),
            One::Fifo => context.mknod(path, NewKind::Fifo, 0o600).map(nothing),
            One::MakeBelow => Ok(nothing(context.write(format!("{path}/below"), "below")?)),
        }
    }
}

impl Two {
    fn on_mount(self, from: &Path, to: &Path) -> io::Result<()> {
        let with = |flags| Ok(renameat_with(CWD, from, CWD, to, flags)?);
        match self {
            Two::Rename => fs::rename(from, to),
            Two::RenameNoReplace => with(rustix::fs::RenameFlags::NOREPLACE),
            Two::Exchange => with(rustix::fs::RenameFlags::EXCHANGE),
            Two::Link => fs::hard_link(from, to),
        }
    }

    fn on_branch(self, context: &Context, from: &str, to: &str) -> Result<(), Errno> {
        let with = |flags| context.renameat(context.root(), from, context.root(), to, flags);
        match self {
            Two::Rename => with(RenameFlags::empty()),
            Two::RenameNoReplace => with(RenameFlags::NOREPLACE),
            Two::Exchange => with(RenameFlags::EXCHANGE),
            Two::Link => Ok(context.link(from, to)?),
        }
    }
}

/// An operation with its names.
#[derive(Clone, Copy, Debug)]
enum Row {
    One(One, &'static str),
    Two(Two, &'static str, &'static str),
}

impl Row {
    fn on_mount(self, dir: &Path) -> Answer {
        let result = match self {
            Row::One(one, name) => one.on_mount(&dir.join(name)),
            Row::Two(two, from, to) => two.on_mount(&dir.join(from), &dir.join(to)).map(nothing),
        };
        result.map_err(|error| Errno::from_raw(error.raw_os_error().expect("it is one of the kernel")))
    }

    fn on_branch(self, context: &Context) -> Answer {
        match self {
            Row::One(one, name) => one.on_branch(context, name),
            Row::Two(two, from, to) => two.on_branch(context, from, to).map(nothing),
        }
    }

    /// Asks both, compares, and returns whether it was carried out.
    fn is_done(self, world: &mut World) -> bool {
        let what = format!("{self:?}");
        let mounted = world.mount();
        let branches = world.branches();
        let branch = context(branches.fork(None, "row").expect("the name is free"));
        begin_on_mount(&mounted.at).expect("each row begins so");
        begin_on_branch(&branch).expect("each row begins so");
        let (wanted, found) = (self.on_mount(&mounted.at), self.on_branch(&branch));
        assert_eq!(found, wanted, "{what}: the branch, and overlayfs");
        let shown = Shown::of(&host(&mounted.at));
        Shown::of(&branch).assert_same_untimed(&shown, &what);
        world.take(&mounted.unmount(), &shown, &what);
        wanted.is_ok()
    }
}

#[test]
fn a_branch_answers_as_overlayfs() {
    as_root(|| {
        let mut world = World::in_memory();
        base(&world.base()).expect("there is room");
        let is_all = std::env::var_os("PATHWALK_OVERLAY_ROWS").is_some_and(|rows| rows == "all");
        let (parts, part) = if is_all { (1, 0) } else { (3, seed() as usize % 3) };
        let ones = ONES.iter().flat_map(|one| NAMES.iter().map(move |name| Row::One(*one, name)));
        let pairs = FEW.iter().flat_map(|from| FEW.iter().map(move |to| (*from, *to)));
        let twos = TWOS.iter().flat_map(|two| pairs.clone().map(move |(from, to)| Row::Two(*two, from, to)));
        let (mut rows, mut done) = (0, 0);
        for row in ones.chain(twos).skip(part).step_by(parts) {
            rows += 1;
            done += usize::from(row.is_done(&mut world));
        }
        println!("{rows} rows, of which {done} were carried out");
        assert!(rows >= 300);
    });
}
