//! The drawing of operations that mount and unmount, and of opens with `RESOLVE_*` rules.
//!
//! The model has neither, so such programs are for the kernel. Mount points are mostly places that
//! other operations name, so that those operations cross mounts by chance.

use pathwalk::{AtFlags, MountFlags, MoveFlags, OpenFlags, Propagation, Recursion, RenameFlags, Resolve, UmountFlags};

use super::Draw;
use super::paths::{self, Wish};
use crate::cast;
use crate::id_maps::MAPS;
use crate::op::Op;
use crate::outcome::SWITCHES;
use crate::program::Step;
use crate::words::{Body, Ids, Mode, Place, Spread, Text};

/// Paths around the two mounts of [`Draw::crossed`].
const WAYS: [&str; 16] = [
    "..",
    "../..",
    "../../..",
    "a",
    "a/..",
    "a/../..",
    "/m",
    "/m/a",
    "/m/..",
    "/n",
    "/n/..",
    "/n/../m/a",
    "/m/l",
    "/m/l/..",
    "/n/l",
    "../m/a/../l",
];

impl Draw {
    /// Draws a change of the tree of mounts, mostly by root.
    pub(super) fn mounting(&mut self) -> Step {
        let wish = if self.one_in(8) { Wish::File } else { Wish::Directory };
        let op = match self.rng.u8(..20) {
            0..6 => Op::Attach { at: self.mount_point(Wish::Directory), flags: self.switches() },
            6..10 => {
                Op::Bind { from: self.mount_point(wish), to: self.mount_point(wish), how: self.recursion(), ids: self.ids() }
            }
            10..13 => {
                let flags = if self.one_in(4) { MoveFlags::BENEATH } else { MoveFlags::empty() };
                Op::MoveMount { from: self.mounted(), to: self.mount_point(Wish::Directory), flags }
            }
            13..16 => {
                let none = UmountFlags::empty();
                let flags = self.among(&[none, none, UmountFlags::DETACH, UmountFlags::EXPIRE, UmountFlags::NOFOLLOW]);
                Op::Unmount { path: self.mounted().path, flags }
            }
            16 | 17 => Op::Remount { path: self.mounted().path, flags: self.remounted() },
            _ => self.set_mount(),
        };
        if let Op::Attach { at: to, .. } | Op::Bind { to, .. } | Op::MoveMount { to, .. } = &op {
            self.mounted = Some(to.clone());
        }
        Step { actor: if self.one_in(8) { self.last } else { cast::ROOT }, op }
    }

    /// Draws the place of a mount: often the last place at which one was tried.
    fn mounted(&mut self) -> Place {
        match self.mounted.clone() {
            Some(place) if !self.one_in(3) => place,
            _ => self.mount_point(Wish::Directory),
        }
    }

    fn set_mount(&mut self) -> Op {
        use Propagation::{Private, Shared, Slave, Unbindable};
        let spread = self.among(&[None, None, Some(Shared), Some(Shared), Some(Private), Some(Slave), Some(Unbindable)]);
        let (set, clear) = (self.switches(), self.switches());
        Op::SetMount { at: self.mounted(), set, clear, spread: Spread(spread), how: self.recursion() }
    }

    /// Draws a mount point: often a place that exists, or one that is often mounted on.
    fn mount_point(&mut self, wish: Wish) -> Place {
        if self.one_in(5) {
            let place = self.place(wish);
            return if self.one_in(3) { Place { path: Text(Vec::new()), ..place } } else { place };
        }
        let path = match self.rng.u8(..6) {
            0 => b"/".to_vec(),
            1..4 => self.among(&["/a", "/b", "/a/b"]).as_bytes().to_vec(),
            _ => paths::plain(&mut self.rng, &self.names, wish),
        };
        Place { at: None, path: Text(path) }
    }

    fn recursion(&mut self) -> Recursion {
        if self.one_in(3) { Recursion::Recursive } else { Recursion::Alone }
    }

    /// Draws an id map, in programs that have some.
    fn ids(&mut self) -> Ids {
        Ids((self.has_id_maps && !self.one_in(3)).then(|| self.rng.usize(..MAPS.len())))
    }

