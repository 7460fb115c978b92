//! A mounted tree for tests. They are skipped where `/dev/fuse` is not there or mounting is not
//! allowed.

#![allow(dead_code, reason = "each test program has its own use of it")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pathwalk::{Context, Credentials, Vfs};
use pathwalk_fuse::{CacheTimes, MountError, Mounted, Options, mount};
use pathwalk_memfs::MemFs;
use tempfile::TempDir;

/// A mounted tree.
pub(crate) struct Case {
    pub(crate) context: Context,
    pub(crate) mounted: Option<Mounted>,
    pub(crate) dir: TempDir,
}

impl Case {
    /// Mounts an empty memfs; `None` where that cannot be done.
    pub(crate) fn new(times: CacheTimes) -> Option<Case> {
        let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
        Case::of(context, |options| options.times = times)
    }

    /// Mounts the root of a context; `None` where that cannot be done.
    pub(crate) fn of(context: Context, set: impl FnOnce(&mut Options)) -> Option<Case> {
        let dir = tempfile::tempdir().unwrap();
        let mut options = Options::default();
        options.times = CacheTimes::FOREVER;
        set(&mut options);
        match mount(&context, dir.path(), &options) {
            Ok(mounted) => Some(Case { context, mounted: Some(mounted), dir }),
            Err(error @ (MountError::Device(_) | MountError::NotAllowed(_))) => {
                eprintln!("skipped: {error}");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    /// Returns the number of requests of a kind so far.
    pub(crate) fn requests(&self, kind: &str) -> u64 {
        self.mounted().operations().iter().filter(|of| of.name == kind).map(|of| of.count()).sum()
    }

    pub(crate) fn mounted(&self) -> &Mounted {
        self.mounted.as_ref().unwrap()
    }
}

/// Returns the sorted names in a directory.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Waits until a question has an answer, for as long as a loaded machine may need.
#[track_caller]
pub(crate) fn until<T: PartialEq + std::fmt::Debug>(wanted: T, ask: impl Fn() -> T) {
    let begun = Instant::now();
    loop {
        let answer = ask();
        if answer == wanted {
            return;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{answer:?} and not {wanted:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
