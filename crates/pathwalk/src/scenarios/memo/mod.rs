//! Whole paths that are remembered, beside what changes where they lead.
//!
//! The memo has room for two paths, is asked each time, and learns from each walk. While a change is
//! under way, an answer is that from before or that from after; once it has returned, that from after.

mod changes;
mod directories;
mod mounts;
mod places;
mod rights;
mod switches;
mod turns;

use super::fs::{ROOT, TestFs};
use super::world::{DIRECTORY, FILE, Hash, World};
use crate::memo::OfMount;
use crate::memo::question::{LastLink, Question};
use crate::walk::whole;
use crate::{Access, Context, Credentials, Errno, VfsBuilder};

/// An inode number.
type Answer = Result<u64, Errno>;

const ABSENT: Answer = Err(Errno::ENOENT);

/// The inode numbers of what [`fill`] makes.
const D: u64 = 2;
const IN_D: u64 = 3;
const E: u64 = 4;
const IN_E: u64 = 5;
/// That of the next.
const NEXT: u64 = 6;

/// `/d/f` and `/e/f`.
fn fill(fs: &TestFs) {
    for (name, (dir, file)) in [("d", (D, IN_D)), ("e", (E, IN_E))] {
        assert_eq!(fs.plain(ROOT, name, DIRECTORY), dir.into());
        assert_eq!(fs.plain(dir.into(), "f", FILE), file.into());
    }
}

/// Runs a scenario of one thread.
fn alone(scenario: fn(Hash)) {
    for hash in [Hash::Spread, Hash::Collide] {
        #[cfg(shuttle)]
        super::run_under(shuttle::scheduler::RandomScheduler::new(1), scenario, hash);
        #[cfg(not(shuttle))]
        scenario(hash);
    }
}

fn world(hash: Hash) -> World {
    filled(hash, fill)
}

fn filled(hash: Hash, fill: impl FnOnce(&TestFs)) -> World {
    World::built((24, 1), hash, |builder| builder, fill)
}

/// Where `protected_symlinks` is on.
fn protecting(hash: Hash, fill: impl FnOnce(&TestFs)) -> World {
    World::built((24, 1), hash, VfsBuilder::protect_symlinks, fill)
}

fn admin(world: &World) -> Context {
    world.vfs.context(Credentials::root())
}

fn ino(context: &Context, path: &str) -> Answer {
    context.stat(path).map(|found| found.ino)
}

fn is_there(context: &Context, path: &str) -> Result<(), Errno> {
    context.access(path, Access::empty())
}

/// Whether the memo answers, and needs no walk.
fn is_known(context: &Context, path: &str) -> bool {
    find(context, path, LastLink::Followed)
}

/// The same for a link in the last component of which this becomes.
fn find(context: &Context, path: &str, last_link: LastLink) -> bool {
    let asker = context.asker();
    let begin = if path.starts_with('/') { asker.root } else { asker.cwd };
    let question = Question { path: path.as_bytes(), start: begin.bits(), root: asker.root.bits(), last_link };
    whole::find(&asker.world, &question, || asker.real_class.known(), &mut OfMount::default()).is_some()
}

/// Has a path learned: by the second walk, if what it goes through was not cached.
fn learn(context: &Context, path: &str) {
    // More often, since a lap of any count in the process clears the memo.
    assert!(
        (0..8).any(|_| {
            _ = is_there(context, path);
            is_known(context, path)
        }),
        "{path} is not learned"
    );
}

/// Has a path asked and learned beside a change that leads it elsewhere.
fn changed(world: &World, context: &Context, path: &'static str, (before, after): (Answer, Answer), change: impl FnOnce(&World)) {
    assert_eq!(ino(context, path), before, "{path}, before");
    let beside = context.clone();
    let asker = world.spawn(move |_| {
        for _ in 0..3 {
            let found = ino(&beside, path);
            assert!(found == before || found == after, "{path}: {found:?}");
        }
    });
    change(world);
    let told = || assert_eq!(ino(context, path), after, "{path}, after");
    told();
    asker.join().unwrap();
    (0..2).for_each(|_| told());
}
