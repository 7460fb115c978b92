//! Parts of branches in a store.
//!
//! The batch that makes a part notes with it what is left of the branch then. The batch that ends
//! the commit of the part puts this into the place of the branch. So after a crash at any point,
//! the next list of branches finishes that, or finds the branch as it was, and drops the part.

use std::sync::Arc;

use super::encoding::{self, OfBranch, OfRest, of_time};
use super::table::{OF_PARTS, Step};
use super::{Stored, store_error};
use crate::base::Base;
use crate::branch::{Inner, Shared};
use crate::branches::parts;
use crate::commit::resolution::Resolution;
use crate::commit::{self, Onto};
use crate::error::Error;
use crate::rows::Row;
use crate::tree::Tree;

/// The branch onto which a part is committed.
pub(super) struct NewParent<'a> {
    /// What it had in common with the part.
    pub(super) forked: &'a Tree<Row>,
    /// Its tree after the commit, and the root of that.
    pub(super) now: &'a Tree<Row>,
    pub(super) root: u64,
}

impl Stored {
    /// Makes a branch of a part of another one.
    pub(crate) fn part(&self, shared: &Arc<Shared>, name: &str, part: &str, paths: &[&[u8]]) -> Result<(), Error> {
        let action = "store a part of the branch";
        let failed = || store_error(action);
        let branch = self.get(shared, name)?;
        let (parent, forked) = {
            let snapshot = self.snapshot()?;
            let row = self.row(&*snapshot, name)?;
            (row.parent, self.load(&shared.base, &*snapshot, row.forked).map_err(failed())?)
        };
        let (tree, rest) = parts(&branch.0, (parent.as_deref(), &forked), paths)?;
        self.change(&shared.base, action, |step| {
            let row = step.branch(name).map_err(failed())?.ok_or_else(|| Error::NoBranch(name.to_owned()))?;
            let OfBranch { id: of, parent, forked, .. } = row;
            if step.branch(part).map_err(failed())?.is_some() {
                return Err(Error::Exists(part.to_owned()));
            }
            if let Some(parent) = &parent {
                let mut row = step.branch(parent).map_err(failed())?.ok_or_else(|| Error::NoBranch(parent.to_owned()))?;
                row.forks += 1;
                step.put_branch(parent, &row).map_err(failed())?;
            }
            let (id, root) = (step.new_branch().map_err(failed())?, step.save(&tree).map_err(failed())?);
            let row = OfBranch { id, parent, created: of_time(shared.now()), note: String::new(), root, forked, forks: 0 };
            step.put_branch(part, &row).map_err(failed())?;
            let root = step.save(&rest).map_err(failed())?;
            step.put_part(part, &OfRest { name: name.to_owned(), id: of, root }).map_err(failed())
        })
    }

    /// Takes a part that is committed out of its branch, in the batch that ends the commit. If that
    /// is a branch of another one, it takes over what was committed, unless that has conflicts.
    /// Returns the name of the branch.
    pub(super) fn take_from_branch(
        &self,
        shared: &Arc<Shared>,
        step: &mut Step<'_>,
        part: &str,
        parent: Option<NewParent<'_>>,
    ) -> Result<Option<String>, Error> {
        let failed = || store_error("store the rest of the branch");
        let Some(rest) = step.take_part(part).map_err(failed())? else { return Ok(None) };
        let row = step.branch(&rest.name).map_err(failed())?.filter(|row| row.id == rest.id);
        // It was dropped, and another one has its name.
        let Some(mut row) = row else { return Ok(None) };
        // What is open stores nothing any more: it has the old number.
        (row.id, row.root) = (step.new_branch().map_err(failed())?, rest.root);
        if let Some(NewParent { forked, now, root }) = parent {
            let tree = self.load(&shared.base, step.snapshot, rest.root).map_err(failed())?;
            let branch = Inner::new(shared, tree, None);
            let onto = (&*branch, Onto::Ours);
            let conflicts = commit::merge(forked, now, onto, &Resolution::default(), |_, _| Ok(()));
            if conflicts.map_err(Error::base("look at the base"))?.is_empty() {
                (row.root, row.forked) = (step.save(&branch.snapshot()).map_err(failed())?, root);
            }
        }
        step.put_branch(&rest.name, &row).map_err(failed())?;
        Ok(Some(rest.name))
    }

    /// Drops the parts whose commit has ended before it was decided. One that may be under way is
    /// left alone: its branch is in use.
    pub(crate) fn drop_parts(&self, base: &Base) -> Result<(), Error> {
        let failed = || store_error("look for a commit under way");
        let mut all = Vec::new();
        let mut each = |key: &[u8], value: &[u8]| {
            all.push((String::from_utf8_lossy(&key[OF_PARTS.len()..]).into_owned(), encoding::decode::<OfRest>(value)?));
            Ok(())
        };
        self.snapshot()?.scan(OF_PARTS, &mut each).map_err(failed())?;
        for (part, rest) in all {
            if self.open.lock().contains_key(&rest.name) {
                continue;
            }
            let Some(_lease) = self.store.lease(rest.id).map_err(failed())? else { continue };
            match self.drop(base, &part) {
                Ok(()) | Err(Error::NoBranch(_) | Error::InUse(_) | Error::HasForks { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
