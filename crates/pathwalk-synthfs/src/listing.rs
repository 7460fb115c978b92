//! An open file or directory: no data, and listings that are computed from a cookie on.

use std::ops::ControlFlow;

use pathwalk::{Entry, EntrySink, Errno, FIRST_COOKIE, FileType, Name, OpenFile};

use crate::names::{self, Buffer, DIRECTORY, FILE, THREAD};
use crate::{Delay, Place, Shape};

/// An open node. A cookie is the number of an entry plus [`FIRST_COOKIE`].
pub(crate) struct Opened {
    pub(crate) shape: Shape,
    pub(crate) delay: Delay,
    pub(crate) place: Place,
}

impl Opened {
    /// Returns letter, count and type of the directory's entries, or `None` for a file.
    fn contents(&self) -> Option<(u8, u32, FileType)> {
        match self.place {
            Place::Root => Some((THREAD, self.shape.threads, FileType::Directory)),
            Place::Thread(_) => Some((DIRECTORY, self.shape.directories, FileType::Directory)),
            Place::Directory(..) => Some((FILE, self.shape.files, FileType::Regular)),
            Place::File(..) => None,
        }
    }

    /// Passes the entries behind a cookie to `each`, with their places, until it breaks.
    fn list(&self, from: u64, each: &mut dyn FnMut(Entry<'_>, Place) -> ControlFlow<()>) -> Result<(), Errno> {
        let (letter, count, kind) = self.contents().ok_or(Errno::ENOTDIR)?;
        // The listing begins with the entry after the cookie. A cookie below the first one comes
        // before all entries.
        let first = (from + 1).saturating_sub(FIRST_COOKIE).min(u64::from(count)) as u32;
        let mut buffer = Buffer::default();
        for number in first..count {
            let place = self.below(number);
            let name = names::write(letter, number, &mut buffer);
            let cookie = FIRST_COOKIE + u64::from(number);
            if each(Entry { name, key: place.key(), ino: self.shape.inode_number(place), kind, cookie }, place).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the entry with this number. For a file, returns the file itself.
    fn below(&self, number: u32) -> Place {
        match self.place {
            Place::Root => Place::Thread(number),
            Place::Thread(of) => Place::Directory(of, number),
            Place::Directory(of, dir) => Place::File(of, dir, number),
            file @ Place::File(..) => file,
        }
    }
}

impl OpenFile for Opened {
    fn read_at(&self, _buffer: &mut [u8], _offset: u64) -> Result<usize, Errno> {
        match self.place {
            Place::File(..) => Ok(0),
            _ => Err(Errno::EISDIR),
        }
    }

    fn read_dir(&self, from: u64, each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>) -> Result<(), Errno> {
        self.delay.pass();
        self.list(from, &mut |entry, _| each(entry))
    }

    fn read_dir_with_nodes(&self, from: u64, sink: &mut EntrySink<'_>) -> Result<(), Errno> {
        self.delay.pass();
        let mut found = Vec::new();
        self.list(from, &mut |entry, place| {
            let flow = sink.push(entry);
            if Name::new(entry.name).is_ok_and(|name| sink.wants(name)) {
                found.push((Box::<[u8]>::from(entry.name), self.shape.node(place)));
            }
            flow
        })?;
        let (names, nodes): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let named = names.iter().zip(nodes).map(|(name, node)| Ok((Name::new(name)?, node)));
        sink.give(&named.collect::<Result<Vec<_>, Errno>>()?);
        Ok(())
    }
}
