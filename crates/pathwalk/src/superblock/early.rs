//! The open file that a lookup may bring along, where the last name of a path is opened for reading
//! and is not cached.
//!
//! What always holds: the file is used for the node with which it came, and for no other. The right
//! to open it is checked first.
//!
//! What it does not do: open for writing. That has effects that a caller without the right to write
//! must not cause.

use crate::attr::FileType;
use crate::fs_api::OpenFile;
use crate::memory::slot::SuperblockId;
use crate::node::NodeKey;

/// What an open for reading tells a lookup, and what it gets from it.
#[derive(Default)]
pub(crate) struct Early {
    /// The type that the open insists on.
    pub(crate) expected: Option<FileType>,
    file: Option<(SuperblockId, NodeKey, Box<dyn OpenFile>)>,
}

impl Early {
    /// Creates one for an open that insists on this type.
    pub(crate) fn expecting(expected: Option<FileType>) -> Early {
        Early { expected, file: None }
    }

    /// Takes the open file of a node.
    pub(super) fn bring(&mut self, superblock: SuperblockId, node: NodeKey, file: Option<Box<dyn OpenFile>>) {
        self.file = file.map(|file| (superblock, node, file));
    }

    /// Returns the open file, if it is that of this node.
    pub(crate) fn file_of(self, superblock: SuperblockId, node: NodeKey) -> Option<Box<dyn OpenFile>> {
        let (of, key, file) = self.file?;
        ((of, key) == (superblock, node)).then_some(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl OpenFile for Nothing {}

    #[test]
    fn a_file_is_that_of_one_node() {
        let brought = || {
            let mut early = Early::default();
            early.bring(SuperblockId(3), NodeKey(7), Some(Box::new(Nothing)));
            early
        };
        assert!(brought().file_of(SuperblockId(3), NodeKey(7)).is_some());
        assert!(brought().file_of(SuperblockId(3), NodeKey(8)).is_none());
        assert!(brought().file_of(SuperblockId(4), NodeKey(7)).is_none());
        let mut again = brought();
        again.bring(SuperblockId(3), NodeKey(7), None);
        assert!(again.file_of(SuperblockId(3), NodeKey(7)).is_none());
    }
}
