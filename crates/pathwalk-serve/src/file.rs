//! A file that was found and may be read, whoever found it.

use std::io;
use std::sync::Arc;

use pathwalk::{Errno, File};
use pathwalk_ring::{AsyncContext, Offset};
use tokio::io::AsyncReadExt;

/// Why there is no file to be served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// There is none: 404.
    Absent,
    /// It may not be seen: 403.
    Forbidden,
    /// Something failed: 500.
    Failed,
}

impl From<Errno> for Refused {
    fn from(errno: Errno) -> Refused {
        match errno {
            // Names that are too long are not there; what is stale has gone while it was looked for.
            Errno::ENOENT | Errno::ENOTDIR | Errno::ENAMETOOLONG | Errno::ESTALE => Refused::Absent,
            // A chain of links that is too long, or one where none is followed; a device or a pipe.
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

/// An open regular file: how long it was when it was opened, in bytes, and what is read of it.
pub struct Opened {
    /// As the attributes say: it may have grown or shrunk by the time it is read.
    pub length: u64,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Pathwalk(AsyncContext, Arc<File>),
    Tokio(tokio::fs::File),
    /// It was read where it was opened.
    Whole(Vec<u8>),
}

impl Content {
    /// The next bytes, at most `at_most`, from where the last ended, which is at `offset`; fewer only at the end.
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
