//! All that a node has but its names and the data of a file: how it is read, made and set.
//!
//! What always holds: [`Node::set`] sets owner, lists, mode, extended attributes, times and flags
//! in that order, since each of these may change those before it, and none changes one behind it.

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{
    AtFlags, Attributes, Context, Device, Errno, FileType, Handle, InodeFlags, LinkFlags, NewKind, SetTime, Timestamp, XattrFlags,
};
use pathwalk_branch::Aspects;
use serde::{Deserialize, Serialize};

use crate::acl;
use crate::bytes::Bytes;
use crate::error::Error;
use crate::tree::Tree;

/// The type of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    #[default]
    File,
    Directory,
    Link,
    Fifo,
    Socket,
    CharDevice,
    BlockDevice,
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Kind {
        match kind {
            FileType::Regular => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Link,
            FileType::Fifo => Kind::Fifo,
            FileType::Socket => Kind::Socket,
            FileType::CharDevice => Kind::CharDevice,
            FileType::BlockDevice => Kind::BlockDevice,
        }
    }
}

impl Kind {
    pub(crate) fn file_type(self) -> FileType {
        match self {
            Kind::File => FileType::Regular,
            Kind::Directory => FileType::Directory,
            Kind::Link => FileType::Symlink,
            Kind::Fifo => FileType::Fifo,
            Kind::Socket => FileType::Socket,
            Kind::CharDevice => FileType::CharDevice,
            Kind::BlockDevice => FileType::BlockDevice,
        }
    }
}

/// A time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Time {
    pub(crate) seconds: i64,
    pub(crate) nanoseconds: u32,
}

impl From<Timestamp> for Time {
    fn from(time: Timestamp) -> Time {
        Time { seconds: time.seconds, nanoseconds: time.nanoseconds }
    }
}

impl From<Time> for Timestamp {
    fn from(time: Time) -> Timestamp {
        Timestamp { seconds: time.seconds, nanoseconds: time.nanoseconds.min(999_999_999) }
    }
}

/// All that a node has but its names and the data of a file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// The permission bits with suid, sgid and sticky.
    pub(crate) mode: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The size of a file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) size: u64,
    /// `None` leaves it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) atime: Option<Time>,
    pub(crate) mtime: Time,
    /// The flags of `chattr(1)`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) flags: u32,
    /// The numbers of a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) device: Option<[u32; 2]>,
    /// The body of a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) xattrs: Vec<(Bytes, Bytes)>,
    /// The entries of the access list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) acl: Vec<String>,
    /// The entries of the list for new nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) default_acl: Vec<String>,
}

fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

/// Returns nothing in the place of what a file system does not have.
fn if_supported<T: Default>(found: Result<T, Errno>) -> Result<T, Errno> {
    match found {
        Err(Errno::EOPNOTSUPP | Errno::ENOTTY | Errno::ENODATA) => Ok(T::default()),
        found => found,
    }
}

/// The flags that forbid changes.
const FORBIDDING: InodeFlags = InodeFlags::IMMUTABLE.union(InodeFlags::APPEND);

/// Returns the flags of a node.
fn flags(context: &Context, node: &Handle) -> Result<InodeFlags, Errno> {
    match node.kind() {
        FileType::Regular | FileType::Directory => if_supported(context.inode_flags_at(node, "", AtFlags::EMPTY_PATH)),
        _ => Ok(InodeFlags::empty()),
    }
}

/// Returns a list of a node.
fn list(context: &Context, node: &Handle, kind: AclKind) -> Result<Option<Acl>, Errno> {
    match (node.kind(), kind) {
        (FileType::Symlink, _) => Ok(None),
        (other, AclKind::Default) if other != FileType::Directory => Ok(None),
        _ => if_supported(context.acl_at(node, "", kind, AtFlags::EMPTY_PATH)),
    }
}

/// Returns the extended attributes of a node, without its lists, sorted.
fn xattrs(context: &Context, node: &Handle) -> Result<Vec<(Bytes, Bytes)>, Errno> {
    let names = if_supported(context.listxattrat(node, "", AtFlags::EMPTY_PATH))?;
    let mut all = Vec::new();
    for name in names.iter().filter(|name| !name.starts_with(b"system.")) {
        match context.getxattrat(node, "", name, AtFlags::EMPTY_PATH) {
            Ok(value) => all.push((name.into(), Bytes(value))),
            Err(Errno::ENODATA) => {}
            Err(errno) => return Err(errno),
        }
    }
    all.sort();
    Ok(all)
}

