//! What the first process gives up for itself and for all that it starts.
//!
//! - capabilities: the command of an ordinary user has none, since it is run by `execve(2)`; that
//!   of root keeps those that a container has;
//! - new privileges: programs with suid bits or file capabilities get none;
//! - signals and abstract sockets: those of processes outside cannot be reached (Landlock);
//! - the keyring of the caller's session, in the place of which there is an empty one;
//! - the terminal: nothing can be typed into it for the caller's shell (`TIOCSTI`, `TIOCLINUX`);
//! - cgroups: their hierarchy cannot be mounted anew.

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
    leave_keyring();
    refuse_calls().doing("filtering calls")
}

/// Leaves the keyring of the caller's session. It is not there in a kernel without keys, nor where
/// a container refuses the call.
#[allow(unsafe_code)]
fn leave_keyring() {
    const JOIN_SESSION_KEYRING: libc::c_int = 1;
    // SAFETY: the call takes a number and no name, and reads no memory.
    unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, std::ptr::null::<libc::c_char>()) };
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

/// The kind of a processor, and the numbers of calls there.
struct Abi {
    kind: u32,
    ioctl: u32,
    clone: u32,
    clone3: u32,
    unshare: u32,
}

/// The bit of the numbers of x32, a kind of programs for x86-64.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// The kinds that run programs on this machine, with their 32-bit ones.
#[cfg(target_arch = "x86_64")]
const ABIS: [Abi; 3] = [
    Abi { kind: 0xc000_003e, ioctl: 16, clone: 56, clone3: 435, unshare: 272 },
    Abi { kind: 0xc000_003e, ioctl: X32 + 514, clone: X32 + 56, clone3: X32 + 435, unshare: X32 + 272 },
    Abi { kind: 0x4000_0003, ioctl: 54, clone: 120, clone3: 435, unshare: 310 },
];
#[cfg(target_arch = "aarch64")]
const ABIS: [Abi; 2] = [
    Abi { kind: 0xc000_00b7, ioctl: 29, clone: 220, clone3: 435, unshare: 97 },
    Abi { kind: 0x4000_0028, ioctl: 54, clone: 120, clone3: 435, unshare: 337 },
];
#[cfg(target_arch = "riscv64")]
const ABIS: [Abi; 1] = [Abi { kind: 0xc000_00f3, ioctl: 29, clone: 220, clone3: 435, unshare: 97 }];

/// The calls of `ioctl(2)` that type for the caller. Of their number, the kernel looks at 32 bits.
const TYPING: [u32; 2] = [libc::TIOCSTI as u32, TIOCLINUX];

/// `TIOCLINUX` of `ioctl_console(2)`.
const TIOCLINUX: u32 = 0x541c;

/// Refuses calls by a filter: typing for the caller, and namespaces of cgroups (both `EPERM`). In
/// such a namespace, the owner of the caller's cgroup could mount the hierarchy anew, writable.
///
/// Of `clone3(2)` a filter cannot see the flags. It is not there for the command (`ENOSYS`), as in
/// containers, and the C library uses `clone(2)`.
#[allow(unsafe_code)]
fn refuse_calls() -> std::io::Result<()> {
    let mut filter = filter();
    let length = filter.len().try_into().map_err(std::io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel reads the program and its instructions, which outlive the call.
    let done = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

/// Returns the filter. It loads the kind of the processor, the number of the call and an argument
/// from where `seccomp_data` has them.
fn filter() -> Vec<libc::sock_filter> {
    const KIND_AT: u32 = 4;
    const NUMBER_AT: u32 = 0;
    // The lower halves of the first two arguments.
    const LOWER: u32 = if cfg!(target_endian = "little") { 0 } else { 4 };
    const FIRST_AT: u32 = 16 + LOWER;
    const SECOND_AT: u32 = 24 + LOWER;
    let step = |code: u32, k: u32| libc::sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let load = |at: u32| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at);
    let unless =
        |how: u32, k: u32, over: usize| libc::sock_filter { jf: over as u8, ..step(libc::BPF_JMP | how | libc::BPF_K, k) };
    let end = |with: u32| step(libc::BPF_RET | libc::BPF_K, with);
    let (refused, allowed) = (end(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32), end(libc::SECCOMP_RET_ALLOW));
    let typing = TYPING.iter().flat_map(|request| [unless(libc::BPF_JEQ, *request, 1), refused]);
    let typing: Vec<_> = [load(SECOND_AT)].into_iter().chain(typing).chain([allowed]).collect();
    let namespaces = [load(FIRST_AT), unless(libc::BPF_JSET, libc::CLONE_NEWCGROUP as u32, 1), refused, allowed];
    let absent = [end(libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32)];
    let mut filter = Vec::new();
    for abi in ABIS {
        let rules = [(abi.ioctl, &typing[..]), (abi.clone, &namespaces), (abi.unshare, &namespaces), (abi.clone3, &absent)];
        for (number, rule) in rules {
            let over = rule.len();
            filter.extend([load(KIND_AT), unless(libc::BPF_JEQ, abi.kind, over + 2)]);
            filter.extend([load(NUMBER_AT), unless(libc::BPF_JEQ, number, over)]);
            filter.extend(rule);
        }
    }
    filter.push(allowed);
    filter
}
