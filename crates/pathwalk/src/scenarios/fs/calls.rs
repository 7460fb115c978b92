//! The engine's calls of the test file system.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::{Entry, Fault, ROOT, Tells, TestFs, Tree};
use crate::attr::{AclState, Attributes, FileType, InodeFlags, Timestamp};
use crate::node::{NewKind, NewNode, Node, NodeKey, RenameFlags, SetAttributes, Validity};
use crate::permission::{Access, Acl, AclKind, Subject};
use crate::sync::{Mutex, yield_now};
use crate::text::Name;
use crate::{
    AccessTimes, Accessed, Directory, Entry as Listed, EntrySink, Errno, FileHandle, FileSystem, FoundName, HandleFor, OpenFile,
    OpenFor, Siblings, XattrFlags, XattrName,
};

/// An open file without contents, or an open directory.
struct Open {
    tree: Arc<Mutex<Tree>>,
    node: u128,
}

/// Returns the cookie of a name of up to seven bytes. Cookies are in the order of the names.
fn cookie_of(name: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    bytes[1..=name.len()].copy_from_slice(name);
    u64::from_be_bytes(bytes)
}

impl OpenFile for Open {
    fn read_dir(&self, mut from: u64, each: &mut dyn FnMut(Listed<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        loop {
            // One name at a time, since names come and go meanwhile.
            yield_now();
            let next = {
                let tree = self.tree.lock();
                let next = tree.nodes[&self.node].names.iter().find(|(name, _)| cookie_of(name) > from);
                next.map(|(name, key)| (name.clone(), *key, tree.nodes[key].kind))
            };
            let Some((name, key, kind)) = next else { return Ok(()) };
            from = cookie_of(&name);
            if each(Listed { name: &name, key: NodeKey(key), ino: key as u64, kind, cookie: from }).is_break() {
                return Ok(());
            }
        }
    }

    fn read_dir_with_nodes(&self, from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        let mut names = Vec::new();
        self.read_dir(from, &mut |entry| {
            names.push(entry.name.to_vec());
            sink.push(entry)
        })?;
        let mut found = Vec::new();
        for name in names.iter().map(|name| Name::new(name).expect("a name")) {
            // One name at a time, and given later.
            yield_now();
            if sink.wants(name) {
                let mut tree = self.tree.lock();
                let key = tree.names(self.node).get(name.bytes()).copied();
                found.extend(key.map(|key| (name, tree.hand_out(key))));
            }
        }
        for two in found.chunks(2) {
            yield_now();
            sink.give(two);
        }
        Ok(())
    }
}

impl FileSystem for TestFs {
    fn allows_id_maps(&self) -> bool {
        true
    }

    fn now(&self) -> Timestamp {
        Timestamp { seconds: self.with(|tree| tree.clock), nanoseconds: 0 }
    }

    fn access_times(&self) -> AccessTimes {
        if self.with(|tree| tree.clock) == 0 { AccessTimes::OfFileSystem } else { AccessTimes::OfEngine }
    }

    fn accessed(&self, node: NodeKey, at: Timestamp) -> Result<Accessed, Errno> {
        yield_now();
        self.with(|tree| {
            tree.check_held(node.0);
            tree.nodes.get_mut(&node.0).expect("a node that is held").times[0] = at.seconds;
        });
        yield_now();
        Ok(Accessed::Stored)
    }

    fn root(&self) -> Result<Node, Errno> {
        Ok(self.with(|tree| tree.hand_out(ROOT)))
    }

    fn lookup(&self, dir: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let dir = dir.key().0;
        let fault = self.with(|tree| {
            tree.check_held(dir);
            *tree.asked.entry(name.bytes().to_vec()).or_default() += 1;
            tree.faults.remove(name.bytes())
        });
        // An answer may be late.
        yield_now();
        match fault {
            Some(Fault::Error) => return Err(Errno::EIO),
            // `resume_unwind` skips the panic hook, which would print the panic.
            Some(Fault::Panic) => std::panic::resume_unwind(Box::new("a file system that panics")),
            None => {}
        }
        let found = self.with(|tree| {
            let key = tree.names(dir).get(name.bytes()).copied();
            key.map(|key| tree.hand_out(key))
        });
        yield_now();
        Ok(found)
    }

