//! Tests of how nodes present themselves: options, attributes, ACLs, times.

use pathwalk::permission::{AclEntry, AclTag, Credentials};
use pathwalk::{
    Access, AclState, Errno, FileSystem, Freshness, NewKind, Node, PermissionRule, SetAttributes, StatxFlags, Timestamp,
};

use super::{errno, key, name, new};
use crate::{LinkBodies, LinkSizes, MemFs, Options};

fn node(fs: &MemFs, path: &str) -> Node {
    fs.0.lookup(key(fs, "/"), name(path)).unwrap().unwrap().into_node()
}

#[test]
fn links_come_with_their_body_or_without() {
    for (bodies, sizes) in [(LinkBodies::WithNode, LinkSizes::Length), (LinkBodies::OnRequest, LinkSizes::Zero)] {
        let fs = MemFs::with(Options::default().link_bodies(bodies).link_sizes(sizes));
        fs.symlink("over/there", "l").unwrap();
        fs.symlink("", "empty").unwrap();
        let link = node(&fs, "l");
        assert_eq!(link.link_body.is_some(), bodies == LinkBodies::WithNode);
        assert_eq!(link.attributes.size, if sizes == LinkSizes::Zero { 0 } else { 10 });
        assert_eq!(&*fs.read_link(link.key).unwrap(), b"over/there");
        assert!(node(&fs, "empty").link_body.is_none());
        assert!(fs.read_link(key(&fs, "empty")).unwrap().is_empty());
        assert_eq!(fs.read_link(key(&fs, "/")), Err(Errno::EINVAL));
    }
}

#[test]
fn promises_are_those_of_the_options() {
    let options = Options::default().permission_rule(PermissionRule::Own).freshness(Freshness::AskEachTime);
    let fs = MemFs::with(options.absence(Freshness::AskEachTime));
    fs.file("f", 0o640).unwrap();
    let file = node(&fs, "f");
    assert_eq!((file.rule, file.freshness), (PermissionRule::Own, Freshness::AskEachTime));
    assert_eq!(FileSystem::absence(&fs), Freshness::AskEachTime);
    assert_eq!(FileSystem::root(&MemFs::new()).unwrap().rule, PermissionRule::Generic);
}

#[test]
fn the_own_hook_answers_as_the_generic_rule() {
    let fs = MemFs::new();
    fs.file("f", 0o640).unwrap();
    fs.chown("f", 10, 20).unwrap();
    let may = |uid, gid, want| {
        let who = Credentials::user(uid, gid, &[]);
        fs.permission(key(&fs, "f"), &who.effective(), want).is_ok()
    };
    assert!(may(10, 1, Access::READ | Access::WRITE) && !may(10, 1, Access::EXECUTE));
    assert!(may(11, 20, Access::READ) && !may(11, 20, Access::WRITE));
    assert!(!may(11, 21, Access::READ) && may(0, 0, Access::WRITE) && !may(0, 0, Access::EXECUTE));
    assert_eq!(fs.calls().permission, 7);
}

