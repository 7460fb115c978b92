//! The mode `Strict`: what another process has changed is seen by each operation that begins
//! afterwards, whatever was cached, and by every face alike.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::common::{apart, on_ext4, on_tmpfs};
use pathwalk::{At, AtFlags, Context, Credentials, Errno, FileType, OpenFlags, RenameFlags, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use rustix::mount::{MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount};
use rustix::thread::UnshareFlags;

fn read_only(at: &Path) -> Context {
    let fs = HostFs::open(at).unwrap().with_coherence(Coherence::Strict);
    Vfs::builder().build(fs).unwrap().context(Credentials::root())
}

fn writable(at: &Path) -> Context {
    let fs = HostFs::open_writable(at).unwrap().with_coherence(Coherence::Strict);
    Vfs::builder().build(fs).unwrap().context(Credentials::root())
}

/// Runs a test with a read-only and with a writable root, on both file systems.
fn everywhere(test: &str, body: fn(&Path, &Context)) {
    let both = |at: &Path| {
        for of in [read_only, writable] {
            let root = tempfile::tempdir_in(at).unwrap();
            body(root.path(), &of(root.path()));
        }
    };
    on_tmpfs(test, "mode=755", both);
    on_ext4(test, both);
}

#[test]
fn names_and_absences() {
    everywhere("names_and_absences", |at, context| {
        let ino = |path: &str| context.stat(path).map(|of| of.ino);
        fs::create_dir(at.join("d")).unwrap();
        for round in 0..3 {
            assert_eq!(ino("/d/f"), Err(Errno::ENOENT), "{round}");
            // Within one tick of the clock.
            fs::write(at.join("d/f"), "x").unwrap();
            let first = ino("/d/f").unwrap();
            fs::write(at.join("d/other"), "y").unwrap();
            fs::rename(at.join("d/other"), at.join("d/f")).unwrap();
            assert_ne!(ino("/d/f").unwrap(), first);
            assert_eq!(context.cached().stat("/d/f"), Err(Errno::EAGAIN));
            fs::remove_file(at.join("d/f")).unwrap();
        }
        // The directory on the way is another one.
        fs::write(at.join("d/f"), "x").unwrap();
        ino("/d/f").unwrap();
        fs::rename(at.join("d"), at.join("before")).unwrap();
        assert_eq!(ino("/d/f"), Err(Errno::ENOENT));
        assert!(ino("/before/f").is_ok());
        symlink("before", at.join("d")).unwrap();
        assert_eq!(ino("/d/f"), ino("/before/f"));
        fs::remove_file(at.join("d")).unwrap();
        symlink("nowhere", at.join("d")).unwrap();
        assert_eq!(ino("/d/f"), Err(Errno::ENOENT));
        fs::remove_file(at.join("d")).unwrap();
        fs::remove_dir_all(at.join("before")).unwrap();
    });
}

#[test]
fn attributes_and_rights() {
    everywhere("attributes_and_rights", |at, context| {
        let user = context.clone().with_credentials(Credentials::user(7, 7, &[]));
        fs::create_dir(at.join("d")).unwrap();
        fs::write(at.join("d/f"), "x").unwrap();
        let chmod = |path: &str, mode| fs::set_permissions(at.join(path), fs::Permissions::from_mode(mode)).unwrap();
        chmod("", 0o755);
        let file = context.open("/d/f", OpenFlags::READ).unwrap();
        let handle = context.lookup("/d/f").unwrap();
        for mode in [0o600, 0o644, 0o640] {
            chmod("d/f", mode);
            let modes = [context.stat("/d/f").unwrap(), file.metadata().unwrap(), handle.attributes().unwrap()].map(|of| of.mode);
            assert_eq!(modes, [mode as u16; 3]);
            assert_eq!(user.read("/d/f").is_ok(), mode & 4 != 0);
        }
        chmod("d/f", 0o644);
        for mode in [0o700, 0o755, 0o700] {
            chmod("d", mode);
            let refused = (mode == 0o700).then_some(Errno::EACCES);
            assert_eq!(user.stat("/d/f").err(), refused);
            assert_eq!(user.stat("/d/absent").err(), refused.or(Some(Errno::ENOENT)));
        }
        fs::write(at.join("d/f"), "longer").unwrap();
        assert_eq!((file.metadata().unwrap().size, context.stat("/d/f").unwrap().size), (6, 6));
        // An open file that has lost its name still has attributes; a handle alone has not.
        fs::remove_file(at.join("d/f")).unwrap();
        assert_eq!(context.stat("/d/f"), Err(Errno::ENOENT));
        assert_eq!(file.metadata().unwrap().size, 6);
        drop(file);
        fs::write(at.join("d/f"), "another").unwrap();
        assert_eq!(handle.attributes(), Err(Errno::ESTALE));
    });
}

#[test]
fn changes_through_the_engine_beside_others() {
    let body = |at: &Path| {
        let root = tempfile::tempdir_in(at).unwrap();
        let (at, context) = (root.path(), writable(root.path()));
        fs::write(at.join("f"), "x").unwrap();
        context.stat("/f").unwrap();
        fs::remove_file(at.join("f")).unwrap();
        context.mkdir("/f", 0o755).unwrap();
        assert!(at.join("f").is_dir());
        assert_eq!(context.stat("/g"), Err(Errno::ENOENT));
        fs::create_dir(at.join("g")).unwrap();
        assert_eq!(context.mkdir("/g", 0o755), Err(Errno::EEXIST));
        let how = OpenFlags::WRITE | OpenFlags::CREATE | OpenFlags::EXCLUSIVE;
        assert_eq!(context.open("/g", how).err(), Some(Errno::EEXIST));
        fs::remove_dir(at.join("g")).unwrap();
        assert_eq!(context.rmdir("/g"), Err(Errno::ENOENT));
        fs::write(at.join("g"), "x").unwrap();
        assert_eq!(context.rmdir("/g"), Err(Errno::ENOTDIR));
        context.unlink("/g").unwrap();
        assert!(!at.join("g").exists());
        // What is in a directory that another process has moved.
        context.mkdir("/d", 0o755).unwrap();
        context.stat("/d").unwrap();
        fs::rename(at.join("d"), at.join("e")).unwrap();
        context.open("/e/new", how).unwrap();
        assert!(at.join("e/new").exists());
        fs::write(at.join("h"), "").unwrap();
        context.renameat(At::Cwd, "/h", At::Cwd, "/e/new", RenameFlags::empty()).unwrap();
        fs::remove_file(at.join("e/new")).unwrap();
        context.rmdir("/e").unwrap();
        // A directory that was made is not taken to be empty.
        context.mkdir("/made", 0o755).unwrap();
        assert_eq!(context.stat("/made/f"), Err(Errno::ENOENT));
        fs::write(at.join("made/f"), "").unwrap();
        assert_eq!(context.stat("/made/f").unwrap().kind, FileType::Regular);
        assert_eq!(context.rmdir("/made"), Err(Errno::ENOTEMPTY));
    };
    on_tmpfs("changes_through_the_engine_beside_others", "mode=755", body);
    on_ext4("changes_through_the_engine_beside_others", body);
}

/// A mount over a name changes no time of the name's directory.
#[test]
fn mounts_that_come_and_go() {
    let ran = apart(UnshareFlags::NEWNS | UnshareFlags::FS, || {
        let why = |errno: rustix::io::Errno| format!("nothing can be mounted ({errno})");
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC).map_err(why)?;
        let dir = tempfile::tempdir().unwrap();
        let (at, context) = (dir.path(), read_only(dir.path()));
        fs::create_dir(at.join("d")).unwrap();
        fs::write(at.join("d/below"), "x").unwrap();
        let found = || ["/d/below", "/d/above"].map(|path| context.stat(path).is_ok());
        for _ in 0..3 {
            assert_eq!(found(), [true, false]);
            mount("pathwalk", at.join("d"), "tmpfs", MountFlags::empty(), c"mode=755").map_err(why)?;
            fs::write(at.join("d/above"), "x").unwrap();
            assert_eq!(found(), [false, true]);
            unmount(at.join("d"), UnmountFlags::DETACH).map_err(why)?;
        }
        Ok(())
    });
    if let Err(reason) = ran {
        pathwalk_tests::skipped("mounts_that_come_and_go", &reason);
    }
}

