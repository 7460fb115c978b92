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
    by_user: HashMap<(u32, u32, SetId), Context, RandomState>,
}

impl Askers {
    /// Begins with none. They are made from this context.
    pub(crate) fn new(base: &Context) -> Askers {
        Askers { base: base.clone(), by_user: HashMap::default() }
    }

    /// Returns the context of a user.
    pub(crate) fn get(&mut self, uid: u32, gid: u32, set_id: SetId) -> &Context {
        let key = (uid, gid, set_id);
        if self.by_user.len() >= MOST && !self.by_user.contains_key(&key) {
            self.by_user.clear();
        }
        self.by_user.entry(key).or_insert_with(|| {
            let capabilities = match set_id {
                SetId::Kept => Capabilities::all(),
                SetId::Killed => Capabilities::all() - Capabilities::FSETID,
            };
            let mut context =
                self.base.clone().with_credentials(Credentials::user(uid, gid, &[]).with_capabilities(capabilities));
            context.umask(0);
            context
        })
    }
}
