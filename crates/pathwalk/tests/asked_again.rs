//! Names whose entries are used only after the file system was asked whether they still hold.

use pathwalk::{Access, Credentials, Errno, Freshness, Vfs};
use pathwalk_memfs::{LinkBodies, MemFs, Options};

/// A body that never came with the node is read, and its name is not looked up for it again.
#[test]
fn the_body_of_a_link_is_asked_for_without_its_name() {
    let fs = MemFs::with(Options::default().link_bodies(LinkBodies::OnRequest));
    fs.symlink("target", "/link").unwrap();
    let vfs = Vfs::builder().build(fs).unwrap();
    let context = vfs.context(Credentials::root());
    context.lstat("/link").unwrap();
    let lookups = vfs.stats().fs_lookups;
    for _ in 0..2 {
        assert_eq!(context.read_link("/link").unwrap().as_os_str(), "target");
    }
    assert_eq!(vfs.stats().fs_lookups, lookups);
}

#[test]
fn what_holds_is_used_and_what_does_not_is_looked_up() {
    let options = Options::default().freshness(Freshness::AskEachTime).absence(Freshness::AskEachTime);
    let fs = MemFs::with(options);
    ["/a", "/b"].iter().for_each(|path| fs.file(path, 0o644).unwrap());
    let vfs = Vfs::builder().budget(1 << 20).build(fs.alias()).unwrap();
    let context = vfs.context(Credentials::root());
    let ino = |path: &str| context.stat(path).map(|of| of.ino);
    let (a, b) = (ino("/a").unwrap(), ino("/b").unwrap());
    assert_eq!(context.access("/none", Access::empty()), Err(Errno::ENOENT));
    let before = fs.calls();
    assert_eq!((ino("/a"), ino("/b"), ino("/none")), (Ok(a), Ok(b), Err(Errno::ENOENT)));
    let asked = fs.calls().since(&before);
    assert_eq!((asked.lookup, asked.revalidate), (0, 3), "all of them hold");
    // The changes bypass the engine.
    fs.rename("/a", "/none").unwrap();
    fs.rename("/b", "/a").unwrap();
    assert_eq!((ino("/none"), ino("/a"), ino("/b")), (Ok(a), Ok(b), Err(Errno::ENOENT)));
}
