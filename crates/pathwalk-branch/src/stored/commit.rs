//! Commit and rebase of branches in a store: each is one batch.

use std::sync::Arc;

use pathwalk::Errno;

use super::part::NewParent;
use super::table::Step;
use super::{Above, Stored, store_error};
use crate::branch::Shared;
use crate::branches::no_conflicts;
use crate::commit::onto_base::{self, Done, Outcome};
use crate::commit::resolution::Resolution;
use crate::commit::{self, Onto, undo};
use crate::error::Error;
use crate::rows::Row;
use crate::tree::Tree;

impl Stored {
    /// Commits a branch onto its parent: one batch stores the parent and drops the branch. It also
    /// adds the branch that takes this back, if it gets a name.
    pub(crate) fn commit(
        &self,
        shared: &Arc<Shared>,
        name: &str,
        resolution: &Resolution,
        undo_name: Option<&str>,
    ) -> Result<(), Error> {
        let failed = || store_error("commit the branch");
        let (forked, parent) = {
            let snapshot = self.snapshot()?;
            let row = self.row(&*snapshot, name)?;
            self.check_no_forks(&*snapshot, name, &row)?;
            let forked = self.load(&shared.base, &*snapshot, row.forked).map_err(failed())?;
            let Some(parent) = row.parent else { return self.commit_onto_base(shared, name, resolution, undo_name) };
            (forked, parent)
        };
        let (branch, onto) = (self.get(shared, name)?, self.get(shared, &parent)?);
        let home = onto.0.home().ok_or_else(|| Error::NoBranch(parent.clone()))?;
        // An older state of the parent must not be stored over the merged one.
        let saving = home.saving.lock();
        let (mut refused, mut taken_from) = (None, None);
        let store = |before: &Tree<Row>, merged: &Tree<Row>| {
            let kept = undo_name.map(|undo| Ok::<_, Errno>((undo, undo::of_parent(shared, before, merged)?))).transpose()?;
            let stored = self.change(&shared.base, "store the commit", |step| {
                let row = step.branch(name).map_err(failed())?.ok_or_else(|| Error::NoBranch(name.to_owned()))?;
                let root = step.save(merged).map_err(failed())?;
                if let Some((undo, tree)) = &kept {
                    self.put_undo(step, shared, (undo, name), (tree, Some((&parent, root))))?;
                }
                self.leave(step, name, &row, Above::Gets { root, forks: kept.is_some().into() })?;
                let over = NewParent { forked: &forked, now: merged, root };
                self.take_from_branch(shared, step, name, Some(over))
            });
            stored.map(|of| taken_from = of).map_err(|error| {
                refused = Some(error);
                Errno::EIO
            })
        };
        let conflicts = commit::merge(&forked, &branch.0.snapshot(), (&*onto.0, Onto::Theirs), resolution, store);
        // The table is locked before it, or without it.
        drop(saving);
        if let Some(error) = refused {
            return Err(error);
        }
        no_conflicts(name, conflicts.map_err(Error::base("look at the base"))?)?;
        let mut open = self.open.lock();
        open.remove(name);
        taken_from.map(|of| open.remove(&of));
        Ok(())
    }

