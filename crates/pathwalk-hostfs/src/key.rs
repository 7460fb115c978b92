//! The keys of nodes: (type, place, tag, inode number).
//!
//! | bits | what |
//! |---|---|
//! | 0..64 | inode number |
//! | 64..96 | tag: 32 bits of the identity beyond the number |
//! | 96..124 | place: the number of a mount and a device in a table of this module |
//! | 124..128 | type, as in the mode |
//!
//! Inode numbers are reused. The tag distinguishes the nodes that had a number one after the other.
//! It is a hash of the file handle, in which the host has a generation
//! ([`Identity::Handle`]), or of the birth time ([`Identity::BirthTime`]): two nodes that had one
//! number have the same tag by chance, with a probability of 2^-32. Birth times are those of a
//! clock that ticks some hundred times a second, so two nodes of one tick have the same one. Where
//! the host has neither, the tag is that of no birth time.
//!
//! On overlayfs, a node gets another birth time when it is copied to the upper layer. So birth
//! times make no tags there. Since Linux 6.6 it has handles, which stay the same.
//!
//! Device and inode number alone do not suffice for another reason, too: a bind mount shows one
//! directory under two names, and each has its own `..`. The type is included so that a question
//! about a link never gets to a file.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::hash::{Hash, Hasher};
use std::os::fd::BorrowedFd;

use parking_lot::RwLock;
use pathwalk::{Errno, FileType, NodeKey};
use rapidhash::quality::RapidHasher;
use rustix::fs::{self, Statx, StatxFlags};
use rustix::io;

use crate::beneath::{self, open_beneath};
use crate::calls::{self, HandleUse};
use crate::magic;
use crate::open_file::host;

const PLACE_BITS: u32 = 28;
const TYPE_SHIFT: u32 = 12;

/// The bits of the tag.
const TAG: u128 = (u32::MAX as u128) << 64;

/// The bits of the place.
const PLACE: u128 = (1 << 124) - (1 << 96);

/// The source of the tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Identity {
    /// The birth time, which each `statx` returns.
    BirthTime,
    /// The file handle, which takes a call of its own. The birth time where there is none.
    Handle,
}

/// A mount and a device on it: a Btrfs subvolume has a device of its own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Place {
    mount: u64,
    device: (u32, u32),
}

/// Whether a node of a place keeps its birth time as long as it lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Births {
    Stay,
    /// A change may give it another one.
    Move,
}

/// A place with what the table has of it.
#[derive(Clone, Copy)]
pub(crate) struct Numbered {
    place: Place,
    number: u32,
    births: Births,
}

/// The table of places, which only grows.
#[derive(Debug, Default)]
struct Places {
    all: Vec<(Place, Births)>,
    numbers: HashMap<Place, u32>,
}

/// The maker of keys.
#[derive(Debug)]
pub(crate) struct Keys {
    places: RwLock<Places>,
    identity: Identity,
}

impl Keys {
    pub(crate) fn new(identity: Identity) -> Keys {
        Keys { places: RwLock::default(), identity }
    }

    /// Returns the key of the node that `name` below `fd` leads to, or `fd` itself if the name is
    /// empty. `stat` describes it. Fails with `EOVERFLOW` after 2^28 mounts.
    pub(crate) fn of(&self, fd: BorrowedFd<'_>, name: &CStr, stat: &Statx) -> Result<NodeKey, Errno> {
        self.of_one(fd, name, stat, &mut None)
    }

    /// Returns what [`of`](Self::of) does. `last` is the place of the node before this one, where
    /// there is one: nodes of one directory are mostly on one place, which is then found once.
    pub(crate) fn of_one(
        &self,
        fd: BorrowedFd<'_>,
        name: &CStr,
        stat: &Statx,
        last: &mut Option<Numbered>,
    ) -> Result<NodeKey, Errno> {
        let place = Place { mount: stat.stx_mnt_id, device: (stat.stx_dev_major, stat.stx_dev_minor) };
        let Numbered { number, births, .. } = match last {
            Some(near) if near.place == place => *near,
            _ => *last.insert(self.number(place, || births_at(fd, name))?),
        };
        let tag = match (self.identity, births) {
            (Identity::BirthTime, Births::Stay) => by_birth(stat),
            _ => by_handle(fd, name, (stat, births))?,
        };
        Ok(pack(stat.stx_mode >> TYPE_SHIFT, number, tag, stat.stx_ino))
    }

