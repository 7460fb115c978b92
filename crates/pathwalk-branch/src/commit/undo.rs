//! The undo of a commit onto a branch.
//!
//! A commit is taken back by the commit of another branch: one that was forked of the parent as it
//! was after the commit, and is what the parent was before. So what was taken back is looked at as
//! the changes of any branch are, what was changed since is a conflict as ever, and a crash leaves
//! all of it or nothing.
//!
//! What always holds: of each node that the parent has copied with the commit, the branch has the
//! attributes, as they were. Else a merge would find nothing that it could give back.
//!
//! What it does not do: the undo of a commit onto the base is in `onto_base`, where data that is
//! overwritten has to be kept.

use std::sync::Arc;

use pathwalk::Errno;

use crate::base::Copied;
use crate::branch::{Shared, Way, copied_up, place, record};
use crate::diff::Groups;
use crate::rows::{self, Place, Record, Row, Tag};
use crate::tree::Tree;

/// Returns the tree of the branch that takes a commit back: the parent's before it, with all that
/// the commit has copied of the base.
pub(crate) fn of_parent(shared: &Shared, before: &Tree<Row>, after: &Tree<Row>) -> Result<Tree<Row>, Errno> {
    let (base, mut tree) = (&shared.base, before.clone());
    for (number, _) in Groups::between(before, after).iter().filter(|(_, group)| group.is_change()) {
        let Some(Record { origin: Some(origin), body, .. }) = record(after, number) else { continue };
        if record(before, number).is_some() {
            continue;
        }
        let copied = match base.check_unchanged(origin) {
            Ok(()) => Copied { origin: Arc::clone(origin), body: body.clone() },
            // The parent showed the base as that is now.
            Err(_) => match origin.handle(base) {
                Ok(node) => base.copied(&node, number, origin.way.clone())?,
                Err(Errno::ESTALE) => continue,
                Err(errno) => return Err(errno),
            },
        };
        copied_up(&mut tree, number, copied);
        note_places(&mut tree, number, origin.way.as_ref());
    }
    Ok(tree)
}

/// Notes the place of a node that was found by this way, and of each directory above it that has
/// none yet.
pub(super) fn note_places(tree: &mut Tree<Row>, number: u64, way: Option<&Arc<Way>>) {
    let (mut number, mut way) = (number, way);
    while let Some(found) = way {
        if place(tree, number).is_some() {
            return;
        }
        let place = Place { dir: found.dir, name: found.name.clone() };
        tree.insert(&rows::of(number, Tag::Place), Row::Place(Arc::new(place)));
        (number, way) = (found.dir, found.above.as_ref());
    }
}
