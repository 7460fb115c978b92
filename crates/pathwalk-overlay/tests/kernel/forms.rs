//! Each special form of a layer.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use pathwalk_branch::{Aspects, Change};
use pathwalk_overlay::{Error, Layer, Suited, Taking};
use rustix::fs::{CWD, FileType, Mode, XattrFlags, makedev, mknodat, setxattr};

use super::trees::shown;
use super::world::{Shown, World, as_root, context, host, keep_accesses};

/// Makes a base, changes it on a mount, and returns what the branch tells.
fn told(base: impl FnOnce(&Path), change: impl FnOnce(&Path), what: &str) -> String {
    let mut world = World::new();
    base(&world.base());
    keep_accesses(&world.base()).expect("it is the caller's");
    let mounted = world.mount();
    change(&mounted.at);
    let seen = Shown::of(&host(&mounted.at));
    shown(&world.take(&mounted.unmount(), &seen, what))
}

fn write(path: &Path, data: impl AsRef<[u8]>) {
    fs::write(path, data).expect("there is room");
}

fn run(program: &str, arguments: &[&str], dir: &Path) {
    let status = Command::new(program).args(arguments).current_dir(dir).status().expect("it is there");
    assert!(status.success(), "{program} {arguments:?}");
}

#[test]
fn what_did_not_change_is_not_told() {
    as_root(|| {
        let base = |dir: &Path| {
            fs::create_dir(dir.join("d")).unwrap();
            write(&dir.join("d/file"), vec![7; 100_000]);
            symlink("file", dir.join("d/link")).unwrap();
        };
        let change = |dir: &Path| {
            let path = dir.join("d/file");
            let times = fs::metadata(&path).unwrap();
            drop(fs::OpenOptions::new().write(true).open(&path).unwrap());
            let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
            file.write_at(&[7; 10], 5000).unwrap();
            file.set_modified(times.modified().unwrap()).unwrap();
        };
        assert_eq!(told(base, change, "an open"), "");
    });
}

/// The comparison reads the base, which may move a time of access there.
#[test]
fn new_data_is_no_new_time_of_access() {
    as_root(|| {
        let base = |dir: &Path| write(&dir.join("file"), "old");
        let mut world = World::new();
        base(&world.base());
        let mounted = world.mount();
        write(&mounted.at.join("file"), "new");
        let layer = mounted.unmount();
        let branches = world.branches();
        let branch = context(branches.fork(None, "work").unwrap());
        Taking::of(&layer, &host(&world.base()), &branch).unwrap().take().unwrap();
        let changed = shown(&branches.diff("work").unwrap());
        assert_eq!(changed, format!("changed /file Regular {:?}\n", Aspects::DATA));
        let set = |dir: &Path| {
            let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
            let times = fs::FileTimes::new().set_accessed(time);
            fs::File::open(dir.join("file")).unwrap().set_times(times).unwrap();
        };
        assert_eq!(told(base, set, "a time"), format!("changed /file Regular {:?}\n", Aspects::ATTRIBUTES));
    });
}

#[test]
fn of_a_large_file_one_block_is_written() {
    as_root(|| {
        let mut world = World::new();
        // No text, of which the branch would keep all.
        write(&world.base().join("file"), [7, 0].repeat(1 << 19));
        let mounted = world.mount();
        fs::OpenOptions::new().write(true).open(mounted.at.join("file")).unwrap().write_at(b"new", 70_000).unwrap();
        let layer = mounted.unmount();
        let branches = world.branches();
        let branch = context(branches.fork(None, "work").unwrap());
        Taking::of(&layer, &host(&world.base()), &branch).unwrap().take().unwrap();
        assert_eq!(branches.stored(), 4096);
    });
}

