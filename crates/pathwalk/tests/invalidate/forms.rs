//! Each form of a report: what it makes the engine ask again, what stays, and what it costs.

use std::sync::Arc;

use pathwalk::permission::{Acl, AclEntry, AclKind, AclTag};
use pathwalk::{
    Access, AtFlags, Credentials, Errno, MountFlags, Name, NodeKey, OpenFlags, UmountFlags, Vfs, XattrFlags, internals,
};
use pathwalk_memfs::MemFs;

use crate::world::{World, attachable};

fn name(name: &str) -> Name<'_> {
    Name::new(name.as_bytes()).unwrap()
}

fn tree() -> World {
    let fs = MemFs::new();
    fs.mkdir_all("/d/e", 0o755).unwrap();
    ["/f", "/d/f", "/d/e/f"].iter().for_each(|path| fs.file(path, 0o644).unwrap());
    World::new(fs)
}

const ROOT: &str = "/";
const ABSENT: Result<u64, Errno> = Err(Errno::ENOENT);

#[test]
fn a_name_costs_one_lookup_and_what_is_below_stays() {
    let world = tree();
    let (root, d) = (world.behind.key(ROOT).unwrap(), world.behind.key("/d").unwrap());
    let before = world.ino("/d/e/f");
    world.notifier().invalidate_name(root, name("d"));
    let calls = world.calls(|| assert_eq!(world.ino("/d/e/f"), before));
    assert_eq!((calls.lookup, calls.forget), (1, 1), "the name leads where it led");
    // The name leads elsewhere.
    world.behind.rename("/d", "/moved").unwrap();
    world.behind.mkdir("/d", 0o755).unwrap();
    assert_eq!(world.ino("/d/e/f"), before, "that is not reported yet");
    ["d", "moved"].iter().for_each(|changed| world.notifier().invalidate_name(root, name(changed)));
    assert_eq!(world.ino("/d/e/f"), ABSENT);
    let calls = world.calls(|| assert_eq!(world.ino("/moved/e/f"), before));
    assert!(calls.lookup <= 2, "the directory is cached with all that is below it: {calls:?}");
    // An absence.
    assert_eq!(world.ino("/none"), ABSENT);
    world.behind.file("/none", 0o644).unwrap();
    world.notifier().invalidate_name(root, name("none"));
    assert!(world.ino("/none").is_ok());
    // Keys and names that are not cached, or are none.
    world.notifier().invalidate_name(d, name("never asked for"));
    world.notifier().invalidate_name(NodeKey(77), name("f"));
    world.notifier().invalidate_name(world.behind.key("/f").unwrap(), name("f"));
    assert_eq!(world.ino("/f/f"), Err(Errno::ENOTDIR));
}

#[test]
fn names_in_a_directory_whose_names_were_all_known() {
    let world = tree();
    world.context.open("/d", OpenFlags::READ).unwrap().getdents(usize::MAX).unwrap();
    assert_eq!(world.calls(|| assert_eq!(world.ino("/d/none"), ABSENT)).lookup, 0, "the listing said so");
    for report in 0..4 {
        let path = format!("/d/new{report}");
        assert_eq!(world.ino(&path), ABSENT);
        world.behind.file(&path, 0o644).unwrap();
        let (root, d) = (world.behind.key(ROOT).unwrap(), world.behind.key("/d").unwrap());
        match report {
            0 => world.notifier().invalidate_name(d, name("new0")),
            1 => world.notifier().invalidate_node(d),
            2 => world.notifier().invalidate_subtree(root),
            _ => world.notifier().invalidate_all(),
        }
        assert!(world.ino(&path).is_ok(), "{report}");
    }
    // A directory that the engine made is empty for it.
    world.context.mkdir("/made", 0o755).unwrap();
    assert_eq!(world.calls(|| assert_eq!(world.ino("/made/f"), ABSENT)).lookup, 0);
    world.behind.file("/made/f", 0o644).unwrap();
    world.behind.file("/made/g", 0o644).unwrap();
    world.notifier().invalidate_node(world.behind.key("/made").unwrap());
    assert!(world.ino("/made/f").is_ok() && world.ino("/made/g").is_ok());
}

