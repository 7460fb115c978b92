//! The times of accesses: which side keeps them.

/// The side that keeps the times of accesses to the nodes of a file system.
///
/// [`FileSystem::access_times`](crate::FileSystem::access_times) is where a file system says it, and
/// has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum AccessTimes {
    /// The file system: it stores them itself where data is read, or keeps none. The engine never
    /// asks it to, whatever the flags of a mount say.
    #[default]
    OfFileSystem,
    /// The engine: it decides by the flags of the mount, as Linux does, and has a time stored by
    /// [`FileSystem::accessed`](crate::FileSystem::accessed).
    OfEngine,
}

/// The result of an access that was reported to a file system.
///
/// [`FileSystem::access_times`](crate::FileSystem::access_times) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accessed {
    /// The time is stored.
    Stored,
    /// The node keeps no time of access, as with
    /// [`InodeFlags::NOATIME`](crate::InodeFlags::NOATIME).
    NotKept,
}
