//! The async face, by what it tells of a node and of changes, beside what a context tells.

use std::sync::Arc;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{AtFlags, Credentials, EntryHandles, Errno, Event, FileType, InodeFlags, OpenFlags, StatxMask, Vfs, XattrFlags};
use pathwalk_memfs::MemFs;
use pathwalk_ring::{AsyncContext, Pool};

/// Creates a directory `/d` with a file `a`, and returns the async face beside a context.
fn face() -> (AsyncContext, pathwalk::Context) {
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    context.create_dir_all("/d").unwrap();
    context.write("/d/a", "hello").unwrap();
    (AsyncContext::new(context.clone(), Pool::builder().workers(2).build()), context)
}

const NOTHING: AtFlags = AtFlags::empty();

#[test]
fn an_extended_attribute_is_set_read_listed_and_removed() {
    let (vfs, context) = face();
    smol::block_on(async {
        vfs.setxattr("/d/a", "user.colour", "blue", XattrFlags::empty(), NOTHING).await?;
        assert_eq!(context.getxattr("/d/a", "user.colour")?, b"blue");
        assert_eq!(vfs.getxattr("/d/a", "user.colour", NOTHING).await?, b"blue");
        assert_eq!(vfs.listxattr("/d/a", NOTHING).await?, context.listxattr("/d/a")?);
        assert_eq!(vfs.listxattr("/d/a", NOTHING).await?.iter().count(), 1);
        vfs.removexattr("/d/a", "user.colour", NOTHING).await?;
        assert_eq!(vfs.getxattr("/d/a", "user.colour", NOTHING).await, Err(Errno::ENODATA));
        Ok::<(), Errno>(())
    })
    .unwrap();
}

#[test]
fn a_list_of_rights_is_set_and_read() {
    let (vfs, context) = face();
    smol::block_on(async {
        assert_eq!(vfs.acl("/d", AclKind::Default, NOTHING).await?, None);
        let list = Acl::from_mode(0o750);
        vfs.set_acl("/d", AclKind::Default, Some(list.clone()), NOTHING).await?;
        assert_eq!(context.acl("/d", AclKind::Default)?, Some(list.clone()));
        assert_eq!(vfs.acl("/d", AclKind::Default, NOTHING).await?, Some(list));
        Ok::<(), Errno>(())
    })
    .unwrap();
}

#[test]
fn the_flags_of_a_node_are_set_and_read() {
    let (vfs, context) = face();
    smol::block_on(async {
        vfs.set_inode_flags("/d/a", InodeFlags::NODUMP, NOTHING).await?;
        assert_eq!(context.inode_flags("/d/a")?, InodeFlags::NODUMP);
        assert_eq!(vfs.inode_flags("/d/a", NOTHING).await?, InodeFlags::NODUMP);
        Ok::<(), Errno>(())
    })
    .unwrap();
}

/// Asks for attributes while they are cached, and while they are not.
#[test]
fn attributes_are_those_that_a_context_tells() {
    let (vfs, context) = face();
    for is_cached in [false, true] {
        let found = smol::block_on(vfs.statx("/d/a", NOTHING, StatxMask::BASIC_STATS)).unwrap();
        assert_eq!(found, context.statx("/d/a", StatxMask::BASIC_STATS).unwrap(), "{is_cached}");
        assert_eq!(found.attributes.size, 5);
    }
}

#[test]
fn a_listing_has_the_nodes_of_its_entries() {
    let (vfs, _) = face();
    smol::block_on(async {
        let dir = vfs.open("/d", OpenFlags::READ).await?;
        let all = vfs.readdirplus(&dir, 10, EntryHandles::With).await?;
        let names: Vec<&[u8]> = all.iter().map(|entry| &entry.entry.name[..]).collect();
        assert_eq!(names, [&b"."[..], b"..", b"a"]);
        Ok::<(), Errno>(())
    })
    .unwrap();
}

#[test]
fn a_removal_is_done_and_told() {
    let (vfs, context) = face();
    smol::block_on(async {
        let events = Arc::new(context.vfs().subscribe(context.root(), 10)?);
        vfs.unlink("/d/a").await?;
        assert_eq!(context.stat("/d/a").err(), Some(Errno::ENOENT));
        vfs.rmdir("/d").await?;
        assert_eq!(context.stat("/d").err(), Some(Errno::ENOENT));
        vfs.mkdir("/e", 0o700).await?;
        let mut last = vfs.next_event(&events).await?;
        while !matches!(last, Event::Created { .. }) {
            last = vfs.next_event(&events).await?;
        }
        assert_eq!(last, Event::Created { path: b"e"[..].into(), kind: FileType::Directory });
        Ok::<(), Errno>(())
    })
    .unwrap();
}

#[test]
fn the_context_and_the_pool_are_those_that_it_was_made_of() {
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::user(7, 8, &[9]));
    let pool = Pool::builder().workers(1).build();
    let vfs = AsyncContext::new(context, pool.clone());
    assert_eq!(vfs.context().credentials(), &Credentials::user(7, 8, &[9]));
    smol::block_on(vfs.mkdir("/none/there", 0o700)).unwrap_err();
    assert_eq!(vfs.pool().stats(), pool.stats());
}
