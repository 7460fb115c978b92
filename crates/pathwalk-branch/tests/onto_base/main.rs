//! Commits onto the base itself.

mod answered;
#[path = "../common/mod.rs"]
mod common;
mod crashes;
mod held;
mod layered;
mod parts;
mod processes;
mod spared;
mod swapped;
mod undo_crashes;
mod undone;

use common::Ground;
use common::root_on;
use common::trees::{change_more, differences, look, look_closely};
use fastrand::Rng;
use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{Access, Context, Errno, FallocateFlags, InodeFlags, NewKind, OpenFlags, SetTime, Timestamp, XattrFlags};
use pathwalk_branch::{Aspects, Branches, ConflictKind, Error};
use pathwalk_memfs::MemFs;

fn fill(base: &Context) {
    for dir in ["/d", "/d/sub", "/d/sub/deep", "/gone", "/gone/in", "/moved", "/moved/in", "/one", "/two"] {
        base.mkdir(dir, 0o755).unwrap();
    }
    for file in ["/a", "/b", "/d/file", "/d/sub/file", "/gone/file", "/gone/in/kept", "/moved/in/file", "/one/x", "/two/x"] {
        base.write(file, file).unwrap();
    }
    base.link("/a", "/d/of-a").unwrap();
    base.symlink("a", "/link").unwrap();
    base.write("/large", vec![7; 300_000]).unwrap();
    base.setxattr("/b", "user.old", "value", XattrFlags::empty()).unwrap();
}

/// Does something of each kind.
fn work(context: &Context) {
    let open = |path: &str| context.open(path, OpenFlags::READ | OpenFlags::WRITE).unwrap();
    // Contents and attributes in place.
    open("/a").write_at(b"changed", 1).unwrap();
    open("/large").write_at(b"in the middle", 150_000).unwrap();
    open("/large").fallocate(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, 4096, 8192).unwrap();
    open("/large").write_at(b"far behind", 900_000).unwrap();
    context.chmod("/b", 0o4711).unwrap();
    context.chown("/b", Some(7), Some(8)).unwrap();
    context.setxattr("/b", "user.new", "value", XattrFlags::empty()).unwrap();
    context.removexattr("/b", "user.old").unwrap();
    context.utimes("/d/file", SetTime::Keep, SetTime::To(Timestamp { seconds: 77, nanoseconds: 5 })).unwrap();
    // New nodes.
    context.mkdir("/new", 0o2750).unwrap();
    context.mkdir("/new/dir", 0o700).unwrap();
    context.write("/new/file", "new").unwrap();
    context.link("/new/file", "/new/dir/second").unwrap();
    context.symlink("../a", "/new/link").unwrap();
    context.mknod("/new/pipe", NewKind::Fifo, 0o640).unwrap();
    context.setxattr("/new/file", "user.of", "new", XattrFlags::empty()).unwrap();
    // Names.
    context.link("/d/sub/file", "/d/second").unwrap();
    context.rename("/gone/in/kept", "/kept").unwrap();
    context.remove_dir_all("/gone").unwrap();
    context.rename("/moved", "/new/moved").unwrap();
    context.write("/new/moved/in/file", "changed where it is").unwrap();
    context.rename("/one", "/three").unwrap();
    context.rename("/two", "/one").unwrap();
    context.rename("/three", "/two").unwrap();
    context.remove_file("/link").unwrap();
    context.write("/link", "no link any more").unwrap();
    // An editor's way to save.
    context.write("/d/.file.new", "saved").unwrap();
    context.rename("/d/.file.new", "/d/sub/file").unwrap();
    context.rename("/d/sub", "/sub").unwrap();
    context.mkdir("/d/sub", 0o711).unwrap();
    context.rename("/sub/deep", "/d/sub/deep").unwrap();
}

