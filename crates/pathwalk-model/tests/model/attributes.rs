//! Tests of modes, owners and times, and of the effect of calls on suid and sgid bits.

use pathwalk_model::{AtFlags, Capabilities, Credentials, Errno, NewTime, OpenFlags, Stamp};

use crate::world::{AT, NOTHING, OK, World, fails};

#[test]
fn new_nodes() {
    let World { model, root } = &mut World::new();
    model.umask(root, 0o1027);
    assert_eq!(model.umask(root, 0o027), 0o027, "only permission bits");
    model.mkdir(root, AT, b"new", 0o7777).unwrap();
    model.mknod(root, AT, b"node", 0o7777, 0).unwrap();
    let file = model.open(root, AT, b"file", OpenFlags::CREAT, 0o107777).unwrap();
    let mode = |path: &[u8], root: &mut _| model.stat(root, AT, path, NOTHING).unwrap().mode & 0o7777;
    assert_eq!(mode(b"new", root), 0o1750);
    assert_eq!(mode(b"node", root), 0o7750);
    assert_eq!(model.fstat(root, file).unwrap().mode & 0o7777, 0o7750);
}

#[test]
fn sgid_directories() {
    for (groups, capabilities, mode, expected) in [
        (&[][..], Capabilities::empty(), 0o2775, 0o0775),
        (&[9][..], Capabilities::empty(), 0o2775, 0o2775),
        (&[][..], Capabilities::FSETID, 0o2775, 0o2775),
        (&[][..], Capabilities::empty(), 0o2765, 0o2765),
    ] {
        let mut world = World::new();
        world.directory("t", 0o2777);
        world.chown("t", 0, 9);
        let mut user = world.model.process(Credentials::user(1, 1, groups).with_capabilities(capabilities));
        world.model.umask(&mut user, 0);
        world.model.mknod(&mut user, AT, b"t/file", mode, 0).unwrap();
        world.model.mkdir(&mut user, AT, b"t/dir", 0o777).unwrap();
        world.model.symlink(&mut user, b"x", AT, b"t/link").unwrap();
        assert_eq!(world.mode("t/file"), expected, "{groups:?} {capabilities:?} {mode:o}");
        assert_eq!(world.mode("t/dir"), 0o2777);
        for path in ["t/file", "t/dir", "t/link"] {
            let status = world.model.stat(&mut world.root, AT, path.as_bytes(), AtFlags::SYMLINK_NOFOLLOW).unwrap();
            assert_eq!((status.uid, status.gid), (1, 9), "{path}");
        }
    }
}

#[test]
fn chmod() {
    let mut world = World::new();
    world.chown("f", 1, 9);
    let World { model, root } = &mut world;
    let mut owner = model.process(Credentials::user(1, 1, &[]));
    let mut stranger = model.process(Credentials::user(2, 2, &[]));
    assert_eq!(model.chmod(&mut stranger, AT, b"f", 0o777, NOTHING), fails(Errno::EPERM));
    assert_eq!(model.chmod(&mut owner, AT, b"f", 0o6777, NOTHING), OK);
    assert_eq!(model.stat(root, AT, b"f", NOTHING).unwrap().mode & 0o7777, 0o4777, "not of the group: no sgid");
    assert_eq!(model.chmod(&mut stranger, AT, b"link", 0o777, AtFlags::SYMLINK_NOFOLLOW), fails(Errno::EOPNOTSUPP));
    assert_eq!(model.chmod(root, AT, b"f", 0o777, AtFlags::SYMLINK_FOLLOW), fails(Errno::EINVAL));
    let place = model.open(root, AT, b"f", OpenFlags::PATH, 0).unwrap();
    assert_eq!(model.fchmod(root, place, 0o700), fails(Errno::EBADF));
    assert_eq!(model.chmod(root, place, b"", 0o700, AtFlags::EMPTY_PATH), OK);
}

