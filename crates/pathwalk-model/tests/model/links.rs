//! Tests of symbolic and hard links.

use crate::world::{AT, NOTHING, OK, World, fails, run};
use pathwalk_model::{Accesses, AtFlags, Capabilities, Credentials, Errno, Model, OpenFlags, Options};

/// Returns a world with links `l1` to `f`, `l2` to `l1` and so on.
fn chain(length: u32) -> World {
    let mut world = World::new();
    world.symlink("f", "l1");
    for number in 2..=length {
        world.symlink(&format!("l{}", number - 1), &format!("l{number}"));
    }
    world
}

#[test]
fn forty_links_pass() {
    let mut world = chain(41);
    assert_eq!(world.run("stat l40"), OK);
    assert_eq!(world.run("stat l41"), fails(Errno::ELOOP));
    assert_eq!(world.run("lstat l41"), OK);
}

#[test]
fn links_count_over_the_whole_walk() {
    let mut world = World::new();
    world.symlink(".", "here");
    assert_eq!(world.run(&format!("stat {}f", "here/".repeat(40))), OK);
    assert_eq!(world.run(&format!("stat {}f", "here/".repeat(41))), fails(Errno::ELOOP));
    world.symlink("loop", "loop");
    assert_eq!(world.run("open CREAT loop"), fails(Errno::ELOOP));
}

#[test]
fn a_slash_in_a_body_counts() {
    let mut world = World::new();
    world.symlink("f/", "slashed");
    world.symlink("new/", "to_new");
    world.symlink("/", "to_root");
    assert_eq!(world.run("stat slashed"), fails(Errno::ENOTDIR));
    assert_eq!(world.run("open CREAT to_new"), fails(Errno::EISDIR));
    assert_eq!(world.run("stat to_root/d"), OK);
    assert_eq!(world.run("open CREAT to_root"), fails(Errno::EISDIR));
}

#[test]
fn readlink_cuts() {
    let World { model, root } = &mut World::new();
    assert_eq!(model.readlink(root, AT, b"to_d", 1), Ok(b"d".to_vec()));
    assert_eq!(model.readlink(root, AT, b"dangling", 3), Ok(b"tar".to_vec()));
    assert_eq!(model.readlink(root, AT, b"dangling", 0), Err(Errno::EINVAL));
    assert_eq!(model.readlink(root, AT, b"dangling", -1), Err(Errno::EINVAL));
    let link = model.open(root, AT, b"dangling", OpenFlags::PATH | OpenFlags::NOFOLLOW, 0).unwrap();
    let file = model.open(root, AT, b"f", OpenFlags::PATH, 0).unwrap();
    assert_eq!(model.readlink(root, link, b"", 100), Ok(b"target".to_vec()));
    assert_eq!(model.readlink(root, file, b"", 100), Err(Errno::ENOENT));
    assert_eq!(model.readlink(root, 99, b"", 100), Err(Errno::EBADF));
}

/// Returns a world with a link of user 1 to `f`, in a directory with this mode and owner.
fn foreign_link(protected_symlinks: bool, mode: u32, owner: u32) -> World {
    let mut world = World::with(Options { protected_symlinks, ..Options::default() });
    world.directory("t", mode);
    world.symlink("/f", "t/link");
    world.symlink("/d", "t/to_d");
    world.chown("t/link", 1, 1);
    world.chown("t/to_d", 1, 1);
    world.chown("t", owner, owner);
    world
}

#[test]
fn protected_symlinks() {
    let denied = fails(Errno::EACCES);
    for (switch, mode, owner, follower, expected) in [
        (true, 0o1777, 0, 2, denied),
        (true, 0o1777, 0, 1, OK),
        (true, 0o1777, 1, 2, OK),
        (true, 0o1775, 0, 2, OK),
        (true, 0o0777, 0, 2, OK),
        (false, 0o1777, 0, 2, OK),
    ] {
        let world = foreign_link(switch, mode, owner);
        let mut user = world.user(follower);
        assert_eq!(run(&world.model, &mut user, "stat t/link"), expected, "{switch} {mode:o} {owner} {follower}");
        assert_eq!(run(&world.model, &mut user, "stat t/to_d/sub"), OK, "on the way it is followed");
    }
    assert_eq!(foreign_link(true, 0o1777, 0).run("stat t/link"), denied, "capabilities don't help");
}

#[test]
fn what_others_put_into_tmp_is_not_opened_by_who_would_make_it() {
    let mut world = foreign_link(false, 0o1777, 0);
    world.model.mknod(&mut world.root, AT, b"t/socket", libc::S_IFSOCK | 0o777, 0).unwrap();
    world.file("t/file", 0o666);
    world.chown("t/socket", 1, 1);
    world.chown("t/file", 1, 1);
    for (command, expected) in [
        ("open CREAT|NOFOLLOW t/link", Errno::EACCES),
        ("open NOFOLLOW t/link", Errno::ELOOP),
        ("open CREAT|EXCL t/link", Errno::EEXIST),
        ("open CREAT t/socket", Errno::EACCES),
        ("open RDONLY t/socket", Errno::ENXIO),
    ] {
        assert_eq!(world.run(command), fails(expected), "{command}");
    }
    assert_eq!(world.run("open CREAT t/file"), OK);
}

