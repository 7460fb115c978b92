//! Tests of changes: what is done through a `Vfs` is done on the host, and nothing else is.
//!
//! - `names`: nodes under several names, under none, and under names that move.
//! - `owners`: whose a new node is, and with what rights.
//! - `data`: data and sizes of files, and the rights and capabilities that a change of them
//!   removes.

#[path = "../common/mod.rs"]
mod common;

mod data;
mod names;
mod owners;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{At, AtFlags, Context, Errno, NewKind, OpenFlags, OpenOptions, RenameFlags};
use pathwalk::{SetTime, SpecialFiles, Timestamp, Vfs, XattrFlags};
use pathwalk_hostfs::{Coherence, HostFs, credentials};
use pathwalk_tests::skipped;

use common::assert_same;

/// Creates a directory with a `Vfs` that changes it, and returns the context of this process.
fn writable() -> (tempfile::TempDir, Context) {
    let dir = tempfile::tempdir().unwrap();
    let context = on(HostFs::open_writable(dir.path()).unwrap().with_coherence(Coherence::Exclusive));
    (dir, context)
}

fn on(fs: HostFs) -> Context {
    Vfs::builder().budget(16 << 20).build(fs).unwrap().context(credentials().unwrap())
}

/// Asserts that the engine has the attributes that the host has.
fn same(context: &Context, dir: &Path, path: &str) {
    assert_same(&dir.join(&path[1..]), &context.lstat(path).unwrap());
}

#[test]
fn a_frozen_tree_refuses_each_change() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let context = on(HostFs::open(dir.path()).unwrap().with_coherence(Coherence::Frozen));
    let errnos = [
        context.mkdir("/new", 0o755),
        context.unlink("/file"),
        context.chmod("/file", 0o600),
        context.truncate("/file", 5),
        context.open("/file", OpenFlags::WRITE).map(drop),
        context.setxattr("/file", "user.a", "b", XattrFlags::empty()),
        context.set_acl("/file", AclKind::Access, Some(&Acl::from_mode(0o600))),
    ];
    assert!(errnos.iter().all(|errno| *errno == Err(Errno::EROFS)), "{errnos:?}");
    assert_eq!(context.rename("/file", "/other").unwrap_err().errno(), Errno::EROFS);
    assert_eq!(context.link("/file", "/other"), Err(Errno::EROFS));
}

#[test]
fn what_is_made_is_on_the_host() {
    let (dir, mut context) = writable();
    let at = |path: &str| dir.path().join(path);
    context.umask(0o022);
    context.mkdir("/d", 0o777).unwrap();
    context.write("/d/file", "data").unwrap();
    context.symlink("file", "/d/link").unwrap();
    context.link("/d/file", "/d/second").unwrap();
    context.mknod("/d/pipe", NewKind::Fifo, 0o640).unwrap();
    context.mknod("/d/socket", NewKind::Socket, 0o600).unwrap();
    for path in ["/d", "/d/file", "/d/link", "/d/second", "/d/pipe", "/d/socket"] {
        same(&context, dir.path(), path);
    }
    assert_eq!(fs::read(at("d/second")).unwrap(), b"data");
    assert_eq!(fs::read_link(at("d/link")).unwrap(), Path::new("file"));
    assert_eq!(fs::metadata(at("d")).unwrap().mode() & 0o7777, 0o755);
    assert_eq!(context.mkdir("/d", 0o777), Err(Errno::EEXIST));

    context.rename("/d/file", "/moved").unwrap();
    context.renameat(At::Cwd, "/moved", At::Cwd, "/d/link", RenameFlags::EXCHANGE).unwrap();
    assert_eq!(fs::read(at("d/link")).unwrap(), b"data");
    context.renameat(At::Cwd, "/d", At::Cwd, "/e", RenameFlags::NOREPLACE).unwrap();
    assert_eq!(context.read("/e/second").unwrap(), b"data");
    for path in ["/e", "/e/link", "/e/second", "/moved"] {
        same(&context, dir.path(), path);
    }
    assert_eq!(context.rmdir("/e"), Err(Errno::ENOTEMPTY));
    ["/e/link", "/e/second", "/e/pipe", "/e/socket"].into_iter().for_each(|path| context.unlink(path).unwrap());
    context.rmdir("/e").unwrap();
    assert!(!at("e").exists());
}

