//! The files that were found and may be read, from any of the three sources.

use std::io;
use std::sync::Arc;

use pathwalk::{Errno, File};
use pathwalk_ring::{AsyncContext, Offset};
use tokio::io::AsyncReadExt;

/// The reason why there is no file to be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// No such file: 404.
    Absent,
    /// A file that may not be read: 403.
    Forbidden,
    /// Any other failure: 500.
    Failed,
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Refused {
        match errno {
            // A name that is too long does not exist. A stale node was removed while it was looked
            // up.
            Errno::ENOENT | Errno::ENOTDIR | Errno::ENAMETOOLONG | Errno::ESTALE => Refused::Absent,
            // The causes are a chain of links that is too long, or a link where none is followed; a
            // device or a pipe.
            Errno::EACCES | Errno::EPERM | Errno::ELOOP | Errno::ENXIO | Errno::EXDEV => Refused::Forbidden,
            _ => Refused::Failed,
        }
    }
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Refused {
        error.raw_os_error().map_or(Refused::Failed, |raw| Errno::from_raw(raw).into())
    }
}

/// An open regular file: its length in bytes at the open, and its content.
pub struct Opened {
    /// The length in the attributes. The file may have grown or shrunk by the time it is read.
    pub length: u64,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Pathwalk(AsyncContext, Arc<File>),
    Tokio(tokio::fs::File),
    /// The whole content, which was read on the thread that opened the file.
    Whole(Vec<u8>),
}

impl Content {
    /// Reads the next bytes, at most `at_most`, from where the last read ended, which is at
    /// `offset`. Reads fewer only at the end.
    pub(crate) async fn read(&mut self, at_most: usize, offset: u64) -> io::Result<Vec<u8>> {
        match self {
            Content::Pathwalk(vfs, file) => Ok(vfs.read(file, vec![0; at_most], Offset::At(offset)).await?),
            Content::Tokio(file) => {
                let mut buffer = Vec::with_capacity(at_most);
                while buffer.len() < at_most {
                    let room = (at_most - buffer.len()) as u64;
                    if (&mut *file).take(room).read_buf(&mut buffer).await? == 0 {
                        break;
                    }
                }
                Ok(buffer)
            }
            Content::Whole(bytes) => Ok(std::mem::take(bytes)),
        }
    }
}