#[test]
fn the_base_becomes_what_the_branch_was() {
    for ground in Ground::each(fill) {
        let context = ground.fork(None, "work");
        let inode = |context: &Context, path: &str| context.lstat(path).unwrap().ino;
        let open = ground.base.open("/a", OpenFlags::READ).unwrap();
        let inodes = ["/large", "/moved/in/file", "/gone/in/kept", "/d/sub"].map(|path| inode(&ground.base, path));
        work(&context);
        let expected = look_closely(&context);
        ground.branches.commit("work").unwrap();
        let found = look_closely(&ground.base);
        assert!(found == expected, "on {}: {}", ground.name, differences(&found, &expected));
        let now = ["/large", "/new/moved/in/file", "/kept", "/sub"].map(|path| inode(&ground.base, path));
        assert_eq!(now, inodes, "on {}", ground.name);
        let mut buffer = [0; 8];
        assert_eq!((open.read_at(&mut buffer, 0).unwrap(), &buffer[..2]), (8, &b"/c"[..]), "it was open");
        assert_eq!(ground.base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT));
        assert!(matches!(ground.branches.commit("work"), Err(Error::NoBranch(_))));
    }
}

#[test]
fn a_node_that_outlived_one_of_its_directories_is_no_conflict() {
    for ground in Ground::each(fill) {
        let context = ground.fork(None, "work");
        // It has a second name in "/d". Each directory is removed while it lives on, and after it.
        ground.base.link("/d/file", "/one/of-d").unwrap();
        ground.base.link("/d/file", "/two/of-d").unwrap();
        ground.branches.catch_up();
        context.remove_dir_all("/one").unwrap();
        context.rename("/gone/in", "/in").unwrap();
        context.remove_dir_all("/gone").unwrap();
        context.remove_dir_all("/in").unwrap();
        context.remove_dir_all("/d").unwrap();
        context.remove_dir_all("/two").unwrap();
        let expected = look_closely(&context);
        ground.branches.commit("work").unwrap();
        let found = look_closely(&ground.base);
        assert!(found == expected, "on {}: {}", ground.name, differences(&found, &expected));
    }
}

#[test]
fn lists_and_times_of_directories_are_those_of_the_branch() {
    let of_mode = Acl::from_mode(0o750);
    let [user, group, other] = of_mode.entries() else { panic!("it has three entries") };
    let more = [AclTag::User(7), AclTag::Mask].map(|tag| AclEntry { tag, grants: Access::READ });
    let list = Acl::new(vec![*user, more[0], *group, more[1], *other]);
    let base = root_on(MemFs::new());
    base.set_acl("/", AclKind::Default, Some(&list)).unwrap();
    base.mkdir("/undumped", 0o755).unwrap();
    base.set_inode_flags("/undumped", InodeFlags::NODUMP).unwrap();
    base.mkdir("/d", 0o755).unwrap();
    base.mkdir("/e", 0o755).unwrap();
    let branches = Branches::new(base.clone()).unwrap();
    let context = root_on(branches.fork(None, "work").unwrap());
    base.set_inode_flags("/", InodeFlags::NODUMP).unwrap();
    context.set_inode_flags("/undumped", InodeFlags::empty()).unwrap();
    context.write("/undumped/plain", "text").unwrap();
    context.write("/listed", "text").unwrap();
    context.write("/plain", "text").unwrap();
    context.set_acl("/plain", AclKind::Access, None).unwrap();
    let early = Timestamp { seconds: 1, nanoseconds: 5 };
    context.utimes("/d", SetTime::Keep, SetTime::To(early)).unwrap();
    context.utimes("/e", SetTime::To(early), SetTime::Keep).unwrap();
    let of = |context: &Context, path| (context.acl(path, AclKind::Access).unwrap(), context.stat(path).unwrap().mode);
    let expected = ["/listed", "/plain"].map(|path| of(&context, path));
    branches.commit("work").unwrap();
    assert_eq!(base.inode_flags("/undumped/plain").unwrap(), InodeFlags::empty());
    assert_eq!(["/listed", "/plain"].map(|path| of(&base, path)), expected);
    assert!(expected[0].0.is_some() && expected[1].0.is_none());
    assert_eq!((base.stat("/d").unwrap().mtime, base.stat("/e").unwrap().atime), (early, early));
}

