//! Random operations on mounts.
//!
//! An operation names directories by paths from the caller's root, or by held descriptors, so that
//! it can name covered or detached directories. All randomness comes from a seed.

use super::files::{Call, FILE_OWNERS, USERS};
use super::id_maps::MAPS;

/// A directory or file: by its path, or by the number of an open file descriptor.
#[derive(Clone, Debug)]
pub(crate) enum Spot {
    Path(String),
    Held(usize),
}

/// The propagation of a mount.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Private,
    Shared,
    Slave,
    Unbindable,
}

/// The way to unmount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Umount {
    Plain,
    Detach,
    /// Two calls with `MNT_EXPIRE`; the second result counts if the first is `EAGAIN`.
    Expire,
}

/// An operation of the caller.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// `mount(2)` of a new and empty file system.
    MountEmpty(Spot),
    /// `fsmount(2)` of a new file system with directories, and `move_mount(2)`.
    Mount(Spot),
    Bind {
        from: Spot,
        to: Spot,
        recursive: bool,
    },
    Move {
        from: Spot,
        to: Spot,
        beneath: bool,
    },
    /// `open_tree(2)` with `OPEN_TREE_CLONE`, held as this number.
    Clone {
        from: Spot,
        slot: usize,
        recursive: bool,
    },
    /// `open(2)` with `O_PATH`, held as this number.
    Hold {
        from: String,
        slot: usize,
    },
    Close(usize),
    Umount(Spot, Umount),
    Propagation {
        at: Spot,
        kind: Kind,
        recursive: bool,
    },
    /// `mount_setattr(2)` with these of `READ_ONLY` 1, `NOEXEC` 2, `NOSYMFOLLOW` 4, `NOSUID` 8.
    Attributes {
        at: Spot,
        set: u32,
        clear: u32,
        recursive: bool,
    },
    /// `mount(2)` with `MS_REMOUNT` and these flags; with `MS_BIND`, for the mount alone.
    Remount {
        at: Spot,
        flags: u32,
        of_mount: bool,
    },
    /// `mount_setattr(2)` with `MOUNT_ATTR_IDMAP` and the map of this number.
    MapIds {
        at: Spot,
        map: usize,
        recursive: bool,
    },
    /// `open_tree(2)`, then `mount_setattr(2)` with the map, then `move_mount(2)`.
    Mapped {
        from: Spot,
        to: Spot,
        map: usize,
        recursive: bool,
    },
    /// A call on files by the user of this number.
    File {
        user: usize,
        call: Call,
    },
    Pivot {
        new: Spot,
        old: String,
    },
    Chroot(String),
    Mkdir(String),
    Rmdir(String),
    /// `unshare(2)` with `CLONE_NEWNS`; the new namespace gets this number.
    Unshare(usize),
    /// `setns(2)` into the namespace with this number.
    Enter(usize),
    /// The closing of the namespace with this number.
    Drop(usize),
}

impl Op {
    /// Returns the files that are compared after the operation.
    pub(crate) fn files(&self) -> Vec<String> {
        match self {
            Op::File { call, .. } => call.paths().into_iter().map(String::from).collect(),
            Op::Mapped { to: Spot::Path(path), .. } => vec![path.clone(), format!("{path}/f"), format!("{path}/a/g")],
            _ => Vec::new(),
        }
    }
}

/// The most open files and namespaces.
pub(crate) const SLOTS: usize = 4;

