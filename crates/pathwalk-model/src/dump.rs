//! The whole tree as a list, to be compared with another one's.

use std::collections::BTreeMap;

use crate::Model;
use crate::flags::NodeFlags;
use crate::node::{Body, Id, ROOT, Stamp, State};

/// One name of the tree.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DumpEntry {
    /// From the root: `/`, `/a`, `/a/b`.
    pub path: Vec<u8>,
    /// Which node it is.
    pub node: Id,
    /// Type (`S_IFMT`) and the lower twelve bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Link count.
    pub nlink: u32,
    /// Bytes; of a directory 20 for each name, `.` and `..` among them.
    pub size: u64,
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Which device a device node stands for.
    pub device: u32,
    /// What a file holds or a link says.
    pub contents: Vec<u8>,
    /// The same for all names of one node: nodes are counted from 0, in the list's order.
    pub identity: usize,
    /// Time of access.
    pub accessed: Stamp,
    /// Time of data.
    pub modified: Stamp,
    /// Time of attributes.
    pub changed: Stamp,
    /// Time of birth.
    pub born: Stamp,
    /// Attribute bits.
    pub flags: NodeFlags,
}

impl Model {
    /// All names, each directory before what is in it, names in the order of their bytes.
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
            accessed: node.accessed,
            modified: node.modified,
            changed: node.changed,
            born: node.born,
            flags: node.flags,
        }
    }
}
