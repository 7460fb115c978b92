//! What a layer hides of the base: whether it changed meanwhile, and the nodes of which the layer
//! has a copy elsewhere.
//!
//! What always holds: a node of the base that has its copy under another name has lost one of its
//! own, so it is found in what is hidden.

use pathwalk::{FileType, Handle, Listed};

use crate::error::Error;
use crate::look::Look;
use crate::plan::{Original, Stays};
use crate::tree::{child, find, join, list};

impl Look<'_> {
    /// Looks at all that is hidden. Directories that are moved are not, with what is below them.
    pub(crate) fn find_hidden(&mut self) -> Result<(), Error> {
        let mut open = std::mem::take(&mut self.hidden);
        while let Some(path) = open.pop() {
            let failed = || Error::tree("look at", &path);
            let base = &self.view.base;
            let Some(node) = find(base, &path).map_err(failed())? else { continue };
            if self.is_moved(&node, &path)? {
                continue;
            }
            if node.kind() != FileType::Directory {
                self.find_original(&node, &path)?;
                continue;
            }
            for Listed { name, .. } in list(base, &node).map_err(failed())? {
                let path = join(&path, &name);
                let Some(below) = child(base, &node, &name).map_err(Error::tree("look at", &path))? else { continue };
                if self.is_moved(&below, &path)? {
                    continue;
                }
                self.check(&below, &path)?;
                match below.kind() {
                    FileType::Directory => open.push(path),
                    _ => self.find_original(&below, &path)?,
                }
            }
        }
        Ok(())
    }

    /// Returns whether a node of the base is a directory that is moved.
    fn is_moved(&self, node: &Handle, path: &[u8]) -> Result<bool, Error> {
        // Overlayfs crosses no mounts, so a number is one node's.
        let number = || node.attributes().map(|of| of.ino).map_err(Error::tree("look at", path));
        Ok(node.kind() == FileType::Directory && self.moved.contains(&number()?))
    }

    /// Notes that a node of the base has its copy elsewhere, if it has.
    fn find_original(&mut self, node: &Handle, path: &[u8]) -> Result<(), Error> {
        if self.wanted.is_empty() {
            return Ok(());
        }
        let failed = || Error::tree("look at", path);
        let Some(handle) = self.handle(node).map_err(failed())? else { return Ok(()) };
        let Some(number) = self.wanted.remove(&handle) else { return Ok(()) };
        if let Some(node) = find(&self.view.branch, path).map_err(failed())? {
            self.plan.originals.entry(number).or_insert(Original { node, stays: Stays::No });
        }
        Ok(())
    }
}
