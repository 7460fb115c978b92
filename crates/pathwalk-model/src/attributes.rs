//! The calls `chmod`, `chown` and `utimens`, and the effect of writes on suid and sgid bits.
//!
//! Source: `fs/attr.c`, `chmod_common`, `chown_common`, `vfs_utimes` of Linux.

use crate::errno::{Errno, Result};
use crate::flags::{Access, AtFlags, Capabilities};
use crate::node::{Id, Node, Stamp};
use crate::permission::{GROUP_EXECUTE, SGID, SUID, in_group_or_capable, owner_or_capable, permission};
use crate::process::{Credentials, NO_ID, Process};
use crate::walk::{Empty, Follow};
use crate::{Call, Model};

/// The ends of the file system's range of times, in seconds since 1970, as `s_time_min` and
/// `s_time_max`: a time beyond an end becomes that end.
const EARLIEST: i64 = -(1 << 49);
const LATEST: i64 = (1 << 49) - 1;

/// One of the two times that `utimensat` sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NewTime {
    /// The clock's time.
    Now,
    /// The present value.
    Omit,
    /// The given time.
    At {
        /// The seconds since 1970. Stored from −2⁴⁹ to 2⁴⁹−1: a time beyond an end becomes that
        /// end, without nanoseconds.
        seconds: i64,
        /// The nanoseconds, 0..=999,999,999, else `EINVAL`.
        nanoseconds: u32,
    },
}

impl Model {
    /// Sets the lower twelve bits of the mode, as `fchmodat2` does. Flags: `SYMLINK_NOFOLLOW`,
    /// `EMPTY_PATH`.
    pub fn chmod(&self, process: &mut Process, at: i32, path: &[u8], mode: u32, flags: AtFlags) -> Result<()> {
        let mut call = self.call(process);
        let node = call.lookup_to_set(at, path, flags)?;
        call.chmod(node, mode)
    }

    /// Sets the mode of an open file, as `fchmod` does.
    pub fn fchmod(&self, process: &mut Process, descriptor: i32, mode: u32) -> Result<()> {
        let mut call = self.call(process);
        let (_, file) = call.file(descriptor)?;
        call.chmod(file.node, mode)
    }

    /// Sets owner and group, as `fchownat` does; `None` leaves one unchanged. `u32::MAX` is no id:
    /// `EINVAL`. Flags: `SYMLINK_NOFOLLOW`, `EMPTY_PATH`.
    pub fn chown(
        &self,
        process: &mut Process,
        at: i32,
        path: &[u8],
        uid: Option<u32>,
        gid: Option<u32>,
        flags: AtFlags,
    ) -> Result<()> {
        let mut call = self.call(process);
        let node = call.lookup_to_set(at, path, flags)?;
        call.chown(node, uid, gid)
    }

    /// Sets owner and group of an open file, as `fchown` does.
    pub fn fchown(&self, process: &mut Process, descriptor: i32, uid: Option<u32>, gid: Option<u32>) -> Result<()> {
        let mut call = self.call(process);
        let (_, file) = call.file(descriptor)?;
        call.chown(file.node, uid, gid)
    }

    /// Sets the times of access and of data, as `utimensat` does. Flags: `SYMLINK_NOFOLLOW`,
    /// `EMPTY_PATH`.
    pub fn utimens(
        &self,
        process: &mut Process,
        at: i32,
        path: &[u8],
        accessed: NewTime,
        modified: NewTime,
        flags: AtFlags,
    ) -> Result<()> {
        let mut call = self.call(process);
        if (accessed, modified) == (NewTime::Omit, NewTime::Omit) {
            return Ok(());
        }
        let node = call.lookup_to_set(at, path, flags)?;
        call.utimens(node, accessed, modified)
    }

    /// Sets the times of an open file, as `futimens` does.
    pub fn futimens(&self, process: &mut Process, descriptor: i32, accessed: NewTime, modified: NewTime) -> Result<()> {
        let mut call = self.call(process);
        if (accessed, modified) == (NewTime::Omit, NewTime::Omit) {
            return Ok(());
        }
        let (_, file) = call.file(descriptor)?;
        call.utimens(file.node, accessed, modified)
    }
}

