//! Named pipes, whose opens, reads and writes never wait, as with `O_NONBLOCK`.
//!
//! Source: `fifo_open`, `pipe_read` and `anon_pipe_write` of Linux.

use std::collections::BTreeMap;

use crate::errno::{Errno, Result};
use crate::flags::OpenFlags;
use crate::node::{Body, Id, OpenFile, PAGE, Special, State};

/// The number of pages in a pipe.
const PAGES: usize = 16;

/// Data that was written, at most a page, and how much of it was read.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Page {
    bytes: Vec<u8>,
    read: usize,
}

/// The pages of each pipe that has data.
pub(crate) type Pipes = BTreeMap<Id, Vec<Page>>;

impl State {
    pub(crate) fn is_pipe(&self, id: Id) -> bool {
        matches!(self.node(id).body, Body::Special { kind: Special::Fifo, .. })
    }

    fn is_open_to(&self, id: Id, right: impl Fn(OpenFlags) -> bool) -> bool {
        self.open_files().any(|file| file.node == id && !file.flags.contains(OpenFlags::PATH) && right(file.flags))
    }

    /// Checks that a special node can be opened: `ENXIO` for a device or socket, and to write to a
    /// pipe without a reader.
    pub(crate) fn may_open_special(&self, id: Id, flags: OpenFlags) -> Result<()> {
        let has_reader = || flags.readable() || self.is_open_to(id, OpenFlags::readable);
        if self.is_pipe(id) && has_reader() { Ok(()) } else { Err(Errno::ENXIO) }
    }

    /// Drops the data of a pipe that is open nowhere.
    pub(crate) fn closed(&mut self, id: Id) {
        if !self.is_open_to(id, |_| true) {
            self.pipes.remove(&id);
        }
    }

    pub(crate) fn read_pipe(&mut self, file: &OpenFile, count: usize) -> Result<Vec<u8>> {
        if !file.flags.readable() {
            return Err(Errno::EBADF);
        }
        let mut data = Vec::new();
        let pages = self.pipes.entry(file.node).or_default();
        while data.len() < count && !pages.is_empty() {
            let Page { bytes, read } = &mut pages[0];
            let length = (bytes.len() - *read).min(count - data.len());
            data.extend_from_slice(&bytes[*read..*read + length]);
            *read += length;
            if *read == bytes.len() {
                pages.remove(0);
            }
        }
        if pages.is_empty() {
            self.pipes.remove(&file.node);
        }
        let is_early = data.is_empty() && count > 0 && self.is_open_to(file.node, OpenFlags::writable);
        if is_early { Err(Errno::EAGAIN) } else { Ok(data) }
    }

    pub(crate) fn write_pipe(&mut self, file: &OpenFile, data: &[u8]) -> Result<usize> {
        if !file.flags.writable() {
            return Err(Errno::EBADF);
        }
        if data.is_empty() {
            return Ok(0);
        }
        if !self.is_open_to(file.node, OpenFlags::readable) {
            return Err(Errno::EPIPE);
        }
        let pages = self.pipes.entry(file.node).or_default();
        let mut done = 0;
        let odd = data.len() % PAGE as usize;
        if let Some(last) = pages.last_mut()
            && last.bytes.len() + odd <= PAGE as usize
        {
            last.bytes.extend_from_slice(&data[..odd]);
            done = odd;
        }
        while done < data.len() && pages.len() < PAGES {
            let end = data.len().min(done + PAGE as usize);
            pages.push(Page { bytes: data[done..end].to_vec(), read: 0 });
            done = end;
        }
        if done == 0 {
            return Err(Errno::EAGAIN);
        }
        self.touch_modified(file.node);
        Ok(done)
    }
}
