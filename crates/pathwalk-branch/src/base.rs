//! The base of all branches: a tree that other programs may change meanwhile.
//!
//! It is asked through a [`Context`] of a `Vfs` of its own, so the caches of that `Vfs`, and what
//! its file system says of their coherence, hold here, too. A node of the base that a branch uses
//! is held by a [`Handle`].
//!
//! # Numbers
//!
//! A node of the base has its own inode number in every branch. Three kinds of nodes have another
//! one, from the counter of new nodes: those on another device than the root of the base, those
//! whose number is as high as the counter's, and those under whose number a branch has another
//! node, since the base reused it.
//!
//! What it does not do: it changes nothing in the base. A time of access may move: listings and
//! reads ask for none to be kept, and the body of a link is read as any reader does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use parking_lot::Mutex;
use pathwalk::limits::LINK_MAX;
use pathwalk::permission::{Acl, AclKind};
use pathwalk::security::NodeId;
use pathwalk::{
    AtFlags, Attributes, ChangeCookie, Context, Device, Errno, File, FileHandle, FileType, Handle, HandleFlags, InodeFlags,
    Listed, OpenFlags, StatFs, StatxMask,
};

use crate::births::Births;
use crate::branch::Way;
use crate::numbers::Numbers;
use crate::origin::Origin;
use crate::restored::Restored;
use crate::rows::{self, Row};
use crate::stamp::Stamp;

/// The first number of a new node. Inode numbers of the base are below it, or are not used.
pub(crate) const FIRST_NEW: u64 = 1 << 62;

/// The `f_type` of tmpfs.
const TMPFS_MAGIC: u64 = 0x0102_1994;

/// The name of the file capability, of which an empty value can be set and not be read.
const CAPABILITY: &[u8] = b"security.capability";

/// The number of entries of a directory that are asked for at once.
const BATCH: usize = 1024;

/// The base.
pub(crate) struct Base {
    context: Context,
    root: Handle,
    device: Device,
    is_tmpfs: bool,
    births: Births,
    next: Numbers,
    restored: Restored,
    others: Mutex<Others>,
    /// Set once a node has a number for itself in [`Others::nodes`].
    has_others: AtomicBool,
}

/// The nodes of the base that have other numbers than their own.
#[derive(Default)]
struct Others {
    by_inode: HashMap<(Device, u64), u64>,
    /// Nodes whose own numbers were taken. The handle keeps the identity from being reused.
    nodes: HashMap<NodeId, (Handle, u64)>,
}

/// Returns what changes with each change of a node's data.
pub(crate) fn stamp(attributes: &Attributes) -> impl PartialEq {
    (attributes.size, attributes.mtime, attributes.ctime)
}

/// All that a branch copies of a node of the base, but for its data.
pub(crate) struct Copied {
    pub(crate) origin: Arc<Origin>,
    pub(crate) body: Option<Arc<[u8]>>,
}

impl Base {
    /// Creates the base. The counter is that of new nodes.
    pub(crate) fn new(context: Context, next: Numbers, restored: Restored) -> Result<Base, Errno> {
        let root = context.root().clone();
        let (device, statfs) = (root.attributes()?.device, root.statfs()?);
        if root.kind() != FileType::Directory {
            return Err(Errno::ENOTDIR);
        }
        let (is_tmpfs, births) = (statfs.kind == TMPFS_MAGIC, Births::of_base(&root)?);
        let (others, has_others) = (Mutex::default(), AtomicBool::new(false));
        Ok(Base { context, root, device, is_tmpfs, births, next, restored, others, has_others })
    }

    pub(crate) fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn root(&self) -> &Handle {
        &self.root
    }

    /// Returns whether times of birth tell nodes apart.
    pub(crate) fn births(&self) -> Births {
        self.births
    }

    /// Returns the bytes that a name adds to the size of a directory, and the size of an empty one.
    pub(crate) fn directory_sizes(&self) -> (u64, u64) {
        if self.is_tmpfs { (20, 40) } else { (0, 4096) }
    }

