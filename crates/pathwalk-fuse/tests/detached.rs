//! A mount that is served by its device alone, and that is attached nowhere.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::time::Duration;

use pathwalk::{Credentials, Vfs};
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