impl Node {
    /// Reads the node at a path.
    pub(crate) fn read(tree: &Tree, path: &[u8]) -> Result<Node, Error> {
        let node = tree.node(path)?;
        let body = if node.kind() == FileType::Symlink { Some(Bytes(tree.body(path)?)) } else { None };
        let read = || {
            let (context, of) = (&tree.context, node.attributes()?);
            let device = matches!(of.kind, FileType::CharDevice | FileType::BlockDevice);
            let entries = |kind| Ok::<_, Errno>(list(context, &node, kind)?.as_ref().map(acl::to_text).unwrap_or_default());
            Ok(Node {
                kind: of.kind.into(),
                mode: of.mode,
                uid: of.uid,
                gid: of.gid,
                size: if of.kind == FileType::Regular { of.size } else { 0 },
                atime: Some(of.atime.into()),
                mtime: of.mtime.into(),
                flags: flags(context, &node)?.bits(),
                device: device.then_some([of.device_node.major, of.device_node.minor]),
                body,
                xattrs: xattrs(context, &node)?,
                acl: entries(AclKind::Access)?,
                default_acl: entries(AclKind::Default)?,
            })
        };
        read().map_err(Error::tree("read the attributes of", path))
    }

    /// Returns what is wrong with a node from an input.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let is_device = matches!(self.kind, Kind::CharDevice | Kind::BlockDevice);
        let has_list = |entries: &[String]| entries.is_empty() || acl::from_text(entries).is_some();
        let device = self.device.map(|[major, minor]| Device { major, minor });
        let is_body = |body: &Bytes| !body.0.is_empty() && !body.0.contains(&0);
        match self {
            _ if self.mode > 0o7777 => Some("the mode is none"),
            _ if is_device && !device.is_some_and(|device| device.is_valid()) => {
                Some("the number of a device is missing or none")
            }
            _ if self.kind == Kind::Link && !self.body.as_ref().is_some_and(is_body) => {
                Some("the body of a link is missing or none")
            }
            _ if !has_list(&self.acl) || !has_list(&self.default_acl) => Some("an access control list is none"),
            _ => None,
        }
    }

    /// Makes the node at a path where there is nothing, empty, for its owner alone.
    pub(crate) fn make(&self, tree: &Tree, path: &[u8]) -> Result<(), Error> {
        let make = || {
            let (dir, name) = tree.place(path)?;
            let device = self.device.map(|[major, minor]| Device { major, minor }).unwrap_or_default();
            let kind = match self.kind {
                Kind::Directory => return tree.context.mkdirat(&dir, name, 0o700),
                Kind::Link => {
                    let body = self.body.as_ref().map(|body| &body.0[..]).unwrap_or_default();
                    return tree.context.symlinkat(body, &dir, name);
                }
                Kind::File => NewKind::Regular,
                Kind::Fifo => NewKind::Fifo,
                Kind::Socket => NewKind::Socket,
                Kind::CharDevice => NewKind::CharDevice(device),
                Kind::BlockDevice => NewKind::BlockDevice(device),
            };
            tree.context.mknodat(&dir, name, kind, 0o600)
        };
        make().map_err(Error::tree("make", path))
    }

    /// Sets what the node at a path has, as far as `what` says. Times and flags of a directory that
    /// forbid changes are set by [`finish`](Node::finish).
    pub(crate) fn set(&self, tree: &Tree, path: &[u8], what: Aspects) -> Result<(), Error> {
        let node = tree.node(path)?;
        self.set_on(&tree.context, &node, what).map_err(Error::tree("set the attributes of", path))
    }

    fn set_on(&self, context: &Context, node: &Handle, what: Aspects) -> Result<(), Errno> {
        let before = node.attributes()?;
        let is_link = self.kind == Kind::Link;
        let has_attributes = what.contains(Aspects::ATTRIBUTES);
        if has_attributes && (before.uid, before.gid) != (self.uid, self.gid) {
            context.fchownat(node, "", Some(self.uid), Some(self.gid), AtFlags::EMPTY_PATH)?;
        }
        if what.contains(Aspects::XATTRS) && !is_link {
            self.set_list(context, node, AclKind::Access, &self.acl)?;
            if self.kind == Kind::Directory {
                self.set_list(context, node, AclKind::Default, &self.default_acl)?;
            }
        }
        let mode = if has_attributes || what.contains(Aspects::XATTRS) && !self.acl.is_empty() { self.mode } else { before.mode };
        if !is_link && node.attributes()?.mode != mode {
            context.fchmodat(node, "", mode, AtFlags::EMPTY_PATH)?;
        }
        if what.contains(Aspects::XATTRS) {
            self.set_xattrs(context, node)?;
        }
        if self.kind != Kind::Directory {
            self.finish_on(context, node, what)?;
        }
        Ok(())
    }

    fn set_list(&self, context: &Context, node: &Handle, kind: AclKind, entries: &[String]) -> Result<(), Errno> {
        let wanted = if entries.is_empty() { None } else { Some(acl::from_text(entries).ok_or(Errno::EINVAL)?) };
        if list(context, node, kind)? == wanted {
            return Ok(());
        }
        context.set_acl_at(node, "", kind, wanted.as_ref(), AtFlags::EMPTY_PATH)
    }

    fn set_xattrs(&self, context: &Context, node: &Handle) -> Result<(), Errno> {
        let there = xattrs(context, node)?;
        for (name, _) in there.iter().filter(|(name, _)| !self.xattrs.iter().any(|(wanted, _)| wanted == name)) {
            context.removexattrat(node, "", &name.0, AtFlags::EMPTY_PATH)?;
        }
        for (name, value) in self.xattrs.iter().filter(|wanted| !there.contains(wanted)) {
            context.setxattrat(node, "", &name.0, &value.0, XattrFlags::empty(), AtFlags::EMPTY_PATH)?;
        }
        Ok(())
    }

    /// Sets times and flags of a directory, when all that is in it was made.
    pub(crate) fn finish(&self, tree: &Tree, path: &[u8], what: Aspects) -> Result<(), Error> {
        let node = tree.node(path)?;
        self.finish_on(&tree.context, &node, what).map_err(Error::tree("set the attributes of", path))
    }

    fn finish_on(&self, context: &Context, node: &Handle, what: Aspects) -> Result<(), Errno> {
        if what.intersects(Aspects::ATTRIBUTES | Aspects::DATA) {
            let atime = self.atime.filter(|_| what.contains(Aspects::ATTRIBUTES));
            let atime = atime.map_or(SetTime::Keep, |time| SetTime::To(time.into()));
            context.utimensat(node, "", atime, SetTime::To(self.mtime.into()), AtFlags::EMPTY_PATH)?;
        }
        let wanted = InodeFlags::from_bits_retain(self.flags);
        if what.contains(Aspects::ATTRIBUTES) && flags(context, node)? != wanted {
            context.set_inode_flags_at(node, "", wanted, AtFlags::EMPTY_PATH)?;
        }
        Ok(())
    }
}