#[test]
fn flags_that_forbid_changes_are_committed_last() {
    let base = root_on(MemFs::new());
    base.write("/fixed", "old").unwrap();
    base.set_inode_flags("/fixed", InodeFlags::IMMUTABLE).unwrap();
    base.mkdir("/closed", 0o755).unwrap();
    base.set_inode_flags("/closed", InodeFlags::IMMUTABLE).unwrap();
    base.mkdir("/dir", 0o755).unwrap();
    base.write("/dir/fixed", "old").unwrap();
    base.set_inode_flags("/dir/fixed", InodeFlags::IMMUTABLE).unwrap();
    base.mkdir("/moved", 0o755).unwrap();
    base.set_inode_flags("/moved", InodeFlags::IMMUTABLE).unwrap();
    base.write("/fixed-too", "old").unwrap();
    base.set_inode_flags("/fixed-too", InodeFlags::IMMUTABLE).unwrap();
    base.write("/plain", "old").unwrap();
    base.link("/plain", "/second").unwrap();
    let branches = Branches::new(base.clone()).unwrap();
    let context = root_on(branches.fork(None, "work").unwrap());
    context.write("/plain", "new").unwrap();
    context.remove_file("/second").unwrap();
    context.set_inode_flags("/plain", InodeFlags::IMMUTABLE).unwrap();
    context.mkdir("/undumped", 0o755).unwrap();
    context.set_inode_flags("/undumped", InodeFlags::NODUMP).unwrap();
    context.symlink("body", "/undumped/link").unwrap();
    let flags = context.lstat("/undumped/link").unwrap().flags;
    context.set_inode_flags("/fixed", InodeFlags::empty()).unwrap();
    context.write("/fixed", "new").unwrap();
    context.set_inode_flags("/fixed", InodeFlags::APPEND).unwrap();
    context.link("/fixed-too", "/linked").unwrap_err();
    context.set_inode_flags("/fixed-too", InodeFlags::empty()).unwrap();
    context.link("/fixed-too", "/linked").unwrap();
    context.set_inode_flags("/fixed-too", InodeFlags::IMMUTABLE).unwrap();
    context.set_inode_flags("/moved", InodeFlags::empty()).unwrap();
    context.rename("/moved", "/there").unwrap();
    context.set_inode_flags("/there", InodeFlags::IMMUTABLE).unwrap();
    context.set_inode_flags("/dir/fixed", InodeFlags::empty()).unwrap();
    context.remove_dir_all("/dir").unwrap();
    context.set_inode_flags("/closed", InodeFlags::empty()).unwrap();
    context.write("/closed/new", "new").unwrap();
    context.set_inode_flags("/closed", InodeFlags::IMMUTABLE).unwrap();
    context.write("/new", "new").unwrap();
    context.set_inode_flags("/new", InodeFlags::IMMUTABLE | InodeFlags::NODUMP).unwrap();
    context.set_inode_flags("/", InodeFlags::APPEND).unwrap();
    branches.commit("work").unwrap();
    assert_eq!(base.read_to_string("/fixed").unwrap(), "new");
    assert_eq!(base.inode_flags("/fixed").unwrap(), InodeFlags::APPEND);
    assert_eq!(base.inode_flags("/new").unwrap(), InodeFlags::IMMUTABLE | InodeFlags::NODUMP);
    assert_eq!((base.lstat("/plain").unwrap().nlink, base.lstat("/undumped/link").unwrap().flags), (1, flags));
    assert_eq!(base.inode_flags("/there").unwrap(), InodeFlags::IMMUTABLE);
    assert_eq!(base.inode_flags("/plain").unwrap(), InodeFlags::IMMUTABLE);
    assert_eq!((base.lstat("/linked").unwrap().nlink, base.inode_flags("/linked").unwrap()), (2, InodeFlags::IMMUTABLE));
    assert_eq!(base.inode_flags("/").unwrap(), InodeFlags::APPEND);
    assert_eq!(base.inode_flags("/closed").unwrap(), InodeFlags::IMMUTABLE);
    assert_eq!(base.read_to_string("/closed/new").unwrap(), "new");
    assert_eq!(base.lstat("/dir"), Err(Errno::ENOENT));
    assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT));
}

