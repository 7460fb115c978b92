//! Tests of working directories, roots, and removed directories.

use pathwalk_model::{AtFlags, Capabilities, Credentials, Errno, OpenFlags, RenameFlags};

use crate::world::{AT, NOTHING, OK, World, fails, run};

#[test]
fn removed_directories() {
    let mut world = World::new();
    world.run("chdir d/sub").unwrap();
    world.run("rmdir ../sub").unwrap();
    let long = "x".repeat(256);
    for (command, expected) in [
        ("stat .", OK),
        ("stat ..", OK),
        ("stat nope", fails(Errno::ENOENT)),
        (&format!("stat {long}"), fails(Errno::ENOENT)),
        ("mkdir x", fails(Errno::ENOENT)),
        ("mkdir .", fails(Errno::EEXIST)),
        ("rmdir .", fails(Errno::EINVAL)),
        ("mknod x", fails(Errno::ENOENT)),
        ("symlink x y", fails(Errno::ENOENT)),
        ("link /f x", fails(Errno::ENOENT)),
        ("open CREAT x", fails(Errno::ENOENT)),
        ("open TMPFILE|RDWR .", OK),
        ("rename /f x", fails(Errno::ENOENT)),
        ("rename x /f", fails(Errno::ENOENT)),
        ("rename /f .", fails(Errno::EBUSY)),
        ("chdir .", OK),
    ] {
        assert_eq!(world.run(command), expected, "{command}");
    }
    let World { model, root } = &mut world;
    let here = model.open(root, AT, b".", OpenFlags::DIRECTORY, 0).unwrap();
    assert_eq!(model.readdir(root, here), Err(Errno::ENOENT));
    assert_eq!(model.fstat(root, here).unwrap().nlink, 0);
    // The parent of a removed directory stays the same, even if it is moved or removed.
    model.rename(root, AT, b"/d", AT, b"/moved", RenameFlags::empty()).unwrap();
    model.rmdir(root, AT, b"/moved").unwrap();
    assert_eq!(model.stat(root, AT, b"..", NOTHING).unwrap().nlink, 0);
    assert_eq!(model.stat(root, AT, b"../..", NOTHING).unwrap().node, root.root());
}

#[test]
fn roots() {
    let mut world = World::new();
    assert_eq!(world.run("chroot d"), OK);
    for (command, expected) in [
        ("stat /sub", OK),
        ("stat /f", fails(Errno::ENOENT)),
        ("stat /../f", fails(Errno::ENOENT)),
        ("stat f", OK),
        ("stat d/../f", fails(Errno::ENOENT)),
        ("stat ../f", OK),
        ("chdir /sub", OK),
        ("stat ../../../sub", OK),
        ("rmdir /", fails(Errno::EBUSY)),
    ] {
        assert_eq!(world.run(command), expected, "{command}");
    }
}

#[test]
fn rights_to_places() {
    let mut world = World::new();
    world.directory("closed", 0o744);
    let mut user = world.user(1);
    for (command, expected) in [
        ("chdir closed", fails(Errno::EACCES)),
        ("chdir nope", fails(Errno::ENOENT)),
        ("chroot d", fails(Errno::EPERM)),
        ("chroot f", fails(Errno::ENOTDIR)),
        ("chroot closed", fails(Errno::EACCES)),
        ("chdir d", OK),
    ] {
        assert_eq!(run(&world.model, &mut user, command), expected, "{command}");
    }
    let World { model, .. } = &world;
    let place = model.open(&mut user, AT, b"/closed", OpenFlags::PATH, 0).unwrap();
    assert_eq!(model.fchdir(&mut user, place), fails(Errno::EACCES));
    user.set_credentials(Credentials::user(1, 1, &[]).with_capabilities(Capabilities::DAC_READ_SEARCH));
    assert_eq!(model.fchdir(&mut user, place), OK);
    let file = model.open(&mut user, AT, b"/f", OpenFlags::PATH, 0).unwrap();
    assert_eq!(model.fchdir(&mut user, file), fails(Errno::ENOTDIR));
    assert_eq!(model.fchdir(&mut user, 99), fails(Errno::EBADF));
}

#[test]
fn descriptors_as_starting_points() {
    let World { model, root } = &mut World::new();
    let directory = model.open(root, AT, b"d", OpenFlags::PATH, 0).unwrap();
    let link = model.open(root, AT, b"to_d", OpenFlags::PATH | OpenFlags::NOFOLLOW, 0).unwrap();
    assert_eq!(model.mkdir(root, directory, b"new", 0o755), OK);
    assert_eq!(model.stat(root, link, b"sub", NOTHING), Err(Errno::ENOTDIR));
    assert_eq!(model.stat(root, directory, b"", NOTHING), Err(Errno::ENOENT));
    assert_eq!(model.stat(root, link, b"", AtFlags::EMPTY_PATH).unwrap().mode, libc::S_IFLNK | 0o777);
    assert_eq!(model.stat(root, AT, b"", AtFlags::EMPTY_PATH).unwrap().node, root.cwd());
    assert_eq!(model.stat(root, AT, b"", AtFlags::SYMLINK_FOLLOW), Err(Errno::EINVAL));
    assert!(model.statfs(root, b"f").is_ok());
    assert_eq!(model.statfs(root, b"f/"), Err(Errno::ENOTDIR));
}
