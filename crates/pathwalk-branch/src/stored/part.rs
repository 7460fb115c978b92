//! Parts of branches in a store: each is one batch.

use std::sync::Arc;

use super::encoding::{OfBranch, of_time};
use super::{Stored, store_error};
use crate::branch::Shared;
use crate::branches::parts;
use crate::error::Error;
use crate::rows::Row;
use crate::tree::Tree;

impl Stored {
    /// Makes a branch of a part of another one. Returns the tree of the rest.
    pub(crate) fn part(&self, shared: &Arc<Shared>, name: &str, part: &str, paths: &[&[u8]]) -> Result<Tree<Row>, Error> {
        let action = "store a part of the branch";
        let failed = || store_error(action);
        let branch = self.get(shared, name)?;
        let forked = {
            let snapshot = self.snapshot()?;
            self.load(&shared.base, &*snapshot, self.row(&*snapshot, name)?.forked).map_err(failed())?
        };
        let (tree, rest) = parts(&branch.0, &forked, paths)?;
        self.change(&shared.base, action, |step| {
            let row = step.branch(name).map_err(failed())?.ok_or_else(|| Error::NoBranch(name.to_owned()))?;
            let OfBranch { parent, forked, .. } = row;
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
            step.put_branch(part, &row).map_err(failed())
        })?;
        Ok(rest)
    }

    /// Puts another tree in the place of that of a branch, which is open here.
    pub(crate) fn replace(&self, shared: &Arc<Shared>, name: &str, tree: &Tree<Row>) -> Result<(), Error> {
        let action = "store the rest of the branch";
        let failed = || store_error(action);
        let mut open = self.open.lock();
        self.change(&shared.base, action, |step| {
            let mut row = step.branch(name).map_err(failed())?.ok_or_else(|| Error::NoBranch(name.to_owned()))?;
            // What is open stores nothing any more: it has the old number.
            row.id = step.new_branch().map_err(failed())?;
            row.root = step.save(tree).map_err(failed())?;
            step.put_branch(name, &row).map_err(failed())
        })?;
        open.remove(name);
        Ok(())
    }
}
