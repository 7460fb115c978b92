//! Owners that are read while a mount gets its map, or is replaced by a mount with another map.
//!
//! In each scenario, the reported owners are mapped by one map: never by parts of two, and never
//! unmapped once there was a map.

use std::sync::Arc;

use super::explore;
use super::fs::{ROOT, TestFs};
use super::world::{DIRECTORY, FILE, World};
use crate::handle::Handle;
use crate::{
    Access, At, AtFlags, Context, Credentials, Errno, IdExtent, IdMap, MountAttributes, MountFlags, MoveFlags, Recursion,
    UmountFlags,
};

const CWD: At<'static> = At::Cwd;
const EMPTY: AtFlags = AtFlags::EMPTY_PATH;

/// Creates `/p`.
fn fill(fs: &TestFs) {
    fs.plain(ROOT, "p", DIRECTORY);
}

/// Creates a file system with the file `on`, which root owns.
fn other() -> Arc<TestFs> {
    let fs = Arc::new(TestFs::new());
    fs.plain(ROOT, "on", FILE);
    fs
}

fn admin(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

/// Sets a map that shows root's files as owned by `uid`, and by the group `uid + 1`.
fn set_map(context: &Context, top: &Handle, uid: u32) {
    let ids = |outside| [IdExtent { inside: 0, outside, length: 1 }];
    let id_map = Some(IdMap::new(&ids(uid), &ids(uid + 1)).unwrap());
    let attributes = MountAttributes { id_map, ..MountAttributes::default() };
    context.mount_setattr_at(top, "", EMPTY, &attributes, Recursion::Alone).unwrap();
}

fn mount_mapped(context: &Context, uid: u32) {
    let tree = context.new_tree(other(), MountFlags::empty()).unwrap();
    set_map(context, tree.handle(), uid);
    context.move_mount_at(tree.handle(), "", CWD, "/p", MoveFlags::FROM_EMPTY_PATH).unwrap();
}

fn owners(context: &Context) -> Result<(u32, u32), Errno> {
    context.stat("/p/on").map(|found| (found.uid, found.gid))
}

/// Checks a mount's record that is reused for another mount, with another map, while a walk reads
/// it.
#[test]
fn a_map_makes_room_for_another() {
    explore(|hash| {
        let world = World::with_room(24, hash, fill);
        let context = admin(&world);
        mount_mapped(&context, 100);
        assert_eq!(owners(&context), Ok((100, 101)));
        let changer = world.spawn(|world| {
            let context = admin(world);
            context.umount("/p", UmountFlags::DETACH).unwrap();
            mount_mapped(&context, 200);
        });
        for _ in 0..2 {
            let found = owners(&context);
            assert!([Ok((100, 101)), Ok((200, 201)), Err(Errno::ENOENT)].contains(&found), "{found:?}");
            let cached = context.cached().stat("/p/on").map(|found| (found.uid, found.gid));
            assert!([Ok((100, 101)), Ok((200, 201)), Err(Errno::ENOENT), Err(Errno::EAGAIN)].contains(&cached), "{cached:?}");
        }
        changer.join().unwrap();
        assert_eq!(owners(&context), Ok((200, 201)));
        context.umount("/p", UmountFlags::empty()).unwrap();
        drop(context);
        world.end();
    });
}

/// Checks a mount that gets a map while it is used through a handle.
#[test]
fn a_map_comes_while_the_mount_is_used() {
    explore(|hash| {
        let world = World::with_room(24, hash, fill);
        let context = admin(&world);
        let tree = context.new_tree(other(), MountFlags::empty()).unwrap();
        let top = tree.handle().clone();
        let setter = world.spawn(move |world| set_map(&admin(world), &top, 100));
        let user = context.clone().with_credentials(Credentials::user(100, 101, &[]));
        let at = At::Handle(tree.handle());
        let mut last = (0, 0);
        for _ in 0..2 {
            let found = user.fstatat(at, "on", AtFlags::empty()).map(|found| (found.uid, found.gid)).unwrap();
            assert!(found == (100, 101) || found == (0, 0) && last == found, "{last:?}, then {found:?}");
            last = found;
            assert_eq!(user.faccessat(at, "on", Access::READ, AtFlags::empty()), Ok(()));
        }
        setter.join().unwrap();
        assert_eq!(tree.handle().attributes().map(|found| (found.uid, found.gid)), Ok((100, 101)));
        drop((tree, user, context));
        world.end();
    });
}