    fn lookup_siblings(&self, dir: &Directory<'_>, siblings: &mut Siblings<'_>) -> Result<(), Errno> {
        let dir = dir.key().0;
        let names: Vec<_> = self.with(|tree| {
            tree.check_held(dir);
            tree.names(dir).keys().cloned().collect()
        });
        if self.with(|tree| tree.siblings) == Tells::Nothing || names.len() > siblings.most() {
            return Ok(());
        }
        let mut found = Vec::new();
        for name in names.iter().map(|name| Name::new(name).expect("a name")) {
            // One name at a time, and given later.
            yield_now();
            if siblings.wants(name) {
                let key = self.with(|tree| tree.names(dir).get(name.bytes()).copied());
                found.extend(key.map(|key| (name, self.with(|tree| tree.hand_out(key)))));
            }
        }
        for two in found.chunks(2) {
            yield_now();
            siblings.give(two);
        }
        siblings.are_all();
        Ok(())
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let attributes = self.with(|tree| {
            tree.check_held(node.0);
            tree.attributes(node.0)
        });
        yield_now();
        Ok(attributes)
    }

    /// Checks by the list. A node that only says that it has one refuses.
    fn permission(&self, node: NodeKey, who: &Subject<'_>, want: Access) -> Result<(), Errno> {
        let checked = self.with(|tree| {
            tree.check_held(node.0);
            let list = tree.nodes[&node.0].list.as_ref();
            list.map_or(Err(Errno::EACCES), |list| list.check(who, &tree.attributes(node.0), want))
        });
        yield_now();
        checked
    }

    fn acl(&self, node: NodeKey) -> Result<AclState, Errno> {
        let has_list = self.with(|tree| tree.nodes[&node.0].list.is_some());
        yield_now();
        Ok(if has_list { AclState::Present } else { AclState::Absent })
    }

    fn keeps_acls(&self) -> bool {
        true
    }

    fn get_acl(&self, node: NodeKey, kind: AclKind) -> Result<Option<Acl>, Errno> {
        Ok(self.with(|tree| tree.nodes[&node.0].list.clone()).filter(|_| kind == AclKind::Access))
    }

    fn set_acl(&self, node: NodeKey, _: AclKind, acl: Option<&Acl>, mode: Option<u16>) -> Result<Attributes, Errno> {
        let attributes = self.with(|tree| {
            tree.check_held(node.0);
            let entry = tree.nodes.get_mut(&node.0).expect("a node");
            entry.list = acl.cloned();
            entry.mode = mode.unwrap_or(entry.mode);
            if entry.acl != AclState::Unknown {
                entry.acl = if acl.is_some() { AclState::Present } else { AclState::Absent };
            }
            tree.attributes(node.0)
        });
        // The change is done, and its answer is late.
        yield_now();
        Ok(attributes)
    }

    fn revalidate(&self, dir: &Directory<'_>, name: Name<'_>, node: Option<NodeKey>) -> Result<Validity, Errno> {
        let (dir, node) = (dir.key().0, node.map(|node| node.0));
        let is_so = self.with(|tree| {
            *tree.asked.entry(name.bytes().to_vec()).or_default() += 1;
            tree.names(dir).get(name.bytes()).copied() == node
        });
        Ok(if is_so { Validity::Valid } else { Validity::Invalid })
    }

    fn open(&self, node: NodeKey, _what_for: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        self.with(|tree| tree.check_held(node.0));
        Ok(Box::new(Open { tree: self.0.clone(), node: node.0 }))
    }

    fn forget(&self, node: NodeKey) {
        self.with(|tree| {
            tree.check_held(node.0);
            *tree.held.get_mut(&node.0).expect("it is held") -= 1;
        });
    }

    fn create(&self, dir: &Directory<'_>, name: Name<'_>, new: &NewNode<'_>) -> Result<Node, Errno> {
        let dir = dir.key().0;
        let kind = if new.kind == NewKind::Directory { FileType::Directory } else { FileType::Regular };
        self.with(|tree| {
            tree.check_held(dir);
            if tree.names(dir).contains_key(name.bytes()) {
                return Err(Errno::EEXIST);
            }
            let key = tree.add(dir, name.bytes(), Entry::new(kind, new.inherit(None).mode, None));
            Ok(tree.hand_out(key))
        })
    }

    fn link(&self, node: NodeKey, dir: &Directory<'_>, name: Name<'_>) -> Result<Node, Errno> {
        let dir = dir.key().0;
        self.with(|tree| {
            tree.check_held(node.0);
            assert!(tree.attributes(node.0).nlink > 0, "node {} lost its last name before", node.0);
            tree.names(dir).insert(name.bytes().to_vec(), node.0);
            Ok(tree.hand_out(node.0))
        })
    }

