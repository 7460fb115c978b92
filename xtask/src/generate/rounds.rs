//! The generator of rounds: operations of concurrent threads on a few names and on open files.
//!
//! `a` and `b` are directories at first, `f` is a file; `c`, `d` and `e` are anything. All of them
//! may be moved and removed, so paths lead through directories that are being moved. Each thread
//! has a working directory of its own, a descriptor of a directory, and one of a file. All threads
//! share one more of each.
//!
//! Limitations: modes are changed only where all threads are root's, since a permission check and
//! the operation that it allows are two steps. Links are followed without `protected_symlinks`.
//!
//! Rings and futures are not drawn. They may read at an offset in several pieces, as a tmpfs does,
//! and a later piece may see a file that has grown in between.

use pathwalk::{Access, AtFlags, LinkFlags, OpenFlags, RenameFlags};

use super::dice::Dice;
use crate::cast::{self, Actor};
use crate::face::Kind as Face;
use crate::op::Op;
use crate::program::{Settings, Step};
use crate::words::{Body, Kind, Mode, Place, SLOTS, Slot, Text, Whence};

/// The steps that prepare the tree, and those of each thread.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) settings: Settings,
    pub(crate) setup: Vec<Step>,
    pub(crate) threads: Vec<Thread>,
}

/// A thread: its actor, its steps before the others begin, and its steps beside them.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    pub(crate) actor: Actor,
    pub(crate) before: Vec<Op>,
    pub(crate) ops: Vec<Op>,
}

/// Half of the number of descriptors. The lower half are places, the upper half are files. All
/// threads share the last of each half.
const HALF: usize = SLOTS / 2;

/// The largest number of threads: each has a descriptor of its own in either half.
pub(crate) const MOST_THREADS: usize = HALF - 1;

const SHARED_PLACE: Slot = Slot(HALF as u8 - 1);
const SHARED_FILE: Slot = Slot(SLOTS as u8 - 1);

/// The number of operations of one thread.
pub(crate) const OPS: u64 = 4;

/// The main subject of a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum About {
    Names,
    /// Directories that are moved into each other, and walks through them.
    Moves,
    Listings,
    Data,
}

/// Draws a round of this many threads.
pub(crate) fn round(seed: u64, threads: usize) -> Round {
    let mut rng = Dice::with_seed(seed);
    let settings = settings(&mut rng);
    let about = [About::Names, About::Names, About::Moves, About::Listings, About::Data][rng.usize(..5)];
    let many_users = rng.u8(..3) == 0;
    let mut draw = Draw { rng, about, own: [SHARED_PLACE, SHARED_FILE], all_root: !many_users };
    let setup = draw.setup();
    let threads = (0..threads).map(|thread| {
        draw.own = [Slot(thread as u8), Slot((HALF + thread) as u8)];
        let actor = draw.actor();
        Thread { actor, before: draw.before(), ops: (0..OPS).map(|_| draw.op()).collect() }
    });
    let threads = threads.collect();
    Round { settings, setup, threads }
}

fn settings(rng: &mut Dice) -> Settings {
    let some = [(Settings::LEAST_BUDGET, 15), (Settings::LATE, 40)];
    let some: Settings = some.into_iter().filter(|(_, percent)| rng.u8(..100) < *percent).map(|(flag, _)| flag).collect();
    let face = if rng.u8(..4) == 0 { Face::Cached } else { Face::Engine };
    let without = Settings::OBSERVE
        | Settings::OBSERVE_AS_ACTOR
        | Settings::PROTECT_SYMLINKS
        | Settings::FEW_NODES
        | Settings::FEW_PAGES
        | Settings::WATCH
        | Settings::REBASES
        | Settings::ACCESSES;
    (super::settings(rng, &super::Names::short()) - without) | some | face.settings()
}

struct Draw {
    rng: Dice,
    about: About,
    /// The descriptors of the thread that is being drawn: a place and a file.
    own: [Slot; 2],
    /// A flag that is set if all actors are root.
    all_root: bool,
}

const MODES: [Mode; 4] = [Mode(0o777), Mode(0o755), Mode(0o1777), Mode(0o600)];

/// The bodies of links.
const BODIES: [&str; 8] = ["c", "../d", "a", "/b", "..", "a/../c", "d/e", "loop"];