#[test]
fn lists_are_told_or_asked_for_and_answer() {
    let entry = |tag, grants| AclEntry { tag, grants };
    let list = [
        entry(AclTag::Owner, Access::READ),
        entry(AclTag::User(11), Access::READ | Access::WRITE),
        entry(AclTag::Group, Access::empty()),
        entry(AclTag::Mask, Access::READ),
        entry(AclTag::Other, Access::empty()),
    ];
    for said in [AclState::Absent, AclState::Unknown, AclState::Present] {
        let fs = MemFs::with(Options::default().acl(said));
        fs.file("f", 0o777).unwrap();
        fs.file("plain", 0o777).unwrap();
        fs.set_acl("f", &list).unwrap();
        let told = if said == AclState::Unknown { AclState::Unknown } else { AclState::Present };
        let file = node(&fs, "f");
        assert_eq!((file.attributes.acl, file.attributes.mode), (told, 0o440));
        assert_eq!((fs.acl(file.key), node(&fs, "plain").attributes.acl), (Ok(AclState::Present), said));
        let plain = if said == AclState::Present { said } else { AclState::Absent };
        assert_eq!(fs.acl(key(&fs, "plain")), Ok(plain));

        let may = |uid, want| fs.permission(file.key, &Credentials::user(uid, 1, &[]).effective(), want).is_ok();
        assert!(may(11, Access::READ) && !may(11, Access::WRITE) && !may(12, Access::READ) && may(0, Access::WRITE));
        fs.chmod("f", 0o460).unwrap();
        assert!(may(11, Access::WRITE), "the mask follows the mode");
        fs.chmod("f", 0o404).unwrap();
        assert!(may(12, Access::READ) && may(11, Access::READ), "without group bits the list is not asked");
        fs.set_acl("f", &[]).unwrap();
        assert_eq!(fs.acl(file.key), Ok(plain));
    }
    let fs = MemFs::new();
    fs.symlink("x", "l").unwrap();
    assert_eq!(errno(fs.set_acl("l", &list)), Errno::EOPNOTSUPP);
}

#[test]
fn attributes_are_set_all_or_none() {
    let fs = MemFs::new();
    fs.file("f", 0o644).unwrap();
    fs.symlink("x", "l").unwrap();
    let before = fs.stat("f").unwrap();
    let time = Timestamp { seconds: -5, nanoseconds: 7 };
    let set = SetAttributes::default().with_mode(0o104_755).with_size(9).with_atime(time);
    let after = fs.set_attributes(key(&fs, "f"), &set).unwrap();
    assert_eq!((after.mode, after.size, after.atime, after.uid, after.blocks), (0o4755, 9, time, 0, 0));
    assert!(after.mtime >= before.mtime && after.ctime >= before.ctime && after.btime == before.btime);
    assert_eq!(fs.stat("f").unwrap(), after);

    let refused = |path: &str, set: SetAttributes| fs.set_attributes(key(&fs, path), &set).unwrap_err();
    let size = |size| SetAttributes::default().with_size(size).with_uid(3);
    assert_eq!(refused("/", size(0)), Errno::EISDIR);
    assert_eq!(refused("l", size(0)), Errno::EINVAL);
    assert_eq!(refused("f", size(1 << 63)), Errno::EFBIG);
    let late = Timestamp { seconds: 0, nanoseconds: 1_000_000_000 };
    assert_eq!(refused("f", size(1).with_mtime(late)), Errno::EINVAL);
    assert_eq!(errno(fs.chmod("l", 0o700)), Errno::EOPNOTSUPP);
    assert_eq!(fs.stat("f").unwrap(), after);
    fs.chown("l", 1, 2).unwrap();
    fs.truncate("f", 100).unwrap();
    assert_eq!((fs.stat("l").unwrap().gid, fs.stat("f").unwrap().size), (2, 100));
}

#[test]
fn changes_leave_their_time() {
    let fs = MemFs::new();
    let old = Timestamp { seconds: 1, nanoseconds: 0 };
    fs.mkdir("d", 0o755).unwrap();
    fs.file("d/f", 0o644).unwrap();
    let back = || {
        let set = SetAttributes::default().with_mtime(old);
        fs.set_attributes(key(&fs, "d"), &set).unwrap();
        fs.set_attributes(key(&fs, "/"), &set).unwrap();
    };
    let moved = |path: &str| fs.stat(path).unwrap().mtime > old;
    back();
    fs.chmod("d/f", 0o600).unwrap();
    assert!(!moved("d"), "a directory does not change with its files");
    fs.link("d/f", "d/g").unwrap();
    assert!(moved("d") && !moved("/"));
    back();
    fs.rename("d/f", "f").unwrap();
    assert!(moved("d") && moved("/"));
    back();
    fs.unlink("d/g").unwrap();
    assert!(moved("d") && fs.stat("f").unwrap().mtime > old);
}