#[test]
fn what_the_base_changed_meanwhile_is_a_conflict_and_nothing_is_done() {
    type Do = fn(&Context);
    let cases: &[(&str, Do, Do, &str, ConflictKind)] = &[
        (
            "data",
            |b| b.write("/b", "branch").unwrap(),
            |b| b.write("/b", "base").unwrap(),
            "/b",
            ConflictKind::Changed(Aspects::DATA),
        ),
        (
            "modes",
            |b| b.chmod("/b", 0o600).unwrap(),
            |b| b.chmod("/b", 0o640).unwrap(),
            "/b",
            ConflictKind::Changed(Aspects::ATTRIBUTES),
        ),
        ("removed", |b| b.remove_file("/b").unwrap(), |b| b.write("/b", "base").unwrap(), "/b", ConflictKind::RemovedInBranch),
        ("gone", |b| b.write("/b", "branch").unwrap(), |b| b.remove_file("/b").unwrap(), "/b", ConflictKind::RemovedInParent),
        ("a name", |b| b.write("/n", "branch").unwrap(), |b| b.write("/n", "base").unwrap(), "/n", ConflictKind::Named),
        (
            "a directory in which a file was changed",
            |b| b.remove_dir_all("/d").unwrap(),
            |b| b.write("/d/sub/file", "base").unwrap(),
            "/d",
            ConflictKind::RemovedInBranch,
        ),
        (
            "a directory that got a name",
            |b| b.remove_dir_all("/d").unwrap(),
            |b| b.write("/d/sub/deep/file", "base").unwrap(),
            "/d",
            ConflictKind::RemovedInBranch,
        ),
        (
            "a directory that was removed",
            |b| b.write("/gone/new", "branch").unwrap(),
            |b| b.remove_dir_all("/gone").unwrap(),
            "/gone",
            ConflictKind::RemovedInParent,
        ),
        (
            "a name that leads elsewhere",
            |b| b.rename("/b", "/c").unwrap(),
            |b| b.rename("/d/file", "/b").unwrap(),
            "/b",
            ConflictKind::Named,
        ),
        (
            "a part of a file",
            |b| b.open("/large", OpenFlags::WRITE).unwrap().write_all_at(b"branch", 7).unwrap(),
            |b| b.open("/large", OpenFlags::WRITE).unwrap().write_all_at(b"base", 200_000).unwrap(),
            "/large",
            ConflictKind::BaseChanged,
        ),
    ];
    for (what, in_branch, in_base, path, kind) in cases {
        for ground in Ground::each(fill) {
            let context = ground.fork(None, "work");
            in_branch(&context);
            // The clock of a host's file system ticks a few hundred times a second.
            std::thread::sleep(std::time::Duration::from_millis(12));
            in_base(&ground.base);
            let before = look(&ground.base);
            let Err(Error::Conflicts { conflicts, .. }) = ground.branches.commit("work") else { panic!("{what}") };
            let found = conflicts.iter().any(|conflict| *conflict.path == *path.as_bytes() && conflict.kind == *kind);
            assert!(found, "{what} on {}: {conflicts:?}", ground.name);
            assert_eq!(look(&ground.base), before, "{what}");
        }
    }
}

#[test]
fn what_the_base_changed_elsewhere_stays() {
    for ground in Ground::each(fill) {
        let context = ground.fork(None, "work");
        context.write("/d/new", "branch").unwrap();
        context.chmod("/b", 0o600).unwrap();
        context.remove_file("/one/x").unwrap();
        context.write("/moved/in/new", "branch").unwrap();
        ground.base.write("/d/other", "base").unwrap();
        ground.base.setxattr("/b", "user.of", "base", XattrFlags::empty()).unwrap();
        ground.base.remove_file("/one/x").unwrap();
        ground.base.rename("/moved", "/elsewhere").unwrap();
        ground.branches.commit("work").unwrap();
        let texts = ["/d/new", "/d/other", "/elsewhere/in/new"].map(|path| ground.base.read_to_string(path).unwrap());
        assert_eq!(texts, ["branch", "base", "branch"], "on {}", ground.name);
        assert_eq!(ground.base.getxattr("/b", "user.of").unwrap(), b"base");
        assert_eq!(ground.base.lstat("/b").unwrap().mode, 0o600);
        assert_eq!(ground.base.lstat("/one/x"), Err(Errno::ENOENT));
    }
}

