//! Short sequences of steps that belong together, for rules that take several steps.

use pathwalk::permission::AclKind;
use pathwalk::{Access, AtFlags, InodeFlags, LinkFlags, OpenFlags, RenameFlags, SetTime, Timestamp};

use super::Draw;
use super::paths::{self, Wish};
use crate::cast::{self, Actor};
use crate::op::Op;
use crate::program::Step;
use crate::words::{Mode, Place, SLOTS, Slot, Text, Whence};

/// A descriptor that no other step uses.
const OWN: Slot = Slot(SLOTS as u8 - 1);

impl Draw {
    /// Draws a sequence.
    pub(super) fn sequence(&mut self) -> Vec<Step> {
        let actor = self.actors[self.rng.usize(..self.actors.len())];
        let path = paths::plain(&mut self.rng, &self.names, Wish::Any);
        match self.rng.u8(..6) {
            5 => self.sparse(absolute(&path), OWN, |op| by(actor, op)),
            0 => self.removed_place(actor),
            1 => self.listed(path),
            2 => self.kept(actor, &path),
            3 => self.appended(actor, &path),
            _ => self.filled(actor, &path),
        }
    }

    /// Removes a directory, and uses it as a starting point afterwards.
    fn removed_place(&mut self, actor: Actor) -> Vec<Step> {
        let path = paths::plain(&mut self.rng, &self.names, Wish::Directory);
        let at = absolute(&path);
        let is_root = self.one_in(4);
        let enter = if is_root { Op::Chroot { path: at.path.clone() } } else { Op::Chdir { path: at.path.clone() } };
        let mut steps = vec![
            by(cast::ROOT, Op::Mkdir { at: at.clone(), mode: Mode(0o777) }),
            by(actor, Op::Chdir { path: at.path.clone() }),
            by(actor, enter),
            by(cast::ROOT, Op::Open { slot: OWN, at: at.clone(), flags: OpenFlags::READ | OpenFlags::DIRECTORY, mode: Mode(0) }),
            by(
                cast::ROOT,
                if self.one_in(4) {
                    Op::Rename { from: at.clone(), to: self.place(Wish::Any), flags: RenameFlags::empty() }
                } else {
                    Op::Rmdir { at }
                },
            ),
        ];
        for _ in 0..6 {
            let relative = self.among(&["..", ".", "../..", "c", "./c", "../c", "../a", "c/..", ""]);
            let slot = if self.one_in(3) { Some(OWN) } else { None };
            let at = Place { at: slot, path: Text(relative.as_bytes().to_vec()) };
            let op = match self.rng.u8(..9) {
                0 => Op::Mkdir { at, mode: Mode(0o755) },
                1 => Op::Open { slot: OWN, at, flags: OpenFlags::CREATE | OpenFlags::WRITE, mode: Mode(0o644) },
                2 => Op::Open { slot: OWN, at, flags: OpenFlags::TMPFILE | OpenFlags::WRITE, mode: Mode(0o644) },
                3 => Op::Rename { from: at, to: self.place(Wish::Any), flags: RenameFlags::empty() },
                4 => Op::Link { from: self.place(Wish::File), to: at, flags: LinkFlags::empty() },
                5 => Op::Chdir { path: at.path },
                6 => Op::List { slot: OWN },
                7 => Op::Access { at, want: Access::WRITE, flags: AtFlags::empty() },
                _ => Op::Stat { at, flags: AtFlags::EMPTY_PATH },
            };
            steps.push(by(actor, op));
        }
        if is_root {
            // From a removed root no path leads anywhere.
            self.actors.retain(|other| *other != actor || actor == cast::ROOT);
            self.last = cast::ROOT;
        }
        steps
    }

    /// Sets an ACL, and lets several actors try the file.
    fn listed(&mut self, path: Vec<u8>) -> Vec<Step> {
        let at = absolute(&path);
        let mut steps = vec![
            by(cast::ROOT, Op::SetFlags { at: at.clone(), set: InodeFlags::empty(), flags: AtFlags::empty() }),
            by(cast::ROOT, Op::SetAcl { at: at.clone(), list: self.list(), flags: AtFlags::empty() }),
        ];
        let all: Vec<Actor> = cast::all_actors().collect();
        for _ in 0..6 {
            let actor = self.among(&all);
            let below = Place { at: None, path: Text([&path[..], b"/", self.names.few(&mut self.rng, Wish::Any)].concat()) };
            let op = match self.rng.u8(..16) {
                0..3 => Op::Access { at: at.clone(), want: self.access(), flags: AtFlags::EACCESS },
                3 => Op::Access { at: at.clone(), want: self.access(), flags: AtFlags::empty() },
                4 => Op::Open { slot: OWN, at: at.clone(), flags: OpenFlags::READ, mode: Mode(0) },
                5 => Op::Open { slot: OWN, at: at.clone(), flags: OpenFlags::WRITE, mode: Mode(0) },
                6 => Op::Chmod { at: at.clone(), mode: self.mode(), flags: AtFlags::empty() },
                7 => Op::Chown { at: at.clone(), uid: self.owner(), gid: self.owner(), flags: AtFlags::empty() },
                8 => Op::Mknod { at: below, kind: self.kind(), mode: self.mode() },
                9 => Op::Mkdir { at: below, mode: self.mode() },
                10 => Op::Open { slot: OWN, at: below, flags: OpenFlags::WRITE | OpenFlags::CREATE, mode: self.mode() },
                11 => Op::Open { slot: OWN, at: at.clone(), flags: OpenFlags::WRITE | OpenFlags::TMPFILE, mode: self.mode() },
                12 => Op::SetAcl { at: at.clone(), list: self.list(), flags: AtFlags::empty() },
                13 => Op::GetAcl { at: at.clone(), kind: AclKind::Access, flags: AtFlags::empty() },
                14 => Op::GetAcl { at: below, kind: AclKind::Default, flags: AtFlags::empty() },
                _ => Op::Stat { at: below, flags: AtFlags::empty() },
            };
            steps.push(by(actor, op));
        }
        steps
    }

