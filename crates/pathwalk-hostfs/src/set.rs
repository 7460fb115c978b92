//! Changes of nodes on the host: attributes, access control lists, extended attributes.
//!
//! A node is reached as a place beneath the root and verified, and each call takes that
//! descriptor: so the node that is changed is the node that is meant, and all attributes that are
//! returned are its own, read by one call after the change.
//!
//! A change of several attributes takes several calls. If one fails, those before it stay; the
//! engine is given the error, and what it has cached is read again when attributes are reloaded.
//!
//! A file that became immutable is still written and truncated by those that opened it before. Its
//! attributes can be set no more, so the bits that a write clears are then cleared by the kernel,
//! as it does for a thread without `CAP_FSETID`.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{AclState, Attributes, Errno, NodeKey, SetAttributes, SetCause, Timestamp, XattrFlags, XattrName};
use rustix::fs::{self, AtFlags, Gid, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid};
use rustix::io::{self, retry_on_intr};

use crate::HostFs;
use crate::acl;
use crate::attributes::from_statx;
use crate::beneath::{Reached, errno};
use crate::calls;
use crate::descriptors::{For, Slot};
use crate::guard::Guard;
use crate::ids::Clearing;
use crate::open_file::{Wait, host};
use crate::watch::coverage::Handing;

impl HostFs {
    /// Sets attributes.
    pub(crate) fn set(&self, key: NodeKey, set: &SetAttributes) -> Result<Attributes, Errno> {
        let (node, before) = self.tree.reach(key)?;
        let changed = self.set_reached(key, (&node, &before), set);
        // Also after a failure, since some of it may have been done.
        let loaded = node.stat().map_err(host).and_then(|stat| self.load((key, &node), from_statx(&stat)?, Handing::Again));
        let guard = loaded.as_ref().ok().and_then(|loaded| loaded.guard.clone());
        self.tree.nodes.write().refresh_guard(key, guard);
        changed.and(loaded).map(|loaded| loaded.attributes)
    }

    /// Returns the error with which the host refuses a size that is too large for its file system,
    /// by asking for it, which changes nothing. Another error may come first there: on ext4,
    /// `EPERM` for a file that became immutable.
    pub(crate) fn refused_size(&self, key: NodeKey, size: u64) -> Result<(), Errno> {
        let (node, _) = self.tree.reach(key)?;
        self.resize(key, &node, size, None).map(drop)
    }

    fn set_reached(&self, key: NodeKey, (node, before): (&Reached, &Attributes), set: &SetAttributes) -> Result<(), Errno> {
        let mut set = *set;
        if let Some(size) = set.size {
            if self.resize(key, node, size, set.mode.map(|_| before.gid))? == Resized::ThroughOpenFile {
                // The kernel has set the times, too.
                set.mtime = None;
            }
            if set.mode.is_some() {
                // The kernel has cleared the bits, too.
                let now = from_statx(&node.stat().map_err(host)?)?;
                set.mode = set.mode.filter(|mode| *mode != now.mode);
            }
        }
        let owner = (set.uid.unwrap_or(before.uid), set.gid.unwrap_or(before.gid));
        if set.uid.is_some() || set.gid.is_some() {
            set_owner(node, owner, before)?;
        }
        if let Some(mode) = set.mode {
            let only_clears = mode & !PRIVILEGES == before.mode & !PRIVILEGES && mode & !before.mode == 0;
            match set_mode(node, mode) {
                Err(Errno::EPERM) if only_clears => self.clear(key, (node, before), mode, set.cause)?,
                done => done?,
            }
        }
        if set.atime.is_some() || set.mtime.is_some() {
            set_times(node, set.atime, set.mtime)?;
        } else if set == SetAttributes::default() {
            // Moves the time of change, and changes nothing else.
            fs::chownat(node.fd(), "", None, None, AtFlags::EMPTY_PATH).map_err(host)?;
        }
        Ok(())
    }

