//! What the first process gives up for itself and for all that it starts.
//!
//! - capabilities: the command of an ordinary user has none, since it is run by `execve(2)`; that
//!   of root keeps those that a container has;
//! - new privileges: programs with suid bits or file capabilities get none;
//! - signals and abstract sockets: those of processes outside cannot be reached (Landlock);
//! - the terminal: nothing can be typed into it for the caller's shell (`TIOCSTI`, `TIOCLINUX`).

use landlock::{ABI, Access as _, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _, Scope};
use rustix::io;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, remove_capability_from_bounding_set, set_capabilities, set_no_new_privs,
};

use crate::error::{Failed, While};

/// What root keeps: no more than what files and its own processes need.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::NET_BIND_SERVICE)
    .union(CapabilitySet::NET_RAW)
    .union(CapabilitySet::SYS_CHROOT)
    .union(CapabilitySet::SETFCAP);

/// Gives it up.
pub(super) fn lock() -> Result<(), Failed> {
    // The command's own memory can be looked at again, since it is another program.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).doing("hiding the first process")?;
    bound().doing("giving up capabilities")?;
    set_no_new_privs(true).doing("giving up new privileges")?;
    let scopes = Ruleset::default().set_compatibility(CompatLevel::BestEffort).scope(Scope::from_all(ABI::V6));
    let restricted = scopes.and_then(|ruleset| ruleset.create()).and_then(|created| created.restrict_self());
    restricted.doing("entering a domain of Landlock")?;
    refuse_typing().doing("filtering the terminal's calls")
}

/// Takes all capabilities but [`KEPT`], of which an ordinary user has none behind `execve(2)`.
fn bound() -> io::Result<()> {
    for number in 0..64 {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if !KEPT.contains(capability) {
            match remove_capability_from_bounding_set(capability) {
                // The kernel has no capability of this number, and of none beyond.
                Err(io::Errno::INVAL) => break,
                done => done?,
            }
        }
    }
    let own = capabilities(None)?;
    let kept = own.permitted & KEPT;
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() })
}

/// The kind of a processor, and the number of `ioctl(2)` there.
struct Abi {
    kind: u32,
    ioctl: u32,
}

/// The kinds that run programs on this machine, with their 32-bit ones.
#[cfg(target_arch = "x86_64")]
const ABIS: [Abi; 3] = [
    Abi { kind: 0xc000_003e, ioctl: 16 },
    // x32.
    Abi { kind: 0xc000_003e, ioctl: 0x4000_0000 + 514 },
    Abi { kind: 0x4000_0003, ioctl: 54 },
];
#[cfg(target_arch = "aarch64")]
const ABIS: [Abi; 2] = [Abi { kind: 0xc000_00b7, ioctl: 29 }, Abi { kind: 0x4000_0028, ioctl: 54 }];
#[cfg(target_arch = "riscv64")]
const ABIS: [Abi; 1] = [Abi { kind: 0xc000_00f3, ioctl: 29 }];

/// The calls of `ioctl(2)` that type for the caller. Of their number, the kernel looks at 32 bits.
const TYPING: [u32; 2] = [libc::TIOCSTI as u32, TIOCLINUX];

/// `TIOCLINUX` of `ioctl_console(2)`.
const TIOCLINUX: u32 = 0x541c;

/// Refuses these calls with `EPERM`.
#[allow(unsafe_code)]
fn refuse_typing() -> std::io::Result<()> {
    let mut filter = filter();
    let length = filter.len().try_into().map_err(std::io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel reads the program and its instructions, which outlive the call.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Returns the filter. It loads the kind of the processor, the number of the call and its second
/// argument from where `seccomp_data` has them.
fn filter() -> Vec<libc::sock_filter> {
    const KIND_AT: u32 = 4;
    const NUMBER_AT: u32 = 0;
    // The lower half of the second argument.
    const REQUEST_AT: u32 = if cfg!(target_endian = "little") { 24 } else { 28 };
    let step = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = |at: u32| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at);
    let unless = |k: u32, over: u8| libc::sock_filter { jf: over, ..step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, k) };
    let end = |with: u32| step(libc::BPF_RET | libc::BPF_K, with);
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter = Vec::new();
    for abi in ABIS {
        let of_request = TYPING.iter().flat_map(|request| [unless(*request, 1), end(refused)]);
        let inner: Vec<_> = [load(REQUEST_AT)].into_iter().chain(of_request).chain([end(libc::SECCOMP_RET_ALLOW)]).collect();
        let over = inner.len() as u8;
        filter.extend([load(KIND_AT), unless(abi.kind, over + 2), load(NUMBER_AT), unless(abi.ioctl, over)]);
        filter.extend(inner);
    }
    filter.push(end(libc::SECCOMP_RET_ALLOW));
    filter
}
