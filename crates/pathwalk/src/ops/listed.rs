//! The nodes of the names that a directory lists, as a lookup of each would find them.
//!
//! A name on which nothing is mounted leads to the dentry that the listing pinned. Any other name
//! is walked to, as a path of one component: the walk asks the file system, waits for others that
//! do, crosses mounts, and keeps to the asker's rules.

use crate::Errno;
use crate::abi::AtFlags;
use crate::attr::Attributes;
use crate::cache::Pinned;
use crate::cache::dcache::dentry::flags;
use crate::mount::PinnedPlace;
use crate::text::Name;
use crate::walk::asker::{Asker, Begin};
use crate::walk::{Env, Whose};

use super::healed::Way;
use super::lookup::pinned_at;

/// A directory whose names are looked up.
pub(crate) struct OfDirectory<'a> {
    asker: &'a Asker,
    env: Env<'a>,
    begin: Begin,
    dir: PinnedPlace<'a>,
}

impl<'a> OfDirectory<'a> {
    /// Goes to a directory that the asker may search, by the asker's rules.
    pub(crate) fn searchable(asker: &'a Asker, begin: Begin) -> Result<OfDirectory<'a>, Errno> {
        let env = Env::of(asker, Whose::Effective, begin);
        Ok(OfDirectory { asker, env, begin, dir: pinned_at(&env, begin, b".", AtFlags::SYMLINK_NOFOLLOW)? })
    }

    /// Returns the node of a name in the directory, and its attributes. `entry` is the dentry that
    /// a listing found under that name. On `ESTALE`, the name is asked for again, once.
    pub(crate) fn look_up(&self, name: &'a [u8], entry: Option<Pinned<'a>>) -> Result<(PinnedPlace<'a>, Attributes), Errno> {
        // What a file system lists is not trusted to be one component.
        let name = Name::new(name)?.bytes();
        match self.attempt(name, entry) {
            Err(Errno::ESTALE) => {
                Way::to_name(self.begin, name).revalidate(self.asker);
                self.attempt(name, None)
            }
            answer => answer,
        }
    }

    fn attempt(&self, name: &'a [u8], entry: Option<Pinned<'a>>) -> Result<(PinnedPlace<'a>, Attributes), Errno> {
        let word = |of: &Pinned<'_>| self.env.caches().dentries.word(of.id());
        if let Some(entry) = entry.filter(|entry| word(entry) & flags::MOUNTED == 0) {
            let found = self.with_attributes(self.dir.with(entry))?;
            if !self.was_removed(&found.0) {
                return Ok(found);
            }
        }
        let found = self.walk_to(name)?;
        if self.was_removed(&found.0) { self.walk_to(name) } else { Ok(found) }
    }

    /// Returns the directory above, and its attributes.
    pub(crate) fn above(&self) -> Result<(PinnedPlace<'a>, Attributes), Errno> {
        self.walk_to(b"..")
    }

    /// Returns the directory itself, and its attributes.
    pub(crate) fn itself(&self) -> Result<(PinnedPlace<'a>, Attributes), Errno> {
        self.with_attributes(self.dir.clone())
    }

    fn walk_to(&self, name: &'a [u8]) -> Result<(PinnedPlace<'a>, Attributes), Errno> {
        self.with_attributes(pinned_at(&self.env, self.begin, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    fn with_attributes(&self, place: PinnedPlace<'a>) -> Result<(PinnedPlace<'a>, Attributes), Errno> {
        let attributes = self.env.trees().stat(self.env.caches().dentries.inode(place.id()))?;
        let shown = self.env.world.mounts.shown(place.mount.id(), attributes);
        Ok((place, shown))
    }

    /// Returns whether the name was removed, perhaps before the attributes were read: then it may
    /// never have led to a node with these attributes.
    fn was_removed(&self, place: &PinnedPlace<'_>) -> bool {
        self.env.caches().dentries.word(place.id()) & flags::UNHASHED != 0
    }
}
