//! Mounts, and the places that are seen through them.
//!
//! - [`place`]: a mount and a dentry; [`pinned`]: pins on both;
//! - [`switches`]: what a mount, and its superblock, forbid;
//! - [`records`]: what walks read of mounts, without a lock; [`view`]: the same within the loop of
//!   a walk;
//! - [`some`]: what any mount may require, in one word;
//! - [`id_maps`]: the ids by which owners are shown; [`mapped`]: the mounts that show them;
//! - [`access`]: the times of accesses that mounts have stored;
//! - [`holders`]: pins on mounts, and writers; [`changing`]: writes to records;
//! - [`tree`]: what is mounted where, in which namespace, and how mounts propagate, under one lock;
//! - [`ground`]: what the tree stands on, and changes of the tree;
//! - [`climb`]: the way up from a place, through the mounts above;
//! - [`path`]: the names on that way;
//! - [`world`]: all parts of a `Vfs`.

mod access;
mod changing;
mod climb;
mod ground;
mod holders;
mod id_maps;
mod mapped;
mod path;
mod pinned;
mod place;
mod records;
mod some;
mod switches;
mod tree;
mod view;
mod world;

pub(crate) use pinned::{MountPin, MountWriter, PinnedPlace};
pub(crate) use place::Place;
pub(crate) use records::{Cover, MountRecords, Standing};
pub(crate) use switches::Switches;
pub(crate) use tree::{Attributes, Caller, NamespaceId, Setting, TreeInfo};
pub(crate) use view::MountsView;
pub(crate) use world::{HardlinkProtection, Policy, SymlinkProtection, World};
