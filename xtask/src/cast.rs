//! The actors of a program: a few processes, each with its own credentials.

use anyhow::{Result, anyhow};
use pathwalk::permission::Ids;
use pathwalk::{Capabilities, Credentials};
use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

/// One process of the cast.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Actor(usize);

struct Role {
    name: &'static str,
    real: Ids,
    effective: Ids,
    groups: &'static [u32],
    permitted: Capabilities,
    active: Capabilities,
}

const fn ids(uid: u32, gid: u32) -> Ids {
    Ids { uid, gid }
}

const fn role(name: &'static str, ids: Ids, groups: &'static [u32], caps: Capabilities) -> Role {
    Role { name, real: ids, effective: ids, groups, permitted: caps, active: caps }
}

const NONE: Capabilities = Capabilities::empty();

/// The user ids that own files.
pub(crate) const UIDS: [u32; 4] = [0, 1000, 1001, 1002];

const CAST: [Role; 18] = [
    role("root", ids(0, 0), &[], Capabilities::all()),
    role("bare", ids(0, 0), &[], NONE),
    role("user", ids(1000, 1000), &[], NONE),
    role("member", ids(1001, 1001), &[7, 1000, 4], NONE),
    role("other", ids(1002, 1002), &[], NONE),
    role("fowner", ids(1002, 1002), &[], Capabilities::FOWNER),
    role("override", ids(1001, 1002), &[], Capabilities::DAC_OVERRIDE),
    role("search", ids(1001, 1002), &[], Capabilities::DAC_READ_SEARCH),
    role("giver", ids(1000, 1002), &[1001], Capabilities::CHOWN),
    role("fsetid", ids(1000, 1000), &[1002], Capabilities::FSETID),
    role("maker", ids(1002, 1000), &[], Capabilities::MKNOD),
    role("labeller", ids(1001, 1000), &[], Capabilities::SETFCAP),
    role("keeper", ids(1000, 1000), &[], Capabilities::LINUX_IMMUTABLE),
    role("sealer", ids(0, 0), &[], Capabilities::SYS_ADMIN),
    role("weak", ids(0, 0), &[1000], Capabilities::DAC_READ_SEARCH.union(Capabilities::FOWNER)),
    Role { name: "suid", real: ids(1002, 1002), ..role("", ids(1000, 1002), &[], NONE) },
    Role { name: "suidroot", real: ids(1002, 1002), ..role("", ids(0, 0), &[], Capabilities::all()) },
    Role { name: "fallen", real: ids(0, 0), active: NONE, ..role("", ids(1001, 1001), &[], Capabilities::all()) },
];

/// The actor that may do everything.
pub(crate) const ROOT: Actor = Actor(0);

/// The number of actors.
pub(crate) const ACTORS: usize = CAST.len();

/// Returns all actors.
pub(crate) fn all_actors() -> impl Iterator<Item = Actor> {
    (0..ACTORS).map(Actor)
}

/// Returns the actor with this name.
pub(crate) fn called(name: &str) -> Result<Actor> {
    all_actors().find(|actor| actor.name() == name).ok_or_else(|| anyhow!("no actor is called `{name}`"))
}

