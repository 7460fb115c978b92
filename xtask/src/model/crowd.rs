//! The model for several threads: each has a process of its own, forked from the one that laid
//! things out.
//!
//! A path can be walked by single steps. Each leaves what it found in a descriptor above those of
//! programs: see [`walking_slots`].

use std::collections::BTreeMap;

use pathwalk::{Errno, FileType};
use pathwalk_model::{Credentials, Process};

use super::{AT_FDCWD, Answered, ModelAtFlags, ModelOpenFlags, World, file_type, number};
use crate::cast::Actor;
use crate::op::Op;
use crate::outcome::{Answer, Transcript};
use crate::words::{Place, SLOTS, Slot};

/// The state of all threads: a clone is another that goes on from here.
#[derive(Clone, Hash)]
pub(crate) struct Crowd {
    /// With the process of the thread whose turn it is.
    world: World,
    seats: Vec<Seat>,
}

/// One thread's own.
#[derive(Clone, Hash)]
struct Seat {
    process: Process,
    openers: [Option<Actor>; SLOTS],
    actor: Actor,
}

/// What a step of a walk came to.
pub(crate) enum Stepped {
    /// It was left in the descriptor.
    Node(FileType),
    /// A link, with this body; the descriptor is what it was.
    Link(Vec<u8>),
}

/// What becomes of a link at the end of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// Its body is read.
    Read,
    /// It is a node like others.
    Keep,
}

/// Names of a directory, with types and inode numbers.
pub(crate) type Names = BTreeMap<Vec<u8>, (FileType, u64)>;

/// The descriptors of the walk along an operation's first or second path, in turns.
pub(crate) fn walking_slots(path: usize) -> [Slot; 2] {
    [Slot(200 + 2 * path as u8), Slot(201 + 2 * path as u8)]
}

/// The longest body of a link, in bytes.
const LONGEST_BODY: i32 = 4096;

impl Crowd {
    /// Threads of these actors, in the places and with the descriptors that root has there.
    pub(crate) fn new(mut world: World, actors: &[Actor]) -> Answered<Crowd> {
        world.become_process(crate::cast::ROOT)?;
        let mut seats = Vec::new();
        for &actor in actors {
            let mut process = world.model.fork(&world.process);
            let held: Vec<i32> = process.descriptors().filter(|descriptor| *descriptor >= SLOTS as i32).collect();
            for descriptor in held {
                world.model.close(&mut process, descriptor)?;
            }
            process.set_credentials(actor.model_credentials());
            seats.push(Seat { process, openers: world.openers, actor });
        }
        let spare = world.model.process(Credentials::root());
        let first = std::mem::replace(&mut world.process, spare);
        world.model.exit(first);
        Ok(Crowd { world, seats })
    }

    fn turn<T>(&mut self, thread: usize, act: impl FnOnce(&mut World) -> T) -> T {
        let Crowd { world, seats } = self;
        let seat = &mut seats[thread];
        let swap = |world: &mut World, seat: &mut Seat| {
            std::mem::swap(&mut world.process, &mut seat.process);
            std::mem::swap(&mut world.openers, &mut seat.openers);
            std::mem::swap(&mut world.now, &mut seat.actor);
        };
        swap(world, seat);
        let answer = act(world);
        swap(world, seat);
        answer
    }

    /// Whether an operation counts: see [`Op::counts`].
    pub(crate) fn counts(&self, thread: usize, op: &Op) -> bool {
        let Seat { actor, openers, .. } = &self.seats[thread];
        op.counts(*actor, |slot| openers[usize::from(slot.0)])
    }

    /// Carries an operation out at one instant.
    pub(crate) fn carry_out(&mut self, thread: usize, op: &Op) -> Answer {
        self.turn(thread, |world| world.answer(op)).unwrap_or_else(failed)
    }

    /// One step of a walk: `place` has one component.
    pub(crate) fn step(&mut self, thread: usize, place: &Place, into: Slot, links: Links) -> Result<Stepped, Errno> {
        let step = |world: &mut World| -> Answered<Stepped> {
            let World { model, process, .. } = world;
            let flags = ModelOpenFlags::PATH | ModelOpenFlags::NOFOLLOW;
            let new = model.open(process, place.at.map_or(AT_FDCWD, number), &place.path.0, flags, 0)?;
            let kind = file_type(model.fstat(process, new)?.mode);
            if kind == FileType::Symlink && links == Links::Read {
                let body = model.readlink(process, new, b"", LONGEST_BODY)?;
                model.close(process, new)?;
                return Ok(Stepped::Link(body));
            }
            model.dup2(process, new, number(into))?;
            model.close(process, new)?;
            Ok(Stepped::Node(kind))
        };
        self.turn(thread, step).map_err(|errno| Errno::from_raw(errno.0))
    }

    /// `fchdir`.
    pub(crate) fn enter(&mut self, thread: usize, slot: Slot) -> Answer {
        let enter = |world: &mut World| world.model.fchdir(&mut world.process, number(slot));
        self.turn(thread, enter).map_or_else(failed, |()| Answer::Done)
    }

    /// Opens what a walk found as a mere place.
    pub(crate) fn adopt(&mut self, thread: usize, found: Slot, slot: Slot) -> Answer {
        let adopt = |world: &mut World| -> Answered<Answer> {
            world.model.dup2(&mut world.process, number(found), number(slot))?;
            world.openers[usize::from(slot.0)] = Some(world.now);
            world
                .model
                .stat(&mut world.process, number(slot), b"", ModelAtFlags::EMPTY_PATH)
                .map(|found| Answer::Node(super::node(&found)))
        };
        self.turn(thread, adopt).unwrap_or_else(failed)
    }

    /// The names of an open directory at this instant; none once it is removed.
    pub(crate) fn names(&mut self, thread: usize, slot: Slot) -> Names {
        match self.turn(thread, |world| world.list(slot)) {
            Ok(Answer::Listing(names)) => names,
            _ => Names::new(),
        }
    }

    /// Gives back what an operation's walks held.
    pub(crate) fn end_walks(&mut self, thread: usize) {
        let close = |world: &mut World| {
            for slot in [walking_slots(0), walking_slots(1)].into_iter().flatten() {
                // Most are not open.
                let _ = world.model.close(&mut world.process, number(slot));
            }
        };
        self.turn(thread, close);
    }

    /// The tree as it is.
    pub(crate) fn transcript(&self) -> Transcript {
        self.world.transcript()
    }
}

fn failed(errno: pathwalk_model::Errno) -> Answer {
    Answer::Failed(Errno::from_raw(errno.0))
}
