//! The drawing of one operation.

use pathwalk::permission::{AclEntry, AclKind, AclTag};
use pathwalk::{Access, AtFlags, Device, InodeFlags, LinkFlags, OpenFlags, SetTime, StatxMask, Timestamp};

use pathwalk::permission::NO_ID;

use super::paths::{self, Wish};
use super::{Draw, Files};
use crate::cast::UIDS;
use crate::op::Op;
use crate::words::{Body, Kind, List, Mode, Owner, Slot, Whence};

/// Modes that matter to a permission check.
const MODES: [u16; 18] = [
    0o755, 0o755, 0o777, 0o777, 0o1777, 0o1777, 0o2775, 0o2777, 0o700, 0o711, 0o4755, 0o6777, 0o2745, 0o644, 0o444, 0o111, 0,
    0o7777,
];

/// The lengths in bytes from which on data is too long for the model, and the one that replaces
/// them.
const LONG: u64 = 1 << 16;
const SHORT: u64 = 30_000;

/// Times about the ends of the engine's range and of the range of the type, in seconds.
const ENDS: [i64; 8] = [i64::MIN, i64::MIN + 1, -(1 << 49) - 1, -(1 << 49), (1 << 49) - 2, (1 << 49) - 1, 1 << 49, i64::MAX];

const SIZES: [u64; 10] = [0, 1, 5, 100, 4095, 4096, 4097, 10_000, 70_000, 1 << 33];

/// The positions of reads far beyond the end, where the model stores nothing.
const FAR: [u64; 4] = [1 << 17, 1 << 33, i64::MAX as u64 - 1, i64::MAX as u64];

/// The flags that only `stat` and `statx` have.
const OF_STAT: AtFlags = AtFlags::NO_AUTOMOUNT.union(AtFlags::FORCE_SYNC).union(AtFlags::DONT_SYNC);

impl Draw {
    pub(super) fn mode(&mut self) -> Mode {
        Mode(self.among(&MODES))
    }

    pub(super) fn owner(&mut self) -> Owner {
        if self.one_in(30) {
            // The number that `chown(2)` takes for no change.
            return Owner(Some(NO_ID));
        }
        if self.one_in(4) { Owner(None) } else { Owner(Some(self.among(&UIDS))) }
    }

    pub(super) fn op(&mut self) -> Op {
        match self.rng.u8(..150) {
            0..14 => self.open(),
            14..54 => self.change_of_names(),
            54..69 => self.change_of_attributes(),
            69..84 => self.question(),
            84..89 => self.process(),
            89..102 => self.data(),
            102..112 => self.seldom(),
            112..124 => self.xattr(),
            124..134 => self.of_open_files(),
            _ => self.helper(),
        }
    }

    /// Draws an operation of administrators and event loops.
    fn seldom(&mut self) -> Op {
        let (set, flags) = (self.bits(), if self.one_in(4) { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() });
        match self.rng.u8(..12) {
            0..4 => self.of_lists(),
            4..6 => {
                let flags = if self.one_in(6) { flags | AtFlags::EMPTY_PATH } else { flags };
                let at = if flags.contains(AtFlags::EMPTY_PATH) { self.place_or_start(true) } else { self.place(Wish::Any) };
                if self.one_in(3) { Op::GetFlags { at, flags } } else { Op::SetFlags { at, set, flags } }
            }
            6..9 => match self.open() {
                Op::Open { at, flags, mode, .. } if self.one_in(6) => Op::TryOpen { at, flags, mode },
                Op::Open { at, flags, .. } => {
                    let makes = OpenFlags::CREATE | OpenFlags::TMPFILE | OpenFlags::TRUNCATE | OpenFlags::EXCLUSIVE;
                    Op::TryOpen { at, flags: flags - makes, mode: Mode(0) }
                }
                other => other,
            },
            9 => Op::TryReadAt { slot: self.file_slot(), size: self.length(), offset: self.size() },
            _ => self.list_parts(),
        }
    }

    pub(super) fn list_parts(&mut self) -> Op {
        let [name, to] = [(); 2].map(|()| Body(self.names.one(&mut self.rng, Wish::Any)));
        Op::ListParts { slot: self.place_slot(), size: self.among(&[300, 400, 1000, 5000]), name, to }
    }

