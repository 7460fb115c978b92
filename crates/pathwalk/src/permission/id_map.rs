//! Id maps: the translation between the ids that a file system stores and the ids under which a
//! mount shows the owners of its nodes.
//!
//! A map has extents of user ids and extents of group ids. An extent maps the ids *inside*, which
//! the file system stores, to the ids *outside*, by which users are known.
//!
//! What always holds: extents of one kind overlap neither inside nor outside. So a map is
//! one-to-one: two ids are equal on one side exactly if they are equal on the other. [`NO_ID`] is
//! in no extent.
//!
//! What it does not do: it has no user namespace. A map is a value, made from the same lines.
//!
//! Source: `user_namespaces(7)`, `mount_setattr(2)`, and `idmappings.rst` of Linux.

use std::sync::Arc;

use crate::Errno;
use crate::attr::Attributes;

/// The number that is no user's and no group's id, and that no node can belong to: `(uid_t) -1`,
/// with which `chown(2)` leaves an owner unchanged.
///
/// [`IdExtent`] has an example.
pub const NO_ID: u32 = u32::MAX;

/// The id that is shown in place of an unmapped one. Linux: `overflowuid`, `overflowgid`.
///
/// [`IdExtent`] has an example.
pub const OVERFLOW_ID: u32 = 65534;

/// A range of ids that is mapped to another one of the same length: a line of `/proc/PID/uid_map`.
///
/// ```
/// use pathwalk::permission::{NO_ID, OVERFLOW_ID};
/// use pathwalk::{Credentials, Errno, IdExtent, IdMap, MountAttributes, MountFlags, Recursion, Vfs};
/// use pathwalk_memfs::MemFs;
/// # let context = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
/// // What a container stores as users 0 to 999 is shown as 100,000 to 100,999.
/// let extents = [IdExtent { inside: 0, outside: 100_000, length: 1000 }];
/// let map = IdMap::new(&extents, &extents)?;
/// assert_eq!((map.uids(), map.gids()), (&extents[..], &extents[..]));
/// assert_eq!((map.seen_gid(5), map.stored_gid(100_005)), (Some(100_005), Some(5)));
/// assert!(extents.len() <= IdMap::MOST_EXTENTS);
///
/// let fs = MemFs::new();
/// fs.file("/mapped", 0o644)?;
/// fs.file("/unmapped", 0o644)?;
/// fs.chown("/unmapped", 1000, 0)?;
/// let tree = context.new_tree(fs, MountFlags::empty())?;
/// context.mkdir("/mnt", 0o755)?;
/// let attributes = MountAttributes::default().with_id_map(map);
/// let empty = pathwalk::AtFlags::EMPTY_PATH;
/// context.mount_setattr_at(tree.handle(), "", empty, &attributes, Recursion::Alone)?;
/// context.move_mount_at(tree.handle(), "", pathwalk::At::Cwd, "/mnt", pathwalk::MoveFlags::FROM_EMPTY_PATH)?;
/// assert_eq!(context.stat("/mnt/mapped")?.uid, 100_000);
/// assert_eq!(context.stat("/mnt/unmapped")?.uid, OVERFLOW_ID);
///
/// assert_eq!(context.chown("/mnt/mapped", Some(NO_ID), None), Err(Errno::EINVAL));
/// assert_eq!(IdMap::new(&[], &extents).unwrap_err().errno(), Errno::EINVAL);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct IdExtent {
    /// The first id inside, as the file system stores it.
    pub inside: u32,
    /// The first id outside, as users see it.
    pub outside: u32,
    /// The number of ids.
    pub length: u32,
}

/// The map between the ids of a file system and those of its users, seen through a mount. Cheap to
/// clone. Set by [`Context::mount_setattr`](crate::Context::mount_setattr).
///
/// ```
/// use pathwalk::{IdExtent, IdMap};
/// let uids = [IdExtent { inside: 0, outside: 100_000, length: 65_536 }];
/// let map = IdMap::new(&uids, &uids)?;
/// assert_eq!(map.seen_uid(1_000), Some(101_000));
/// assert_eq!(map.stored_uid(101_000), Some(1_000));
/// assert_eq!(map.stored_uid(1_000), None);
/// # Ok::<(), pathwalk::IdMapError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct IdMap(Arc<Maps>);

#[derive(PartialEq, Eq, Hash, Debug)]
struct Maps {
    uids: Extents,
    gids: Extents,
}

/// The extents of one kind of ids.
#[derive(PartialEq, Eq, Hash, Debug)]
struct Extents {
    by_inside: Box<[IdExtent]>,
    by_outside: Box<[IdExtent]>,
}

impl IdMap {
    /// The maximum number of extents of one kind. Linux: `UID_GID_MAP_MAX_EXTENTS`.
    ///
    /// [`IdExtent`] has an example.
    pub const MOST_EXTENTS: usize = 340;

