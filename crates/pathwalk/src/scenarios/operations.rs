//! Operations by paths beside each other: their results are those of some order, and nothing is
//! left over.

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, FILE, Hash, World};
use crate::node::RenameFlags;
use crate::{At, Context, Credentials, Errno, OpenFlags, OpenHow};

fn world(hash: Hash, names: &[&str]) -> World {
    World::with_room(20, hash, |fs| names.iter().for_each(|name| _ = fs.plain(ROOT, name, FILE)))
}

fn root(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

const CREATE: OpenHow = OpenHow { flags: OpenFlags::WRITE.union(OpenFlags::CREATE), mode: 0o644, ..NOTHING };
const EXCLUSIVE: OpenHow = OpenHow { flags: CREATE.flags.union(OpenFlags::EXCLUSIVE), ..CREATE };
const NOTHING: OpenHow = OpenHow { flags: OpenFlags::empty(), mode: 0, resolve: crate::Resolve::empty() };

#[test]
fn one_of_two_makes_a_name() {
    explore(|hash| {
        let world = world(hash, &[]);
        let makers = [(); 2].map(|()| world.spawn(|world| root(world).open("/new", EXCLUSIVE).map(drop)));
        let mut answers = makers.map(|maker| maker.join().unwrap());
        answers.sort();
        assert_eq!(answers, [Ok(()), Err(Errno::EEXIST)]);
        world.end();
    });
}

#[test]
fn who_creates_opens_something() {
    explore(|hash| {
        let world = world(hash, &["file"]);
        let opener = world.spawn(|world| {
            let file = root(world).open("/file", CREATE).expect("it is there, or is made");
            assert_eq!(file.handle().kind(), crate::FileType::Regular);
        });
        let taker = world.spawn(|world| root(world).unlink("/file"));
        assert_eq!(taker.join().unwrap(), Ok(()), "it was there from the beginning");
        opener.join().unwrap();
        world.end();
    });
}

#[test]
fn a_directory_goes_or_takes_a_name() {
    explore(|hash| {
        let world = World::with_room(20, hash, |fs| _ = fs.plain(ROOT, "dir", DIRECTORY));
        let maker = world.spawn(|world| root(world).mkdir("/dir/new", 0o755));
        let gone = root(&world).rmdir("/dir");
        let made = maker.join().unwrap();
        assert!(
            matches!((made, gone), (Ok(()), Err(Errno::ENOTEMPTY)) | (Err(Errno::ENOENT), Ok(()))),
            "made: {made:?}, gone: {gone:?}"
        );
        world.end();
    });
}

#[test]
fn names_that_change_places_are_never_both_absent() {
    explore(|hash| {
        let world = world(hash, &["a", "b"]);
        let there = |world: &World, name: &str| root(world).lookup(name).map(drop);
        let exchanger = world.spawn(|world| root(world).renameat(At::Cwd, "/a", At::Cwd, "/b", RenameFlags::EXCHANGE));
        let mover = world.spawn(|world| root(world).renameat(At::Cwd, "/a", At::Cwd, "/b", RenameFlags::empty()).unwrap());
        assert_eq!(there(&world, "/b"), Ok(()));
        mover.join().unwrap();
        // The exchange came first, or found nothing to exchange.
        assert!(matches!(exchanger.join().unwrap(), Ok(()) | Err(Errno::ENOENT)));
        assert_eq!((there(&world, "/a"), there(&world, "/b")), (Err(Errno::ENOENT), Ok(())));
        world.end();
    });
}

#[test]
fn an_open_file_without_a_name_goes_when_it_is_closed() {
    explore(|hash| {
        let world = world(hash, &["file"]);
        let file = root(&world).open("/file", OpenFlags::WRITE).unwrap();
        let evictor = world.spawn(|world| world.evict(2));
        root(&world).unlink("/file").unwrap();
        drop(file);
        evictor.join().unwrap();
        assert!(world.fs.held().iter().all(|(key, _)| *key == ROOT), "{:?}", world.fs.held());
        world.end();
    });
}

#[test]
fn a_mode_that_is_set_beside_a_change_of_owner_is_one_of_two() {
    explore(|hash| {
        let world = world(hash, &["file"]);
        let giver = world.spawn(|world| root(world).chown("/file", Some(7), None).unwrap());
        root(&world).chmod("/file", 0o4711).unwrap();
        giver.join().unwrap();
        let mode = root(&world).stat("/file").unwrap().mode;
        assert!(matches!(mode, 0o4711 | 0o711), "{mode:o}");
        world.end();
    });
}
