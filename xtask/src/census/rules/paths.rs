//! The rules of how a path is copied in and walked: sections 1 and 2.

use pathwalk::limits::NAME_MAX;
use pathwalk::{AtFlags, Errno, FileType};

use super::{Rule, at_flags, drawn, elsewhere, is_dots};
use crate::census::met::{Met, components};
use crate::outcome::Node;

/// The length of the longest path, in bytes.
const PATH_LONGEST: usize = 4095;

fn has_name_of(met: &Met<'_>, length: usize) -> bool {
    components(met.path()).any(|name| name.len() == length)
}

/// Returns whether a short component is followed by one that is too long.
fn too_long_behind_another(met: &Met<'_>) -> bool {
    components(met.path()).collect::<Vec<_>>().windows(2).any(|two| two[0].len() < 9 && two[1].len() > NAME_MAX)
}

pub(super) const RULES: &[Rule] = &[
    drawn("1", "a path of 4095 bytes is walked", |m| m.path().len() == PATH_LONGEST && !m.fails(Errno::ENAMETOOLONG)),
    drawn("1", "a longer one is ENAMETOOLONG", |m| m.path().len() > PATH_LONGEST && m.fails(Errno::ENAMETOOLONG)),
    drawn("1", "an empty path is ENOENT", |m| !m.places.is_empty() && m.path().is_empty() && m.fails(Errno::ENOENT)),
    drawn("1", "an empty path is its start with EMPTY_PATH", |m| {
        m.path().is_empty() && at_flags(m).contains(AtFlags::EMPTY_PATH) && m.succeeds()
    }),
    drawn("1", "an absolute path ignores its start", |m| {
        m.path().first() == Some(&b'/') && m.succeeds() && m.start().is_some_and(|start| start.kind != FileType::Directory)
    }),
    drawn("1", "a start that is no directory is ENOTDIR", |m| {
        m.path().first().is_some_and(|byte| *byte != b'/')
            && m.fails(Errno::ENOTDIR)
            && m.start().is_some_and(|start| start.kind != FileType::Directory)
    }),
    drawn("1", "even for `.`", |m| m.path() == b"." && m.fails(Errno::ENOTDIR)),
    elsewhere("1", "a NUL in a path is EINVAL", "no system call takes one; pathwalk/tests/walk.rs"),
    elsewhere("1", "a bad start is EBADF", "a handle is never bad"),
    drawn("2", "no search permission is EACCES", |m| components(m.path()).count() > 1 && m.fails(Errno::EACCES)),
    drawn("2", "`.` needs search permission", |m| {
        m.last() == b"." && m.fails(Errno::EACCES) && m.is(&["stat", "statx", "access", "statfs"])
    }),
    drawn("2", "a removed start is ENOENT", |m| {
        m.path().first().is_some_and(|byte| *byte != b'/')
            && m.fails(Errno::ENOENT)
            && m.start().is_some_and(|start| start.kind == FileType::Directory && start.nlink == 0)
    }),
    drawn("2", "nothing is made in a removed working directory", |m| {
        m.is(&["mkdir"]) && m.places[0].0.is_none() && !m.path().is_empty() && !m.path().contains(&b'/') && m.fails(Errno::ENOENT)
    }),
    drawn("2", "a name of 255 bytes is one", |m| has_name_of(m, NAME_MAX) && m.succeeds()),
    drawn("2", "a longer one is ENAMETOOLONG", |m| has_name_of(m, NAME_MAX + 1) && m.fails(Errno::ENAMETOOLONG)),
    drawn("2", "behind a name that is absent it is ENOENT", |m| too_long_behind_another(m) && m.fails(Errno::ENOENT)),
    drawn("2", "behind a file it is ENOTDIR", |m| too_long_behind_another(m) && m.fails(Errno::ENOTDIR)),
    drawn("2", "a negative entry is ENOENT", |m| m.path().len() < 9 && m.fails(Errno::ENOENT)),
    drawn("2", "a file on the way is ENOTDIR", |m| components(m.path()).count() > 1 && m.fails(Errno::ENOTDIR)),
    drawn("2", "runs of slashes collapse", |m| {
        m.path().windows(3).any(|three| three.starts_with(b"//") && three[2] != b'/') && m.succeeds()
    }),
    drawn("2", "`f/` is ENOTDIR", |m| m.ends_with_slash() && m.was_a(m.path(), FileType::Regular) && m.fails(Errno::ENOTDIR)),
    drawn("2", "`f/.` and `f/..` are ENOTDIR", |m| is_dots(m.last()) && m.fails(Errno::ENOTDIR)),
    drawn("2", "`nope/..` is ENOENT", |m| m.last() == b".." && components(m.path()).count() > 1 && m.fails(Errno::ENOENT)),
    drawn("2", "`..` at the root stays there", |m| {
        m.path().starts_with(b"/..") && !m.path().starts_with(b"/...") && m.succeeds()
    }),
    drawn("2", "a slash at the end follows a link", |m| {
        m.is(&["stat"])
            && at_flags(m).contains(AtFlags::SYMLINK_NOFOLLOW)
            && m.ends_with_slash()
            && m.was_a(m.path(), FileType::Symlink)
            && m.succeeds()
    }),
    drawn("2", "mounts are crossed", |m| {
        m.succeeds() && m.named().zip(m.directory()).is_some_and(|(node, dir)| node.file_system() != dir.file_system())
    }),
    drawn("2", "`..` at the root of a mount leads to where that is mounted", |m| {
        let crosses = |(to, from): (&Node, &Node)| to.file_system() != from.file_system();
        m.last() == b".." && m.succeeds() && m.named().zip(m.directory()).is_some_and(crosses)
    }),
];