#[test]
fn protected_hardlinks() {
    for (mode, expected) in
        [(0o666, OK), (0o644, fails(Errno::EPERM)), (0o4666, fails(Errno::EPERM)), (0o2676, fails(Errno::EPERM)), (0o2666, OK)]
    {
        let mut world = World::new();
        world.chmod("/", 0o777);
        world.chmod("f", mode);
        let mut user = world.user(1);
        assert_eq!(run(&world.model, &mut user, "link f new"), expected, "{mode:o}");
        let owner = Credentials::user(1, 1, &[]).with_capabilities(Capabilities::FOWNER);
        assert_eq!(run(&world.model, &mut world.model.process(owner), "link f newer"), OK, "{mode:o}");
    }
    let mut world = World::with(Options { protected_hardlinks: false, root_mode: 0o777, ..Options::default() });
    world.chmod("f", 0o4600);
    let mut user = world.user(1);
    assert_eq!(run(&world.model, &mut user, "link f new"), OK);
    assert_eq!(run(&world.model, &mut user, "link link newer"), OK);
}

fn link_open(model: &Model, process: &mut pathwalk_model::Process, descriptor: i32, to: &[u8]) -> Result<(), Errno> {
    model.link(process, descriptor, b"", AT, to, AtFlags::EMPTY_PATH)
}

#[test]
fn a_file_without_a_name_gets_one_once() {
    let World { model, root } = &mut World::new();
    let file = model.open(root, AT, b"d", OpenFlags::TMPFILE | OpenFlags::RDWR, 0o600).unwrap();
    assert_eq!(model.fstat(root, file).unwrap().nlink, 0);
    assert_eq!(link_open(model, root, file, b"new"), OK);
    assert_eq!(link_open(model, root, file, b"newer"), OK);
    model.unlink(root, AT, b"new").unwrap();
    model.unlink(root, AT, b"newer").unwrap();
    assert_eq!(link_open(model, root, file, b"new"), fails(Errno::ENOENT));
    let never = model.open(root, AT, b"d", OpenFlags::TMPFILE | OpenFlags::RDWR | OpenFlags::EXCL, 0o600).unwrap();
    assert_eq!(link_open(model, root, never, b"new"), fails(Errno::ENOENT));
    assert_eq!(link_open(model, root, AT, b"new"), fails(Errno::EPERM), "the working directory");
    assert_eq!(link_open(model, root, 99, b"new"), fails(Errno::EBADF));
}

#[test]
fn linkat_trusts_descriptors_of_the_same_credentials() {
    let mut world = World::new();
    world.chmod("/", 0o777);
    let mut user = world.user(1);
    let file = world.model.open(&mut user, AT, b"f", OpenFlags::RDWR, 0).unwrap();
    let here = world.model.open(&mut user, AT, b".", OpenFlags::DIRECTORY, 0).unwrap();
    let mut other = world.model.fork(&user);
    let World { model, .. } = &world;
    assert_eq!(link_open(model, &mut user, file, b"a"), OK);
    assert_eq!(link_open(model, &mut other, file, b"b"), fails(Errno::ENOENT));
    assert_eq!(model.link(&mut other, here, b"f", AT, b"b", AtFlags::EMPTY_PATH), fails(Errno::ENOENT));
    assert_eq!(model.link(&mut other, file, b"f", AT, b"b", AtFlags::EMPTY_PATH), fails(Errno::ENOENT));
    assert_eq!(model.link(&mut other, here, b"/f", AT, b"b", AtFlags::EMPTY_PATH), OK);
    assert_eq!(model.link(&mut other, here, b"f", AT, b"c", NOTHING), OK);
    let capable = Credentials::user(1, 1, &[]).with_capabilities(Capabilities::DAC_READ_SEARCH);
    other.set_credentials(capable);
    assert_eq!(link_open(model, &mut other, file, b"e"), OK);
}

#[test]
fn a_link_that_was_followed_tells_the_time_of_that() {
    let options = Options { accesses: Accesses::Always, ..Options::default() };
    let World { model, root } = &mut World::with(options);
    model.symlink(root, b".", AT, b"here").unwrap();
    model.symlink(root, b"here", AT, b"to_here").unwrap();
    model.set_clock(7);
    let found = model.stat(root, AT, b"to_here/here", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    assert_ne!(found.accessed, found.born);
    let again = model.stat(root, AT, b"here", AtFlags::SYMLINK_NOFOLLOW).unwrap();
    assert_eq!(again.accessed, found.accessed);
}
