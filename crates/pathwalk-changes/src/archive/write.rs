//! The writer of archives.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::ops::Range;

use ::tar::{EntryType, Header};
use pathwalk::permission::Acl;
use pathwalk::{Context, FileType};
use pathwalk_branch::Change;

use super::{BLOCK, Entries, OPAQUE, REMOVED, Removals, WHITEOUT, XATTR, pax};
use crate::acl;
use crate::data::{self, Reader};
use crate::error::Error;
use crate::node::{Kind, Node, Time};
use crate::path::{PathBytes, ROOT, join, split, upwards};
use crate::plan::Plan;
use crate::tree::Tree;

/// The longest name in a header.
const NAME_MAX: usize = 100;
/// The greatest number in eight or twelve bytes of a header.
const ID_MAX: u64 = 0o7_777_777;
const SIZE_MAX: u64 = 0o77_777_777_777;

/// Writes changes between two trees as an archive.
pub(crate) fn write(changes: &[Change], old: &Context, new: &Context, removals: Removals, out: impl Write) -> Result<(), Error> {
    let (old, new) = (Tree::of(old)?, Tree::of(new)?);
    let plan = Plan::of(changes, &old, &new)?;
    let entries = Entries::of(&plan, &new)?;
    let mut writer = Writer { tree: &new, removals, out };
    let mut whiteouts = match removals {
        Removals::Header => {
            writer.removed(&entries)?;
            BTreeMap::new()
        }
        Removals::Whiteouts => whiteouts(&entries)?,
    };
    for path in entries.nodes.keys() {
        match entries.links.get(path) {
            Some(to) => writer.link(path, to)?,
            None => writer.node(path)?,
        }
        // Before what else is in the directory.
        for name in whiteouts.remove(path).unwrap_or_default() {
            writer.whiteout(&join(path, &name))?;
        }
    }
    // Two empty blocks end it.
    writer.put(&[0; 2 * BLOCK as usize])?;
    writer.out.flush().map_err(Error::Output)
}

/// Returns the names of files that say what goes, by their directories.
fn whiteouts(entries: &Entries) -> Result<BTreeMap<PathBytes, Vec<Vec<u8>>>, Error> {
    let is_meant = |path: &&PathBytes| upwards(path).any(|path| split(path).1.starts_with(WHITEOUT));
    if let Some(path) = entries.nodes.keys().chain(entries.removed.keys()).find(is_meant) {
        return Err(Error::Name(path.clone()));
    }
    let mut whiteouts: BTreeMap<PathBytes, Vec<Vec<u8>>> = BTreeMap::new();
    for (path, kind) in &entries.removed {
        match (kind, entries.nodes.get(path)) {
            (FileType::Directory, Some(FileType::Directory)) => {
                whiteouts.entry(path.clone()).or_default().insert(0, OPAQUE.to_vec());
            }
            // What comes in its place is enough, but for a socket, which does not come.
            (_, Some(kind)) if *kind != FileType::Socket => {}
            _ => {
                let dir = crate::path::parent(path).unwrap_or(ROOT);
                whiteouts.entry(dir.into()).or_default().push([WHITEOUT, split(path).1].concat());
            }
        }
    }
    Ok(whiteouts)
}

struct Writer<'t, W> {
    tree: &'t Tree,
    removals: Removals,
    out: W,
}

/// Returns a header with this name, as far as there is room, and the record for the rest.
fn header(kind: EntryType, path: &[u8], node: &Node, records: &mut Vec<u8>) -> Header {
    let mut header = Header::new_ustar();
    let mut name = if path == ROOT { b"./".to_vec() } else { path[1..].to_vec() };
    if kind == EntryType::Directory && path != ROOT {
        name.push(b'/');
    }
    put_name(&mut header.as_old_mut().name, &name, b"path", records);
    header.set_entry_type(kind);
    header.set_mode(node.mode.into());
    let mut id = |number: u32, key: &[u8]| {
        if u64::from(number) > ID_MAX {
            pax::push(records, key, number.to_string().as_bytes());
        }
        u64::from(number).min(ID_MAX)
    };
    let (uid, gid) = (id(node.uid, b"uid"), id(node.gid, b"gid"));
    header.set_uid(uid);
    header.set_gid(gid);
    header.set_mtime(node.mtime.seconds.clamp(0, SIZE_MAX as i64) as u64);
    header
}

