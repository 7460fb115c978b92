//! A mount that is served by its device alone, and that is attached nowhere.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::time::Duration;

use pathwalk::{Attributes, Credentials, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, Vfs};
use pathwalk_fuse::{MountError, Options, mount_detached, serve};
use pathwalk_memfs::MemFs;
use rustix::fs::{Mode, OFlags, openat};

#[test]
fn a_detached_mount_is_served_until_nothing_has_it() {
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    context.write("/old", "some text").unwrap();
    let options = Options::default();
    let detached = match mount_detached(&options) {
        Ok(detached) => detached,
        Err(error @ (MountError::Device(_) | MountError::Detached(_))) => return eprintln!("skipped: {error}"),
        Err(error) => panic!("{error}"),
    };
    let served = serve(&context, detached.device, &options).unwrap();
    let open = |name, flags| openat(&detached.mount, name, flags, Mode::RWXU).map(File::from);
    let mut text = String::new();
    open("old", OFlags::RDONLY).unwrap().read_to_string(&mut text).unwrap();
    open("new", OFlags::CREATE | OFlags::WRONLY).unwrap().write_all(b"more").unwrap();
    assert_eq!((&*text, &*context.read_to_string("/new").unwrap()), ("some text", "more"));
    assert!(served.pinned().nodes >= 2 && !served.wait_for(Duration::ZERO));
    drop(detached.mount);
    served.wait();
    assert_eq!(served.pinned().nodes, 0);
}

#[test]
fn flags_of_a_detached_mount_count() {
    let mut options = Options::default();
    options.read_only = true;
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    let Ok(detached) = mount_detached(&options) else { return eprintln!("skipped: no mount") };
    let _served = serve(&context, detached.device, &options).unwrap();
    let made = openat(&detached.mount, "new", OFlags::CREATE | OFlags::WRONLY, Mode::RWXU);
    assert_eq!(made.unwrap_err(), rustix::io::Errno::ROFS);
}

/// An empty directory, with a count of those that have it.
struct Counted(#[allow(dead_code, reason = "it counts")] Arc<()>);

impl FileSystem for Counted {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(0), Attributes::new(FileType::Directory, 0o755)))
    }

    fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
        Ok(Attributes::new(FileType::Directory, 0o755))
    }

    fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(None)
    }
}

#[test]
fn nothing_has_the_tree_once_the_end_was_waited_for() {
    let count = Arc::new(());
    for _ in 0..200 {
        let context = Vfs::builder().build(Counted(Arc::clone(&count))).unwrap().context(Credentials::root());
        let options = Options::default();
        let Ok(detached) = mount_detached(&options) else { return eprintln!("skipped: no mount") };
        let served = serve(&context, detached.device, &options).unwrap();
        openat(&detached.mount, "absent", OFlags::RDONLY, Mode::empty()).unwrap_err();
        drop((context, detached.mount));
        served.wait();
        drop(served);
        assert_eq!(Arc::strong_count(&count), 1);
    }
}
