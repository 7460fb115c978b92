//! Branches in a store on a disk: what outlives the list, several lists on one store, nodes of the
//! base that are found again, and a process that is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fastrand::Rng;
use pathwalk::{Context, Credentials, Errno, FileSystem, OpenFlags, Vfs};
use pathwalk_branch::{Batch, BlobStore, Branches, Change, Damage, DiskStore, Error, MemoryBlobs, Options, Store};
use pathwalk_hostfs::{Coherence, HostFs};
use tempfile::TempDir;

/// A base on the host, and a store beside it.
struct Place {
    base: TempDir,
    store: TempDir,
}

impl Place {
    fn new() -> Place {
        let new = || tempfile::tempdir().expect("there is room");
        Place { base: new(), store: new() }
    }

    fn open(&self) -> Branches {
        open(self.base.path(), self.store.path(), Credentials::root()).expect("it is of this base")
    }
}

fn open(base: &Path, store: &Path, who: Credentials) -> Result<Branches, Error> {
    let host = HostFs::open_writable(base).expect("it is there").with_coherence(Coherence::Exclusive);
    let base = Vfs::builder().build(host).expect("there is a root").context(who);
    // Only what is synced on purpose is.
    let options = Options::default().sync_every(None);
    Branches::open(base, options, DiskStore::open(store).expect("it can be opened"))
}

fn fork(branches: &Branches, parent: Option<&str>, name: &str) -> Context {
    let branch = branches.fork(parent, name).expect("the name is free");
    Vfs::builder().build(branch).expect("there is a root").context(Credentials::root())
}

fn get(branches: &Branches, name: &str) -> Context {
    let branch = branches.get(name).expect("it is there, and free");
    Vfs::builder().build(branch).expect("there is a root").context(Credentials::root())
}

#[test]
fn all_of_a_branch_is_there_when_the_store_is_opened_again() {
    let place = Place::new();
    std::fs::write(place.base.path().join("file"), "of the base").unwrap();
    std::fs::create_dir(place.base.path().join("dir")).unwrap();
    let (attributes, mut list) = {
        let branches = place.open();
        let work = fork(&branches, None, "work");
        work.write("/new", vec![7; 100_000]).unwrap();
        assert_eq!(branches.get("work").unwrap().memory(), 0, "the data is on the disk");
        work.symlink("/new", "/link").unwrap();
        work.link("/new", "/dir/hard").unwrap();
        work.setxattr("/new", "user.colour", b"red", pathwalk::XattrFlags::empty()).unwrap();
        work.open("/file", OpenFlags::WRITE).unwrap().write_at(b"OF", 0).unwrap();
        work.rename("/dir", "/moved").unwrap();
        fork(&branches, Some("work"), "step").remove_file("/new").unwrap();
        branches.set_note("step", "a note").unwrap();
        (["/new", "/link", "/moved/hard", "/file"].map(|path| work.lstat(path).unwrap()), branches.list().unwrap())
    };
    let branches = place.open();
    assert_eq!(branches.list().unwrap(), list);
    let work = get(&branches, "work");
    let shown = |path| {
        let mut shown = work.lstat(path).unwrap();
        shown.device = attributes[0].device;
        shown
    };
    assert_eq!(["/new", "/link", "/moved/hard", "/file"].map(shown), attributes);
    assert_eq!(work.read("/moved/hard").unwrap(), vec![7; 100_000]);
    assert_eq!(work.read_to_string("/file").unwrap(), "OF the base");
    assert_eq!(work.getxattr("/link", "user.colour").unwrap(), b"red");
    let step = get(&branches, "step");
    assert_eq!(step.stat("/new"), Err(Errno::ENOENT));
    work.write("/newer", "").unwrap();
    assert!(work.stat("/newer").unwrap().ino > attributes[0].ino, "numbers are not given twice");
    branches.commit("step").unwrap();
    assert_eq!(work.stat("/moved/hard").unwrap().nlink, 1);
    branches.fork_only(Some("work"), "other").unwrap();
    assert_eq!(branches.diff("other").unwrap(), []);
    drop((step, work, branches));
    list.retain(|info| info.name == "work");
    let branches = place.open();
    assert_eq!(branches.list().unwrap()[1..], list);
    assert_eq!(get(&branches, "other").stat("/new"), Err(Errno::ENOENT));
}

