//! Moves between directories, both ways at once: no deadlock and no loop; and paths that are built
//! meanwhile.

use super::fs::{ROOT, TestFs};
use super::thread::JoinHandle;
use super::world::{DIRECTORY, FILE, Hash, World, part};
use super::{explore, interrupt};
use crate::cache::dcache::dentry::INLINE_NAME;
use crate::node::RenameFlags;
use crate::sync::yield_now;
use crate::{Errno, Handle, OpenFlags, internals};

/// The key of `/p`.
const P: u128 = 2;

fn move_to(from: &Handle, name: &str, to: &Handle) -> Result<(), Errno> {
    internals::rename((from, part(name)), (to, part(name)), RenameFlags::empty())
}

/// Spawns a thread that builds the path of a node.
fn asks_for_path(world: &World, node: &Handle) -> JoinHandle<Result<Vec<u8>, Errno>> {
    let node = node.clone();
    world.spawn(move |_| node.path())
}

/// Creates `/p/a/f` and `/q/b`.
fn fill(fs: &TestFs) {
    let (p, q) = (fs.plain(ROOT, "p", DIRECTORY), fs.plain(ROOT, "q", DIRECTORY));
    let a = fs.plain(p, "a", DIRECTORY);
    fs.plain(a, "f", FILE);
    fs.plain(q, "b", DIRECTORY);
}

#[test]
fn both_ways_at_once() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let walker = world.spawn(|world| {
            let (gone, come) = (world.exists("/p/a/f"), world.exists("/q/a/f"));
            assert!(gone.is_ok() || come.is_ok(), "{gone:?}, {come:?}");
        });
        let other = world.spawn(|world| move_to(&world.handle("/q"), "b", &world.handle("/p")).unwrap());
        let a = world.handle("/p/a");
        move_to(&world.handle("/p"), "a", &world.handle("/q")).unwrap();
        assert_eq!(a.path().as_deref(), Ok(&b"/q/a"[..]));
        walker.join().unwrap();
        other.join().unwrap();
        assert_eq!((world.exists("/q/a/f"), world.exists("/p/b"), world.exists("/p/a")), (Ok(()), Ok(()), Err(Errno::ENOENT)));
        drop(a);
        world.end();
    });
}

#[test]
fn each_into_the_other() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let (a, b) = (world.handle("/p/a"), world.handle("/q/b"));
        let other = world.spawn({
            let b = b.clone();
            move |world| move_to(&world.handle("/p"), "a", &b)
        });
        let path = asks_for_path(&world, &a);
        let here = move_to(&world.handle("/q"), "b", &a);
        let both = [here, other.join().unwrap()];
        assert!(both.contains(&Ok(())) && both.contains(&Err(Errno::EINVAL)), "{both:?}");
        let path = path.join().unwrap().unwrap();
        assert!([&b"/p/a"[..], b"/q/b/a"].contains(&&path[..]), "{}", path.escape_ascii());
        drop((a, b));
        world.end();
    });
}

/// Checks a directory that is replaced: once nothing can be made in it any more, the directory that
/// replaced it is no longer at its old place.
#[test]
fn what_replaces_a_directory_is_moved_at_once() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let b = world.handle("/q/b");
        assert_eq!(world.exists("/p/a"), Ok(()));
        let maker = world.spawn({
            let b = b.clone();
            move |world| {
                let made = world.create(&b, "new").map(drop);
                if made.is_err() {
                    assert_eq!((made, world.exists("/p/a")), (Err(Errno::ENOENT), Err(Errno::ENOENT)));
                }
            }
        });
        let moved = internals::rename((&world.handle("/p"), part("a")), (&world.handle("/q"), part("b")), RenameFlags::empty());
        maker.join().unwrap();
        assert_eq!(world.exists("/p/a").is_ok(), moved == Err(Errno::ENOTEMPTY));
        drop(b);
        world.end();
    });
}

/// Checks that a directory that the file system has replaced is no longer listed, even before the
/// caches record the change.
#[test]
fn what_was_replaced_is_not_listed() {
    explore(|hash| {
        let world = World::new(hash, |fs| {
            fill(fs);
            fs.move_name((P, "a"), (ROOT, "a"));
            fs.plain(P, "a", DIRECTORY);
        });
        let b = world.user().open("/q/b", OpenFlags::READ).unwrap();
        let lister = world.spawn(move |world| {
            while world.fs.has(P, "a") {
                yield_now();
            }
            assert_eq!(b.getdents(usize::MAX), Err(Errno::ENOENT));
        });
        internals::rename((&world.handle("/p"), part("a")), (&world.handle("/q"), part("b")), RenameFlags::empty()).unwrap();
        lister.join().unwrap();
        world.end();
    });
}

/// Checks a move of a directory beside changes in it and above it: locks are taken parent before
/// child, whichever change comes first.
#[test]
fn a_move_beside_changes_around_it() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let inside = world.spawn(|world| {
            let a = world.user().lookup("/p/a").or_else(|_| world.user().lookup("/q/a")).unwrap();
            world.unlink(&a, "f").unwrap();
        });
        let above = world.spawn(|world| world.unlink(&world.handle("/q"), "b").unwrap());
        move_to(&world.handle("/p"), "a", &world.handle("/q")).unwrap();
        inside.join().unwrap();
        above.join().unwrap();
        assert_eq!(
            (world.exists("/q/a"), world.exists("/q/a/f"), world.exists("/q/b")),
            (Ok(()), Err(Errno::ENOENT), Err(Errno::ENOENT))
        );
        world.end();
    });
}

