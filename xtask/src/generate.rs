//! The generator of random programs. It uses few names, so that operations affect each other, and
//! all unusual forms of paths.
//!
//! A program follows from the seed alone, or from the bytes of a fuzzer (see [`dice`]). The
//! generator does not track which names exist, but it has habits, so that many operations succeed:
//! `a` and `b` are often directories, the other names files; the lower descriptors are often
//! places, the upper ones open files. Now and then it adds a sequence: some steps that belong
//! together. One program in four has long names, many names or a deep tree; one in five has little
//! room.

mod dice;
mod draw;
mod helpers;
mod mounts;
mod names;
mod open_files;
mod paths;
pub(crate) mod rounds;
mod scenes;
mod sequences;
mod space;
mod xattrs;

use pathwalk::{AtFlags, MountFlags, OpenFlags};

use crate::cast::{self, Actor};
use crate::face::Kind;
use crate::op::Op;
use crate::program::{Program, Settings, Step};
use crate::words::{Body, Family, Mode, Place, SLOTS, Slot, Text};
pub(crate) use dice::Dice;
use names::Names;
use paths::Wish;

/// The limit on the length of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Files {
    /// The greatest possible length, with holes.
    Any,
    /// A length that the model can store.
    Short,
}

/// The number of descriptors that are drawn: few, so that most are open.
const DRAWN: u8 = 6;

/// The number of steps that make nodes for the later steps.
const PROLOGUE: usize = 30;

/// Draws a program of this many steps from a seed.
pub(crate) fn program(seed: u64, steps: usize, files: Files) -> Program {
    let (mut draw, settings) = Draw::begun(Dice::with_seed(seed), files);
    let prologue = steps.min(PROLOGUE);
    let mut program = Program { settings, steps: draw.layout() };
    program.steps.extend((0..prologue).map(|_| draw.prologue()));
    // A walk that `protected_symlinks` refuses is done twice in the kernel, and the second walk
    // goes on counting links: `ELOOP` may come before `EACCES`.
    if !settings.contains(Settings::PROTECT_SYMLINKS) && draw.one_in(4) {
        program.steps.extend(chain());
        program.steps.truncate(steps);
    }
    draw.draw_mounts(settings);
    while program.steps.len() < steps {
        program.steps.extend(draw.some());
    }
    program.steps.truncate(steps);
    with_clear_effects(program)
}

/// Draws a program of at most this many steps from bytes, for the model. It ends when the bytes
/// are used up, and has at least one step.
pub(crate) fn program_of_bytes(bytes: &[u8], most: usize) -> Program {
    let (mut draw, settings) = Draw::begun(Dice::Bytes(bytes.iter().copied().collect()), Files::Short);
    let mut program = Program { settings, steps: draw.layout() };
    while program.steps.is_empty() || program.steps.len() < most && !draw.rng.is_used_up() {
        program.steps.extend(draw.some());
    }
    program.steps.truncate(most);
    with_clear_effects(program)
}

/// Returns a program of which nothing is left open that is compared. Where accesses are stored, it
/// has no operations that change a node before they access it: the engine's clock stands still
/// during a step, and the kernel's does not. Nor has it operations that one side may leave undone,
/// if it has locks of the process either: a file that is opened and closed gives them back.
fn with_clear_effects(mut program: Program) -> Program {
    let stores_accesses = program.settings.intersects(Settings::ACCESSES);
    let is_lock = |step: &Step| matches!(step.op, Op::SetLock { family: Family::Process, .. });
    let has_locks = program.steps.iter().any(is_lock);
    for Step { op, .. } in &mut program.steps {
        let clear = match op {
            Op::ListParts { slot, .. } if stores_accesses => Op::List { slot: *slot },
            Op::TryReadAt { slot, size, offset } if stores_accesses => Op::ReadAt { slot: *slot, size: *size, offset: *offset },
            Op::TryOpen { at, .. } if stores_accesses || has_locks => Op::Stat { at: at.clone(), flags: AtFlags::empty() },
            _ => continue,
        };
        *op = clear;
    }
    program
}

/// Returns a chain of links, of which the last but one can just be followed.
fn chain() -> impl Iterator<Item = Step> {
    (0..=41).map(|index| {
        let body = if index == 0 { "c".to_owned() } else { format!("l{}", index - 1) };
        let at = Place { at: None, path: Text(format!("/l{index}").into_bytes()) };
        Step { actor: cast::ROOT, op: Op::Symlink { body: Body(body.into_bytes()), at } }
    })
}