/// Puts a name into a field, and into a record if it is too long.
fn put_name(field: &mut [u8; NAME_MAX], name: &[u8], key: &[u8], records: &mut Vec<u8>) {
    let length = name.len().min(NAME_MAX);
    field[..length].copy_from_slice(&name[..length]);
    if name.len() > NAME_MAX {
        pax::push(records, key, name);
    }
}

/// Returns a time as a record has it.
fn time(time: Time) -> String {
    // Before the Epoch, the part of a second counts downwards.
    match (time.seconds, time.nanoseconds) {
        (seconds, 0) => seconds.to_string(),
        (seconds, nanoseconds) if seconds < 0 => {
            let sign = if seconds == -1 { "-" } else { "" };
            format!("{sign}{}.{:09}", seconds + 1, 1_000_000_000 - nanoseconds)
        }
        (seconds, nanoseconds) => format!("{seconds}.{nanoseconds:09}"),
    }
}

/// Appends the records of what the header has no room for.
fn extend(records: &mut Vec<u8>, node: &Node) {
    if node.mtime.nanoseconds > 0 || !(0..=SIZE_MAX as i64).contains(&node.mtime.seconds) {
        pax::push(records, b"mtime", time(node.mtime).as_bytes());
    }
    if let Some(atime) = node.atime.filter(|_| node.kind != Kind::Directory) {
        pax::push(records, b"atime", time(atime).as_bytes());
    }
    let mut xattr = |name: &[u8], value: &[u8]| pax::push(records, &[XATTR, &pax::encoded(name)].concat(), value);
    node.xattrs.iter().for_each(|(name, value)| xattr(&name.0, &value.0));
    for (name, entries) in [("system.posix_acl_access", &node.acl), ("system.posix_acl_default", &node.default_acl)] {
        if let Some(acl) = acl::from_text(entries).as_ref().map(Acl::to_xattr) {
            xattr(name.as_bytes(), &acl);
        }
    }
}

