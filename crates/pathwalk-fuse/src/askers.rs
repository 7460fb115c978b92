//! The contexts of those that ask, by user and group.
//!
//! The kernel has checked the rights of a request (`default_permissions`), with groups and
//! capabilities that the request does not tell. So a context here has all capabilities. Its user
//! and group decide about the owner of what is made.

use std::collections::HashMap;

use pathwalk::{Capabilities, Context, Credentials};
use rapidhash::fast::RandomState;

/// Contexts that are kept. Beyond that many, all are made anew.
const MOST: usize = 64;

/// Whether suid and sgid bits outlast a change of data, as the kernel decided for a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum SetId {
    /// They stay.
    Kept,
    /// They go.
    Killed,
}

impl SetId {
    /// Returns that they are killed, if this holds.
    pub(crate) fn killed_if(killed: bool) -> SetId {
        if killed { SetId::Killed } else { SetId::Kept }
    }
}

/// The contexts of one thread.
pub(crate) struct Askers {
    base: Context,
    own: Context,
    by_user: HashMap<(u32, u32, SetId), Context, RandomState>,
    /// The context that was made last of a user with other groups.
    with_groups: Option<Context>,
}

impl Askers {
    /// Begins with none. They are made from this context.
    pub(crate) fn new(base: &Context) -> Askers {
        let own = asker(base, base.credentials().clone(), SetId::Kept);
        Askers { base: base.clone(), own, by_user: HashMap::default(), with_groups: None }
    }

    /// Returns the context of a user.
    pub(crate) fn get(&mut self, uid: u32, gid: u32, set_id: SetId) -> &Context {
        let key = (uid, gid, set_id);
        if self.by_user.len() >= MOST && !self.by_user.contains_key(&key) {
            self.by_user.clear();
        }
        let base = &self.base;
        self.by_user.entry(key).or_insert_with(|| asker(base, Credentials::user(uid, gid, &[]), set_id))
    }

    /// Returns the context of this mount, for what the kernel does by itself.
    pub(crate) fn own(&mut self) -> &Context {
        &self.own
    }

    /// Returns the context of a user with the groups of the process that asks, in which suid and
    /// sgid bits do not outlast a change.
    pub(crate) fn get_with_groups(&mut self, uid: u32, gid: u32, process: u32) -> &Context {
        let credentials = Credentials::user(uid, gid, &groups_of(process));
        self.with_groups.insert(asker(&self.base, credentials, SetId::Killed))
    }
}

fn asker(base: &Context, credentials: Credentials, set_id: SetId) -> Context {
    let capabilities = match set_id {
        SetId::Kept => Capabilities::all(),
        SetId::Killed => Capabilities::all() - Capabilities::FSETID,
    };
    let mut context = base.clone().with_credentials(credentials.with_capabilities(capabilities));
    context.umask(0);
    context
}

/// Returns whether a process, which waits for an answer meanwhile, has `CAP_SYS_ADMIN` in this
/// process's user namespace. Of a process that this one does not see, its user decides.
pub(crate) fn is_administrator(uid: u32, process: u32) -> bool {
    const SYS_ADMIN: u32 = 21;
    let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/user")).ok();
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else { return uid == 0 };
    let effective = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("CapEff:")?.trim(), 16).ok());
    let has = effective.is_some_and(|effective| effective >> SYS_ADMIN & 1 == 1);
    has && namespace(&process.to_string()) == namespace("self")
}

/// Returns the groups of a process, which waits for an answer meanwhile. None are known of a
/// process in a namespace that this one does not see.
fn groups_of(process: u32) -> Vec<u32> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let groups = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap_or_default();
    groups.split_ascii_whitespace().filter_map(|group| group.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_a_process_are_read() {
        let own = rustix::process::getgroups().unwrap().into_iter().map(|group| group.as_raw());
        assert_eq!(groups_of(std::process::id()), own.collect::<Vec<u32>>());
        assert!(groups_of(0).is_empty());
    }
}
