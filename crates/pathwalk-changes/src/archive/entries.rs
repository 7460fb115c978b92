//! What goes into an archive.

use std::collections::{BTreeMap, BTreeSet};

use pathwalk::FileType;

use crate::error::Error;
use crate::node::has_several_names;
use crate::path::{PathBytes, ROOT, upwards};
use crate::plan::{Plan, walk};
use crate::tree::Tree;

/// What goes into an archive.
pub(crate) struct Entries {
    /// The new paths, with the type.
    pub(crate) nodes: BTreeMap<PathBytes, FileType>,
    /// Of the further names of files, the first one.
    pub(crate) links: BTreeMap<PathBytes, PathBytes>,
    /// The old paths that go, none below another one.
    pub(crate) removed: BTreeMap<PathBytes, FileType>,
}

impl Entries {
    pub(crate) fn of(plan: &Plan, new: &Tree) -> Result<Entries, Error> {
        let mut nodes = plan.new.clone();
        nodes.extend(plan.changed.iter().map(|(path, changed)| (path.clone(), changed.kind)));
        nodes.extend(plan.directories().into_iter().map(|path| (path, FileType::Directory)));
        for path in plan.links.iter().flat_map(|(path, to)| [path, to]) {
            nodes.insert(path.clone(), new.node(path)?.kind());
        }
        for (path, (_, kind)) in &plan.renamed {
            nodes.insert(path.clone(), *kind);
            if *kind == FileType::Directory {
                walk(new, path, |path, kind, _| {
                    nodes.insert(path.into(), kind);
                    true
                })?;
            }
        }
        let links = links(&mut nodes, new)?;
        let mut removed = plan.removed.clone();
        removed.extend(plan.renamed.values().map(|(from, kind)| (from.clone(), *kind)));
        let all: BTreeSet<PathBytes> = removed.keys().cloned().collect();
        removed.retain(|path, _| !upwards(path).skip(1).any(|above| all.contains(above)));
        Ok(Entries { nodes, links, removed })
    }
}

/// Adds all names of the files that have several, and returns the further ones with the first.
fn links(nodes: &mut BTreeMap<PathBytes, FileType>, new: &Tree) -> Result<BTreeMap<PathBytes, PathBytes>, Error> {
    let mut groups: BTreeMap<u64, (u32, BTreeSet<PathBytes>)> = BTreeMap::new();
    for (path, _) in nodes.iter().filter(|(_, kind)| **kind != FileType::Directory) {
        let of = new.attributes(path)?;
        if has_several_names(&of) {
            groups.entry(of.ino).or_insert_with(|| (of.nlink, BTreeSet::new())).1.insert(path.clone());
        }
    }
    if groups.values().any(|(nlink, names)| names.len() < *nlink as usize) {
        walk(new, ROOT, |path, kind, ino| {
            if kind != FileType::Directory
                && let Some((_, names)) = groups.get_mut(&ino)
            {
                names.insert(path.into());
                nodes.insert(path.into(), kind);
            }
            true
        })?;
    }
    let mut links = BTreeMap::new();
    for (_, names) in groups.into_values() {
        let mut names = names.into_iter();
        let first = names.next().expect("it has names");
        links.extend(names.map(|path| (path, first.clone())));
    }
    Ok(links)
}
