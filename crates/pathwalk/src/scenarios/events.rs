//! Subscriptions beside changes: what is told, in which order, and what a full queue loses.

use std::sync::Arc;

use super::explore;
use super::fs::ROOT;
use super::world::{DIRECTORY, Hash, World};
use crate::{At, Cancellation, Credentials, Errno, Event, NodeEvent, RenameFlags, Subscription};

fn world(hash: Hash) -> World {
    World::with_room(20, hash, |fs| _ = fs.plain(ROOT, "dir", DIRECTORY))
}

fn subscribed(world: &World, path: &str, capacity: usize) -> Subscription {
    world.vfs.subscribe(&world.handle(path), capacity).unwrap()
}

fn names(of: &Subscription) -> Vec<String> {
    let name = |event| match event {
        Event::Created { path, .. } => format!("+{}", path.escape_ascii()),
        Event::Removed { path, .. } => format!("-{}", path.escape_ascii()),
        Event::Overflow => "...".into(),
        other => format!("{other:?}"),
    };
    std::iter::from_fn(|| of.try_next()).map(name).collect()
}

/// Checks that the events of one directory are in the order of its changes.
#[test]
fn changes_of_one_name_by_two_threads() {
    explore(|hash| {
        let world = world(hash);
        let events = subscribed(&world, "/dir", 20);
        let other = world.spawn(|world| {
            let root = world.vfs.context(Credentials::root());
            [root.mkdir("/dir/a", 0o755).is_ok(), root.rmdir("/dir/a").is_ok()]
        });
        let root = world.vfs.context(Credentials::root());
        let mine = [root.mkdir("/dir/a", 0o755).is_ok(), root.rmdir("/dir/a").is_ok()];
        let made = [mine[0], other.join().unwrap()[0]].into_iter().filter(|made| *made).count();
        let told = names(&events);
        // A name is made and removed in turns.
        assert!(told.iter().enumerate().all(|(at, told)| told == if at % 2 == 0 { "+a" } else { "-a" }), "{told:?}");
        assert_eq!(told.iter().filter(|told| *told == "+a").count(), made);
        drop((events, root));
        world.end();
    });
}

#[test]
fn a_subscription_that_begins_and_ends_beside_changes() {
    explore(|hash| {
        let world = world(hash);
        let maker = world.spawn(|world| {
            let root = world.vfs.context(Credentials::root());
            ["/dir/a", "/dir/b"].iter().for_each(|path| root.mkdir(path, 0o755).unwrap());
        });
        let events = subscribed(&world, "/dir", 20);
        let before = names(&events);
        world.vfs.context(Credentials::root()).mkdir("/dir/c", 0o755).unwrap();
        let after = names(&events);
        assert!(after.contains(&"+c".into()), "what begins after the subscription is told");
        assert!([vec![], vec!["+a"], vec!["+b"], vec!["+a", "+b"]].iter().any(|all| *all == before), "{before:?}");
        drop(events);
        maker.join().unwrap();
        world.end();
    });
}

#[test]
fn a_full_queue_beside_the_thread_that_empties_it() {
    explore(|hash| {
        let world = world(hash);
        let events = subscribed(&world, "/dir", 1);
        let maker = world.spawn(|world| {
            let root = world.vfs.context(Credentials::root());
            ["/dir/a", "/dir/b", "/dir/c"].iter().for_each(|path| root.mkdir(path, 0o755).unwrap());
        });
        let mut told = names(&events);
        maker.join().unwrap();
        told.append(&mut names(&events));
        // Each name is told, or a mark stands in the place of the names that are not.
        let mut rest = &told[..];
        for name in ["+a", "+b", "+c"] {
            match rest.first().map(String::as_str) {
                Some(first) if first == name => rest = &rest[1..],
                Some("...") if rest.get(1).is_some_and(|next| next == name) => rest = &rest[2..],
                Some("...") => {}
                _ => panic!("{name} is lost: {told:?}"),
            }
        }
        assert!(rest.is_empty() || rest == ["..."], "{told:?}");
        drop(events);
        world.end();
    });
}

#[test]
fn a_wait_beside_a_change_and_a_cancellation() {
    explore(|hash| {
        let world = world(hash);
        let (events, cancellation) = (Arc::new(subscribed(&world, "/dir", 5)), Cancellation::new());
        let (of_waiter, under) = (events.clone(), cancellation.clone());
        let waiter = world.spawn(move |_| (of_waiter.next().map(drop), under.during(|| of_waiter.next().map(drop))));
        world.vfs.context(Credentials::root()).mkdir("/dir/b", 0o755).unwrap();
        cancellation.cancel();
        assert_eq!(waiter.join().unwrap(), (Ok(()), Err(Errno::ECANCELED)));
        drop(events);
        world.end();
    });
}

/// Checks that the path of an event is one that the directory had, beside moves of directories.
#[test]
fn a_path_beside_a_move() {
    explore(|hash| {
        let world = world(hash);
        let events = subscribed(&world, "/", 20);
        let mover = world.spawn(|world| {
            let root = world.vfs.context(Credentials::root());
            root.renameat(At::Cwd, "/dir", At::Cwd, "/moved", RenameFlags::empty()).unwrap();
        });
        let root = world.vfs.context(Credentials::root());
        let dir = world.user().lookup("/dir").or_else(|_| world.user().lookup("/moved")).unwrap();
        root.mkdirat(&dir, "a", 0o755).unwrap();
        mover.join().unwrap();
        let told = names(&events);
        assert!(["+dir/a", "+moved/a"].iter().any(|path| told.contains(&(*path).into())) && told.len() == 2, "{told:?}");
        drop((events, root, dir));
        world.end();
    });
}

/// Checks that what is told by node is true for a thread that asks when it has the event.
#[test]
fn a_thread_that_asks_when_it_is_told() {
    explore(|hash| {
        let world = world(hash);
        let root = world.vfs.context(Credentials::root());
        ["/dir/a", "/dir/b"].iter().for_each(|path| root.mkdir(path, 0o755).unwrap());
        let events = world.vfs.subscribe_nodes(20);
        let changer = world.spawn(|world| {
            let root = world.vfs.context(Credentials::root());
            root.rmdir("/dir/a").unwrap();
            root.renameat(At::Cwd, "/dir/b", At::Cwd, "/c", RenameFlags::empty()).unwrap();
        });
        while let Ok(NodeEvent::Name { name, .. }) = events.next() {
            match &*name {
                b"a" => assert_eq!(root.stat("/dir/a").err(), Some(Errno::ENOENT)),
                b"b" => assert_eq!(root.stat("/dir/b").err(), Some(Errno::ENOENT)),
                _ => {
                    assert!(root.stat("/c").is_ok());
                    break;
                }
            }
            // The attributes of the node that lost its name.
            if *name == *b"a" {
                events.next().unwrap();
            }
        }
        changer.join().unwrap();
        drop((events, root));
        world.end();
    });
}
