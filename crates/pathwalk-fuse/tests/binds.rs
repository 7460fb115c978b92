//! Tests of a tree in which one node is reached through several mounts: each mount decides about
//! what is done through it, and what is changed through one is seen through the others.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use crate::common::{Case, names, until};
use pathwalk::{At, AtFlags, Context, Credentials, IdExtent, IdMap, MountAttributes, MountFlags, MoveFlags, Recursion, Vfs};
use pathwalk_memfs::MemFs;

/// Returns a tree in which `/a`, with a file `d/f`, is bound at `/b`.
fn bound() -> Context {
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    context.create_dir_all("/a/d").unwrap();
    context.create_dir_all("/b").unwrap();
    context.write("/a/d/f", "text").unwrap();
    context.bind("/a", "/b", Recursion::Alone).unwrap();
    context
}

#[test]
fn what_is_read_only_in_one_place_is_writable_in_the_other() {
    for first in ["a", "b"] {
        let context = bound();
        context.mount_setattr("/b", &MountAttributes::default().with_set(MountFlags::READ_ONLY), Recursion::Alone).unwrap();
        let Some(case) = Case::of(context, |_| ()) else { return };
        assert_eq!(fs::read(case.at(first).join("d/f")).unwrap(), b"text");
        let refused = fs::write(case.at("b/d/f"), "x").map_err(|error| error.kind());
        assert_eq!(refused, Err(ErrorKind::ReadOnlyFilesystem), "{first} was looked at first");
        fs::write(case.at("a/d/f"), "other").unwrap();
        until(b"other".to_vec(), || fs::read(case.at("b/d/f")).unwrap());
        assert_eq!(fs::remove_file(case.at("b/d/f")).map_err(|error| error.kind()), Err(ErrorKind::ReadOnlyFilesystem));
    }
}

#[test]
fn each_place_shows_its_owners() {
    let context = bound();
    context.chown("/a/d/f", Some(7), Some(7)).unwrap();
    let ids = [IdExtent { inside: 0, outside: 100_000, length: 1000 }];
    let map = IdMap::new(&ids, &ids).unwrap();
    // A map is given before the tree is attached.
    let (tree, attributes) = (context.open_tree("/a", Recursion::Alone).unwrap(), MountAttributes::default().with_id_map(map));
    context.mount_setattr_at(tree.handle(), "", AtFlags::EMPTY_PATH, &attributes, Recursion::Alone).unwrap();
    context.move_mount_at(tree.handle(), "", At::Cwd, "/b", MoveFlags::FROM_EMPTY_PATH).unwrap();
    let Some(case) = Case::of(context, |_| ()) else { return };
    let owner = |path: &str| fs::metadata(case.at(path)).unwrap().uid();
    assert_eq!((owner("a/d/f"), owner("b/d/f"), owner("a/d/f")), (7, 100_007, 7));
}

#[test]
fn what_changes_in_one_place_is_seen_in_the_other() {
    let Some(case) = Case::of(bound(), |_| ()) else { return };
    // The kernel keeps all that it is told for ever.
    assert_eq!((names(&case.at("a/d")), names(&case.at("b/d"))), (vec!["f".into()], vec!["f".into()]));
    let length = |path: &str| fs::metadata(case.at(path)).map(|of| of.len()).map_err(|error| error.kind());
    assert_eq!((length("a/d/f"), length("b/d/f"), length("b/d/new")), (Ok(4), Ok(4), Err(ErrorKind::NotFound)));
    fs::write(case.at("a/d/new"), "new").unwrap();
    until(Ok(3), || length("b/d/new"));
    until(vec!["f".to_owned(), "new".to_owned()], || names(&case.at("b/d")));
    fs::write(case.at("b/d/f"), "longer text").unwrap();
    until(b"longer text".to_vec(), || fs::read(case.at("a/d/f")).unwrap());
    fs::set_permissions(case.at("a/d/f"), fs::Permissions::from_mode(0o600)).unwrap();
    until(0o600, || fs::metadata(case.at("b/d/f")).unwrap().mode() & 0o777);
    fs::rename(case.at("b/d/f"), case.at("b/moved")).unwrap();
    until(Err(ErrorKind::NotFound), || length("a/d/f"));
    until(Ok(11), || length("a/moved"));
    let crosses = |done: std::io::Result<()>| done.map_err(|error| error.kind());
    assert_eq!(crosses(fs::hard_link(case.at("a/moved"), case.at("b/link"))), Err(ErrorKind::CrossesDevices));
    assert_eq!(crosses(fs::rename(case.at("a/moved"), case.at("b/other"))), Err(ErrorKind::CrossesDevices));
    fs::remove_file(case.at("a/moved")).unwrap();
    until(Err(ErrorKind::NotFound), || length("b/moved"));
}

#[test]
fn an_open_directory_stays_in_its_place() {
    let Some(case) = Case::of(bound(), |_| ()) else { return };
    let open = File::open(case.at("a/d")).unwrap();
    fs::metadata(case.at("b/d/f")).unwrap();
    let path = fs::read_link(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&open))).unwrap();
    assert_eq!(path, case.at("a/d").canonicalize().unwrap());
    // A tree in itself.
    case.context.bind("/", "/a", Recursion::Alone).unwrap();
    until(true, || fs::metadata(case.at("a/b")).is_ok());
    assert_eq!(names(&case.at("a/a")), ["d"]);
}
