//! Complete directories, beside threads that create, move, evict and look up names: an existing
//! name is never reported as absent.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::fs::{Fault, ROOT};
use super::world::{DIRECTORY, FILE, Hash, World, part};
use super::{alone, explore};
use crate::node::RenameFlags;
use crate::{At, Context, Credentials, Errno, OpenFlags};

fn world(hash: Hash, names: &[&str]) -> World {
    World::with_room(20, hash, |fs| {
        names.iter().for_each(|name| _ = fs.plain(ROOT, name, FILE));
        fs.plain(ROOT, "dir", DIRECTORY);
    })
}

fn root(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

fn list(world: &World, path: &str) {
    let dir = root(world).open(path, OpenFlags::READ).expect("a directory");
    dir.getdents(usize::MAX).expect("it is there");
}

const ABSENT: Result<(), Errno> = Err(Errno::ENOENT);

#[test]
fn a_listing_beside_one_who_makes_and_one_who_evicts() {
    explore(|hash| {
        let world = world(hash, &["a", "b"]);
        let lister = world.spawn(|world| list(world, "/"));
        let evictor = world.spawn(|world| world.evict(3));
        drop(world.create(&world.root(), "new").unwrap());
        assert_eq!(world.exists("/new"), Ok(()));
        lister.join().unwrap();
        evictor.join().unwrap();
        assert_eq!(["/a", "/b", "/new", "/none"].map(|path| world.exists(path)), [Ok(()), Ok(()), Ok(()), ABSENT]);
        world.end();
    });
}

#[test]
fn a_listing_beside_one_who_moves() {
    explore(|hash| {
        let world = world(hash, &["a", "b"]);
        let lister = world.spawn(|world| list(world, "/"));
        let other = world.spawn(|world| list(world, "/dir"));
        let mover = world.spawn(|world| {
            root(world).renameat(At::Cwd, "/a", At::Cwd, "/dir/a", RenameFlags::empty()).unwrap();
            root(world).renameat(At::Cwd, "/b", At::Cwd, "/c", RenameFlags::empty()).unwrap();
        });
        [lister, other, mover].into_iter().for_each(|thread| thread.join().unwrap());
        let answers = ["/dir/a", "/c", "/a", "/b"].map(|path| world.exists(path));
        assert_eq!(answers, [Ok(()), Ok(()), ABSENT, ABSENT]);
        world.end();
    });
}

#[test]
fn a_name_that_was_listed_is_asked_about_once() {
    explore(|hash| {
        let world = world(hash, &["a"]);
        list(&world, "/");
        let askers = [(); 2].map(|()| world.spawn(|world| world.exists("/a").unwrap()));
        assert_eq!(world.exists("/a"), Ok(()));
        askers.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(world.fs.asked("a"), 1);
        world.end();
    });
}

#[test]
fn a_question_about_a_listed_name_fails() {
    explore(|hash| {
        let world = world(hash, &["a"]);
        list(&world, "/");
        world.fs.fail_next("a", Fault::Error);
        let askers = [(); 2].map(|()| world.spawn(|world| world.exists("/a")));
        let answers = askers.map(|thread| thread.join().unwrap());
        assert!(answers.iter().all(|answer| matches!(answer, Ok(()) | Err(Errno::EIO))), "{answers:?}");
        assert_eq!((world.exists("/a"), world.exists("/none")), (Ok(()), ABSENT));
        world.end();
    });
}

#[test]
fn a_new_directory_beside_one_who_evicts() {
    explore(|hash| {
        let world = world(hash, &[]);
        let evictor = world.spawn(|world| world.evict(3));
        root(&world).mkdir("/new", 0o755).unwrap();
        let maker = world.spawn(|world| _ = world.create(&world.handle("/new"), "file").unwrap());
        let looker = world.spawn(|world| _ = world.exists("/new/file"));
        maker.join().unwrap();
        assert_eq!(world.exists("/new/file"), Ok(()));
        evictor.join().unwrap();
        looker.join().unwrap();
        assert_eq!((world.exists("/new/file"), world.exists("/new/none")), (Ok(()), ABSENT));
        world.end();
    });
}

#[test]
fn a_directory_goes_and_comes_beside_a_listing() {
    explore(|hash| {
        let world = world(hash, &[]);
        let lister = world.spawn(|world| {
            let dir = root(world).open("/dir", OpenFlags::READ);
            _ = dir.map(|dir| dir.getdents(usize::MAX));
        });
        root(&world).rmdir("/dir").unwrap();
        drop(world.create(&world.root(), "dir").unwrap());
        lister.join().unwrap();
        assert_eq!((world.exists("/dir"), world.exists("/dir/x")), (Ok(()), Err(Errno::ENOTDIR)));
        world.end();
    });
}

#[test]
fn what_came_by_itself_is_found_once_it_is_told() {
    explore(|hash| {
        let world = world(hash, &["a"]);
        let listers = [(); 2].map(|()| world.spawn(|world| list(world, "/")));
        world.fs.plain(ROOT, "new", FILE);
        world.vfs.invalidate(&world.root(), part("new")).unwrap();
        assert_eq!(world.exists("/new"), Ok(()));
        listers.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(world.exists("/new"), Ok(()));
        world.end();
    });
}

#[test]
fn a_panic_in_the_middle_loses_the_listing() {
    alone(|hash| {
        let world = world(hash, &["a", "b"]);
        let dir = root(&world).open("/", OpenFlags::READ).expect("a directory");
        let mut seen = 0;
        let listed = AssertUnwindSafe(|| {
            dir.list(|_| {
                seen += 1;
                if seen == 4 { resume_unwind(Box::new(())) } else { ControlFlow::Continue(()) }
            })
        });
        assert!(catch_unwind(listed).is_err());
        dir.getdents(usize::MAX).expect("it is there");
        assert_eq!((world.exists("/a"), world.exists("/none"), world.fs.asked("none")), (Ok(()), ABSENT, 1));
        drop(dir);
        world.end();
    });
}
