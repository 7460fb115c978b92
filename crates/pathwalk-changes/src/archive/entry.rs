//! An entry of an archive: its header and the extended ones before it, put together.

use std::io;

use ::tar::{EntryType, Header};
use pathwalk::permission::Acl;

use super::{XATTR, pax};
use crate::acl;
use crate::bytes::Bytes;
use crate::error::{Error, Position};
use crate::node::{Kind, Node, Time};
use crate::path::{PathBytes, ROOT, checked};

/// What an entry makes.
pub(super) enum What {
    /// A node, and of a file with holes the size behind the map.
    Node(Node, Option<u64>),
    Link(PathBytes),
}

/// An entry.
pub(super) struct Entry {
    pub(super) place: Position,
    pub(super) path: PathBytes,
    pub(super) what: What,
}

impl Entry {
    pub(super) fn malformed(&self, what: &str) -> Error {
        Error::malformed(self.place, what)
    }
}

/// The extended headers before an entry.
#[derive(Default)]
pub(super) struct Extended {
    pub(super) records: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Extended {
    fn get(&self, key: &[u8]) -> Option<&[u8]> {
        self.records.iter().rev().find(|(of, _)| of == key).map(|(_, value)| &value[..])
    }

    fn number<T: std::str::FromStr>(&self, key: &[u8]) -> Option<Result<T, ()>> {
        let value = self.get(key)?;
        Some(std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()).ok_or(()))
    }
}

/// Returns a path from the root, of a name in an archive: relative, perhaps with `./` before it and
/// a slash behind it.
pub(super) fn rooted(name: &[u8], place: Position) -> Result<PathBytes, Error> {
    let mut name = name;
    while let Some(rest) = name.strip_prefix(b"./") {
        name = rest;
    }
    let name = name.strip_suffix(b"/").unwrap_or(name);
    if name.is_empty() || name == b"." { Ok(ROOT.into()) } else { checked(&[ROOT, name].concat(), place) }
}

/// Parses a time: seconds, perhaps with a part of one.
fn time(text: &[u8]) -> Option<Time> {
    let text = std::str::from_utf8(text).ok()?;
    let (seconds, part) = text.split_once('.').unwrap_or((text, ""));
    let (is_negative, seconds) = (text.starts_with('-'), seconds.parse::<i64>().ok()?);
    if !part.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits: String = part.chars().chain("000000000".chars()).take(9).collect();
    let nanoseconds: u32 = digits.parse().ok()?;
    Some(match nanoseconds {
        0 => Time { seconds, nanoseconds },
        _ if is_negative => Time { seconds: seconds.checked_sub(1)?, nanoseconds: 1_000_000_000 - nanoseconds },
        _ => Time { seconds, nanoseconds },
    })
}

/// Puts a header and the records before it together.
pub(super) fn entry(header: &Header, size: u64, extended: Extended, place: Position) -> Result<Entry, Error> {
    let malformed = |what: &str| Error::malformed(place, what);
    let number = |found: io::Result<u64>| found.map_err(|_| malformed("a number in a header is none"));
    let is_sparse = extended.get(b"GNU.sparse.major").is_some();
    let name = extended.get(b"GNU.sparse.name").or(extended.get(b"path")).map(<[u8]>::to_vec);
    let path = rooted(&name.unwrap_or_else(|| header.path_bytes().into_owned()), place)?;
    let target = extended.get(b"linkpath").map(<[u8]>::to_vec).or_else(|| header.link_name_bytes().map(|name| name.into_owned()));
    if extended.number::<u64>(b"size").is_some_and(|said| said != Ok(size)) {
        return Err(malformed("the two sizes of an entry differ"));
    }
    if header.entry_type() == EntryType::Link {
        let to = rooted(&target.ok_or_else(|| malformed("the target of a hard link is missing"))?, place)?;
        return Ok(Entry { place, path, what: What::Link(to) });
    }
    let kind = match header.entry_type() {
        EntryType::Regular | EntryType::Continuous => Kind::File,
        EntryType::Directory => Kind::Directory,
        EntryType::Symlink => Kind::Link,
        EntryType::Fifo => Kind::Fifo,
        EntryType::Char => Kind::CharDevice,
        EntryType::Block => Kind::BlockDevice,
        EntryType::GNUSparse => return Err(malformed("an old form of files with holes; write it by `tar --format=pax`")),
        _ => return Err(malformed("an entry of an unknown type")),
    };
    let id = |key: &[u8], found: io::Result<u64>| match extended.number::<u32>(key) {
        Some(id) => id.map_err(|()| malformed("an id is none")),
        None => u32::try_from(number(found)?).map_err(|_| malformed("an id is none")),
    };
    let moment = |key: &[u8]| extended.get(key).map(|text| time(text).ok_or_else(|| malformed("a time is none"))).transpose();
    let in_header =
        Time { seconds: number(header.mtime())?.try_into().map_err(|_| malformed("a time is none"))?, nanoseconds: 0 };
    let device = match (header.device_major(), header.device_minor()) {
        (Ok(Some(major)), Ok(Some(minor))) => Some([major, minor]),
        _ => None,
    };
    let is_device = matches!(kind, Kind::CharDevice | Kind::BlockDevice);
    let map = (is_sparse && kind == Kind::File).then_some(size);
    let real_size = extended.number::<u64>(b"GNU.sparse.realsize").transpose().map_err(|()| malformed("a size is none"))?;
    if is_sparse && (extended.get(b"GNU.sparse.major"), real_size.is_some()) != (Some(b"1"), true) {
        return Err(malformed("an unknown form of files with holes"));
    }
    let mut node = Node {
        kind,
        mode: (header.mode().map_err(|_| malformed("a mode is none"))? & 0o7777) as u16,
        uid: id(b"uid", header.uid())?,
        gid: id(b"gid", header.gid())?,
        size: if kind == Kind::File { real_size.unwrap_or(size) } else { 0 },
        atime: moment(b"atime")?,
        mtime: moment(b"mtime")?.unwrap_or(in_header),
        device: device.filter(|_| is_device),
        body: target.filter(|_| kind == Kind::Link).map(Bytes),
        ..Node::default()
    };
    for (key, value) in &extended.records {
        let Some(name) = key.strip_prefix(XATTR).map(pax::decoded) else { continue };
        let list = match &name[..] {
            b"system.posix_acl_access" => &mut node.acl,
            b"system.posix_acl_default" => &mut node.default_acl,
            _ => {
                node.xattrs.push((Bytes(name), Bytes(value.clone())));
                continue;
            }
        };
        *list = acl::to_text(&Acl::from_xattr(value).map_err(|_| malformed("an access control list is none"))?);
    }
    node.xattrs.sort();
    match node.fault() {
        Some(fault) => Err(malformed(fault)),
        None => Ok(Entry { place, path, what: What::Node(node, map) }),
    }
}