/// Lets a node be changed, and returns the flags that forbade it.
pub(crate) fn allow_changes(tree: &Tree, path: &[u8]) -> Result<InodeFlags, Error> {
    let node = tree.node(path)?;
    let allow = || {
        let there = flags(&tree.context, &node)?;
        if there.intersects(FORBIDDING) {
            tree.context.set_inode_flags_at(&node, "", there - FORBIDDING, AtFlags::EMPTY_PATH)?;
        }
        Ok(there & FORBIDDING)
    };
    allow().map_err(Error::tree("change the flags of", path))
}

/// Forbids changes again, as [`allow_changes`] found it.
pub(crate) fn forbid_changes(tree: &Tree, path: &[u8], forbidden: InodeFlags) -> Result<(), Error> {
    if forbidden.is_empty() {
        return Ok(());
    }
    let node = tree.node(path)?;
    let forbid = || {
        let there = flags(&tree.context, &node)?;
        tree.context.set_inode_flags_at(&node, "", there | forbidden, AtFlags::EMPTY_PATH)
    };
    forbid().map_err(Error::tree("change the flags of", path))
}

/// Gives a node a further name.
pub(crate) fn link(tree: &Tree, node: &[u8], name: &[u8]) -> Result<(), Error> {
    let link = || {
        let (from, to) = (tree.place(node)?, tree.place(name)?);
        tree.context.linkat(&from.0, from.1, &to.0, to.1, LinkFlags::empty())
    };
    link().map_err(Error::tree("make the further name", name))
}

/// Sets the time of the last change of a directory.
pub(crate) fn set_mtime(tree: &Tree, path: &[u8], mtime: Time) -> Result<(), Error> {
    let set = |node: Handle| tree.context.utimensat(&node, "", SetTime::Keep, SetTime::To(mtime.into()), AtFlags::EMPTY_PATH);
    tree.find(path).and_then(set).map_err(Error::tree("set the times of", path))
}

/// Returns whether the node has several names, so that a change by one is seen by the others.
pub(crate) fn has_several_names(of: &Attributes) -> bool {
    of.kind != FileType::Directory && of.nlink > 1
}