#[test]
fn a_renamed_directory_is_one_change() {
    as_root(|| {
        let base = |dir: &Path| {
            for made in ["a", "a/b", "a/b/c", "other"] {
                fs::create_dir(dir.join(made)).unwrap();
            }
            write(&dir.join("a/b/c/file"), "text");
        };
        let relative = told(base, |dir| fs::rename(dir.join("a"), dir.join("z")).unwrap(), "a relative redirect");
        assert_eq!(relative, "renamed /a to /z Directory Aspects(0x0)\n");
        let absolute = told(base, |dir| fs::rename(dir.join("a/b"), dir.join("other/b")).unwrap(), "an absolute redirect");
        assert_eq!(absolute, "renamed /a/b to /other/b Directory Aspects(0x0)\n");
        let nested = |dir: &Path| {
            fs::rename(dir.join("a/b/c"), dir.join("c")).unwrap();
            fs::rename(dir.join("a"), dir.join("c/a")).unwrap();
            fs::rename(dir.join("c/file"), dir.join("c/a/b/file")).unwrap();
            fs::remove_dir_all(dir.join("other")).unwrap();
            fs::rename(dir.join("c"), dir.join("other")).unwrap();
        };
        told(base, nested, "nested redirects");
        let removed = |dir: &Path| {
            fs::rename(dir.join("a/b/c"), dir.join("kept")).unwrap();
            fs::remove_dir_all(dir.join("a")).unwrap();
        };
        told(base, removed, "a directory that is moved out of a removed one");
    });
}

#[test]
fn hard_links_stay_one_file() {
    as_root(|| {
        let base = |dir: &Path| {
            fs::create_dir(dir.join("d")).unwrap();
            write(&dir.join("a"), "text");
            fs::hard_link(dir.join("a"), dir.join("b")).unwrap();
            fs::hard_link(dir.join("a"), dir.join("d/c")).unwrap();
        };
        let append = |path: &Path| fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"more").unwrap();
        told(base, |dir| append(&dir.join("a")), "a change by one name");
        let by_index = |dir: &Path| {
            append(&dir.join("a"));
            fs::remove_file(dir.join("a")).unwrap();
        };
        told(base, by_index, "a change by a name that is removed");
        let in_removed = |dir: &Path| {
            append(&dir.join("d/c"));
            fs::remove_dir_all(dir.join("d")).unwrap();
        };
        told(base, in_removed, "a change by a name in a directory that is removed");
        let moved = |dir: &Path| {
            fs::rename(dir.join("b"), dir.join("d/z")).unwrap();
            fs::hard_link(dir.join("a"), dir.join("0")).unwrap();
            append(&dir.join("0"));
        };
        told(base, moved, "names that come and go");
        let gone = |dir: &Path| {
            append(&dir.join("a"));
            ["a", "b", "d/c"].iter().for_each(|name| fs::remove_file(dir.join(name)).unwrap());
        };
        told(base, gone, "all names that go");
        let renamed = told(base, |dir| fs::rename(dir.join("a"), dir.join("d/a")).unwrap(), "a rename");
        assert!(renamed.starts_with("renamed /a to /d/a "), "{renamed}");
    });
}

#[test]
fn kinds_of_nodes_and_their_attributes() {
    as_root(|| {
        let base = |dir: &Path| {
            write(&dir.join("locked"), "text");
            write(&dir.join("file"), "text");
            symlink("file", dir.join("link")).unwrap();
        };
        let change = |dir: &Path| {
            let node = |name: &str, kind, device| mknodat(CWD, dir.join(name), kind, Mode::from_raw_mode(0o640), device).unwrap();
            node("fifo", FileType::Fifo, 0);
            node("socket", FileType::Socket, 0);
            node("char", FileType::CharacterDevice, makedev(1, 3));
            node("block", FileType::BlockDevice, makedev(7, 9));
            rustix::fs::chownat(
                CWD,
                dir.join("link"),
                Some(rustix::fs::Uid::from_raw(5)),
                None,
                rustix::fs::AtFlags::SYMLINK_NOFOLLOW,
            )
            .unwrap();
            setxattr(dir.join("file"), "trusted.overlay.opaque", b"y", XattrFlags::empty()).unwrap();
            setxattr(dir.join("file"), "user.overlay.opaque", b"y", XattrFlags::empty()).unwrap();
            setxattr(dir.join("file"), "user.a", b"value", XattrFlags::empty()).unwrap();
            run("setfacl", &["-m", "u:7:r", "file"], dir);
            fs::create_dir(dir.join("d")).unwrap();
            run("setfacl", &["-d", "-m", "u:7:rx", "d"], dir);
            fs::create_dir(dir.join("d/below")).unwrap();
            fs::set_permissions(dir.join("d"), fs::Permissions::from_mode(0o3751)).unwrap();
            let sparse = fs::File::create(dir.join("sparse")).unwrap();
            sparse.write_at(b"end", 10 << 20).unwrap();
            sparse.set_len(20 << 20).unwrap();
            run("chattr", &["+i", "locked"], dir);
            run("chattr", &["+a", "d/below"], dir);
        };
        if ["setfacl", "chattr"].iter().any(|program| Command::new(program).arg("--help").output().is_err()) {
            return pathwalk_tests::skipped("attributes of a layer", "setfacl or chattr is not there");
        }
        told(base, change, "kinds of nodes");
    });
}

