//! Commits that use up spare files: what they leave, also where they are killed, is as if all files
//! had been made.

use std::fs::{self, File, FileTimes};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pathwalk::{Attributes, Context, Errno, FileType, Handle, Timestamp, XattrFlags};
use pathwalk_branch::{Branches, DiskStore, Options, Spares};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::failing::{Failing, Fault, Plan};

use crate::common::root_on;
use crate::common::trees::{differences, look_closely};

/// Files in a directory, each with the number of its node as its name.
struct Files {
    dir: PathBuf,
    base: PathBuf,
}

impl Spares for Files {
    fn give(&self, node: u64, attributes: &Attributes, directory: &Handle, name: &[u8]) -> bool {
        let path = String::from_utf8(directory.path().expect("it has one")).expect("it is text");
        let to = self.base.join(&path[1..]).join(std::str::from_utf8(name).expect("it is text"));
        let from = self.dir.join(node.to_string());
        assert!(!to.exists() && attributes.kind == FileType::Regular);
        attributes.nlink == 1 && fs::rename(from, to).is_ok()
    }
}

/// A base on the host whose calls can fail, with a branch that has changed it.
struct World {
    place: tempfile::TempDir,
    fs: Arc<Failing<HostFs>>,
    branches: Branches,
    work: Context,
}

fn host(base: &Path) -> HostFs {
    HostFs::open_writable(base).expect("it is a directory").with_coherence(Coherence::Exclusive)
}

/// Opens the branches in a store below this directory.
fn open(base: Context, place: &Path) -> Branches {
    let store = DiskStore::open(place.join("store")).expect("there is room");
    Branches::open(base, Options::default(), store).expect("it is a base")
}

impl World {
    fn new() -> World {
        let place = tempfile::tempdir().expect("there is room");
        let base = place.path().join("base");
        fs::create_dir_all(base.join("old/gone")).expect("there is room");
        for name in ["old/file", "old/gone/file"] {
            fs::write(base.join(name), name).expect("there is room");
        }
        fs::create_dir(place.path().join("spare")).expect("there is room");
        let fs = Arc::new(Failing::new(host(&base)));
        let context = root_on(Arc::clone(&fs));
        let branches = open(context, place.path());
        let branch = branches.fork(None, "work").expect("the name is free");
        let work = root_on(branch);
        let world = World { place, fs, branches, work };
        world.change();
        world.branches.sync().expect("there is room");
        world
    }

    fn base(&self) -> PathBuf {
        self.place.path().join("base")
    }

    /// Makes files of each kind, beside other changes.
    fn change(&self) {
        let work = &self.work;
        work.create_dir_all("/new/deep").unwrap();
        for (name, mode) in [("/new/a", 0o640), ("/new/deep/b", 0o755), ("/old/c", 0o600), ("/top", 0o644)] {
            work.write(name, vec![mode as u8; 5000]).unwrap();
            work.chmod(name, mode).unwrap();
        }
        work.write("/new/attributed", "text").unwrap();
        work.setxattr("/new/attributed", "user.name", "value", XattrFlags::empty()).unwrap();
        work.write("/new/linked", "text").unwrap();
        work.link("/new/linked", "/old/linked").unwrap();
        work.symlink("a", "/new/link").unwrap();
        work.write("/old/file", "changed").unwrap();
        work.remove_dir_all("/old/gone").unwrap();
    }

    /// Makes a spare file for each new one, and returns those that are used up.
    fn spare(&self) -> Vec<(&'static str, u64)> {
        let dir = self.place.path().join("spare");
        for path in ["/new/a", "/new/deep/b", "/old/c", "/top", "/new/attributed", "/new/linked"] {
            let (of, to) = (self.work.stat(path).unwrap(), dir.join(self.work.stat(path).unwrap().ino.to_string()));
            fs::write(&to, self.work.read(path).unwrap()).unwrap();
            fs::set_permissions(&to, fs::Permissions::from_mode(of.mode.into())).unwrap();
            let time = |of: Timestamp| SystemTime::UNIX_EPOCH + Duration::new(of.seconds as u64, of.nanoseconds);
            let times = FileTimes::new().set_accessed(time(of.atime)).set_modified(time(of.mtime));
            File::options().write(true).open(&to).unwrap().set_times(times).unwrap();
        }
        self.branches.use_up(Arc::new(Files { dir: dir.clone(), base: self.base() }));
        let number = |path: &str| dir.join(self.work.stat(path).unwrap().ino.to_string()).metadata().unwrap().ino();
        ["/new/a", "/new/deep/b", "/old/c", "/top"].map(|path| (path, number(path))).into()
    }
}

/// Returns a context on the base below this directory, in a process of its own.
fn reborn(place: &Path) -> Context {
    root_on(host(&place.join("base")))
}

#[test]
fn spare_files_become_files_of_the_base() {
    let world = World::new();
    let used_up = world.spare();
    let after = look_closely(&world.work);
    world.branches.commit("work").unwrap();
    let found = look_closely(&reborn(world.place.path()));
    assert!(found == after, "{}", differences(&found, &after));
    for (path, number) in used_up {
        assert_eq!(world.base().join(&path[1..]).metadata().unwrap().ino(), number, "{path} was moved");
    }
    let left = fs::read_dir(world.place.path().join("spare")).unwrap().count();
    assert_eq!(left, 2, "what has more than its data, or more names, is made");
    // The caches of the base have not missed it.
    assert!(look_closely(world.branches.base()) == after);
}

#[test]
fn a_commit_that_is_killed_loses_nothing_but_spare_files() {
    let (mut undone, mut finished) = (0, 0);
    let step = if std::env::var_os("PATHWALK_BRANCH_KILLS").is_some() { 1 } else { 7 };
    for call in (fastrand::usize(..step)..).step_by(step) {
        let world = World::new();
        let before = look_closely(&reborn(world.place.path()));
        world.spare();
        let after = look_closely(&world.work);
        world.fs.start(Plan::from(call as u64, Fault::Error(Errno::EIO)));
        let committed = world.branches.commit("work");
        if world.fs.stop().errors == 0 && committed.is_ok() {
            break;
        }
        // The next process mends it.
        drop((world.work, world.branches));
        let place = world.place.path();
        let base = reborn(place);
        let branches = open(base.clone(), place);
        assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT), "killed at {call}");
        let now = look_closely(&base);
        if now == after {
            finished += 1;
            continue;
        }
        assert!(now == before, "killed at {call}: {}", differences(&now, &before));
        undone += 1;
        // The branch has all data, whatever became of the spare files.
        branches.use_up(Arc::new(Files { dir: place.join("spare"), base: place.join("base") }));
        branches.commit("work").unwrap_or_else(|error| panic!("killed at {call}: {error}"));
        let now = look_closely(&reborn(place));
        assert!(now == after, "killed at {call}: {}", differences(&now, &after));
    }
    println!("{undone} undone, {finished} finished");
    assert!(undone > 5 && finished > 3);
}