#[test]
fn a_branch_is_used_by_one_list_at_a_time() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let work = fork(&one, None, "work");
    work.write("/synced", "").unwrap();
    work.syncfs("/").unwrap();
    work.write("/later", "").unwrap();
    assert_eq!(other.list().unwrap(), one.list().unwrap());
    let paths = |changes: Vec<Change>| changes.iter().map(|change| change.path().to_vec()).collect::<Vec<_>>();
    assert_eq!(paths(other.diff("work").unwrap()), [b"/synced".to_vec()]);
    assert_eq!(paths(one.diff("work").unwrap()), [b"/later".to_vec(), b"/synced".to_vec()]);
    let step = fork(&other, Some("work"), "step");
    assert_eq!((step.exists("/synced").unwrap(), step.exists("/later").unwrap()), (true, false));
    step.write("/of step", "").unwrap();
    for refused in [other.get("work").map(drop), other.drop("work"), other.commit("step"), one.drop("step")] {
        assert!(matches!(refused, Err(Error::InUse(_) | Error::HasForks { .. })), "{refused:?}");
    }
    assert!(matches!(other.get("work"), Err(Error::InUse(name)) if name == "work"));
    drop((one, work));
    other.commit("step").unwrap();
    let work = get(&other, "work");
    for name in ["/synced", "/later", "/of step"] {
        assert!(work.exists(name).unwrap(), "{name}");
    }
}

#[test]
fn a_store_is_of_one_base() {
    let (place, another) = (Place::new(), Place::new());
    drop(place.open());
    let opened = open(another.base.path(), place.store.path(), Credentials::root());
    assert!(matches!(opened, Err(Error::OtherBase)));
    drop(place.open());
}

/// What became of a file of the base while no list of branches was there.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Meanwhile {
    Nothing,
    Renamed,
    Replaced,
    Changed,
}