/// Checks a directory that replaces an empty one, while a walk is in the empty one and another
/// thread tries to create a name there.
#[test]
fn a_directory_is_replaced() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let walker = world.spawn(|world| {
            world.exists("/q/b").unwrap();
            assert_eq!(world.exists("/q/b/none"), Err(Errno::ENOENT));
        });
        let (p, q) = (world.handle("/p"), world.handle("/q"));
        internals::rename((&p, part("a")), (&q, part("b")), RenameFlags::empty()).unwrap();
        assert_eq!((world.exists("/q/b/f"), world.exists("/p/a")), (Ok(()), Err(Errno::ENOENT)));
        drop((p, q));
        walker.join().unwrap();
        world.end();
    });
}

/// Checks a file that is moved out of its directory; the directory is removed, and another dentry
/// takes its slot. The file's path is the old or the new one.
#[test]
fn the_path_of_a_file_that_is_moved() {
    explore(|hash| {
        let world = World::new(hash, fill);
        let file = world.handle("/p/a/f");
        let path = asks_for_path(&world, &file);
        let (a, p, q) = (world.handle("/p/a"), world.handle("/p"), world.handle("/q"));
        internals::rename((&a, part("f")), (&q, part("g")), RenameFlags::empty()).unwrap();
        drop(a);
        world.unlink(&p, "a").unwrap();
        drop((p, q));
        world.evict(1);
        world.exists("/q/b").unwrap();
        let path = path.join().unwrap().unwrap();
        assert!([&b"/p/a/f"[..], b"/q/g"].contains(&&path[..]), "{}", path.escape_ascii());
        drop(file);
        world.end();
    });
}

/// Checks a file that gets another, longer name, in a directory that was renamed before. The path
/// is never one that did not exist.
#[test]
fn the_path_of_a_file_below_one_that_is_moved() {
    const LONG: &str = "a name that does not fit into the line of its dentry";
    explore(|hash| {
        let world = World::new(hash, fill);
        let file = world.handle("/p/a/f");
        let path = asks_for_path(&world, &file);
        let (a, p) = (world.handle("/p/a"), world.handle("/p"));
        internals::rename((&p, part("a")), (&p, part("z")), RenameFlags::empty()).unwrap();
        internals::rename((&a, part("f")), (&a, part(LONG)), RenameFlags::empty()).unwrap();
        let path = path.join().unwrap().unwrap();
        let long = format!("/p/z/{LONG}");
        assert!([b"/p/a/f", b"/p/z/f", long.as_bytes()].contains(&&path[..]), "{}", path.escape_ascii());
        drop((file, a, p));
        world.end();
    });
}

/// Checks the second try of a path, which stops moves of directories, and not those of files: the
/// file's name is of one instant, too. The first try fails where the name changes meanwhile.
#[test]
fn the_path_of_a_file_that_is_renamed_again_and_again() {
    explore(|hash| {
        let names = ["a", "b"].map(|letter| letter.repeat(INLINE_NAME));
        let world = World::new(hash, |fs| _ = fs.plain(ROOT, &names[0], FILE));
        let (root, file) = (world.root(), world.handle(&names[0]));
        let renamer = world.spawn({
            let names = names.clone();
            move |_| {
                for at in 0..4 {
                    let [from, to] = [at, at + 1].map(|at| part(&names[at % 2]));
                    internals::rename((&root, from), (&root, to), RenameFlags::empty()).unwrap();
                }
            }
        });
        for _ in 0..12 {
            let path = String::from_utf8(file.path().unwrap()).unwrap();
            assert!(names.iter().any(|name| path[1..] == **name), "{path}");
        }
        renamer.join().unwrap();
        drop(file);
        world.end();
    });
}

/// Builds the path of `/p/a/f` beside another thread, and checks that it is one of the given ones.
fn is_one_of(hash: Hash, paths: &[&str], beside: fn(&World)) {
    let world = World::new(hash, fill);
    let handles = ["/p/a/f", "/p/a", "/q"].map(|path| world.handle(path));
    let other = world.spawn(beside);
    let path = String::from_utf8(handles[0].path().unwrap()).unwrap();
    assert!(paths.contains(&path.as_str()), "{path}");
    other.join().unwrap();
    drop(handles);
    world.end();
}

fn rename(world: &World, from: (&str, &str), to: (&str, &str)) {
    let (old, new) = (world.handle(from.0), world.handle(to.0));
    internals::rename((&old, part(from.1)), (&new, part(to.1)), RenameFlags::empty()).unwrap();
}

/// Checks that the names of a path are of one instant, whichever of them changes.
#[test]
fn a_path_is_made_up_of_names_that_were_there_together() {
    interrupt(|hash| {
        is_one_of(hash, &["/p/a/f", "/p/a/g", "/p/z/g"], |world| {
            rename(world, ("/p/a", "f"), ("/p/a", "g"));
            rename(world, ("/p", "a"), ("/p", "z"));
        });
    });
    interrupt(|hash| {
        is_one_of(hash, &["/p/a/f", "/q/z/f"], |world| rename(world, ("/p", "a"), ("/q", "z")));
    });
    interrupt(|hash| {
        is_one_of(hash, &["/p/a/f", "/q/g"], |world| rename(world, ("/p/a", "f"), ("/q", "g")));
    });
}
