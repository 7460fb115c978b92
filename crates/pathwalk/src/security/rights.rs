//! The rights that a security hook is asked for.

use bitflags::bitflags;

use crate::attr::FileType;

bitflags! {
    /// Rights to a file, or to change the names in a directory. The bits are those of
    /// `LANDLOCK_ACCESS_FS_*`. Source: `landlock(7)`.
    ///
    /// [`Landlock`](crate::landlock::Landlock) has an example.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
    pub struct Rights: u16 {
        /// To execute a file, together with `READ_FILE`:
        /// [`Context::may_execute`](crate::Context::may_execute).
        const EXECUTE = 1 << 0;
        /// To open a file for writing.
        const WRITE_FILE = 1 << 1;
        /// To open a file for reading.
        const READ_FILE = 1 << 2;
        /// To open a directory in order to list it.
        const READ_DIR = 1 << 3;
        /// To remove a directory's name, or to rename the directory.
        const REMOVE_DIR = 1 << 4;
        /// To remove another node's name, or to rename the node.
        const REMOVE_FILE = 1 << 5;
        /// To make a character device, or to rename or link one.
        const MAKE_CHAR = 1 << 6;
        /// To make a directory, or to rename one.
        const MAKE_DIR = 1 << 7;
        /// To make a regular file, or to rename or link one.
        const MAKE_REG = 1 << 8;
        /// To make a socket, or to rename or link one.
        const MAKE_SOCK = 1 << 9;
        /// To make a named pipe, or to rename or link one.
        const MAKE_FIFO = 1 << 10;
        /// To make a block device, or to rename or link one.
        const MAKE_BLOCK = 1 << 11;
        /// To make a symbolic link, or to rename or link one.
        const MAKE_SYM = 1 << 12;
        /// To link or move a node to another directory.
        const REFER = 1 << 13;
        /// To change the size of a file.
        const TRUNCATE = 1 << 14;
    }
}

impl Rights {
    /// The rights that a node other than a directory may have; the others belong to directories.
    ///
    /// [`to_make`](Self::to_make) has an example.
    pub const OF_FILES: Rights = Rights::EXECUTE.union(Rights::WRITE_FILE).union(Rights::READ_FILE).union(Rights::TRUNCATE);

    /// Returns the right that it takes in a directory to make a node of this type there.
    ///
    /// ```
    /// use pathwalk::{FileType, security::Rights};
    /// assert_eq!(Rights::to_make(FileType::Fifo), Rights::MAKE_FIFO);
    /// assert_eq!(Rights::to_remove(FileType::Fifo), Rights::REMOVE_FILE);
    /// assert!(Rights::OF_FILES.contains(Rights::READ_FILE) && !Rights::OF_FILES.contains(Rights::MAKE_FIFO));
    /// ```
    pub const fn to_make(kind: FileType) -> Rights {
        match kind {
            FileType::Regular => Rights::MAKE_REG,
            FileType::Directory => Rights::MAKE_DIR,
            FileType::Symlink => Rights::MAKE_SYM,
            FileType::Fifo => Rights::MAKE_FIFO,
            FileType::Socket => Rights::MAKE_SOCK,
            FileType::CharDevice => Rights::MAKE_CHAR,
            FileType::BlockDevice => Rights::MAKE_BLOCK,
        }
    }

    /// Returns the right that it takes in a directory to remove the name of a node of this type.
    ///
    /// [`to_make`](Self::to_make) has an example.
    pub const fn to_remove(kind: FileType) -> Rights {
        match kind {
            FileType::Directory => Rights::REMOVE_DIR,
            _ => Rights::REMOVE_FILE,
        }
    }
}
