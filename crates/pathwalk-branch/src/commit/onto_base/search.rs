//! The search for files of the base that have lost all names by which they are known, and have
//! others.
//!
//! A file with several names is known by some of them. A commit may take these away and leave the
//! others; then only a walk through the base finds it, where file handles do not: a process without
//! the rights for them, or after a start of the system. The walk is done only if there is such a
//! file.

use std::collections::BTreeMap;
use std::sync::Arc;

use pathwalk::{Errno, FileType};

use super::STAGING;
use super::apply::joined;
use super::plan::Plan;
use crate::origin::Origin;

/// Finds the files that a branch has copied and that are lost in this way. One that has no name any
/// more stays lost.
pub(super) fn find_lost(plan: &Plan<'_>) -> Result<(), Errno> {
    let mut lost: BTreeMap<u64, Vec<&Arc<Origin>>> = BTreeMap::new();
    for (_, _, origin) in plan.copied() {
        if origin.is_lost(plan.base)? {
            lost.entry(origin.attributes.ino).or_default().push(origin);
        }
    }
    let mut open = if lost.is_empty() { Vec::new() } else { vec![(Vec::new(), plan.base.root().clone())] };
    while let Some((path, dir)) = open.pop() {
        let listed = match plan.base.list(&dir) {
            // It is gone, or has nothing that a branch could have copied.
            Err(Errno::ENOENT | Errno::ESTALE | Errno::EACCES) => continue,
            listed => listed?,
        };
        for listed in listed.into_iter().filter(|listed| !path.is_empty() || *listed.name != *STAGING.as_bytes()) {
            let origins = lost.get(&listed.ino);
            if origins.is_none() && listed.kind != FileType::Directory {
                continue;
            }
            let Some(node) = plan.base.lookup(&dir, &listed.name)? else { continue };
            let path = joined(&path, &listed.name);
            for origin in origins.into_iter().flatten() {
                if origin.is_node(plan.base, &node)? {
                    origin.set_path_to_come(path.clone().into());
                }
            }
            if node.kind() == FileType::Directory && plan.base.check_device(&node.attributes()?).is_ok() {
                open.push((path, node));
            }
        }
    }
    Ok(())
}
