//! Branches that take a commit back, in a store.
//!
//! The undo of a commit onto another branch is added by the batch of that commit. That of a commit
//! onto the base is stored before the commit, with a row that says whose it is. Once the commit is
//! done, it is compared with the base anew, and the row is removed. So after a crash at any point,
//! the next list of branches finishes it if the commit was done, and drops it else.
//!
//! What always holds: as long as there is such a row, the branch is not opened.

use std::sync::Arc;

use super::encoding::{self, OfBranch, OfUndo, of_time};
use super::table::{OF_UNDOS, Step, undo_key};
use super::{Stored, store_error};
use crate::base::Base;
use crate::branch::{Inner, Shared};
use crate::branches::note_of_undo;
use crate::commit::onto_base;
use crate::error::Error;
use crate::rows::Row;
use crate::tree::Tree;

impl Stored {
    /// Adds a branch that takes a commit back. With a parent, it is a fork of that, which has this
    /// root; the parent's row is not changed here.
    pub(super) fn put_undo(
        &self,
        step: &mut Step<'_>,
        shared: &Shared,
        (undo, of): (&str, &str),
        (tree, parent): (&Tree<Row>, Option<(&String, u64)>),
    ) -> Result<(), Error> {
        let failed = || store_error("store the undo of the commit");
        if step.branch(undo).map_err(failed())?.is_some() {
            return Err(Error::Exists(undo.to_owned()));
        }
        let (id, root) = (step.new_branch().map_err(failed())?, step.save(tree).map_err(failed())?);
        let (parent, forked) = parent.map_or((None, 0), |(parent, root)| (Some(parent.clone()), root));
        let (created, note) = (of_time(shared.now()), note_of_undo(of));
        step.put_branch(undo, &OfBranch { id, parent, created, note, root, forked, forks: 0 }).map_err(failed())
    }

    /// Stores what a commit onto the base will change, before it changes that.
    pub(super) fn keep_for_undo(&self, shared: &Shared, (undo, of): (&str, &str), tree: &Tree<Row>) -> Result<(), Error> {
        let action = "store the undo of the commit";
        self.change(&shared.base, action, |step| {
            let row = step.branch(of).map_err(store_error(action))?.ok_or_else(|| Error::NoBranch(of.to_owned()))?;
            self.put_undo(step, shared, (undo, of), (tree, None))?;
            let of = OfUndo { name: of.to_owned(), id: row.id };
            step.put_undo(undo, Some(&of)).map_err(store_error(action))
        })
    }

    /// Drops a branch that was to take a commit back which was not made.
    pub(super) fn forget_undo(&self, base: &Base, undo: &str) -> Result<(), Error> {
        let action = "drop the undo of a commit";
        self.change(base, action, |step| {
            // Another process may have settled it.
            if step.get(&undo_key(undo)).map_err(store_error(action))?.is_some() {
                step.delete_branch(undo);
                step.put_undo(undo, None).map_err(store_error(action))?;
            }
            Ok(())
        })
    }

    /// Settles what commits have left. One that is under way is left alone.
    pub(crate) fn settle(&self, shared: &Arc<Shared>) -> Result<(), Error> {
        self.settle_undos(shared)?;
        self.drop_parts(&shared.base)
    }

    /// Finishes the branches that are to take a commit back which was done, and drops those of one
    /// that was not.
    pub(super) fn settle_undos(&self, shared: &Arc<Shared>) -> Result<(), Error> {
        let failed = || store_error("read the undo of a commit");
        let mut all = Vec::new();
        let mut each = |key: &[u8], value: &[u8]| {
            all.push((String::from_utf8_lossy(&key[OF_UNDOS.len()..]).into_owned(), encoding::decode::<OfUndo>(value)?));
            Ok(())
        };
        self.snapshot()?.scan(OF_UNDOS, &mut each).map_err(failed())?;
        if all.is_empty() || onto_base::is_under_way(shared.base.context()).map_err(Error::base("look at the base"))? {
            return Ok(());
        }
        for (undo, of) in all {
            match self.row(&*self.snapshot()?, &of.name) {
                Ok(row) if row.id == of.id => self.forget_abandoned(shared, &undo, &of)?,
                Ok(_) | Err(Error::NoBranch(_)) => self.finish_undo(shared, &undo)?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Drops the undo of a commit that has ended before it was decided, and left its branch.
    fn forget_abandoned(&self, shared: &Shared, undo: &str, of: &OfUndo) -> Result<(), Error> {
        if self.open.lock().contains_key(&of.name) {
            return Ok(());
        }
        // A process that is about to commit has the branch open.
        match self.store.lease(of.id).map_err(store_error("look for a commit under way"))? {
            Some(_lease) => self.forget_undo(&shared.base, undo),
            None => Ok(()),
        }
    }

    /// Compares what was kept before a commit with the base as it is after that.
    fn finish_undo(&self, shared: &Arc<Shared>, undo: &str) -> Result<(), Error> {
        let action = "store the undo of the commit";
        let failed = || store_error(action);
        let tree = {
            let snapshot = self.snapshot()?;
            match self.row(&*snapshot, undo) {
                Ok(row) => self.load(&shared.base, &*snapshot, row.root).map_err(failed())?,
                // It was dropped.
                Err(Error::NoBranch(_)) => return self.forget_undo(&shared.base, undo),
                Err(error) => return Err(error),
            }
        };
        let compared = onto_base::over_committed(&Inner::new(shared, tree, None));
        let tree = compared.map_err(Error::base("compare what the commit has changed with what was kept"))?;
        self.change(&shared.base, action, |step| {
            let (marker, row) = (step.get(&undo_key(undo)).map_err(failed())?, step.branch(undo).map_err(failed())?);
            if let (Some(_), Some(mut row)) = (marker, row) {
                row.root = step.save(&tree).map_err(failed())?;
                step.put_branch(undo, &row).map_err(failed())?;
                step.put_undo(undo, None).map_err(failed())?;
            }
            Ok(())
        })
    }
}