#[test]
fn a_file_of_the_base_is_found_again_by_handle_or_by_path() {
    use Meanwhile::{Changed, Nothing, Renamed, Replaced};
    for user in [false, true] {
        for meanwhile in [Nothing, Renamed, Replaced, Changed] {
            let who = || if user { Credentials::user(1000, 1000, &[]) } else { Credentials::root() };
            let place = Place::new();
            let root = place.base.path();
            std::fs::set_permissions(root, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            std::fs::create_dir(root.join("dir")).unwrap();
            std::fs::write(root.join("dir/file"), "of the base").unwrap();
            let branches = open(root, place.store.path(), who()).unwrap();
            let work = fork(&branches, None, "work");
            work.open("/dir/file", OpenFlags::WRITE).unwrap().write_at(b"OF", 0).unwrap();
            drop((branches, work));
            match meanwhile {
                Nothing => {}
                Renamed => std::fs::rename(root.join("dir"), root.join("moved")).unwrap(),
                Replaced => {
                    std::fs::rename(root.join("dir/file"), root.join("dir/old")).unwrap();
                    std::fs::write(root.join("dir/file"), "of the base").unwrap();
                    std::fs::remove_file(root.join("dir/old")).unwrap();
                }
                Changed => std::fs::write(root.join("dir/file"), "another").unwrap(),
            }
            let branches = open(root, place.store.path(), who()).unwrap();
            let work = get(&branches, "work");
            let path = if meanwhile == Renamed { "/moved/file" } else { "/dir/file" };
            let read = work.read_to_string(path).map_err(|error| error.errno());
            let expected = match meanwhile {
                Nothing | Renamed => Ok("OF the base"),
                // The name leads to another file, which the branch has not changed.
                Replaced => Ok("of the base"),
                Changed => Err(Errno::ESTALE),
            };
            let read = read.as_deref().map_err(|errno| *errno);
            assert_eq!(read, expected, "{meanwhile:?}, user {user}");
        }
    }
}

#[test]
fn a_commit_onto_the_base_drops_the_branch_from_the_store() {
    let place = Place::new();
    std::fs::write(place.base.path().join("file"), "of the base").unwrap();
    let branches = place.open();
    let work = fork(&branches, None, "work");
    work.open("/file", OpenFlags::WRITE).unwrap().write_at(b"OF", 0).unwrap();
    work.write("/new", "text").unwrap();
    drop((work, branches));
    // By a list that finds the nodes of the base again.
    let branches = place.open();
    branches.commit("work").unwrap();
    assert!(matches!(branches.get("work"), Err(Error::NoBranch(_))));
    let read = |name| std::fs::read_to_string(place.base.path().join(name)).unwrap();
    assert_eq!((read("file"), read("new")), ("OF the base".into(), "text".into()));
    drop(branches);
    assert_eq!(place.open().list().unwrap(), []);
}

#[test]
fn a_collection_leaves_what_is_shown() {
    let place = Place::new();
    let data = |byte: u8| vec![byte; 50_000];
    let branches = place.open();
    let work = fork(&branches, None, "work");
    for (name, byte) in [("/kept", 1), ("/open", 2), ("/later", 3)] {
        work.write(name, data(byte)).unwrap();
    }
    let step = fork(&branches, Some("work"), "step");
    step.write("/of step", data(4)).unwrap();
    branches.sync().unwrap();
    drop((work, step, branches));

    let (branches, other) = (place.open(), place.open());
    let (work, step) = (get(&branches, "work"), get(&branches, "step"));
    let open = work.open("/open", OpenFlags::READ).unwrap();
    work.remove_file("/open").unwrap();
    step.remove_file("/later").unwrap();
    work.write("/new", data(5)).unwrap();
    branches.sync().unwrap();
    step.write("/of step", data(6)).unwrap();
    branches.drop("step").unwrap();
    let of_other = get(&other, {
        branches.fork_only(Some("work"), "other").unwrap();
        "other"
    });
    let before = branches.stored();
    let collected = branches.collect().unwrap();
    assert!(collected.rows > 0 && collected.bytes.is_none(), "another list is there: {collected:?}");
    assert_eq!(branches.stored(), before);
    // It stores what it has, though rows to which it referred are gone.
    of_other.write("/more", data(7)).unwrap();
    other.sync().unwrap();
    drop((of_other, other));

    let collected = branches.collect().unwrap();
    assert!(collected.bytes >= Some(45_000), "what the branch has written over: {collected:?}");
    let all = |context: &Context, names: &[(&str, u8)]| {
        names.iter().for_each(|(name, byte)| assert_eq!(context.read(name).unwrap(), data(*byte), "{name}"));
    };
    all(&work, &[("/kept", 1), ("/later", 3), ("/new", 5)]);
    all(&step, &[("/kept", 1), ("/of step", 6)]);
    let mut buffer = data(0);
    assert_eq!(open.read_at(&mut buffer, 0), Ok(50_000));
    assert_eq!(buffer, data(2), "no name leads to it, and it is open");
    let before = branches.stored();
    drop((work, step, open, branches));

    let branches = place.open();
    let collected = branches.collect().unwrap();
    assert!(collected.bytes >= Some(45_000), "what was open: {collected:?}");
    assert!(branches.stored() < before);
    all(&get(&branches, "work"), &[("/kept", 1), ("/later", 3), ("/new", 5)]);
    all(&get(&branches, "other"), &[("/kept", 1), ("/more", 7)]);
}

/// Forks, changes, commits and drops branches of its own, beside lists that do the same.
fn work_beside_others(place: &Place, who: u64, rounds: u64) {
    for round in 0..rounds {
        let branches = place.open();
        let (own, step) = (format!("own {who}"), format!("step {who}"));
        if round == 0 {
            branches.fork_only(Some("common"), &own).unwrap();
        }
        let work = get(&branches, &own);
        (0..round).for_each(|of| assert_eq!(work.read(format!("/{of}")).unwrap(), data(who + of), "{who}, {of}"));
        let fork = fork(&branches, Some(&own), &step);
        fork.write(format!("/{round}"), data(who + round)).unwrap();
        if round % 2 == 0 {
            branches.sync().unwrap();
        }
        work.write("/other", data(round)).unwrap();
        branches.commit(&step).unwrap();
        fork.write("/common/file", "gone with the branch").unwrap();
        assert_eq!(work.read_to_string("/common/file").unwrap(), "text");
        branches.collect().unwrap();
        assert_eq!(work.read(format!("/{round}")).unwrap(), data(who + round));
    }
}

#[test]
fn lists_on_one_store_work_beside_each_other() {
    let place = Place::new();
    let branches = place.open();
    let common = fork(&branches, None, "common");
    common.mkdir("/common", 0o755).unwrap();
    (0..200).for_each(|at| common.write(format!("/common/{at}"), "text").unwrap());
    common.write("/common/file", "text").unwrap();
    branches.sync().unwrap();
    drop((common, branches));
    std::thread::scope(|scope| {
        (0..3).for_each(|who| {
            _ = scope.spawn({
                let place = &place;
                move || work_beside_others(place, 100 * who, 8)
            })
        });
    });
    let branches = place.open();
    assert_eq!(branches.check().unwrap(), []);
    let names: Vec<_> = branches.list().unwrap().into_iter().map(|info| info.name).collect();
    assert_eq!(names, ["common", "own 0", "own 100", "own 200"]);
}

#[test]
fn a_check_names_what_is_lost_and_mends_what_it_can() {
    let place = Place::new();
    let branches = place.open();
    let work = fork(&branches, None, "work");
    work.write("/file", "text").unwrap();
    let step = fork(&branches, Some("work"), "step");
    step.write("/of step", "").unwrap();
    branches.fork_only(Some("step"), "fork").unwrap();
    branches.sync().unwrap();
    assert_eq!(branches.check().unwrap(), []);
    drop((work, step, branches));

    let store = DiskStore::open(place.store.path()).unwrap();
    let mut nodes = Vec::new();
    let mut each = |key: &[u8], _: &[u8]| {
        nodes.push(key.to_vec());
        Ok(())
    };
    store.snapshot().unwrap().scan(b"n", &mut each).unwrap();
    let mut batch = Batch::default();
    // A node of the step, which was saved last. The fork shares it.
    batch.delete(nodes.last().unwrap());
    batch.delete(b"cr");
    batch.put(b"bjunk", b"junk");
    store.apply(&batch).unwrap();
    drop(store);

    let branches = place.open();
    let name = |name: &str| name.to_owned();
    let lost = [Damage::Branch { name: name("junk") }, Damage::Tree { name: name("fork") }, Damage::Tree { name: name("step") }];
    let found = branches.check().unwrap();
    assert_eq!(found, [&lost[..], &[Damage::Counter]].concat());
    assert_eq!(found.iter().map(Damage::is_mended).collect::<Vec<_>>(), [false, false, false, true]);
    assert_eq!(branches.check().unwrap(), lost, "the counter is mended");
    assert!(matches!(branches.get("step"), Err(Error::Store { errno: Errno::EIO, .. })));
    assert_eq!(branches.list().unwrap().len(), 3);
    ["junk", "fork", "step"].into_iter().for_each(|name| branches.drop(name).unwrap());
    assert_eq!(branches.check().unwrap(), []);
    assert_eq!(get(&branches, "work").read_to_string("/file").unwrap(), "text");
    branches.fork_only(Some("work"), "step").unwrap();
    drop(branches);

    let store = DiskStore::open(place.store.path()).unwrap();
    let mut batch = Batch::default();
    batch.delete(b"bstep");
    store.apply(&batch).unwrap();
    drop(store);
    let branches = place.open();
    assert!(matches!(branches.drop("work"), Err(Error::HasForks { .. })));
    assert_eq!(branches.check().unwrap(), [Damage::Forks { name: name("work") }]);
    branches.drop("work").unwrap();
}

const CHILD: &str = "PATHWALK_STORE_CHILD";

/// The number of files that the child writes in turn.
const FILES: u64 = 7;

/// Returns the data of a file after a step.
fn data(step: u64) -> Vec<u8> {
    let mut data = step.to_be_bytes().to_vec();
    data.resize(8 + (step as usize * 997) % 20_000, step as u8);
    data
}

/// Does steps until it is killed, each durable when it is told. It is no test of its own.
#[test]
fn child() {
    let Ok(place) = std::env::var(CHILD) else { return };
    let (base, store) = place.split_once(':').expect("two directories");
    let branches = open(Path::new(base), Path::new(store), Credentials::root()).expect("it is of this base");
    let work = match branches.get("work") {
        Ok(branch) => Vfs::builder().build(branch).expect("there is a root").context(Credentials::root()),
        Err(Error::NoBranch(_)) => fork(&branches, None, "work"),
        Err(error) => panic!("{error}"),
    };
    if branches.list().expect("it can be read").iter().any(|info| info.name == "step") {
        branches.drop("step").expect("it has no forks");
    }
    let mut step = last_step(&work);
    println!("opened {step}");
    loop {
        step += 1;
        let path = format!("/{}", step % FILES);
        match step % 3 {
            0 => {
                let fork = fork(&branches, Some("work"), "step");
                fork.write(&path, data(step)).unwrap();
                drop(fork);
                branches.commit("step").unwrap();
            }
            1 => {
                work.write(&path, data(step)).unwrap();
                work.open(&path, OpenFlags::WRITE).unwrap().sync(pathwalk::SyncWhat::All).unwrap();
            }
            _ => {
                work.write("/unfinished", data(step)).unwrap();
                work.rename("/unfinished", &path).unwrap();
                branches.sync().unwrap();
            }
        }
        println!("done {step}");
    }
}

/// Returns the step after which a branch is as it is, and checks all of it.
fn last_step(work: &Context) -> u64 {
    let step_of =
        |file: u64| work.read(format!("/{file}")).ok().map(|read| (u64::from_be_bytes(read[..8].try_into().unwrap()), read));
    let steps: Vec<_> = (0..FILES).filter_map(step_of).collect();
    let last = steps.iter().map(|(step, _)| *step).max().unwrap_or(0);
    for (step, read) in &steps {
        assert!(*step + FILES > last && *read == data(*step), "a file of step {step}, with {last}");
    }
    assert_eq!(steps.len() as u64, last.min(FILES));
    assert_eq!(work.stat("/unfinished"), Err(Errno::ENOENT));
    last
}

fn spawn(place: &Place) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("it is known"));
    command.args(["child", "--exact", "--nocapture"]).stdout(Stdio::piped());
    command.env(CHILD, format!("{}:{}", place.base.path().display(), place.store.path().display()));
    command.spawn().expect("it can be run")
}