    /// Draws flags that users set, usually none.
    pub(super) fn bits(&mut self) -> InodeFlags {
        let (immutable, append) = (InodeFlags::IMMUTABLE, InodeFlags::APPEND);
        let (none, both) = (InodeFlags::empty(), InodeFlags::NODUMP | InodeFlags::NOATIME);
        self.among(&[none, none, none, immutable, append, immutable | append, InodeFlags::NODUMP, both])
    }

    /// Draws a change of a list, or a read of one.
    fn of_lists(&mut self) -> Op {
        let flags = self.at_flags(4);
        let flags = if self.one_in(20) { flags } else { flags - AtFlags::EACCESS };
        let kind = self.list_kind();
        let wish = if kind == AclKind::Default { Wish::Directory } else { Wish::Any };
        let at = if flags.contains(AtFlags::EMPTY_PATH) { self.place_or_start(true) } else { self.place(wish) };
        if self.one_in(3) { Op::GetAcl { at, kind, flags } } else { Op::SetAcl { at, list: self.list_of(kind), flags } }
    }

    pub(super) fn list_kind(&mut self) -> AclKind {
        self.among(&[AclKind::Access, AclKind::Default])
    }

    /// Draws an ACL: in one case of four an empty one, and seldom one that no node may have.
    pub(super) fn list(&mut self) -> List {
        let kind = self.list_kind();
        self.list_of(kind)
    }

    fn list_of(&mut self, kind: AclKind) -> List {
        if self.one_in(4) {
            return List { kind, entries: Vec::new() };
        }
        let users: Vec<AclTag> = UIDS.into_iter().filter(|_| self.one_in(3)).map(AclTag::User).collect();
        let groups: Vec<AclTag> = [7, 1000, 1001, 1002].into_iter().filter(|_| self.one_in(4)).map(AclTag::NamedGroup).collect();
        let needs_mask = !users.is_empty() || !groups.is_empty();
        let mask = (needs_mask || self.one_in(4)).then_some(AclTag::Mask);
        let tags =
            [AclTag::Owner].into_iter().chain(users).chain([AclTag::Group]).chain(groups).chain(mask).chain([AclTag::Other]);
        let mut entries: Vec<AclEntry> =
            tags.map(|tag| AclEntry { tag, grants: if self.one_in(3) { Access::all() } else { self.access() } }).collect();
        if self.one_in(8) {
            let [one, other] = [(); 2].map(|()| self.rng.usize(..entries.len()));
            match self.rng.u8(..3) {
                0 => entries.swap(one, other),
                1 => _ = entries.remove(one),
                _ => entries.insert(one, entries[other]),
            }
        }
        List { kind, entries }
    }

    /// Draws the number of bytes that are read or written at once: seldom many.
    pub(super) fn length(&mut self) -> u64 {
        let length = self.among(&[0, 1, 5, 100, 4096, 9000]);
        match (self.one_in(12), self.files) {
            (false, _) => length,
            (true, Files::Any) => self.among(&[20_000, 70_000, (1 << 20) + 1, 3 << 20]),
            (true, Files::Short) => 20_000,
        }
    }

    pub(super) fn open(&mut self) -> Op {
        let rights = [OpenFlags::READ, OpenFlags::WRITE, OpenFlags::READ | OpenFlags::WRITE];
        let path_only = self.one_in(3);
        let mut flags = if path_only { OpenFlags::PATH } else { self.among(&rights) };
        let some = if self.one_in(8) {
            OpenFlags::all() - OpenFlags::READ - OpenFlags::WRITE
        } else {
            self.among(&[
                OpenFlags::empty(),
                OpenFlags::CREATE,
                OpenFlags::CREATE | OpenFlags::EXCLUSIVE,
                OpenFlags::CREATE | OpenFlags::TRUNCATE,
                OpenFlags::TRUNCATE,
                OpenFlags::TMPFILE,
                OpenFlags::TMPFILE | OpenFlags::EXCLUSIVE,
            ])
        };
        if !path_only {
            let drawn: OpenFlags = self.flags(2);
            flags |= if some.bits().count_ones() > 3 { some & drawn } else { some };
            flags &= !OpenFlags::PATH;
        }
        let extra: OpenFlags = self.flags(5);
        flags |= extra & (OpenFlags::DIRECTORY | OpenFlags::NOFOLLOW);
        if !path_only {
            flags |= extra & (OpenFlags::APPEND | OpenFlags::NOATIME);
            flags |= if self.one_in(4) { extra & OpenFlags::DIRECT } else { OpenFlags::empty() };
        }
        let makes = flags.intersects(OpenFlags::CREATE | OpenFlags::TMPFILE);
        let mode = if makes || self.one_in(30) { self.mode() } else { Mode(0) };
        let is_place = path_only || flags.contains(OpenFlags::DIRECTORY) || flags == OpenFlags::READ && self.one_in(2);
        let (slot, wish) = if is_place { (self.place_slot(), Wish::Directory) } else { (self.file_slot(), Wish::File) };
        let wish = if flags.contains(OpenFlags::TMPFILE) { Wish::Directory } else { wish };
        Op::Open { slot, at: self.place(wish), flags, mode }
    }