    /// Creates a map from these extents, in any order. Returns an error if one kind has no extents,
    /// has too many, or has some that overlap, are empty or go beyond the greatest id. Cost:
    /// sorting.
    pub fn new(uids: &[IdExtent], gids: &[IdExtent]) -> Result<IdMap, IdMapError> {
        let error = |of| move |why| IdMapError { of, why };
        let uids = Extents::new(uids).map_err(error("user"))?;
        let gids = Extents::new(gids).map_err(error("group"))?;
        Ok(IdMap(Arc::new(Maps { uids, gids })))
    }

    /// Returns the extents of user ids, sorted by the ids inside.
    pub fn uids(&self) -> &[IdExtent] {
        &self.0.uids.by_inside
    }

    /// Returns the extents of group ids, sorted by the ids inside.
    ///
    /// [`IdExtent`] has an example.
    pub fn gids(&self) -> &[IdExtent] {
        &self.0.gids.by_inside
    }

    /// Returns the user as which a stored owner is seen; `None` if it is unmapped. Cost: a binary
    /// search.
    pub fn seen_uid(&self, stored: u32) -> Option<u32> {
        self.0.uids.seen(stored)
    }

    /// Returns the group as which a stored group is seen; `None` if it is unmapped.
    ///
    /// [`IdExtent`] has an example.
    pub fn seen_gid(&self, stored: u32) -> Option<u32> {
        self.0.gids.seen(stored)
    }

    /// Returns the owner that is stored for a user; `None` if it is unmapped.
    pub fn stored_uid(&self, seen: u32) -> Option<u32> {
        self.0.uids.stored(seen)
    }

    /// Returns the group that is stored for a group; `None` if it is unmapped.
    ///
    /// [`IdExtent`] has an example.
    pub fn stored_gid(&self, seen: u32) -> Option<u32> {
        self.0.gids.stored(seen)
    }

    /// Returns attributes as they are seen through the map.
    pub(crate) fn shown(&self, of: Attributes) -> Attributes {
        let (uid, gid) = (self.seen_uid(of.uid), self.seen_gid(of.gid));
        Attributes { uid: uid.unwrap_or(OVERFLOW_ID), gid: gid.unwrap_or(OVERFLOW_ID), ..of }
    }
}

impl Extents {
    fn new(extents: &[IdExtent]) -> Result<Extents, Fault> {
        if extents.is_empty() {
            return Err(Fault::NoExtents);
        }
        if extents.len() > IdMap::MOST_EXTENTS {
            return Err(Fault::TooManyExtents(extents.len()));
        }
        let beyond = |extent: &&IdExtent| extent.inside.max(extent.outside).checked_add(extent.length).is_none();
        if let Some(empty) = extents.iter().find(|extent| extent.length == 0) {
            return Err(Fault::EmptyExtent(*empty));
        }
        if let Some(beyond) = extents.iter().find(beyond) {
            return Err(Fault::BeyondGreatest(*beyond));
        }
        let by_inside = sorted(extents, |extent| extent.inside)?;
        let by_outside = sorted(extents, |extent| extent.outside)?;
        Ok(Extents { by_inside, by_outside })
    }

    fn seen(&self, stored: u32) -> Option<u32> {
        let (extent, at) = find(&self.by_inside, stored, |extent| extent.inside)?;
        Some(extent.outside + at)
    }

    fn stored(&self, seen: u32) -> Option<u32> {
        let (extent, at) = find(&self.by_outside, seen, |extent| extent.outside)?;
        Some(extent.inside + at)
    }
}

/// Returns the extents sorted by one side, on which they must not overlap.
fn sorted(extents: &[IdExtent], first: fn(&IdExtent) -> u32) -> Result<Box<[IdExtent]>, Fault> {
    let mut sorted: Box<[IdExtent]> = extents.into();
    sorted.sort_unstable_by_key(first);
    let overlap = sorted.windows(2).find(|pair| first(&pair[0]) + pair[0].length > first(&pair[1]));
    if let Some(pair) = overlap {
        return Err(Fault::Overlap(pair[0], pair[1]));
    }
    Ok(sorted)
}

/// Returns the extent that contains an id on the side by which the extents are sorted, and the id's
/// offset in it.
fn find(sorted: &[IdExtent], id: u32, first: fn(&IdExtent) -> u32) -> Option<(IdExtent, u32)> {
    let behind = sorted.partition_point(|extent| first(extent) <= id);
    let extent = *sorted.get(behind.checked_sub(1)?)?;
    let at = id - first(&extent);
    (at < extent.length).then_some((extent, at))
}

/// The reason why extents are no id map: `EINVAL`.
///
/// [`IdExtent`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdMapError {
    of: &'static str,
    why: Fault,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fault {
    NoExtents,
    TooManyExtents(usize),
    EmptyExtent(IdExtent),
    BeyondGreatest(IdExtent),
    Overlap(IdExtent, IdExtent),
}