    /// Returns the id of the mount that a node was found on, or `None` for a key of no node.
    pub(crate) fn mount_of(&self, key: NodeKey) -> Option<u64> {
        self.places.read().all.get(place_of(key) as usize).map(|(place, _)| place.mount)
    }

    /// Forgets the numbers of these mounts: what is found on them from now on gets other keys. Keys
    /// that were handed out keep their mounts.
    pub(crate) fn retire(&self, mounts: &HashSet<u64>) {
        self.places.write().numbers.retain(|place, _| !mounts.contains(&place.mount));
    }

    /// Returns what the table has of a place, with what `find` says of it, which is asked once.
    fn number(&self, place: Place, find: impl FnOnce() -> Result<Births, Errno>) -> Result<Numbered, Errno> {
        let with_births = |places: &Places, number: u32| {
            places.all.get(number as usize).map(|(_, births)| Numbered { place, number, births: *births })
        };
        {
            let places = self.places.read();
            if let Some(known) = places.numbers.get(&place).and_then(|number| with_births(&places, *number)) {
                return Ok(known);
            }
        }
        let births = find()?;
        let mut places = self.places.write();
        let next = places.all.len() as u32;
        let number = *places.numbers.entry(place).or_insert(next);
        if number == next {
            if next >> PLACE_BITS != 0 {
                places.numbers.remove(&place);
                return Err(Errno::EOVERFLOW);
            }
            places.all.push((place, births));
        }
        Ok(Numbered { place, number, births })
    }
}

/// Returns the number of the place that a node was found at.
pub(crate) fn place_of(key: NodeKey) -> u32 {
    ((key.0 & PLACE) >> 96) as u32
}

/// Returns the tag of a node.
pub(crate) fn tag_of(key: NodeKey) -> u32 {
    (key.0 >> 64) as u32
}

/// Returns the tag of a node with this file handle, where tags are those of handles.
pub(crate) fn tag_of_handle(kind: i32, bytes: &[u8]) -> u32 {
    folded((kind, bytes))
}

/// Returns the bits of a key that are no tag.
pub(crate) fn without_tag(key: NodeKey) -> u128 {
    key.0 & !TAG
}

/// Returns the type of the node with this key.
pub(crate) fn kind_of(key: NodeKey) -> Option<FileType> {
    FileType::from_mode(u32::from((key.0 >> 124) as u16) << TYPE_SHIFT)
}

/// Returns the key of a node that a directory lists, but for its tag, assuming that it is on the
/// directory's mount. A lookup finds the node under another key.
pub(crate) fn beside(dir: NodeKey, kind: FileType, ino: u64) -> NodeKey {
    pack(kind.mode_bits() >> TYPE_SHIFT, place_of(dir), 0, ino)
}

fn pack(kind: u16, place: u32, tag: u32, ino: u64) -> NodeKey {
    let high = u128::from(kind) << PLACE_BITS | u128::from(place);
    NodeKey(high << 96 | u128::from(tag) << 64 | u128::from(ino))
}

fn by_birth(stat: &Statx) -> u32 {
    let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    folded(has_birth.then_some((stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec)))
}

fn by_handle(fd: BorrowedFd<'_>, name: &CStr, (stat, births): (&Statx, Births)) -> Result<u32, Errno> {
    match calls::name_to_handle(fd, name, HandleUse::Identity) {
        Ok(handle) => Ok(tag_of_handle(handle.kind(), handle.bytes())),
        // Seccomp filters may refuse the call with EPERM. A handle may be longer than any that
        // Linux has.
        Err(io::Errno::OPNOTSUPP | io::Errno::NOSYS | io::Errno::PERM | io::Errno::OVERFLOW) => Ok(without_handle(stat, births)),
        Err(other) => Err(host(other)),
    }
}

