//! Files that a commit onto the base may use up, so that it makes none.
//!
//! What always holds: nothing depends on a spare file: one that is not given, or that a crash has
//! lost, is made as any other.

use std::sync::Arc;

use pathwalk::{Attributes, Handle};

use crate::Branches;

/// Files outside the base that have what new files of a branch have.
///
/// ```
/// use pathwalk::{Attributes, Handle};
/// use pathwalk_branch::{Branches, Spares};
///
/// struct None;
///
/// impl Spares for None {
///     fn give(&self, _: u64, _: &Attributes, _: &Handle, _: &[u8]) -> bool {
///         false
///     }
/// }
///
/// /// Has later commits make all files.
/// fn use_none(branches: &Branches) {
///     branches.use_up(std::sync::Arc::new(None));
/// }
/// ```
pub trait Spares: Send + Sync {
    /// Gives a file a free name in a directory of the base, past its `Vfs`, and returns true: a
    /// regular file with the data of the node of this number (`st_ino`) in the branch, which has
    /// these attributes and neither lists, extended attributes nor flags, but for the number, the
    /// device, and the times of birth and of change. Else returns false, and changes nothing.
    fn give(&self, node: u64, attributes: &Attributes, directory: &Handle, name: &[u8]) -> bool;

    /// Removes the names that files had before they were given, if they still have these. It is
    /// called once the commit is sure to be made: if it ends before, the data that is shown of a
    /// held branch must still be there.
    fn leave(&self) {}
}

impl Branches {
    /// Lets commits onto the base use up these files in the place of copies. They may vanish at any
    /// time. The branch must not be changed meanwhile.
    ///
    /// [`Spares`] has an example.
    pub fn use_up(&self, spares: Arc<dyn Spares>) {
        *self.shared().spares.lock() = Some(spares);
    }
}