#[test]
fn sizes_and_holes_of_a_changed_file() {
    as_root(|| {
        let base = |dir: &Path| {
            for name in ["shorter", "longer", "punched", "cut"] {
                write(&dir.join(name), vec![9; 200_000]);
            }
        };
        let change = |dir: &Path| {
            let open = |name: &str| fs::OpenOptions::new().write(true).open(dir.join(name)).unwrap();
            open("shorter").set_len(70_001).unwrap();
            open("longer").set_len(900_000).unwrap();
            open("longer").write_at(b"end", 800_000).unwrap();
            rustix::fs::fallocate(
                open("punched"),
                rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE,
                8192,
                65536,
            )
            .unwrap();
            open("cut").set_len(0).unwrap();
            open("cut").set_len(200_000).unwrap();
        };
        told(base, change, "sizes");
    });
}

/// Whiteouts that other programs write, which the kernel takes in an upper layer, too.
#[test]
fn whiteouts_that_are_attributes() {
    as_root(|| {
        let mut world = World::new();
        fs::create_dir(world.base().join("d")).unwrap();
        ["d/x", "d/y", "f"].iter().for_each(|name| write(&world.base().join(name), "text"));
        let mounted = world.mount();
        let (at, layer) = (mounted.at.clone(), mounted.unmount());
        let upper = at.parent().unwrap().join("layer 1/upper");
        fs::create_dir(upper.join("d")).unwrap();
        setxattr(upper.join("d"), "trusted.overlay.opaque", b"x", XattrFlags::empty()).unwrap();
        for name in ["d/x", "f"] {
            write(&upper.join(name), "");
            setxattr(upper.join(name), "trusted.overlay.whiteout", b"y", XattrFlags::empty()).unwrap();
        }
        let mounted = world.mount_again(layer);
        assert!(!at.join("d/x").exists() && !at.join("f").exists() && at.join("d/y").exists());
        let layer = mounted.unmount();
        let branches = world.branches();
        let branch = context(branches.fork(None, "work").unwrap());
        Taking::of(&layer, &host(&world.base()), &branch).unwrap().take().unwrap();
        let gone: Vec<_> =
            branches.diff("work").unwrap().into_iter().filter(|change| matches!(change, Change::Removed { .. })).collect();
        assert_eq!(shown(&gone), "removed /d/x Regular\nremoved /f Regular\n");
        // The mode and the times of the directory were set with it.
        assert!(branch.stat("/d/y").is_ok());
    });
}

#[test]
fn a_file_without_its_data_is_refused() {
    as_root(|| {
        let mut world = World::new();
        let mounted = world.mount();
        write(&mounted.at.join("file"), "text");
        let (at, layer) = (mounted.at.clone(), mounted.unmount());
        let file = at.parent().unwrap().join("layer 1/upper/file");
        setxattr(&file, "trusted.overlay.metacopy", b"", XattrFlags::empty()).unwrap();
        let branch = context(world.branches().fork(None, "work").unwrap());
        let error = Taking::of(&layer, &host(&world.base()), &branch).unwrap_err();
        assert!(matches!(&error, Error::Metacopy(path) if **path == *b"/file"), "{error}");
    });
}

