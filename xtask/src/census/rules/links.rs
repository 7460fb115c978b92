//! The rules of symbolic links: section 3.

use pathwalk::limits::LINK_MAX;
use pathwalk::{AtFlags, Errno, FileType, MountFlags, OpenFlags};

use super::{Rule, at_flags, drawn, elsewhere, open_flags};
use crate::census::met::{Met, last};
use crate::op::Op;
use crate::outcome::Answer;
use crate::program::Settings;

/// Returns whether the first path passes through a link to a further component.
fn passes_link(met: &Met<'_>) -> bool {
    let path = met.path();
    let ends = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
    ends.into_iter().any(|end| met.was_a(&path[..end], FileType::Symlink) && !last(&path[end..]).is_empty())
}

pub(super) const RULES: &[Rule] = &[
    drawn("3", "a link in the middle is followed", |m| passes_link(m) && m.succeeds()),
    drawn("3", "the last one is followed", |m| {
        m.is(&["stat"]) && at_flags(m).is_empty() && m.was_a(m.path(), FileType::Symlink) && m.succeeds()
    }),
    drawn("3", "unless it is not asked for", |m| {
        at_flags(m) == AtFlags::SYMLINK_NOFOLLOW && m.is(&["stat"]) && m.was_a(m.path(), FileType::Symlink) && m.succeeds()
    }),
    drawn("3", "40 links pass", |m| {
        m.last() == b"l39"
            && m.is(&["stat", "access", "open"])
            && !at_flags(m).contains(AtFlags::SYMLINK_NOFOLLOW)
            && m.names_a(FileType::Symlink)
            && m.succeeds()
            && !open_flags(m).contains(OpenFlags::NOFOLLOW)
    }),
    drawn("3", "the 41st is ELOOP", |m| m.last() == b"l40" && m.fails(Errno::ELOOP)),
    drawn("3", "a circle of links is ELOOP", |m| {
        m.last().len() == 1 && m.fails(Errno::ELOOP) && !m.mount.contains(MountFlags::NOSYMFOLLOW)
    }),
    drawn("3", "protected_symlinks is EACCES", |m| {
        m.settings.contains(Settings::PROTECT_SYMLINKS)
            && m.fails(Errno::EACCES)
            && m.names_a(FileType::Symlink)
            && m.directory().is_some_and(|dir| dir.mode & 0o1002 == 0o1002)
    }),
    drawn("3", "protected_hardlinks is EPERM", |m| {
        m.settings.contains(Settings::PROTECT_HARDLINKS)
            && m.is(&["link"])
            && m.fails(Errno::EPERM)
            && m.named().is_some_and(|node| node.kind != FileType::Directory)
    }),
    drawn("3", "a nosymfollow mount is ELOOP", |m| m.mount.contains(MountFlags::NOSYMFOLLOW) && m.fails(Errno::ELOOP)),
    drawn("3", "a nosymfollow mount lets links be read", |m| {
        m.mount.contains(MountFlags::NOSYMFOLLOW) && m.is(&["readlink"]) && m.succeeds()
    }),
    elsewhere("3", "an access time is due", "reading moves no time"),
    drawn("3", "a body is too long", |m| {
        matches!(m.op(), Op::Symlink { body, .. } if body.0.len() > LINK_MAX) && m.fails(Errno::ENAMETOOLONG)
    }),
    drawn("3", "a body is empty", |m| matches!(m.op(), Op::Symlink { body, .. } if body.0.is_empty()) && m.fails(Errno::ENOENT)),
    drawn("3", "readlink into nothing is EINVAL", |m| matches!(m.op(), Op::Readlink { size: 0, .. }) && m.fails(Errno::EINVAL)),
    drawn("3", "readlink cuts off", |m| {
        matches!((m.op(), &m.outcome.answer), (Op::Readlink { size, .. }, Answer::Bytes(body)) if body.len() as u64 == *size)
            && m.named().is_some_and(|node| matches!(&m.outcome.answer, Answer::Bytes(body) if node.size > body.len() as u64))
    }),
    drawn("3", "readlink of no link is EINVAL", |m| matches!(m.op(), Op::Readlink { size: 1.., .. }) && m.fails(Errno::EINVAL)),
    drawn("3", "readlink of a descriptor on no link is ENOENT", |m| {
        m.is(&["readlink"]) && m.path().is_empty() && m.fails(Errno::ENOENT) && m.start().is_some()
    }),
    drawn("3", "readlink of `link_to_file/` is ENOTDIR", |m| {
        m.is(&["readlink"]) && m.ends_with_slash() && m.was_a(m.path(), FileType::Symlink) && m.fails(Errno::ENOTDIR)
    }),
];
