//! The operations of programs, one line each: all that can be done on either side.

use anyhow::{Result, bail};
use pathwalk::permission::AclKind;
use pathwalk::{
    Access, AtFlags, Capabilities, FallocateFlags, InodeFlags, LinkFlags, MountFlags, MoveFlags, OpenFlags, Recursion,
    RenameFlags, Resolve, RwFlags, SetTime, StatxMask, UmountFlags, XattrFlags,
};

use crate::cast::Actor;
use crate::words::{Body, Ids, Kind, List, Mode, Offset, Options, Owner, Place, Slot, Spread, Text, Whence, Word, Words};

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident $verb:literal { $($field:ident: $type:ty),* })*) => {
        /// One operation.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub(crate) enum Op {
            $($(#[$doc])* $name { $($field: $type),* },)*
        }

        impl Op {
            /// Returns the word that its line begins with.
            pub(crate) fn verb(&self) -> &'static str {
                match self { $(Op::$name { .. } => $verb,)* }
            }

            pub(crate) fn write(&self, out: &mut String) {
                match self {
                    $(Op::$name { $($field),* } => {
                        out.push_str($verb);
                        $(out.push(' '); $field.write(out);)*
                    })*
                }
            }

            pub(crate) fn read(words: &mut Words<'_>) -> Result<Op> {
                Ok(match words.word()? {
                    $($verb => Op::$name { $($field: words.take()?),* },)*
                    other => bail!("no operation is called `{other}`"),
                })
            }

            /// Returns the paths in it that may name nodes that it changed.
            pub(crate) fn places(&self) -> Vec<(Option<Slot>, &[u8])> {
                match self {
                    $(Op::$name { $($field),* } => [$($field as &dyn Part),*].into_iter().filter_map(Part::place).collect(),)*
                }
            }

            /// Returns the descriptors that have to be open.
            pub(crate) fn slots(&self) -> Vec<Slot> {
                let all: Vec<Slot> = match self {
                    $(Op::$name { $($field),* } => [$($field as &dyn Part),*].into_iter().filter_map(Part::slot).collect(),)*
                };
                // The descriptor that an open fills need not be open.
                all[usize::from(matches!(self, Op::Open { .. } | Op::OpenUnder { .. } | Op::OpenWith { .. }))..].to_vec()
            }
        }
    };
}

/// A word of any type.
trait Part {
    fn place(&self) -> Option<(Option<Slot>, &[u8])>;
    fn slot(&self) -> Option<Slot>;
}

impl<T: Word> Part for T {
    fn place(&self) -> Option<(Option<Slot>, &[u8])> {
        Word::place(self)
    }

    fn slot(&self) -> Option<Slot> {
        Word::slot(self)
    }
}

