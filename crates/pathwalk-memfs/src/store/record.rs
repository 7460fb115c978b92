//! The attributes of one node that `stat` returns, except its number and its link count.
//!
//! A writer holds the node's lock exclusively, and keeps the sequence count odd during the change.
//! A reader takes no lock, and reads again if the count has changed. So a new node is filled in and
//! a name is recorded without a lock of their own, and a reader of attributes does not wait for a
//! long write.
//!
//! The time of change is one word ([`ChangeTime`]). A thread that adds or removes a name of the
//! node sets it without the node's lock: so the word is consistent by itself, but may be newer than
//! the rest.
//!
//! Pairs, as in any sequence lock: the writer's Release fence behind the odd count pairs with the
//! reader's Acquire fence before its second read of the count, and the Release of the even count
//! pairs with the Acquire of the first read. All accesses in between are relaxed.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, fence};

use pathwalk::permission::AclKind;
use pathwalk::{AclState, Attributes, Device, FileType, InodeFlags, NewKind, NewNode, SetAttributes, StatxFlags, Timestamp};

use super::change_time::{ChangeTime, packed, unpacked};
use super::pages::PAGE;

/// The size of a block in bytes, the unit of `st_blocks`.
const BLOCK: u64 = 512;

/// The size that tmpfs reports of a directory, for each name; `.` and `..` are included.
const ENTRY_SIZE: u64 = 20;

/// The longest link body that tmpfs stores without a page.
const SHORT_BODY: usize = 127;

/// The attribute bits that are stored: those of tmpfs.
pub(crate) const KEPT_FLAGS: StatxFlags = StatxFlags::IMMUTABLE.union(StatxFlags::APPEND).union(StatxFlags::NODUMP);

/// The flags of users that are stored: those of tmpfs.
pub(crate) const KEPT_INODE_FLAGS: InodeFlags =
    InodeFlags::IMMUTABLE.union(InodeFlags::APPEND).union(InodeFlags::NODUMP).union(InodeFlags::NOATIME);

/// The mark of a node with an access list. No stored attribute bit has its value, nor that of the
/// next four.
const LISTED: u8 = 1;

/// The mark of a directory with a default list.
const DEFAULTED: u8 = 16;

/// The mark of a node with extended attributes.
const HAS_XATTRS: u8 = 32;

/// The mark of a node with `NOATIME`, which no attribute bit shows.
const NOATIME: u8 = 64;

/// The mark of a node with a project.
const HAS_PROJECT: u8 = 128;

const MARKS: u8 = LISTED | DEFAULTED | HAS_XATTRS | HAS_PROJECT;

const _: () = assert!(KEPT_FLAGS.bits() <= u8::MAX as u16 && KEPT_FLAGS.bits() & (MARKS | NOATIME) as u16 == 0);

/// The attributes of a node, in the order of their use: see [`Slot`](super::inode::Slot).
#[derive(Default)]
#[repr(C)]
pub(crate) struct Record {
    /// The sequence count: odd during a change.
    count: AtomicU32,
    /// The `st_mode`. The type is constant as long as the node is in the slot.
    mode: AtomicU16,
    /// The attribute bits, and the marks [`LISTED`], [`DEFAULTED`], [`HAS_XATTRS`], [`NOATIME`] and
    /// [`HAS_PROJECT`]. Stored with the node's lock held.
    marks: AtomicU8,
    /// A flag that is set if there is content. A node that never had any is created and freed
    /// without its lock. Set by the thread that stores the content, and cleared by the one that
    /// frees the node, which no other thread can reach by then.
    pub(super) filled: AtomicBool,
    ctime: ChangeTime,
    /// A value that depends on the type: the number of pages that a file or link takes, the number
    /// of directories in a directory, or the number of a device.
    pub(super) extent: AtomicU64,
    uid: AtomicU32,
    gid: AtomicU32,
    btime: AtomicU64,
    pub(super) size: AtomicU64,
    // Users set these two to any value.
    atime: AtomicI64,
    mtime: AtomicI64,
    atime_nanoseconds: AtomicU32,
    mtime_nanoseconds: AtomicU32,
}

