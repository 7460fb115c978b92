//! What is mounted in a directory, as the subject: the same system calls as the oracle's, on
//! another file system.
//!
//! It is not made anew for each program. So programs do without mounts, times of accesses and
//! limits of space, which are settings of the file system. What the kernel's FUSE itself answers in
//! its own way, whatever its server says, is left out here, each with its reason.

use pathwalk::permission::AclKind;
use pathwalk::{AtFlags, Capabilities, Errno, InodeFlags, RwFlags};

use crate::base::without_what_tmpfs_lacks;
use crate::cast::Actor;
use crate::op::Op;
use crate::outcome::{Answer, Transcript};
use crate::program::{Program, Settings, Step};
use crate::times::Time;
use crate::words::{Kind, Owner};

/// Returns the program without what cannot be compared.
pub(crate) fn adapted(mut program: Program) -> Program {
    // Links are refused by the mode that the kernel remembers, which a write does not change: the
    // server takes suid and sgid bits, and is asked for the mode only when that is needed.
    program.settings -= Settings::FEW_NODES | Settings::FEW_PAGES | Settings::PROTECT_HARDLINKS;
    program.steps.retain(|Step { actor, op }| !is_hidden(*actor, op));
    // A change of data takes the capability by a request that an immutable file refuses.
    if program.steps.iter().any(|step| locks(&step.op)) {
        program.steps.retain(|step| !sets_capability(&step.op));
    }
    for Step { op, .. } in &mut program.steps {
        without_what_tmpfs_lacks(op);
        // What is copied may fill one side, and not the other.
        if let Op::CopyRange { length, .. } = op {
            *length = (*length).min(1 << 20);
        }
        // The kernel keeps no time of birth, and is not to ask for it.
        if let Op::Stat { flags, .. } | Op::Statx { flags, .. } = op {
            *flags -= AtFlags::DONT_SYNC;
        }
    }
    program
}

/// Returns whether the server is not told what the result depends on: whether the caller has the
/// capability to take suid and sgid bits or to leave them, or that a write is not to append.
fn is_hidden(actor: Actor, op: &Op) -> bool {
    let is_none = |owner: Owner| owner.0.is_none_or(|id| id == u32::MAX);
    let keeps_bits = actor.has(Capabilities::FSETID);
    match op {
        Op::Chown { uid, gid, .. } if actor.has(Capabilities::FOWNER) => actor.uid() != 0 && is_none(*uid) && is_none(*gid),
        Op::Chown { uid, gid, .. } => actor.has(Capabilities::CHOWN) || is_none(*uid) && is_none(*gid),
        Op::Fallocate { .. } | Op::CopyRange { .. } => (actor.uid() == 0) != keeps_bits,
        // A request to write has no flag for it.
        Op::WriteWith { flags, .. } => flags.contains(RwFlags::NOAPPEND),
        // The removal of a list has no flag for it.
        Op::SetAcl { .. } | Op::RemoveXattr { .. } => !keeps_bits,
        _ => false,
    }
}

/// Returns whether a file is to have a capability. The kernel takes it at a change of data by the
/// request that it sends for `chown(-1, -1)`, which takes suid and sgid bits too.
fn sets_capability(op: &Op) -> bool {
    matches!(op, Op::SetXattr { name, .. } if name.0 == b"security.capability")
}

/// Returns whether a node is to become immutable or append-only.
fn locks(op: &Op) -> bool {
    matches!(op, Op::SetFlags { set, .. } if set.intersects(InodeFlags::APPEND | InodeFlags::IMMUTABLE))
}

/// Returns whether a default list is to change. For what is no directory, the kernel answers by
/// itself, since it has no flags of inodes of FUSE.
fn sets_default_list(op: &Op) -> bool {
    match op {
        Op::SetXattr { name, .. } | Op::RemoveXattr { name, .. } => name.0 == b"system.posix_acl_default",
        Op::SetAcl { list, .. } => list.kind == AclKind::Default,
        _ => false,
    }
}

/// Returns the transcript of a side without what cannot be compared.
pub(crate) fn comparable(program: &Program, mut transcript: Transcript) -> Transcript {
    let has_locked = program.steps.iter().any(|step| locks(&step.op));
    // The kernel does not write the times of a pipe of FUSE that is written.
    let sets_times = program.steps.iter().any(|step| matches!(step.op, Op::Times { .. }));
    let mut has_other_times = program.steps.iter().any(|step| matches!(step.op, Op::Mknod { kind: Kind::Fifo, .. }));
    for (step, outcome) in program.steps.iter().zip(&mut transcript.outcomes) {
        match (&step.op, &mut outcome.answer) {
            // In a directory, where positions are the file system's own.
            (Op::SeekData { .. } | Op::SeekHole { .. }, answer @ Answer::Failed(Errno::EINVAL)) => *answer = Answer::Again,
            // The request is that of an open with `O_TRUNC`, which writes the times.
            (Op::Truncate { .. }, Answer::Node(_)) => has_other_times = true,
            // The kernel does not ask about these, or not if nothing is copied.
            (Op::Access { .. } | Op::CopyRange { .. }, answer @ Answer::Failed(Errno::EPERM)) if has_locked => {
                *answer = Answer::Again;
            }
            (op, answer @ Answer::Failed(Errno::EPERM)) if has_locked && sets_default_list(op) => *answer = Answer::Again,
            // It asks about the flags of a special file, too.
            (Op::SetFlags { .. }, Answer::Failed(errno @ Errno::EOPNOTSUPP)) => *errno = Errno::EPERM,
            // The kernel has no flags of inodes of FUSE, so it finds another reason first.
            (_, Answer::Failed(errno)) if has_locked => *errno = Errno::EPERM,
            _ => {}
        }
    }
    if program.steps.iter().any(|step| sets_capability(&step.op)) {
        transcript.nodes_mut(|node| node.mode &= !0o6000);
    }
    if has_other_times && sets_times {
        // A time that was set is written over on one side only.
        transcript.nodes_mut(|node| node.mtime = Time::Step(None));
    }
    if has_other_times {
        transcript.nodes_mut(|node| [&mut node.mtime, &mut node.ctime].into_iter().for_each(Time::forget_step));
    }
    transcript
}