/// Checks that nothing leads out of the root, and that a handle does not answer from a place that
/// another directory has by now.
#[test]
fn a_directory_that_another_one_replaced_or_that_left() {
    everywhere("a_directory_that_another_one_replaced_or_that_left", |at, context| {
        for name in ["a", "b"] {
            fs::create_dir(at.join(name)).unwrap();
            fs::write(at.join(name).join(name), "x").unwrap();
        }
        let a = context.lookup("/a").unwrap();
        let within = |name: &str| context.fstatat(&a, name, AtFlags::empty()).map(drop);
        assert_eq!((within("a"), within("b")), (Ok(()), Err(Errno::ENOENT)));
        // Another directory has its path.
        fs::rename(at.join("a"), at.join("c")).unwrap();
        fs::rename(at.join("b"), at.join("a")).unwrap();
        assert!(within("b").is_err_and(|errno| [Errno::ESTALE, Errno::ENOENT].contains(&errno)));
        assert_eq!(within("a"), Err(Errno::ESTALE), "it was not found again yet");
        context.stat("/c/a").unwrap();
        assert_eq!((within("a"), within("b")), (Ok(()), Err(Errno::ENOENT)));
        let outside = tempfile::tempdir_in(at.parent().unwrap()).unwrap();
        fs::rename(at.join("c"), outside.path().join("c")).unwrap();
        assert_eq!(within("a"), Err(Errno::ESTALE));
        assert_eq!(context.stat("/c/a"), Err(Errno::ENOENT));
    });
}