operations! {
    /// An open into a slot. On success, the slot's former descriptor is closed first.
    Open "open" { slot: Slot, at: Place, flags: OpenFlags, mode: Mode }
    Close "close" { slot: Slot }
    Mkdir "mkdir" { at: Place, mode: Mode }
    Mknod "mknod" { at: Place, kind: Kind, mode: Mode }
    Symlink "symlink" { body: Body, at: Place }
    Link "link" { from: Place, to: Place, flags: LinkFlags }
    Unlink "unlink" { at: Place }
    Rmdir "rmdir" { at: Place }
    Rename "rename" { from: Place, to: Place, flags: RenameFlags }
    Chmod "chmod" { at: Place, mode: Mode, flags: AtFlags }
    Chown "chown" { at: Place, uid: Owner, gid: Owner, flags: AtFlags }
    /// A truncation. The path starts at the working directory: `truncate(2)` takes no other.
    Truncate "truncate" { path: Text, size: u64 }
    Times "times" { at: Place, atime: SetTime, mtime: SetTime, flags: AtFlags }
    Stat "stat" { at: Place, flags: AtFlags }
    Statx "statx" { at: Place, flags: AtFlags, mask: StatxMask }
    Readlink "readlink" { at: Place, size: u64 }
    Access "access" { at: Place, want: Access, flags: AtFlags }
    Chdir "chdir" { path: Text }
    Chroot "chroot" { path: Text }
    Umask "umask" { mask: Mode }
    Statfs "statfs" { path: Text }
    Read "read" { slot: Slot, size: u64 }
    ReadAt "pread" { slot: Slot, size: u64, offset: u64 }
    /// A write of this byte, so many times.
    Write "write" { slot: Slot, byte: u8, size: u64 }
    WriteAt "pwrite" { slot: Slot, byte: u8, size: u64, offset: u64 }
    Seek "seek" { slot: Slot, whence: Whence, by: i64 }
    SetLen "ftruncate" { slot: Slot, size: u64 }
    /// A change of a file's space.
    Fallocate "fallocate" { slot: Slot, mode: FallocateFlags, offset: u64, length: u64 }
    SeekData "seekdata" { slot: Slot, offset: u64 }
    SeekHole "seekhole" { slot: Slot, offset: u64 }
    CopyRange "copyrange" { from: Slot, start: Offset, to: Slot, at: Offset, length: u64 }
    ReadWith "preadv2" { slot: Slot, size: u64, offset: Offset, flags: RwFlags }
    /// A write of this byte, so many times, with flags.
    WriteWith "pwritev2" { slot: Slot, byte: u8, size: u64, offset: Offset, flags: RwFlags }
    SyncFs "syncfs" { slot: Slot }
    /// A listing of the whole directory, from its beginning.
    List "list" { slot: Slot }
    /// The same with the attributes of each entry, in parts of so many entries.
    ListNodes "listnodes" { slot: Slot, most: u64 }
    Sync "fsync" { slot: Slot }
    /// A question for an extended attribute, with a buffer of this size; 0 asks for its length.
    GetXattr "getxattr" { at: Place, name: Body, size: u64, flags: AtFlags }
    SetXattr "setxattr" { at: Place, name: Body, value: Body, how: XattrFlags, flags: AtFlags }
    ListXattr "listxattr" { at: Place, flags: AtFlags }
    RemoveXattr "removexattr" { at: Place, name: Body, flags: AtFlags }
    /// A change of an ACL. A list without entries removes the ACL.
    SetAcl "setacl" { at: Place, list: List, flags: AtFlags }
    GetAcl "getacl" { at: Place, kind: AclKind, flags: AtFlags }
    /// A change of the flags that users set. Flags that are not named are cleared.
    SetFlags "chattr" { at: Place, set: InodeFlags, flags: AtFlags }
    GetFlags "lsattr" { at: Place, flags: AtFlags }
    /// An open with `RESOLVE_CACHED`, which is closed again.
    TryOpen "tryopen" { at: Place, flags: OpenFlags, mode: Mode }
    /// A read with `RWF_NOWAIT`.
    TryReadAt "trypread" { slot: Slot, size: u64, offset: u64 }
    /// A listing of the whole directory in parts of so many bytes. Between the parts a name is
    /// made, moved and removed.
    ListParts "listparts" { slot: Slot, size: u64, name: Body, to: Body }
    /// The creation of so many files in a directory, with names of so many bytes.
    Fill "fill" { at: Place, count: u64, length: u64 }
    /// The creation of so many directories in each other, with names of so many bytes.
    Dig "dig" { at: Place, count: u64, length: u64 }
    /// A change of the mount's flags. All processes begin anew at the root, and nothing is open.
    Mount "mount" { flags: MountFlags }
    /// An open as `open` does it, with rules for the path.
    OpenUnder "openunder" { slot: Slot, at: Place, flags: OpenFlags, mode: Mode, rules: Resolve }
    /// A mount of a fresh file system.
    Attach "attach" { at: Place, flags: MountFlags }
    /// A mount of a copy of a mount. With a map, the copy maps the ids of its owners.
    Bind "bind" { from: Place, to: Place, how: Recursion, ids: Ids }
    MoveMount "movemount" { from: Place, to: Place, flags: MoveFlags }
    /// An unmount. With `EXPIRE`: a use of the mount, and then up to two unmounts; if the first
    /// answer is `EAGAIN`, the second one is the answer.
    Unmount "umount" { path: Text, flags: UmountFlags }
    /// A remount. The path starts at the working directory: `mount(2)` takes no other.
    Remount "remount" { path: Text, flags: MountFlags }
    SetMount "setmount" { at: Place, set: MountFlags, clear: MountFlags, spread: Spread, how: Recursion }
    /// `std::fs::write`, of this byte, so many times. This and the following operations are
    /// functions of `std::fs` on one side, and their namesakes in a context on the other: see
    /// [`helpers`](crate::helpers).
    WriteFile "std_write" { path: Text, byte: u8, size: u64 }
    Copy "std_copy" { from: Text, to: Text }
    CreateDir "std_create_dir" { path: Text }
    CreateDirAll "std_create_dir_all" { path: Text }
    RemoveFile "std_remove_file" { path: Text }
    RemoveDir "std_remove_dir" { path: Text }
    RemoveDirAll "std_remove_dir_all" { path: Text }
    RenameFile "std_rename" { from: Text, to: Text }
    HardLink "std_hard_link" { from: Text, to: Text }
    SetPermissions "std_set_permissions" { path: Text, mode: Mode }
    /// An open into a slot by `std::fs::OpenOptions`.
    OpenWith "std_open" { slot: Slot, path: Text, options: Options, mode: Mode }
}