    /// Clears suid and sgid bits of a file whose mode the host refuses to set, since it may only
    /// grow or is immutable: by a change of owner to the same one, which some file systems allow,
    /// or by the write that follows.
    fn clear(&self, key: NodeKey, (node, before): (&Reached, &Attributes), mode: u16, cause: SetCause) -> Result<(), Errno> {
        let changed = {
            let _clears = Clearing::begin(before.gid)?;
            fs::chownat(node.fd(), "", None, None, AtFlags::EMPTY_PATH).map_err(host)
        };
        let now = from_statx(&node.stat().map_err(host)?)?;
        if now.mode == mode || cause == SetCause::Write && self.tree.open.clear_at_next_write(key, before.gid) {
            return Ok(());
        }
        changed.and(Err(Errno::EPERM))
    }

    /// Sets the size of a regular file. With `truncate(2)`, the host's file system decides about
    /// the times if the size stays, and the right to write to the file is needed. `ftruncate(2)`
    /// needs a descriptor that was opened for that, and always updates them. With the file's group,
    /// the kernel clears its suid and sgid bits.
    fn resize(&self, key: NodeKey, node: &Reached, size: u64, clears: Option<u32>) -> Result<Resized, Errno> {
        if let Ok(path) = node.through_proc() {
            let truncated = {
                let _clears = clears.map(Clearing::begin).transpose()?;
                calls::truncate(&path, size)
            };
            // The right to write may be that of a group which the thread has left for this.
            let truncated = match truncated {
                Err(io::Errno::ACCESS) if clears.is_some() => calls::truncate(&path, size),
                truncated => truncated,
            };
            match truncated {
                Err(io::Errno::ACCESS | io::Errno::PERM) if self.tree.open.writing(key).is_some() => {}
                resized => return resized.map(|()| Resized::ByName).map_err(host),
            }
        }
        self.truncate_open(key, size, clears).map(|()| Resized::ThroughOpenFile)
    }

    /// Sets the size of a file that is open for writing, and of another one if that can be opened.
    /// With its group, the kernel clears its suid and sgid bits.
    fn truncate_open(&self, key: NodeKey, size: u64, clears: Option<u32>) -> Result<(), Errno> {
        let (slot, purpose) = match self.tree.open.writing(key) {
            Some(open) => open,
            None => (Arc::new(Slot::new(For::Writing)), For::Writing),
        };
        let fd = self.tree.open.fd(&slot, Wait::ForHost, || self.tree.open_node(key, purpose, Wait::ForHost))?;
        let _clears = clears.map(Clearing::begin).transpose()?;
        retry_on_intr(|| fs::ftruncate(&fd, size)).map_err(host)
    }

    /// Sets a list of a node, or removes it.
    pub(crate) fn set_list(
        &self,
        key: NodeKey,
        kind: AclKind,
        list: Option<&Acl>,
        mode: Option<u16>,
    ) -> Result<Attributes, Errno> {
        let (node, _) = self.tree.reach(key)?;
        let name = acl::attribute(kind);
        match (list, mode) {
            (Some(list), _) => self.set_by(key, &node, name, &list.to_xattr(), fs::XattrFlags::empty())?,
            // The kernel drops a list that grants what the bits grant, and sets those at once.
            (None, Some(mode)) => self.set_by(key, &node, name, &Acl::from_mode(mode).to_xattr(), fs::XattrFlags::empty())?,
            (None, None) => match self.remove_by(key, &node, name) {
                Err(Errno::ENODATA) => {}
                removed => removed?,
            },
        }
        let mut attributes = from_statx(&node.stat().map_err(host)?)?;
        if let Some(mode) = mode.filter(|mode| *mode != attributes.mode) {
            set_mode(&node, mode)?;
            attributes = from_statx(&node.stat().map_err(host)?)?;
        }
        let guard = self.guard_of(&node, &attributes).ok();
        if let Some(guard) = &guard {
            attributes.acl = if guard.has_acl() { AclState::Present } else { AclState::Absent };
        }
        self.tree.nodes.write().refresh_guard(key, guard.filter(Guard::has_acl).map(Arc::new));
        Ok(attributes)
    }

    /// Sets an extended attribute.
    pub(crate) fn set_value(&self, key: NodeKey, name: XattrName<'_>, value: &[u8], flags: XattrFlags) -> Result<(), Errno> {
        let (node, _) = self.tree.reach(key)?;
        let name = CString::new(name.bytes()).map_err(|_| Errno::EINVAL)?;
        self.set_by(key, &node, &name, value, fs::XattrFlags::from_bits_retain(flags.bits()))
    }

