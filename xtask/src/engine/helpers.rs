//! The context's namesakes of functions of `std::fs`.

use std::sync::Arc;

use pathwalk::{Context, Errno, Error, File, FileType, Handle, OpenFlags, OpenOptions, UnlinkFlags};

use super::convert::node;
use super::data::Descriptor;
use super::{Stage, done};
use crate::cast::Actor;
use crate::helpers::{self, MOST_COPIED};
use crate::op::Op;
use crate::outcome::Answer;
use crate::words::{Mode, Options, Slot, Text};

impl Stage {
    pub(super) fn help(&mut self, actor: Actor, op: &Op) -> Result<Answer, Errno> {
        let context = self.processes[actor.index()].face.context();
        let answered = |result: Result<(), Error>| result.map(done).map_err(|error| error.errno());
        match op {
            Op::WriteFile { path, .. } if is_pipe(context, path) => Ok(Answer::NotCarriedOut),
            Op::Copy { from, to } if is_pipe(context, from) || is_pipe(context, to) => Ok(Answer::NotCarriedOut),
            Op::WriteFile { path, byte, size } => answered(context.write(&path.0, vec![*byte; *size as usize])),
            Op::Copy { from, to } => {
                let is_long = |size| size > MOST_COPIED;
                if context.stat(&from.0).is_ok_and(|found| found.kind == FileType::Regular && is_long(found.size)) {
                    return Ok(Answer::NotCarriedOut);
                }
                context.copy(&from.0, &to.0).map(Answer::Number).map_err(|error| error.errno())
            }
            Op::CreateDir { path } => answered(context.create_dir(&path.0)),
            Op::CreateDirAll { path } => match helpers::turn(&path.0) {
                Some(turn) if context.stat(turn) == Err(Errno::ENOENT) => Ok(Answer::NotCarriedOut),
                _ => answered(context.create_dir_all(&path.0)),
            },
            Op::RemoveFile { path } => answered(context.remove_file(&path.0)),
            Op::RemoveDir { path } => answered(context.remove_dir(&path.0)),
            Op::RemoveDirAll { path } => self.remove_dir_all(actor, path),
            Op::RenameFile { from, to } => answered(context.rename(&from.0, &to.0)),
            Op::HardLink { from, to } => answered(context.hard_link(&from.0, &to.0)),
            Op::SetPermissions { path, mode } => answered(context.set_permissions(&path.0, mode.0)),
            Op::OpenWith { slot, path, options, mode } => self.open_with(actor, *slot, path, *options, *mode),
            other => unreachable!("{} is no function of std::fs", other.verb()),
        }
    }

    fn open_with(&mut self, actor: Actor, slot: Slot, path: &Text, options: Options, mode: Mode) -> Result<Answer, Errno> {
        let flags = [(Options::DIRECTORY, OpenFlags::DIRECTORY), (Options::NOFOLLOW, OpenFlags::NOFOLLOW)];
        let custom = flags.into_iter().filter(|(option, _)| options.contains(*option)).map(|(_, flag)| flag);
        // A pipe is opened without waiting for the other end.
        let custom = custom.fold(OpenFlags::NONBLOCK, OpenFlags::union);
        let has = |option| options.contains(option);
        let file = OpenOptions::new()
            .read(has(Options::READ))
            .write(has(Options::WRITE))
            .append(has(Options::APPEND))
            .truncate(has(Options::TRUNCATE))
            .create(has(Options::CREATE))
            .create_new(has(Options::CREATE_NEW))
            .custom_flags(custom)
            .mode(mode.0)
            .open(self.processes[actor.index()].face.context(), &path.0)
            .map_err(|error| error.errno())?;
        let node = node(&file.handle().attributes()?);
        self.slots.set(slot, Some(Descriptor { file: Arc::new(file), opener: actor }));
        Ok(Answer::Node(node))
    }

    /// Removes a directory with all that is in it. After a refusal, root removes the rest.
    fn remove_dir_all(&self, actor: Actor, path: &Text) -> Result<Answer, Errno> {
        let process = &self.processes[actor.index()];
        let context = process.face.context();
        let (way, last) = helpers::split(&path.0);
        let held = context.lstat(&path.0).and_then(|_| context.lookup(way)).and_then(|above| {
            let directory = OpenFlags::PATH | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW;
            Ok((context.openat(&above, last, directory)?, above))
        });
        let removed = context.remove_dir_all(&path.0).map(done).map_err(|error| error.errno());
        if let (Err(_), Ok((top, above))) = (&removed, held) {
            clear(&process.looking, &top);
            _ = process.looking.unlinkat(&above, last, UnlinkFlags::REMOVEDIR);
        }
        removed
    }
}

/// Returns whether a path leads to a pipe, whose open would wait for the other end.
fn is_pipe(context: &Context, path: &Text) -> bool {
    context.stat(&path.0).is_ok_and(|found| found.kind == FileType::Fifo)
}

/// Removes all below a directory that can be removed, and lists the directory once more. So its
/// time of access does not depend on how much was removed before a refusal.
fn clear(context: &Context, top: &File) {
    let open = |at: &Handle, name: &[u8]| context.openat(at, name, OpenFlags::READ | OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW);
    let Ok(dir) = open(top.handle(), b".") else { return };
    let Ok(entries) = dir.getdents(usize::MAX) else { return };
    for entry in entries.into_iter().filter(|entry| !matches!(&entry.name[..], b"." | b"..")) {
        let mut how = UnlinkFlags::empty();
        if entry.kind == FileType::Directory {
            open(dir.handle(), &entry.name).iter().for_each(|below| clear(context, below));
            how = UnlinkFlags::REMOVEDIR;
        }
        _ = context.unlinkat(dir.handle(), &*entry.name, how);
    }
    open(top.handle(), b".").iter().for_each(|dir| _ = dir.getdents(usize::MAX));
}