impl Op {
    /// Returns whether the operation changes the tree of mounts.
    pub(crate) fn changes_mounts(&self) -> bool {
        self.adds_mounts() || matches!(self, Op::Unmount { .. } | Op::Remount { .. } | Op::SetMount { .. })
    }

    /// Returns whether the operation stands for a function of `std::fs`.
    pub(crate) fn is_helper(&self) -> bool {
        self.verb().starts_with("std_")
    }

    /// Returns whether there may be more mounts after the operation.
    pub(crate) fn adds_mounts(&self) -> bool {
        matches!(self, Op::Attach { .. } | Op::Bind { .. } | Op::MoveMount { .. })
    }

    /// Returns whether the operation is one on extended attributes.
    pub(crate) fn is_on_xattrs(&self) -> bool {
        self.verb().ends_with("xattr")
    }

    /// Returns whether the operation is on the space of an open file, or has flags of its own.
    pub(crate) fn is_of_space(&self) -> bool {
        let is_on_one = matches!(self, Op::Fallocate { .. } | Op::SeekData { .. } | Op::SeekHole { .. } | Op::SyncFs { .. });
        is_on_one || matches!(self, Op::CopyRange { .. } | Op::ReadWith { .. } | Op::WriteWith { .. })
    }

    /// Returns the descriptor that the operation writes through.
    pub(crate) fn written(&self) -> Option<Slot> {
        match self {
            Op::Write { slot, .. } | Op::WriteAt { slot, .. } | Op::SetLen { slot, .. } => Some(*slot),
            Op::Fallocate { slot, .. } | Op::WriteWith { slot, .. } | Op::CopyRange { to: slot, .. } => Some(*slot),
            _ => None,
        }
    }

    /// Returns whether the operation can be compared when this actor does it. `opener` returns the
    /// actor that has opened a descriptor.
    ///
    /// Descriptors must be open. `linkat` with `AT_EMPTY_PATH` is allowed to the opener of the
    /// descriptor while it has the very credentials that it had then. The kernel compares their
    /// address; a handle has none.
    pub(crate) fn counts(&self, actor: Actor, opener: impl Fn(Slot) -> Option<Actor>) -> bool {
        let is_own = |slot: Slot| opener(slot) == Some(actor);
        let allowed = match self {
            Op::Link { from: Place { at: Some(slot), .. }, flags, .. } if flags.contains(LinkFlags::EMPTY_PATH) => {
                !is_own(*slot) || actor.has(Capabilities::DAC_READ_SEARCH)
            }
            // What is left after a refusal is removed as root.
            Op::RemoveDirAll { .. } => actor.may_look_as_root(),
            _ => true,
        };
        allowed && self.slots().into_iter().all(|slot| opener(slot).is_some())
    }
}