#[test]
fn calls_are_counted() {
    let fs = MemFs::new();
    let root = FileSystem::root(&fs).unwrap();
    let before = fs.calls();
    FileSystem::attributes(&fs, root.key).unwrap();
    fs.set_attributes(root.key, &SetAttributes::default()).unwrap();
    fs.forget(root.key);
    let calls = fs.calls().since(&before);
    assert_eq!((calls.root, calls.attributes, calls.set_attributes, calls.forget, calls.total()), (0, 1, 1, 1, 3));
    fs.mkdir("d", 0o755).unwrap();
    fs.stat("d").unwrap();
    assert_eq!(fs.calls().since(&before), calls, "paths are not counted");
}

#[test]
fn attribute_bits_are_kept_beside_a_list() {
    let fs = MemFs::new();
    fs.file("f", 0o640).unwrap();
    fs.mkdir("d", 0o755).unwrap();
    fs.symlink("f", "l").unwrap();
    let kept = StatxFlags::IMMUTABLE | StatxFlags::APPEND | StatxFlags::NODUMP;
    let entries =
        [AclEntry { tag: AclTag::User(11), grants: Access::READ }, AclEntry { tag: AclTag::Mask, grants: Access::READ }];
    for (path, bits) in [("f", StatxFlags::IMMUTABLE), ("d", StatxFlags::APPEND), ("/", kept), ("f", StatxFlags::empty())] {
        fs.set_flags(path, bits).unwrap();
        let found = fs.stat(path).unwrap();
        assert_eq!((found.flags, found.flags_mask, found.acl), (bits, kept, AclState::Absent), "{path}");
        fs.set_acl_of(fs.key(path).unwrap(), &entries).unwrap();
        assert_eq!((fs.stat(path).unwrap().flags, fs.stat(path).unwrap().acl), (bits, AclState::Present), "{path}");
        fs.set_flags_of(fs.key(path).unwrap(), StatxFlags::NODUMP).unwrap();
        fs.set_acl(path, &[]).unwrap();
        assert_eq!((fs.stat(path).unwrap().flags, fs.stat(path).unwrap().acl), (StatxFlags::NODUMP, AclState::Absent), "{path}");
    }
    assert_eq!(errno(fs.set_flags("l", StatxFlags::IMMUTABLE)), Errno::EOPNOTSUPP);
    assert_eq!(errno(fs.set_flags("f", StatxFlags::DAX)), Errno::EOPNOTSUPP);
    // A reused slot has none of them.
    fs.set_flags("/", StatxFlags::empty()).unwrap();
    fs.set_flags("f", kept).unwrap();
    fs.set_acl("f", &entries).unwrap();
    fs.unlink("f").unwrap();
    fs.file("f", 0o640).unwrap();
    let found = fs.stat("f").unwrap();
    assert_eq!((found.flags, found.acl), (StatxFlags::empty(), AclState::Absent));
}

#[test]
fn what_is_not_dumped_makes_what_is_not_dumped() {
    let fs = MemFs::new();
    fs.mkdir("d", 0o755).unwrap();
    fs.set_flags("d", StatxFlags::NODUMP | StatxFlags::APPEND).unwrap();
    fs.mkdir("d/d", 0o755).unwrap();
    fs.symlink("d", "d/l").unwrap();
    fs.mkdir("e", 0o755).unwrap();
    let unnamed = fs.0.create_unnamed(key(&fs, "d/d"), &new(NewKind::Regular)).unwrap().into_node();
    let found = ["d/d", "d/l", "e"].map(|path| fs.stat(path).unwrap().flags);
    assert_eq!(found, [StatxFlags::NODUMP, StatxFlags::NODUMP, StatxFlags::empty()]);
    assert_eq!(unnamed.attributes.flags, StatxFlags::NODUMP);
}
