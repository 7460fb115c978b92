//! The rules of the last component and of where a walk may lead: sections 4 and 5.

use pathwalk::{Errno, FileType, MountFlags, OpenFlags, RenameFlags, Resolve};

use super::{Rule, drawn, elsewhere, is_dots, open_flags, rules};
use crate::census::met::{Met, last};
use crate::op::Op;
use crate::outcome::Answer;

fn creates(met: &Met<'_>) -> bool {
    open_flags(met).contains(OpenFlags::CREATE)
}

fn rename_flags(met: &Met<'_>) -> RenameFlags {
    if let Op::Rename { flags, .. } = met.op() { *flags } else { RenameFlags::empty() }
}

/// Returns whether the step is a remount that makes a file system read-only, or writable.
fn remounts(met: &Met<'_>, read_only: bool) -> bool {
    matches!(met.op(), Op::Remount { flags, .. } if flags.contains(MountFlags::READ_ONLY) == read_only)
}

fn names_dots(met: &Met<'_>) -> bool {
    met.is(&["rename"]) && (is_dots(last(met.path())) || is_dots(last(met.other())))
}

pub(super) const RULES: &[Rule] = &[
    drawn("4", "open with CREATE of `x/` is EISDIR", |m| creates(m) && m.ends_with_slash() && m.fails(Errno::EISDIR)),
    drawn("4", "open with CREATE of `.` is EISDIR", |m| creates(m) && m.last() == b"." && m.fails(Errno::EISDIR)),
    drawn("4", "open with EXCLUSIVE of a link is EEXIST", |m| {
        open_flags(m).contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE) && m.names_a(FileType::Symlink) && m.fails(Errno::EEXIST)
    }),
    drawn("4", "open with EXCLUSIVE of `/` is EEXIST", |m| {
        open_flags(m).contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE)
            && !m.path().is_empty()
            && m.last().is_empty()
            && m.fails(Errno::EEXIST)
    }),
    drawn("4", "open with CREATE and DIRECTORY is EINVAL", |m| {
        open_flags(m).contains(OpenFlags::CREATE | OpenFlags::DIRECTORY) && m.fails(Errno::EINVAL)
    }),
    drawn("4", "open with CREATE of a dangling link makes its target", |m| {
        creates(m) && m.was_a(m.path(), FileType::Symlink) && m.succeeds() && m.grown_by() == Some(1)
    }),
    drawn("4", "open with NOFOLLOW of a link is ELOOP", |m| {
        open_flags(m).contains(OpenFlags::NOFOLLOW) && m.names_a(FileType::Symlink) && m.fails(Errno::ELOOP)
    }),
    drawn("4", "with DIRECTORY it is ENOTDIR", |m| {
        open_flags(m).contains(OpenFlags::NOFOLLOW | OpenFlags::DIRECTORY)
            && m.names_a(FileType::Symlink)
            && m.fails(Errno::ENOTDIR)
    }),
    drawn("4", "with PATH it succeeds", |m| {
        open_flags(m).contains(OpenFlags::NOFOLLOW | OpenFlags::PATH)
            && matches!(&m.outcome.answer, Answer::Node(node) if node.kind == FileType::Symlink)
    }),
    drawn("4", "mkdir of `n/` succeeds", |m| m.is(&["mkdir"]) && m.ends_with_slash() && m.succeeds()),
    drawn("4", "mkdir of `dangling/` is EEXIST", |m| {
        m.is(&["mkdir"]) && m.ends_with_slash() && m.was_a(m.path(), FileType::Symlink) && m.fails(Errno::EEXIST)
    }),
    drawn("4", "mkdir of `.` and `d/..` is EEXIST", |m| m.is(&["mkdir"]) && is_dots(m.last()) && m.fails(Errno::EEXIST)),
    drawn("4", "mknod at `new/` is ENOENT", |m| m.is(&["mknod"]) && m.ends_with_slash() && m.fails(Errno::ENOENT)),
    drawn("4", "symlink at `new/` is ENOENT", |m| m.is(&["symlink"]) && m.ends_with_slash() && m.fails(Errno::ENOENT)),
    drawn("4", "unlink of `d/` is EISDIR", |m| m.is(&["unlink"]) && m.ends_with_slash() && m.fails(Errno::EISDIR)),
    drawn("4", "unlink of `.` is EISDIR", |m| m.is(&["unlink"]) && m.last() == b"." && m.fails(Errno::EISDIR)),
    drawn("4", "unlink of `f/` or `link/` is ENOTDIR", |m| m.is(&["unlink"]) && m.ends_with_slash() && m.fails(Errno::ENOTDIR)),
    drawn("4", "unlink of `nope/` is ENOENT", |m| m.is(&["unlink"]) && m.ends_with_slash() && m.fails(Errno::ENOENT)),
    drawn("4", "rmdir of `d/.` is EINVAL", |m| m.is(&["rmdir"]) && m.last() == b"." && m.fails(Errno::EINVAL)),
    drawn("4", "rmdir of `d/..` is ENOTEMPTY", |m| m.is(&["rmdir"]) && m.last() == b".." && m.fails(Errno::ENOTEMPTY)),
    drawn("4", "rmdir of `/` is EBUSY", |m| m.is(&["rmdir"]) && m.fails(Errno::EBUSY)),
    drawn("4", "rmdir of a link is ENOTDIR", |m| m.is(&["rmdir"]) && m.names_a(FileType::Symlink) && m.fails(Errno::ENOTDIR)),
    drawn("4", "rename from or to `.` or `..` is EBUSY", |m| names_dots(m) && m.fails(Errno::EBUSY)),
    drawn("4", "as a target with NOREPLACE it is EEXIST", |m| {
        names_dots(m) && is_dots(last(m.other())) && rename_flags(m).contains(RenameFlags::NOREPLACE) && m.fails(Errno::EEXIST)
    }),
    drawn("4", "rename of a directory into its child is EINVAL", |m| {
        m.is(&["rename"])
            && !rename_flags(m).contains(RenameFlags::NOREPLACE | RenameFlags::EXCHANGE)
            && m.names_a(FileType::Directory)
            && m.fails(Errno::EINVAL)
    }),
    drawn("4", "rename over its own parent is ENOTEMPTY", |m| {
        m.is(&["rename"]) && m.other().len() > 1 && m.path().starts_with(m.other()) && m.fails(Errno::ENOTEMPTY)
    }),
    drawn("4", "rename of a file with a slash is ENOTDIR", |m| {
        m.is(&["rename"]) && m.ends_with_slash() && m.fails(Errno::ENOTDIR)
    }),
    drawn("4", "rename of a file to a name with a slash is ENOTDIR", |m| {
        m.is(&["rename"]) && m.other().ends_with(b"/") && m.names_a(FileType::Regular) && m.fails(Errno::ENOTDIR)
    }),
    drawn("4", "rename with EXCHANGE succeeds", |m| rename_flags(m) == RenameFlags::EXCHANGE && m.succeeds()),
    drawn("4", "link and rename across mounts are EXDEV", |m| m.is(&["link", "rename"]) && m.fails(Errno::EXDEV)),
    drawn("4", "what is mounted on is not removed: EBUSY", |m| {
        m.is(&["rmdir", "unlink"]) && m.last() != b"" && m.fails(Errno::EBUSY)
    }),
    drawn("4", "a read-only mount: what is there is opened", |m| {
        m.mount.contains(MountFlags::READ_ONLY) && creates(m) && m.succeeds()
    }),
    drawn("4", "a read-only mount: what is missing is EROFS", |m| {
        m.mount.contains(MountFlags::READ_ONLY) && creates(m) && m.named().is_none() && m.fails(Errno::EROFS)
    }),
    drawn("4", "a read-only mount: EXCLUSIVE of what is there is EEXIST", |m| {
        m.mount.contains(MountFlags::READ_ONLY)
            && open_flags(m).contains(OpenFlags::CREATE | OpenFlags::EXCLUSIVE)
            && m.fails(Errno::EEXIST)
    }),
    drawn("4", "a remount makes a file system read-only", |m| remounts(m, true) && m.succeeds()),
    drawn("4", "a remount makes one writable again", |m| remounts(m, false) && m.succeeds()),
    drawn("4", "a remount is not read-only while something is open to be written to, or removed: EBUSY", |m| {
        remounts(m, true) && m.fails(Errno::EBUSY)
    }),
    drawn("4", "a remount of what is no root of a mount is EINVAL", |m| m.is(&["remount"]) && m.fails(Errno::EINVAL)),
    drawn("4", "a remount takes a capability: EPERM", |m| m.is(&["remount"]) && m.fails(Errno::EPERM)),
    elsewhere("5", "CACHED", "pathwalk/tests/cached.rs, and the kernel table asks the caches alone"),
    drawn("5", "BENEATH refuses what leads out: EXDEV", |m| rules(m) == Resolve::BENEATH && m.fails(Errno::EXDEV)),
    drawn("5", "IN_ROOT begins absolute paths at the start", |m| {
        rules(m) == Resolve::IN_ROOT && m.path().starts_with(b"/") && m.places[0].0.is_some() && m.succeeds()
    }),
    drawn("5", "NO_XDEV refuses to cross mounts: EXDEV", |m| rules(m) == Resolve::NO_XDEV && m.fails(Errno::EXDEV)),
    drawn("5", "NO_SYMLINKS refuses links: ELOOP", |m| rules(m) == Resolve::NO_SYMLINKS && m.fails(Errno::ELOOP)),
    drawn("5", "NO_MAGICLINKS follows links", |m| rules(m) == Resolve::NO_MAGICLINKS && m.succeeds()),
];
