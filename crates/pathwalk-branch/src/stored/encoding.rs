//! The form in which nodes of trees, origins and branches are stored.
//!
//! A value is a byte with the version of the form, and `postcard`'s encoding of one of the types
//! here, which mirror those of the engine and of this crate. A form that was released is not
//! changed: another one gets another version.
//!
//! What it does not do: it stores nothing. A node refers to its children and to origins by their
//! numbers, so each of these is stored once, however many refer to it.

use std::sync::Arc;

use pathwalk::permission::{Acl, AclEntry, AclTag};
use pathwalk::{
    Access, AclState, Attributes, ChangeCookie, Device, Errno, FileHandle, FileType, InodeFlags, StatxFlags, Timestamp,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::blobs::{Blob, BlobId, BlobStore};
use crate::branch::Way;
use crate::origin::{Origin, Trace};
use crate::rows::{Counted, Entry, Extent, FirstName, Hidden, KeyBytes, Names, Pages, Place, Record, Row, Target, What};
use crate::stamp::Stamp;

/// The version of all forms.
const VERSION: u8 = 1;

/// Returns a value in its stored form.
pub(super) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, Errno> {
    // A value in memory has no form that cannot be written.
    postcard::to_extend(value, vec![VERSION]).map_err(|_| Errno::EINVAL)
}

/// Returns a value from its stored form: `EIO` if it is none of this version.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Errno> {
    let Some((&VERSION, rest)) = bytes.split_first() else { return Err(Errno::EIO) };
    match postcard::take_from_bytes(rest) {
        Ok((value, [])) => Ok(value),
        _ => Err(Errno::EIO),
    }
}

/// Returns whether a value has a form of another version.
pub(super) fn is_other_version(bytes: &[u8]) -> bool {
    bytes.first() != Some(&VERSION)
}

/// What all branches of a store share.
#[derive(Serialize, Deserialize)]
pub(super) struct OfStore {
    pub(super) hash_key: (u64, u64),
    /// The root of the base.
    pub(super) root: OfRoot,
}

/// What tells a base from others: its root.
#[derive(Serialize, Deserialize, PartialEq, Eq)]
pub(super) struct OfRoot {
    pub(super) handle: Option<Vec<u8>>,
    pub(super) ino: u64,
    pub(super) btime: Option<Time>,
}

/// A branch.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct OfBranch {
    /// The number of the branch. No other one ever has it.
    pub(super) id: u64,
    pub(super) parent: Option<String>,
    pub(super) created: Time,
    pub(super) note: String,
    /// The root of its tree, as that was last stored; 0 for an empty one.
    pub(super) root: u64,
    /// The root of what it had in common with its parent when it was forked.
    pub(super) forked: u64,
    /// The number of branches that were forked from it, and are there.
    pub(super) forks: u32,
}

/// A commit onto the base that a branch is to take back.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct OfUndo {
    /// The name and the number of the branch that is committed.
    pub(super) name: String,
    pub(super) id: u64,
}

/// The rest of a branch, which is in another one until that is committed.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct OfRest {
    /// The name and the number of the branch that is left with it.
    pub(super) name: String,
    pub(super) id: u64,
    /// The root of its tree then.
    pub(super) root: u64,
}

/// A node of a tree.
#[derive(Serialize, Deserialize)]
pub(super) enum OfNode {
    Rows(Vec<(Vec<u8>, OfRow)>),
    Children(Vec<(Vec<u8>, u64)>),
}

/// A row of a tree.
#[derive(Serialize, Deserialize)]
pub(super) enum OfRow {
    Record(Box<OfRecord>),
    Place { dir: u64, name: Vec<u8> },
    Acl(Vec<(u8, u32, u8)>),
    Xattr(Vec<u8>),
    Entry { target: Option<OfTarget>, hides: Option<(OfTarget, u128)> },
    Extent { length: u64, what: OfWhat },
    Removed(u128),
}

/// The number of a node, and its type.
type OfTarget = (u64, u8);

/// Seconds and nanoseconds.
pub(super) type Time = (i64, u32);