impl Record {
    /// Stores the attributes of a new node, in an unused slot.
    pub(super) fn begin(&self, new: &NewNode<'_>, now: Timestamp) {
        let (size, extent) = match new.kind {
            NewKind::Directory => (directory_size(0), 0),
            NewKind::Symlink(body) => (body.len() as u64, first_pages(&new.kind)),
            NewKind::CharDevice(device) | NewKind::BlockDevice(device) => {
                (0, u64::from(device.major) << 32 | u64::from(device.minor))
            }
            _ => (0, 0),
        };
        self.change(|| {
            self.mode.store(new.kind.file_type().mode_bits() | new.mode & 0o7777, Relaxed);
            self.marks.store(0, Relaxed);
            self.uid.store(new.uid, Relaxed);
            self.gid.store(new.gid, Relaxed);
            self.size.store(size, Relaxed);
            self.extent.store(extent, Relaxed);
            self.set_atime(now);
            self.set_mtime(now);
            self.ctime.begin(now);
            self.btime.store(packed(now), Relaxed);
        });
    }

    pub(crate) fn kind(&self) -> FileType {
        // The stored type bits are valid.
        FileType::from_mode(self.mode.load(Relaxed).into()).unwrap_or(FileType::Regular)
    }

    #[inline]
    pub(crate) fn is(&self, kind: FileType) -> bool {
        self.mode.load(Relaxed) & !0o7777 == kind.mode_bits()
    }

    pub(crate) fn mode(&self) -> u16 {
        self.mode.load(Relaxed) & 0o7777
    }

    pub(super) fn set_mode(&self, mode: u16) {
        self.mode.store(self.mode.load(Relaxed) & !0o7777 | mode & 0o7777, Relaxed);
    }

    /// Returns whether the node has this list.
    pub(crate) fn has_list(&self, kind: AclKind) -> bool {
        self.marks.load(Relaxed) & mark_of(kind) != 0
    }

    /// Returns whether the node has a list.
    pub(super) fn has_lists(&self) -> bool {
        self.marks.load(Relaxed) & (LISTED | DEFAULTED) != 0
    }

    /// Records whether the node has this list.
    pub(super) fn mark_list(&self, kind: AclKind, has: bool) {
        self.set_mark(mark_of(kind), has);
    }

    /// Returns whether the node has extended attributes.
    pub(crate) fn has_xattrs(&self) -> bool {
        self.marks.load(Relaxed) & HAS_XATTRS != 0
    }

    pub(super) fn set_xattrs(&self, some: bool) {
        self.set_mark(HAS_XATTRS, some);
    }

    /// Returns whether the node has a project.
    #[inline]
    pub(super) fn has_project(&self) -> bool {
        self.marks.load(Relaxed) & HAS_PROJECT != 0
    }

    pub(super) fn set_project(&self, some: bool) {
        self.set_mark(HAS_PROJECT, some);
    }

    /// Returns the user and the group that own the node. The caller has the node's lock, or no
    /// other thread has the node.
    pub(super) fn owner(&self) -> (u32, u32) {
        (self.uid.load(Relaxed), self.gid.load(Relaxed))
    }

    fn set_mark(&self, mark: u8, set: bool) {
        self.marks.store(self.marks.load(Relaxed) & !mark | if set { mark } else { 0 }, Relaxed);
    }

    /// Returns the attribute bits.
    pub(crate) fn flags(&self) -> StatxFlags {
        KEPT_FLAGS & StatxFlags::from_bits_truncate(self.marks.load(Relaxed).into())
    }

    /// Takes over the attribute bits that new nodes inherit from their directory, before the node
    /// is visible.
    pub(super) fn inherit(&self, dir: &Record) {
        self.set_inode_flags(dir.inode_flags() & (InodeFlags::NODUMP | InodeFlags::NOATIME));
    }

