//! Reads and writes of files without offsets: named pipes, and devices that say so.
//!
//! What always holds: no lock of the file is held meanwhile, since a read of a pipe may wait for a
//! write through the same file.

use std::io::IoSliceMut;

use super::{File, at_once_mut, counted};
use crate::Errno;
use crate::attr::FileType;
use crate::fs_api::{OpenFile, Seeking, WriteAt};
use crate::limits::RW_MAX;
use crate::mount::MountWriter;

impl File {
    /// Returns what offsets mean in this file.
    pub(super) fn seeking(&self, file: &dyn OpenFile) -> Seeking {
        match self.handle.kind() {
            FileType::Regular | FileType::Directory => Seeking::Offsets,
            _ => file.seeking(),
        }
    }

    /// Returns `ESPIPE` for a file that is a stream, also where it was not opened for the
    /// operation.
    pub(super) fn has_offsets(&self) -> Result<(), Errno> {
        if self.seeking(self.opened()?) == Seeking::Stream { Err(Errno::ESPIPE) } else { Ok(()) }
    }

    /// Reads from a file without offsets.
    pub(super) fn read_stream(&self, file: &dyn OpenFile, buffer: &mut [u8]) -> Result<usize, Errno> {
        let given = buffer.len();
        let length = counted(file.read_at(at_once_mut(buffer), 0), given)?;
        self.read_some(length);
        Ok(length)
    }

    /// Stores the time of an access to a named pipe from which something was read.
    fn read_some(&self, length: usize) {
        if length > 0 && self.handle.kind() == FileType::Fifo {
            self.accessed();
        }
    }

    /// Fills one buffer after the other from a file without offsets: by `first` at the beginning,
    /// which may wait, and then without waiting.
    pub(super) fn fill_stream(
        &self,
        file: &dyn OpenFile,
        buffers: &mut [IoSliceMut<'_>],
        wanted: usize,
        first: impl Fn(&mut [u8]) -> Result<usize, Errno>,
    ) -> Result<usize, Errno> {
        let mut done = 0;
        for buffer in buffers {
            let most = buffer.len().min(wanted - done);
            if most == 0 {
                continue;
            }
            let buffer = &mut buffer[..most];
            let read = if done == 0 { first(buffer) } else { file.try_read_at(buffer, 0) };
            match counted(read, most) {
                Ok(length) if length == most => done += length,
                Ok(length) => {
                    done += length;
                    break;
                }
                Err(errno) if done == 0 => return Err(errno),
                Err(_) => break,
            }
        }
        self.read_some(done);
        Ok(done)
    }

    /// Writes to a file without offsets. What is written to a pipe sets the times of its node,
    /// unless its mount is read-only.
    pub(super) fn write_stream(&self, file: &dyn OpenFile, data: &[u8]) -> Result<usize, Errno> {
        if data.is_empty() {
            return Ok(0);
        }
        let data = &data[..data.len().min(RW_MAX)];
        let written = counted(file.write_at(data, WriteAt::Offset(0)).map(|written| written.bytes), data.len())?;
        let world = self.handle.world();
        if self.handle.kind() == FileType::Fifo
            && let Some(_writing) = MountWriter::new(world, self.handle.place().mount())
        {
            // The data has gone through, whatever the file system thinks of the time. Linux returns
            // the error.
            _ = world.trees.touch(self.handle.dentry());
        }
        Ok(written)
    }
}
