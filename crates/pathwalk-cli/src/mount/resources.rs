//! Descriptors and memory of a program that serves a mount.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allows this process as many descriptors as it may have: each program on the mount opens files
/// here.
pub(crate) fn allow_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // With fewer, opens fail with `EMFILE` sooner.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
}

/// Has all threads allocate from one arena. Otherwise each arena keeps what its threads have freed,
/// which adds up to more than what is in use.
#[allow(unsafe_code)]
pub(crate) fn bound_arenas() {
    // SAFETY: the call sets a number that later allocations read. It is made while this is the only
    // thread that has allocated much, and has no pointers.
    #[cfg(target_env = "gnu")]
    let _ = unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}