    /// Sets those of the bits that are stored, and clears the others and `NOATIME`.
    pub(super) fn set_flags(&self, flags: StatxFlags) {
        let marks = self.marks.load(Relaxed) & MARKS;
        self.marks.store((flags & KEPT_FLAGS).bits() as u8 | marks, Relaxed);
    }

    /// Returns the flags that users set.
    pub(super) fn inode_flags(&self) -> InodeFlags {
        let mut flags = InodeFlags::from_bits_retain(self.flags().to_kernel() as u32);
        flags.set(InodeFlags::NOATIME, self.marks.load(Relaxed) & NOATIME != 0);
        flags
    }

    /// Sets the flags that users set, which were checked, and clears the others.
    pub(super) fn set_inode_flags(&self, to: InodeFlags) {
        // The bits that both have are the same bits on Linux.
        self.set_flags(StatxFlags::from_kernel(to.bits().into()));
        self.set_mark(NOATIME, to.contains(InodeFlags::NOATIME));
    }

    pub(crate) fn size(&self) -> u64 {
        self.size.load(Relaxed)
    }

    pub(crate) fn extent(&self) -> u64 {
        self.extent.load(Relaxed)
    }

    /// Returns the number of pages that the node takes, if it has this type.
    pub(crate) fn pages_of(&self, kind: FileType) -> u64 {
        if matches!(kind, FileType::Regular | FileType::Symlink) { self.extent() } else { 0 }
    }

    /// Records a change. The caller has the node's lock exclusively.
    pub(crate) fn touch_ctime(&self, now: Timestamp) {
        self.ctime.touch(now);
    }

    /// Records that a name of the node was added or removed. The caller has the lock of its
    /// directory.
    pub(crate) fn touch_name(&self, now: Timestamp) {
        self.ctime.touch_by_name(now);
    }

    /// Returns the change cookie. The caller has the node's lock.
    pub(super) fn change_cookie(&self) -> u64 {
        self.ctime.give_out()
    }

    /// Records a change of the data or the names.
    pub(super) fn touch(&self, now: Timestamp) {
        self.set_mtime(now);
        self.touch_ctime(now);
    }

    /// Records the number of names in a directory, and the number of directories that were added to
    /// them.
    pub(super) fn names_changed(&self, names: usize, directories: i32, now: Timestamp) {
        self.change(|| {
            self.size.store(directory_size(names), Relaxed);
            self.extent.store(self.extent().wrapping_add_signed(directories.into()), Relaxed);
            self.touch(now);
        });
    }

    /// Sets attributes, which were checked. A size updates the times where it changes, or where the
    /// file has pages, which are those before the change. Otherwise it updates none, also where the
    /// mode loses set-id bits with it. A tmpfs does the same.
    pub(super) fn set(&self, set: &SetAttributes, now: Timestamp) {
        let loses_bits = set.mode.is_some_and(|mode| mode != self.mode());
        if let Some(mode) = set.mode {
            self.set_mode(mode);
        }
        if let Some(uid) = set.uid {
            self.uid.store(uid, Relaxed);
        }
        if let Some(gid) = set.gid {
            self.gid.store(gid, Relaxed);
        }
        let size = self.size();
        let resizes = set.size.is_some_and(|new| new != size || self.extent() > 0);
        let to_size = SetAttributes::default().with_size(size);
        let keeps_times = !resizes && *set == set.mode.map_or(to_size, |mode| to_size.with_mode(mode));
        if let Some(size) = set.size {
            self.size.store(size, Relaxed);
        }
        if let Some(atime) = set.atime {
            self.set_atime(atime);
        }
        if let Some(mtime) = set.mtime.or(resizes.then_some(now)) {
            self.set_mtime(mtime);
        }
        match (keeps_times, loses_bits) {
            (false, _) => self.touch_ctime(now),
            (true, true) => self.ctime.touch_if_given_out(),
            (true, false) => {}
        }
    }

