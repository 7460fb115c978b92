//! The drawing of operations on locks, leases, file handles, opens of what is open, and sockets.

use pathwalk::{HandleFlags, LockKind, OpenFlags, RenameFlags};

use super::Draw;
use super::paths::Wish;
use crate::cast::{self, Actor};
use crate::op::Op;
use crate::program::Step;
use crate::words::{Family, KEPT, Kept, Mode, Place, Slot, SocketKind, Text};

/// First bytes and lengths of ranges. (A length that the kernel takes as negative means bytes
/// before the first one there, and is an error here.)
const STARTS: [u64; 8] = [0, 0, 1, 2, 3, 5, i64::MAX as u64, 1 << 63];
const LENGTHS: [u64; 7] = [0, 1, 1, 2, 3, 10, i64::MAX as u64];

/// Flags with which a node that was found without a path is opened.
const FLAGS: [OpenFlags; 10] = [
    OpenFlags::READ,
    OpenFlags::READ,
    OpenFlags::WRITE,
    OpenFlags::READ.union(OpenFlags::WRITE),
    OpenFlags::PATH,
    OpenFlags::PATH.union(OpenFlags::DIRECTORY),
    OpenFlags::READ.union(OpenFlags::DIRECTORY),
    OpenFlags::WRITE.union(OpenFlags::APPEND),
    OpenFlags::WRITE.union(OpenFlags::TRUNCATE),
    OpenFlags::READ.union(OpenFlags::TRUNCATE),
];

impl Draw {
    /// Draws an operation that may come at any time.
    pub(super) fn of_open_files(&mut self) -> Op {
        match self.rng.u8(..20) {
            0..3 => Op::Flock { slot: self.slot(), kind: self.lock_kind() },
            3..8 => {
                let (family, kind) = (self.family(), self.lock_kind());
                Op::SetLock { slot: self.file_slot(), family, kind, start: self.among(&STARTS), length: self.among(&LENGTHS) }
            }
            8..10 => {
                let (family, kind) = (self.family(), self.lock_kind());
                Op::GetLock { slot: self.file_slot(), family, kind, start: self.among(&STARTS), length: self.among(&LENGTHS) }
            }
            10 => Op::GetLease { slot: self.slot() },
            11..14 if self.mounts => self.reopen(),
            11 => self.name_to_handle(),
            12 | 13 => self.open_by_handle(),
            14..17 => self.reopen(),
            17 => Op::BindSocket { kept: self.keeper(), path: self.path(Wish::File) },
            18 if self.one_in(3) => Op::Unbind { kept: self.keeper() },
            _ => Op::Connect { path: self.path(Wish::File), kind: self.socket_kind() },
        }
    }

    fn lock_kind(&mut self) -> LockKind {
        self.among(&[LockKind::Shared, LockKind::Shared, LockKind::Exclusive, LockKind::Exclusive, LockKind::Unlock])
    }

    fn family(&mut self) -> Family {
        self.among(&[Family::Process, Family::File, Family::File])
    }

    fn keeper(&mut self) -> Kept {
        Kept(self.rng.u8(..KEPT as u8))
    }

    fn socket_kind(&mut self) -> SocketKind {
        self.among(&[SocketKind::Datagram, SocketKind::Datagram, SocketKind::Stream])
    }

    fn name_to_handle(&mut self) -> Op {
        let mut flags: HandleFlags = self.flags(3);
        // A connectable handle is opened with the root alone, since a file of several names may be
        // below another directory by each of them (`by_handle`).
        if !flags.intersects(HandleFlags::FID | HandleFlags::EMPTY_PATH) {
            flags -= HandleFlags::CONNECTABLE;
        }
        Op::NameToHandle { kept: self.keeper(), at: self.place_or_start(flags.contains(HandleFlags::EMPTY_PATH)), flags }
    }

    fn open_by_handle(&mut self) -> Op {
        let (kept, mount, flags) = (self.keeper(), self.slot(), self.among(&FLAGS));
        let flags = if self.one_in(6) { flags | OpenFlags::NOFOLLOW } else { flags };
        Op::OpenByHandle { slot: self.slot(), mount, kept, flags }
    }

    fn reopen(&mut self) -> Op {
        let flags = if self.one_in(12) { OpenFlags::WRITE | OpenFlags::TMPFILE } else { self.among(&FLAGS) };
        Op::Reopen { slot: self.slot(), from: self.slot(), flags }
    }

