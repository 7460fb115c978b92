//! The result of a lookup for reading.

use super::OpenFile;
use crate::node::Node;

/// A node that was looked up to be read or listed, and the open file if it was opened at once. The
/// result of [`FileSystem::lookup_to_read`](super::FileSystem::lookup_to_read).
///
/// ```
/// use pathwalk::{
///     Attributes, Directory, Errno, FileSystem, FileType, FoundToRead, Name, Node, NodeKey, OpenFile, OpenFor,
/// };
///
/// /// A file system that finds a file by a request, which returns the text, too.
/// struct Remote;
///
/// struct Text(Vec<u8>);
///
/// impl OpenFile for Text {
///     fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
///         let rest = self.0.get(offset as usize..).unwrap_or_default();
///         let length = rest.len().min(buffer.len());
///         buffer[..length].copy_from_slice(&rest[..length]);
///         Ok(length)
///     }
/// }
///
/// impl FileSystem for Remote {
///     fn lookup_to_read(&self, dir: &Directory<'_>, name: Name<'_>, _: Option<FileType>) -> Result<Option<FoundToRead>, Errno> {
///         let Some(node) = self.lookup(dir, name)? else { return Ok(None) };
///         Ok(Some(FoundToRead { node, file: Some(Box::new(Text(b"hello".to_vec()))) }))
///     }
///     // `root`, `lookup`, `attributes` and `open` as in the example of `FileSystem`.
/// #   fn root(&self) -> Result<Node, Errno> {
/// #       Ok(Node::new(NodeKey(0), Attributes::new(FileType::Directory, 0o755)))
/// #   }
/// #   fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
/// #       Ok(Some(Node::new(NodeKey(1), self.attributes(NodeKey(1))?)))
/// #   }
/// #   fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
/// #       Ok(Attributes::new(FileType::Regular, 0o444).with_size(5))
/// #   }
/// #   fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
/// #       panic!("it came with the lookup")
/// #   }
/// }
///
/// let context = pathwalk::Vfs::builder().build(Remote)?.context(pathwalk::Credentials::root());
/// assert_eq!(context.read_to_string("/greeting")?, "hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FoundToRead {
    /// The node, as by [`FileSystem::lookup`](super::FileSystem::lookup).
    pub node: Node,
    /// The node's open file, as by [`FileSystem::open`](super::FileSystem::open) for reading.
    /// `None`: the engine opens the node if it is to be opened.
    pub file: Option<Box<dyn OpenFile>>,
}

impl std::fmt::Debug for FoundToRead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FoundToRead").field("node", &self.node).field("is_open", &self.file.is_some()).finish()
    }
}
