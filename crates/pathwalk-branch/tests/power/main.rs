//! Commits onto a directory of the kernel's file systems in which the power is lost, on disks that
//! note each write. The store is on the disk of the base, or on one of its own.
//!
//! `PATHWALK_BRANCH_CUTS` is the number of random commits, in each of which the power is lost after
//! each write. Without it, there is one, and many writes are left out. So it is for the test of the
//! file systems alone. It takes root, loop devices and FUSE.

#[path = "../common/mod.rs"]
mod common;
mod disk;
mod machine;
mod plain;
mod shared;

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use common::root_on;
use common::trees::{Copied, change_more, differences, look};
use disk::{Content, Disks, Done, During, Loss, synced};
use fastrand::Rng;
use machine::{Kind, Machine};
use pathwalk::{Context, FileType, OpenFlags};
use pathwalk_branch::{Branches, DiskStore, Options, Resolution};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::skipped;

/// The disk of the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum StoreOn {
    DiskOfBase,
    OtherDisk,
}

/// What writes to the disk beside the commit, as other programs and the kernel do at any time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beside {
    Nothing,
    /// `fsync` of another file, or `syncfs`, again and again.
    Syncs,
}

/// What becomes of the branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Committed {
    AsWhole,
    Undoable,
}

/// A way to commit.
#[derive(Clone, Copy, Debug)]
struct Way {
    kind: Kind,
    store: StoreOn,
    beside: Beside,
    committed: Committed,
}

impl Way {
    fn random(random: &mut Rng, kind: Kind) -> Way {
        let store = if random.bool() { StoreOn::DiskOfBase } else { StoreOn::OtherDisk };
        let beside = if random.u8(..4) > 0 { Beside::Syncs } else { Beside::Nothing };
        let committed = if random.u8(..4) > 0 { Committed::AsWhole } else { Committed::Undoable };
        Way { kind, store, beside, committed }
    }

    fn empty_disks(self) -> Result<Vec<Content>, String> {
        let disks = if self.store == StoreOn::DiskOfBase { 1 } else { 2 };
        (0..disks).map(|_| self.kind.make()).collect()
    }

    fn commit(self, branches: &Branches) -> Result<(), pathwalk_branch::Error> {
        match self.committed {
            Committed::AsWhole => branches.commit("work"),
            Committed::Undoable => branches.commit_undoable("work", &Resolution::default(), "undo"),
        }
    }
}

/// The directories on a machine that is on.
struct On<'a> {
    machine: Machine<'a>,
    base: PathBuf,
    store: PathBuf,
}

