//! What is mounted in a directory, as the subject: the same system calls as the oracle's, on another
//! file system.
//!
//! It is not made anew for each program. So programs do without mounts, times of accesses and
//! limits of space, which are settings of the file system. What the kernel's FUSE itself answers in
//! its own way, whatever its server says, is left out here, each with its reason.

use pathwalk::{AtFlags, Capabilities, Errno, InodeFlags};

use crate::base::without_what_tmpfs_lacks;
use crate::cast::Actor;
use crate::op::Op;
use crate::outcome::{Answer, Transcript};
use crate::program::{Program, Settings, Step};
use crate::times::Time;
use crate::words::Owner;

/// Returns the program without what cannot be compared.
pub(crate) fn adapted(mut program: Program) -> Program {
    program.settings -= Settings::FEW_NODES | Settings::FEW_PAGES;
    program.steps.retain(|Step { actor, op }| !is_hidden(*actor, op));
    for Step { op, .. } in &mut program.steps {
        without_what_tmpfs_lacks(op);
        // The kernel keeps no time of birth, and is not to ask for it.
        if let Op::Stat { flags, .. } | Op::Statx { flags, .. } = op {
            *flags -= AtFlags::DONT_SYNC;
        }
    }
    program
}

/// Returns whether the server is not told what the answer depends on: whether the caller of a
/// `chown` has the capability to take the suid and sgid bits that go with it.
fn is_hidden(actor: Actor, op: &Op) -> bool {
    let is_none = |owner: Owner| owner.0.is_none_or(|id| id == u32::MAX);
    let Op::Chown { uid, gid, .. } = op else { return false };
    match actor.has(Capabilities::FOWNER) {
        true => actor.uid() != 0 && is_none(*uid) && is_none(*gid),
        false => actor.has(Capabilities::CHOWN) || is_none(*uid) && is_none(*gid),
    }
}

/// Returns the transcript of a side without what cannot be compared.
pub(crate) fn comparable(program: &Program, mut transcript: Transcript) -> Transcript {
    let locks = |op: &Op| matches!(op, Op::SetFlags { set, .. } if set.intersects(InodeFlags::APPEND | InodeFlags::IMMUTABLE));
    let has_locked = program.steps.iter().any(|step| locks(&step.op));
    let mut kept_size = false;
    for (step, outcome) in program.steps.iter().zip(&mut transcript.outcomes) {
        match (&step.op, &mut outcome.answer) {
            // In a directory, where positions are the file system's own.
            (Op::SeekData { .. } | Op::SeekHole { .. }, answer @ Answer::Failed(Errno::EINVAL)) => *answer = Answer::Again,
            (Op::Truncate { .. }, Answer::Node(_)) => kept_size = true,
            // The kernel has no flags of inodes of FUSE. It finds first that the caller has no
            // right, or that the node is of the wrong type.
            (_, Answer::Failed(errno)) if has_locked && REFUSALS.contains(errno) => *errno = Errno::EPERM,
            _ => {}
        }
    }
    if kept_size {
        // The request is that of an open with `O_TRUNC`, which writes the times.
        transcript.nodes_mut(|node| [&mut node.mtime, &mut node.ctime].into_iter().for_each(Time::forget_step));
    }
    transcript
}

/// The errors of which one comes first by the order of checks.
const REFUSALS: [Errno; 5] = [Errno::EPERM, Errno::EACCES, Errno::ENOTDIR, Errno::EISDIR, Errno::ENOTEMPTY];
