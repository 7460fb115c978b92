//! The whole tree as a list, for comparison with that of another model.

use std::collections::BTreeMap;

use crate::Model;
use crate::acl::AclEntry;
use crate::flags::NodeFlags;
use crate::node::{Body, Id, ROOT, Stamp, State};
use crate::xattr::shown;

/// One name of the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DumpEntry {
    /// The path from the root: `/`, `/a`, `/a/b`.
    pub path: Vec<u8>,
    /// The node.
    pub node: Id,
    /// The type (`S_IFMT`) and the lower twelve bits of the mode.
    pub mode: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// The link count.
    pub nlink: u32,
    /// The size in bytes; of a directory 20 for each name, including `.` and `..`.
    pub size: u64,
    /// The number of blocks of 512 bytes.
    pub blocks: u64,
    /// The number of the device, for a device node.
    pub device: u32,
    /// The data of a file or the body of a link.
    pub contents: Vec<u8>,
    /// The same number for all names of one node: nodes are counted from 0, in the list's order.
    pub identity: usize,
    /// The attribute bits.
    pub flags: NodeFlags,
    /// The access list; empty if there is none.
    pub acl: Vec<AclEntry>,
    /// The default list; empty if there is none.
    pub default_acl: Vec<AclEntry>,
    /// The extended attributes, by name. The value of one that cannot be read is empty.
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The time of access.
    pub accessed: Stamp,
    /// The time of the last change of data.
    pub modified: Stamp,
    /// The time of the last change of attributes.
    pub changed: Stamp,
    /// The time of birth.
    pub born: Stamp,
}

impl Model {
    /// Returns all names, each directory before its contents, and names in the order of their
    /// bytes.
    pub fn dump(&self) -> Vec<DumpEntry> {
        let state = self.state.lock().clone();
        let mut dump = Dump { state: &state, entries: Vec::new(), identities: BTreeMap::new() };
        dump.add(b"/", ROOT);
        dump.entries
    }
}

struct Dump<'a> {
    state: &'a State,
    entries: Vec<DumpEntry>,
    identities: BTreeMap<Id, usize>,
}

impl Dump<'_> {
    fn add(&mut self, path: &[u8], id: Id) {
        let mut left = vec![(path.to_vec(), id)];
        while let Some((path, id)) = left.pop() {
            let next = self.identities.len();
            let identity = *self.identities.entry(id).or_insert(next);
            let entry = self.entry(path, id, identity);
            let above = if id == ROOT { b"" } else { entry.path.as_slice() };
            let mut below: Vec<_> = self.state.entries(id).map(|(name, child)| ([above, b"/", name].concat(), child)).collect();
            below.reverse();
            left.append(&mut below);
            self.entries.push(entry);
        }
    }

    fn entry(&self, path: Vec<u8>, id: Id, identity: usize) -> DumpEntry {
        let node = self.state.node(id);
        let (contents, device) = match &node.body {
            Body::File { data, .. } => (data.clone(), 0),
            Body::Link { body, .. } => (body.clone(), 0),
            Body::Special { device, .. } => (Vec::new(), *device),
            Body::Directory { .. } => (Vec::new(), 0),
        };
        DumpEntry {
            path,
            node: id,
            mode: node.file_type() | node.mode,
            uid: node.uid,
            gid: node.gid,
            nlink: self.state.links(id),
            size: node.size(),
            blocks: node.blocks(),
            device,
            contents,
            identity,
            flags: node.flags,
            acl: node.acl.clone(),
            default_acl: node.default_acl.clone(),
            xattrs: node.xattrs.iter().map(|(name, value)| (name.clone(), shown(name, value).unwrap_or_default())).collect(),
            accessed: node.accessed,
            modified: node.modified,
            changed: node.changed,
            born: node.born,
        }
    }
}
