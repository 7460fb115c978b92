//! Tests of permission: mode bits, capabilities, sticky directories.

use pathwalk_model::{Access, AtFlags, Capabilities, Credentials, Errno, RenameFlags};

use crate::world::{AT, NOTHING, OK, World, fails, run};

const OWNER: u32 = 1;
const MEMBER: u32 = 2;
const STRANGER: u32 = 3;

/// Returns the credentials of a user; the member belongs to group 9 by a supplementary group.
fn credentials(uid: u32) -> Credentials {
    Credentials::user(uid, uid, if uid == MEMBER { &[9] } else { &[] })
}

#[test]
fn the_first_triad_that_fits_decides() {
    for (mode, uid, command, expected) in [
        (0o077, OWNER, "read t", fails(Errno::EACCES)),
        (0o700, OWNER, "read t", OK),
        (0o707, MEMBER, "read t", fails(Errno::EACCES)),
        (0o070, MEMBER, "read+execute t", OK),
        (0o770, STRANGER, "read t", fails(Errno::EACCES)),
        (0o004, STRANGER, "read t", OK),
        (0o004, STRANGER, "read+execute t", fails(Errno::EACCES)),
        (0o002, STRANGER, "write t", OK),
    ] {
        let mut world = World::new();
        world.file("t", mode);
        world.chown("t", OWNER, 9);
        let mut process = world.model.process(credentials(uid));
        assert_eq!(run(&world.model, &mut process, command), expected, "{mode:o} {uid} {command}");
    }
}

#[test]
fn capabilities() {
    let (all, search) = (Capabilities::DAC_OVERRIDE, Capabilities::DAC_READ_SEARCH);
    let denied = fails(Errno::EACCES);
    for (capability, mode, command, expected) in [
        (search, 0o000, "read file", OK),
        (search, 0o111, "read+execute file", denied),
        (search, 0o000, "write file", denied),
        (search, 0o000, "execute directory", OK),
        (search, 0o000, "read+execute directory", OK),
        (search, 0o000, "write directory", denied),
        (all, 0o000, "read file", OK),
        (all, 0o000, "write file", OK),
        (all, 0o666, "execute file", denied),
        (all, 0o001, "execute file", OK),
        (all, 0o000, "execute directory", OK),
        (all, 0o000, "write directory", OK),
        (Capabilities::FOWNER, 0o000, "read file", denied),
    ] {
        let mut world = World::new();
        world.file("file", mode);
        world.directory("directory", mode);
        let mut process = world.model.process(credentials(STRANGER).with_capabilities(capability));
        assert_eq!(run(&world.model, &mut process, command), expected, "{capability:?} {mode:o} {command}");
    }
}

#[test]
fn access_asks_for_the_real_user() {
    let mut world = World::new();
    world.file("t", 0o600);
    world.directory("closed", 0o700);
    world.file("closed/t", 0o666);
    let real = |uid, permitted| Credentials { uid, permitted, ..Credentials::root() };
    for (credentials, path, flags, expected) in [
        (real(1, Capabilities::all()), "t", NOTHING, fails(Errno::EACCES)),
        (real(1, Capabilities::all()), "t", AtFlags::EACCESS, OK),
        (real(1, Capabilities::all()), "closed/t", NOTHING, fails(Errno::EACCES)),
        (Credentials { uid: 0, permitted: Capabilities::all(), ..Credentials::user(1, 1, &[]) }, "t", NOTHING, OK),
        (
            Credentials { uid: 0, permitted: Capabilities::all(), ..Credentials::user(1, 1, &[]) },
            "t",
            AtFlags::EACCESS,
            fails(Errno::EACCES),
        ),
        (Credentials::root(), "t", AtFlags::SYMLINK_FOLLOW, fails(Errno::EINVAL)),
    ] {
        let mut process = world.model.process(credentials.clone());
        let answer = world.model.access(&mut process, AT, path.as_bytes(), Access::WRITE, flags);
        assert_eq!(answer, expected, "{credentials:?} {path} {flags:?}");
    }
    let World { model, root } = &mut world;
    assert_eq!(model.access(root, AT, b"nope", Access::from_bits_retain(8), NOTHING), Err(Errno::EINVAL));
    assert_eq!(model.access(root, AT, b"nope", Access::empty(), NOTHING), Err(Errno::ENOENT));
}