    fn change_of_names(&mut self) -> Op {
        match self.rng.u8(..40) {
            0..6 => Op::Mkdir { at: self.place(Wish::Directory), mode: self.mode() },
            6..9 => Op::Mknod { at: self.place(Wish::File), kind: self.kind(), mode: self.mode() },
            9..13 => Op::Symlink { body: Body(paths::body(&mut self.rng, &self.names)), at: self.place(Wish::Any) },
            13..20 => {
                let flags: LinkFlags = self.flags(4);
                let from = if flags.contains(LinkFlags::EMPTY_PATH) { self.place_or_start(true) } else { self.place(Wish::File) };
                Op::Link { from, to: self.place(Wish::Any), flags }
            }
            20..24 => Op::Unlink { at: self.place(Wish::File) },
            24..27 => Op::Rmdir { at: self.place(Wish::Directory) },
            _ => {
                let wish = self.among(&[Wish::Directory, Wish::File, Wish::Any]);
                Op::Rename { from: self.place(wish), to: self.place(wish), flags: self.flags(5) }
            }
        }
    }

    pub(super) fn kind(&mut self) -> Kind {
        // Device numbers that no driver has.
        let device = Device { major: 4000, minor: self.among(&[0, 7, 0xf_ffff]) };
        self.among(&[
            Kind::File,
            Kind::File,
            Kind::Fifo,
            Kind::Fifo,
            Kind::Socket,
            Kind::Char(device),
            Kind::Block(device),
            Kind::Char(Device { major: 0, minor: 0 }),
            Kind::Directory,
            Kind::Link,
        ])
    }

    fn change_of_attributes(&mut self) -> Op {
        let flags = self.at_flags(4);
        let flags = if self.one_in(20) { flags } else { flags - AtFlags::EACCESS };
        let empty = flags.contains(AtFlags::EMPTY_PATH);
        match self.rng.u8(..15) {
            0..6 => Op::Chmod { at: self.place_or_start(empty), mode: self.mode(), flags },
            6..10 => Op::Chown { at: self.place_or_start(empty), uid: self.owner(), gid: self.owner(), flags },
            10..12 => Op::Truncate { path: self.path(Wish::File), size: self.size() },
            _ => Op::Times { at: self.place_or_start(empty), atime: self.time(), mtime: self.time(), flags },
        }
    }

    pub(super) fn size(&mut self) -> u64 {
        let size = if self.one_in(20) {
            self.among(&[1 << 62, i64::MAX as u64 - 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX])
        } else {
            self.among(&SIZES)
        };
        let is_too_long = self.files == Files::Short && (LONG..=i64::MAX as u64).contains(&size);
        if is_too_long { SHORT } else { size }
    }

    fn time(&mut self) -> SetTime {
        let seconds = self.among(&[0, 1, -1, 1_000_000_000, -5_000_000_000, 1 << 33, 1 << 40, 1 << 48, -(1 << 48), 1 << 60]);
        let seconds = if self.one_in(20) { self.among(&ENDS) } else { seconds };
        // Beyond the ends of the engine's range all times are one to it, and not to the kernel,
        // which compares them to see whether the time of an access is due.
        let seconds = if self.notes_accesses { seconds.clamp(-(1 << 49) + 1, (1 << 49) - 2) } else { seconds };
        let nanoseconds = self.among(&[0, 1, 999_999_999, 500]);
        match self.rng.u8(..20) {
            0..4 => SetTime::Now,
            4..7 => SetTime::Keep,
            7 => SetTime::To(Timestamp { seconds, nanoseconds: self.among(&[1_000_000_000, u32::MAX]) }),
            _ => SetTime::To(Timestamp { seconds, nanoseconds }),
        }
    }