    /// Sets attribute bits that protect a node, and tries all operations that would change it.
    fn kept(&mut self, actor: Actor, path: &[u8]) -> Vec<Step> {
        let at = absolute(path);
        let set = |set| by(cast::ROOT, Op::SetFlags { at: absolute(path), set, flags: AtFlags::empty() });
        let write = self.among(&[OpenFlags::WRITE, OpenFlags::WRITE | OpenFlags::APPEND, OpenFlags::READ | OpenFlags::TRUNCATE]);
        let open = Op::Open { slot: OWN, at: at.clone(), flags: write, mode: Mode(0) };
        let mut steps = vec![by(actor, open.clone()), set(self.among(&[InodeFlags::IMMUTABLE, InodeFlags::APPEND]))];
        for _ in 0..6 {
            let at = at.clone();
            let below = || Place { at: None, path: Text([path, b"/c"].concat()) };
            let times = self.among(&[SetTime::Now, SetTime::To(Timestamp { seconds: 5, nanoseconds: 0 })]);
            let op = match self.rng.u8(..15) {
                0 => open.clone(),
                1 => Op::Write { slot: OWN, byte: b'k', size: 5 },
                2 => Op::SetLen { slot: OWN, size: 3 },
                3 => Op::Truncate { path: at.path, size: 3 },
                4 => Op::Unlink { at },
                5 => Op::Rmdir { at },
                6 => Op::Rename { from: at, to: self.place(Wish::Any), flags: self.flags(5) },
                7 => Op::Rename { from: self.place(Wish::Any), to: at, flags: self.flags(5) },
                8 => Op::Link { from: at, to: self.place(Wish::Any), flags: LinkFlags::empty() },
                9 => Op::Chmod { at, mode: self.mode(), flags: AtFlags::empty() },
                10 => Op::Chown { at, uid: self.owner(), gid: self.owner(), flags: AtFlags::empty() },
                11 => Op::Times { at, atime: times, mtime: times, flags: AtFlags::empty() },
                12 => Op::Mknod { at: below(), kind: self.kind(), mode: self.mode() },
                13 => Op::Unlink { at: below() },
                _ => Op::Rename { from: below(), to: self.place(Wish::Any), flags: RenameFlags::empty() },
            };
            steps.push(by(actor, op));
        }
        if !self.one_in(4) {
            steps.push(set(InodeFlags::empty()));
        }
        steps
    }

    /// Writes at ends, at offsets and behind holes.
    fn appended(&mut self, actor: Actor, path: &[u8]) -> Vec<Step> {
        let append = if self.one_in(3) { OpenFlags::empty() } else { OpenFlags::APPEND };
        let flags = OpenFlags::CREATE | OpenFlags::READ | OpenFlags::WRITE | append;
        let mut steps = vec![by(actor, Op::Open { slot: OWN, at: absolute(path), flags, mode: Mode(0o666) })];
        let offsets = [0, 1, 4095, 4096, 4097, 10_000, 20_000];
        for _ in 0..6 {
            let size = self.among(&[1, 5, 100, 4096, 9000, 30_000]);
            let offset = self.among(&offsets);
            let byte = self.rng.u8(b'a'..=b'z');
            let whence = self.among(&[Whence::Start, Whence::Current, Whence::End]);
            let op = match self.rng.u8(..7) {
                0 => Op::Write { slot: OWN, byte, size },
                1 | 2 => Op::WriteAt { slot: OWN, byte, size, offset },
                3 => Op::Read { slot: OWN, size: 30_000 },
                4 => Op::ReadAt { slot: OWN, size: 9000, offset },
                5 => Op::SetLen { slot: OWN, size: offset },
                _ => Op::Seek { slot: OWN, whence, by: self.among(&[0, 1, -1, 4096, -4096, 9000]) },
            };
            steps.push(by(actor, op));
        }
        steps
    }

    /// Fills a directory with names and lists it in parts. With few nodes, this uses up all of
    /// them.
    fn filled(&mut self, actor: Actor, path: &[u8]) -> Vec<Step> {
        let at = absolute(path);
        let count = self.among(&[5, 12, 30, 60]);
        let open = Op::Open { slot: OWN, at: at.clone(), flags: OpenFlags::READ | OpenFlags::DIRECTORY, mode: Mode(0) };
        let parts = match self.list_parts() {
            Op::ListParts { size, name, to, .. } => Op::ListParts { slot: OWN, size, name, to },
            other => other,
        };
        let from = Place { at: None, path: Text([path, b"/000"].concat()) };
        let link = Op::Link { from: from.clone(), to: self.place(Wish::Any), flags: LinkFlags::empty() };
        vec![
            by(cast::ROOT, Op::Mkdir { at: at.clone(), mode: Mode(0o777) }),
            by(actor, Op::Fill { at, count, length: self.among(&[3, 3, 10, 40]) }),
            by(actor, open),
            by(actor, parts),
            by(actor, link),
            by(actor, Op::Unlink { at: from }),
            by(actor, Op::List { slot: OWN }),
            by(cast::ROOT, Op::ListNodes { slot: OWN, most: 20 }),
        ]
    }
}

fn by(actor: Actor, op: Op) -> Step {
    Step { actor, op }
}

fn absolute(path: &[u8]) -> Place {
    Place { at: None, path: Text(path.to_vec()) }
}
