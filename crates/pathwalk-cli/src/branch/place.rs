//! The base of branches, a directory of this machine, and the store in which they are.
//!
//! Without a store by name, branches of a directory are in `$XDG_STATE_HOME/pathwalk/branches`,
//! each base in a directory of its own, which is named by its path. Source: the XDG Base Directory
//! Specification.

use std::hash::Hasher;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use pathwalk::{Capabilities, Context, Credentials, Vfs};
use pathwalk_bench::machine::{BUDGET, escaped};
use pathwalk_branch::{BaseChanges, Branches, DiskStore, Options};
use pathwalk_hostfs::{Coherence, HostFs, SyncAtEnd};
use siphasher::sip128::{Hasher128, SipHasher24};

/// A base and its store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Without links.
    pub(crate) base: PathBuf,
    pub(crate) store: PathBuf,
}

/// Whether a store is made where there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Missing {
    Make,
    Fail,
}

impl Place {
    /// Finds the base, and its store if none is named.
    pub(crate) fn find(base: &Path, store: Option<&Path>) -> anyhow::Result<Place> {
        let base = base.canonicalize().with_context(|| format!("the base \"{}\"", escaped(base)))?;
        let store = match store {
            Some(store) => store.to_owned(),
            None => state()?.join("pathwalk/branches").join(name_of(&base)),
        };
        Ok(Place { base, store })
    }

    /// Opens the branches. The base is read by the promise of `coherence`, with caches of this many
    /// bytes.
    pub(crate) fn open(&self, coherence: Coherence, budget: Option<u64>, missing: Missing) -> anyhow::Result<Branches> {
        let is_told = matches!(coherence, Coherence::Frozen | Coherence::Exclusive | Coherence::Watch);
        let changes = if is_told { BaseChanges::Reported } else { BaseChanges::AskEachTime };
        self.open_with(self.base(coherence, budget)?, Options::default().base_changes(changes), missing)
    }

    /// Opens the branches for a command that mounts none of them, and ends then. So changes of the
    /// base, those of a commit for one, are passed on to nothing, and what was changed in branches
    /// is synced at the end alone.
    pub(crate) fn open_unmounted(&self, missing: Missing) -> anyhow::Result<Branches> {
        let base = self.base(Coherence::Exclusive, None)?;
        let options = Options::default().base_changes(BaseChanges::AskEachTime).sync_every(None);
        self.open_with(base, options, missing)
    }

    /// Returns a context on the base. Commits alone change it, and each syncs what it has changed,
    /// but for the removal of what it has left, which the next one does if it is lost.
    fn base(&self, coherence: Coherence, budget: Option<u64>) -> anyhow::Result<Context> {
        let fs = HostFs::open_writable(&self.base)?.with_coherence(coherence).with_sync_at_end(SyncAtEnd::Never);
        let base = Vfs::builder().budget(budget.unwrap_or(BUDGET)).build(fs);
        Ok(base.with_context(|| format!("opening the base \"{}\"", escaped(&self.base)))?.context(owner()?))
    }

    fn open_with(&self, base: Context, options: Options, missing: Missing) -> anyhow::Result<Branches> {
        let shown = escaped(&self.store).to_string();
        if missing == Missing::Fail && !self.store.is_dir() {
            bail!("\"{}\" has no branches; make one by: pathwalk branch fork NAME", escaped(&self.base));
        }
        std::fs::create_dir_all(&self.store).with_context(|| format!("making the store \"{shown}\""))?;
        let store = DiskStore::open(&self.store).map_err(|errno| anyhow::anyhow!("opening the store \"{shown}\": {errno}"))?;
        Branches::open(base, options, store).with_context(|| format!("opening the branches of \"{}\"", escaped(&self.base)))
    }
}

/// Returns the user of this process, with all capabilities: the host checks what it is asked, and
/// what is made belongs to a user that this process may make things for.
fn owner() -> anyhow::Result<Credentials> {
    Ok(pathwalk_hostfs::credentials().context("the own user")?.with_capabilities(Capabilities::all()))
}

/// Returns the directory for the state of programs.
pub(crate) fn state() -> anyhow::Result<PathBuf> {
    let of = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    match (of("XDG_STATE_HOME"), of("HOME")) {
        (Some(state), _) => Ok(state),
        (None, Some(home)) => Ok(home.join(".local/state")),
        (None, None) => bail!("neither XDG_STATE_HOME nor HOME is set: name a directory by --store"),
    }
}

/// Returns the name of the directory for a base, or for a branch: its last name, and a hash of its
/// path.
pub(crate) fn name_of(base: &Path) -> String {
    let mut hash = SipHasher24::new();
    hash.write(base.as_os_str().as_bytes());
    let last = base.file_name().map_or("root".into(), |name| name.to_string_lossy());
    let last: String = last.chars().filter(|char| char.is_alphanumeric() || "._-".contains(*char)).take(40).collect();
    format!("{last}-{:032x}", hash.finish128().as_u128())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_base_has_a_store_of_its_own() {
        let names = ["/", "/a", "/b/a", "/b/a b/"].map(|base| name_of(Path::new(base)));
        assert!(names[0].starts_with("root-") && names[1].starts_with("a-") && names[3].starts_with("ab-"));
        assert_eq!(names.iter().collect::<std::collections::BTreeSet<_>>().len(), 4);
        assert_eq!(name_of(Path::new("/a")), names[1]);
    }
}
