//! The base and the store, as all branches have them: asked anew, made durable, cleared, checked.

use pathwalk::Context;

use super::Branches;
use crate::error::Error;
use crate::stored::{Collected, Damage, Stored};

impl Branches {
    /// Waits until the caches of all branches were told of each change of the base that was made
    /// before. Without it, they are told soon after the change.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::Branches;
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::new(base.clone())?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// assert!(work.stat("/new").is_err());
    /// base.write("/new", "text")?;
    /// branches.catch_up();
    /// assert_eq!(work.read_to_string("/new")?, "text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn catch_up(&self) {
        self.shared.pump.catch_up();
    }

    /// Returns the context that branches ask the base by.
    ///
    /// [`Branches::look_anew`] has an example.
    pub fn base(&self) -> &Context {
        self.shared.base.context()
    }

    /// Lets the base be asked anew for all that the caches of its `Vfs` have. A commit after it
    /// compares with the base as that is now, also where nothing reports its changes.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{BaseChanges, Branches, Error, Options};
    /// # let fs = std::sync::Arc::new(pathwalk_memfs::MemFs::new());
    /// # fs.file("/notes", 0o644)?;
    /// # let behind = std::sync::Arc::clone(&fs);
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let options = Options::default().base_changes(BaseChanges::AskEachTime);
    /// let branches = Branches::with(base, options)?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.remove_file("/notes")?;
    /// # behind.unlink("/notes")?;
    /// # behind.file("/notes", 0o600)?;
    /// // Another program has put another file there.
    /// branches.look_anew()?;
    /// assert!(branches.base().stat("/notes")?.mode == 0o600);
    /// assert!(matches!(branches.commit("work"), Err(Error::Conflicts { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn look_anew(&self) -> Result<(), Error> {
        let base = self.base();
        base.vfs().invalidate_file_system(base.root()).map_err(Error::base("ask the base anew"))
    }

    /// Makes all branches durable that this process uses, as they are now. Without a store there is
    /// nothing to do.
    ///
    /// [`Branches::open`] says when else that is done.
    pub fn sync(&self) -> Result<(), Error> {
        self.in_store().map_or(Ok(()), Stored::sync_all)
    }

    /// Removes from the store what no branch refers to any more: what was overwritten, removed, or
    /// dropped. Branches may be in use meanwhile, also by other processes; data is freed only while
    /// no other process has the store open. Without a store there is nothing to do.
    ///
    /// Cost: all rows of all branches are read.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{Branches, DiskStore, Options};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::open(base.clone(), Options::default(), DiskStore::open(dir)?)?;
    /// let step = Vfs::builder().build(branches.fork(None, "step")?)?.context(Credentials::root());
    /// step.write("/file", vec![7; 1 << 20])?;
    /// branches.sync()?;
    /// drop(step);
    /// branches.drop("step")?;
    /// drop(branches);
    ///
    /// let branches = Branches::open(base, Options::default(), DiskStore::open(dir)?)?;
    /// let collected = branches.collect()?;
    /// assert!(collected.rows > 0 && collected.bytes >= Some(1 << 20));
    /// assert_eq!(branches.stored(), 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn collect(&self) -> Result<Collected, Error> {
        self.in_store().map_or_else(|| Ok(Collected::default()), Stored::collect)
    }

    /// Checks whether all that the branches in the store refer to is there, and can be read, as
    /// they were synced last. Mends what can be told from the rest, and returns all that it found.
    /// Without a store there is nothing to check.
    ///
    /// A branch that is lost can be dropped. Data is checked to be there, and not to be what it
    /// was. Cost: all rows of all branches are read, and a byte of each blob.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::{Branches, Damage, DiskStore, Options};
    /// # let fs = pathwalk_memfs::MemFs::new();
    /// # let dir = tempfile::tempdir()?;
    /// # let dir = dir.path();
    /// let base = Vfs::builder().build(fs)?.context(Credentials::root());
    /// let branches = Branches::open(base.clone(), Options::default(), DiskStore::open(dir)?)?;
    /// let work = Vfs::builder().build(branches.fork(None, "work")?)?.context(Credentials::root());
    /// work.write("/file", "text")?;
    /// branches.sync()?;
    /// assert_eq!(branches.check()?, []);
    /// drop((work, branches));
    ///
    /// std::fs::remove_dir_all(dir.join("segments"))?;
    /// let branches = Branches::open(base, Options::default(), DiskStore::open(dir)?)?;
    /// let lost = Damage::Data { name: "work".into(), path: b"/file"[..].into() };
    /// assert_eq!(branches.check()?, [lost]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check(&self) -> Result<Vec<Damage>, Error> {
        self.in_store().map_or_else(|| Ok(Vec::new()), |stored| stored.check(&self.shared))
    }

    /// Returns the number of bytes of data that all branches have stored: in a store on a disk,
    /// those that they take there, also for branches that were dropped.
    ///
    /// [`Branches::with_store`] has an example.
    pub fn stored(&self) -> u64 {
        self.shared.store.bytes()
    }
}
