//! Commits of a branch that is held: the store never has what was changed in it. Where they are
//! killed, all of it is in the base, or else nothing is lost of what the data was shown from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pathwalk::{Attributes, Context, Errno, Handle};
use pathwalk_branch::{Branches, DiskStore, MemoryBlobs, Options, Spares};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::failing::{Failing, Fault, Plan};

use crate::common::root_on;
use crate::common::trees::{differences, look_closely};

/// Files in a directory, each with the number of its node as its name, which keep their names until
/// the commit is sure to be made.
struct Links {
    dir: PathBuf,
    base: PathBuf,
    given: Mutex<Vec<u64>>,
}

impl Spares for Links {
    fn give(&self, node: u64, attributes: &Attributes, directory: &Handle, name: &[u8]) -> bool {
        let path = String::from_utf8(directory.path().expect("it has one")).expect("it is text");
        let to = self.base.join(&path[1..]).join(std::str::from_utf8(name).expect("it is text"));
        let is_given = attributes.nlink == 1 && fs::hard_link(self.dir.join(node.to_string()), to).is_ok();
        self.given.lock().unwrap().extend(is_given.then_some(node));
        is_given
    }

    fn leave(&self) {
        self.given.lock().unwrap().drain(..).for_each(|node| fs::remove_file(self.dir.join(node.to_string())).unwrap());
    }
}

/// Returns the names of spare files with what is in them.
fn spare(place: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(place.join("spare")).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

fn host(place: &Path) -> HostFs {
    HostFs::open_writable(&place.join("base")).unwrap().with_coherence(Coherence::Exclusive)
}

fn reborn(place: &Path) -> (Context, Branches) {
    let base = root_on(host(place));
    let store = DiskStore::open(place.join("store")).unwrap();
    (base.clone(), Branches::open(base, Options::default(), store).unwrap())
}

/// A base whose calls can fail, with a held branch that has changed it.
struct World {
    place: tempfile::TempDir,
    fs: Arc<Failing<HostFs>>,
    branches: Branches,
    work: Context,
}

impl World {
    fn new() -> World {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir_all(place.path().join("base/old/gone")).unwrap();
        fs::create_dir(place.path().join("spare")).unwrap();
        fs::write(place.path().join("base/old/file"), "of the base").unwrap();
        let fs = Arc::new(Failing::new(host(place.path())));
        let base = root_on(Arc::clone(&fs));
        let store = DiskStore::open(place.path().join("store")).unwrap();
        let branches = Branches::open(base, Options::default(), store).unwrap();
        let branch = branches.fork(None, "work").unwrap();
        branches.hold("work", Arc::new(MemoryBlobs::default())).unwrap();
        let work = root_on(branch);
        let world = World { place, fs, branches, work };
        world.change();
        world.branches.sync().unwrap();
        world
    }

    fn change(&self) {
        self.work.create_dir_all("/new/deep").unwrap();
        let dir = self.place.path().join("spare");
        for name in ["/new/a", "/new/deep/b", "/old/c"] {
            self.work.write(name, name.repeat(1000)).unwrap();
            fs::write(dir.join(self.work.stat(name).unwrap().ino.to_string()), name.repeat(1000)).unwrap();
            let of = self.work.stat(name).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(of.mode.into());
            fs::set_permissions(dir.join(of.ino.to_string()), mode).unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::new(of.mtime.seconds as u64, of.mtime.nanoseconds);
            let accessed = std::time::UNIX_EPOCH + std::time::Duration::new(of.atime.seconds as u64, of.atime.nanoseconds);
            let times = fs::FileTimes::new().set_modified(time).set_accessed(accessed);
            fs::File::options().write(true).open(dir.join(of.ino.to_string())).unwrap().set_times(times).unwrap();
        }
        self.work.write("/old/file", "changed").unwrap();
        self.work.remove_dir("/old/gone").unwrap();
        let base = self.place.path().join("base");
        self.branches.use_up(Arc::new(Links { dir, base, given: Mutex::default() }));
    }
}

#[test]
fn a_held_branch_is_committed_and_was_never_stored() {
    let world = World::new();
    let after = look_closely(&world.work);
    let stored = world.branches.stored();
    world.branches.commit("work").unwrap();
    assert_eq!((world.branches.stored(), spare(world.place.path()).len()), (stored, 0));
    let World { place, branches, work, .. } = world;
    drop((branches, work));
    let (base, branches) = reborn(place.path());
    let now = look_closely(&base);
    assert!(now == after, "{}", differences(&now, &after));
    assert!(branches.list().unwrap().is_empty());
}

#[test]
fn a_commit_of_a_held_branch_that_is_killed_is_whole_or_nothing_is_lost() {
    let (mut undone, mut finished) = (0, 0);
    let step = if std::env::var_os("PATHWALK_BRANCH_KILLS").is_some() { 1 } else { 5 };
    for call in (fastrand::usize(..step)..).step_by(step) {
        let world = World::new();
        let look_at_host = |place: &Path| look_closely(&root_on(host(place)));
        let before = look_at_host(world.place.path());
        let (spare_before, after) = (spare(world.place.path()), look_closely(&world.work));
        world.fs.start(Plan::from(call as u64, Fault::Error(Errno::EIO)));
        let committed = world.branches.commit("work");
        if world.fs.stop().errors == 0 && committed.is_ok() {
            break;
        }
        let World { place, branches, work, .. } = world;
        drop((work, branches));
        let (base, branches) = reborn(place.path());
        if branches.list().unwrap().is_empty() {
            // They are not needed any more.
            fs::remove_dir_all(place.path().join("spare")).unwrap();
        }
        assert_eq!(base.lstat("/.pathwalk-commit"), Err(Errno::ENOENT), "killed at {call}");
        // With new caches: the spare names were removed past those of the base.
        let now = look_at_host(place.path());
        if now == after {
            finished += 1;
            assert!(branches.list().unwrap().is_empty(), "killed at {call}");
            continue;
        }
        undone += 1;
        assert!(now == before, "killed at {call}: {}", differences(&now, &before));
        assert!(branches.diff("work").unwrap().is_empty(), "the branch is there, as it was stored");
        assert_eq!(spare(place.path()), spare_before, "killed at {call}");
        for path in spare_before.keys() {
            assert_eq!(std::os::unix::fs::MetadataExt::nlink(&fs::metadata(path).unwrap()), 1, "killed at {call}");
        }
    }
    println!("{undone} undone, {finished} finished");
    assert!(undone > 5 && finished > 3);
}
