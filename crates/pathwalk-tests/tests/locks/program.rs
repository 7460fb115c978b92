//! Programs: calls of a few processes on a few files, drawn so that they often conflict.

use fastrand::Rng;
use pathwalk::LockKind;

/// The greatest number of processes of a program, of files, and of descriptors of a process.
pub(crate) const PROCESSES: usize = 4;
pub(crate) const FILES: usize = 3;
pub(crate) const SLOTS: usize = 3;

/// The owner of locks on ranges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Family {
    /// The process: `F_SETLK`.
    Process,
    /// The open file: `F_OFD_SETLK`.
    File,
}

/// Whether a request waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    Not,
    Waits,
}

/// The rights with which a file is opened: `O_RDONLY`, `O_WRONLY`, `O_RDWR`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    Read,
    Write,
    Both,
}

/// A call. A slot is one of the process's descriptors.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Call {
    /// Closes what the slot has, and opens a file there. It may wait for holders of leases.
    Open {
        slot: usize,
        file: usize,
        access: Access,
        wait: Wait,
    },
    Close {
        slot: usize,
    },
    /// Closes a duplicate of the descriptor.
    CloseDuplicate {
        slot: usize,
    },
    Set {
        slot: usize,
        family: Family,
        kind: LockKind,
        start: i64,
        len: i64,
        wait: Wait,
    },
    Get {
        slot: usize,
        family: Family,
        kind: LockKind,
        start: i64,
        len: i64,
    },
    Flock {
        slot: usize,
        kind: LockKind,
        wait: Wait,
    },
    /// Truncates a file by its path. It may wait for holders of leases.
    Truncate {
        file: usize,
    },
    /// Leases a file, or ends its lease.
    Lease {
        slot: usize,
        kind: LockKind,
    },
    GetLease {
        slot: usize,
    },
    /// Lets the time pass that holders of leases have. No call of a process.
    Expire,
    /// Interrupts the call in which the process waits. Skipped if it waits in none.
    Interrupt,
}

impl Call {
    pub(crate) fn waits(&self) -> bool {
        match self {
            Call::Set { wait, .. } | Call::Flock { wait, .. } | Call::Open { wait, .. } => *wait == Wait::Waits,
            call => matches!(call, Call::Truncate { .. }),
        }
    }

    pub(crate) fn breaks_leases(&self) -> bool {
        matches!(self, Call::Open { .. } | Call::Truncate { .. })
    }
}

/// One call of one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Step {
    pub(crate) process: usize,
    pub(crate) call: Call,
}

/// The holder of a lock that a process was told of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Holder {
    Process(usize),
    File,
}

/// The result of a call: an errno or 0, and the lock or lease that was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) errno: i32,
    pub(crate) lock: Option<(LockKind, i64, i64, Holder)>,
    pub(crate) lease: Option<LockKind>,
}

/// What the calls of a program are about, beside locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum About {
    Locks,
    Leases,
}

/// Draws a program. It begins with a descriptor for each slot.
pub(crate) fn draw(random: &mut Rng) -> Vec<Step> {
    let about = if random.u32(0..3) == 0 { About::Leases } else { About::Locks };
    let processes = random.usize(2..=PROCESSES);
    let (files, slots) = (random.usize(1..=FILES), random.usize(1..=SLOTS));
    // In most programs the processes meet on one file.
    let files = if random.u32(0..3) == 0 { files } else { 1 };
    let mut steps = Vec::new();
    for process in 0..processes {
        for slot in 0..slots {
            let call = match about {
                About::Locks => open(random, slot, files, Wait::Not),
                // Beside files that are open for writing there are no leases.
                About::Leases => Call::Open { slot, file: random.usize(0..files), access: Access::Read, wait: Wait::Not },
            };
            // Where one file is open there are exclusive leases.
            if about == About::Locks || steps.is_empty() || random.bool() {
                steps.push(Step { process, call });
            }
        }
    }
    let waits = random.u32(0..5);
    for _ in 0..random.usize(4..32) {
        let (process, slot) = (random.usize(0..processes), random.usize(0..slots));
        let wait = if random.u32(0..4) < waits { Wait::Waits } else { Wait::Not };
        let call = match about {
            About::Leases if random.u32(0..6) != 0 => lease_call(random, slot, files, wait),
            _ => call(random, slot, files, wait),
        };
        steps.push(Step { process, call });
    }
    steps
}

/// Draws a program of leases in which the time passes that their holders have.
pub(crate) fn draw_in_time(random: &mut Rng) -> Vec<Step> {
    let first = Call::Open { slot: 0, file: 0, access: Access::Read, wait: Wait::Not };
    let kind = if random.bool() { LockKind::Exclusive } else { LockKind::Shared };
    let mut steps: Vec<Step> = [first, Call::Lease { slot: 0, kind }].map(|call| Step { process: 0, call }).into();
    for _ in 0..random.usize(4..10) {
        let (process, slot) = (random.usize(0..3), random.usize(0..2));
        let wait = if random.bool() { Wait::Waits } else { Wait::Not };
        steps.push(Step { process, call: lease_call(random, slot, 1, wait) });
    }
    let looks = (0..3).flat_map(|process| (0..2).map(move |slot| Step { process, call: Call::GetLease { slot } }));
    steps.extend([Step { process: 0, call: Call::Expire }].into_iter().chain(looks));
    steps
}

fn open(random: &mut Rng, slot: usize, files: usize, wait: Wait) -> Call {
    let access = [Access::Both, Access::Both, Access::Both, Access::Both, Access::Read, Access::Write][random.usize(0..6)];
    Call::Open { slot, file: random.usize(0..files), access, wait }
}

fn lease_call(random: &mut Rng, slot: usize, files: usize, wait: Wait) -> Call {
    let kind = [LockKind::Shared, LockKind::Shared, LockKind::Exclusive, LockKind::Unlock][random.usize(0..4)];
    match random.u32(0..100) {
        0..24 => Call::Open { slot, file: random.usize(0..files), access: Access::Read, wait },
        24..34 => open(random, slot, files, wait),
        34..40 => Call::Close { slot },
        40..76 => Call::Lease { slot, kind },
        76..88 => Call::GetLease { slot },
        88..92 => Call::Truncate { file: random.usize(0..files) },
        _ => Call::Interrupt,
    }
}

fn call(random: &mut Rng, slot: usize, files: usize, wait: Wait) -> Call {
    let family = if random.u32(0..4) == 0 { Family::File } else { Family::Process };
    let kind = [LockKind::Shared, LockKind::Exclusive, LockKind::Exclusive, LockKind::Unlock][random.usize(0..4)];

    let (start, len) = range(random);
    match random.u32(0..100) {
        0..4 => open(random, slot, files, wait),
        4..6 => Call::Close { slot },
        6..9 => Call::CloseDuplicate { slot },
        9..72 => Call::Set { slot, family, kind, start, len, wait },
        72..82 => Call::Get { slot, family, kind, start, len },
        82..94 => Call::Flock { slot, kind, wait },
        _ => Call::Interrupt,
    }
}

fn range(random: &mut Rng) -> (i64, i64) {
    if random.u32(0..20) == 0 {
        let start = [i64::MAX, i64::MAX - 1, i64::MIN, 0][random.usize(0..4)];
        return (start, [0, 1, 2, i64::MAX][random.usize(0..4)]);
    }
    (random.i64(0..6), random.i64(0..5))
}