impl Draw {
    fn setup(&mut self) -> Vec<Step> {
        let mut ops = ["/a", "/b"].map(|path| Op::Mkdir { at: place(path), mode: Mode(0o777) }).to_vec();
        ops.push(Op::Mknod { at: place("/f"), kind: Kind::File, mode: Mode(0o666) });
        ops.push(Op::Chmod { at: place("/f"), mode: Mode(0o666), flags: AtFlags::empty() });
        if self.all_root {
            ops.extend((0..2).map(|_| Op::Mkdir { at: place(&self.spot()), mode: Mode(0o777) }));
        } else {
            let open_to_all = |path| Op::Chmod { at: place(path), mode: Mode(0o777), flags: AtFlags::empty() };
            ops.extend(["/", "/a", "/b"].map(open_to_all));
        }
        ops.extend((0..6).map(|_| self.layout()));
        let append = if self.rng.u8(..3) == 0 { OpenFlags::APPEND } else { OpenFlags::empty() };
        let flags = OpenFlags::READ | OpenFlags::WRITE | append;
        ops.push(Op::Open { slot: SHARED_FILE, at: place("/f"), flags, mode: Mode(0) });
        ops.push(self.open_directory(SHARED_PLACE));
        ops.into_iter().map(|op| Step { actor: cast::ROOT, op }).collect()
    }

    fn before(&mut self) -> Vec<Op> {
        let [own_place, own_file] = self.own;
        let mut ops = vec![self.open_directory(own_place)];
        if self.rng.bool() {
            ops.push(Op::Chdir { path: Text(self.spot().into_bytes()) });
        }
        let flags = OpenFlags::READ | OpenFlags::WRITE;
        ops.push(Op::Open { slot: own_file, at: place("/f"), flags, mode: Mode(0) });
        ops
    }

    fn open_directory(&mut self, slot: Slot) -> Op {
        let at = place(["/", "/a", "/a", "/b", "/a/c"][self.rng.usize(..5)]);
        Op::Open { slot, at, flags: OpenFlags::READ | OpenFlags::DIRECTORY, mode: Mode(0) }
    }

    fn actor(&mut self) -> Actor {
        let all_actors: Vec<Actor> = cast::all_actors().collect();
        let root = self.all_root || self.rng.bool();
        if root { cast::ROOT } else { all_actors[self.rng.usize(..all_actors.len())] }
    }

    fn name(&mut self) -> char {
        ['c', 'd', 'e'][self.rng.usize(..3)]
    }

    /// Draws `/a`, `/b`, or a name in one of them or in the root.
    fn spot(&mut self) -> String {
        match self.rng.u8(..8) {
            0 => ["/a", "/b"][self.rng.usize(..2)].to_owned(),
            _ => format!("{}/{}", ["", "/a", "/b"][self.rng.usize(..3)], self.name()),
        }
    }

    fn component(&mut self) -> String {
        match self.rng.u8(..20) {
            0..7 => "a".to_owned(),
            7..12 => "b".to_owned(),
            12..16 => self.name().to_string(),
            16..19 => "..".to_owned(),
            _ => ".".to_owned(),
        }
    }

    /// Draws a path: mostly a spot, else one of up to four components or one with `..`.
    fn path(&mut self) -> String {
        let deep = if self.about == About::Moves { 50 } else { 80 };
        let spot = self.spot();
        if self.rng.u8(..100) < deep {
            return spot;
        }
        if self.rng.u8(..8) == 0 {
            let name = self.name();
            return format!("{}{name}/../../{name}", ["/a/", "", "/"][self.rng.usize(..3)]);
        }
        let mut path = if self.rng.bool() { "/".to_owned() } else { String::new() };
        for _ in 0..self.rng.usize(..3) {
            path += &self.component();
            path.push('/');
        }
        match self.rng.u8(..12) {
            0 => path += "..",
            1 | 2 => path += ["a", "b"][self.rng.usize(..2)],
            _ => path.push(self.name()),
        }
        path
    }

    fn place(&mut self) -> Place {
        let path = self.path();
        let at = (!path.starts_with('/') && self.rng.bool()).then(|| self.place_slot());
        Place { at, path: Text(path.into_bytes()) }
    }

    fn place_slot(&mut self) -> Slot {
        if self.rng.u8(..4) == 0 { SHARED_PLACE } else { self.own[0] }
    }

    fn file_slot(&mut self) -> Slot {
        if self.rng.u8(..2) == 0 { SHARED_FILE } else { self.own[1] }
    }

    fn mode(&mut self) -> Mode {
        MODES[self.rng.usize(..MODES.len())]
    }

    fn layout(&mut self) -> Op {
        match self.rng.u8(..6) {
            0..2 => Op::Mkdir { at: self.place(), mode: self.mode() },
            2..5 => Op::Mknod { at: self.place(), kind: Kind::File, mode: self.mode() },
            _ => Op::Symlink { body: Body(BODIES[self.rng.usize(..BODIES.len())].into()), at: self.place() },
        }
    }

