//! File handles: a node's number and generation, so that the next node of a number has another
//! handle.
//!
//! A handle comes from anywhere, so the slot that it leads to may be freed and filled at any
//! moment: the generation is checked once more after the node is held.

use std::ops::ControlFlow;

use pathwalk::{Errno, FileHandle, FileType, FoundName, NodeKey};

use super::{Held, Store};

/// The kind of the handles. Source: `FILEID_INO32_GEN`, the only kind of a tmpfs.
const KIND: i32 = 1;

impl Store {
    /// Returns the handle of a node: its number and generation, 8 bytes each.
    pub(crate) fn encode_handle(&self, node: NodeKey) -> Result<FileHandle, Errno> {
        self.inode(node)?;
        FileHandle::new(KIND, &node.0.to_be_bytes())
    }

    /// Returns the generation of a file or directory: `ENOTTY` for other nodes, which no call
    /// reaches.
    pub(crate) fn generation(&self, node: NodeKey) -> Result<u32, Errno> {
        let inode = self.inode(node)?;
        let has_one = matches!(inode.kind(), FileType::Regular | FileType::Directory);
        // The node's key, which was just checked, has it.
        if has_one { Ok(inode.key().generation as u32) } else { Err(Errno::ENOTTY) }
    }

    /// Returns the node of a handle; `ESTALE` if it is gone.
    pub(crate) fn decode_handle(&self, handle: &FileHandle) -> Result<Held<'_>, Errno> {
        let bytes: [u8; 16] = handle.bytes().try_into().map_err(|_| Errno::ESTALE)?;
        if handle.kind() != KIND {
            return Err(Errno::ESTALE);
        }
        self.hold_any(NodeKey(u128::from_be_bytes(bytes)))
    }

    /// Returns the directory that a node came to last, and its name there: `ESTALE` if it has none
    /// there, as a file that was linked elsewhere since, and for the root.
    pub(crate) fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
        // While this is held, no directory changes its parent, and no file its directory.
        let _tree = self.tree.lock();
        let inode = self.inode(node)?;
        let parent = self.table.linked(inode.parent()).map_err(|_| Errno::ESTALE)?;
        let dir = self.hold_any(parent.key().into())?;
        let mut name = None;
        dir.inode.names().map_err(|_| Errno::ESTALE)?.list(0, &mut |entry| {
            if entry.key != node {
                return ControlFlow::Continue(());
            }
            name = Some(entry.name.into());
            ControlFlow::Break(())
        });
        let name = name.ok_or(Errno::ESTALE)?;
        Ok(FoundName { dir: dir.into_node(), name })
    }

    /// Holds a node, about which the caller knows nothing: `ESTALE` if it is gone.
    fn hold_any(&self, key: NodeKey) -> Result<Held<'_>, Errno> {
        let held = self.held(self.inode(key)?)?;
        self.inode(key).map(|_| held)
    }
}
