//! The new content of a file of a patch, made of the old one.

use std::io::Read;

use pathwalk::{Errno, FileType};
use sha1::{Digest as _, Sha1};

use super::binary::{self, Step};
use super::parse::{Content, FilePatch, Packed};
use super::{Id, PATCHED_MAX, hunks, id_of, id_of_size};
use crate::data::{PART, Reader};
use crate::error::{Error, Position};
use crate::path::ROOT;
use crate::tree::Tree;

/// What takes the parts of some content, in order.
pub(super) type Parts<'p> = dyn FnMut(&[u8]) -> Result<(), Error> + 'p;

/// A tree whose files have the old content.
pub(super) struct Old<'t>(pub(super) &'t Tree);

impl Old<'_> {
    /// Passes the new content of a file to a function.
    pub(super) fn content(&self, file: &FilePatch<'_>, path: &[u8], to: &mut Parts<'_>) -> Result<(), Error> {
        match &file.content {
            Content::Same => match &file.old {
                Some(old) => self.old_parts(old, to),
                None => Ok(()),
            },
            Content::Text(hunks) => {
                let before = file.old.as_ref().map_or(Ok(Vec::new()), |old| self.old_whole(old))?;
                let hunk = |hunk: &hunks::Hunk<'_>| {
                    let at = file.old.as_deref().unwrap_or(path);
                    Error::Hunk { place: Position::Line(hunk.line), path: at.into() }
                };
                to(&hunks::apply(&before, hunks).map_err(hunk)?)
            }
            Content::Literal(packed) => {
                let id = self.checked_id(file, packed.size)?;
                unpack(file, packed, id, to)
            }
            Content::Delta(packed) => {
                self.checked_id(file, 0)?;
                self.delta(file, packed, to)
            }
        }
    }

    /// Checks that a file is the one from which a binary patch was made, and returns the id of its
    /// new content, which is begun for content of this size.
    fn checked_id(&self, file: &FilePatch<'_>, size: u64) -> Result<(Sha1, Id), Error> {
        let malformed = |what: &str| Error::malformed(Position::Line(file.line), what);
        let (before, after) =
            file.ids.ok_or_else(|| malformed("a binary file without whole ids; have git write it by --binary"))?;
        let found = match &file.old {
            None => [0; 20],
            Some(old) => self.old_id(old)?,
        };
        if found != before {
            let path = file.old.as_deref().unwrap_or(ROOT);
            return Err(Error::differs(path, "is not the binary file from which the patch was made"));
        }
        Ok((id_of_size(size), after))
    }

    fn old_id(&self, old: &[u8]) -> Result<Id, Error> {
        if self.0.node(old)?.kind() == FileType::Symlink {
            return Ok(id_of(&self.0.body(old)?));
        }
        let mut id = id_of_size(self.0.attributes(old)?.size);
        self.old_parts(old, &mut |part| {
            id.update(part);
            Ok(())
        })?;
        Ok(id.finalize().into())
    }

    /// Passes the old content of a file to a function, a part at a time.
    fn old_parts(&self, old: &[u8], to: &mut Parts<'_>) -> Result<(), Error> {
        if self.0.node(old)?.kind() == FileType::Symlink {
            return to(&self.0.body(old)?);
        }
        let (mut reader, mut buffer) = (Reader::open(self.0, old)?, vec![0; PART]);
        loop {
            match reader.read(&mut buffer).map_err(|error| reader.failed(&error))? {
                0 => return Ok(()),
                length => to(&buffer[..length])?,
            }
        }
    }

    /// Returns the old content of a file, which has to fit into memory.
    fn old_whole(&self, old: &[u8]) -> Result<Vec<u8>, Error> {
        if self.0.node(old)?.kind() == FileType::Symlink {
            return self.0.body(old);
        }
        if self.0.attributes(old)?.size > PATCHED_MAX {
            return Err(Error::tree("patch", old)(Errno::EFBIG));
        }
        Reader::open(self.0, old)?.whole()
    }

    fn delta(&self, file: &FilePatch<'_>, packed: &Packed, to: &mut Parts<'_>) -> Result<(), Error> {
        let malformed = || Error::malformed(Position::Line(file.line), "the differences of bytes are damaged");
        let (Some(old), Some((_, after))) = (&file.old, file.ids) else { return Err(malformed()) };
        if packed.size > PATCHED_MAX {
            return Err(Error::tree("patch", old)(Errno::EFBIG));
        }
        let mut bytes = Vec::new();
        let read = binary::unpacked(&packed.bytes).take(packed.size + 1).read_to_end(&mut bytes);
        if read.ok() != Some(packed.size as usize) {
            return Err(malformed());
        }
        let (from, size, steps) = binary::differences(&bytes).ok_or_else(malformed)?;
        let before = self.old_whole(old)?;
        if from != before.len() as u64 {
            return Err(malformed());
        }
        let mut id = id_of_size(size);
        for step in steps {
            let part = match step {
                Step::Insert(part) => part,
                Step::Copy(begin, length) => &before[begin as usize..(begin + length) as usize],
            };
            id.update(part);
            to(part)?;
        }
        if <Id>::from(id.finalize()) == after { Ok(()) } else { Err(malformed()) }
    }
}

/// Passes packed content to a function, and checks its size and its id.
fn unpack(file: &FilePatch<'_>, packed: &Packed, (mut id, wanted): (Sha1, Id), to: &mut Parts<'_>) -> Result<(), Error> {
    let malformed = || Error::malformed(Position::Line(file.line), "the binary content is damaged");
    let (mut unpacked, mut buffer, mut size) = (binary::unpacked(&packed.bytes), vec![0; PART], 0);
    loop {
        match unpacked.read(&mut buffer).map_err(|_| malformed())? {
            0 => break,
            length => {
                size += length as u64;
                if size > packed.size {
                    return Err(malformed());
                }
                id.update(&buffer[..length]);
                to(&buffer[..length])?;
            }
        }
    }
    // A file that is removed has no content, and no id.
    let is_wanted = <Id>::from(id.finalize()) == wanted || wanted == [0; 20] && size == 0;
    if is_wanted && size == packed.size { Ok(()) } else { Err(malformed()) }
}