/// Draws the settings. Most programs look at nodes as root; the engine's file system presents
/// itself in all ways.
fn settings(rng: &mut Dice, names: &Names) -> Settings {
    let chances = [
        (Settings::PROTECT_SYMLINKS, 50),
        (Settings::PROTECT_HARDLINKS, 50),
        (Settings::OBSERVE, 75),
        (Settings::OBSERVE_AS_ACTOR, 20),
        (Settings::ASK_NAMES, 15),
        (Settings::ASK_ABSENCE, 15),
        (Settings::OWN_RULE, 15),
        (Settings::BODIES_ON_REQUEST, 15),
        (Settings::ACL_UNKNOWN, 15),
        (Settings::SMALL_BUDGET, 15),
        (Settings::FORGETFUL, 30),
        (Settings::FEW_NODES, 10),
        (Settings::FEW_PAGES, 10),
        (Settings::WATCH, 12),
        (Settings::NO_MEMO, 10),
        (Settings::SMALL_MEMO, 30),
        (Settings::LARGE_MEMO, 20),
        (Settings::PACED_MEMO, 10),
        (Settings::DIRECTORIES_MEMO, 25),
        (Settings::ASK_ATTRIBUTES, 15),
        (Settings::REBASES, 50),
    ];
    let settings: Settings = chances.into_iter().filter(|(_, percent)| rng.u8(..100) < *percent).map(|(flag, _)| flag).collect();
    // An open file without a name keeps its former directories, which count. Where its name was
    // dropped from the caches, it keeps those that it had then.
    let settings = if settings.contains(Settings::FORGETFUL) { settings - Settings::FEW_NODES } else { settings };
    // Each access that is stored is one of the program: nothing else looks meanwhile.
    let settings = match rng.u8(..100) {
        0..20 => (settings - Settings::OBSERVE - Settings::WATCH) | Settings::RELATIME,
        20..27 => (settings - Settings::OBSERVE - Settings::WATCH) | Settings::STRICTATIME,
        _ => settings,
    };
    let settings = if rng.u8(..4) == 0 { settings | Settings::NODIRATIME } else { settings };
    // A path of long names takes more room than a small budget has.
    if names.are_few() { settings } else { settings - Settings::SMALL_BUDGET }
}

struct Draw {
    rng: Dice,
    names: Names,
    files: Files,
    /// A flag that is set if times of accesses are compared.
    notes_accesses: bool,
    /// The actors of this program.
    actors: Vec<Actor>,
    last: Actor,
    /// The last actor that tried to open each descriptor.
    openers: [Actor; SLOTS],
    /// The last place at which a mount was tried.
    mounted: Option<Place>,
    /// A flag that is set if the flags of the mount change.
    remounts: bool,
    /// A flag that is set if the tree of mounts changes.
    mounts: bool,
    /// A flag that is set if mounts may get id maps.
    has_id_maps: bool,
}

impl Draw {
    /// Draws the names, the settings and the cast of a program, without mounts.
    fn begun(mut rng: Dice, files: Files) -> (Draw, Settings) {
        let names = Names::drawn(&mut rng);
        let mut settings = settings(&mut rng, &names) | Kind::drawn(&mut rng).settings();
        if files == Files::Short {
            // An open file without a name pins its former directory on the other sides, but not in
            // the model.
            settings -= Settings::FEW_NODES;
        }
        let mut draw = Draw {
            rng,
            names,
            files,
            notes_accesses: settings.intersects(Settings::ACCESSES),
            actors: Vec::new(),
            last: cast::ROOT,
            openers: [cast::ROOT; SLOTS],
            mounted: None,
            remounts: false,
            mounts: false,
            has_id_maps: false,
        };
        draw.cast();
        (draw, settings)
    }

    /// Draws which mounts a program has.
    fn draw_mounts(&mut self, settings: Settings) {
        // The model has no mounts. With limits, the descriptors of ended processes would still
        // count for a moment.
        let may_mount = self.files == Files::Any && settings.limits() == [None; 2];
        self.remounts = may_mount && self.one_in(3);
        // `FORGETFUL` also unmounts what it invalidates.
        // The mounts of programs are `noatime`.
        let may_mount = may_mount && !settings.intersects(Settings::ACCESSES);
        self.mounts = may_mount && !settings.contains(Settings::FORGETFUL) && self.one_in(2);
        self.has_id_maps = self.mounts && self.one_in(3);
    }

    /// Draws one step, or some that belong together.
    fn some(&mut self) -> Vec<Step> {
        match self.rng.u8(..100) {
            0 | 1 if self.remounts => vec![self.mount()],
            2 | 3 => self.scene(),
            4..7 => self.sequence(),
            7..18 if self.mounts => vec![self.mounting()],
            18 | 19 if self.mounts => self.crossed(),
            20..23 if self.files == Files::Any => vec![self.open_under()],
            _ => vec![self.step()],
        }
    }