/// `PATHWALK_STORE_KILLS` is the number of kills.
#[test]
fn a_process_that_is_killed_loses_nothing_that_was_synced() {
    if std::env::var(CHILD).is_ok() {
        return;
    }
    let kills = std::env::var("PATHWALK_STORE_KILLS").map_or(8, |kills| kills.parse().expect("it is a number"));
    let (place, mut random, mut known) = (Place::new(), Rng::new(), 0);
    println!("seed {}", random.get_seed());
    for kill in 0..kills {
        let mut child = spawn(&place);
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let reader = std::thread::spawn(move || {
            let mut told = None;
            for line in lines.map_while(Result::ok) {
                let word = |at| line.split(' ').nth(at).unwrap_or_default().to_owned();
                if matches!(&*word(0), "opened" | "done") {
                    told = Some(word(1).parse::<u64>().expect("it is a number"));
                }
            }
            told
        });
        let until = Instant::now() + Duration::from_millis(random.u64(20..250));
        std::thread::sleep(until - Instant::now());
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        let told = reader.join().expect("it reads").unwrap_or(known);
        let branches = place.open();
        let found = branches.get("work").map_or(0, |_| last_step(&get(&branches, "work")));
        assert!(told >= known && (told..=told + 1).contains(&found), "kill {kill}: {known} before, told {told}, found {found}");
        known = found;
    }
    println!("{kills} kills, {known} steps");
}

