//! Requests about open files and their data.

use std::io::SeekFrom;
use std::sync::Arc;

use pathwalk::{Errno, FallocateFlags, File, OpenFlags, SetTime, SyncWhat};

use super::{Call, ITSELF};
use crate::abi::{
    CopyFileRange64Out, CopyFileRangeIn, FOPEN_CACHE_DIR, FOPEN_KEEP_CACHE, FSYNC_FDATASYNC, FallocateIn, FsyncIn, LseekIn,
    LseekOut, OPEN_KILL_SUIDGID, Opcode, OpenIn, OpenOut, ReadIn, ReleaseIn, WRITE_CACHE, WRITE_KILL_SUIDGID, WriteIn, WriteOut,
};
use crate::askers::SetId;
use crate::notice::Notice;
use crate::opened::Opened;
use crate::request::Body;
use crate::{Opens, Writes};

/// Returns the flags of an open, as far as the file system has to do with them. The kernel keeps
/// `O_DIRECT` and `O_NONBLOCK` to itself.
pub(super) fn flags_of(raw: u32) -> OpenFlags {
    let raw = rustix::fs::OFlags::from_bits_retain(raw);
    let mut flags = match raw & rustix::fs::OFlags::RWMODE {
        rustix::fs::OFlags::WRONLY => OpenFlags::WRITE,
        rustix::fs::OFlags::RDWR => OpenFlags::READ | OpenFlags::WRITE,
        _ => OpenFlags::READ,
    };
    let same = [
        (rustix::fs::OFlags::EXCL, OpenFlags::EXCLUSIVE),
        (rustix::fs::OFlags::TRUNC, OpenFlags::TRUNCATE),
        (rustix::fs::OFlags::APPEND, OpenFlags::APPEND),
        (rustix::fs::OFlags::NOATIME, OpenFlags::NOATIME),
    ];
    for (there, here) in same {
        flags.set(here, raw.contains(there));
    }
    flags
}

impl Writes {
    /// Opens a file by `open`, for what is done with it. A kernel that writes later reads the rest
    /// of a page of which a part was written, and knows the end of the file itself. A file that
    /// cannot be opened for that is opened as it was asked for.
    pub(super) fn opened<T>(self, asked: OpenFlags, open: impl Fn(OpenFlags) -> Result<T, Errno>) -> Result<T, Errno> {
        if self == Writes::Through || !asked.contains(OpenFlags::WRITE) {
            return open(asked);
        }
        match open((asked | OpenFlags::READ) - OpenFlags::APPEND) {
            Err(Errno::EACCES | Errno::EPERM) => open(asked),
            opened => opened,
        }
    }
}

