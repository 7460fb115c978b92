//! The open files of a program, and the operations on them.

use std::collections::BTreeMap;
use std::io::SeekFrom;
use std::sync::Arc;

use pathwalk::{At, Errno, File, Handle, ListedNode, SyncWhat};

use super::convert::node;
use super::{Process, done};
use crate::cast::Actor;
use crate::face::{self, Face};
use crate::op::Op;
use crate::outcome::{self, Answer};
use crate::words::{SLOTS, Slot, Whence};

/// An open file, and the actor that opened it.
#[derive(Clone)]
pub(super) struct Descriptor {
    pub(super) file: Arc<File>,
    pub(super) opener: Actor,
}

/// The descriptors of a process.
#[derive(Clone, Default)]
pub(super) struct Descriptors(pub(super) [Option<Descriptor>; SLOTS]);

impl Descriptors {
    pub(super) fn opener(&self, slot: Slot) -> Option<Actor> {
        self.0[usize::from(slot.0)].as_ref().map(|there| there.opener)
    }

    pub(super) fn file(&self, slot: Slot) -> &Arc<File> {
        &self.0[usize::from(slot.0)].as_ref().expect("it was looked for").file
    }

    pub(super) fn at(&self, slot: Option<Slot>) -> At<'_> {
        slot.map_or(At::Cwd, |slot| At::Handle(self.file(slot).handle()))
    }

    pub(super) fn set(&mut self, slot: Slot, to: Option<Descriptor>) -> Option<Descriptor> {
        std::mem::replace(&mut self.0[usize::from(slot.0)], to)
    }
}

/// Carries out an operation on an open file. A write runs with the rights of the writer. A face
/// uses its own credentials only, so it is bypassed for a file that another actor opened.
pub(super) fn data(process: &mut Process, slots: &Descriptors, actor: Actor, op: &Op) -> Result<Answer, Errno> {
    let Process { face, own, .. } = process;
    let is_own = |slot| slots.opener(slot) == Some(actor);
    match *op {
        Op::Read { slot, size } => read(size, |buffer| face.read(slots.file(slot), buffer)),
        Op::ReadAt { slot, size, offset } => read(size, |buffer| face.read_at(slots.file(slot), buffer, offset)),
        Op::TryReadAt { slot, size, offset } => read(size, |buffer| slots.file(slot).try_read_at(buffer, offset)),
        Op::Write { slot, byte, size } => {
            let data = vec![byte; size as usize];
            let written = if is_own(slot) { face.write(slots.file(slot), &data) } else { slots.file(slot).by(own).write(&data) };
            written.map(number)
        }
        Op::WriteAt { slot, byte, size, offset } => {
            let data = vec![byte; size as usize];
            let file = slots.file(slot);
            let written = if is_own(slot) { face.write_at(file, &data, offset) } else { file.by(own).write_at(&data, offset) };
            written.map(number)
        }
        Op::Seek { slot, whence, by } => {
            let file = slots.file(slot);
            if !outcome::may_seek(file.handle().kind(), whence) {
                return Ok(Answer::NotCarriedOut);
            }
            let to = match whence {
                Whence::Start => SeekFrom::Start(by as u64),
                Whence::Current => SeekFrom::Current(by),
                Whence::End => SeekFrom::End(by),
            };
            file.seek(to).map(Answer::Number)
        }
        Op::SetLen { slot, size } => slots.file(slot).by(own).set_len(size).map(done),
        Op::List { slot } => list(&mut **face, slots.file(slot)),
        Op::ListNodes { slot, most } => list_nodes(&mut **face, slots.file(slot), most as usize),
        Op::Sync { slot } => face.sync(slots.file(slot), SyncWhat::All).map(done),
        ref other => unreachable!("{} is no operation on what is open", other.verb()),
    }
}

pub(super) fn number(number: usize) -> Answer {
    Answer::Number(number as u64)
}

pub(super) fn read(size: u64, read: impl FnOnce(&mut [u8]) -> Result<usize, Errno>) -> Result<Answer, Errno> {
    let mut buffer = vec![0; size as usize];
    let length = read(&mut buffer)?;
    buffer.truncate(length);
    Ok(Answer::Bytes(buffer))
}

fn list(face: &mut dyn Face, file: &Arc<File>) -> Result<Answer, Errno> {
    listing(file, |each| face.list(file, each))
}

/// The most entries that are listed with their handles at once. They are held, and the caches have
/// room for few long names.
const HELD_AT_ONCE: usize = 64;

/// Lists a directory with the attributes of its entries, in parts.
fn list_nodes(face: &mut dyn Face, file: &Arc<File>, most: usize) -> Result<Answer, Errno> {
    let mut nodes = BTreeMap::new();
    file.seek(SeekFrom::Start(0))?;
    loop {
        let part = face.list_nodes(file, most.min(HELD_AT_ONCE))?;
        if part.is_empty() {
            return Ok(Answer::Nodes(nodes));
        }
        for ListedNode { entry, attributes, handle } in part {
            let mut name = entry.name.into_vec();
            // A repeated name is a mismatch.
            while nodes.contains_key(&name) {
                name.push(outcome::AGAIN);
            }
            // The attributes and the handle are of one node.
            let key = |handle: &Handle| handle.attributes().map(|found| (found.device, found.ino));
            let is_one = handle.is_none_or(|handle| key(&handle).ok() == attributes.ok().map(|found| (found.device, found.ino)));
            nodes.insert(name, if is_one { attributes.map(|found| node(&found)) } else { Err(face::at_odds()) });
        }
    }
}

/// Returns what `all` lists of a directory from its beginning.
pub(super) fn listing(file: &File, all: impl FnOnce(&mut dyn FnMut(face::Listed)) -> Result<(), Errno>) -> Result<Answer, Errno> {
    let mut listing = BTreeMap::new();
    let minor = file.handle().attributes()?.device.minor;
    file.seek(SeekFrom::Start(0))?;
    all(&mut |(mut name, kind, ino)| {
        // No name contains a slash. A repeated name is a mismatch, unless repeats are allowed.
        while listing.contains_key(&name) {
            name.push(outcome::AGAIN);
        }
        listing.insert(name, (kind, outcome::number(minor, ino)));
    })?;
    Ok(Answer::Listing(listing))
}