/// A source of random numbers.
pub(crate) struct Random {
    state: u64,
    /// The mount points, so that operations find some.
    points: Vec<String>,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, points: Vec::new() }
    }

    /// Sets the current mount points.
    pub(crate) fn set_points(&mut self, points: impl Iterator<Item = String>) {
        self.points = points.filter(|path| !path.ends_with("deleted")).collect();
    }

    /// Returns a number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        ((self.state >> 32) as usize) % end
    }

    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    fn path(&mut self) -> String {
        if self.below(3) == 0 && !self.points.is_empty() {
            let index = self.below(self.points.len());
            return self.points[index].clone();
        }
        let mut path = String::new();
        for _ in 0..[0, 1, 1, 1, 2, 2, 3][self.below(7)] {
            path.push_str(["/a", "/b"][self.below(2)]);
        }
        match (path.is_empty(), self.below(40)) {
            (_, 0) => path + "/f",
            (true, _) => "/".into(),
            (false, _) => path,
        }
    }

    fn spot(&mut self) -> Spot {
        if self.below(5) == 0 { Spot::Held(self.below(SLOTS)) } else { Spot::Path(self.path()) }
    }

    /// Returns a random operation; in `files` of a hundred cases, one about files or id maps.
    pub(crate) fn op(&mut self, files: usize) -> Op {
        if self.below(100) < files {
            return self.files_op();
        }
        match self.below(100) {
            0..4 => Op::MountEmpty(self.spot()),
            4..18 => Op::Mount(self.spot()),
            18..31 => Op::Bind { from: self.spot(), to: self.spot(), recursive: self.coin() },
            31 => self.bind_file(),
            32..44 => Op::Move { from: self.spot(), to: self.spot(), beneath: self.below(3) == 0 },
            44..62 => {
                let kind = [Kind::Private, Kind::Shared, Kind::Slave, Kind::Unbindable];
                let kind = kind[[0, 1, 1, 1, 1, 2, 2, 3][self.below(8)]];
                Op::Propagation { at: self.spot(), kind, recursive: self.coin() }
            }
            62..75 => {
                let way = [Umount::Plain, Umount::Detach, Umount::Plain, Umount::Expire];
                Op::Umount(self.spot(), way[self.below(4)])
            }
            _ => self.rarer_op(),
        }
    }

    fn bind_file(&mut self) -> Op {
        let (from, to) = (Spot::Path(self.path() + "/f"), Spot::Path(self.path() + "/f"));
        Op::Bind { from, to, recursive: self.coin() }
    }

    /// Returns the first operations of sequences about files: files of many owners, seen through
    /// two maps.
    pub(crate) fn prologue(&mut self) -> Vec<Op> {
        let mut ops = Vec::new();
        let mut by_root = |call| ops.push(Op::File { user: 0, call });
        for dir in ["", "/a", "/b", "/a/a", "/a/b"] {
            for name in ["f", "g"] {
                let path = format!("{dir}/{name}");
                by_root(Call::Create { path: path.clone(), mode: 0o644, exclusive: false });
                by_root(Call::Chown(path.clone(), self.id(), self.id()));
                by_root(Call::Chmod(path, self.mode()));
            }
            if !dir.is_empty() {
                by_root(Call::Chown(dir.into(), self.id(), self.id()));
                by_root(Call::Chmod(dir.into(), [0o777, 0o1777, 0o2777, 0o3777, 0o755, 0o770][self.below(6)]));
            }
        }
        for to in ["/b/a", "/b/b"] {
            let (from, to, map) = (Spot::Path("/a".into()), Spot::Path(to.into()), self.below(MAPS.len()));
            ops.push(Op::Mapped { from, to, map, recursive: false });
        }
        ops
    }

    fn files_op(&mut self) -> Op {
        let (map, recursive) = (self.below(MAPS.len()), self.below(4) == 0);
        match self.below(50) {
            0..3 => Op::Mapped { from: self.spot(), to: self.spot(), map, recursive },
            3..5 => Op::MapIds { at: Spot::Held(self.below(SLOTS)), map, recursive },
            5 => Op::MapIds { at: self.spot(), map, recursive },
            _ => match self.call() {
                // `protected_hardlinks` may be on or off on this machine, and other tests change
                // it.
                call @ Call::Link(..) => Op::File { user: FILE_OWNERS[self.below(FILE_OWNERS.len())], call },
                call => Op::File { user: self.user(), call },
            },
        }
    }

    /// Returns a user: root in at least one case of three.
    fn user(&mut self) -> usize {
        if self.below(3) == 0 { 0 } else { self.below(USERS.len()) }
    }

    fn file(&mut self) -> String {
        let dir = if self.below(3) == 0 { ["/b/a", "/b/b"][self.below(2)].into() } else { self.path() };
        let name = ["", "/f", "/f", "/g", "/g", "/h", "/a", "/b"][self.below(8)];
        if dir == "/" && !name.is_empty() { name.into() } else { dir + name }
    }

    fn id(&mut self) -> Option<u32> {
        const IDS: [u32; 9] = [0, 1000, 1000, 2000, 5000, 100_000, 101_000, 65_534, 7];
        (self.below(4) > 0).then(|| IDS[self.below(9)])
    }

    fn mode(&mut self) -> u16 {
        const MODES: [u16; 16] =
            [0o644, 0o600, 0o666, 0o4755, 0o2755, 0o6777, 0o2745, 0o1777, 0o777, 0o070, 0o007, 0, 0o2777, 0o755, 0o6766, 0o3777];
        MODES[self.below(16)]
    }

    fn call(&mut self) -> Call {
        let path = self.file();
        match self.below(44) {
            0..4 => Call::Stat(path),
            4..8 => Call::Access(path, self.below(8) as u8),
            8..12 => Call::Create { path, mode: self.mode(), exclusive: self.coin() },
            12..15 => Call::Write { path, truncate: self.coin() },
            15 => Call::Read(path),
            16..18 => Call::Mkdir(path, self.mode()),
            18 => Call::Pipe(path, self.mode()),
            19 => self.call_of_link(),
            20..22 => Call::Unnamed(self.path(), self.mode()),
            22..24 => Call::Link(path, self.file()),
            24..26 => Call::Rename(path, self.file()),
            26..28 => Call::Unlink(path),
            28 => Call::Rmdir(path),
            29..34 => Call::Chmod(path, self.mode()),
            34..40 => Call::Chown(path, self.id(), self.id()),
            40 => Call::Truncate(path),
            41 => Call::Touch(path),
            _ => Call::SetTimes(path),
        }
    }

    /// Returns a call that follows no link: `protected_symlinks` may be on or off on this machine.
    fn call_of_link(&mut self) -> Call {
        let path = match self.path() {
            root if root == "/" => "/s".into(),
            dir => dir + "/s",
        };
        match self.below(4) {
            0..2 => Call::Symlink(path),
            2 => Call::Chown(path, self.id(), self.id()),
            _ => Call::Unlink(path),
        }
    }

    /// Returns a pivot. In most cases one place is below the other, as it must be.
    fn pivot(&mut self) -> Op {
        let new = self.path();
        let old = if self.below(3) == 0 { self.path() } else { new.clone() + &self.path() };
        let new = if self.below(4) == 0 { self.spot() } else { Spot::Path(new) };
        Op::Pivot { new, old }
    }

    fn rarer_op(&mut self) -> Op {
        let slot = self.below(SLOTS);
        match self.below(28) {
            0..4 => Op::Clone { from: self.spot(), slot, recursive: self.coin() },
            4..7 => Op::Hold { from: self.path(), slot },
            7..10 => Op::Close(slot),
            10..12 => {
                let (set, clear) = (self.below(16) as u32, self.below(16) as u32);
                Op::Attributes { at: self.spot(), set, clear, recursive: self.coin() }
            }
            12..15 => self.pivot(),
            15 => Op::Chroot(self.path()),
            16..18 => Op::Mkdir(self.path()),
            18..20 => Op::Rmdir(self.path()),
            20..22 => Op::Unshare(slot),
            22..24 => Op::Enter(slot),
            24 => Op::Drop(slot),
            _ => {
                // Mostly not read-only, so that changes can succeed.
                let read_only = u32::from(self.below(3) == 0);
                Op::Remount { at: self.spot(), flags: self.below(16) as u32 & !1 | read_only, of_mount: self.coin() }
            }
        }
    }
}