    pub(crate) fn statfs(&self) -> Result<StatFs, Errno> {
        let mut statfs = self.root.statfs()?;
        statfs.flags = pathwalk::MountFlags::empty();
        Ok(statfs)
    }

    /// Returns the size of the file system in bytes: the greatest there is, if it has no limit.
    pub(crate) fn size(&self) -> Result<u64, Errno> {
        let statfs = self.root.statfs()?;
        Ok(if statfs.blocks == 0 { u64::MAX } else { statfs.blocks.saturating_mul(statfs.block_size) })
    }

    /// Fails with `EXDEV` for a node on another device than the root of the base.
    pub(crate) fn check_device(&self, attributes: &Attributes) -> Result<(), Errno> {
        if attributes.device == self.device { Ok(()) } else { Err(Errno::EXDEV) }
    }

    /// Returns a number for a new node.
    pub(crate) fn new_number(&self) -> Result<u64, Errno> {
        self.next.next()
    }

    /// Returns the number of a node with these attributes.
    pub(crate) fn number(&self, node: &Handle, attributes: &Attributes) -> Result<u64, Errno> {
        if self.has_others.load(Relaxed)
            && let Some((_, number)) = self.others.lock().nodes.get(&node.node_id())
        {
            return Ok(*number);
        }
        self.own_number(attributes.device, attributes.ino)
    }

    /// Returns the number of what a listing shows in a directory of the base's own device.
    pub(crate) fn listed_number(&self, ino: u64) -> Result<u64, Errno> {
        self.own_number(self.device, ino)
    }

    /// Returns whether a number may be that of a node whose own number is another one.
    pub(crate) fn may_have_other_number(&self) -> bool {
        self.has_others.load(Relaxed)
    }

    fn own_number(&self, device: Device, ino: u64) -> Result<u64, Errno> {
        if device == self.device && ino < FIRST_NEW {
            return Ok(ino);
        }
        match self.others.lock().by_inode.entry((device, ino)) {
            Entry::Occupied(number) => Ok(*number.get()),
            Entry::Vacant(unknown) => Ok(*unknown.insert(self.new_number()?)),
        }
    }

    /// Gives a node a number of its own, since that of its inode is taken.
    pub(crate) fn number_apart(&self, node: &Handle) -> Result<u64, Errno> {
        let known = self.others.lock().nodes.get(&node.node_id()).map(|(_, number)| *number);
        known.map_or_else(|| Ok(self.set_number(node, self.new_number()?)), Ok)
    }

    /// Gives a node this number, unless it has one of its own. Returns the number that it has.
    pub(crate) fn set_number(&self, node: &Handle, number: u64) -> u64 {
        let mut others = self.others.lock();
        self.has_others.store(true, Relaxed);
        others.nodes.entry(node.node_id()).or_insert_with(|| (node.clone(), number)).1
    }