    /// Records an access, unless the node has `NOATIME`. Returns whether it has not. The caller has
    /// the node's lock exclusively.
    pub(super) fn touch_atime(&self, now: Timestamp) -> bool {
        let keeps = self.marks.load(Relaxed) & NOATIME == 0;
        if keeps {
            self.change(|| self.set_atime(now));
        }
        keeps
    }

    fn set_atime(&self, time: Timestamp) {
        self.atime.store(time.seconds, Relaxed);
        self.atime_nanoseconds.store(time.nanoseconds, Relaxed);
    }

    fn set_mtime(&self, time: Timestamp) {
        self.mtime.store(time.seconds, Relaxed);
        self.mtime_nanoseconds.store(time.nanoseconds, Relaxed);
    }

    /// Changes several fields at once. The caller has the node's lock exclusively, or no other
    /// thread has the node.
    #[inline]
    pub(super) fn change(&self, change: impl FnOnce()) {
        let count = self.count.load(Relaxed);
        self.count.store(count.wrapping_add(1), Relaxed);
        fence(Release);
        change();
        self.count.store(count.wrapping_add(2), Release);
    }

    /// Reads all attributes of the record, as they were at one moment.
    #[inline]
    pub(crate) fn read(&self, into: &mut Attributes) {
        loop {
            let count = self.count.load(Acquire);
            self.load(into);
            fence(Acquire);
            if count.is_multiple_of(2) && self.count.load(Relaxed) == count {
                return;
            }
            // The writer may have been descheduled; a change takes a few stores.
            std::thread::yield_now();
        }
    }

    #[inline]
    fn load(&self, into: &mut Attributes) {
        let extent = self.extent();
        into.kind = self.kind();
        into.mode = self.mode();
        into.uid = self.uid.load(Relaxed);
        into.gid = self.gid.load(Relaxed);
        into.size = self.size();
        into.blocks = self.pages_of(into.kind) * (PAGE / BLOCK);
        if matches!(into.kind, FileType::CharDevice | FileType::BlockDevice) {
            into.device_node = Device { major: (extent >> 32) as u32, minor: extent as u32 };
        }
        into.atime = Timestamp { seconds: self.atime.load(Relaxed), nanoseconds: self.atime_nanoseconds.load(Relaxed) };
        into.mtime = Timestamp { seconds: self.mtime.load(Relaxed), nanoseconds: self.mtime_nanoseconds.load(Relaxed) };
        into.ctime = self.ctime.time();
        into.btime = Some(unpacked(self.btime.load(Relaxed)));
        into.flags = self.flags();
        into.flags_mask = KEPT_FLAGS;
        into.acl = if self.has_list(AclKind::Access) { AclState::Present } else { AclState::Absent };
    }
}

/// Returns the number of pages that a new node of this kind takes: tmpfs stores a long link body in
/// a page.
pub(crate) fn first_pages(kind: &NewKind<'_>) -> u64 {
    matches!(kind, NewKind::Symlink(body) if body.len() > SHORT_BODY) as u64
}

fn mark_of(kind: AclKind) -> u8 {
    match kind {
        AclKind::Access => LISTED,
        AclKind::Default => DEFAULTED,
    }
}

fn directory_size(names: usize) -> u64 {
    (names as u64 + 2) * ENTRY_SIZE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;

    /// Checks that two fields that are always changed together are always read together.
    #[test]
    fn nobody_sees_half_of_a_change() {
        let record = Record::default();
        record.begin(&NewNode::new(NewKind::Regular, 0, 0, 0), Clock::System.now());
        let rounds = if cfg!(miri) { 50 } else { 100_000 };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for i in 0..rounds {
                    let set = SetAttributes::default().with_uid(i).with_gid(i).with_size(i.into());
                    record.change(|| record.set(&set, Clock::System.now()));
                }
            });
            let (mut seen, mut found) = (0, Attributes::new(FileType::Regular, 0));
            while seen + 1 < rounds {
                record.read(&mut found);
                assert!(found.uid == found.gid && found.size == u64::from(found.uid) && found.uid >= seen, "{found:?}");
                seen = found.uid;
            }
        });
    }
}
