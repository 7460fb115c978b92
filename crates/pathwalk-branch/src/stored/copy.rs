//! Copies of branches in a store: each is one batch.

use std::sync::Arc;

use super::encoding::{OfBranch, of_time};
use super::{Stored, store_error};
use crate::branch::Shared;
use crate::error::Error;

impl Stored {
    /// Copies a branch. The copy is not opened.
    pub(crate) fn copy(&self, shared: &Arc<Shared>, name: &str, copy: &str, note: &str) -> Result<(), Error> {
        let action = "store the copy";
        let failed = || store_error(action);
        // Of a branch that is open here, the copy gets the state of now.
        let open = self.open.lock().get(name).cloned();
        let tree = open.map(|branch| branch.0.snapshot());
        self.change(&shared.base, action, |step| {
            if step.branch(copy).map_err(failed())?.is_some() {
                return Err(Error::Exists(copy.to_owned()));
            }
            let OfBranch { parent, mut root, forked, .. } =
                step.branch(name).map_err(failed())?.ok_or_else(|| Error::NoBranch(name.to_owned()))?;
            if let Some(tree) = &tree {
                root = step.save(tree).map_err(failed())?;
            }
            if let Some(parent) = &parent {
                let mut row = step.branch(parent).map_err(failed())?.ok_or_else(|| Error::NoBranch(parent.to_owned()))?;
                row.forks += 1;
                step.put_branch(parent, &row).map_err(failed())?;
            }
            let (id, created) = (step.new_branch().map_err(failed())?, of_time(shared.now()));
            let row = OfBranch { id, parent, created, note: note.to_owned(), root, forked, forks: 0 };
            step.put_branch(copy, &row).map_err(failed())
        })
    }

    /// Puts a copy of a branch in the place of another one. `InUse` if another process has that
    /// open.
    pub(crate) fn reset(&self, shared: &Arc<Shared>, name: &str, to: &str) -> Result<(), Error> {
        let action = "put a copy in the place of the branch";
        let failed = || store_error(action);
        let mut open = self.open.lock();
        let tree = open.get(to).map(|branch| branch.0.snapshot());
        let mut lease = None;
        self.change(&shared.base, action, |step| {
            let missing = |name: &str| Error::NoBranch(name.to_owned());
            let mut of = step.branch(to).map_err(failed())?.ok_or_else(|| missing(to))?;
            let mut row = step.branch(name).map_err(failed())?.ok_or_else(|| missing(name))?;
            if of.parent != row.parent {
                return Err(Error::OtherParent { name: name.to_owned(), to: to.to_owned() });
            }
            if !open.contains_key(name) && lease.is_none() {
                let taken = self.store.lease(row.id).map_err(failed())?;
                lease = Some(taken.ok_or_else(|| Error::InUse(name.to_owned()))?);
            }
            if let Some(tree) = &tree {
                of.root = step.save(tree).map_err(failed())?;
            }
            // What is open stores nothing any more: it has the old number.
            row.id = step.new_branch().map_err(failed())?;
            (row.root, row.forked) = (of.root, of.forked);
            step.put_branch(name, &row).map_err(failed())
        })?;
        open.remove(name);
        Ok(())
    }
}