/// Two directories that were exchanged, in a directory that is listed after the report: that one of
/// them is found elsewhere does not say that its old name is gone.
#[test]
fn exchanged_directories_in_a_directory_that_was_listed() {
    let world = tree();
    world.behind.mkdir("/x", 0o755).unwrap();
    let (of_x, of_e) = (world.ino("/x"), world.ino("/d/e"));
    [("/x", "/t"), ("/d/e", "/x"), ("/t", "/d/e")].iter().for_each(|(from, to)| world.behind.rename(from, to).unwrap());
    let (root, d) = (world.behind.key(ROOT).unwrap(), world.behind.key("/d").unwrap());
    [(root, "x"), (root, "t"), (d, "e")].iter().for_each(|(dir, changed)| world.notifier().invalidate_name(*dir, name(changed)));
    world.context.open("/d", OpenFlags::READ).unwrap().getdents(usize::MAX).unwrap();
    assert_eq!(world.ino("/x"), of_e);
    assert_eq!(world.ino("/d/e"), of_x);
}

/// A file that is found under its next name before the report about the last one, which has left
/// the table when the report comes.
#[test]
fn attributes_of_a_file_whose_last_name_is_not_cached_any_more() {
    let world = tree();
    assert!(world.ino("/d/f").is_ok());
    world.behind.chmod("/d/f", 0o600).unwrap();
    world.behind.rename("/d/f", "/d/e/moved").unwrap();
    let held = world.context.lookup("/d/e/moved").unwrap();
    internals::evict(world.context.vfs(), 100);
    world.notifier().invalidate_name(world.behind.key("/d").unwrap(), name("f"));
    assert_eq!(held.attributes().map(|of| of.mode), Ok(0o600));
}

#[test]
fn attributes_alone() {
    let world = tree();
    let user = world.context.clone().with_credentials(Credentials::user(7, 7, &[]));
    let f = world.behind.key("/d/f").unwrap();
    let may = |want| user.access("/d/f", want);
    assert_eq!(may(Access::READ), Ok(()));
    let held = user.lookup("/d/f").unwrap();
    world.behind.chmod("/d/f", 0o600).unwrap();
    assert_eq!(may(Access::READ), Ok(()), "that is not reported yet");
    world.notifier().invalidate_attributes(f);
    let calls = world.calls(|| assert_eq!(may(Access::READ), Err(Errno::EACCES)));
    assert_eq!((calls.lookup, calls.attributes), (0, 1));
    world.behind.chmod("/d/f", 0o644).unwrap();
    world.context.vfs().invalidate_attributes(&held).unwrap();
    assert_eq!((may(Access::READ), held.attributes().map(|of| of.mode)), (Ok(()), Ok(0o644)));
    // The way: a directory that may no longer be searched.
    world.behind.chmod("/d", 0o700).unwrap();
    world.notifier().invalidate_attributes(world.behind.key("/d").unwrap());
    assert_eq!(may(Access::READ), Err(Errno::EACCES));
    world.behind.chmod("/d", 0o755).unwrap();
    world.context.vfs().invalidate_key(world.context.root(), world.behind.key("/d").unwrap()).unwrap();
    assert_eq!(may(Access::READ), Ok(()));
}

