//! Listing directories.

use std::io::SeekFrom;
use std::sync::Arc;

use pathwalk::{EntryHandles, Errno, Handle, Listed, ListedNode, OpenFlags};

use super::Call;
use crate::abi::{Dirent, EntryOut, ReadIn};
use crate::askers::SetId;
use crate::opened::Opened;
use crate::request::Body;
use crate::serve::data::flags_of;

/// What an entry takes with a name of 24 bytes.
const USUAL_NAME: usize = 24;

/// The length of what precedes a name.
const DIRENT: usize = size_of::<Dirent>();

impl Call<'_> {
    pub(super) fn readdir(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let (opened, ReadIn { offset, size, .. }) = self.listing(body)?;
        let (_listing, most) = (begin(&opened, offset)?, size as usize);
        loop {
            let room = (most - self.reply.body_length()) / (DIRENT + USUAL_NAME);
            let listed = opened.file.getdents(room.max(1));
            let Some(listed) = self.some_of(listed)? else { return Ok(()) };
            for entry in &listed {
                if self.reply.body_length() + length_of(entry, 0) > most {
                    return Ok(());
                }
                self.put_dirent(&opened, entry)?;
            }
        }
    }

    pub(super) fn readdirplus(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let (opened, ReadIn { offset, size, .. }) = self.listing(body)?;
        let put = self.put_nodes(&opened, offset, size as usize);
        self.note_listed(opened.file.handle());
        put
    }

    fn put_nodes(&mut self, opened: &Opened, offset: u64, most: usize) -> Result<(), Errno> {
        let _listing = begin(opened, offset)?;
        loop {
            let room = (most - self.reply.body_length()) / (size_of::<EntryOut>() + DIRENT + USUAL_NAME);
            let listed = self.context(SetId::Kept).readdirplus(&opened.file, room.max(1), EntryHandles::With);
            let Some(listed) = self.some_of(listed)? else { return Ok(()) };
            for node in listed {
                if self.reply.body_length() + length_of(&node.entry, size_of::<EntryOut>()) > most {
                    return Ok(());
                }
                self.put_entry_of(&node)?;
                self.put_dirent(opened, &node.entry)?;
            }
        }
    }

    /// Notes which nodes the answer has, if the kernel keeps it.
    fn note_listed(&self, dir: &Handle) {
        let Some(reads) = self.server.reads.as_ref().filter(|_| self.server.times.keeps_listing(dir)) else { return };
        let number = self.header.nodeid;
        let count = self.given.nodes().inspect(|node| self.server.nodes.set_listed(*node, number)).count();
        reads.listed(number, count as u32);
    }

    /// Takes a request for entries, and returns the open directory.
    fn listing(&mut self, body: &mut Body<'_>) -> Result<(Arc<Opened>, ReadIn), Errno> {
        let asked: ReadIn = body.take()?;
        let noatime = flags_of(asked.flags) & OpenFlags::NOATIME;
        let opened = self.opened(asked.fh, self.header.nodeid, OpenFlags::READ | OpenFlags::DIRECTORY | noatime)?;
        Ok((opened, asked))
    }

    /// Returns what was listed. `None` at the end, and for an error behind entries, which comes
    /// with the next request.
    fn some_of<T>(&self, listed: Result<Vec<T>, Errno>) -> Result<Option<Vec<T>>, Errno> {
        match listed {
            Ok(listed) if listed.is_empty() => Ok(None),
            Ok(listed) => Ok(Some(listed)),
            Err(_) if self.reply.body_length() > 0 => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Puts the node of an entry. The kernel counts no lookup of `.` and `..`, and looks up the
    /// others itself that come without. With another node than it has, it would take away what is
    /// mounted there.
    fn put_entry_of(&mut self, node: &ListedNode) -> Result<(), Errno> {
        match (&node.attributes, &node.handle) {
            (Ok(attributes), Some(handle))
                if !matches!(&*node.entry.name, b"." | b"..")
                    && !self.server.covered.leads(self.header.nodeid, &node.entry.name)
                    && !self.is_on_the_way(handle) =>
            {
                self.put_entry(handle.clone(), attributes)
            }
            _ => self.reply.put(&EntryOut::default()),
        }
    }

    fn put_dirent(&mut self, opened: &Opened, entry: &Listed) -> Result<(), Errno> {
        let kind = u32::from(entry.kind as u8);
        let ino = self.server.ino(opened.device, entry.ino);
        self.reply.put(&Dirent { ino, off: entry.cookie, namelen: entry.name.len() as u32, kind })?;
        self.reply.put_bytes(&entry.name)?;
        self.reply.align()
    }
}

/// Begins a listing where an earlier one ended. Another listing of the same open directory waits
/// until the lock is given back.
fn begin(opened: &Opened, at: u64) -> Result<parking_lot::MutexGuard<'_, ()>, Errno> {
    let listing = opened.listing.lock();
    if opened.file.stream_position()? != at {
        opened.file.seek(SeekFrom::Start(at))?;
    }
    Ok(listing)
}

fn length_of(entry: &Listed, before: usize) -> usize {
    before + (DIRENT + entry.name.len()).next_multiple_of(8)
}
