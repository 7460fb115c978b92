//! The numbers of nodes, and the arithmetic of keys and inode numbers.
//!
//! A key is three numbers of 32 bits, each one more than the number in the name. 0 means that the
//! node is not that deep. Inode numbers are dense: 1 is the root, then comes each directory before
//! its contents.

use pathwalk::{Attributes, FileType, Node, NodeKey};

/// The numbers of directories and files.
///
/// ```
/// use pathwalk_synthfs::{Place, Shape};
/// let shape = Shape::new(2, 10, 100)?;
/// assert_eq!((shape.threads(), shape.directories_each(), shape.files_each()), (2, 10, 100));
/// assert_eq!((shape.files(), shape.nodes()), (2000, 1 + 2 + 20 + 2000));
/// let file = Place::File(1, 9, 99); // /t1/d9/f99
/// assert_eq!(shape.place(file.key()), Some(file));
/// assert_ne!(shape.inode_number(file), shape.inode_number(Place::Root));
/// assert!(Shape::new(u32::MAX, u32::MAX, u32::MAX).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    pub(crate) threads: u32,
    pub(crate) directories: u32,
    pub(crate) files: u32,
    /// The number of nodes in each directory of a thread, including the directory itself.
    in_directory: u64,
    /// The number of nodes in the directory of a thread, including that directory itself.
    in_thread: u64,
}

/// The error of a tree with more nodes than there are inode numbers: 2⁶⁴.
///
/// [`Shape`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{threads} × {directories} × {files} files are more than inode numbers of 64 bits can tell apart: choose fewer")]
pub struct TooManyNodes {
    threads: u32,
    directories: u32,
    files: u32,
}

/// A node of the tree, by its numbers, which count from 0.
///
/// [`Shape`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Place {
    /// The root.
    Root,
    /// A thread's directory: `/t7`.
    Thread(u32),
    /// A directory in it: thread, directory, as in `/t7/d12`.
    Directory(u32, u32),
    /// A file: thread, directory, file, as in `/t7/d12/f345`.
    File(u32, u32, u32),
}

impl Shape {
    /// Creates a shape with this number of threads' directories, of directories in each of them,
    /// and of files in each of those. Each may be 0 to 2³²−1.
    ///
    /// Fails with [`TooManyNodes`] where 64 bits are not enough to number all nodes.
    pub fn new(threads: u32, directories: u32, files: u32) -> Result<Shape, TooManyNodes> {
        let in_directory = u64::from(files) + 1;
        let in_thread = u64::from(directories).checked_mul(in_directory).and_then(|below| below.checked_add(1));
        // The root is one more node.
        let countable = |in_thread: &u64| u64::from(threads).checked_mul(*in_thread).is_some_and(|below| below < u64::MAX);
        match in_thread.filter(countable) {
            Some(in_thread) => Ok(Shape { threads, directories, files, in_directory, in_thread }),
            None => Err(TooManyNodes { threads, directories, files }),
        }
    }

    /// Returns the number of threads' directories.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Returns the number of directories in each thread's directory.
    pub fn directories_each(&self) -> u32 {
        self.directories
    }

    /// Returns the number of files in each directory.
    pub fn files_each(&self) -> u32 {
        self.files
    }

    /// Returns the number of files in the whole tree.
    pub fn files(&self) -> u64 {
        u64::from(self.threads) * u64::from(self.directories) * u64::from(self.files)
    }

    /// Returns the number of nodes in the whole tree: files, directories and the root.
    pub fn nodes(&self) -> u64 {
        1 + u64::from(self.threads) * self.in_thread
    }

    /// Returns the inode number of a node: 1 to [`nodes`](Self::nodes), each once. For a place that
    /// is not in the tree, the number has no meaning.
    #[inline]
    pub fn inode_number(&self, place: Place) -> u64 {
        let thread = |thread| 2 + u64::from(thread) * self.in_thread;
        let directory = |of, directory| thread(of) + 1 + u64::from(directory) * self.in_directory;
        match place {
            Place::Root => 1,
            Place::Thread(number) => thread(number),
            Place::Directory(of, number) => directory(of, number),
            Place::File(of, dir, file) => directory(of, dir) + 1 + u64::from(file),
        }
    }

    /// Returns the node of a place.
    pub(crate) fn node(&self, place: Place) -> Node {
        Node::new(place.key(), self.attributes(place))
    }

    /// Returns the attributes of a place.
    #[inline]
    pub(crate) fn attributes(&self, place: Place) -> Attributes {
        // A directory has a link from above, one from itself, and one from each directory in it.
        let (kind, mode, nlink) = match place {
            Place::Root => (FileType::Directory, 0o755, self.threads.saturating_add(2)),
            Place::Thread(_) => (FileType::Directory, 0o755, self.directories.saturating_add(2)),
            Place::Directory(..) => (FileType::Directory, 0o755, 2),
            Place::File(..) => (FileType::Regular, 0o644, 1),
        };
        Attributes::new(kind, mode).with_nlink(nlink).with_ino(self.inode_number(place))
    }

    /// Returns the place of a key, if it is in the tree.
    #[inline]
    pub fn place(&self, key: NodeKey) -> Option<Place> {
        let [thread, directory, file] = [64, 32, 0].map(|shift| (key.0 >> shift) as u32);
        let place = match (thread, directory, file) {
            (0, 0, 0) => Place::Root,
            (1.., 0, 0) => Place::Thread(thread - 1),
            (1.., 1.., 0) => Place::Directory(thread - 1, directory - 1),
            (1.., 1.., 1..) => Place::File(thread - 1, directory - 1, file - 1),
            _ => return None,
        };
        let is_there = thread <= self.threads && directory <= self.directories && file <= self.files && key.0 >> 96 == 0;
        is_there.then_some(place)
    }
}

impl Place {
    /// Returns the key of the place.
    ///
    /// [`Shape`] has an example.
    #[inline]
    pub fn key(self) -> NodeKey {
        let (thread, directory, file) = match self {
            Place::Root => (0, 0, 0),
            Place::Thread(thread) => (from_1(thread), 0, 0),
            Place::Directory(thread, directory) => (from_1(thread), from_1(directory), 0),
            Place::File(thread, directory, file) => (from_1(thread), from_1(directory), from_1(file)),
        };
        NodeKey(thread << 64 | directory << 32 | file)
    }
}

/// Returns the number counted from 1, so that 0 can stand for "none".
fn from_1(number: u32) -> u128 {
    u128::from(number) + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_numbered_is_refused() {
        let most = u32::MAX;
        let error = Shape::new(most, most, most).unwrap_err().to_string();
        assert!(error.contains("4294967295 × 4294967295 × 4294967295"), "{error}");
        assert!(Shape::new(2, most, most).is_err());
        let shape = Shape::new(1, most, most - 1).unwrap();
        assert_eq!(shape.inode_number(Place::File(0, most - 1, most - 2)), shape.nodes());
        assert_eq!(shape.nodes(), 2 + u64::from(most) * u64::from(most));
        let shape = Shape::new(most, 1, most - 1).unwrap();
        assert_eq!(shape.inode_number(Place::File(most - 1, 0, most - 2)), shape.nodes());
    }

    #[test]
    fn keys_that_nobody_handed_out_are_nowhere() {
        let shape = Shape::new(2, 3, 4).unwrap();
        for key in [1, 4 << 32, 1 << 64 | 1, 3 << 64, 1 << 64 | 4 << 32, 1 << 64 | 1 << 32 | 5, 1 << 96, u128::MAX] {
            assert_eq!(shape.place(NodeKey(key)), None, "{key:x}");
        }
    }
}