#[test]
fn random_branches_are_committed() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let rounds = std::env::var("PATHWALK_BRANCH_ROUNDS").map_or(8, |rounds| rounds.parse().expect("it is a number"));
    let (mut committed, mut refused) = (0, 0);
    for round in 0..rounds {
        let filled = random.u64(..);
        for ground in Ground::each(|base| {
            let mut of_base = Rng::with_seed(filled);
            (0..60).for_each(|_| change_more(base, &mut of_base));
        }) {
            for _ in 0..5 {
                let context = ground.fork(None, "work");
                (0..random.usize(1..60)).for_each(|_| change_more(&context, &mut random));
                let expected = look_closely(&context);
                let is_quiet = random.bool();
                if !is_quiet {
                    (0..random.usize(1..6)).for_each(|_| change_more(&ground.base, &mut random));
                }
                let before = look(&ground.base);
                match ground.branches.commit("work") {
                    Ok(()) => {
                        let now = look_closely(&ground.base);
                        assert!(
                            !is_quiet || now == expected,
                            "round {round} on {}: {}",
                            ground.name,
                            differences(&now, &expected)
                        );
                        committed += 1;
                    }
                    Err(Error::Conflicts { conflicts, .. }) => {
                        assert!(!is_quiet, "round {round} on {}: {conflicts:?}", ground.name);
                        assert_eq!(look(&ground.base), before);
                        ground.branches.drop("work").unwrap();
                        refused += 1;
                    }
                    Err(other) => panic!("round {round} on {}: {other}", ground.name),
                }
            }
        }
    }
    println!("{committed} committed, {refused} with conflicts");
}

#[test]
fn a_file_whose_known_name_goes_is_changed_by_one_that_stays() {
    for removed in ["/b", "/b/a"] {
        let base = root_on(MemFs::new());
        base.create_dir_all("/b/kept").unwrap();
        base.create_dir_all("/deep/er").unwrap();
        base.write("/deep/er/c", "text").unwrap();
        base.link("/deep/er/c", "/b/a").unwrap();
        let branches = Branches::new(base.clone()).unwrap();
        let context = root_on(branches.fork(None, "work").unwrap());
        context.lstat("/b/a").unwrap();
        if removed == "/b" { context.remove_dir_all(removed) } else { context.remove_file(removed) }.unwrap();
        context.set_inode_flags("/deep/er/c", InodeFlags::IMMUTABLE).unwrap();
        branches.commit("work").unwrap();
        assert_eq!(base.inode_flags("/deep/er/c").unwrap(), InodeFlags::IMMUTABLE, "{removed}");
        assert_eq!((base.lstat("/deep/er/c").unwrap().nlink, base.lstat(removed)), (1, Err(Errno::ENOENT)));
    }
}

#[test]
fn flags_of_a_file_stay_where_a_directory_with_another_name_of_it_goes() {
    let base = root_on(MemFs::new());
    base.mkdir("/b", 0o755).unwrap();
    base.write("/c", "text").unwrap();
    base.link("/c", "/b/a").unwrap();
    base.set_inode_flags("/c", InodeFlags::IMMUTABLE).unwrap();
    let branches = Branches::new(base.clone()).unwrap();
    let context = root_on(branches.fork(None, "work").unwrap());
    context.set_inode_flags("/c", InodeFlags::empty()).unwrap();
    context.remove_dir_all("/b").unwrap();
    context.set_inode_flags("/c", InodeFlags::IMMUTABLE).unwrap();
    branches.commit("work").unwrap();
    assert_eq!((base.lstat("/c").unwrap().nlink, base.inode_flags("/c").unwrap()), (1, InodeFlags::IMMUTABLE));
    assert_eq!(base.lstat("/b"), Err(Errno::ENOENT));
}
