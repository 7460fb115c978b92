//! What interpreters of operations on mounts have in common: what is not compared.
//!
//! Both sides leave out the same: what would change the kernel's file system and not only its
//! mounts, what is not the same on both sides by design, what would make too many mounts, and maps
//! of ids where no namespace of users can be made.

use pathwalk::UmountFlags;

use crate::id_maps;
use crate::op::Op;
use crate::words::Ids;

/// How many mounts there may be before no more are made.
const ENOUGH: u64 = 40;

/// What an interpreter tells of the actor.
pub(crate) trait Sight {
    /// Returns how many mounts the actor sees.
    fn mounts(&self) -> u64;
    /// Tells whether the actor has changed its root.
    fn is_elsewhere(&self) -> bool;
    /// Tells whether a path leads to the mount of the actor's root.
    fn is_at_root(&self, path: &[u8]) -> bool;
}

/// Tells whether the operation is carried out.
///
/// The mark of a mount that is to expire cannot be cleared from below another one. So such paths are
/// only unmounted, or detached.
pub(crate) fn counts(op: &Op, sight: &impl Sight) -> bool {
    match op {
        Op::Unmount { flags, .. } if !flags.contains(UmountFlags::EXPIRE) => true,
        Op::Unmount { path, .. } => !sight.is_elsewhere() && !ends_in_dots(&path.0) && !sight.is_at_root(&path.0),
        Op::Bind { ids: Ids(Some(_)), .. } if id_maps::namespaces().is_err() => false,
        op if op.adds_mounts() => sight.mounts() < ENOUGH,
        _ => true,
    }
}

/// Tells whether the last component is `.` or `..`, or there is none.
fn ends_in_dots(path: &[u8]) -> bool {
    let last = path.split(|byte| *byte == b'/').rfind(|part| !part.is_empty());
    last.is_none_or(|last| matches!(last, b"." | b".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_at_the_end_are_seen() {
        for path in [&b""[..], b"/", b".", b"a/..", b"a/.//"] {
            assert!(ends_in_dots(path), "{}", path.escape_ascii());
        }
        for path in [&b"a"[..], b"../a/", b"/...", b"a/.b"] {
            assert!(!ends_in_dots(path), "{}", path.escape_ascii());
        }
    }
}