    /// Returns the node of a name; `None` if there is none.
    pub(crate) fn lookup(&self, dir: &Handle, name: &[u8]) -> Result<Option<Handle>, Errno> {
        match self.context.lookup_at(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(found) => Ok(Some(found)),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    pub(crate) fn read_link(&self, node: &Handle) -> Result<Box<[u8]>, Errno> {
        let mut buffer = vec![0; LINK_MAX + 1];
        let length = self.context.readlinkat(node, "", &mut buffer)?;
        buffer.truncate(length);
        Ok(buffer.into())
    }

    pub(crate) fn open(&self, node: &Handle) -> Result<File, Errno> {
        let opened = self.context.reopen(node, OpenFlags::READ | OpenFlags::NOATIME);
        // A base that others own may refuse to leave the times of access.
        if let Err(Errno::EPERM) = opened { self.context.reopen(node, OpenFlags::READ) } else { opened }
    }

    /// Returns the stamp of a node as it is now.
    pub(crate) fn stamp(&self, node: &Handle) -> Result<Stamp, Errno> {
        let (attributes, cookie) = self.now(node)?;
        Ok(Stamp::of(&attributes, cookie))
    }

    /// Returns a node as it is now, for extents that show it.
    pub(crate) fn origin(&self, node: &Handle) -> Result<Origin, Errno> {
        let (attributes, cookie) = self.now(node)?;
        Ok(Origin::new(node.clone(), attributes, cookie))
    }

    /// Fails with `ESTALE` if a node was changed since it was copied, or is gone.
    pub(crate) fn check_unchanged(&self, origin: &Origin) -> Result<(), Errno> {
        let node = origin.handle(self)?;
        let (now, cookie) = self.now(&node).map_err(|_| Errno::ESTALE)?;
        let is_same = stamp(&now) == stamp(&origin.attributes) && cookie == origin.cookie;
        // Of another size, no commit has left it.
        let is_restored = || now.size == origin.attributes.size && self.restored.is_same(Stamp::of(&now, cookie), origin.stamp());
        if is_same || is_restored() { Ok(()) } else { Err(Errno::ESTALE) }
    }

    /// Returns the stamp that a node had before all commits which were not made and touched it.
    pub(crate) fn first_stamp(&self, stamp: Stamp) -> Stamp {
        self.restored.first(stamp)
    }

    /// Returns whether a commit that was not made has touched nodes.
    pub(crate) fn has_restored(&self) -> bool {
        !self.restored.is_empty()
    }

    /// Reads which nodes other processes have noted as touched.
    pub(crate) fn read_restored(&self) -> Result<(), Errno> {
        self.restored.read()
    }

    /// Notes the stamps of nodes that a commit which was not made has touched, each with the one
    /// before.
    pub(crate) fn note_restored(&self, pairs: &[(Stamp, Stamp)]) -> Result<(), Errno> {
        self.restored.note(pairs)
    }

    /// Returns the attributes of a node as they are now, and its change cookie, which is not newer:
    /// a change in between shows as one.
    fn now(&self, node: &Handle) -> Result<(Attributes, Option<ChangeCookie>), Errno> {
        let wanted = StatxMask::BASIC_STATS | StatxMask::CHANGE_COOKIE;
        let (found, details) = self.context.details_at(node, "", AtFlags::EMPTY_PATH, wanted)?;
        Ok((found.into(), details.change))
    }

    /// Returns all names of a directory, without `.` and `..`.
    pub(crate) fn list(&self, dir: &Handle) -> Result<Vec<Listed>, Errno> {
        let dir = self.open(dir)?;
        let mut all = Vec::new();
        loop {
            let batch = dir.getdents(BATCH)?;
            if batch.is_empty() {
                return Ok(all);
            }
            all.extend(batch.into_iter().filter(|entry| !matches!(&*entry.name, b"." | b"..")));
        }
    }

    /// Returns a list of a node; `None` also where there are none.
    pub(crate) fn acl(&self, node: &Handle, kind: AclKind) -> Result<Option<Acl>, Errno> {
        none_if_unsupported(self.context.acl_at(node, "", kind, AtFlags::EMPTY_PATH), || None)
    }

    /// Returns an extended attribute; `None` if the node does not have it.
    pub(crate) fn xattr(&self, node: &Handle, name: &[u8]) -> Result<Option<Vec<u8>>, Errno> {
        match self.context.getxattrat(node, "", name, AtFlags::EMPTY_PATH) {
            Ok(value) => Ok(Some(value)),
            Err(Errno::ENODATA) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Returns the names of the extended attributes that are no access control lists.
    pub(crate) fn xattr_names(&self, node: &Handle) -> Result<Vec<Vec<u8>>, Errno> {
        let list = none_if_unsupported(self.context.listxattrat(node, "", AtFlags::EMPTY_PATH), Default::default)?;
        Ok(list.iter().filter(|name| !name.starts_with(b"system.")).map(<[u8]>::to_vec).collect())
    }

    /// Returns the flags that users set: none where there are none, and of a file that this process
    /// may not open. Those that forbid changes are attributes, too.
    pub(crate) fn inode_flags(&self, node: &Handle) -> Result<InodeFlags, Errno> {
        match self.context.inode_flags_at(node, "", AtFlags::EMPTY_PATH) {
            Err(Errno::EOPNOTSUPP | Errno::ENOTTY | Errno::EACCES | Errno::EPERM) => Ok(InodeFlags::empty()),
            flags => flags,
        }
    }

    pub(crate) fn generation(&self, node: &Handle) -> Result<u32, Errno> {
        self.context.generation_at(node, "", AtFlags::EMPTY_PATH)
    }

    pub(crate) fn encode_handle(&self, node: &Handle) -> Result<FileHandle, Errno> {
        self.context.name_to_handle_at(node, "", HandleFlags::EMPTY_PATH).map(|(handle, _)| handle)
    }

    pub(crate) fn decode_handle(&self, handle: &FileHandle) -> Result<Handle, Errno> {
        self.context.lookup_by_handle(&self.root, handle)
    }

    /// Returns the path of a node from the root of the base, without a slash at its beginning;
    /// `None` if it has none.
    pub(crate) fn path(&self, node: &Handle) -> Option<Box<[u8]>> {
        let (path, root) = (node.path().ok()?, self.root.path().ok()?);
        let below = path.strip_prefix(root.strip_suffix(b"/").unwrap_or(&root))?;
        match below.split_first() {
            None => Some(Box::default()),
            Some((b'/', rest)) => Some(rest.into()),
            Some(_) => None,
        }
    }

    /// Returns the directory of a node, and its name there: `ESTALE` if it has none.
    pub(crate) fn place(&self, node: &Handle) -> Result<(Handle, Box<[u8]>), Errno> {
        let path = self.path(node).ok_or(Errno::ESTALE)?;
        let (dir, name) = match path.iter().rposition(|byte| *byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None => (&b""[..], &path[..]),
        };
        let dir = match self.context.lookup_at(&self.root, dir, AtFlags::EMPTY_PATH) {
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP) => return Err(Errno::ESTALE),
            dir => dir?,
        };
        match self.lookup(&dir, name)? {
            Some(found) if found.node_id() == node.node_id() => Ok((dir, name.into())),
            _ => Err(Errno::ESTALE),
        }
    }

    /// Returns all that is copied of a node, which has this number and was found by this way, but
    /// for its data.
    pub(crate) fn copied(&self, node: &Handle, number: u64, way: Option<Arc<Way>>) -> Result<Copied, Errno> {
        let mut origin = self.origin(node)?;
        let attributes = &origin.attributes;
        let kinds: &[AclKind] = match attributes.kind {
            FileType::Symlink => &[],
            FileType::Directory => &[AclKind::Access, AclKind::Default],
            _ => &[AclKind::Access],
        };
        let mut extras = Vec::new();
        for kind in kinds {
            if let Some(acl) = self.acl(node, *kind)? {
                extras.push((rows::acl(number, *kind), Row::Acl(Arc::new(acl))));
            }
        }
        for name in self.xattr_names(node)? {
            let value = match self.xattr(node, &name) {
                // The one value that is kept and never shown.
                Err(Errno::EINVAL) if name == CAPABILITY => Some(Vec::new()),
                value => value?,
            };
            extras.extend(value.map(|value| (rows::xattr(number, &name), Row::Xattr(value.into()))));
        }
        extras.sort_by(|(one, _), (other, _)| one.cmp(other));
        let has_flags = matches!(attributes.kind, FileType::Regular | FileType::Directory);
        let flags = if has_flags { self.inode_flags(node)? } else { InodeFlags::empty() };
        let is_link = attributes.kind == FileType::Symlink;
        let body = if is_link { Some(self.read_link(node)?.into()) } else { None };
        (origin.flags, origin.extras, origin.way) = (flags, extras, way);
        Ok(Copied { origin: Arc::new(origin), body })
    }
}

/// Returns nothing in the place of what a file system does not have.
fn none_if_unsupported<T>(found: Result<T, Errno>, none: impl FnOnce() -> T) -> Result<T, Errno> {
    match found {
        Err(Errno::EOPNOTSUPP | Errno::ENOTTY) => Ok(none()),
        found => found,
    }
}