impl Actor {
    fn role(self) -> &'static Role {
        &CAST[self.0]
    }

    /// Returns whether the actor's effective set has these capabilities.
    pub(crate) fn has(self, caps: Capabilities) -> bool {
        self.role().active.contains(caps)
    }

    /// Returns the actor's credentials in the model's form.
    pub(crate) fn model_credentials(self) -> pathwalk_model::Credentials {
        let Role { real, effective, groups, permitted, active, .. } = *self.role();
        pathwalk_model::Credentials {
            uid: real.uid,
            gid: real.gid,
            fsuid: effective.uid,
            fsgid: effective.gid,
            groups: groups.to_vec(),
            effective: model_set(active),
            permitted: model_set(permitted),
        }
    }

    /// Returns whether the real and effective ids are equal and the actor has no capabilities.
    pub(crate) fn is_plain(self) -> bool {
        self.role().real == self.role().effective && self.role().active.is_empty()
    }

    /// Returns the user id that the actor acts as.
    pub(crate) fn uid(self) -> u32 {
        self.role().effective.uid
    }

    /// Returns the group id that the actor acts as.
    pub(crate) fn gid(self) -> u32 {
        self.role().effective.gid
    }

    pub(crate) fn name(self) -> &'static str {
        self.role().name
    }

    /// Returns the actor's index in the cast.
    pub(crate) fn index(self) -> usize {
        self.0
    }

    /// Returns the actor's credentials in the engine's form.
    pub(crate) fn credentials(self) -> Credentials {
        let Role { real, effective, groups, permitted, active, .. } = *self.role();
        Credentials::user(effective.uid, effective.gid, groups).with_real(real).with_capability_sets(permitted, active)
    }

    /// Returns whether the actor's thread may raise all capabilities for a moment, to look as root
    /// does. That takes a full permitted set. The only call that shows a larger permitted set is
    /// `access(2)`, and only for a process whose real user is root: so such an actor needs the full
    /// set by its role.
    pub(crate) fn may_look_as_root(self) -> bool {
        self.role().real.uid != 0 || self.role().permitted == Capabilities::all()
    }

    /// Gives the calling thread the actor's groups and its real and effective ids.
    pub(crate) fn take_over_ids(self) -> rustix::io::Result<()> {
        let Role { real, effective, groups, .. } = *self.role();
        rustix::thread::set_keep_capabilities(true)?;
        let groups: Vec<Gid> = groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
        rustix::thread::set_thread_groups(&groups)?;
        let [real_gid, effective_gid] = [real.gid, effective.gid].map(Gid::from_raw);
        rustix::thread::set_thread_res_gid(real_gid, effective_gid, effective_gid)?;
        let [real_uid, effective_uid] = [real.uid, effective.uid].map(Uid::from_raw);
        rustix::thread::set_thread_res_uid(real_uid, effective_uid, effective_uid)
    }

    /// Returns the capability sets with which the actor acts.
    pub(crate) fn sets(self) -> CapabilitySets {
        let permitted = if self.may_look_as_root() { all() } else { kernel_set(self.role().permitted) };
        CapabilitySets { effective: kernel_set(self.role().active), permitted, inheritable: CapabilitySet::empty() }
    }
}

/// Returns the capability sets with which an actor that may look as root does so.
pub(crate) fn sets_to_look() -> CapabilitySets {
    CapabilitySets { effective: all(), permitted: all(), inheritable: CapabilitySet::empty() }
}

fn all() -> CapabilitySet {
    kernel_set(Capabilities::all())
}

/// Returns the kernel's form of these capabilities. All actors get the capability to change their
/// root, since the engine requires none for it.
fn kernel_set(caps: Capabilities) -> CapabilitySet {
    let pairs = [
        (Capabilities::DAC_OVERRIDE, CapabilitySet::DAC_OVERRIDE),
        (Capabilities::DAC_READ_SEARCH, CapabilitySet::DAC_READ_SEARCH),
        (Capabilities::FOWNER, CapabilitySet::FOWNER),
        (Capabilities::CHOWN, CapabilitySet::CHOWN),
        (Capabilities::FSETID, CapabilitySet::FSETID),
        (Capabilities::MKNOD, CapabilitySet::MKNOD),
        (Capabilities::SYS_ADMIN, CapabilitySet::SYS_ADMIN),
        (Capabilities::SETFCAP, CapabilitySet::SETFCAP),
        (Capabilities::LINUX_IMMUTABLE, CapabilitySet::LINUX_IMMUTABLE),
        (Capabilities::LEASE, CapabilitySet::LEASE),
    ];
    let held = pairs.iter().filter(|(ours, _)| caps.contains(*ours)).map(|(_, theirs)| *theirs);
    held.fold(CapabilitySet::SYS_CHROOT, CapabilitySet::union)
}

fn model_set(caps: Capabilities) -> pathwalk_model::Capabilities {
    use pathwalk_model::Capabilities as Theirs;
    let pairs = [
        (Capabilities::DAC_OVERRIDE, Theirs::DAC_OVERRIDE),
        (Capabilities::DAC_READ_SEARCH, Theirs::DAC_READ_SEARCH),
        (Capabilities::FOWNER, Theirs::FOWNER),
        (Capabilities::CHOWN, Theirs::CHOWN),
        (Capabilities::FSETID, Theirs::FSETID),
        (Capabilities::MKNOD, Theirs::MKNOD),
        (Capabilities::SYS_ADMIN, Theirs::SYS_ADMIN),
        (Capabilities::SETFCAP, Theirs::SETFCAP),
        (Capabilities::LINUX_IMMUTABLE, Theirs::LINUX_IMMUTABLE),
        (Capabilities::LEASE, Theirs::LEASE),
    ];
    let held = pairs.iter().filter(|(ours, _)| caps.contains(*ours)).map(|(_, theirs)| *theirs);
    held.fold(Theirs::SYS_CHROOT, Theirs::union)
}
