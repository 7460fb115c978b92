//! Whole paths in the memo, beside changes of where they lead.
//!
//! The memo has room for two paths, is asked each time, and learns from each walk. While a change
//! is under way, the answer is the one from before or the one from after. Once the change has
//! returned, it is the one from after.

mod access;
mod changes;
mod directories;
mod mounts;
mod places;
mod rights;
mod switches;
mod turns;

use super::alone;
use super::fs::{ROOT, TestFs};
use super::world::{DIRECTORY, FILE, Hash, World};
use crate::memo::OfMount;
use crate::memo::question::{LastLink, Question};
use crate::walk::whole;
use crate::{Access, Context, Credentials, Errno, VfsBuilder};

/// An inode number, or the error of a walk.
type Answer = Result<u64, Errno>;

const ABSENT: Answer = Err(Errno::ENOENT);

/// The inode numbers of the nodes that [`fill`] makes.
const D: u64 = 2;
const IN_D: u64 = 3;
const E: u64 = 4;
const IN_E: u64 = 5;
/// The inode number that the next node gets.
const NEXT: u64 = 6;

/// Creates `/d/f` and `/e/f`.
fn fill(fs: &TestFs) {
    for (name, (dir, file)) in [("d", (D, IN_D)), ("e", (E, IN_E))] {
        assert_eq!(fs.plain(ROOT, name, DIRECTORY), dir.into());
        assert_eq!(fs.plain(dir.into(), "f", FILE), file.into());
    }
}

fn world(hash: Hash) -> World {
    filled(hash, fill)
}

fn filled(hash: Hash, fill: impl FnOnce(&TestFs)) -> World {
    World::built((24, 1), hash, |builder| builder, fill)
}

/// Creates a world in which `protected_symlinks` is on.
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

/// Returns whether the memo answers for a path, so that no walk is needed.
fn is_known(context: &Context, path: &str) -> bool {
    find(context, path, LastLink::Followed)
}

/// Returns the same for a given treatment of a link in the last component.
fn find(context: &Context, path: &str, last_link: LastLink) -> bool {
    let asker = context.asker();
    let begin = if path.starts_with('/') { asker.root } else { asker.cwd };
    let question = Question { path: path.as_bytes(), start: begin.bits(), root: asker.root.bits(), last_link };
    whole::find(&asker.world, &question, || asker.real_class.known(), &mut OfMount::default()).is_some()
}

/// Makes the memo learn a path: by the second walk, if its dentries were not cached.
fn learn(context: &Context, path: &str) {
    // Repeated, since a lap of any count in the process clears the memo.
    assert!(
        (0..8).any(|_| {
            _ = is_there(context, path);
            is_known(context, path)
        }),
        "{path} is not learned"
    );
}

/// Walks a path, so that the memo learns it, beside a change that leads it elsewhere, and checks
/// the answers.
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