    fn op(&mut self) -> Op {
        let aside = self.rng.u8(..100) < 60;
        match self.about {
            About::Data if aside => self.data(),
            About::Listings if aside && self.rng.bool() => Op::List { slot: self.own[0] },
            About::Moves if aside => self.rename(),
            _ => match self.rng.u8(..100) {
                0..20 => self.open(),
                20..24 => Op::Link { from: self.own_file(), to: self.place(), flags: LinkFlags::EMPTY_PATH },
                24..36 => self.layout(),
                36..46 => Op::Link { from: self.place(), to: self.place(), flags: LinkFlags::empty() },
                46..56 => Op::Unlink { at: self.place() },
                56..62 => Op::Rmdir { at: self.place() },
                62..76 => self.rename(),
                76..90 => self.question(),
                90..92 => Op::Chdir { path: Text(self.path().into_bytes()) },
                92..95 => Op::List { slot: self.own[0] },
                95..97 if self.all_root => Op::Chmod { at: self.place(), mode: self.mode(), flags: self.follow() },
                _ => self.data(),
            },
        }
    }

    fn own_file(&self) -> Place {
        Place { at: Some(self.own[1]), path: Text(Vec::new()) }
    }

    fn follow(&mut self) -> AtFlags {
        if self.rng.u8(..3) == 0 { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW }
    }

    fn open(&mut self) -> Op {
        let [own_place, own_file] = self.own;
        let both = OpenFlags::READ | OpenFlags::WRITE;
        let (slot, at, flags) = match self.rng.u8(..10) {
            0..4 => {
                let exclusive = if self.rng.bool() { OpenFlags::EXCLUSIVE } else { OpenFlags::empty() };
                (own_file, self.place(), OpenFlags::CREATE | both | OpenFlags::NOFOLLOW | exclusive)
            }
            4 => (own_file, self.place(), both),
            5 => (own_file, self.place(), both | OpenFlags::TRUNCATE),
            6 => (own_file, place("/a"), OpenFlags::TMPFILE | OpenFlags::WRITE),
            7 => (own_place, self.place(), OpenFlags::READ),
            _ => {
                let nofollow = if self.rng.bool() { OpenFlags::NOFOLLOW } else { OpenFlags::empty() };
                (own_place, self.place(), OpenFlags::PATH | nofollow)
            }
        };
        let makes = flags.intersects(OpenFlags::CREATE | OpenFlags::TMPFILE);
        Op::Open { slot, at, flags, mode: if makes { self.mode() } else { Mode(0) } }
    }

    fn rename(&mut self) -> Op {
        let all = [RenameFlags::empty(), RenameFlags::empty(), RenameFlags::NOREPLACE, RenameFlags::EXCHANGE];
        Op::Rename { from: self.place(), to: self.place(), flags: all[self.rng.usize(..4)] }
    }

    fn question(&mut self) -> Op {
        let flags = self.follow();
        match self.rng.u8(..14) {
            0..6 => Op::Stat { at: self.place(), flags },
            6 => Op::Stat { at: place(["/", "/a", "/b"][self.rng.usize(..3)]), flags },
            7 | 8 => Op::Stat { at: self.own_file(), flags: AtFlags::EMPTY_PATH },
            9 => Op::Readlink { at: self.place(), size: 100 },
            _ => Op::Access { at: self.place(), want: Access::WRITE, flags: flags | AtFlags::EACCESS },
        }
    }

    fn data(&mut self) -> Op {
        let slot = self.file_slot();
        let size = [1, 3, 5, 5000][self.rng.usize(..4)];
        let byte = self.rng.u8(b'a'..=b'z');
        let offset = [0, 1, 4, 4094][self.rng.usize(..4)];
        match self.rng.u8(..14) {
            0..2 => Op::Read { slot, size },
            2..4 => Op::ReadAt { slot, size, offset },
            4..6 => Op::Write { slot, byte, size },
            6..8 => Op::WriteAt { slot, byte, size, offset },
            8 => {
                let whence = [Whence::Start, Whence::Current, Whence::End][self.rng.usize(..3)];
                Op::Seek { slot, whence, by: [0, 2, -1][self.rng.usize(..3)] }
            }
            9 => Op::SetLen { slot, size: offset },
            10 => Op::Open {
                slot: self.own[1],
                at: place("/f"),
                flags: OpenFlags::READ | OpenFlags::WRITE | OpenFlags::TRUNCATE,
                mode: Mode(0),
            },
            11 => Op::Stat { at: place("/f"), flags: AtFlags::empty() },
            _ => Op::Stat { at: Place { at: Some(slot), path: Text(Vec::new()) }, flags: AtFlags::EMPTY_PATH },
        }
    }
}

fn place(path: &str) -> Place {
    Place { at: None, path: Text(path.as_bytes().to_vec()) }
}
