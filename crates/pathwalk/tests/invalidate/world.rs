//! A memory file system that hands out its notifier.

use std::sync::{Arc, OnceLock};

use pathwalk::{Context, Credentials, Errno, FileSystem, Notifier, Vfs};
use pathwalk_memfs::{Calls, MemFs};

use crate::common::around::{Around, Wrapped};

/// What keeps the notifier of a file system, and does nothing else.
#[derive(Default)]
pub(crate) struct Keeps(OnceLock<Notifier>);

impl Around for Keeps {
    fn around<T>(&self, call: impl FnOnce() -> T) -> T {
        call()
    }

    fn attached(&self, notifier: Notifier) {
        assert!(self.0.set(notifier).is_ok(), "it is attached once");
    }
}

/// A `Vfs` in front of a tree, and the tree behind it.
pub(crate) struct World {
    pub(crate) behind: MemFs,
    pub(crate) context: Context,
    keeps: Arc<Keeps>,
}

/// Returns a file system on the tree, and what gets its notifier.
pub(crate) fn attachable(of: &MemFs) -> (impl FileSystem + use<>, Arc<Keeps>) {
    let with = Arc::new(Keeps::default());
    (Wrapped { fs: of.alias(), with: with.clone() }, with)
}

impl Keeps {
    pub(crate) fn notifier(&self) -> &Notifier {
        self.0.get().expect("it is mounted")
    }
}

impl World {
    pub(crate) fn new(behind: MemFs) -> World {
        World::with_budget(behind, 1 << 20)
    }

    pub(crate) fn with_budget(behind: MemFs, budget: u64) -> World {
        let (fs, keeps) = attachable(&behind);
        let context = Vfs::builder().budget(budget).build(fs).unwrap().context(Credentials::root());
        World { behind, context, keeps }
    }

    pub(crate) fn notifier(&self) -> &Notifier {
        self.keeps.notifier()
    }

    pub(crate) fn ino(&self, path: &str) -> Result<u64, Errno> {
        self.context.stat(path).map(|of| of.ino)
    }

    /// Returns the calls of the file system that `what` causes.
    pub(crate) fn calls(&self, what: impl FnOnce()) -> Calls {
        let before = self.behind.calls();
        what();
        self.behind.calls().since(&before)
    }
}