#[test]
fn data_lists_and_capabilities() {
    let world = tree();
    let aside = Vfs::builder().build(world.behind.alias()).unwrap().context(Credentials::root());
    let f = world.behind.key("/f").unwrap();
    assert_eq!(world.context.stat("/f").unwrap().size, 0);
    aside.write("/f", "12345").unwrap();
    world.notifier().invalidate_data(f);
    assert_eq!(world.context.stat("/f").unwrap().size, 5);
    // Whether there is a capability is noted with the first write.
    world.context.write("/f", "1").unwrap();
    let capability = [1, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    aside.setxattr("/f", "security.capability", capability, XattrFlags::empty()).unwrap();
    world.notifier().invalidate_attributes(f);
    world.context.write("/f", "2").unwrap();
    assert_eq!(aside.getxattr("/f", "security.capability"), Err(Errno::ENODATA), "a write takes it away");
    // A list that lets another user in.
    let user = world.context.clone().with_credentials(Credentials::user(7, 7, &[]));
    aside.chmod("/f", 0o640).unwrap();
    world.notifier().invalidate_attributes(f);
    assert_eq!(user.access("/f", Access::READ), Err(Errno::EACCES));
    let entry = |tag, grants| AclEntry { tag, grants };
    let (read, none) = (Access::READ, Access::empty());
    let named = entry(AclTag::User(7), read);
    let entries =
        [entry(AclTag::Owner, read), named, entry(AclTag::Group, read), entry(AclTag::Mask, read), entry(AclTag::Other, none)];
    let list = Acl::new(entries.into());
    aside.set_acl("/f", AclKind::Access, Some(&list)).unwrap();
    world.notifier().invalidate_attributes(f);
    assert_eq!(user.access("/f", Access::READ), Ok(()));
}

#[test]
fn by_path_where_nothing_of_the_way_is_cached_or_there() {
    let world = tree();
    let vfs = world.context.vfs();
    let root = world.context.root();
    let report = |path: &str| vfs.invalidate_path(root, path).unwrap();
    // Below an absence.
    assert_eq!(world.ino("/a/b/c"), ABSENT);
    world.behind.mkdir_all("/a/b", 0o755).unwrap();
    world.behind.file("/a/b/c", 0o644).unwrap();
    report("/a/b/c");
    assert!(world.ino("/a/b/c").is_ok());
    // Below what was a file.
    assert_eq!(world.ino("/f/below"), Err(Errno::ENOTDIR));
    world.behind.unlink("/f").unwrap();
    world.behind.mkdir("/f", 0o755).unwrap();
    world.behind.file("/f/below", 0o644).unwrap();
    report("f/below");
    assert!(world.ino("/f/below").is_ok());
    // Through a link, through `..`, and with slashes.
    world.behind.symlink("d/e", "/link").unwrap();
    report("/link");
    for (n, path) in ["/link/x0", "d/e/../e/x1", "//d//e/x2//", "../d/e/x3"].into_iter().enumerate() {
        let there = format!("/d/e/x{n}");
        assert_eq!((world.ino(&there), world.ino(&format!("/link/x{n}"))), (ABSENT, ABSENT));
        world.behind.file(&there, 0o644).unwrap();
        report(path);
        assert!(world.ino(&there).is_ok(), "{path}");
    }
    // A way that is not cached costs no call.
    while internals::evict(vfs, 1) > 0 {}
    let calls = world.calls(|| report("/d/e/f"));
    assert_eq!((calls.lookup, calls.attributes), (0, 0));
    // From a directory, above which nothing is.
    let d = world.context.lookup("/d").unwrap();
    assert_eq!(world.ino("/d/y"), ABSENT);
    world.behind.file("/d/y", 0o644).unwrap();
    vfs.invalidate_path(&d, "../../y").unwrap();
    assert!(world.ino("/d/y").is_ok());
    // What is no path of a name.
    for wrong in ["", ".", "d/..", "/", "d/."] {
        assert_eq!(vfs.invalidate_path(root, wrong), Err(Errno::EINVAL), "{wrong:?}");
    }
    assert_eq!(vfs.invalidate_path(root, "x\0y"), Err(Errno::EINVAL));
    assert_eq!(vfs.invalidate_path(root, "x".repeat(5000)), Err(Errno::ENAMETOOLONG));
    assert_eq!(vfs.invalidate_path(&world.context.lookup("/d/f").unwrap(), "x"), Err(Errno::ENOTDIR));
    let other = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    assert_eq!(vfs.invalidate_path(other.root(), "x"), Err(Errno::EBADF));
    assert_eq!(vfs.invalidate_file_system(other.root()), Err(Errno::EBADF));
    assert_eq!(vfs.invalidate_attributes(other.root()), Err(Errno::EBADF));
    assert_eq!(vfs.invalidate_key(other.root(), NodeKey(1)), Err(Errno::EBADF));
}

#[test]
fn a_link_whose_body_changed_under_its_key() {
    let world = tree();
    let read = |path: &str| world.context.read_link(path).map(|path| path.into_os_string().into_string().unwrap());
    world.context.symlink("d/f", "/link").unwrap();
    let link = world.behind.key("/link").unwrap();
    assert_eq!((read("/link").unwrap(), world.calls(|| drop(read("/link"))).read_link), ("d/f".into(), 0));
    world.notifier().invalidate_node(link);
    let asks = world.calls(|| assert_eq!(read("/link").unwrap(), "d/f"));
    assert_eq!(asks.lookup + asks.read_link, 1, "the cached body is not used: {asks:?}");
    assert_eq!(world.ino("/link"), world.ino("/d/f"));
    world.notifier().invalidate_all();
    assert_eq!(world.ino("/link"), world.ino("/d/f"));
}

#[test]
fn what_is_mounted_stays_if_the_name_holds_and_goes_if_not() {
    let world = tree();
    let context = &world.context;
    context.mount(MemFs::new(), "/d", MountFlags::empty()).unwrap();
    context.mkdir("/d/inner", 0o755).unwrap();
    let root = world.behind.key(ROOT).unwrap();
    let reports: [fn(&World, NodeKey); 4] = [
        |world, root| world.notifier().invalidate_name(root, name("d")),
        |world, root| world.notifier().invalidate_node(root),
        |world, root| world.notifier().invalidate_subtree(root),
        |world, _| world.notifier().invalidate_all(),
    ];
    for report in reports {
        report(&world, root);
        assert!(context.stat("/d/inner").is_ok());
    }
    world.behind.rename("/d", "/moved").unwrap();
    world.notifier().invalidate_all();
    assert_eq!((world.ino("/d/inner"), world.ino("/moved/inner")), (ABSENT, ABSENT));
    assert!(world.ino("/moved/f").is_ok());
    assert_eq!(context.umount("/moved", UmountFlags::empty()), Err(Errno::EINVAL), "nothing is mounted there");
}

#[test]
fn a_notifier_keeps_nothing_alive_and_outlives_all() {
    let world = tree();
    let (fs, keeps) = attachable(&MemFs::new());
    let fs = Arc::new(fs);
    world.context.mount(fs.clone(), "/d", MountFlags::empty()).unwrap();
    let inner = world.context.stat("/d").unwrap().ino;
    let notifier = keeps.notifier().clone();
    notifier.invalidate_all();
    assert_eq!(format!("{notifier:?}"), "Notifier(file system 1)");
    world.context.umount("/d", UmountFlags::empty()).unwrap();
    assert_eq!(Arc::strong_count(&fs), 1, "the file system is gone");
    // Another one has its number now, and does not hear of it.
    let other = tree();
    world.context.mount(attachable(&other.behind).0, "/d", MountFlags::empty()).unwrap();
    assert_eq!(world.ino("/d/none"), ABSENT);
    other.behind.file("/none", 0o644).unwrap();
    notifier.invalidate_all();
    assert_eq!(world.ino("/d/none"), ABSENT, "{inner}");
    let (notifier, vfs) = (world.notifier().clone(), world.context.vfs().clone());
    drop(world);
    notifier.invalidate_all();
    drop(vfs);
    notifier.invalidate_all();
    notifier.invalidate_name(NodeKey(1), name("f"));
}

#[test]
fn reports_while_a_file_system_is_attached_are_not_lost() {
    struct Early(MemFs);
    impl pathwalk::FileSystem for Early {
        fn attached(&self, notifier: pathwalk::Notifier) {
            notifier.invalidate_all();
        }
        fn root(&self) -> Result<pathwalk::Node, Errno> {
            self.0.root()
        }
        fn lookup(&self, dir: &pathwalk::Directory<'_>, name: Name<'_>) -> Result<Option<pathwalk::Node>, Errno> {
            self.0.lookup(dir, name)
        }
        fn attributes(&self, node: NodeKey) -> Result<pathwalk::Attributes, Errno> {
            self.0.attributes(node)
        }
        fn forget(&self, node: NodeKey) {
            self.0.forget(node);
        }
    }
    let fs = MemFs::new();
    let context = Vfs::builder().build(Early(fs.alias())).unwrap().context(Credentials::root());
    let before = fs.calls();
    context.fstatat(context.root(), "", AtFlags::EMPTY_PATH).unwrap();
    assert_eq!(fs.calls().since(&before).attributes, 1);
}

/// A handle whose node is gone, and one whose node has another name.
#[test]
fn refresh_heals_the_name() {
    let world = tree();
    let (f, e) = (world.context.lookup("/d/f").unwrap(), world.context.lookup("/d/e").unwrap());
    world.behind.rename("/d/e", "/d/moved").unwrap();
    world.behind.rename("/f", "/d/f").unwrap();
    let vfs = world.context.vfs();
    // The file system keeps a node that is held, so it is not stale; the name is another's.
    assert!(vfs.refresh(&f).is_ok() && vfs.refresh(&e).is_ok());
    world.notifier().invalidate_name(world.behind.key("/d").unwrap(), name("f"));
    assert_ne!(world.ino("/d/f"), Ok(f.attributes().unwrap().ino));
}