impl Call<'_> {
    fn lookup_to_set(&self, at: i32, path: &[u8], flags: AtFlags) -> Result<Id> {
        if !(AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH).contains(flags) {
            return Err(Errno::EINVAL);
        }
        let empty = if flags.contains(AtFlags::EMPTY_PATH) { Empty::Start } else { Empty::Refused };
        self.lookup(at, path, Follow::unless(flags.contains(AtFlags::SYMLINK_NOFOLLOW)), empty)
    }

    fn chmod(&mut self, id: Id, mode: u32) -> Result<()> {
        let node = self.state.node(id);
        node.may_be_set()?;
        if node.link_body().is_some() {
            return Err(Errno::EOPNOTSUPP);
        }
        if !owner_or_capable(node, self.who()) {
            return Err(Errno::EPERM);
        }
        let mode = settable(mode & 0o7777, node.gid, self.who());
        self.state.touch_changed(id);
        self.state.node_mut(id).set_mode(mode);
        Ok(())
    }

    /// Sets owner and group. A call that changes neither succeeds even for a file of another user,
    /// unless there is an suid or sgid bit to clear.
    fn chown(&mut self, id: Id, uid: Option<u32>, gid: Option<u32>) -> Result<()> {
        if [uid, gid].contains(&Some(NO_ID)) {
            return Err(Errno::EINVAL);
        }
        let node = self.state.node(id);
        if uid.is_some() || gid.is_some() {
            node.may_be_set()?;
        }
        let who = self.who();
        let owner = who.fsuid == node.uid;
        let may_all = who.has(Capabilities::CHOWN);
        let uid_ok = uid.is_none_or(|uid| may_all || owner && uid == node.uid);
        let gid_ok = gid.is_none_or(|gid| may_all || owner && (gid == node.gid || who.in_group(gid)));
        let mode = mode_after_chown(node, who);
        if !uid_ok || !gid_ok || mode != node.mode && !owner_or_capable(node, who) {
            return Err(Errno::EPERM);
        }
        let (uid, gid) = (uid.unwrap_or(node.uid), gid.unwrap_or(node.gid));
        // The resulting mode is checked against the new group.
        let mode = if mode == node.mode { mode } else { settable(mode, gid, who) };
        self.drop_capability(id);
        self.state.touch_changed(id);
        let node = self.state.node_mut(id);
        (node.uid, node.gid) = (uid, gid);
        node.set_mode(mode);
        Ok(())
    }

    fn utimens(&mut self, id: Id, accessed: NewTime, modified: NewTime) -> Result<()> {
        let wrong = |time| matches!(time, NewTime::At { nanoseconds: 1_000_000_000.., .. });
        if wrong(accessed) || wrong(modified) {
            return Err(Errno::EINVAL);
        }
        let node = self.state.node(id);
        let touch = (accessed, modified) == (NewTime::Now, NewTime::Now);
        if node.is_immutable() || !touch && node.is_append_only() {
            return Err(Errno::EPERM);
        }
        if !owner_or_capable(node, self.who()) {
            if !touch {
                return Err(Errno::EPERM);
            }
            permission(node, self.who(), Access::WRITE)?;
        }
        self.store_accesses();
        self.state.touch_changed(id);
        let now = self.state.now();
        let node = self.state.node_mut(id);
        set_time(&mut node.accessed, accessed, now);
        set_time(&mut node.modified, modified, now);
        Ok(())
    }

    /// Clears the suid and sgid bits of a file after a write, and removes its capability: it no
    /// longer runs with the rights of its owner or group, or with its own.
    pub(crate) fn clear_privileges(&mut self, id: Id) {
        self.drop_capability(id);
        let node = self.state.node(id);
        let who = self.who();
        let cleared = node.mode & !SUID & !sgid_to_drop(node, who);
        if node.is_file() && cleared != node.mode && !who.has(Capabilities::FSETID) {
            let mode = settable(cleared, node.gid, who);
            self.state.touch_changed(id);
            self.state.node_mut(id).set_mode(mode);
        }
    }
}

/// Returns the sgid bit if a change of owner or a write clears it. Without the group's x bit it has
/// another meaning (once mandatory locks), and members of the group keep it.
fn sgid_to_drop(node: &Node, who: &Credentials) -> u32 {
    if node.mode & GROUP_EXECUTE != 0 || !in_group_or_capable(node.gid, who) { SGID } else { 0 }
}

/// Returns the mode after a `chown`, which clears these bits even for root. Directories keep
/// theirs.
fn mode_after_chown(node: &Node, who: &Credentials) -> u32 {
    if node.is_directory() { node.mode } else { node.mode & !SUID & !sgid_to_drop(node, who) }
}

/// Returns the mode as it can be set on a node of this group.
fn settable(mode: u32, gid: u32, who: &Credentials) -> u32 {
    if in_group_or_capable(gid, who) { mode } else { mode & !SGID }
}

fn set_time(stamp: &mut Stamp, time: NewTime, now: Stamp) {
    match time {
        NewTime::Omit => {}
        NewTime::Now => *stamp = now,
        NewTime::At { seconds, .. } if seconds <= EARLIEST => *stamp = Stamp::Set { seconds: EARLIEST, nanoseconds: 0 },
        NewTime::At { seconds, .. } if seconds >= LATEST => *stamp = Stamp::Set { seconds: LATEST, nanoseconds: 0 },
        NewTime::At { seconds, nanoseconds } => *stamp = Stamp::Set { seconds, nanoseconds },
    }
}