impl Call<'_> {
    /// Keeps a file that was made, and puts the answer to its open.
    pub(super) fn put_opened(&mut self, file: File) -> Result<(), Errno> {
        if self.server.opens == Opens::Told {
            return self.keep_opened(file, FOPEN_KEEP_CACHE);
        }
        // The kernel does not tell when it is closed.
        let (flags, opened) = (file.flags(), Arc::new(Opened::new(file)?));
        if let Some(node) = self.given.nodes().last() {
            for what in [OpenFlags::READ | OpenFlags::NOATIME, OpenFlags::WRITE | OpenFlags::APPEND] {
                if flags.intersects(what - OpenFlags::NOATIME - OpenFlags::APPEND) {
                    self.server.untold.keep(node, flags & what, Arc::clone(&opened));
                }
            }
        }
        self.reply.put(&OpenOut { fh: 0, open_flags: FOPEN_KEEP_CACHE, backing_id: 0 })
    }

    fn keep_opened(&mut self, file: File, open_flags: u32) -> Result<(), Errno> {
        let fh = self.server.files.add(Opened::new(file)?);
        self.given.opened = Some(fh);
        self.reply.put(&OpenOut { fh, open_flags, backing_id: 0 })
    }

    /// Returns the file that a request names, or for one that names none a file of the node that is
    /// opened for what the request does.
    pub(super) fn opened(&mut self, fh: u64, node: u64, flags: OpenFlags) -> Result<Arc<Opened>, Errno> {
        let server = self.server;
        if server.opens == Opens::Told {
            return server.files.get(fh);
        }
        if let Some(opened) = server.untold.get(node, flags) {
            return Ok(opened);
        }
        let handle = server.nodes.handle(node)?;
        let writes = server.writes;
        let context = if writes == Writes::Back { self.askers.own() } else { self.context(SetId::Kept) };
        let opened = Arc::new(Opened::new(writes.opened(flags, |flags| context.reopen(&handle, flags))?)?);
        server.untold.keep(node, flags, Arc::clone(&opened));
        Ok(opened)
    }

    pub(super) fn open(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let OpenIn { flags, open_flags } = body.take()?;
        let (handle, writes) = (self.node()?, self.server.writes);
        let context = self.context(SetId::killed_if(open_flags & OPEN_KILL_SUIDGID != 0));
        // `O_EXCL` without `O_CREAT` is for block devices.
        let flags = flags_of(flags) - OpenFlags::EXCLUSIVE;
        let file = writes.opened(flags, |flags| context.reopen(&handle, flags))?;
        self.put_opened(file)
    }

    pub(super) fn opendir(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let OpenIn { flags, .. } = body.take()?;
        let handle = self.node()?;
        let noatime = flags_of(flags) & OpenFlags::NOATIME;
        let file = self.context(SetId::Kept).reopen(&handle, OpenFlags::READ | OpenFlags::DIRECTORY | noatime)?;
        let is_kept = self.server.times.keeps_listing(&handle);
        self.keep_opened(file, if is_kept { FOPEN_CACHE_DIR | FOPEN_KEEP_CACHE } else { 0 })
    }

    pub(super) fn release(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let ReleaseIn { fh, .. } = body.take()?;
        self.server.files.remove(fh);
        Ok(())
    }

    pub(super) fn read(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let ReadIn { fh, offset, size, flags, .. } = body.take()?;
        let opened = self.opened(fh, self.header.nodeid, OpenFlags::READ | (flags_of(flags) & OpenFlags::NOATIME))?;
        self.reply.put_with(size as usize, |place| {
            let mut filled = 0;
            // A short answer is taken for the end of the file.
            while filled < place.len() {
                match opened.file.read_at(&mut place[filled..], offset + filled as u64) {
                    Ok(0) => break,
                    Ok(length) => filled += length,
                    Err(_) if filled > 0 => break,
                    Err(errno) => return Err(errno),
                }
            }
            Ok(filled)
        })?;
        self.note_read();
        Ok(())
    }

    /// Has the kernel list the directory again, if many of its files were read.
    fn note_read(&mut self) {
        let Some(reads) = &self.server.reads else { return };
        if let Some(dir) = self.server.nodes.take_listed(self.header.nodeid)
            && reads.read(dir)
        {
            self.given.outdated.push(Notice::Data(dir));
        }
    }

    pub(super) fn write(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let WriteIn { fh, offset, size, write_flags, flags, .. } = body.take()?;
        let data = body.bytes(size)?;
        let opened = self.opened(fh, self.header.nodeid, OpenFlags::WRITE | (flags_of(flags) & OpenFlags::APPEND))?;
        let set_id = SetId::killed_if(write_flags & WRITE_KILL_SUIDGID != 0);
        let (is_late, file, number) = (write_flags & WRITE_CACHE != 0, &opened.file, self.header.nodeid);
        let late_writes = self.server.late_writes.as_ref().filter(|_| is_late);
        let context = if is_late { self.askers.own() } else { self.changer(file.handle(), set_id)? };
        // At the end of a file that is open for appending, which may be another one than the kernel
        // knows. So `RWF_NOAPPEND`, of which nothing is told, does nothing.
        let write = || file.by(context.credentials()).write_at(data, offset);
        let written = match late_writes {
            Some(late_writes) => {
                let set = |mtime| context.utimensat(file.handle(), "", SetTime::Keep, SetTime::To(mtime), ITSELF);
                late_writes.write((number, file.handle()), write, set)?
            }
            None => write()?,
        };
        self.reply.put(&WriteOut { size: written as u32, padding: 0 })
    }

    pub(super) fn fsync(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let FsyncIn { fh, flags, .. } = body.take()?;
        let what = if flags & FSYNC_FDATASYNC != 0 { SyncWhat::Data } else { SyncWhat::All };
        let node = self.header.nodeid;
        let is_dir = self.header.opcode == Opcode::FsyncDir as u32;
        let flags = if is_dir { OpenFlags::READ | OpenFlags::DIRECTORY } else { OpenFlags::READ };
        self.opened(fh, node, flags)?.file.sync(what)
    }

    pub(super) fn syncfs(&mut self) -> Result<(), Errno> {
        let root = self.server.context.root().clone();
        self.context(SetId::Kept).reopen(&root, OpenFlags::READ)?.syncfs()
    }

    pub(super) fn fallocate(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let FallocateIn { fh, offset, length, mode, .. } = body.take()?;
        let opened = self.opened(fh, self.header.nodeid, OpenFlags::WRITE)?;
        let mode = FallocateFlags::from_bits(mode).ok_or(Errno::EOPNOTSUPP)?;
        // The request does not tell whether suid and sgid bits stay. The safe answer is that they
        // go, as they do on each local file system for a user without `CAP_FSETID`.
        let set_id = SetId::killed_if(self.header.uid != 0);
        opened.file.by(self.changer(opened.file.handle(), set_id)?.credentials()).fallocate(mode, offset, length)
    }

    pub(super) fn lseek(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        const SEEK_DATA: u32 = 3;
        const SEEK_HOLE: u32 = 4;
        let LseekIn { fh, offset, whence, .. } = body.take()?;
        let opened = self.opened(fh, self.header.nodeid, OpenFlags::READ)?;
        let offset = match whence {
            SEEK_DATA => opened.file.seek_data(offset)?,
            SEEK_HOLE => opened.file.seek_hole(offset)?,
            // The kernel knows the others itself, but for the end of a file of unknown size.
            2 => opened.file.seek(SeekFrom::End(offset as i64))?,
            _ => return Err(Errno::EINVAL),
        };
        self.reply.put(&LseekOut { offset })
    }

    pub(super) fn copy_file_range(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let copied = self.copy(body, u64::from(u32::MAX) & !0xfff)?;
        self.reply.put(&WriteOut { size: copied as u32, padding: 0 })
    }

    pub(super) fn copy_file_range_64(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let bytes_copied = self.copy(body, u64::MAX)?;
        self.reply.put(&CopyFileRange64Out { bytes_copied })
    }

    fn copy(&mut self, body: &mut Body<'_>, most: u64) -> Result<u64, Errno> {
        let CopyFileRangeIn { fh_in, off_in, nodeid_out, fh_out, off_out, len, .. } = body.take()?;
        let from = self.opened(fh_in, self.header.nodeid, OpenFlags::READ)?;
        let to = self.opened(fh_out, nodeid_out, OpenFlags::WRITE)?;
        // As of `fallocate`.
        let set_id = SetId::killed_if(self.header.uid != 0);
        let by = from.file.by(self.changer(to.file.handle(), set_id)?.credentials());
        let length = usize::try_from(len.min(most)).unwrap_or(usize::MAX);
        Ok(by.copy_file_range(Some(off_in), &to.file, Some(off_out), length)? as u64)
    }
}