impl IdMapError {
    /// Returns the error number: `EINVAL`.
    ///
    /// [`IdExtent`] has an example.
    pub fn errno(&self) -> Errno {
        Errno::EINVAL
    }
}

impl From<IdMapError> for Errno {
    fn from(error: IdMapError) -> Errno {
        error.errno()
    }
}

impl std::fmt::Display for IdExtent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{} {} {}\"", self.inside, self.outside, self.length)
    }
}

impl std::fmt::Display for IdMapError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let most = IdMap::MOST_EXTENTS;
        write!(f, "making a map of {} ids: ", self.of)?;
        match self.why {
            Fault::NoExtents => write!(f, "there is no extent: give one at least"),
            Fault::TooManyExtents(count) => write!(f, "{count} extents are too many: give {most} at most"),
            Fault::EmptyExtent(extent) => write!(f, "extent {extent} has no ids: give it a length"),
            Fault::BeyondGreatest(extent) => {
                write!(f, "extent {extent} goes beyond the greatest id, {}: shorten it", NO_ID - 1)
            }
            Fault::Overlap(one, other) => {
                write!(f, "extents {one} and {other} overlap: give each id one other")
            }
        }
    }
}

impl std::error::Error for IdMapError {}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const fn extent(inside: u32, outside: u32, length: u32) -> IdExtent {
        IdExtent { inside, outside, length }
    }

    const ONE: [IdExtent; 1] = [extent(0, 0, 1)];

    fn map(uids: &[IdExtent]) -> IdMap {
        IdMap::new(uids, &ONE).unwrap()
    }

    fn fault(uids: &[IdExtent]) -> String {
        let error = IdMap::new(uids, &ONE).unwrap_err();
        assert_eq!((error.errno(), Errno::from(error)), (Errno::EINVAL, Errno::EINVAL));
        assert!(IdMap::new(&ONE, uids).unwrap_err().to_string().starts_with("making a map of group ids: "));
        error.to_string()
    }

    #[test]
    fn ids_are_mapped_both_ways() {
        let map = map(&[extent(1000, 5, 2), extent(0, 100, 10), extent(10, 7, 1)]);
        let pairs = [(0, 100), (9, 109), (10, 7), (1000, 5), (1001, 6)];
        for (stored, seen) in pairs {
            assert_eq!((map.seen_uid(stored), map.stored_uid(seen)), (Some(seen), Some(stored)));
        }
        for stored in [11, 999, 1002, NO_ID] {
            assert_eq!(map.seen_uid(stored), None, "{stored}");
        }
        for seen in [0, 4, 8, 99, 110, NO_ID] {
            assert_eq!(map.stored_uid(seen), None, "{seen}");
        }
        assert_eq!((map.seen_gid(0), map.stored_gid(0), map.seen_gid(1), map.stored_gid(1)), (Some(0), Some(0), None, None));
    }

    #[test]
    fn the_whole_range_can_be_mapped_and_no_id_never_is() {
        let map = map(&[extent(0, 0, NO_ID)]);
        assert_eq!((map.seen_uid(NO_ID - 1), map.seen_uid(NO_ID)), (Some(NO_ID - 1), None));
        assert!(fault(&[extent(1, 0, NO_ID)]).contains("shorten it"));
        assert!(fault(&[extent(0, 1, NO_ID)]).contains("shorten it"));
        assert!(fault(&[extent(NO_ID, 0, 1)]).contains("shorten it"));
    }

    #[test]
    fn what_is_no_map_is_told_why() {
        assert!(fault(&[]).contains("no extent"));
        assert!(fault(&[extent(3, 4, 0)]).contains("\"3 4 0\" has no ids"));
        assert!(fault(&[extent(0, 10, 5), extent(4, 20, 5)]).contains("\"0 10 5\" and \"4 20 5\" overlap"));
        assert!(fault(&[extent(10, 0, 5), extent(20, 4, 5)]).contains("overlap"), "outside");
        assert_eq!(map(&[extent(0, 10, 5), extent(5, 15, 5)]).seen_uid(5), Some(15), "side by side");
        let many: Vec<IdExtent> = (0..=340).map(|at| extent(2 * at, 2 * at, 1)).collect();
        assert!(fault(&many).contains("341 extents are too many"));
        assert_eq!(map(&many[..340]).seen_uid(678), Some(678));
    }

    #[test]
    fn the_order_of_extents_makes_no_difference() {
        let (one, other) = (extent(0, 10, 5), extent(7, 0, 2));
        assert_eq!(map(&[one, other]), map(&[other, one]));
        assert_eq!(map(&[other, one]).uids(), [one, other]);
        assert_eq!(map(&[one]).gids(), ONE);
    }
}