/// The attributes of a node.
#[derive(Serialize, Deserialize)]
pub(super) struct OfRecord {
    attributes: OfAttributes,
    flags: u32,
    body: Option<Vec<u8>>,
    /// The row of the origin.
    pub(super) origin: Option<u64>,
    is_merged: bool,
    is_first_name_to_come: bool,
    is_counted_alone: bool,
    pages: (u64, u64),
}

/// All that `stat` shows.
#[derive(Serialize, Deserialize)]
struct OfAttributes {
    kind: u8,
    mode: u16,
    nlink: u32,
    uid: u32,
    gid: u32,
    ino: u64,
    size: u64,
    blocks: u64,
    block_size: u32,
    device: (u32, u32),
    device_node: (u32, u32),
    atime: Time,
    mtime: Time,
    ctime: Time,
    btime: Option<Time>,
    flags: u64,
    flags_mask: u64,
    acl: u8,
}

/// The content of an extent.
#[derive(Serialize, Deserialize)]
pub(super) enum OfWhat {
    Blob(u64, u64),
    Base(u64, u64),
    Zeroes,
    Reserved,
}

/// The origin of nodes and extents.
#[derive(Serialize, Deserialize)]
pub(super) struct OfOrigin {
    handle: Option<Vec<u8>>,
    path: Option<Vec<u8>>,
    generation: Option<u32>,
    attributes: OfAttributes,
    flags: u32,
    /// The change cookie, and whether it only grows.
    cookie: Option<(bool, u64)>,
    extras: Vec<(Vec<u8>, OfRow)>,
    /// The directories and names of the way, from below.
    way: Vec<(u64, Vec<u8>)>,
}

/// The user of encoding: it stores origins, and says in which rows.
pub(super) trait StoreOrigins {
    fn row_of(&mut self, origin: &Arc<Origin>) -> Result<u64, Errno>;

    /// Returns the number of a blob, to which a row is about to refer: `EBUSY` if it is in another
    /// store.
    fn blob(&self, blob: &Blob) -> Result<BlobId, Errno>;
}

/// The user of decoding: it knows the origins in all rows.
pub(super) trait FindOrigins {
    fn in_row(&mut self, row: u64) -> Result<Arc<Origin>, Errno>;
    fn blobs(&self) -> &Arc<dyn BlobStore>;
}

/// An origin has rows without origins and blobs.
struct Plain;

impl StoreOrigins for Plain {
    fn row_of(&mut self, _: &Arc<Origin>) -> Result<u64, Errno> {
        Err(Errno::EINVAL)
    }

    fn blob(&self, _: &Blob) -> Result<BlobId, Errno> {
        Err(Errno::EINVAL)
    }
}

impl OfRow {
    pub(super) fn new(row: &Row, origins: &mut dyn StoreOrigins) -> Result<OfRow, Errno> {
        Ok(match row {
            Row::Record(record) => OfRow::Record(Box::new(OfRecord::new(record, origins)?)),
            Row::Place(place) => OfRow::Place { dir: place.dir, name: place.name.to_vec() },
            Row::Acl(acl) => OfRow::Acl(acl.entries().iter().map(of_acl_entry).collect()),
            Row::Xattr(value) => OfRow::Xattr(value.to_vec()),
            Row::Removed(stamp) => OfRow::Removed(stamp.0),
            Row::Entry(entry) => OfRow::Entry {
                target: entry.target.map(of_target),
                hides: entry.hides.map(|hidden| (of_target(hidden.target), hidden.stamp.0)),
            },
            Row::Extent(Extent { length, what }) => OfRow::Extent {
                length: *length,
                what: match what {
                    What::Blob(blob, start) => OfWhat::Blob(origins.blob(blob)?.0, *start),
                    What::Base(origin, start) => OfWhat::Base(origins.row_of(origin)?, *start),
                    What::Zeroes => OfWhat::Zeroes,
                    What::Reserved => OfWhat::Reserved,
                },
            },
        })
    }