    /// Leases a file, and opens it with and without the right to write, in turns. At the end it is
    /// closed: another step might wait for the holder.
    pub(super) fn leased(&mut self, actor: Actor, at: &Place, [one, other]: [Slot; 2]) -> Vec<Step> {
        let open = |slot, flags| Op::Open { slot, at: at.clone(), flags, mode: Mode(0) };
        let holder = if self.one_in(3) { actor } else { cast::ROOT };
        let mut steps = vec![by(holder, Op::Close { slot: other }), by(holder, open(one, OpenFlags::READ))];
        for _ in 0..8 {
            let slot = if self.one_in(5) { other } else { one };
            let who = if self.one_in(2) { holder } else { actor };
            let op = match self.rng.u8(..12) {
                0..5 => Op::Lease { slot, kind: self.lock_kind() },
                5 | 6 => Op::GetLease { slot },
                7 => open(other, OpenFlags::READ),
                8 => open(other, OpenFlags::WRITE),
                9 => open(other, OpenFlags::READ | OpenFlags::WRITE | OpenFlags::TRUNCATE),
                10 => Op::Reopen { slot: other, from: one, flags: self.among(&FLAGS) },
                _ => Op::Close { slot: other },
            };
            steps.push(by(who, op));
        }
        steps.extend([one, other].map(|slot| by(holder, Op::Close { slot })));
        steps
    }

    /// Locks a file, and ranges of it, through two descriptors in turns.
    pub(super) fn locked(&mut self, actor: Actor, at: &Place, both: [Slot; 2]) -> Vec<Step> {
        let flags = OpenFlags::READ | OpenFlags::WRITE;
        let mut steps: Vec<Step> =
            both.map(|slot| by(cast::ROOT, Op::Open { slot, at: at.clone(), flags, mode: Mode(0) })).into();
        for _ in 0..10 {
            let (slot, family, kind) = (self.among(&both), self.family(), self.lock_kind());
            let (start, length) = (self.among(&[0, 1, 2, 3, 4, 5]), self.among(&[0, 1, 2, 3, 4]));
            let op = match self.rng.u8(..12) {
                0..3 => Op::Flock { slot, kind },
                3..8 => Op::SetLock { slot, family, kind, start, length },
                8..11 => Op::GetLock { slot, family, kind, start, length },
                // To close any descriptor on the node releases the locks of the process.
                _ if self.one_in(3) => Op::Close { slot },
                _ => Op::WriteFile { path: at.path.clone(), byte: b'l', size: 5 },
            };
            steps.push(by(actor, op));
        }
        steps.extend(both.map(|slot| by(actor, Op::Close { slot })));
        steps
    }

    /// Keeps the handle of a node, and opens it after its name was moved and removed.
    pub(super) fn by_handle(&mut self, actor: Actor, at: &Place, slot: Slot) -> Vec<Step> {
        let (kept, to) = (self.keeper(), Place { at: None, path: Text(b"/h".to_vec()) });
        let root = Place { at: None, path: Text(b"/".to_vec()) };
        let flags = self.among(&[HandleFlags::empty(), HandleFlags::FID, HandleFlags::CONNECTABLE, HandleFlags::CONNECTABLE]);
        let opener = if self.one_in(2) { actor } else { cast::ROOT };
        let open = |draw: &mut Draw| {
            let flags = draw.among(&FLAGS);
            by(opener, Op::OpenByHandle { slot: draw.slot(), mount: slot, kept, flags })
        };
        vec![
            by(cast::ROOT, Op::Open { slot, at: root.clone(), flags: OpenFlags::READ | OpenFlags::DIRECTORY, mode: Mode(0) }),
            by(actor, Op::NameToHandle { kept, at: at.clone(), flags }),
            open(self),
            by(cast::ROOT, Op::Rename { from: at.clone(), to: to.clone(), flags: RenameFlags::empty() }),
            open(self),
            by(cast::ROOT, if self.one_in(2) { Op::Unlink { at: to } } else { Op::Rmdir { at: to } }),
            open(self),
            by(cast::ROOT, Op::NameToHandle { kept, at: root, flags: HandleFlags::empty() }),
            by(cast::ROOT, Op::Close { slot }),
        ]
    }

    /// Binds a socket, and connects to it before and after it is closed.
    pub(super) fn bound(&mut self, actor: Actor) -> Vec<Step> {
        let (kept, path) = (self.keeper(), Text(self.among(&[&b"/s"[..], b"/a/s", b"s"]).to_vec()));
        let connect = |draw: &mut Draw| by(actor, Op::Connect { path: path.clone(), kind: draw.socket_kind() });
        let at = Place { at: None, path: path.clone() };
        vec![
            by(actor, Op::BindSocket { kept, path: path.clone() }),
            connect(self),
            by(cast::ROOT, Op::Chmod { at: at.clone(), mode: self.mode(), flags: pathwalk::AtFlags::empty() }),
            connect(self),
            by(actor, Op::BindSocket { kept: self.keeper(), path: path.clone() }),
            by(cast::ROOT, Op::Open { slot: self.slot(), at: at.clone(), flags: OpenFlags::READ, mode: Mode(0) }),
            by(actor, Op::Unbind { kept }),
            connect(self),
            by(cast::ROOT, Op::Unlink { at }),
        ]
    }
}

fn by(actor: Actor, op: Op) -> Step {
    Step { actor, op }
}
