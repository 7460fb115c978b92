//! `mkdir(2)`, `mknod(2)`, `symlink(2)`: names for new nodes.
//!
//! Order of the errors, as Linux has it: the name is taken (`EEXIST`), a slash behind the name of a
//! node that is no directory (`ENOENT`), a read-only mount (`EROFS`), the security hook,
//! permission, the capability for devices.

use super::may_change::{may_create, new_node, writing};
use super::parent::{Last, Parent, parent};
use super::security;
use crate::Errno;
use crate::attr::{Device, FileType};
use crate::mount::{MountPin, MountWriter, PinnedPlace};
use crate::node::NewKind;
use crate::permission::Capabilities;
use crate::security::Rights;
use crate::superblock::change::Made;
use crate::walk::asker::{Asker, Begin};
use crate::walk::verdict::Ending;
use crate::walk::{Env, Whose};

pub(crate) fn make(asker: &Asker, at: Begin, path: &[u8], kind: NewKind<'_>, mode: u16) -> Result<(), Errno> {
    make_node(&Env::of(asker, Whose::Effective, at), at, path, kind, mode).map(drop)
}

/// Makes a node under a name that is free, and returns it. `EEXIST`.
pub(super) fn make_node<'a>(
    env: &Env<'a>,
    at: Begin,
    path: &'a [u8],
    kind: NewKind<'_>,
    mode: u16,
) -> Result<PinnedPlace<'a>, Errno> {
    let Parent { dir, last, ending } = parent(env, at, path)?;
    let Last::Name(name) = last else { return Err(Errno::EEXIST) };
    let writing = writing(env, dir.mount());
    let made = env.trees().make(dir.id(), name, || {
        may_take_name(&writing, ending, kind.file_type())?;
        security::may(env, dir.place(), Rights::to_make(kind.file_type()))?;
        let who = env.who_in(dir.mount());
        let of_dir = may_create(env, &who, dir.id())?;
        // The character device 0:0 is a whiteout, which gives no rights.
        let is_device = match kind {
            NewKind::CharDevice(device) => device != Device::default(),
            NewKind::BlockDevice(_) => true,
            _ => false,
        };
        if is_device && !env.who().has(Capabilities::MKNOD) {
            return Err(Errno::EPERM);
        }
        Ok(new_node(env, &who, (dir.id(), &of_dir), kind, mode))
    })?;
    match made {
        Made::New(node) => Ok(PinnedPlace { node, mount: MountPin::again(env.world, dir.mount()) }),
        Made::There(_) => Err(Errno::EEXIST),
    }
}

/// Returns the error, if any, that keeps all callers from taking a free name. The caller is about
/// to write.
pub(crate) fn may_take_name(writing: &Result<MountWriter<'_>, Errno>, ending: Ending, kind: FileType) -> Result<(), Errno> {
    if ending == Ending::Slash && kind != FileType::Directory {
        return Err(Errno::ENOENT);
    }
    writing.as_ref().map(|_| ()).map_err(|errno| *errno)
}

pub(crate) fn symlink(asker: &Asker, body: &[u8], at: Begin, path: &[u8]) -> Result<(), Errno> {
    if body.is_empty() {
        return Err(Errno::ENOENT);
    }
    if body.len() > crate::limits::LINK_MAX {
        return Err(Errno::ENAMETOOLONG);
    }
    if body.contains(&0) {
        return Err(Errno::EINVAL);
    }
    make(asker, at, path, NewKind::Symlink(body), 0o777)
}

pub(crate) fn mknod(asker: &Asker, at: Begin, path: &[u8], kind: NewKind<'_>, mode: u16) -> Result<(), Errno> {
    match kind {
        NewKind::Directory => Err(Errno::EPERM),
        NewKind::Symlink(_) => Err(Errno::EINVAL),
        NewKind::CharDevice(device) | NewKind::BlockDevice(device) if !device.is_valid() => Err(Errno::EINVAL),
        _ => make(asker, at, path, kind, mode),
    }
}
