//! Mounts as users hold and see them: detached trees, namespaces, and the list of mounts.

use crate::abi::{MountFlags, SuperblockFlags};
use crate::handle::Handle;
use crate::mount::{NamespaceId, TreeInfo};
use crate::sync::Arc;
use crate::vfs::Vfs;
use crate::walk::asker::Asker;

/// A tree of mounts that is attached nowhere yet. Made by
/// [`Context::new_tree`](crate::Context::new_tree) and
/// [`Context::open_tree`](crate::Context::open_tree).
///
/// It is used through its [`handle`](Self::handle), and can be [moved](crate::Context::move_mount)
/// into a namespace. If it was not moved, its mounts are unmounted when it is dropped. That may
/// block, as [`Context::umount`](crate::Context::umount) does.
///
/// [`MoveFlags`](crate::MoveFlags) has an example.
#[derive(Debug)]
pub struct DetachedTree {
    handle: Handle,
}

impl DetachedTree {
    pub(crate) fn new(handle: Handle) -> DetachedTree {
        DetachedTree { handle }
    }

    /// Returns the root of its topmost mount.
    ///
    /// [`MoveFlags`](crate::MoveFlags) has an example.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for DetachedTree {
    fn drop(&mut self) {
        self.handle.world().change(|change| change.dissolve(self.handle.place().mount()));
    }
}

/// A namespace of mounts. Made by [`Context::namespace`](crate::Context::namespace).
///
/// It ends with the last context in it and the last of these values, which unmounts all mounts in
/// it. That may block, as [`Context::umount`](crate::Context::umount) does. The first namespace of
/// a [`Vfs`] lives as long as the `Vfs`. Source: `mount_namespaces(7)`.
///
/// [`Context::mount_at`](crate::Context::mount_at) has an example.
#[derive(Clone, Debug)]
pub struct Namespace(Kind);

#[derive(Clone, Debug)]
enum Kind {
    First(Vfs),
    Other(Arc<Held>),
}

#[derive(Debug)]
struct Held {
    vfs: Vfs,
    id: NamespaceId,
}

impl Namespace {
    pub(crate) fn first(vfs: &Vfs) -> Namespace {
        Namespace(Kind::First(vfs.clone()))
    }

    /// Creates the owner of a namespace of this `Vfs`, which ends it.
    pub(crate) fn new(vfs: &Vfs, id: NamespaceId) -> Namespace {
        Namespace(Kind::Other(Arc::new(Held { vfs: vfs.clone(), id })))
    }

    pub(crate) fn vfs(&self) -> &Vfs {
        match &self.0 {
            Kind::First(vfs) => vfs,
            Kind::Other(held) => &held.vfs,
        }
    }

    pub(crate) fn id(&self) -> NamespaceId {
        match &self.0 {
            Kind::First(vfs) => vfs.world().namespace,
            Kind::Other(held) => held.id,
        }
    }

    pub(crate) fn is_first(&self) -> bool {
        matches!(self.0, Kind::First(_))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.vfs.world().change(|change| change.drop_namespace(self.id));
    }
}

/// A mount in the list of mounts. Source: `proc_pid_mountinfo(5)`.
///
/// [`Context::mount_at`](crate::Context::mount_at) has an example.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MountInfo {
    /// The number of the mount, which no other mount ever has.
    pub id: u64,
    /// The number of the mount in which it is mounted; its own, for a namespace's root.
    pub parent: u64,
    /// The number of its file system in this `Vfs`. Another file system may get it after this one
    /// is gone.
    pub file_system: u16,
    /// The path of its root within the file system.
    pub root: Vec<u8>,
    /// The path of the place that it covers, from the root of the calling context.
    pub mount_point: Vec<u8>,
    /// Its own flags: the sixth field.
    pub flags: MountFlags,
    /// The flags of its file system: the last field.
    pub superblock_flags: SuperblockFlags,
    /// The group of peers with which it exchanges events: `shared:N`.
    pub shared: Option<u32>,
    /// The group of peers from which it receives events: `master:N`.
    pub master: Option<u32>,
    /// The nearest such group that has a mount below the root: `propagate_from:N`.
    pub propagate_from: Option<u32>,
    /// Whether it cannot be bound: `unbindable`.
    pub unbindable: bool,
    /// Whether it has an id map: `idmapped`.
    pub id_mapped: bool,
}

impl MountInfo {
    pub(crate) fn all(asker: &Asker) -> Vec<MountInfo> {
        let world = &asker.world;
        let listed = world.change(|change| change.listed(asker.namespace, asker.root));
        listed.into_iter().map(|(info, root, point)| MountInfo::new(info, root, point)).collect()
    }

    fn new(info: TreeInfo, root: Vec<u8>, mount_point: Vec<u8>) -> MountInfo {
        MountInfo {
            id: info.number,
            parent: info.parent_number,
            file_system: info.superblock.0,
            root,
            mount_point,
            flags: info.flags,
            superblock_flags: info.superblock_flags,
            shared: info.shared,
            master: info.master,
            propagate_from: info.propagate_from,
            unbindable: info.unbindable,
            id_mapped: info.id_mapped,
        }
    }
}