/// Checks `chown` of a file by user 1, in groups 1 and 2: the answer, and the mode afterwards.
#[test]
fn chown() {
    let none = Capabilities::empty();
    let eperm = fails(Errno::EPERM);
    for (mode, owner, capabilities, uid, gid, expected, after) in [
        (0o6755, (1, 1), none, None, None, OK, 0o755),
        (0o6755, (1, 1), none, Some(1), Some(2), OK, 0o755),
        (0o6755, (1, 1), none, Some(3), None, eperm, 0o6755),
        (0o6755, (1, 1), none, None, Some(3), eperm, 0o6755),
        (0o2745, (1, 1), none, None, None, OK, 0o2745),
        (0o2745, (1, 9), none, None, None, OK, 0o0745),
        (0o0755, (9, 9), none, None, None, OK, 0o755),
        (0o4755, (9, 9), none, None, None, eperm, 0o4755),
        (0o4755, (9, 9), Capabilities::CHOWN, Some(1), None, eperm, 0o4755),
        (0o0755, (9, 9), Capabilities::CHOWN, Some(3), Some(3), OK, 0o755),
        (0o4755, (9, 9), Capabilities::FOWNER, None, None, OK, 0o755),
        (0o4755, (9, 9), Capabilities::FOWNER, Some(1), None, eperm, 0o4755),
        (0o6755, (1, 1), Capabilities::FSETID, None, None, OK, 0o755),
    ] {
        let mut world = World::new();
        world.file("t", 0);
        world.chown("t", owner.0, owner.1);
        world.chmod("t", mode);
        let mut user = world.model.process(Credentials::user(1, 1, &[2]).with_capabilities(capabilities));
        let answer = world.model.chown(&mut user, AT, b"t", uid, gid, NOTHING);
        assert_eq!((answer, world.mode("t")), (expected, after), "{mode:o} {owner:?} {capabilities:?} {uid:?} {gid:?}");
    }
    let mut world = World::new();
    world.chmod("d", 0o6755);
    world.chown("d", 1, 1);
    assert_eq!(world.mode("d"), 0o6755, "directories keep theirs");
}

#[test]
fn writing_clears_suid_and_sgid() {
    for (mode, capabilities, after) in
        [(0o6777, Capabilities::empty(), 0o777), (0o2767, Capabilities::empty(), 0o767), (0o6777, Capabilities::FSETID, 0o6777)]
    {
        for way in ["write", "pwrite", "ftruncate", "truncate", "open"] {
            let mut world = World::new();
            world.chmod("f", mode);
            let World { model, root } = &mut world;
            let mut user = model.process(Credentials::user(1, 1, &[]).with_capabilities(capabilities));
            let file = model.open(&mut user, AT, b"f", OpenFlags::RDWR, 0).unwrap();
            assert_eq!(model.write(&mut user, file, b""), Ok(0));
            assert_eq!(model.fstat(root, 0).err(), Some(Errno::EBADF));
            assert_eq!(model.fstat(&mut user, file).unwrap().mode & 0o7777, mode, "nothing written");
            let done = match way {
                "write" => model.write(&mut user, file, b"x").map(|_| ()),
                "pwrite" => model.pwrite(&mut user, file, b"x", 0).map(|_| ()),
                "ftruncate" => model.ftruncate(&mut user, file, 0),
                "truncate" => model.truncate(&mut user, b"f", 0),
                _ => model.open(&mut user, AT, b"f", OpenFlags::TRUNC, 0).map(|_| ()),
            };
            assert_eq!(done, OK);
            assert_eq!(world.mode("f"), after, "{way} {mode:o} {capabilities:?}");
        }
    }
}

const FIVE: NewTime = NewTime::At { seconds: 5, nanoseconds: 7 };
const SET: Stamp = Stamp::Set { seconds: 5, nanoseconds: 7 };