#[test]
fn a_base_that_changed_is_told() {
    as_root(|| {
        let mut world = World::new();
        for dir in ["kept", "gone", "moved", "quiet"] {
            fs::create_dir(world.base().join(dir)).unwrap();
        }
        for file in ["changed", "removed", "other", "gone/below", "kept/untouched", "quiet/file"] {
            write(&world.base().join(file), "text");
        }
        let mounted = world.mount();
        let at = &mounted.at;
        write(&at.join("changed"), "here");
        fs::remove_file(at.join("removed")).unwrap();
        fs::remove_dir_all(at.join("gone")).unwrap();
        write(&at.join("kept/new"), "here");
        write(&at.join("quiet/file"), "here");
        fs::rename(at.join("moved"), at.join("elsewhere")).unwrap();
        let layer = mounted.unmount();
        let changed = |world: &World| -> Vec<String> {
            let branch = context(world.branches().fork(None, "work").unwrap());
            let taking = Taking::of(&layer, &host(&world.base()), &branch).unwrap();
            taking.changed().iter().map(|path| String::from_utf8_lossy(path).into_owned()).collect()
        };
        assert_eq!(changed(&world), [""; 0]);
        write(&world.base().join("other"), "not touched by the layer");
        write(&world.base().join("kept/untouched"), "nor this");
        assert_eq!(changed(&world), [""; 0]);
        write(&world.base().join("changed"), "there");
        write(&world.base().join("gone/below"), "there");
        assert_eq!(changed(&world), ["/changed", "/gone/below"]);
        fs::remove_file(world.base().join("removed")).unwrap();
        fs::rename(world.base().join("moved"), world.base().join("kept/moved")).unwrap();
        assert_eq!(changed(&world), ["/", "/changed", "/gone/below", "/kept", "/moved", "/removed"]);
    });
}

#[test]
fn a_layer_is_opened_again_and_removed() {
    as_root(|| {
        let mut world = World::new();
        write(&world.base().join("file"), "text");
        let mounted = world.mount();
        assert_eq!(mounted.layer.suited(&world.base(), &mounted.mount).unwrap(), Suited::Yes);
        let dir = mounted.at.parent().unwrap().join("layer 1");
        let (start, form) = (mounted.layer.start(), mounted.layer.form());
        drop(mounted.unmount());
        let layer = Layer::open(&dir).unwrap();
        assert_eq!((layer.start(), layer.form()), (start, form));
        layer.remove().unwrap();
        assert!(!dir.exists());
        assert!(matches!(Layer::open(dir.parent().unwrap()), Err(Error::NoLayer(_))));
    });
}

#[test]
fn the_root_gets_its_attributes() {
    as_root(|| {
        let base = |dir: &Path| {
            fs::set_permissions(dir, fs::Permissions::from_mode(0o2750)).unwrap();
            setxattr(dir, "user.of-root", b"kept", XattrFlags::empty()).unwrap();
        };
        assert_eq!(told(base, |_| {}, "no change"), "");
        let changed = told(base, |dir| fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).unwrap(), "a mode");
        assert_eq!(changed, format!("changed / Directory {:?}\n", Aspects::ATTRIBUTES));
    });
}

/// Numbers of nodes are those of the base, in the mount and in the branch.
#[test]
fn numbers_stay() {
    as_root(|| {
        let mut world = World::new();
        write(&world.base().join("file"), "text");
        let number = fs::metadata(world.base().join("file")).unwrap().ino();
        let mounted = world.mount();
        fs::rename(mounted.at.join("file"), mounted.at.join("moved")).unwrap();
        assert_eq!(fs::metadata(mounted.at.join("moved")).unwrap().ino(), number);
        let branch = context(world.branches().fork(None, "work").unwrap());
        Taking::of(&mounted.unmount(), &host(&world.base()), &branch).unwrap().take().unwrap();
        assert_eq!(branch.stat("/moved").unwrap().ino, number);
    });
}
