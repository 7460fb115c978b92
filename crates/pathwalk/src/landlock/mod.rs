//! A ready-made security hook with the rules of Linux's Landlock: a context gives up rights, except
//! beneath some directories, and never gets them back.
//!
//! - [`Ruleset`] is what is given up and what is kept. [`Context::restrict`] enforces one.
//! - [`Landlock`] is the hook.
//! - `domain` has the rulesets of a context, as layers; `denied` has the layers that still refuse a
//!   right, while a way is gone up.
//!
//! What always holds: each layer has to grant a right. A context and its clones only ever get more
//! layers.
//!
//! Source: `landlock(7)`; `security/landlock/fs.c` of Linux.

mod denied;
mod domain;
mod ruleset;

use crate::Errno;
use crate::abi::AtFlags;
use crate::context::{At, Context};
use crate::security::{Caller, Label, Move, Object, Rights, SecurityHook};
use denied::Denied;
use domain::Domain;

pub use ruleset::Ruleset;

/// The security hook that enforces [`Ruleset`]s. Contexts that were not restricted are not refused
/// anything.
///
/// The answers are those of Linux 6.18 for a thread in a Landlock domain. Two things are beyond it:
/// the place of a rule stays pinned as by a [`Handle`](crate::Handle), so it cannot be unmounted;
/// and what is open keeps only the right to truncate, since reads and writes ask for none.
///
/// ```
/// use pathwalk::landlock::{Landlock, Ruleset};
/// use pathwalk::security::Rights;
/// use pathwalk::{Credentials, Errno, Vfs};
/// let vfs = Vfs::builder().security(Landlock).build(pathwalk_memfs::MemFs::new())?;
/// let mut context = vfs.context(Credentials::root());
/// context.create_dir_all("/project/out")?;
/// context.write("/secret", "s")?;
///
/// let rules = Ruleset::new(Rights::all())
///     .allow(&context.lookup("/project")?, Rights::READ_FILE | Rights::READ_DIR)?
///     .allow(&context.lookup("/project/out")?, Rights::all())?;
/// context.restrict(&rules)?;
///
/// context.write("/project/out/log", "ok")?;
/// assert_eq!(context.read("/secret").unwrap_err().errno(), Errno::EACCES);
/// assert_eq!(context.rename("/project/out/log", "/project/log").unwrap_err().errno(), Errno::EACCES);
/// assert!(context.stat("/secret").is_ok(), "lookups and attributes are not restricted");
/// assert_eq!(context.refusing("/secret", Rights::READ_FILE)?, [0], "the first ruleset refuses it");
/// assert!(context.refusing_at(&context.lookup("/project")?, "out", Default::default(), Rights::all())?.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Landlock;

impl SecurityHook for Landlock {
    fn granted(&self, who: &Caller<'_>, object: &Object<'_>, rights: Rights) -> Rights {
        let Some(domain) = domain_of(who.label) else { return rights };
        rights & !domain.refused(object, rights).rights()
    }

    fn may_move(&self, who: &Caller<'_>, the: &Move<'_>) -> Result<(), Errno> {
        let Some(domain) = domain_of(who.label) else { return Ok(()) };
        let (leaves, arrives) = the.rights();
        if the.from.node() == the.to.node() {
            let refused = domain.refused(&the.to, leaves | arrives);
            return if refused.is_none() { Ok(()) } else { Err(Errno::EACCES) };
        }
        domain.may_refer(the, (leaves | Rights::REFER, arrives | Rights::REFER))
    }

    fn may_mount(&self, who: &Caller<'_>) -> Result<(), Errno> {
        if domain_of(who.label).is_some() { Err(Errno::EPERM) } else { Ok(()) }
    }
}

fn domain_of(label: Option<&Label>) -> Option<&Domain> {
    label?.get()
}

/// # Landlock
impl Context {
    /// Restricts this context, and those that are cloned from it from now on, by a ruleset. That
    /// cannot be undone. `EOPNOTSUPP` if the `Vfs` was not built with [`Landlock`], `ENOMSG` if the
    /// ruleset restricts nothing, `EBADF` if a place of it is of another `Vfs`, `E2BIG` beyond 16
    /// rulesets. Source: `landlock_restrict_self(2)`.
    ///
    /// [`Landlock`] has an example.
    pub fn restrict(&mut self, rules: &Ruleset) -> Result<(), Errno> {
        let hook = self.asker().world.policy.security.as_deref().ok_or(Errno::EOPNOTSUPP)?;
        if !(hook as &dyn std::any::Any).is::<Landlock>() {
            return Err(Errno::EOPNOTSUPP);
        }
        let layer = rules.layer(self.vfs())?;
        let domain = domain_of(self.label()).map_or_else(Domain::default, Domain::clone).with(layer)?;
        self.set_label(Some(Label::new(domain)));
        Ok(())
    }

    /// Returns which of the rulesets of this context refuse some of these rights to a node: their
    /// numbers in the order of [`restrict`](Self::restrict), from 0. For messages. Errors are those
    /// of a lookup.
    ///
    /// [`Landlock`] has an example.
    pub fn refusing(&self, path: impl crate::AsPath, rights: Rights) -> Result<Vec<usize>, Errno> {
        self.refusing_at(At::Cwd, path, AtFlags::empty(), rights)
    }

    /// Does the same as [`refusing`](Self::refusing) from a starting point and with flags, as
    /// [`lookup_at`](Self::lookup_at) takes them.
    ///
    /// [`Landlock`] has an example.
    pub fn refusing_at<'a>(
        &self,
        at: impl Into<At<'a>>,
        path: impl crate::AsPath,
        flags: AtFlags,
        rights: Rights,
    ) -> Result<Vec<usize>, Errno> {
        let place = self.lookup_at(at, path, flags)?;
        let Some(domain) = domain_of(self.label()) else { return Ok(Vec::new()) };
        Ok(crate::ops::security::about(self.asker(), place.place(), |object| domain.refused(object, rights))?.layers())
    }
}