#[test]
fn attributes_are_set_on_the_host() {
    let (dir, context) = writable();
    context.write("/file", "0123456789").unwrap();
    context.symlink("file", "/link").unwrap();
    context.chmod("/file", 0o4711).unwrap();
    context.truncate("/file", 4).unwrap();
    let time = Timestamp { seconds: 1_000_000, nanoseconds: 7 };
    context.utimensat(At::Cwd, "/file", SetTime::Keep, SetTime::To(time), AtFlags::empty()).unwrap();
    context.utimensat(At::Cwd, "/link", SetTime::To(time), SetTime::To(time), AtFlags::SYMLINK_NOFOLLOW).unwrap();
    same(&context, dir.path(), "/file");
    same(&context, dir.path(), "/link");
    assert_eq!(context.stat("/file").unwrap().mtime, time);
    assert_eq!(fs::read(dir.path().join("file")).unwrap(), b"0123");
    // Nothing is set, and the time of change moves.
    let before = context.stat("/file").unwrap().ctime;
    context.chown("/file", None, None).unwrap();
    assert!(context.stat("/file").unwrap().ctime > before);
    same(&context, dir.path(), "/file");
}

trait OpenWithMode {
    fn openat_mode(&self, path: &str, mode: u16) -> pathwalk::File;
}

impl OpenWithMode for Context {
    fn openat_mode(&self, path: &str, mode: u16) -> pathwalk::File {
        OpenOptions::new().write(true).create_new(true).mode(mode).open(self, path).unwrap()
    }
}

#[test]
fn extended_attributes_and_flags_are_the_hosts() {
    let (dir, context) = writable();
    context.write("/file", "").unwrap();
    context.symlink("file", "/link").unwrap();
    let set = context.setxattr("/file", "user.colour", "red", XattrFlags::CREATE);
    if set == Err(Errno::EOPNOTSUPP) {
        return skipped("extended_attributes_and_flags_are_the_hosts", "this file system keeps none");
    }
    set.unwrap();
    assert_eq!(context.setxattr("/file", "user.colour", "blue", XattrFlags::CREATE), Err(Errno::EEXIST));
    let mut value = [0; 8];
    assert_eq!(rustix::fs::getxattr(dir.path().join("file"), "user.colour", &mut value[..]), Ok(3));
    let file = context.open("/file", OpenFlags::READ).unwrap();
    context.unlink("/file").unwrap();
    assert_eq!(file.getxattr("user.colour").as_deref(), Ok(&b"red"[..]), "without a name, too");
    file.removexattr("user.colour").unwrap();
    assert_eq!(file.getxattr("user.colour"), Err(Errno::ENODATA));
    if rustix::process::geteuid().is_root() {
        context.setxattrat(At::Cwd, "/link", "trusted.a", "b", XattrFlags::empty(), AtFlags::SYMLINK_NOFOLLOW).unwrap();
        assert_eq!(rustix::fs::lgetxattr(dir.path().join("link"), "trusted.a", &mut value[..]), Ok(1));
    }
}

#[test]
fn pipes_are_the_engines_only_where_that_is_said() {
    let (dir, context) = writable();
    context.mknod("/pipe", NewKind::Fifo, 0o600).unwrap();
    let flags = OpenFlags::READ | OpenFlags::NONBLOCK;
    assert_eq!(context.open("/pipe", flags).unwrap_err(), Errno::ENXIO);
    let context = on(HostFs::open_writable(dir.path())
        .unwrap()
        .with_coherence(Coherence::Exclusive)
        .with_special_files(SpecialFiles::OfEngine));
    let reader = context.open("/pipe", flags).unwrap();
    let writer = context.open("/pipe", OpenFlags::WRITE).unwrap();
    assert_eq!(writer.write(b"through the engine"), Ok(18));
    assert_eq!(reader.read(&mut [0; 64]), Ok(18));
    let context = on(HostFs::open_writable(dir.path())
        .unwrap()
        .with_coherence(Coherence::Exclusive)
        .with_special_files(SpecialFiles::OfFileSystem));
    assert_eq!(context.open("/pipe", flags).unwrap_err(), Errno::ENXIO);
}