impl<W: Write> Writer<'_, W> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.out.write_all(bytes).map_err(Error::Output)
    }

    /// Fills the last block.
    fn pad(&mut self, size: u64) -> Result<(), Error> {
        let rest = size % BLOCK;
        if rest == 0 { Ok(()) } else { self.put(&[0; BLOCK as usize][rest as usize..]) }
    }

    /// Writes records, if there are any, and a header.
    fn head(&mut self, mut header: Header, size: u64, mut records: Vec<u8>) -> Result<(), Error> {
        if size > SIZE_MAX {
            pax::push(&mut records, b"size", size.to_string().as_bytes());
        }
        if !records.is_empty() {
            self.records(EntryType::XHeader, &records)?;
        }
        header.set_size(size);
        header.set_cksum();
        self.put(header.as_bytes())
    }

    fn records(&mut self, kind: EntryType, records: &[u8]) -> Result<(), Error> {
        let mut header = Header::new_ustar();
        let name = b"././@PaxHeader";
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(records.len() as u64);
        header.set_cksum();
        self.put(header.as_bytes())?;
        self.put(records)?;
        self.pad(records.len() as u64)
    }

    /// Writes the header that says what goes.
    fn removed(&mut self, entries: &Entries) -> Result<(), Error> {
        let all: Vec<u8> = entries.removed.keys().flat_map(|path| [&path[1..], b"\0"].concat()).collect();
        let mut records = Vec::new();
        pax::push(&mut records, REMOVED, &all);
        self.records(EntryType::XGlobalHeader, &records)
    }

    fn whiteout(&mut self, path: &[u8]) -> Result<(), Error> {
        let node = Node { mode: 0o600, ..Node::default() };
        let mut records = Vec::new();
        let header = header(EntryType::Regular, path, &node, &mut records);
        self.head(header, 0, records)
    }

    fn link(&mut self, path: &[u8], to: &[u8]) -> Result<(), Error> {
        let (node, mut records) = (Node::read(self.tree, path)?, Vec::new());
        if node.kind == Kind::Socket {
            return Ok(());
        }
        let mut header = header(EntryType::Link, path, &node, &mut records);
        put_name(&mut header.as_old_mut().linkname, &to[1..], b"linkpath", &mut records);
        self.head(header, 0, records)
    }

    fn node(&mut self, path: &[u8]) -> Result<(), Error> {
        let (node, mut records) = (Node::read(self.tree, path)?, Vec::new());
        let kind = match node.kind {
            Kind::File => return self.file(path, &node),
            Kind::Directory => EntryType::Directory,
            Kind::Link => EntryType::Symlink,
            Kind::Fifo => EntryType::Fifo,
            Kind::CharDevice => EntryType::Char,
            Kind::BlockDevice => EntryType::Block,
            Kind::Socket => return Ok(()),
        };
        let mut header = header(kind, path, &node, &mut records);
        if let Some(body) = &node.body {
            put_name(&mut header.as_old_mut().linkname, &body.0, b"linkpath", &mut records);
        }
        let [major, minor] = node.device.unwrap_or_default();
        header.set_device_major(major).and_then(|()| header.set_device_minor(minor)).map_err(Error::Output)?;
        extend(&mut records, &node);
        self.head(header, 0, records)
    }

    fn file(&mut self, path: &[u8], node: &Node) -> Result<(), Error> {
        let mut records = Vec::new();
        let ranges = data::ranges(&self.tree.open(path)?, path, node.size)?;
        let is_whole = node.size == 0 || matches!(&ranges[..], [range] if *range == (0..node.size));
        if !is_whole && self.removals == Removals::Header {
            return self.sparse(path, node, &ranges);
        }
        let header = header(EntryType::Regular, path, node, &mut records);
        extend(&mut records, node);
        self.head(header, node.size, records)?;
        let mut reader = Reader::open(self.tree, path)?.take(node.size);
        match io::copy(&mut reader, &mut self.out) {
            Ok(copied) if copied == node.size => self.pad(node.size),
            Ok(_) => Err(Error::differs(path, "became shorter while it was read")),
            Err(error) => Err(Error::Output(error)),
        }
    }

    /// Writes a file with holes in version 1.0 of GNU tar's form: a map and the data.
    fn sparse(&mut self, path: &[u8], node: &Node, ranges: &[Range<u64>]) -> Result<(), Error> {
        // Without an empty part behind it, GNU tar forgets a hole at the end.
        let end = node.size..node.size;
        let parts: Vec<_> = ranges.iter().chain(std::iter::once(&end)).collect();
        let mut map = format!("{}\n", parts.len());
        for part in parts {
            map += &format!("{}\n{}\n", part.start, part.end - part.start);
        }
        let mut map = map.into_bytes();
        map.resize(map.len().next_multiple_of(BLOCK as usize), 0);
        let size = map.len() as u64 + ranges.iter().map(|range| range.end - range.start).sum::<u64>();
        let mut records = Vec::new();
        for (key, value) in [("major", &b"1"[..]), ("minor", b"0"), ("name", &path[1..])] {
            pax::push(&mut records, format!("GNU.sparse.{key}").as_bytes(), value);
        }
        pax::push(&mut records, b"GNU.sparse.realsize", node.size.to_string().as_bytes());
        let shown = join(b"/GNUSparseFile.0", split(path).1);
        let header = header(EntryType::Regular, &shown, node, &mut records);
        extend(&mut records, node);
        self.head(header, size, records)?;
        self.put(&map)?;
        let file = self.tree.open(path)?;
        for range in ranges {
            data::for_each_part(&file, path, range.clone(), |_, part| self.put(part))?;
        }
        self.pad(size)
    }
}
