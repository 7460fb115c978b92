//! The functions of `std::fs`, made of the model's calls as the standard library makes them of
//! system calls.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pathwalk::FileType;
use pathwalk_model::{AT_FDCWD, AtFlags, Capabilities, DirectoryEntry, Errno, OpenFlags};

use super::convert::{file_type, node};
use super::{Answered, World, done};
use crate::helpers::{self, MOST_COPIED, NEW_DIRECTORY, NEW_FILE};
use crate::op::Op;
use crate::outcome::Answer;
use crate::words::{Mode, Options, Slot, Text};

/// The effect of an entry that cannot be removed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Refusal {
    Ends,
    Skips,
}

const REPLACE: OpenFlags = OpenFlags::WRONLY.union(OpenFlags::CREAT).union(OpenFlags::TRUNC);
const DIRECTORY: OpenFlags = OpenFlags::DIRECTORY.union(OpenFlags::NOFOLLOW);

impl World {
    pub(super) fn help(&mut self, op: &Op) -> Answered<Answer> {
        if let Some(call) = op.call() {
            return self.answer(&call);
        }
        match op {
            Op::WriteFile { path, .. } if self.is_pipe(path) => Ok(Answer::NotCarriedOut),
            Op::Copy { from, to } if self.is_pipe(from) || self.is_pipe(to) => Ok(Answer::NotCarriedOut),
            Op::WriteFile { path, byte, size } => {
                let file = self.model.open(&mut self.process, AT_FDCWD, &path.0, REPLACE, NEW_FILE.into())?;
                let written = self.write_all(file, &vec![*byte; *size as usize]);
                self.model.close(&mut self.process, file)?;
                written.map(done)
            }
            Op::Copy { from, to } => self.copy(from, to),
            Op::CreateDirAll { path } => match helpers::turn(&path.0) {
                Some(turn) if self.stat(turn).err() == Some(Errno::ENOENT) => Ok(Answer::NotCarriedOut),
                _ => self.create_dir_all(path).map(done),
            },
            Op::RemoveDirAll { path } => self.remove_dir_all(path).map(done),
            Op::OpenWith { slot, path, options, mode } => self.open_with(*slot, path, *options, *mode),
            other => unreachable!("{} is no function of std::fs", other.verb()),
        }
    }

    fn stat(&mut self, path: &[u8]) -> Answered<crate::outcome::Node> {
        self.model.stat(&mut self.process, AT_FDCWD, path, AtFlags::empty()).map(|found| node(&found))
    }

    /// Returns whether a path leads to a pipe, whose open would wait for the other end.
    fn is_pipe(&mut self, path: &Text) -> bool {
        self.stat(&path.0).is_ok_and(|found| found.kind == FileType::Fifo)
    }

    fn write_all(&mut self, file: i32, mut data: &[u8]) -> Answered<()> {
        while !data.is_empty() {
            let written = self.model.write(&mut self.process, file, data)?;
            data = &data[written..];
        }
        Ok(())
    }

    fn copy(&mut self, from: &Text, to: &Text) -> Answered<Answer> {
        if self.stat(&from.0).is_ok_and(|found| found.kind == FileType::Regular && found.size > MOST_COPIED) {
            return Ok(Answer::NotCarriedOut);
        }
        let from = self.model.open(&mut self.process, AT_FDCWD, &from.0, OpenFlags::empty(), 0)?;
        let copied = self.copy_open(from, to);
        self.model.close(&mut self.process, from)?;
        copied
    }

    fn copy_open(&mut self, from: i32, to: &Text) -> Answered<Answer> {
        let of = node(&self.model.fstat(&mut self.process, from)?);
        if of.kind != FileType::Regular {
            return Err(Errno::EINVAL);
        }
        let to = self.model.open(&mut self.process, AT_FDCWD, &to.0, REPLACE, of.mode.into())?;
        let copied = self.model.fchmod(&mut self.process, to, of.mode.into()).and_then(|()| {
            let data = self.model.read(&mut self.process, from, MOST_COPIED as usize)?;
            self.write_all(to, &data)?;
            Ok(Answer::Number(data.len() as u64))
        });
        self.model.close(&mut self.process, to)?;
        copied
    }

    fn create_dir_all(&mut self, path: &Text) -> Answered<()> {
        let ancestors = Path::new(OsStr::from_bytes(&path.0)).ancestors();
        let mut missing = Vec::new();
        for dir in ancestors.take_while(|dir| !dir.as_os_str().is_empty() && dir.parent().is_some()) {
            match self.create_dir(dir) {
                Err(Errno::ENOENT) => missing.push(dir),
                Ok(()) => break,
                refused => return refused,
            }
        }
        missing.into_iter().rev().try_for_each(|dir| self.create_dir(dir))
    }

    /// Creates a directory, unless it is there.
    fn create_dir(&mut self, path: &Path) -> Answered<()> {
        let path = path.as_os_str().as_bytes();
        match self.model.mkdir(&mut self.process, AT_FDCWD, path, NEW_DIRECTORY.into()) {
            Err(Errno::EEXIST) if self.stat(path).is_ok_and(|found| found.kind == FileType::Directory) => Ok(()),
            made => made,
        }
    }