    /// Removes an extended attribute.
    pub(crate) fn remove_value(&self, key: NodeKey, name: XattrName<'_>) -> Result<(), Errno> {
        let (node, _) = self.tree.reach(key)?;
        let name = CString::new(name.bytes()).map_err(|_| Errno::EINVAL)?;
        self.remove_by(key, &node, &name)
    }

    /// Sets an attribute through `/proc` or, without it, by opening the node.
    fn set_by(&self, key: NodeKey, node: &Reached, name: &CStr, value: &[u8], flags: fs::XattrFlags) -> Result<(), Errno> {
        match node.through_proc() {
            Ok(path) => retry_on_intr(|| fs::setxattr(&path, name, value, flags)).map_err(host),
            Err(_) => {
                let fd = self.tree.open_node(key, For::Reading, Wait::ForHost)?;
                retry_on_intr(|| fs::fsetxattr(&fd, name, value, flags)).map_err(host)
            }
        }
    }

    fn remove_by(&self, key: NodeKey, node: &Reached, name: &CStr) -> Result<(), Errno> {
        match node.through_proc() {
            Ok(path) => retry_on_intr(|| fs::removexattr(&path, name)).map_err(host),
            Err(_) => {
                let fd = self.tree.open_node(key, For::Reading, Wait::ForHost)?;
                retry_on_intr(|| fs::fremovexattr(&fd, name)).map_err(host)
            }
        }
    }
}

/// The bits suid and sgid.
const PRIVILEGES: u16 = 0o6000;

/// How a file got its size.
#[derive(PartialEq, Eq)]
enum Resized {
    ByName,
    /// With new times.
    ThroughOpenFile,
}

/// Sets the mode of a node that is no link.
pub(crate) fn set_mode(node: &Reached, mode: u16) -> Result<(), Errno> {
    let refused = match calls::chmod(node.fd(), mode) {
        // Linux before 6.6, and seccomp filters that are older than the call.
        Err(refused @ (io::Errno::NOSYS | io::Errno::PERM)) => host(refused),
        set => return set.map_err(host),
    };
    let path = node.through_proc().map_err(|_| refused)?;
    fs::chmod(path, fs::Mode::from_raw_mode(mode.into())).map_err(host)
}

/// Sets the owner and the group of a node, as far as they differ; of both, at least one.
pub(crate) fn set_owner(node: &Reached, (uid, gid): (u32, u32), before: &Attributes) -> Result<(), Errno> {
    let stays = uid == before.uid && gid == before.gid;
    let uid = (stays || uid != before.uid).then(|| Uid::from_raw(uid));
    let gid = (stays || gid != before.gid).then(|| Gid::from_raw(gid));
    fs::chownat(node.fd(), "", uid, gid, AtFlags::EMPTY_PATH).map_err(errno)
}

fn set_times(node: &Reached, atime: Option<Timestamp>, mtime: Option<Timestamp>) -> Result<(), Errno> {
    let omitted = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let time = |time: Option<Timestamp>| match time {
        Some(time) => Timespec { tv_sec: time.seconds, tv_nsec: time.nanoseconds.into() },
        None => omitted,
    };
    let mut times = Timestamps { last_access: time(atime), last_modification: time(mtime) };
    match set_both(node, &times) {
        // The host sets the present time also in a node that may only grow, and for callers that
        // may write to it. The engine has checked that.
        Err(Errno::EPERM) if atime == mtime && atime.is_some_and(is_now) => {
            let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
            times = Timestamps { last_access: now, last_modification: now };
            set_both(node, &times)
        }
        set => set,
    }
}

/// Returns whether a time was read from the clock a moment ago.
fn is_now(time: Timestamp) -> bool {
    let now = Timestamp::now();
    time <= now && now.seconds - time.seconds <= 1
}

fn set_both(node: &Reached, times: &Timestamps) -> Result<(), Errno> {
    let refused = match fs::utimensat(node.fd(), "", times, AtFlags::EMPTY_PATH) {
        // A kernel that takes no such descriptor.
        Err(refused @ (io::Errno::INVAL | io::Errno::NOENT)) => host(refused),
        set => return set.map_err(host),
    };
    let path = node.through_proc().map_err(|_| refused)?;
    fs::utimensat(fs::CWD, path, times, AtFlags::empty()).map_err(host)
}
