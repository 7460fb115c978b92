//! The operations on mounts that no interpreter carries out, because their results cannot be
//! compared.
//!
//! Both sides leave out the same: operations that change the kernel's file system and not only its
//! mounts, operations that differ by design, those that would make too many mounts, and id maps
//! where no user namespace can be created.

use pathwalk::UmountFlags;

use crate::id_maps;
use crate::op::Op;
use crate::words::Ids;

/// The number of mounts from which on no more are made.
const ENOUGH: u64 = 40;

/// An actor's view of the mounts, as an interpreter provides it.
pub(crate) trait Sight {
    /// Returns the number of mounts that the actor sees.
    fn mounts(&self) -> u64;
    /// Returns whether the actor has changed its root.
    fn is_elsewhere(&self) -> bool;
    /// Returns whether a path leads to the mount of the actor's root.
    fn is_at_root(&self, path: &[u8]) -> bool;
}

/// Returns whether the operation is carried out.
///
/// The expiry mark of a mount that lies below another one cannot be cleared. So the paths of such
/// mounts are only unmounted without `EXPIRE`, or detached.
pub(crate) fn counts(op: &Op, sight: &impl Sight) -> bool {
    match op {
        Op::Unmount { flags, .. } if !flags.contains(UmountFlags::EXPIRE) => true,
        Op::Unmount { path, .. } => !sight.is_elsewhere() && !ends_in_dots(&path.0) && !sight.is_at_root(&path.0),
        Op::Bind { ids: Ids(Some(_)), .. } if id_maps::namespaces().is_err() => false,
        op if op.adds_mounts() => sight.mounts() < ENOUGH,
        _ => true,
    }
}

/// Returns whether the last component is `.` or `..`, or there is none.
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
