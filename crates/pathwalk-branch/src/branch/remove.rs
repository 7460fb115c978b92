//! The removal of a name with all that is below it, in one step.
//!
//! What always holds: the branch is then as if each name had been removed by itself.
//!
//! What it does not do: copy the nodes that go. So it is for what the branch shows as the base has
//! it, and no caller holds.

use pathwalk::security::NodeId;
use pathwalk::{Attributes, Errno, FileType, Handle, Name, NodeKey};

use super::{Found, Inner, place, record};
use crate::Branch;
use crate::rows::{self, Entry, Hidden, Row, Tag, Target};
use crate::stamp::Stamp;
use crate::tree::Tree;

impl Branch {
    /// Removes a name with all that is below it, in the directory of this number (`st_ino`), if
    /// that takes no step but for the name itself. Returns whether it did: it does nothing where
    /// the branch has changed something below, or a caller holds a node there, or a file has
    /// several names. `ENOENT` if there is no such name.
    ///
    /// It checks no rights. Cost: a look at each node, of which nothing is copied.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::Branches;
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # fs.mkdir_all("/build/lib", 0o755)?;
    /// # fs.file("/build/lib/a", 0o644)?;
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::new(base)?;
    /// let branch = branches.fork(None, "work")?;
    /// let work = Vfs::builder().build(branch.clone())?.context(Credentials::root());
    /// assert!(branch.remove_untouched(work.root().attributes()?.ino, b"build")?);
    /// assert!(work.stat("/build").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn remove_untouched(&self, directory: u64, name: &[u8]) -> Result<bool, Errno> {
        self.0.remove_untouched(directory, name)
    }
}

impl Inner {
    fn remove_untouched(&self, dir: u64, name: &[u8]) -> Result<bool, Errno> {
        let target = {
            let tree = &mut *self.lock();
            let Some(Found { target, base }) = self.find(tree, dir, name)? else { return Err(Errno::ENOENT) };
            let Some(base) = base.filter(|_| record(tree, target.number).is_none()) else { return Ok(false) };
            let of = base.attributes()?;
            if !has_one_name(&of) || of.device != self.shared.base.root().attributes()?.device {
                return Ok(false);
            }
            let Some(contents) = self.contents_of_base(tree, &base)? else { return Ok(false) };
            let stamp = self.shared.base.stamp(&base)?.with(contents);
            self.copy_up(tree, dir)?;
            let is_held = self.live.lock().is_held(target.number);
            if is_held {
                self.copy_up(tree, target.number)?;
            }
            let entry = Entry { target: None, hides: Some(Hidden { target, stamp }) };
            tree.insert(&self.shared.entry_key(dir, name), Row::Entry(entry));
            self.names_changed(tree, dir, (-1, -i64::from(target.kind == FileType::Directory)))?;
            if is_held {
                self.lose_name(tree, target.number)?;
            }
            target
        };
        self.report_removed(dir, name, target);
        Ok(true)
    }

    /// Returns the stamp of all that is below a directory of the base. `None` if a node there has
    /// rows, is held, has several names, or is on another device.
    fn contents_of_base(&self, tree: &Tree<Row>, top: &Handle) -> Result<Option<Stamp>, Errno> {
        let (base, mut stamp) = (&self.shared.base, Stamp::default());
        let mut open = Vec::from_iter((top.kind() == FileType::Directory).then(|| top.clone()));
        while let Some(dir) = open.pop() {
            let of = base.number(&dir, &dir.attributes()?)?;
            for listed in base.list(&dir)? {
                let Some(node) = base.lookup(&dir, &listed.name)? else { continue };
                // First, since what follows needs attributes, which are at hand then.
                let now = base.stamp(&node)?;
                let (number, attributes) = (self.number(tree, &node)?, node.attributes()?);
                let has_rows = || {
                    let removed = tree.get(&rows::of(number, Tag::Removed));
                    record(tree, number).is_some() || place(tree, number).is_some() || removed.is_some()
                };
                let is_alone = has_one_name(&attributes) && base.check_device(&attributes).is_ok();
                if !is_alone || has_rows() || self.is_held(number, node.node_id()) {
                    return Ok(None);
                }
                stamp = stamp.with(Stamp::of_name(of, &listed.name, number)).with(now);
                open.extend((node.kind() == FileType::Directory).then_some(node));
            }
        }
        Ok(Some(stamp))
    }

    /// Returns whether a node of the base is held, by its number or itself.
    fn is_held(&self, number: u64, base: NodeId) -> bool {
        let live = self.live.lock();
        live.is_held(number) || live.of_base(base).is_some()
    }

    /// Tells the caches of a name that went.
    fn report_removed(&self, dir: u64, name: &[u8], target: Target) {
        let key = |number: u64| NodeKey(number.into());
        if let Ok(name) = Name::new(name) {
            self.notify(|notifier| notifier.invalidate_name(key(dir), name));
        }
        self.notify(|notifier| notifier.invalidate_attributes(key(dir)));
        self.notify(|notifier| notifier.invalidate_attributes(key(target.number)));
    }
}

/// Returns whether a node goes with the name by which it was found.
pub(crate) fn has_one_name(of: &Attributes) -> bool {
    of.kind == FileType::Directory || of.nlink == 1
}
