//! The interface of file systems: what one implements, and what it may promise.
//!
//! Start at [`FileSystem`]: its page is all that is needed to write one.
//!
//! - [`FileSystem`] answers about nodes: names in a directory, attributes, link bodies, permission,
//!   changes.
//! - [`Node`](crate::Node) is such an answer: a 128-bit key, attributes and promises.
//! - [`OpenFile`] is a node that was opened: data and listings.
//! - [`Locks`] are for a file system whose locks others see too.
//! - [`Name`](crate::Name) is one validated component; [`Directory`] is the directory in which it
//!   is looked up.
//! - [`Notifier`] is for a file system that changes without the engine.
//! - [`FileHandle`] names a node without a path.
//! - [`XattrName`] is the validated name of an extended attribute.

mod access;
mod by_pointer;
mod directory;
mod file_system;
mod found_to_read;
mod handles;
mod listing;
mod locks;
mod notifier;
mod open_file;
mod siblings;
mod xattr;

pub use access::{AccessTimes, Accessed};
pub use directory::Directory;
pub use file_system::FileSystem;
pub use found_to_read::FoundToRead;
pub use handles::{FileHandle, FoundName, HandleFor};
pub use listing::EntrySink;
pub(crate) use listing::TakesEntries;
pub use locks::Locks;
pub use notifier::Notifier;
pub(crate) use notifier::{Relay, Report, Reporter};
pub use open_file::{Entry, FIRST_COOKIE, Leases, OpenFile, OpenFor, Seeking, SpecialFiles, StatFs, SyncWhat, WriteAt, Written};
pub use siblings::Siblings;
pub(crate) use siblings::TakesSiblings;
pub use xattr::{XattrList, XattrName, XattrNamespace, copy_xattr};