impl<'a> On<'a> {
    fn start(disks: &'a Disks, way: Way, contents: &[Content]) -> Result<On<'a>, String> {
        let machine = Machine::start(disks, way.kind, contents)?;
        let on = |disk| machine.mounted(disk).to_owned();
        let (base, store) = (on(0).join("base"), on(contents.len() - 1).join("store"));
        Ok(On { machine, base, store })
    }

    fn context(&self) -> Context {
        let host = HostFs::open_writable(&self.base).unwrap().with_coherence(Coherence::Exclusive);
        root_on(host)
    }

    /// Lists what a commit has left, and the files of the store.
    fn files(&self) -> String {
        let names = |directory: PathBuf| fs::read_dir(directory).into_iter().flatten().flatten();
        let all = [self.base.join(".pathwalk-commit"), self.store.clone(), self.store.join("segments")];
        let of =
            |file: fs::DirEntry| format!("{} ({})", file.file_name().display(), file.metadata().map_or(0, |found| found.len()));
        all.into_iter().flat_map(names).map(of).collect::<Vec<_>>().join(", ")
    }

    fn open(&self, base: Context) -> Branches {
        Branches::open(base, Options::default().sync_every(None), DiskStore::open(&self.store).unwrap()).unwrap()
    }
}

fn context(branches: &Branches, name: &str) -> Context {
    root_on(branches.get(name).unwrap())
}

/// A history of the disks, and what was durable when.
struct Happened {
    /// The disks at its begin.
    begin: Vec<Content>,
    history: Vec<(usize, Done)>,
    before: Copied,
    after: Copied,
    /// The number of writes by which the commit was done.
    committed: usize,
    /// What the branch has that was made afterwards under the name of the old one, and the number
    /// of writes by which it was stored.
    again: (Copied, usize),
}

/// Commits a random branch, and makes another one under its name.
fn happen(disks: &Disks, way: Way, random: &mut Rng) -> Result<Happened, String> {
    let begin = way.empty_disks()?;
    let on = On::start(disks, way, &begin)?;
    fs::create_dir(&on.base).and_then(|()| fs::create_dir(&on.store)).map_err(|error| error.to_string())?;
    let base = on.context();
    (0..60).for_each(|_| change_more(&base, random));
    let before = look(&base);
    let branches = on.open(base.clone());
    let work = root_on(branches.fork(None, "work").unwrap());
    (0..60).for_each(|_| change_more(&work, random));
    let after = look(&work);
    branches.sync().unwrap();
    drop(work);
    base.syncfs("/").unwrap();
    // All of it is on the disks.
    let begin = synced(begin, &on.machine.history);
    let (is_over, seed, other) = (AtomicBool::new(false), random.u64(..), on.machine.mounted(0).join("other"));
    let writes = || on.machine.history.lock().len();
    let (committed, again) = std::thread::scope(|scope| {
        if way.beside == Beside::Syncs {
            scope.spawn(|| sync_beside(&other, &is_over, Rng::with_seed(seed)));
        }
        way.commit(&branches).unwrap_or_else(|error| panic!("{way:?}: {error}"));
        let committed = writes();
        let work = root_on(branches.fork(None, "work").unwrap());
        work.write("/again", "again").unwrap();
        // Of what the base has, a part is changed. The rest is the base's.
        let files = after.iter().filter(|(_, node)| node.kind == FileType::Regular && node.data.len() > 1);
        for (path, _) in files {
            work.open(path, OpenFlags::WRITE).unwrap().write_at(b"a", 0).unwrap();
        }
        branches.sync().unwrap();
        let again = (look(&work), writes());
        is_over.store(true, Relaxed);
        (committed, again)
    });
    assert_eq!(look(&base), after, "{way:?}");
    let history = on.machine.history.lock().clone();
    drop((branches, base));
    Ok(Happened { begin, history, before, after, committed, again })
}

/// Lets the kernel write what it has, in the ways in which other programs have it do that: with all
/// data, and without the data of other files.
fn sync_beside(path: &std::path::Path, is_over: &AtomicBool, mut random: Rng) {
    let other = File::create(path).unwrap();
    while !is_over.load(Relaxed) {
        std::os::unix::fs::FileExt::write_all_at(&other, &[random.u8(..)], random.u64(..9000)).unwrap();
        match random.u8(..3) {
            0 => rustix::fs::syncfs(&other).unwrap(),
            _ => other.sync_all().unwrap(),
        }
        std::thread::sleep(Duration::from_micros(random.u64(..3000)));
    }
}

/// What was found after losses of power.
#[derive(Default, Debug)]
struct Found {
    losses: usize,
    in_recovery: usize,
    not_there: usize,
    whole: usize,
}

/// Starts a machine after a loss of power, and checks what is there. The power may be lost once
/// more meanwhile.
fn check(
    disks: &Disks,
    (way, happened): (Way, &Happened),
    (writes, contents): (usize, Vec<Content>),
    random: &mut Rng,
    found: &mut Found,
) {
    let mut contents = contents;
    let is_lost_again = random.u8(..6) == 0;
    if is_lost_again {
        let on = On::start(disks, way, &contents).unwrap();
        drop(on.open(on.context()));
        let history = on.machine.history.lock().clone();
        drop(on);
        let mut during = During::new(contents);
        history[..random.usize(..=history.len())].iter().for_each(|event| during.go_on(event));
        contents = during.cut(loss(random), random);
        found.in_recovery += 1;
    }
    let on = On::start(disks, way, &contents).unwrap();
    let _told = Told(format!("lost again: {is_lost_again}; on the disks: {}", on.files()));
    let base = on.context();
    let branches = on.open(base.clone());
    assert_eq!(base.lstat("/.pathwalk-commit"), Err(pathwalk::Errno::ENOENT));
    assert_eq!(branches.check().unwrap(), []);
    let (now, names) = (look(&base), branches.list().unwrap().into_iter().map(|info| info.name).collect::<Vec<_>>());
    let (again, by) = &happened.again;
    found.losses += 1;
    if now == happened.before && !names.contains(&"undo".to_owned()) && writes < happened.committed {
        found.not_there += 1;
        assert_eq!(names, ["work"]);
        let there = look(&context(&branches, "work"));
        assert!(there == happened.after, "the branch: {}", differences(&there, &happened.after));
        // It is committed again.
        way.commit(&branches).unwrap_or_else(|error| panic!("again: {error}"));
        assert!(look(&base) == happened.after, "again: {}", differences(&look(&base), &happened.after));
    } else {
        assert!(now == happened.after, "{}", differences(&now, &happened.after));
        found.whole += 1;
        let has_again = names.contains(&"work".to_owned());
        assert!(has_again || writes < *by, "the new branch is lost: {names:?}");
        if has_again && writes >= *by {
            let there = look(&context(&branches, "work"));
            assert!(there == *again, "the new branch: {}", differences(&there, again));
        }
        let is_undoable = way.committed == Committed::Undoable;
        assert_eq!(names.contains(&"undo".to_owned()), is_undoable);
        if is_undoable {
            branches.commit("undo").unwrap_or_else(|error| panic!("undo: {error}"));
            assert!(look(&base) == happened.before, "undo: {}", differences(&look(&base), &happened.before));
        }
    }
}

fn loss(random: &mut Rng) -> Loss {
    [Loss::All, Loss::Some, Loss::Some, Loss::Nothing][random.usize(..4)]
}

/// Loses the power after each write of a history, or after some `checks` of them, and passes the
/// number of writes and what is left to `check`. What is `told` says where one has failed.
fn each_loss(
    (begin, history): (Vec<Content>, &[(usize, Done)]),
    checks: usize,
    random: &mut Rng,
    told: &str,
    mut check: impl FnMut(usize, Vec<Content>, &mut Rng),
) {
    let (mut during, all) = (During::new(begin), history.len() + 1);
    for writes in 0..all {
        if writes > 0 {
            during.go_on(&history[writes - 1]);
        }
        if random.usize(..all) < checks {
            let loss = loss(random);
            let contents = during.cut(loss, random);
            let _told = Told(format!("{told}: {loss:?} lost after {writes} of {}", history.len()));
            check(writes, contents, random);
        }
    }
}

/// Returns the disks, a generator that starts with a seed that is told, and how many rounds there
/// are, with how many losses in each.
fn set_up(what: &str) -> Option<(Disks, u64, Rng, usize, usize)> {
    let disks = Disks::mounted().inspect_err(|error| skipped(what, &error.to_string())).ok()?;
    let seed = std::env::var("PATHWALK_BRANCH_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("{what}: seed {seed}");
    let (rounds, checks) = match std::env::var("PATHWALK_BRANCH_CUTS") {
        Ok(rounds) => (rounds.parse().expect("it is a number"), usize::MAX),
        Err(_) => (1, 40),
    };
    Some((disks, seed, Rng::with_seed(seed), rounds, checks))
}

#[test]
fn the_kernels_file_systems_keep_what_was_synced() {
    let what = "losses of power beside no commit";
    let Some((disks, _, mut random, rounds, checks)) = set_up(what) else { return };
    let mut losses = 0;
    for round in 0..rounds {
        for kind in Kind::ALL {
            match plain::round(&disks, kind, checks, &mut random) {
                Ok(more) => losses += more,
                Err(why) if round == 0 => return skipped(what, &why),
                Err(why) => panic!("round {round}: {why}"),
            }
        }
        println!("{what}: round {round}, {losses} losses");
    }
}

#[test]
fn a_commit_in_which_the_power_is_lost_is_whole_or_not_there() {
    let what = "losses of power in commits";
    let Some((disks, seed, mut random, rounds, checks)) = set_up(what) else { return };
    let (mut found, first) = (Found::default(), random.usize(..3));
    for round in 0..rounds {
        // Each file system has as many.
        let kind = Kind::ALL[(first + round) % 3];
        let way = Way::random(&mut random, kind);
        let happened = match happen(&disks, way, &mut random) {
            Ok(happened) => happened,
            Err(why) if round == 0 => return skipped(what, &why),
            Err(why) => panic!("round {round}: {why}"),
        };
        let told = format!("seed {seed}, round {round}, {way:?}");
        let check = |writes, contents, random: &mut Rng| check(&disks, (way, &happened), (writes, contents), random, &mut found);
        each_loss((happened.begin.clone(), &happened.history), checks, &mut random, &told, check);
        println!("round {round}, {way:?}: {} writes, committed by {}", happened.history.len(), happened.committed);
    }
    println!("{found:?}");
}

/// Tells where the test has failed.
struct Told(String);

impl Drop for Told {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.0);
        }
    }
}