    /// Draws flags that most operations on a path have.
    pub(super) fn at_flags(&mut self, n: u32) -> AtFlags {
        self.flags::<AtFlags>(n) - OF_STAT
    }

    fn question(&mut self) -> Op {
        let flags = self.at_flags(4);
        let empty = flags.contains(AtFlags::EMPTY_PATH);
        match self.rng.u8(..15) {
            0..5 => {
                // With an empty path the kernel looks at no other flag.
                let nonsense = !empty && self.one_in(10);
                let flags = if nonsense { flags } else { flags - AtFlags::EACCESS };
                Op::Stat { at: self.place_or_start(empty), flags: flags | self.of_stat(12) }
            }
            5 => {
                let flags = (flags - AtFlags::EACCESS) | self.of_stat(4);
                Op::Statx { at: self.place_or_start(empty), flags, mask: self.statx_mask() }
            }
            6..9 => {
                let size = self.among(&[0, 1, 5, 127, 128, 255, 256, 4095, 4096, 8192]);
                let empty = self.one_in(6);
                Op::Readlink { at: self.place_or_start(empty), size }
            }
            9..14 => {
                let flags = if self.one_in(40) { flags | self.of_stat(2) } else { flags };
                Op::Access { at: self.place_or_start(empty), want: self.access(), flags }
            }
            _ => Op::Statfs { path: self.path(Wish::Any) },
        }
    }

    pub(super) fn access(&mut self) -> Access {
        self.flags(2)
    }

    /// Draws some of the flags that only `stat` has.
    fn of_stat(&mut self, n: u32) -> AtFlags {
        self.flags::<AtFlags>(n) & OF_STAT
    }

    fn statx_mask(&mut self) -> StatxMask {
        let named = StatxMask::all().iter_names().map(|(_, flag)| flag);
        let mask = named.fold(StatxMask::empty(), |mask, flag| if self.one_in(3) { mask | flag } else { mask });
        let odd = [1 << 13, 1 << 16, 1 << 29, 1 << 31].map(StatxMask::from_bits_retain);
        if self.one_in(12) { mask | self.among(&odd) } else { mask }
    }

    fn process(&mut self) -> Op {
        match self.rng.u8(..10) {
            0..5 => Op::Chdir { path: self.path(Wish::Directory) },
            5 => Op::Chroot { path: self.path(Wish::Directory) },
            6..8 => Op::Umask { mask: Mode(self.among(&[0, 0o022, 0o077, 0o777, 0o002, 0o7777])) },
            _ => Op::Close { slot: self.slot() },
        }
    }

    fn data(&mut self) -> Op {
        let slot = self.file_slot();
        let size = self.length();
        let byte = self.byte();
        let offset = self.size();
        match self.rng.u8(..18) {
            12.. => self.space(slot),
            0 | 1 => Op::Read { slot, size },
            2 if self.one_in(4) => Op::ReadAt { slot, size, offset: self.among(&FAR) },
            2 => Op::ReadAt { slot, size, offset },
            3 | 4 => Op::Write { slot, byte, size },
            5 => Op::WriteAt { slot, byte, size, offset },
            6 | 7 => self.seek(slot),
            8 => Op::SetLen { slot, size: offset },
            9 => Op::List { slot: self.place_slot() },
            10 => Op::ListNodes { slot: self.place_slot(), most: self.among(&[1, 2, 3, 7, 1000]) },
            _ => Op::Sync { slot },
        }
    }

    pub(super) fn byte(&mut self) -> u8 {
        self.rng.u8(b'a'..=b'z')
    }

    fn seek(&mut self, slot: Slot) -> Op {
        let whence = self.among(&[Whence::Start, Whence::Current, Whence::End]);
        let (far, farthest) = if self.files == Files::Short { (100, 7) } else { (1 << 33, i64::MAX) };
        let by = self.among(&[0, 0, 1, -1, 100, 4096, -4096, 5000, -5000, farthest, i64::MIN, far]);
        Op::Seek { slot, whence, by }
    }
}
