//! The model for several threads: each has a process of its own, forked from the one that prepared
//! the tree.
//!
//! A path can be walked by single steps. Each step leaves the node it found in a descriptor above
//! those of programs: see [`walking_slots`].

use std::collections::BTreeMap;

use pathwalk::{Errno, FileType};
use pathwalk_model::{Credentials, Process};

use super::{AT_FDCWD, Answered, ModelAtFlags, ModelOpenFlags, World, file_type, number};
use crate::cast::Actor;
use crate::op::Op;
use crate::outcome::{Answer, Transcript};
use crate::words::{Place, SLOTS, Slot};

/// The state of all threads. A clone goes on from here by itself.
#[derive(Clone, Hash)]
pub(crate) struct Crowd {
    /// The model, with the process of the thread that has its turn.
    world: World,
    seats: Vec<Seat>,
}

/// The state of one thread.
#[derive(Clone, Hash)]
struct Seat {
    process: Process,
    openers: [Option<Actor>; SLOTS],
    actor: Actor,
}

/// The result of one step of a walk.
pub(crate) enum Stepped {
    /// A node, which is left in the descriptor.
    Node(FileType),
    /// A link with this body; the descriptor is unchanged.
    Link(Vec<u8>),
}

/// The treatment of a link at the end of a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Links {
    /// The link's body is read.
    Read,
    /// The link is a node like any other.
    Keep,
}

/// The names of a directory, with types and inode numbers.
pub(crate) type Names = BTreeMap<Vec<u8>, (FileType, u64)>;

/// Returns the two descriptors that the walk along an operation's first or second path uses in
/// turns.
pub(crate) fn walking_slots(path: usize) -> [Slot; 2] {
    [Slot(200 + 2 * path as u8), Slot(201 + 2 * path as u8)]
}

/// The length of the longest body of a link, in bytes.
const LONGEST_BODY: i32 = 4096;

impl Crowd {
    /// Creates a thread for each of these actors, with the places and descriptors that root has in
    /// the world.
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

    /// Returns whether an operation counts: see [`Op::counts`].
    pub(crate) fn counts(&self, thread: usize, op: &Op) -> bool {
        let Seat { actor, openers, .. } = &self.seats[thread];
        op.counts(*actor, |slot| openers[usize::from(slot.0)])
    }

    /// Carries out an operation at one instant.
    pub(crate) fn carry_out(&mut self, thread: usize, op: &Op) -> Answer {
        self.turn(thread, |world| world.answer(op)).unwrap_or_else(failed)
    }

    /// Carries out one step of a walk; `place` has one component.
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

    /// Makes an open directory the working directory, as `fchdir(2)` does.
    pub(crate) fn enter(&mut self, thread: usize, slot: Slot) -> Answer {
        let enter = |world: &mut World| world.model.fchdir(&mut world.process, number(slot));
        self.turn(thread, enter).map_or_else(failed, |()| Answer::Done)
    }

    /// Opens the node that a walk found as a mere place.
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

    /// Returns the names of an open directory at this instant; none once it is removed.
    pub(crate) fn names(&mut self, thread: usize, slot: Slot) -> Names {
        match self.turn(thread, |world| world.list(slot)) {
            Ok(Answer::Listing(names)) => names,
            _ => Names::new(),
        }
    }

    /// Closes the descriptors that an operation's walks used.
    pub(crate) fn end_walks(&mut self, thread: usize) {
        let close = |world: &mut World| {
            for slot in [walking_slots(0), walking_slots(1)].into_iter().flatten() {
                // Most are not open.
                let _ = world.model.close(&mut world.process, number(slot));
            }
        };
        self.turn(thread, close);
    }

    /// Returns the current tree.
    pub(crate) fn transcript(&self) -> Transcript {
        self.world.transcript()
    }
}

fn failed(errno: pathwalk_model::Errno) -> Answer {
    Answer::Failed(Errno::from_raw(errno.0))
}
