//! Extended attributes, of any namespace but `system.`, as a tmpfs keeps them.

use pathwalk::{Errno, XattrFlags, XattrName};

use super::{Inner, record};
use crate::rows::{self, Row, Tag};

/// The number of bytes of a key before the name of an attribute.
const BEFORE_NAME: usize = 9;

impl Inner {
    /// Returns the value of an attribute; `None` if the node does not have it.
    pub(crate) fn xattr(&self, number: u64, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        let tree = self.tree.read();
        if record(&tree, number).is_some() {
            return Ok(match tree.get(&rows::xattr(number, name.bytes())) {
                Some(Row::Xattr(value)) => Some(value[..].into()),
                _ => None,
            });
        }
        Ok(self.shared.base.xattr(&self.base_of(number)?, name.bytes())?.map(Into::into))
    }

    /// Passes the names of all attributes to `each`: those of the tree by their names, backwards.
    pub(crate) fn xattr_names(&self, number: u64, each: &mut dyn FnMut(&[u8])) -> Result<(), Errno> {
        let names: Vec<Vec<u8>> = {
            let tree = self.tree.read();
            if record(&tree, number).is_some() {
                let prefix = rows::of(number, Tag::Xattr);
                let mut names: Vec<_> = tree.with_prefix(&prefix).map(|(key, _)| key[BEFORE_NAME..].to_vec()).collect();
                names.reverse();
                names
            } else {
                self.shared.base.xattr_names(&self.base_of(number)?)?
            }
        };
        names.iter().for_each(|name| each(name));
        Ok(())
    }

    /// Sets an attribute: `EEXIST`, `ENODATA`.
    pub(crate) fn set_xattr(&self, number: u64, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        let tree = &mut *self.lock();
        self.copy_up(tree, number)?;
        let key = rows::xattr(number, name.bytes());
        match tree.get(&key).is_some() {
            true if flags.contains(XattrFlags::CREATE) => return Err(Errno::EEXIST),
            false if flags.contains(XattrFlags::REPLACE) => return Err(Errno::ENODATA),
            _ => {}
        }
        tree.insert(&key, Row::Xattr(value.into()));
        let now = self.shared.now();
        self.copy_up(tree, number).map(|record| record.touch_ctime(now))
    }

    /// Removes an attribute: `ENODATA`.
    pub(crate) fn remove_xattr(&self, number: u64, name: XattrName<'_>) -> Result<(), Errno> {
        let tree = &mut *self.lock();
        self.copy_up(tree, number)?;
        tree.remove(&rows::xattr(number, name.bytes())).ok_or(Errno::ENODATA)?;
        let now = self.shared.now();
        self.copy_up(tree, number).map(|record| record.touch_ctime(now))
    }
}
