//! Requests by name: to find, to make, to remove and to move.

use std::sync::Arc;
use std::time::Duration;

use pathwalk::{
    AtFlags, Errno, File, FileType, Handle, LinkFlags, NewKind, OpenFlags, OpenHow, RenameFlags, Resolve, UnlinkFlags,
};

use super::{Call, Server, decoded};
use crate::abi::{
    BatchForgetIn, CreateIn, EntryOut, ForgetIn, ForgetOne, LinkIn, MkdirIn, MknodIn, OPEN_KILL_SUIDGID, Rename2In, RenameIn,
};
use crate::askers::SetId;
use crate::notice::Notice;
use crate::request::Body;
use crate::serve::data::flags_of;

impl Call<'_> {
    pub(super) fn look_up(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let (parent, name) = (self.node()?, body.text()?);
        match self.find(&parent, name) {
            Err(Errno::ENOENT) => {
                let absence = self.server.times.absence(&parent);
                if absence.is_zero() {
                    return Err(Errno::ENOENT);
                }
                let (entry_valid, entry_valid_nsec) = (absence.as_secs(), absence.subsec_nanos());
                self.reply.put(&EntryOut { entry_valid, entry_valid_nsec, ..EntryOut::default() })
            }
            found => found,
        }
    }

    /// Puts the answer to a lookup of a name.
    fn find(&mut self, parent: &Handle, name: &[u8]) -> Result<(), Errno> {
        let covered = Arc::clone(&self.server.covered);
        let kept = covered.kept(self.header.nodeid, name);
        // One that the kernel has forgotten is no longer covered.
        let kept = kept.and_then(|kept| Some((self.server.nodes.handle(kept.node).ok()?, kept.attributes)));
        let (handle, attributes) = match kept {
            Some((handle, known)) => {
                let attributes = handle.attributes().unwrap_or(known);
                (handle, attributes)
            }
            None => {
                let handle = self.context(SetId::Kept).lookup_at(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
                let attributes = handle.attributes()?;
                (handle, attributes)
            }
        };
        let is_elsewhere = !covered.leads(self.header.nodeid, name) && self.is_on_the_way(&handle);
        if is_elsewhere {
            return Err(Errno::ENOENT);
        }
        let mut entry = self.server.entry(handle, &attributes);
        if covered.looked_up(self.header.nodeid, name, entry.nodeid, &attributes) {
            (entry.entry_valid, entry.entry_valid_nsec) = (Duration::MAX.as_secs(), 0);
        }
        self.given.lookups.push(entry.nodeid);
        self.reply.put(&entry)
    }

    /// Returns whether something is mounted below a directory, or on it.
    pub(super) fn is_on_the_way(&self, node: &Handle) -> bool {
        let Server { covered, nodes, .. } = self.server;
        !covered.is_empty()
            && node.kind() == FileType::Directory
            && nodes.numbers(node.node_id()).iter().any(|(_, number)| covered.is_on_the_way(*number))
    }

    pub(super) fn forget(&mut self, body: &mut Body<'_>) {
        if let Ok(ForgetIn { nlookup }) = body.take() {
            self.server.forget(self.header.nodeid, nlookup);
        }
    }

    pub(super) fn batch_forget(&mut self, body: &mut Body<'_>) {
        let Ok(BatchForgetIn { count, .. }) = body.take() else { return };
        for _ in 0..count {
            let Ok(ForgetOne { nodeid, nlookup }) = body.take() else { return };
            self.server.forget(nodeid, nlookup);
        }
    }

    pub(super) fn create(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let create: CreateIn = body.take()?;
        let (parent, name) = (self.node()?, body.text()?);
        let mut context = self.context(SetId::killed_if(create.open_flags & OPEN_KILL_SUIDGID != 0)).clone();
        context.umask(create.umask as u16 & 0o777);
        let flags = flags_of(create.flags) | OpenFlags::CREATE | OpenFlags::NOFOLLOW;
        let mode = create.mode as u16 & 0o7777;
        let file = self
            .server
            .writes
            .opened(flags, |flags| context.openat(&parent, name, OpenHow { flags, mode, resolve: Resolve::empty() }))?;
        self.put_made(file)
    }

    /// Puts the answer to a request that made a file and opened it.
    fn put_made(&mut self, file: File) -> Result<(), Errno> {
        let attributes = file.handle().attributes()?;
        self.put_entry(file.handle().clone(), &attributes)?;
        self.put_opened(file)
    }

    pub(super) fn tmpfile(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let create: CreateIn = body.take()?;
        let parent = self.node()?;
        let flags = (flags_of(create.flags) | OpenFlags::TMPFILE) - OpenFlags::CREATE;
        let (mode, maker) = (create.mode as u16 & 0o7777, self.maker(create.umask));
        let file = self
            .server
            .writes
            .opened(flags, |flags| maker.reopen(&parent, OpenHow { flags, mode, resolve: Resolve::empty() }))?;
        self.put_made(file)
    }

    pub(super) fn mknod(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let made: MknodIn = body.take()?;
        let (parent, name) = (self.node()?, body.text()?);
        let kind = match FileType::from_mode(made.mode).ok_or(Errno::EINVAL)? {
            FileType::Regular => NewKind::Regular,
            FileType::Fifo => NewKind::Fifo,
            FileType::Socket => NewKind::Socket,
            FileType::CharDevice => NewKind::CharDevice(decoded(made.rdev)),
            FileType::BlockDevice => NewKind::BlockDevice(decoded(made.rdev)),
            FileType::Directory | FileType::Symlink => return Err(Errno::EINVAL),
        };
        self.maker(made.umask).mknodat(&parent, name, kind, made.mode as u16 & 0o7777)?;
        self.find(&parent, name)
    }

    pub(super) fn mkdir(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let made: MkdirIn = body.take()?;
        let (parent, name) = (self.node()?, body.text()?);
        self.maker(made.umask).mkdirat(&parent, name, made.mode as u16 & 0o7777)?;
        self.find(&parent, name)
    }

    pub(super) fn symlink(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let (parent, name, link) = (self.node()?, body.text()?, body.text()?);
        self.context(SetId::Kept).symlinkat(link, &parent, name)?;
        self.find(&parent, name)
    }

    pub(super) fn link(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let LinkIn { oldnodeid } = body.take()?;
        let (parent, name) = (self.node()?, body.text()?);
        let old = self.server.nodes.handle(oldnodeid)?;
        self.context(SetId::Kept).linkat(&old, "", &parent, name, LinkFlags::EMPTY_PATH)?;
        self.find(&parent, name)
    }

    pub(super) fn unlink(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        self.remove(body, UnlinkFlags::empty())
    }

    pub(super) fn rmdir(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        self.remove(body, UnlinkFlags::REMOVEDIR)
    }

    fn remove(&mut self, body: &mut Body<'_>, how: UnlinkFlags) -> Result<(), Errno> {
        let (parent, name) = (self.node()?, body.text()?);
        self.context(SetId::Kept).unlinkat(&parent, name, how)?;
        self.server.covered.removed(self.header.nodeid, name);
        Ok(())
    }

    pub(super) fn rename(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let RenameIn { newdir } = body.take()?;
        self.move_to(newdir, RenameFlags::empty(), body)
    }

    pub(super) fn rename2(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let Rename2In { newdir, flags, .. } = body.take()?;
        // `RENAME_WHITEOUT` makes a device that only overlays understand.
        let flags = RenameFlags::from_bits(flags).ok_or(Errno::EINVAL)?;
        self.move_to(newdir, flags, body)
    }

    /// Notes directories that have another parent now: the kernel's listings of them have the
    /// number of the old one.
    fn listings_outdated<'a>(&mut self, moved: impl Iterator<Item = (&'a Handle, &'a [u8])>) {
        for (parent, name) in moved {
            let Ok(handle) = self.context(SetId::Kept).lookup_at(parent, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if handle.kind() == FileType::Directory {
                let numbers = self.server.nodes.numbers(handle.node_id());
                self.given.outdated.extend(numbers.into_iter().map(|(_, number)| Notice::Data(number)));
            }
        }
    }

    fn move_to(&mut self, newdir: u64, flags: RenameFlags, body: &mut Body<'_>) -> Result<(), Errno> {
        let (from, to) = (self.node()?, self.server.nodes.handle(newdir)?);
        let (old, new) = (body.text()?, body.text()?);
        self.context(SetId::Kept).renameat(&from, old, &to, new, flags)?;
        let is_exchange = flags.contains(RenameFlags::EXCHANGE);
        self.server.covered.moved((self.header.nodeid, old), (newdir, new), is_exchange);
        if from.node_id() != to.node_id() {
            self.listings_outdated([(&to, new), (&from, old)].into_iter().take(1 + usize::from(is_exchange)));
        }
        Ok(())
    }
}
