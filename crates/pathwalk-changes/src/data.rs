//! The data of a file, a part at a time: what is no hole.

use std::io::{self, Read};
use std::ops::Range;

use pathwalk::{Errno, File, FileType, OpenFlags};

use crate::error::Error;
use crate::path::PathBytes;
use crate::tree::Tree;

/// The most bytes that are read or written at once.
pub(crate) const PART: usize = 64 << 10;

/// Returns the ranges of a file, of this size, that are no holes.
pub(crate) fn ranges(file: &File, path: &[u8], size: u64) -> Result<Vec<Range<u64>>, Error> {
    let find = || {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < size {
            let start = match file.seek_data(at) {
                Ok(start) => start,
                Err(Errno::ENXIO) => break,
                // One range, where the file system does not tell.
                Err(Errno::EINVAL | Errno::EOPNOTSUPP) => {
                    found.push(at..size);
                    break;
                }
                Err(errno) => return Err(errno),
            };
            let end = file.seek_hole(start)?.min(size);
            if start >= end {
                break;
            }
            found.push(start..end);
            at = end;
        }
        Ok(found)
    };
    find().map_err(Error::tree("read", path))
}

/// Calls a function with the parts of a range, in order.
pub(crate) fn for_each_part(
    file: &File,
    path: &[u8],
    range: Range<u64>,
    mut part: impl FnMut(u64, &[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut buffer, mut at) = (vec![0; PART], range.start);
    while at < range.end {
        let wanted = PART.min((range.end - at) as usize);
        let length = file.read_at(&mut buffer[..wanted], at).map_err(Error::tree("read", path))?;
        if length == 0 {
            return Err(Error::differs(path, "became shorter while it was read"));
        }
        part(at, &buffer[..length])?;
        at += length as u64;
    }
    Ok(())
}

/// A file that is read from its beginning to the size that it had.
pub(crate) struct Reader {
    file: File,
    path: PathBytes,
    at: u64,
    size: u64,
}

impl Reader {
    pub(crate) fn open(tree: &Tree, path: &[u8]) -> Result<Reader, Error> {
        let file = tree.open(path)?;
        let size = file.handle().attributes().map_err(Error::tree("look at", path))?.size;
        Ok(Reader { file, path: path.into(), at: 0, size })
    }

    /// Returns the size that it has had since it was opened.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Reads all of it, which must fit into memory.
    pub(crate) fn whole(mut self) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        self.read_to_end(&mut all).map_err(|error| self.failed(&error))?;
        Ok(all)
    }

    /// Returns the error of a read of it.
    pub(crate) fn failed(&self, error: &io::Error) -> Error {
        let errno = error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
        Error::tree("read", &self.path)(errno)
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min((self.size - self.at) as usize);
        if wanted == 0 {
            return Ok(0);
        }
        let length = self.file.read_at(&mut buffer[..wanted], self.at).map_err(io::Error::from)?;
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += length as u64;
        Ok(length)
    }
}

/// A file that is written, in the place of what it had.
pub(crate) struct Writer {
    file: File,
    path: PathBytes,
}

impl Writer {
    /// Begins with nothing but a hole of this size.
    pub(crate) fn begin(tree: &Tree, path: &[u8], size: u64) -> Result<Writer, Error> {
        let open = || {
            let node = tree.find(path)?;
            if node.kind() != FileType::Regular {
                return Err(Errno::EINVAL);
            }
            let file = tree.context.reopen(&node, OpenFlags::WRITE)?;
            file.set_len(0)?;
            if size > 0 {
                file.set_len(size)?;
            }
            Ok(file)
        };
        Ok(Writer { file: open().map_err(Error::tree("write", path))?, path: path.into() })
    }

    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result<(), Error> {
        self.file.write_all_at(bytes, at).map_err(Error::tree("write", &self.path))
    }
}