    /// Commits a branch onto the base, and drops it.
    fn commit_onto_base(
        &self,
        shared: &Arc<Shared>,
        name: &str,
        resolution: &Resolution,
        undo_name: Option<&str>,
    ) -> Result<(), Error> {
        let branch = self.get(shared, name)?;
        // It keeps the nodes of the base, so that they are known when they have other paths.
        let (mut refused, mut kept) = (None, None);
        // What is copied for the undo is in no branch before it is stored.
        let mut held = undo_name.map(|_| self.chunks.hold_collections());
        let mut keep = |tree: Tree<Row>| {
            let Some(undo) = undo_name else { return Ok(()) };
            let stored = self.keep_for_undo(shared, (undo, name), &tree);
            held = None;
            kept = stored.is_ok().then_some(tree);
            stored.map_err(|error| {
                refused = Some(error);
                Errno::EIO
            })
        };
        let keep: Option<onto_base::Keep<'_>> = if undo_name.is_some() { Some(&mut keep) } else { None };
        let outcome = onto_base::commit(name, &branch.0, resolution, keep);
        drop(held);
        if let Some(error) = refused {
            return Err(error);
        }
        match outcome {
            Ok(Outcome::Refused(conflicts)) => Err(Error::Conflicts { name: name.to_owned(), conflicts }),
            Ok(Outcome::Done(done)) => {
                self.committed(shared, *done)?;
                let settled = self.settle_undos(shared);
                drop(kept);
                settled
            }
            Err(failure) => {
                // What is left of it may be finished yet.
                let is_over = onto_base::is_under_way(shared.base.context()) == Ok(false);
                if let Some(undo) = undo_name.filter(|_| kept.is_some() && is_over) {
                    // What cannot be dropped is dropped by the next list of branches.
                    _ = self.forget_undo(&shared.base, undo);
                }
                Err(Error::of_commit(name, failure))
            }
        }
    }

    /// Drops a branch that was committed onto the base, and takes it from the one of which it was a
    /// part. If that fails, the next process does it, which finds what the commit has left.
    pub(crate) fn committed(&self, shared: &Arc<Shared>, done: Done) -> Result<(), Error> {
        let take = |step: &mut Step<'_>| self.take_from_branch(shared, step, &done.branch, None);
        match self.drop_with(&shared.base, (&done.branch, Some(done.number)), take) {
            Ok(of) => {
                of.map(|of| self.open.lock().remove(&of));
                done.clean();
                Ok(())
            }
            // It was dropped before a crash, and another one may have its name.
            Err(Error::NoBranch(_)) => {
                done.clean();
                Ok(())
            }
            // It was forked meanwhile, so it stays.
            Err(error @ Error::HasForks { .. }) => {
                done.clean();
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    /// Rebases a branch onto its parent, as that is now if it is open here, else as it was synced
    /// last; or onto the base.
    pub(crate) fn rebase(&self, shared: &Arc<Shared>, name: &str, resolution: &Resolution) -> Result<(), Error> {
        let failed = || store_error("rebase the branch");
        let branch = self.get(shared, name)?;
        let home = branch.0.home().ok_or_else(|| Error::NoBranch(name.to_owned()))?;
        let (forked, parent) = {
            let open = self.open.lock();
            let snapshot = self.snapshot()?;
            let row = self.row(&*snapshot, name)?;
            let forked = self.load(&shared.base, &*snapshot, row.forked).map_err(failed())?;
            let load = |parent: String| match open.get(&parent) {
                Some(parent) => Ok(parent.0.snapshot()),
                None => self.load(&shared.base, &*snapshot, self.row(&*snapshot, &parent)?.root).map_err(failed()),
            };
            (forked, row.parent.map(load).transpose()?)
        };
        // An older state of the branch must not be stored over the new one.
        let saving = home.saving.lock();
        let mut refused = None;
        let mut store = |_: &Tree<Row>, rebased: &Tree<Row>| {
            let stored = self.change(&shared.base, "store the rebased branch", |step| {
                let row = step.branch(name).map_err(failed())?.filter(|row| row.id == home.id);
                let mut row = row.ok_or_else(|| Error::NoBranch(name.to_owned()))?;
                row.root = step.save(rebased).map_err(failed())?;
                if let Some(parent) = &parent {
                    row.forked = step.save(parent).map_err(failed())?;
                }
                step.put_branch(name, &row).map_err(failed())
            });
            stored.map_err(|error| {
                refused = Some(error);
                Errno::EIO
            })
        };
        let conflicts = match &parent {
            Some(parent) => commit::merge(&forked, parent, (&*branch.0, Onto::Ours), resolution, store),
            None => onto_base::rebase(&branch.0, resolution, |rebased| store(rebased, rebased)),
        };
        drop(saving);
        if let Some(error) = refused {
            return Err(error);
        }
        no_conflicts(name, conflicts.map_err(Error::base("look at the base"))?)
    }
}