    fn unlink(&self, dir: &Directory<'_>, name: Name<'_>, node: NodeKey) -> Result<(), Errno> {
        let dir = dir.key().0;
        self.with(|tree| {
            tree.check_held(node.0);
            if !tree.nodes[&node.0].names.is_empty() {
                return Err(Errno::ENOTEMPTY);
            }
            tree.names(dir).remove(name.bytes()).map(drop).ok_or(Errno::ENOENT)
        })
    }

    fn rename(&self, from: (&Directory<'_>, Name<'_>), to: (&Directory<'_>, Name<'_>), flags: RenameFlags) -> Result<(), Errno> {
        let (from_dir, to_dir) = (from.0.key().0, to.0.key().0);
        let (old, new) = (from.1.bytes(), to.1.bytes());
        self.with(|tree| {
            let moved = tree.names(from_dir).remove(old).ok_or(Errno::ENOENT)?;
            let replaced = tree.names(to_dir).insert(new.to_vec(), moved);
            if flags.contains(RenameFlags::EXCHANGE) {
                tree.names(from_dir).insert(old.to_vec(), replaced.ok_or(Errno::ENOENT)?);
            }
            Ok(())
        })
    }

    fn set_attributes(&self, node: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        self.with(|tree| {
            tree.check_held(node.0);
            let clock = tree.clock;
            let entry = tree.nodes.get_mut(&node.0).expect("it is held");
            entry.mode = set.mode.unwrap_or(entry.mode);
            entry.uid = set.uid.unwrap_or(entry.uid);
            entry.times[1] = clock;
            Ok(tree.attributes(node.0))
        })
    }

    fn get_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<Option<Box<[u8]>>, Errno> {
        assert_eq!(name, XattrName::CAPABILITY);
        let value = self.with(|tree| {
            tree.check_held(node.0);
            tree.nodes[&node.0].capability.clone()
        });
        // An answer may be late.
        yield_now();
        Ok(value)
    }

    fn set_xattr(&self, node: NodeKey, name: XattrName<'_>, value: &[u8], _: XattrFlags) -> Result<(), Errno> {
        assert_eq!(name, XattrName::CAPABILITY);
        self.alter(node.0, |entry| entry.capability = Some(value.into()));
        Ok(())
    }

    fn remove_xattr(&self, node: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        assert_eq!(name, XattrName::CAPABILITY);
        self.with(|tree| {
            let entry = tree.nodes.get_mut(&node.0).expect("it is held");
            entry.capability.take().map(drop).ok_or(Errno::ENODATA)
        })
    }

    fn inode_flags(&self, node: NodeKey) -> Result<InodeFlags, Errno> {
        let flags = self.with(|tree| tree.nodes[&node.0].inode_flags);
        yield_now();
        Ok(flags)
    }

    fn set_inode_flags(&self, node: NodeKey, to: InodeFlags) -> Result<Attributes, Errno> {
        let attributes = self.with(|tree| {
            tree.check_held(node.0);
            tree.nodes.get_mut(&node.0).expect("it is held").inode_flags = to;
            tree.attributes(node.0)
        });
        yield_now();
        Ok(attributes)
    }

    fn encode_handle(&self, node: NodeKey, _: HandleFor) -> Result<FileHandle, Errno> {
        FileHandle::new(1, &[node.0 as u8])
    }

    fn decode_handle(&self, handle: &FileHandle, _near: NodeKey) -> Result<Node, Errno> {
        let key = u128::from(handle.bytes()[0]);
        self.with(|tree| {
            let is_held = tree.held.get(&key).is_some_and(|held| *held > 0);
            if is_held || tree.attributes(key).nlink > 0 { Ok(tree.hand_out(key)) } else { Err(Errno::ESTALE) }
        })
    }

    fn find_name(&self, node: NodeKey) -> Result<FoundName, Errno> {
        self.with(|tree| {
            tree.check_held(node.0);
            let leads_there =
                |names: &BTreeMap<Vec<u8>, u128>| names.iter().find(|(_, key)| **key == node.0).map(|(name, _)| name.clone());
            let found = tree.nodes.iter().find_map(|(dir, entry)| Some((*dir, leads_there(&entry.names)?)));
            let (dir, name) = found.ok_or(Errno::ESTALE)?;
            Ok(FoundName { dir: tree.hand_out(dir), name: name.into() })
        })
    }
}
