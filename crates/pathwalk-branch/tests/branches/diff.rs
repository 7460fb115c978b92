//! Comparisons of a branch with its parent.

use pathwalk::{At, AtFlags, FileType, SetTime, Timestamp, XattrFlags};
use pathwalk_branch::{Aspects, Change};

use crate::common::Ground;
use crate::{fill, path};

#[test]
fn each_kind_of_change_is_found() {
    for ground in Ground::each(|base| {
        fill(base);
        base.setxattr("/b", "user.x", "1", XattrFlags::empty()).unwrap();
    }) {
        let work = ground.fork(None, "work");
        assert_eq!(ground.branches.diff("work").unwrap(), [], "{}", ground.name);
        work.write("/a", "changed").unwrap();
        work.chmod("/a", 0o600).unwrap();
        work.setxattr("/b", "user.x", "2", XattrFlags::empty()).unwrap();
        work.rename("/d/sub", "/e/moved").unwrap();
        work.write("/e/moved/file", "below what moved").unwrap();
        work.remove_file("/d/file").unwrap();
        work.symlink("a", "/d/file").unwrap();
        work.create_dir_all("/new/below").unwrap();
        work.chmod("/d", 0o700).unwrap();
        work.write("/passing", "").unwrap();
        work.remove_file("/passing").unwrap();
        let (regular, directory) = (FileType::Regular, FileType::Directory);
        let expected = [
            Change::Changed { path: path("/a"), kind: regular, what: Aspects::DATA | Aspects::ATTRIBUTES },
            Change::Changed { path: path("/b"), kind: regular, what: Aspects::XATTRS },
            Change::Changed { path: path("/d"), kind: directory, what: Aspects::ATTRIBUTES },
            Change::TypeChanged { path: path("/d/file"), from: regular, kind: FileType::Symlink },
            Change::Renamed { from: path("/d/sub"), path: path("/e/moved"), kind: directory, what: Aspects::empty() },
            Change::Changed { path: path("/e/moved/file"), kind: regular, what: Aspects::DATA },
            Change::Added { path: path("/new"), kind: directory },
            Change::Added { path: path("/new/below"), kind: directory },
        ];
        assert_eq!(ground.branches.diff("work").unwrap(), expected, "{}", ground.name);

        let fork = ground.fork(Some("work"), "fork");
        assert_eq!(ground.branches.diff("fork").unwrap(), []);
        fork.remove_dir_all("/e").unwrap();
        fork.hard_link("/a", "/also").unwrap();
        fork.remove_file("/b").unwrap();
        fork.write("/b", "in its place").unwrap();
        fork.rename("/new/below", "/kept").unwrap();
        fork.rmdir("/new").unwrap();
        let expected = [
            Change::Added { path: path("/also"), kind: regular },
            Change::Changed { path: path("/b"), kind: regular, what: Aspects::DATA | Aspects::ATTRIBUTES },
            Change::Removed { path: path("/e"), kind: directory },
            Change::Renamed { from: path("/new/below"), path: path("/kept"), kind: directory, what: Aspects::empty() },
            Change::Removed { path: path("/new"), kind: directory },
        ];
        assert_eq!(ground.branches.diff("fork").unwrap(), expected, "{}", ground.name);
    }
}

#[test]
fn a_directory_that_was_replaced_below_one_that_moved_has_its_old_path() {
    for ground in Ground::each(fill) {
        let work = ground.fork(None, "work");
        work.rename("/d", "/x").unwrap();
        work.remove_dir_all("/x/sub").unwrap();
        work.mkdir("/x/sub", 0o755).unwrap();
        let kind = FileType::Directory;
        let expected = [
            Change::Removed { path: path("/d/sub"), kind },
            Change::Renamed { from: path("/d"), path: path("/x"), kind, what: Aspects::empty() },
            Change::Added { path: path("/x/sub"), kind },
        ];
        assert_eq!(ground.branches.diff("work").unwrap(), expected, "{}", ground.name);
    }
}

#[test]
fn a_node_that_lost_its_last_name_but_one_has_a_path() {
    for ground in Ground::each(|base| {
        ["/a", "/b", "/c", "/d", "/e"].into_iter().for_each(|name| base.write(name, "old").unwrap());
        base.mkdir("/dir", 0o755).unwrap();
        base.hard_link("/e", "/dir/e").unwrap();
    }) {
        let work = ground.fork(None, "work");
        // In a directory of the base, in one that is gone, and in one that stays.
        work.write("/a", "new").unwrap();
        work.hard_link("/a", "/z").unwrap();
        work.remove_file("/z").unwrap();
        work.mkdir("/gone", 0o755).unwrap();
        work.hard_link("/b", "/gone/z").unwrap();
        work.write("/b", "new").unwrap();
        work.remove_file("/gone/z").unwrap();
        work.rmdir("/gone").unwrap();
        work.mkdir("/stays", 0o755).unwrap();
        work.hard_link("/c", "/stays/z").unwrap();
        work.write("/c", "new").unwrap();
        work.remove_file("/stays/z").unwrap();
        // Under a name that stays, while the one of the base and the last one go.
        work.write("/d", "new").unwrap();
        work.hard_link("/d", "/stays/d").unwrap();
        work.hard_link("/d", "/z").unwrap();
        work.remove_file("/z").unwrap();
        work.remove_file("/d").unwrap();
        work.hard_link("/e", "/z").unwrap();
        work.write("/dir/e", "new").unwrap();
        work.remove_dir_all("/dir").unwrap();
        let (regular, directory, what) = (FileType::Regular, FileType::Directory, Aspects::DATA);
        let expected = [
            Change::Changed { path: path("/a"), kind: regular, what },
            Change::Changed { path: path("/b"), kind: regular, what },
            Change::Changed { path: path("/c"), kind: regular, what },
            Change::Removed { path: path("/dir"), kind: directory },
            Change::Added { path: path("/stays"), kind: directory },
            Change::Renamed { from: path("/d"), path: path("/stays/d"), kind: regular, what },
            Change::Added { path: path("/z"), kind: regular },
            Change::Changed { path: path("/z"), kind: regular, what },
        ];
        assert_eq!(ground.branches.diff("work").unwrap(), expected, "{}", ground.name);
        ground.branches.commit("work").unwrap();
        for name in ["/a", "/b", "/c", "/stays/d", "/e", "/z"] {
            assert_eq!(ground.base.read_to_string(name).unwrap(), "new", "{}: {name}", ground.name);
        }
    }
}

#[test]
fn times_of_a_link_are_attributes() {
    for ground in Ground::each(|base| base.symlink("to", "/link").unwrap()) {
        let context = ground.fork(None, "work");
        let early = SetTime::To(Timestamp { seconds: 5, nanoseconds: 0 });
        context.utimensat(At::Cwd, "/link", SetTime::Keep, early, AtFlags::SYMLINK_NOFOLLOW).unwrap();
        let changes = ground.branches.diff("work").unwrap();
        let path = Box::from(&b"/link"[..]);
        assert_eq!(changes, [Change::Changed { path, kind: FileType::Symlink, what: Aspects::ATTRIBUTES }], "{}", ground.name);
    }
}