    pub(super) fn row(self, origins: &mut dyn FindOrigins) -> Result<Row, Errno> {
        Ok(match self {
            OfRow::Record(record) => Row::Record(Arc::new(record.record(origins)?)),
            OfRow::Extent { length, what } => {
                let what = match what {
                    OfWhat::Blob(blob, start) => What::Blob(Blob::kept(origins.blobs(), BlobId(blob)), start),
                    OfWhat::Base(origin, start) => What::Base(origins.in_row(origin)?, start),
                    OfWhat::Zeroes => What::Zeroes,
                    OfWhat::Reserved => What::Reserved,
                };
                Row::Extent(Extent { length, what })
            }
            plain => plain.plain_row()?,
        })
    }

    /// Returns a row without origins and blobs.
    fn plain_row(self) -> Result<Row, Errno> {
        Ok(match self {
            OfRow::Place { dir, name } => Row::Place(Arc::new(Place { dir, name: name.into() })),
            OfRow::Acl(entries) => {
                let entries: Result<_, _> = entries.into_iter().map(acl_entry).collect();
                Row::Acl(Arc::new(Acl::new(entries?)))
            }
            OfRow::Xattr(value) => Row::Xattr(value.into()),
            OfRow::Removed(stamp) => Row::Removed(Stamp(stamp)),
            OfRow::Entry { target: to, hides } => {
                let hidden = |(to, stamp)| Ok::<_, Errno>(Hidden { target: target(to)?, stamp: Stamp(stamp) });
                Row::Entry(Entry { target: to.map(target).transpose()?, hides: hides.map(hidden).transpose()? })
            }
            OfRow::Record(_) | OfRow::Extent { .. } => return Err(Errno::EIO),
        })
    }
}

impl OfRecord {
    fn new(record: &Record, origins: &mut dyn StoreOrigins) -> Result<OfRecord, Errno> {
        Ok(OfRecord {
            attributes: OfAttributes::new(&record.attributes),
            flags: record.flags.bits(),
            body: record.body.as_deref().map(<[u8]>::to_vec),
            origin: record.origin.as_ref().map(|origin| origins.row_of(origin)).transpose()?,
            is_merged: record.names == Names::Merged,
            is_first_name_to_come: record.first_name == FirstName::ToCome,
            is_counted_alone: record.counted == Counted::Alone,
            pages: (record.pages.own, record.pages.of_base),
        })
    }

    fn record(self, origins: &mut dyn FindOrigins) -> Result<Record, Errno> {
        Ok(Record {
            attributes: self.attributes.attributes()?,
            flags: InodeFlags::from_bits_retain(self.flags),
            body: self.body.map(Into::into),
            origin: self.origin.map(|row| origins.in_row(row)).transpose()?,
            names: if self.is_merged { Names::Merged } else { Names::Own },
            first_name: if self.is_first_name_to_come { FirstName::ToCome } else { FirstName::Given },
            counted: if self.is_counted_alone { Counted::Alone } else { Counted::InEntry },
            pages: Pages { own: self.pages.0, of_base: self.pages.1 },
        })
    }
}

impl OfAttributes {
    fn new(of: &Attributes) -> OfAttributes {
        OfAttributes {
            kind: of.kind as u8,
            mode: of.mode,
            nlink: of.nlink,
            uid: of.uid,
            gid: of.gid,
            ino: of.ino,
            size: of.size,
            blocks: of.blocks,
            block_size: of.block_size,
            device: (of.device.major, of.device.minor),
            device_node: (of.device_node.major, of.device_node.minor),
            atime: of_time(of.atime),
            mtime: of_time(of.mtime),
            ctime: of_time(of.ctime),
            btime: of.btime.map(of_time),
            flags: of.flags.to_kernel(),
            flags_mask: of.flags_mask.to_kernel(),
            acl: of.acl as u8,
        }
    }