    fn cast(&mut self) {
        let all: Vec<Actor> = cast::all_actors().collect();
        self.actors = vec![cast::ROOT];
        for _ in 0..self.rng.usize(2..6) {
            self.actors.push(all[self.rng.usize(..all.len())]);
        }
    }

    /// Returns the steps that make the many names, if the program has such.
    fn layout(&self) -> Vec<Step> {
        self.names.layout().into_iter().map(|op| Step { actor: cast::ROOT, op }).collect()
    }

    /// Draws a step of root that makes a node.
    fn prologue(&mut self) -> Step {
        let chance = self.rng.u8(..20);
        let wish = if chance < 9 { Wish::Directory } else { Wish::File };
        let at = Place { at: None, path: Text(paths::plain(&mut self.rng, &self.names, wish)) };
        let op = match chance {
            0..6 => Op::Mkdir { at, mode: self.mode() },
            6..9 => {
                let flags = if self.one_in(2) { OpenFlags::PATH } else { OpenFlags::READ };
                Op::Open { slot: self.place_slot(), at, flags, mode: Mode(0) }
            }
            9..13 => {
                let flags = OpenFlags::CREATE | OpenFlags::WRITE | OpenFlags::READ;
                Op::Open { slot: self.file_slot(), at, flags, mode: self.mode() }
            }
            13..15 => Op::Symlink { body: Body(paths::body(&mut self.rng, &self.names)), at },
            15..17 => Op::Chmod { at, mode: self.mode(), flags: AtFlags::empty() },
            17 => Op::Mknod { at, kind: self.kind(), mode: self.mode() },
            _ => Op::Chown { at, uid: self.owner(), gid: self.owner(), flags: AtFlags::SYMLINK_NOFOLLOW },
        };
        Step { actor: cast::ROOT, op }
    }

    /// Draws a step that mounts. Every second one clears all flags.
    fn mount(&mut self) -> Step {
        let flags: MountFlags = if self.one_in(2) { MountFlags::empty() } else { self.flags(2) };
        Step { actor: cast::ROOT, op: Op::Mount { flags } }
    }

    /// Draws a step, often of the same actor as the step before. Most writes are by the opener of
    /// the descriptor.
    fn step(&mut self) -> Step {
        if self.one_in(4) {
            self.last = self.actors[self.rng.usize(..self.actors.len())];
        }
        let op = self.op();
        if matches!(op, Op::SetFlags { .. }) && self.one_in(2) {
            return Step { actor: cast::ROOT, op };
        }
        if let Some(slot) = op.fills() {
            self.openers[usize::from(slot.0)] = self.last;
        }
        if let Some(slot) = op.written()
            && !self.one_in(3)
        {
            self.last = self.openers[usize::from(slot.0)];
        }
        Step { actor: self.last, op }
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.rng.u32(..n) == 0
    }

    fn among<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.rng.usize(..choices.len())]
    }

    /// Draws flags, each with a chance of one in `n`.
    fn flags<F: bitflags::Flags + Copy>(&mut self, n: u32) -> F {
        F::all().iter().fold(F::empty(), |set, flag| if self.one_in(n) { set.union(flag) } else { set })
    }

    fn path(&mut self, wish: Wish) -> Text {
        Text(paths::path(&mut self.rng, &self.names, wish))
    }

    fn place(&mut self, wish: Wish) -> Place {
        let at = if self.one_in(4) { Some(self.place_slot()) } else { None };
        Place { at, path: self.path(wish) }
    }

    /// Draws a place, which may be an empty path that means its starting point.
    fn place_or_start(&mut self, flag: bool) -> Place {
        if flag && !self.one_in(4) {
            let at = if self.one_in(4) { None } else { Some(self.slot()) };
            return Place { at, path: Text(Vec::new()) };
        }
        self.place(Wish::Any)
    }

    fn slot(&mut self) -> Slot {
        Slot(self.rng.u8(..DRAWN))
    }

    /// Draws a descriptor from the half in which most are places.
    fn place_slot(&mut self) -> Slot {
        if self.one_in(8) { self.slot() } else { Slot(self.rng.u8(..DRAWN / 2)) }
    }

    /// Draws a descriptor from the half in which most are open files.
    fn file_slot(&mut self) -> Slot {
        if self.one_in(8) { self.slot() } else { Slot(self.rng.u8(DRAWN / 2..DRAWN)) }
    }
}
