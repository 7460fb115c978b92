//! Scenes: a few steps that belong together and lead to a rule that steps drawn one by one hardly
//! ever meet.
//!
//! The census shows which rules those are: walks through links, what one triad or one capability
//! grants, the clearing of set-id bits, and trailing slashes. Scenes have names of their own, `p`,
//! `q` and `r`, in the root, so that they mostly succeed. Other operations may later use the nodes
//! that a scene leaves behind.

use pathwalk::{Access, AtFlags, OpenFlags};

use super::Draw;
use super::paths::{self, Wish};
use crate::cast::{self, Actor, UIDS};
use crate::op::Op;
use crate::program::Step;
use crate::words::{Body, Mode, Owner, Place, Text};

/// Modes in which the triads differ.
const TRIADS: [u16; 8] = [0o007, 0o070, 0o604, 0o640, 0o001, 0o077, 0, 0o755];

impl Draw {
    /// Draws a scene.
    pub(super) fn scene(&mut self) -> Vec<Step> {
        let actor = self.actors[self.rng.usize(..self.actors.len())];
        match self.rng.u8(..7) {
            0..3 => self.triads(actor),
            3 => self.links(actor),
            4 => self.chain_of_links(actor),
            5 => self.set_id_bits(actor),
            _ => self.parents(actor),
        }
    }

    /// Checks what one triad of a mode grants to an actor.
    fn triads(&mut self, actor: Actor) -> Vec<Step> {
        let want = self.among(&[Access::READ, Access::READ, Access::WRITE, Access::EXECUTE, Access::READ | Access::EXECUTE]);
        let [uid, gid] = [self.among(&UIDS), self.among(&UIDS)].map(|id| Owner(Some(id)));
        vec![
            by(cast::ROOT, self.new_file("/p", 0o644)),
            by(cast::ROOT, Op::Chown { at: place("/p"), uid, gid, flags: AtFlags::empty() }),
            by(cast::ROOT, Op::Chmod { at: place("/p"), mode: Mode(self.among(&TRIADS)), flags: AtFlags::empty() }),
            by(actor, Op::Access { at: place("/p"), want, flags: AtFlags::empty() }),
            by(actor, Op::Access { at: place("/p"), want, flags: AtFlags::EACCESS }),
        ]
    }

    /// Walks to a link at the end, in the middle, before a slash, and to a dangling one.
    fn links(&mut self, actor: Actor) -> Vec<Step> {
        let body = if self.one_in(2) { paths::plain(&mut self.rng, &self.names, Wish::Any) } else { b"p".to_vec() };
        let make = if self.one_in(2) {
            Op::Mkdir { at: place("/q/"), mode: self.mode() }
        } else {
            Op::Open { slot: self.file_slot(), at: place("/q"), flags: OpenFlags::CREATE | OpenFlags::READ, mode: self.mode() }
        };
        let nofollow = AtFlags::SYMLINK_NOFOLLOW;
        vec![
            by(cast::ROOT, Op::Unlink { at: place("/q") }),
            by(cast::ROOT, Op::Symlink { body: Body(body), at: place("/q") }),
            by(actor, make),
            by(actor, Op::Stat { at: place("/q/"), flags: nofollow }),
            by(actor, Op::Stat { at: place("/q"), flags: self.among(&[AtFlags::empty(), nofollow]) }),
            by(actor, Op::Readlink { at: place("/q/"), size: 100 }),
            by(actor, Op::Stat { at: place("/q/c"), flags: nofollow }),
        ]
    }

    /// Follows as many links as a walk may follow, and one more.
    fn chain_of_links(&mut self, actor: Actor) -> Vec<Step> {
        let path = self.among(&["/l38", "/l39", "/l39", "/l40", "/l41", "/l39/", "/l40/."]);
        let file = OpenFlags::CREATE | OpenFlags::READ;
        vec![
            by(cast::ROOT, Op::Open { slot: self.file_slot(), at: place("/c"), flags: file, mode: self.mode() }),
            by(actor, Op::Stat { at: place(path), flags: AtFlags::empty() }),
        ]
    }

    /// Clears set-id bits by a write, a truncate and a change of the owner.
    fn set_id_bits(&mut self, actor: Actor) -> Vec<Step> {
        let (slot, bits) = (self.file_slot(), Mode(self.among(&[0o6777, 0o4777, 0o2777, 0o2767])));
        self.openers[usize::from(slot.0)] = actor;
        let chmod = |path| by(cast::ROOT, Op::Chmod { at: place(path), mode: bits, flags: AtFlags::empty() });
        let how = OpenFlags::CREATE | OpenFlags::READ | OpenFlags::WRITE;
        let [uid, gid] = [self.owner(), self.owner()];
        let written = match self.rng.u8(..3) {
            0 => Op::SetLen { slot, size: self.among(&[0, 1, 5000]) },
            1 => Op::Truncate { path: Text(b"/r".to_vec()), size: self.among(&[0, 1, 5000]) },
            _ => Op::Write { slot, byte: b's', size: self.among(&[0, 1, 5000]) },
        };
        vec![
            by(cast::ROOT, self.new_file("/r", 0o777)),
            by(actor, Op::Open { slot, at: place("/r"), flags: how, mode: Mode(0o777) }),
            chmod("/r"),
            by(actor, written),
            chmod("/r"),
            by(self.last, Op::Chown { at: place("/r"), uid, gid, flags: AtFlags::empty() }),
        ]
    }

    /// Moves a directory over its own parent, and makes a name in a working directory that was
    /// removed.
    fn parents(&mut self, actor: Actor) -> Vec<Step> {
        let to = |path: &str| Text(path.as_bytes().to_vec());
        let rename = Op::Rename { from: place("/a/b"), to: place("/a"), flags: pathwalk::RenameFlags::empty() };
        vec![
            by(cast::ROOT, Op::Mkdir { at: place("/a"), mode: Mode(0o777) }),
            by(cast::ROOT, Op::Mkdir { at: place("/a/b"), mode: Mode(0o777) }),
            by(cast::ROOT, rename),
            by(actor, Op::Chdir { path: to("/a/b") }),
            by(cast::ROOT, Op::Rmdir { at: place("/a/b") }),
            by(actor, Op::Mkdir { at: place("c"), mode: self.mode() }),
            by(actor, Op::Stat { at: place(".."), flags: AtFlags::empty() }),
            by(actor, Op::Chdir { path: to("/") }),
        ]
    }

    fn new_file(&mut self, path: &str, mode: u16) -> Op {
        let (flags, slot) = (OpenFlags::CREATE | OpenFlags::READ | OpenFlags::WRITE, self.file_slot());
        self.openers[usize::from(slot.0)] = cast::ROOT;
        Op::Open { slot, at: place(path), flags, mode: Mode(mode) }
    }
}

fn by(actor: Actor, op: Op) -> Step {
    Step { actor, op }
}

fn place(path: &str) -> Place {
    Place { at: None, path: Text(path.as_bytes().to_vec()) }
}