    fn attributes(&self) -> Result<Attributes, Errno> {
        let device = |(major, minor)| Device { major, minor };
        let mut of = Attributes::new(kind(self.kind)?, self.mode);
        (of.nlink, of.uid, of.gid, of.ino) = (self.nlink, self.uid, self.gid, self.ino);
        (of.size, of.blocks, of.block_size) = (self.size, self.blocks, self.block_size);
        (of.device, of.device_node) = (device(self.device), device(self.device_node));
        (of.atime, of.mtime, of.ctime) = (time(self.atime), time(self.mtime), time(self.ctime));
        of.btime = self.btime.map(time);
        (of.flags, of.flags_mask) = (StatxFlags::from_kernel(self.flags), StatxFlags::from_kernel(self.flags_mask));
        let states = [AclState::Absent, AclState::Unknown, AclState::Present];
        of.acl = *states.get(usize::from(self.acl)).ok_or(Errno::EIO)?;
        Ok(of)
    }
}

impl OfOrigin {
    pub(super) fn new(origin: &Origin, trace: Trace) -> Result<OfOrigin, Errno> {
        let (mut way, mut next) = (Vec::new(), origin.way.as_ref());
        while let Some(of) = next {
            way.push((of.dir, of.name.to_vec()));
            next = of.above.as_ref();
        }
        let extras: Result<_, Errno> =
            origin.extras.iter().map(|(key, row)| Ok((key.to_vec(), OfRow::new(row, &mut Plain)?))).collect();
        let cookie = origin.cookie.map(|cookie| (matches!(cookie, ChangeCookie::Monotonic(_)), cookie.number()));
        Ok(OfOrigin {
            handle: trace.handle.map(|handle| handle.to_bytes()),
            path: trace.path.map(Into::into),
            generation: trace.generation,
            attributes: OfAttributes::new(&origin.attributes),
            flags: origin.flags.bits(),
            cookie,
            extras: extras?,
            way,
        })
    }

    pub(super) fn origin(self, row: u64) -> Result<Origin, Errno> {
        let trace = Trace {
            handle: self.handle.map(|handle| FileHandle::from_bytes(&handle)).transpose().map_err(|_| Errno::EIO)?,
            path: self.path.map(Into::into),
            generation: self.generation,
        };
        let cookie = |(is_monotonic, number)| match is_monotonic {
            true => ChangeCookie::Monotonic(number),
            false => ChangeCookie::Unordered(number),
        };
        let mut origin = Origin::stored(row, trace, self.attributes.attributes()?, self.cookie.map(cookie));
        origin.flags = InodeFlags::from_bits_retain(self.flags);
        for (key, row) in self.extras {
            origin.extras.push((KeyBytes::from_vec(key), row.plain_row()?));
        }
        let add = |above, (dir, name): (u64, Vec<u8>)| Some(Arc::new(Way { dir, name: name.into(), above }));
        origin.way = self.way.into_iter().rev().fold(None, add);
        Ok(origin)
    }
}

pub(super) fn of_time(time: Timestamp) -> Time {
    (time.seconds, time.nanoseconds)
}

pub(super) fn time((seconds, nanoseconds): Time) -> Timestamp {
    Timestamp { seconds, nanoseconds }
}

fn of_target(target: Target) -> OfTarget {
    (target.number, target.kind as u8)
}

fn target((number, of): OfTarget) -> Result<Target, Errno> {
    Ok(Target { number, kind: kind(of)? })
}

fn kind(of: u8) -> Result<FileType, Errno> {
    FileType::from_mode(u32::from(of) << 12).ok_or(Errno::EIO)
}

fn of_acl_entry(entry: &AclEntry) -> (u8, u32, u8) {
    let (tag, id) = match entry.tag {
        AclTag::Owner => (0, 0),
        AclTag::User(id) => (1, id),
        AclTag::Group => (2, 0),
        AclTag::NamedGroup(id) => (3, id),
        AclTag::Mask => (4, 0),
        AclTag::Other => (5, 0),
    };
    (tag, id, entry.grants.bits())
}

fn acl_entry((tag, id, grants): (u8, u32, u8)) -> Result<AclEntry, Errno> {
    let tag = match tag {
        0 => AclTag::Owner,
        1 => AclTag::User(id),
        2 => AclTag::Group,
        3 => AclTag::NamedGroup(id),
        4 => AclTag::Mask,
        5 => AclTag::Other,
        _ => return Err(Errno::EIO),
    };
    Ok(AclEntry { tag, grants: Access::from_bits(grants).ok_or(Errno::EIO)? })
}
