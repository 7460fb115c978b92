//! Requests for attributes, and for the bodies of links.

use pathwalk::{AtFlags, Attributes, Errno, FileType, Handle, OpenFlags, SetTime, StatxMask, Timestamp};

use super::{Call, ITSELF};
use crate::Opens;
use crate::abi::{AttrOut, GETATTR_FH, GetAttrIn, SetAttrIn, SetFlags, StatFsOut, StatxIn, StatxOut, SxTime};
use crate::askers::SetId;
use crate::request::Body;

/// What a change of attributes can set. One that sets nothing is one by `chown` without ids.
const SETS: SetFlags = SetFlags::MODE
    .union(SetFlags::UID)
    .union(SetFlags::GID)
    .union(SetFlags::SIZE)
    .union(SetFlags::ATIME)
    .union(SetFlags::MTIME)
    .union(SetFlags::ATIME_NOW)
    .union(SetFlags::MTIME_NOW);

/// The extended attribute that has the capabilities of a program.
const CAPABILITY: &str = "security.capability";

impl Call<'_> {
    pub(super) fn getattr(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let GetAttrIn { flags, fh, .. } = body.take()?;
        let handle = self.open_node(flags, fh)?;
        self.put_attributes(&handle)
    }

    /// Returns the handle of a request's node, which may be that of an open file.
    fn open_node(&self, flags: u32, fh: u64) -> Result<Handle, Errno> {
        if flags & GETATTR_FH == 0 || self.server.opens == Opens::Untold {
            return self.node();
        }
        // By its handle: the name may be gone, and the node is another file's since.
        Ok(self.server.files.get(fh)?.file.handle().clone())
    }

    fn put_attributes(&mut self, node: &Handle) -> Result<(), Errno> {
        let attr = self.server.attr(&node.attributes()?);
        let valid = self.server.times.attributes(node);
        self.reply.put(&AttrOut { attr_valid: valid.as_secs(), attr_valid_nsec: valid.subsec_nanos(), dummy: 0, attr })
    }

    pub(super) fn setattr(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let set: SetAttrIn = body.take()?;
        let handle = self.node()?;
        if !SetFlags::from_bits_retain(set.valid).intersects(SETS) {
            self.keep_owner(&handle)?;
        }
        self.set_owner_and_mode(&handle, &set)?;
        self.set_size(&handle, &set)?;
        self.set_times(&handle, &set)?;
        self.put_attributes(&handle)
    }

    /// Carries out a `chown` without ids: the time of change is new, and a file loses its suid and
    /// sgid bits. The kernel does not check whether the caller may take these bits, and sends the
    /// same before another user's write, and before each write to a file that has a capability,
    /// which take them themselves. A request does not tell capabilities. So the bits stay for
    /// callers other than the owner and root, and where there is a capability.
    fn keep_owner(&mut self, handle: &Handle) -> Result<(), Errno> {
        let of = handle.attributes()?;
        let has_bits = of.kind != FileType::Directory && of.mode & 0o6000 != 0;
        let (uid, context) = (self.header.uid, self.context(SetId::Kept));
        if has_bits && (![0, of.uid].contains(&uid) || context.getxattrat(handle, "", CAPABILITY, ITSELF).is_ok()) {
            return Ok(());
        }
        context.fchownat(handle, "", None, None, ITSELF)
    }

    fn set_owner_and_mode(&mut self, handle: &Handle, set: &SetAttrIn) -> Result<(), Errno> {
        let what = SetFlags::from_bits_retain(set.valid);
        let uid = what.contains(SetFlags::UID).then_some(set.uid);
        let gid = what.contains(SetFlags::GID).then_some(set.gid);
        if uid.is_some() || gid.is_some() {
            // As for `fallocate`.
            let set_id = SetId::killed_if(self.header.uid != 0);
            self.changer(handle, set_id)?.fchownat(handle, "", uid, gid, ITSELF)?;
        }
        let context = self.context(SetId::Kept);
        if what.contains(SetFlags::MODE) {
            context.fchmodat(handle, "", set.mode as u16 & 0o7777, ITSELF)?;
        }
        Ok(())
    }

    fn set_size(&mut self, handle: &Handle, set: &SetAttrIn) -> Result<(), Errno> {
        let what = SetFlags::from_bits_retain(set.valid);
        if !what.contains(SetFlags::SIZE) {
            return Ok(());
        }
        let set_id = SetId::killed_if(what.contains(SetFlags::KILL_SUIDGID));
        if what.contains(SetFlags::FH) {
            let opened = self.opened(set.fh, self.header.nodeid, OpenFlags::WRITE)?;
            return opened.file.by(self.changer(handle, set_id)?.credentials()).set_len(set.size);
        }
        let context = self.changer(handle, set_id)?;
        context.reopen(handle, OpenFlags::WRITE)?.set_len(set.size)
    }

    fn set_times(&mut self, handle: &Handle, set: &SetAttrIn) -> Result<(), Errno> {
        let what = SetFlags::from_bits_retain(set.valid);
        let time = |is_set, is_now, seconds: u64, nanoseconds| match () {
            () if what.contains(is_now) => SetTime::Now,
            () if what.contains(is_set) => SetTime::To(Timestamp { seconds: seconds as i64, nanoseconds }),
            () => SetTime::Keep,
        };
        let atime = time(SetFlags::ATIME, SetFlags::ATIME_NOW, set.atime, set.atimensec);
        let mtime = time(SetFlags::MTIME, SetFlags::MTIME_NOW, set.mtime, set.mtimensec);
        if (atime, mtime) == (SetTime::Keep, SetTime::Keep) {
            return Ok(());
        }
        let (number, late_writes) = (self.header.nodeid, &self.server.late_writes);
        // A kernel that writes data later tells of the time then, for a caller of its own.
        let context = if what.contains(SetFlags::CTIME) { self.askers.own() } else { self.context(SetId::Kept) };
        let set = || context.utimensat(handle, "", atime, mtime, ITSELF);
        match late_writes {
            Some(late_writes) => late_writes.tell((number, handle), set),
            None => set(),
        }
    }

    pub(super) fn statx(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let asked: StatxIn = body.take()?;
        let handle = self.open_node(asked.flags, asked.fh)?;
        let mask = StatxMask::from_bits_retain(asked.sx_mask);
        let flags = ITSELF | (AtFlags::from_bits_truncate(asked.sx_flags) & (AtFlags::FORCE_SYNC | AtFlags::DONT_SYNC));
        let found = self.context(SetId::Kept).statx_at(&handle, "", flags, mask)?;
        let known = found.mask & (StatxMask::BASIC_STATS | StatxMask::BTIME);
        let of = Attributes::from(found);
        let valid = self.server.times.attributes(&handle);
        self.reply.put(&StatxOut {
            attr_valid: valid.as_secs(),
            attr_valid_nsec: valid.subsec_nanos(),
            mask: known.bits(),
            blksize: of.block_size,
            attributes: of.flags.to_kernel(),
            attributes_mask: of.flags_mask.to_kernel(),
            nlink: of.nlink,
            uid: of.uid,
            gid: of.gid,
            mode: of.st_mode() as u16,
            ino: self.server.ino(of.device, of.ino),
            size: of.size,
            blocks: of.blocks,
            atime: time(of.atime),
            btime: of.btime.map(time).unwrap_or_default(),
            ctime: time(of.ctime),
            mtime: time(of.mtime),
            rdev_major: of.device_node.major,
            rdev_minor: of.device_node.minor,
            dev_major: of.device.major,
            dev_minor: of.device.minor,
            ..StatxOut::default()
        })
    }

    pub(super) fn statfs(&mut self) -> Result<(), Errno> {
        let of = self.node()?.statfs()?;
        self.reply.put(&StatFsOut {
            blocks: of.blocks,
            bfree: of.blocks_free,
            bavail: of.blocks_available,
            files: of.files,
            ffree: of.files_free,
            bsize: of.block_size as u32,
            namelen: of.name_max as u32,
            frsize: of.block_size as u32,
            ..StatFsOut::default()
        })
    }

    pub(super) fn readlink(&mut self) -> Result<(), Errno> {
        let handle = self.node()?;
        let context = self.askers.get(self.header.uid, self.header.gid, SetId::Kept);
        self.reply.put_with(4095, |place| context.readlinkat(&handle, "", place))
    }
}

fn time(of: Timestamp) -> SxTime {
    SxTime { seconds: of.seconds, nanoseconds: of.nanoseconds, reserved: 0 }
}
