//! The search for names of files of the base, by a walk through it.
//!
//! A file with several names is known by some of them. A commit may take these away and leave the
//! others; then only a walk finds it, where file handles do not: a process without the rights for
//! them, or after a start of the system. A commit itself walks for a file that it changes by its
//! name, and of which it takes the name that is known. Either walk is done only if there is such a
//! file.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use pathwalk::{Errno, FileType, Handle};

use super::STAGING;
use super::apply::joined;
use super::plan::Plan;
use crate::base::Base;
use crate::origin::Origin;

/// A name that was found in the base.
struct Found<'a> {
    dir: &'a Handle,
    name: &'a [u8],
    path: &'a [u8],
    node: &'a Handle,
}

/// What is done after a name: to go on below it, if it is a directory; or beside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Below,
    Beside,
}

/// Visits all directories of the base, and the names of files with a wanted inode number, until
/// `visit` breaks.
fn walk(
    base: &Base,
    wants: impl Fn(u64) -> bool,
    mut visit: impl FnMut(Found<'_>) -> Result<ControlFlow<(), Next>, Errno>,
) -> Result<(), Errno> {
    let mut open = vec![(Vec::new(), base.root().clone())];
    while let Some((path, dir)) = open.pop() {
        let listed = match base.list(&dir) {
            // It is gone, or has nothing that a branch could have copied.
            Err(Errno::ENOENT | Errno::ESTALE | Errno::EACCES) => continue,
            listed => listed?,
        };
        for listed in listed.into_iter().filter(|listed| !path.is_empty() || *listed.name != *STAGING.as_bytes()) {
            if !wants(listed.ino) && listed.kind != FileType::Directory {
                continue;
            }
            let Some(node) = base.lookup(&dir, &listed.name)? else { continue };
            let path = joined(&path, &listed.name);
            match visit(Found { dir: &dir, name: &listed.name, path: &path, node: &node })? {
                ControlFlow::Break(()) => return Ok(()),
                ControlFlow::Continue(Next::Beside) => continue,
                ControlFlow::Continue(Next::Below) => {}
            }
            if node.kind() == FileType::Directory && base.check_device(&node.attributes()?).is_ok() {
                open.push((path, node));
            }
        }
    }
    Ok(())
}

/// Finds the files that a branch has copied and that are known by no name that they have. One that
/// has no name any more stays lost.
pub(super) fn find_lost(plan: &Plan<'_>) -> Result<(), Errno> {
    let mut lost: BTreeMap<u64, Vec<&Arc<Origin>>> = BTreeMap::new();
    for (_, _, origin) in plan.copied() {
        if origin.is_lost(plan.base)? {
            lost.entry(origin.attributes.ino).or_default().push(origin);
        }
    }
    if lost.is_empty() {
        return Ok(());
    }
    walk(
        plan.base,
        |ino| lost.contains_key(&ino),
        |found| {
            for origin in lost.get(&found.node.attributes()?.ino).into_iter().flatten() {
                if origin.is_node(plan.base, found.node)? {
                    origin.set_path_to_come(found.path.into());
                }
            }
            Ok(ControlFlow::Continue(Next::Below))
        },
    )
}

/// Returns the directory and the name there of a file of the base, which the branch leaves there:
/// `ESTALE` if there is none.
pub(super) fn name_that_stays(plan: &Plan<'_>, file: &Handle) -> Result<(Handle, Box<[u8]>), Errno> {
    let ino = file.attributes()?.ino;
    let mut place = None;
    walk(
        plan.base,
        |other| other == ino,
        |Found { dir, name, node, .. }| {
            let goes = plan.goes(dir, name);
            if node.node_id() == file.node_id() && !goes {
                place = Some((dir.clone(), name.into()));
                return Ok(ControlFlow::Break(()));
            }
            let next = if goes && !plan.gets_name(node)? { Next::Beside } else { Next::Below };
            Ok(ControlFlow::Continue(next))
        },
    )?;
    place.ok_or(Errno::ESTALE)
}
