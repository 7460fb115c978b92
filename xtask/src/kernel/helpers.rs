//! The functions of `std::fs`, on the thread of the actor.

use std::ffi::OsStr;
use std::fs::{self as std_fs, OpenOptions, Permissions};
use std::io::ErrorKind;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use pathwalk::{AtFlags, FileType};
use rustix::fs::{self, Mode as RawMode, OFlags};
use rustix::io;

use super::calls::{done, look, looking_as_root};
use super::tree::entries;
use super::{Descriptor, Stage, Told};
use crate::cast::Actor;
use crate::helpers::{self, MOST_COPIED};
use crate::op::Op;
use crate::outcome::Answer;
use crate::words::{Mode, Options, Slot, Text};

/// Returns the answer to a function's result. An error without an errno is one of arguments.
fn answered<T>(result: std::io::Result<T>) -> io::Result<T> {
    result.map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => io::Errno::INVAL,
        _ => io::Errno::from_io_error(&error).unwrap_or(io::Errno::IO),
    })
}

fn path_of(path: &Text) -> &Path {
    Path::new(OsStr::from_bytes(&path.0))
}

impl Stage<'_> {
    pub(super) fn help(&mut self, actor: Actor, op: &Op) -> io::Result<Answer> {
        match op {
            Op::WriteFile { path, .. } if is_pipe(path) => Ok(Answer::NotCarriedOut),
            Op::WriteFile { path, byte, size } => answered(std_fs::write(path_of(path), vec![*byte; *size as usize])).map(done),
            Op::Copy { from, to } if is_pipe(from) || is_pipe(to) => Ok(Answer::NotCarriedOut),
            Op::Copy { from, to } => copy(from, to),
            Op::CreateDir { path } => answered(std_fs::create_dir(path_of(path))).map(done),
            Op::CreateDirAll { path } => match helpers::turn(&path.0) {
                Some(turn) if look(fs::CWD, turn, AtFlags::empty()) == Err(io::Errno::NOENT) => Ok(Answer::NotCarriedOut),
                _ => answered(std_fs::create_dir_all(path_of(path))).map(done),
            },
            Op::RemoveFile { path } => answered(std_fs::remove_file(path_of(path))).map(done),
            Op::RemoveDir { path } => answered(std_fs::remove_dir(path_of(path))).map(done),
            Op::RemoveDirAll { path } => remove_dir_all(actor, path).map(done),
            Op::RenameFile { from, to } => answered(std_fs::rename(path_of(from), path_of(to))).map(done),
            Op::HardLink { from, to } => answered(std_fs::hard_link(path_of(from), path_of(to))).map(done),
            Op::SetPermissions { path, mode } => {
                answered(std_fs::set_permissions(path_of(path), Permissions::from_mode(mode.0.into()))).map(done)
            }
            Op::OpenWith { slot, path, options, mode } => self.open_with(actor, *slot, path, *options, *mode),
            other => unreachable!("{} is no function of std::fs", other.verb()),
        }
    }

    fn open_with(&mut self, actor: Actor, slot: Slot, path: &Text, options: Options, mode: Mode) -> io::Result<Answer> {
        let flags = [(Options::DIRECTORY, OFlags::DIRECTORY), (Options::NOFOLLOW, OFlags::NOFOLLOW)];
        // A pipe is opened without waiting for the other end.
        let custom = flags.into_iter().filter(|(option, _)| options.contains(*option)).map(|(_, flag)| flag);
        let custom = custom.fold(OFlags::NONBLOCK, OFlags::union);
        let has = |option| options.contains(option);
        let opened = OpenOptions::new()
            .read(has(Options::READ))
            .write(has(Options::WRITE))
            .append(has(Options::APPEND))
            .truncate(has(Options::TRUNCATE))
            .create(has(Options::CREATE))
            .create_new(has(Options::CREATE_NEW))
            .custom_flags(custom.bits() as i32)
            .mode(mode.0.into())
            .open(path_of(path));
        let fd = OwnedFd::from(answered(opened)?);
        let node = look(&fd, b"", AtFlags::EMPTY_PATH)?;
        self.slots[usize::from(slot.0)] = Some(Descriptor { fd, opener: actor, path: Told::Compares });
        Ok(Answer::Node(node))
    }
}

/// Returns whether a path leads to a pipe, whose open would wait for the other end.
fn is_pipe(path: &Text) -> bool {
    look(fs::CWD, &path.0, AtFlags::empty()).is_ok_and(|node| node.kind == FileType::Fifo)
}

fn copy(from: &Text, to: &Text) -> io::Result<Answer> {
    let source = look(fs::CWD, &from.0, AtFlags::empty());
    if source.is_ok_and(|node| node.kind == FileType::Regular && node.size > MOST_COPIED) {
        return Ok(Answer::NotCarriedOut);
    }
    answered(std_fs::copy(path_of(from), path_of(to))).map(Answer::Number)
}

/// Removes a directory with all that is in it. After a refusal, root removes the rest.
///
/// At the end the standard library looks the path up once more, and takes a path that leads nowhere
/// for success. A path may have led through what it removed: then the directory is still there. It
/// is removed from the directory above it, which is held.
fn remove_dir_all(actor: Actor, path: &Text) -> io::Result<()> {
    let (way, last) = helpers::split(&path.0);
    let open = |at: &dyn AsFd, path: &[u8], flags| {
        fs::openat(at, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC | flags, RawMode::empty())
    };
    let found = look(fs::CWD, &path.0, AtFlags::SYMLINK_NOFOLLOW);
    let above = found.and_then(|_| open(&fs::CWD, way, OFlags::empty()));
    let held = above.and_then(|above| Ok((open(&above, last, OFlags::NOFOLLOW)?, above)));
    let removed = answered(std_fs::remove_dir_all(path_of(path)));
    let Ok((top, above)) = held else { return removed };
    let remove = || fs::unlinkat(&above, last, fs::AtFlags::REMOVEDIR);
    let removed = removed.and_then(|()| match remove() {
        Err(io::Errno::NOENT) => Ok(()),
        removed => removed,
    });
    if removed.is_err() {
        looking_as_root(actor, || {
            clear(&top);
            _ = remove();
        });
    }
    removed
}

/// Removes all below a directory that can be removed, and lists the directory once more. So its
/// time of access does not depend on how much was removed before a refusal.
fn clear(top: &OwnedFd) {
    let open = |at: &OwnedFd, name: &[u8]| {
        fs::openat(at, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, RawMode::empty())
    };
    let Ok(dir) = open(top, b".") else { return };
    let Ok(entries) = entries(dir.as_fd()) else { return };
    for entry in entries.into_iter().filter(|entry| !matches!(&entry.name[..], b"." | b"..")) {
        let mut how = fs::AtFlags::empty();
        if entry.kind == FileType::Directory {
            open(&dir, &entry.name).iter().for_each(clear);
            how = fs::AtFlags::REMOVEDIR;
        }
        _ = fs::unlinkat(&dir, &entry.name[..], how);
    }
    open(top, b".").iter().for_each(|dir| _ = self::entries(dir.as_fd()));
}
