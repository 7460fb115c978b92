//! How trees are attached: mounts, and the places that are seen through them.
//!
//! - [`place`]: a mount and a dentry; [`pinned`]: pins on both;
//! - [`switches`]: what a mount, and its superblock, forbid;
//! - [`records`]: what walks read of mounts, without a lock; [`view`]: the same within the loop of
//!   a walk;
//! - [`some`]: what any of them may ask, in one word;
//! - [`id_maps`]: by which ids owners are shown; [`mapped`]: through which mount;
//! - [`holders`]: pins on them, and writers; [`changing`]: how they are written;
//! - [`tree`]: what is mounted where, in which namespace, and what follows what, under one lock;
//! - [`ground`]: what the tree stands on, and its changes;
//! - [`climb`]: the way up from a place, through the mounts above;
//! - [`path`]: the names on that way;
//! - [`world`]: all parts of a `Vfs`.

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
pub(crate) use world::{HardlinkProtection, SymlinkProtection, World};
