//! Changes by files: what is no directory, each by the path that it had and the path that it has.
//!
//! What always holds: what is below a directory that was removed or renamed is there by itself. So
//! is each name of a node with several.

use std::collections::BTreeMap;

use pathwalk::FileType;

use crate::error::Error;
use crate::path::PathBytes;
use crate::plan::{Plan, walk};
use crate::tree::Tree;

/// The files of two trees that differ, or have other names.
#[derive(Default, Debug)]
pub(crate) struct Files {
    /// The old paths of those that went.
    pub(crate) removed: BTreeMap<PathBytes, FileType>,
    /// The new paths of those that came.
    pub(crate) added: BTreeMap<PathBytes, FileType>,
    /// The new paths of those that were changed or renamed, with the old ones.
    pub(crate) kept: BTreeMap<PathBytes, (PathBytes, FileType)>,
}

impl Files {
    pub(crate) fn of(plan: &Plan, old: &Tree, new: &Tree) -> Result<Files, Error> {
        let mut files = Files::default();
        for (path, kind) in &plan.removed {
            files.remove(plan, old, path, *kind)?;
        }
        for (path, kind) in plan.new.iter().filter(|(_, kind)| **kind != FileType::Directory) {
            files.added.insert(path.clone(), *kind);
        }
        for path in plan.links.keys() {
            files.added.insert(path.clone(), new.node(path)?.kind());
        }
        for (path, (from, kind)) in &plan.renamed {
            if *kind != FileType::Directory {
                files.kept.insert(path.clone(), (from.clone(), *kind));
                continue;
            }
            walk(new, path, |below, kind, _| {
                let is_of_its_own = plan.has_come(below);
                if !is_of_its_own && kind != FileType::Directory {
                    files.kept.extend(plan.old_path(below).map(|was| (below.into(), (was, kind))));
                }
                !is_of_its_own
            })?;
        }
        for (path, changed) in plan.changed.iter().filter(|(_, changed)| changed.kind != FileType::Directory) {
            files.kept.insert(path.clone(), (changed.was.clone(), changed.kind));
        }
        for (path, first) in &plan.others {
            if let (Some(was), Some(changed)) = (plan.old_path(path), plan.changed.get(first)) {
                files.kept.insert(path.clone(), (was, changed.kind));
            }
        }
        Ok(files)
    }

    fn remove(&mut self, plan: &Plan, old: &Tree, path: &[u8], kind: FileType) -> Result<(), Error> {
        if kind != FileType::Directory {
            self.removed.insert(path.into(), kind);
            return Ok(());
        }
        walk(old, path, |below, kind, _| {
            let is_of_its_own = plan.is_gone(below);
            if !is_of_its_own && kind != FileType::Directory {
                self.removed.insert(below.into(), kind);
            }
            !is_of_its_own
        })
    }
}
