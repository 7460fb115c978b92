//! Access control lists beside walks: once a change has returned, no walk answers by the list or
//! the mode before.

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World};
use crate::attr::AclState;
use crate::permission::{Acl, AclEntry, AclKind, AclTag};
use crate::{Access, Context, Credentials, Errno};

/// Creates a world with `/dir/file`. Attributes of the directory say this about its list.
fn world(hash: Hash, said: AclState) -> World {
    World::new(hash, |fs| {
        let dir = fs.plain(ROOT, "dir", DIRECTORY);
        fs.plain(dir, "file", FILE);
        fs.alter(dir, |dir| dir.acl = said);
    })
}

/// Returns a list of mode 0771 in which the user has these rights.
fn list(user: Access) -> Acl {
    let entry = |tag, grants| AclEntry { tag, grants };
    let (all, search) = (Access::all(), Access::EXECUTE);
    let [owner, user] = [entry(AclTag::Owner, all), entry(AclTag::User(1000), user)];
    Acl::new(vec![owner, user, entry(AclTag::Group, search), entry(AclTag::Mask, all), entry(AclTag::Other, search)])
}

fn set(world: &World, list: Option<&Acl>) {
    let admin: Context = world.vfs.context(Credentials::root());
    admin.set_acl("/dir", AclKind::Access, list).unwrap();
}

/// Returns two answers of a walk: by the cached state, and by the file system.
fn twice(world: &World) -> [Result<(), Errno>; 2] {
    let cached = world.exists("/dir/file");
    world.evict(4);
    [cached, world.exists("/dir/file")]
}

const REFUSED: Result<(), Errno> = Err(Errno::EACCES);

fn lists_beside_walks(hash: Hash, said: AclState) {
    let world = world(hash, said);
    let walkers = [(); 2].map(|()| world.spawn(|world| _ = world.exists("/dir/file")));
    let evictor = world.spawn(|world| world.evict(3));
    set(&world, Some(&list(Access::empty())));
    assert_eq!(world.exists("/dir/file"), REFUSED);
    walkers.into_iter().chain([evictor]).for_each(|thread| thread.join().unwrap());
    assert_eq!(twice(&world), [REFUSED; 2]);
    // The mode stays.
    set(&world, Some(&list(Access::EXECUTE)));
    assert_eq!(twice(&world), [Ok(()); 2]);
    set(&world, Some(&list(Access::READ)));
    assert_eq!(twice(&world), [REFUSED; 2]);
    set(&world, None);
    assert_eq!(twice(&world), [Ok(()); 2]);
    world.end();
}

#[test]
fn a_list_that_is_reported() {
    explore(|hash| lists_beside_walks(hash, AclState::Absent));
}

/// Checks that a walk that asks whether there is a list does not undo what a change says.
#[test]
fn a_list_that_is_asked_for() {
    explore(|hash| lists_beside_walks(hash, AclState::Unknown));
}

#[test]
fn two_changes_and_a_walk() {
    explore(|hash| {
        let world = world(hash, AclState::Unknown);
        let walker = world.spawn(|world| _ = world.exists("/dir/file"));
        let other = world.spawn(|world| set(world, Some(&list(Access::empty()))));
        set(&world, Some(&Acl::from_mode(0o711)));
        walker.join().unwrap();
        other.join().unwrap();
        // Whichever change came last, the cache says what the file system says.
        let said = twice(&world);
        assert_eq!(said[0], said[1]);
        world.end();
    });
}

/// Checks a list that grants less than its group bits, which goes together with these bits: no walk
/// grants by the bits alone.
#[test]
fn a_list_and_its_mask_go_together() {
    explore(|hash| {
        let world = world(hash, AclState::Absent);
        let entry = |tag, grants| AclEntry { tag, grants };
        let (user, none) = (entry(AclTag::User(2000), Access::all()), Access::empty());
        let owner = entry(AclTag::Owner, Access::all());
        let mask = entry(AclTag::Mask, Access::all());
        let masked = Acl::new(vec![owner, user, entry(AclTag::Group, none), mask, entry(AclTag::Other, none)]);
        set(&world, Some(&masked));
        let member = |world: &World| world.vfs.context(Credentials::user(3000, 0, &[])).access("/dir/file", Access::empty());
        let walkers = [(); 2].map(|()| world.spawn(move |world| assert_eq!(member(world), REFUSED)));
        set(&world, Some(&Acl::from_mode(0o700)));
        assert_eq!(member(&world), REFUSED);
        walkers.into_iter().for_each(|thread| thread.join().unwrap());
        world.end();
    });
}
