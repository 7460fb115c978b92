//! Rounds by chance: what threads do to a few names at once.
//!
//! Only what is one step for everyone can be put in an order: so nobody lists, and nobody walks through what somebody moves. Names are
//! `c`, `d` and `e`, in the root and in two directories that stay.

use fastrand::Rng;
use pathwalk::{Access, AtFlags, Capabilities, LinkFlags, OpenFlags, RenameFlags};

use crate::cast::{self, Actor};
use crate::op::Op;
use crate::program::{Settings, Step};
use crate::words::{Body, Kind, Mode, Place, SLOTS, Slot, Text};

/// What was laid out before, and what each thread does then. Thread 0 has descriptor 0, and so on.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) settings: Settings,
    pub(crate) setup: Vec<Step>,
    pub(crate) threads: Vec<Vec<Step>>,
}

/// Half of the descriptors are for what is found on the way.
pub(crate) const MOST_THREADS: usize = SLOTS / 2;

/// Operations of one thread.
pub(crate) const OPS: u64 = 4;

/// A round of so many threads.
pub(crate) fn round(seed: u64, threads: usize) -> Round {
    let mut draw = Draw(Rng::with_seed(seed));
    // What is not cached is found first and asked for its attributes afterwards, as in Linux: if it is moved and changed between, that has no order.
    let settings = super::settings(&mut draw.0, &super::Names::short())
        - Settings::OBSERVE
        - Settings::SMALL_BUDGET
        - Settings::FORGETFUL
        - Settings::WATCH
        - Settings::FEW_NODES
        - Settings::FEW_PAGES;
    let file = Op::Mknod { at: place("/f"), kind: Kind::File, mode: Mode(0o666) };
    let mut setup = vec![draw.directory("/a"), draw.directory("/b"), Step { actor: cast::ROOT, op: file }];
    setup.extend((0..6).map(|_| Step { actor: cast::ROOT, op: draw.layout() }));
    let threads = (0..threads).map(|thread| {
        let actor = draw.actor();
        (0..OPS).map(|_| Step { actor, op: draw.op(actor, Slot(thread as u8)) }).collect()
    });
    Round { settings, setup, threads: threads.collect() }
}

struct Draw(Rng);

const MODES: [Mode; 4] = [Mode(0o777), Mode(0o755), Mode(0o1777), Mode(0o600)];

impl Draw {
    fn directory(&mut self, path: &str) -> Step {
        // Everybody may search it: what becomes of it is no question of order.
        let op = Op::Mkdir { at: place(path), mode: Mode(0o755) };
        Step { actor: cast::ROOT, op }
    }

    fn actor(&mut self) -> Actor {
        let everybody: Vec<Actor> = cast::everybody().collect();
        if self.0.u8(..3) == 0 { everybody[self.0.usize(..everybody.len())] } else { cast::ROOT }
    }

    fn path(&mut self) -> String {
        let directory = ["", "/a", "/b"][self.0.usize(..3)];
        format!("{directory}/{}", ['c', 'd', 'e'][self.0.usize(..3)])
    }

    fn place(&mut self) -> Place {
        place(&self.path())
    }

    fn mode(&mut self) -> Mode {
        MODES[self.0.usize(..MODES.len())]
    }

    fn layout(&mut self) -> Op {
        match self.0.u8(..6) {
            0..2 => Op::Mkdir { at: self.place(), mode: self.mode() },
            2..5 => Op::Mknod { at: self.place(), kind: Kind::File, mode: self.mode() },
            _ => Op::Symlink { body: Body(b"loop".to_vec()), at: self.place() },
        }
    }

    fn op(&mut self, actor: Actor, slot: Slot) -> Op {
        let own = Place { at: Some(slot), path: Text(Vec::new()) };
        match self.0.u8(..100) {
            0..14 => {
                let exclusive = if self.0.bool() { OpenFlags::EXCLUSIVE } else { OpenFlags::empty() };
                let flags = OpenFlags::CREATE | OpenFlags::READ | OpenFlags::WRITE | OpenFlags::NOFOLLOW | exclusive;
                Op::Open { slot, at: self.place(), flags, mode: self.mode() }
            }
            14..18 => Op::Open { slot, at: self.place(), flags: OpenFlags::PATH | OpenFlags::NOFOLLOW, mode: Mode(0) },
            18..21 => {
                let flags = OpenFlags::TMPFILE | OpenFlags::WRITE;
                Op::Open { slot, at: place("/a"), flags, mode: self.mode() }
            }
            21..24 => Op::Link { from: own, to: self.place(), flags: LinkFlags::EMPTY_PATH },
            24..36 => self.layout(),
            36..47 => {
                let from = if may_be_parted(actor) { self.place() } else { place("/f") };
                Op::Link { from, to: self.place(), flags: LinkFlags::empty() }
            }
            47..59 => Op::Unlink { at: self.place() },
            59..66 => Op::Rmdir { at: self.place() },
            66..84 => {
                let all = [RenameFlags::empty(), RenameFlags::empty(), RenameFlags::NOREPLACE, RenameFlags::EXCHANGE];
                Op::Rename { from: self.place(), to: self.place(), flags: all[self.0.usize(..4)] }
            }
            84..90 => Op::Stat { at: self.place(), flags: AtFlags::SYMLINK_NOFOLLOW },
            90..92 => Op::Stat { at: place(["/", "/a", "/b"][self.0.usize(..3)]), flags: AtFlags::empty() },
            92..95 => Op::Stat { at: own, flags: AtFlags::EMPTY_PATH },
            95 => Op::Readlink { at: self.place(), size: 100 },
            96 | 97 => Op::Chmod { at: self.place(), mode: self.mode(), flags: AtFlags::SYMLINK_NOFOLLOW },
            _ => Op::Access { at: self.place(), want: Access::WRITE, flags: AtFlags::SYMLINK_NOFOLLOW },
        }
    }
}

/// Whether a link of this one's can be told as two operations, finding what is linked and giving it a name, between which others come.
fn may_be_parted(actor: Actor) -> bool {
    actor.has(Capabilities::DAC_READ_SEARCH)
}

/// The operations that this one is made of, each of them one step for everyone.
pub(crate) fn parts(Step { actor, op }: &Step, thread: usize) -> Vec<Op> {
    match op {
        Op::Link { from, to, flags } if flags.is_empty() && may_be_parted(*actor) => {
            let slot = Slot((MOST_THREADS + thread) as u8);
            let flags = OpenFlags::PATH | OpenFlags::NOFOLLOW;
            let found = Place { at: Some(slot), path: Text(Vec::new()) };
            vec![
                Op::Open { slot, at: from.clone(), flags, mode: Mode(0) },
                Op::Link { from: found, to: to.clone(), flags: LinkFlags::EMPTY_PATH },
            ]
        }
        op => vec![op.clone()],
    }
}

fn place(path: &str) -> Place {
    Place { at: None, path: Text(path.as_bytes().to_vec()) }
}
