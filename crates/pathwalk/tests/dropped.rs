//! Changes of a directory whose entry was dropped while it was held: it is cached, but not under
//! its name.

use pathwalk::{At, AtFlags, Context, Credentials, Errno, Handle, Name, OpenFlags, OpenHow, RenameFlags, Vfs};
use pathwalk_memfs::MemFs;

const CWD: At<'static> = At::Cwd;
const NONE: RenameFlags = RenameFlags::empty();

/// Creates `/dir/below` and `/other`, and a handle on the first, whose entry was dropped.
fn dropped() -> (Vfs, Context, Handle) {
    let fs = MemFs::new();
    fs.mkdir("/dir", 0o755).unwrap();
    fs.mkdir("/dir/below", 0o755).unwrap();
    fs.mkdir("/other", 0o755).unwrap();
    let vfs = Vfs::builder().budget(1 << 20).build(fs).unwrap();
    let who = vfs.context(Credentials::root());
    let held = who.lookup("/dir").unwrap();
    vfs.invalidate(&who.lookup("/").unwrap(), Name::new(b"dir").unwrap()).unwrap();
    (vfs, who, held)
}

fn path(held: &Handle) -> String {
    String::from_utf8(held.path().unwrap()).unwrap()
}

#[test]
fn it_is_moved() {
    let (_vfs, who, held) = dropped();
    assert_eq!(who.renameat(CWD, "/dir", CWD, "/moved", NONE), Ok(()));
    assert_eq!(
        (path(&held).as_str(), who.stat("/dir").map(|_| ()), who.stat("/moved/below").map(|_| ())),
        ("/moved", Err(Errno::ENOENT), Ok(()))
    );
}

#[test]
fn it_is_moved_into_another() {
    let (_vfs, who, held) = dropped();
    assert_eq!(who.renameat(CWD, "/dir", CWD, "/other/dir", NONE), Ok(()));
    assert_eq!(path(&held), "/other/dir");
}

#[test]
fn something_takes_its_place() {
    let (_vfs, who, held) = dropped();
    assert_eq!(who.renameat(CWD, "/other", CWD, "/dir", NONE), Err(Errno::ENOTEMPTY));
    assert_eq!(who.renameat(CWD, "/other", CWD, "/dir", RenameFlags::NOREPLACE), Err(Errno::EEXIST));
    assert_eq!(who.renameat(CWD, "/dir", CWD, "/other", RenameFlags::EXCHANGE), Ok(()));
    assert_eq!(path(&held), "/other");
}

#[test]
fn it_is_not_moved_below_itself() {
    let (_vfs, who, _held) = dropped();
    assert_eq!(who.renameat(CWD, "/dir", CWD, "/dir/below/dir", NONE), Err(Errno::EINVAL));
}

#[test]
fn it_is_removed() {
    let (vfs, who, held) = dropped();
    assert_eq!(who.unlink("/dir"), Err(Errno::EISDIR));
    vfs.invalidate_subtree(&who.lookup("/").unwrap()).unwrap();
    assert_eq!(who.rmdir("/dir"), Err(Errno::ENOTEMPTY));
    assert_eq!(who.rmdir("/dir/below"), Ok(()));
    vfs.invalidate_subtree(&who.lookup("/").unwrap()).unwrap();
    assert_eq!((who.rmdir("/dir"), held.path()), (Ok(()), Err(Errno::ENOENT)));
}

#[test]
fn its_name_is_taken() {
    let making =
        OpenHow { flags: OpenFlags::CREATE | OpenFlags::EXCLUSIVE | OpenFlags::WRITE, mode: 0o644, ..OpenHow::default() };
    type Attempt = fn(&Context, &OpenHow) -> Result<(), Errno>;
    let attempts: [Attempt; 4] = [
        |who, _| who.mkdir("/dir", 0o755),
        |who, _| who.symlink("body", "/dir"),
        |who, _| who.link("/file", "/dir"),
        |who, making| who.open("/dir", making).map(drop),
    ];
    for attempt in attempts {
        let (_vfs, who, _held) = dropped();
        who.open("/file", making).unwrap();
        assert_eq!(attempt(&who, &making), Err(Errno::EEXIST));
    }
}

/// Checks that a listing records the name beside the dropped entry.
#[test]
fn its_name_is_listed() {
    let (_vfs, who, held) = dropped();
    let root = who.open("/", OpenFlags::READ).unwrap();
    root.getdents(usize::MAX).unwrap();
    assert_eq!(who.renameat(CWD, "/dir", CWD, "/moved", NONE), Ok(()));
    assert_eq!(path(&held), "/moved");
}

#[test]
fn its_name_is_listed_and_walked() {
    let (_vfs, who, held) = dropped();
    let root = who.open("/", OpenFlags::READ).unwrap();
    root.getdents(usize::MAX).unwrap();
    assert_eq!(who.stat("/dir/below").map(|_| ()), Ok(()));
    assert_eq!(path(&held), "/dir");
}

/// Checks that a holder of a dropped entry sees that the last name was removed by way of another
/// entry.
#[test]
fn what_is_unlinked_has_no_names() {
    let making = OpenHow { flags: OpenFlags::CREATE | OpenFlags::WRITE, mode: 0o644, ..OpenHow::default() };
    for follow in [AtFlags::empty(), AtFlags::SYMLINK_NOFOLLOW] {
        let (vfs, who, _) = dropped();
        if follow.is_empty() {
            drop(who.open("/x", making).unwrap());
        } else {
            who.symlink("body", "/x").unwrap();
        }
        let held = who.lookup_at(CWD, "/x", follow).unwrap();
        assert_eq!(held.attributes().unwrap().nlink, 1);
        vfs.invalidate(&who.lookup("/").unwrap(), Name::new(b"x").unwrap()).unwrap();
        who.unlink("/x").unwrap();
        assert_eq!(held.attributes().unwrap().nlink, 0, "{follow:?}");
    }
}