    /// Draws switches of a mount, mostly none.
    fn switches(&mut self) -> MountFlags {
        if self.one_in(3) { self.flags::<MountFlags>(4) & SWITCHES } else { MountFlags::empty() }
    }

    /// Draws the switches that a remount sets. `READ_ONLY` is in one of three.
    fn remounted(&mut self) -> MountFlags {
        let others = self.switches() - MountFlags::READ_ONLY;
        if self.one_in(3) { others | MountFlags::READ_ONLY } else { others }
    }

    /// Draws an open with `RESOLVE_*` rules.
    pub(super) fn open_under(&mut self) -> Step {
        let actor = self.actors[self.rng.usize(..self.actors.len())];
        let op = match self.open() {
            Op::Open { slot, mut at, flags, mode } => {
                let rules = self.rules();
                // From the descriptor, below which it begins then.
                if rules.contains(Resolve::IN_ROOT) && at.at.is_some() && self.one_in(2) {
                    at.path.0.insert(0, b'/');
                }
                Op::OpenUnder { slot, at, flags, mode, rules }
            }
            other => other,
        };
        Step { actor, op }
    }

    /// Draws rules that are valid together; seldom others. `RESOLVE_CACHED` is drawn elsewhere.
    fn rules(&mut self) -> Resolve {
        let scope = self.among(&[Resolve::empty(), Resolve::BENEATH, Resolve::IN_ROOT]);
        let others = Resolve::NO_XDEV | Resolve::NO_SYMLINKS | Resolve::NO_MAGICLINKS;
        let drawn: Resolve = self.flags(4);
        if self.one_in(40) { drawn - Resolve::CACHED } else { scope | drawn & others }
    }

    /// Draws a sequence that mounts a file system on `/m` and a part of it on `/n`, walks through
    /// both, changes what both show, and unmounts.
    pub(super) fn crossed(&mut self) -> Vec<Step> {
        let actor = self.actors[self.rng.usize(..self.actors.len())];
        let root = |op| Step { actor: cast::ROOT, op };
        let mode = Mode(0o777);
        let second = if self.one_in(3) {
            Op::Attach { at: place("/n"), flags: self.switches() }
        } else {
            Op::Bind { from: place("/m/a"), to: place("/n"), how: self.recursion(), ids: self.ids() }
        };
        let mut steps = vec![
            root(Op::Mkdir { at: place("/m"), mode }),
            root(Op::Mkdir { at: place("/n"), mode }),
            root(Op::Attach { at: place("/m"), flags: self.switches() }),
            root(Op::Mkdir { at: place("/m/a"), mode }),
            root(Op::Symlink { body: Body(self.among(&["../n", "a/..", "/m/a", ".."]).into()), at: place("/m/l") }),
            root(second),
            Step { actor, op: Op::Chdir { path: Text(self.among(&["/m", "/n", "/m/a", "/"]).into()) } },
        ];
        for _ in 0..6 {
            let at = place(self.among(&WAYS));
            let flags = self.among(&[OpenFlags::PATH, OpenFlags::READ, OpenFlags::PATH | OpenFlags::NOFOLLOW]);
            let op = match self.rng.u8(..9) {
                8 => Op::Remount { path: Text(self.among(&["/m", "/n", "/"]).into()), flags: self.remounted() },
                0..3 => Op::OpenUnder { slot: self.place_slot(), at, flags, mode: Mode(0), rules: self.rules() },
                3 => Op::Stat { at, flags: AtFlags::empty() },
                4 => Op::Mkdir { at, mode },
                5 => Op::Rmdir { at },
                6 => Op::Rename { from: at, to: place(self.among(&WAYS)), flags: RenameFlags::empty() },
                _ => Op::Statfs { path: at.path },
            };
            steps.push(Step { actor: if self.one_in(2) { actor } else { cast::ROOT }, op });
        }
        let lazily = if self.one_in(2) { UmountFlags::DETACH } else { UmountFlags::empty() };
        steps.push(root(Op::Unmount { path: place("/m").path, flags: lazily }));
        steps.push(Step { actor, op: Op::Stat { at: place(".."), flags: AtFlags::empty() } });
        steps
    }
}

fn place(path: &str) -> Place {
    Place { at: None, path: Text(path.as_bytes().to_vec()) }
}