    /// Removes a directory with all that is in it; of a link, the link. After a refusal, root
    /// removes the rest.
    fn remove_dir_all(&mut self, path: &Text) -> Answered<()> {
        let found = self.model.stat(&mut self.process, AT_FDCWD, &path.0, AtFlags::SYMLINK_NOFOLLOW)?;
        if node(&found).kind == FileType::Symlink {
            return self.model.unlink(&mut self.process, AT_FDCWD, &path.0);
        }
        let (way, last) = helpers::split(&path.0);
        let above = self.model.open(&mut self.process, AT_FDCWD, way, OpenFlags::PATH | OpenFlags::DIRECTORY, 0)?;
        let top = self.model.open(&mut self.process, above, last, OpenFlags::PATH | DIRECTORY, 0);
        let removed = top.and_then(|top| {
            let removed = self.clear(above, last, Refusal::Ends).and_then(|()| {
                match self.model.rmdir(&mut self.process, above, last) {
                    // The last component may be a link that was removed.
                    Err(Errno::ENOENT) => Ok(()),
                    removed => removed,
                }
            });
            if removed.is_err() {
                let own = self.process.credentials().clone();
                self.process.set_credentials(own.clone().with_capabilities(Capabilities::all()));
                _ = self.clear(top, b".", Refusal::Skips);
                _ = self.model.rmdir(&mut self.process, above, last);
                self.process.set_credentials(own);
            }
            self.model.close(&mut self.process, top)?;
            removed
        });
        self.model.close(&mut self.process, above)?;
        removed
    }

    /// Removes all that is in a directory.
    fn clear(&mut self, at: i32, name: &[u8], refusal: Refusal) -> Answered<()> {
        let dir = self.model.open(&mut self.process, at, name, DIRECTORY, 0)?;
        let cleared = self.clear_open(dir, refusal);
        self.model.close(&mut self.process, dir)?;
        cleared
    }

    fn clear_open(&mut self, dir: i32, refusal: Refusal) -> Answered<()> {
        for entry in self.entries(dir)? {
            let removed = match file_type(entry.file_type) {
                FileType::Directory => {
                    let cleared = self.clear(dir, &entry.name, refusal);
                    let mut remove = |()| self.model.rmdir(&mut self.process, dir, &entry.name);
                    if refusal == Refusal::Skips { remove(()) } else { cleared.and_then(remove) }
                }
                _ => self.model.unlink(&mut self.process, dir, &entry.name),
            };
            if refusal == Refusal::Ends {
                removed?;
            }
        }
        // The end is read after the last entry was removed. So the time of access does not depend
        // on how much was removed before a refusal, either.
        self.entries(dir).map(drop)
    }

    /// Returns the entries of an open directory. To a reader of the standard library, a directory
    /// that was removed is empty.
    fn entries(&mut self, dir: i32) -> Answered<Vec<DirectoryEntry>> {
        match self.model.readdir(&mut self.process, dir) {
            Err(Errno::ENOENT) => Ok(Vec::new()),
            entries => entries,
        }
    }

    fn open_with(&mut self, slot: Slot, path: &Text, options: Options, mode: Mode) -> Answered<Answer> {
        let flags = open_flags(options).ok_or(Errno::EINVAL)?;
        let new = self.model.open(&mut self.process, AT_FDCWD, &path.0, flags, mode.0.into())?;
        self.fill(slot, new)
    }
}

/// Returns the flags of an open with these options, if they are valid.
fn open_flags(options: Options) -> Option<OpenFlags> {
    let has = |option| options.contains(option);
    let rights = match (has(Options::READ), has(Options::WRITE), has(Options::APPEND)) {
        (true, false, false) => OpenFlags::empty(),
        (false, true, false) => OpenFlags::WRONLY,
        (true, true, false) => OpenFlags::RDWR,
        (false, _, true) => OpenFlags::WRONLY | OpenFlags::APPEND,
        (true, _, true) => OpenFlags::RDWR | OpenFlags::APPEND,
        (false, false, false) => return None,
    };
    let changes = options.intersects(Options::TRUNCATE | Options::CREATE | Options::CREATE_NEW);
    let is_valid = match (has(Options::WRITE), has(Options::APPEND)) {
        (false, false) => !changes,
        (true, false) => true,
        (_, true) => !has(Options::TRUNCATE) || has(Options::CREATE_NEW),
    };
    let made = match (has(Options::CREATE), has(Options::TRUNCATE)) {
        _ if has(Options::CREATE_NEW) => OpenFlags::CREAT | OpenFlags::EXCL,
        (true, true) => OpenFlags::CREAT | OpenFlags::TRUNC,
        (true, false) => OpenFlags::CREAT,
        (false, true) => OpenFlags::TRUNC,
        (false, false) => OpenFlags::empty(),
    };
    let custom = [(Options::DIRECTORY, OpenFlags::DIRECTORY), (Options::NOFOLLOW, OpenFlags::NOFOLLOW)];
    let custom = custom.into_iter().filter(|(option, _)| options.contains(*option)).map(|(_, flag)| flag);
    is_valid.then(|| custom.fold(rights | made | OpenFlags::NONBLOCK, OpenFlags::union))
}
