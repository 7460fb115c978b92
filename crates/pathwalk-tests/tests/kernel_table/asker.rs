//! The askers: the same credentials for a thread of the kernel and for a `Context`.

use pathwalk::Credentials;
use pathwalk::permission::{Capabilities, Ids};
use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets};

use crate::place::Users;

/// The owner, and the group, of the nodes in the trees that do not belong to root.
pub(crate) const OWNER: u32 = 1000;

/// The credentials of one asker.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asker {
    pub(crate) name: &'static str,
    real: Ids,
    effective: Ids,
    groups: &'static [u32],
    permitted: Capabilities,
    active: Capabilities,
}

const NONE: Capabilities = Capabilities::empty();
const SEARCH: Capabilities = Capabilities::DAC_READ_SEARCH;
const OVERRIDE: Capabilities = Capabilities::DAC_OVERRIDE;

const fn ids(uid: u32, gid: u32) -> Ids {
    Ids { uid, gid }
}

const fn user(name: &'static str, ids: Ids, groups: &'static [u32], caps: Capabilities) -> Asker {
    Asker { name, real: ids, effective: ids, groups, permitted: caps, active: caps }
}

/// User 0 with all capabilities.
pub(crate) const ROOT: Asker = user("root", ids(0, 0), &[], Capabilities::all());
/// A user that owns nothing and has no capabilities.
pub(crate) const OTHER: Asker = user("other", ids(1002, 1002), &[], NONE);
/// User 0 without capabilities: an owner like any other.
pub(crate) const BARE_ROOT: Asker = user("root without capabilities", ids(0, 0), &[], NONE);

const ALL: [Asker; 16] = [
    ROOT,
    BARE_ROOT,
    user("root with CAP_DAC_READ_SEARCH", ids(0, 0), &[], SEARCH),
    user("root with CAP_DAC_OVERRIDE", ids(0, 0), &[], OVERRIDE),
    Asker { name: "root, capabilities permitted only", active: NONE, ..ROOT },
    user("owner", ids(OWNER, OWNER), &[], NONE),
    user("owner in another group", ids(OWNER, 1002), &[], NONE),
    user("member by group", ids(1001, OWNER), &[], NONE),
    user("member by supplementary group", ids(1001, 1001), &[7, OWNER, 4], NONE),
    OTHER,
    user("other with CAP_DAC_READ_SEARCH", ids(1002, 1002), &[], SEARCH),
    user("other with CAP_DAC_OVERRIDE", ids(1002, 1002), &[], OVERRIDE),
    Asker { name: "other, effectively root", real: OTHER.real, ..ROOT },
    Asker { name: "root, effectively other", effective: OTHER.effective, active: NONE, ..ROOT },
    Asker { name: "other, effectively owner", effective: ids(OWNER, 1002), ..OTHER },
    Asker { name: "other, effectively member", effective: ids(1002, OWNER), ..OTHER },
];

/// Returns all askers that are possible where these users are mapped. Capabilities that this
/// process does not hold are left out on both sides.
pub(crate) fn all_askers(users: Users) -> Vec<Asker> {
    let held = held();
    let limited = |asker: &Asker| Asker { permitted: asker.permitted & held, active: asker.active & held, ..*asker };
    ALL.iter().filter(|asker| users == Users::All || asker.is_root_only()).map(limited).collect()
}

/// Returns those of `wanted` that are possible.
pub(crate) fn some(users: Users, wanted: &[Asker]) -> Vec<Asker> {
    all_askers(users).into_iter().filter(|asker| wanted.iter().any(|w| w.name == asker.name)).collect()
}

fn held() -> Capabilities {
    let sets = rustix::thread::capabilities(None).expect("our own capabilities");
    PAIRS.iter().filter(|(_, theirs)| sets.permitted.contains(*theirs)).map(|(ours, _)| *ours).collect()
}

const PAIRS: [(Capabilities, CapabilitySet); 3] = [
    (Capabilities::DAC_OVERRIDE, CapabilitySet::DAC_OVERRIDE),
    (Capabilities::DAC_READ_SEARCH, CapabilitySet::DAC_READ_SEARCH),
    (Capabilities::FOWNER, CapabilitySet::FOWNER),
];

fn kernel_set(caps: Capabilities) -> CapabilitySet {
    PAIRS.iter().filter(|(ours, _)| caps.contains(*ours)).map(|(_, theirs)| *theirs).collect()
}

impl Asker {
    fn is_root_only(&self) -> bool {
        self.real == ROOT.real && self.effective == ROOT.effective && self.groups.is_empty()
    }

    /// Returns the engine's form of the asker.
    pub(crate) fn credentials(&self) -> Credentials {
        Credentials::user(self.effective.uid, self.effective.gid, self.groups)
            .with_real(self.real)
            .with_capability_sets(self.permitted, self.active)
    }

    /// Makes the calling thread, and no other, this asker. This cannot be undone.
    pub(crate) fn take_over_this_thread(&self, users: Users) -> std::io::Result<()> {
        rustix::thread::set_keep_capabilities(true)?;
        if users == Users::All {
            let groups: Vec<Gid> = self.groups.iter().map(|gid| Gid::from_raw(*gid)).collect();
            rustix::thread::set_thread_groups(&groups)?;
        }
        let (real, effective) = (Gid::from_raw(self.real.gid), Gid::from_raw(self.effective.gid));
        rustix::thread::set_thread_res_gid(real, effective, effective)?;
        let (real, effective) = (Uid::from_raw(self.real.uid), Uid::from_raw(self.effective.uid));
        rustix::thread::set_thread_res_uid(real, effective, effective)?;
        let sets = CapabilitySets {
            effective: kernel_set(self.active),
            permitted: kernel_set(self.permitted),
            inheritable: CapabilitySet::empty(),
        };
        rustix::thread::set_capabilities(None, sets)?;
        Ok(())
    }
}