/// Returns the tag of a node without a handle. The number is included, since nodes are searched by
/// their tags.
fn without_handle(stat: &Statx, births: Births) -> u32 {
    match births {
        Births::Stay => folded((stat.stx_ino, by_birth(stat))),
        Births::Move => folded(stat.stx_ino),
    }
}

/// Returns whether nodes keep their birth times on the file system of the node that `name` below
/// `fd` leads to, or of `fd` itself if the name is empty.
fn births_at(fd: BorrowedFd<'_>, name: &CStr) -> Result<Births, Errno> {
    let found = match name.is_empty() {
        true => fs::fstatfs(fd),
        false => open_beneath(fd, name.to_bytes(), beneath::PLACE).and_then(fs::fstatfs),
    };
    let is_overlayfs = magic::of(&found.map_err(host)?) == magic::OVERLAYFS;
    Ok(if is_overlayfs { Births::Move } else { Births::Stay })
}

fn folded(identity: impl Hash) -> u32 {
    let mut hasher = RapidHasher::default();
    identity.hash(&mut hasher);
    hasher.finish() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_bits_of_its_own() {
        let most = (15, (1 << 28) - 1, u32::MAX, u64::MAX);
        let all = [(1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), most];
        let keys = all.map(|(kind, place, tag, ino)| pack(kind, place, tag, ino));
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|b| a != b));
        }
        assert_eq!(keys[4].0, u128::MAX);
        assert_eq!([0, 1, 4].map(|i| place_of(keys[i])), [0, 1, (1 << 28) - 1]);
        assert_eq!([1, 2, 4].map(|i| tag_of(keys[i])), [0, 1, u32::MAX]);
        assert_eq!(without_tag(keys[2]), 0);
        assert_eq!(kind_of(pack(0o10, 5, 6, 7)), Some(FileType::Regular));
    }

    #[test]
    fn what_is_listed_is_at_the_place_of_its_directory() {
        let dir = pack(0o4, 77, 8, 2);
        assert_eq!(beside(dir, FileType::Regular, 99), pack(0o10, 77, 0, 99));
    }

    #[test]
    fn places_are_numbered_and_found_again() {
        let keys = Keys::new(Identity::BirthTime);
        let at = |mount, minor| Place { mount, device: (8, minor) };
        let number = |place, births| keys.number(place, || births).map(|found| (found.number, found.births));
        let numbers =
            [at(1, 0), at(2, 0), at(1, 1), at(1, 0)].map(|place| number(place, Ok(Births::Stay)).map(|(number, _)| number));
        assert_eq!(numbers, [Ok(0), Ok(1), Ok(2), Ok(0)]);
        assert_eq!(keys.mount_of(pack(0o4, 1, 0, 1)), Some(2));
        assert_eq!(keys.mount_of(pack(0o4, 3, 0, 1)), None);
        assert_eq!(number(at(3, 0), Err(Errno::EMFILE)), Err(Errno::EMFILE));
        assert_eq!(number(at(3, 0), Ok(Births::Move)), Ok((3, Births::Move)), "an error is not kept");
        assert_eq!(number(at(3, 0), Ok(Births::Stay)), Ok((3, Births::Move)), "it is asked once");
    }

    #[test]
    fn a_birth_time_that_moves_tells_no_nodes_apart() {
        let here = fs::statx(fs::CWD, ".", fs::AtFlags::empty(), StatxFlags::BASIC_STATS | StatxFlags::BTIME).unwrap();
        let mut copied_up = here;
        copied_up.stx_btime.tv_sec += 1;
        copied_up.stx_mask |= StatxFlags::BTIME.bits();
        assert_ne!(without_handle(&here, Births::Stay), without_handle(&copied_up, Births::Stay));
        assert_eq!(without_handle(&here, Births::Move), without_handle(&copied_up, Births::Move));
    }
}