#[test]
fn utimens() {
    let wrong = NewTime::At { seconds: 0, nanoseconds: 1_000_000_000 };
    for (uid, accessed, modified, expected) in [
        (0, FIVE, NewTime::Omit, OK),
        (1, FIVE, FIVE, fails(Errno::EPERM)),
        (1, NewTime::Now, NewTime::Omit, fails(Errno::EPERM)),
        (1, NewTime::Now, NewTime::Now, OK),
        (1, wrong, NewTime::Now, fails(Errno::EINVAL)),
    ] {
        let mut world = World::new();
        let mut process = if uid == 0 { world.model.fork(&world.root) } else { world.user(uid) };
        let answer = world.model.utimens(&mut process, AT, b"f", accessed, modified, NOTHING);
        assert_eq!(answer, expected, "{uid} {accessed:?} {modified:?}");
        world.chmod("f", 0o444);
        let touched = world.model.utimens(&mut process, AT, b"f", NewTime::Now, NewTime::Now, NOTHING);
        assert_eq!(touched, if uid == 0 { OK } else { fails(Errno::EACCES) });
    }
    let World { model, root } = &mut World::new();
    assert_eq!(model.utimens(root, 99, b"nope", NewTime::Omit, NewTime::Omit, AtFlags::all()), OK, "nothing is looked at");
}

/// Checks which calls update the time of data of the named node.
#[test]
fn data_times() {
    type Call = fn(&mut World);
    let rows: [(&str, Call, &str, bool); 12] = [
        ("same size", |w| w.model.truncate(&mut w.root, b"f", 0).unwrap(), "f", false),
        ("longer", |w| w.model.truncate(&mut w.root, b"f", 1).unwrap(), "f", true),
        ("cut on open", |w| w.run("open TRUNC f").unwrap(), "f", true),
        ("chmod", |w| w.chmod("f", 0o600), "f", false),
        ("chown", |w| w.chown("f", 1, 1), "f", false),
        ("link", |w| w.run("link f d/new").unwrap(), "f", false),
        ("link's directory", |w| w.run("link f d/new").unwrap(), "d", true),
        ("mkdir", |w| w.run("mkdir d/new").unwrap(), "d", true),
        ("rmdir", |w| w.run("rmdir d/sub").unwrap(), "d", true),
        ("rename from", |w| w.run("rename d/sub new").unwrap(), "d", true),
        ("rename to", |w| w.run("rename f d/new").unwrap(), "d", true),
        ("rename of the directory", |w| w.run("rename d new").unwrap(), "new", false),
    ];
    for (what, call, path, moves) in rows {
        let mut world = World::new();
        for path in [&b"f"[..], b"d"] {
            world.model.utimens(&mut world.root, AT, path, FIVE, FIVE, NOTHING).unwrap();
        }
        call(&mut world);
        let status = world.model.stat(&mut world.root, AT, path.as_bytes(), NOTHING).unwrap();
        assert_eq!(status.modified, if moves { Stamp::Clock(0) } else { SET }, "{what}");
        assert_eq!(status.accessed, SET, "{what}");
    }
}

#[test]
fn ids_and_times_out_of_range() {
    let World { model, root } = &mut World::new();
    let no_id = Some(u32::MAX);
    assert_eq!(model.chown(root, AT, b"f", no_id, None, NOTHING), fails(Errno::EINVAL));
    assert_eq!(model.chown(root, AT, b"f", Some(1), no_id, NOTHING), fails(Errno::EINVAL));
    assert_eq!(model.chown(root, AT, b"nope", no_id, None, NOTHING), fails(Errno::ENOENT));
    let mut lost = model.process(Credentials::user(u32::MAX, 0, &[]).with_capabilities(Capabilities::all()));
    assert_eq!(model.mkdir(&mut lost, AT, b"new", 0o777), fails(Errno::EOVERFLOW));
    assert_eq!(model.open(&mut lost, AT, b"new", OpenFlags::CREAT, 0o600), Err(Errno::EOVERFLOW));
    let (first, last) = (-(1 << 49), (1 << 49) - 1);
    for (set, kept) in [(i64::MIN, first), (first - 1, first), (last + 1, last), (i64::MAX, last)] {
        let time = NewTime::At { seconds: set, nanoseconds: 5 };
        model.utimens(root, AT, b"f", time, time, NOTHING).unwrap();
        let found = model.stat(root, AT, b"f", NOTHING).unwrap();
        let end = Stamp::Set { seconds: kept, nanoseconds: 0 };
        assert_eq!((found.accessed, found.modified), (end, end), "{set}");
    }
}