/// Checks the answers to several users in a directory of root's with this mode; `t/file` and
/// `t/dir` belong to the owner.
#[test]
fn removing_and_sticky_directories() {
    let denied = fails(Errno::EACCES);
    let forbidden = fails(Errno::EPERM);
    for (mode, uid, command, expected) in [
        (0o755, STRANGER, "unlink t/file", denied),
        (0o755, OWNER, "unlink t/file", denied),
        (0o777, STRANGER, "unlink t/file", OK),
        (0o1777, STRANGER, "unlink t/file", forbidden),
        (0o1777, OWNER, "unlink t/file", OK),
        (0o1777, STRANGER, "rmdir t/file", forbidden),
        (0o777, STRANGER, "rmdir t/file", fails(Errno::ENOTDIR)),
        (0o1777, STRANGER, "rmdir t/dir", forbidden),
        (0o1777, STRANGER, "rename t/file d/x", forbidden),
        (0o1777, STRANGER, "rename d/sub t/dir", forbidden),
        (0o1777, STRANGER, "rename f t/file", denied),
        (0o755, STRANGER, "mkdir t/new", denied),
        (0o755, STRANGER, "mkdir t/dir", fails(Errno::EEXIST)),
        (0o755, STRANGER, "unlink t/nope", fails(Errno::ENOENT)),
        (0o755, STRANGER, "open CREAT t/new", denied),
        (0o755, STRANGER, "open CREAT t/file", OK),
        (0o744, STRANGER, "stat t/file", denied),
        (0o744, STRANGER, "stat t/.", denied),
        (0o744, STRANGER, "stat t/nope", denied),
    ] {
        let mut world = World::new();
        world.directory("t", mode);
        world.file("t/file", 0o666);
        world.directory("t/dir", 0o777);
        world.chown("t/file", OWNER, OWNER);
        world.chown("t/dir", OWNER, OWNER);
        let mut process = world.model.process(credentials(uid));
        assert_eq!(run(&world.model, &mut process, command), expected, "{mode:o} {uid} {command}");
    }
}

#[test]
fn long_names_come_before_the_right_to_make() {
    let mut world = World::new();
    world.directory("t", 0o755);
    let mut user = world.user(STRANGER);
    let long = "x".repeat(256);
    for command in ["open CREAT t/", "mkdir t/", "rename f t/"] {
        assert_eq!(run(&world.model, &mut user, &format!("{command}{long}")), fails(Errno::ENAMETOOLONG), "{command}");
    }
}

#[test]
fn names_of_one_node_need_no_right_to_rename() {
    let mut world = World::new();
    world.directory("t", 0o755);
    world.file("t/a", 0o600);
    world.run("link t/a t/b").unwrap();
    let mut user = world.user(STRANGER);
    for (command, expected) in [
        ("rename t/a t/b", OK),
        ("exchange t/a t/b", OK),
        ("noreplace t/a t/b", fails(Errno::EEXIST)),
        ("rename t/a t/b/", fails(Errno::ENOTDIR)),
        ("rename t/a t/c", fails(Errno::EACCES)),
    ] {
        assert_eq!(run(&world.model, &mut user, command), expected, "{command}");
    }
    assert_eq!(world.run("stat t/a"), OK);
}

#[test]
fn a_directory_that_moves_must_be_writable() {
    let mut world = World::new();
    world.chmod("/", 0o777);
    world.directory("moved", 0o555);
    world.directory("other", 0o555);
    let mut user = world.user(STRANGER);
    for (command, expected) in [
        ("rename moved renamed", OK),
        ("rename renamed d/moved", fails(Errno::EACCES)),
        ("exchange renamed d/sub", fails(Errno::EACCES)),
        ("exchange d/sub other", fails(Errno::EACCES)),
        ("exchange renamed other", OK),
    ] {
        assert_eq!(run(&world.model, &mut user, command), expected, "{command}");
    }
}

#[test]
fn devices() {
    let World { model, root } = &mut World::new();
    model.chmod(root, AT, b"/", 0o777, NOTHING).unwrap();
    let mut user = model.process(credentials(STRANGER));
    for (mode, device, expected) in [
        (libc::S_IFCHR, 0x103, fails(Errno::EPERM)),
        (libc::S_IFBLK, 0, fails(Errno::EPERM)),
        (libc::S_IFCHR, 0, OK),
        (libc::S_IFIFO, 0, OK),
        (libc::S_IFSOCK, 0, OK),
        (libc::S_IFDIR, 0, fails(Errno::EPERM)),
        (libc::S_IFLNK, 0, fails(Errno::EINVAL)),
        (0o030000, 0, fails(Errno::EINVAL)),
        (0, 0, OK),
    ] {
        let path = format!("d/{mode:o}.{device}");
        assert_eq!(model.mknod(&mut user, AT, path.as_bytes(), mode | 0o600, device), expected, "{mode:o} {device}");
    }
    assert_eq!(model.mknod(&mut user, AT, &[b'x'; 5000], libc::S_IFDIR, 0), fails(Errno::EPERM));
    assert_eq!(model.mknod(root, AT, b"device", libc::S_IFCHR | 0o600, 0x103), OK);
    assert_eq!(model.stat(root, AT, b"device", NOTHING).unwrap().device, 0x103);
}

#[test]
fn rename_flags() {
    let World { model, root } = &mut World::new();
    for flags in [RenameFlags::all(), RenameFlags::from_bits_retain(8)] {
        assert_eq!(model.rename(root, AT, b"", AT, b"", flags), Err(Errno::EINVAL));
    }
    assert_eq!(model.rename(root, 99, b".", 98, b"nope/x", RenameFlags::empty()), Err(Errno::EBADF));
    assert_eq!(model.rename(root, AT, b".", AT, b"nope/x", RenameFlags::empty()), Err(Errno::ENOENT));
}