#[test]
fn a_held_branch_is_stored_once_it_is_settled() {
    let place = Place::new();
    std::fs::write(place.base.path().join("text"), "of the base\n").unwrap();
    let branches = place.open();
    let itself = branches.begin_fork(None, "work").unwrap().wait().unwrap();
    let data = std::sync::Arc::new(MemoryBlobs::default());
    branches.hold("work", data.clone()).unwrap();
    let work = get(&branches, "work");
    let long: Vec<u8> = (0..1_000_000_u32).map(|at| (at / 7) as u8).collect();
    work.write("/text", "changed\n").unwrap();
    work.write("/shown", "").unwrap();
    let (blob, number) = (data.put(&long).unwrap(), work.stat("/shown").unwrap().ino);
    itself.show(number, blob, &[0..300_000, 500_000..900_000], 1_000_000).unwrap();
    let shown = work.read("/shown").unwrap();
    assert!(
        shown.len() == 1_000_000 && shown[..300_000] == long[..300_000] && shown[300_000..500_000].iter().all(|byte| *byte == 0)
    );
    assert_eq!(itself.show(number, blob, &[0..3, 4..7], 5), Err(Errno::EFBIG));
    branches.sync().unwrap();
    assert!(place.open().diff("work").unwrap().is_empty(), "it is held");
    let busy = |done: Result<(), Error>| matches!(done, Err(Error::Store { errno: Errno::EBUSY, .. }));
    assert!(busy(branches.fork_only(Some("work"), "fork")));

    branches.settle("work").unwrap();
    branches.fork_only(Some("work"), "fork").unwrap();
    assert_eq!(itself.show(number, blob, &[], 0), Err(Errno::EINVAL), "it is held no longer");
    drop((branches, itself, work, data));
    let branches = place.open();
    for name in ["work", "fork"] {
        let work = get(&branches, name);
        assert!(work.read("/shown").unwrap() == shown && work.read("/text").unwrap() == b"changed\n");
    }
    assert_eq!(branches.check().unwrap(), []);
}
