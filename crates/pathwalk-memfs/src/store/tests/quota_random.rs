//! Random programs under quotas. After each step the accounts are compared with a recount of all
//! nodes, and no account has grown beyond a limit.
//!
//! `PATHWALK_QUOTA_OPERATIONS` sets the number of steps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Duration;

use pathwalk::{Errno, FallocateFlags, FileSystem, NewKind, NewNode, NodeKey, OpenFile, OpenFor, RenameFlags};
use pathwalk::{SetAttributes, Timestamp, WriteAt};

use super::{key, name};
use crate::{MemFs, Options, Project, ProjectScope, QuotaKind, QuotaLimits, QuotaUsage};

const PAGE: u64 = 4096;
const KINDS: [QuotaKind; 3] = [QuotaKind::User, QuotaKind::Group, QuotaKind::Project];
const DIRS: [&str; 4] = ["", "/dir", "/one", "/two"];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (word ^ word >> 31) % n
    }

    fn id(&mut self) -> u32 {
        self.below(3) as u32
    }

    fn of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len() as u64) as usize]
    }

    fn path(&mut self) -> String {
        format!("{}/{}", self.of(&DIRS), self.of(&NAMES))
    }

    /// Returns an offset or a length of up to eight pages.
    fn length(&mut self) -> u64 {
        match self.below(3) {
            0 => self.below(8 * PAGE + 1),
            _ => self.below(9) * PAGE,
        }
    }

    fn limits(&mut self) -> QuotaLimits {
        let mut limit = |most: u64| (self.below(2) == 0).then(|| self.below(most));
        QuotaLimits { bytes: limit(40 * PAGE), soft_bytes: limit(20 * PAGE), nodes: limit(14), soft_nodes: limit(7) }
    }
}

/// The usage of each account, as the file system shows it.
type Accounts = BTreeMap<(usize, u32), QuotaUsage>;

struct World {
    fs: MemFs,
    clock: Arc<AtomicI64>,
    dice: Dice,
    open: Vec<(NodeKey, Box<dyn OpenFile>)>,
}

impl World {
    fn new(seed: u64) -> World {
        let clock = Arc::new(AtomicI64::new(1000));
        let read = clock.clone();
        let now = move || Timestamp { seconds: read.load(Relaxed), nanoseconds: 0 };
        let options = KINDS.into_iter().fold(Options::default(), Options::quota);
        let fs = MemFs::with(options.quota_grace(Duration::from_secs(10)).clock(now).max_bytes(30 * PAGE).max_nodes(14));
        for (dir, id) in [("dir", 0), ("one", 1), ("two", 2)] {
            fs.mkdir(dir, 0o755).unwrap();
            fs.set_project(dir, Project { id, scope: ProjectScope::NewNodes }).unwrap();
        }
        World { fs, clock, dice: Dice(seed), open: Vec::new() }
    }

    /// Does something, of which any step may fail.
    fn step(&mut self) -> Result<(), Errno> {
        let (path, other) = (self.dice.path(), self.dice.path());
        let set = SetAttributes::default();
        match self.dice.below(16) {
            0..=2 => self.create(),
            3 => self.fs.unlink(path.as_str()).map_err(|error| error.errno()),
            4 => {
                let flags = [RenameFlags::empty(), RenameFlags::NOREPLACE, RenameFlags::EXCHANGE];
                let flags = flags[self.dice.below(3) as usize];
                self.fs.rename_with(path.as_str(), other.as_str(), flags).map_err(|error| error.errno())
            }
            5 => self.fs.link(path.as_str(), other.as_str()).map_err(|error| error.errno()),
            6 => {
                let size = self.dice.length();
                self.set(&path, set.with_size(size))
            }
            7 => {
                let group = set.with_gid(self.dice.id());
                let owner = if self.dice.below(2) == 0 { group } else { group.with_uid(self.dice.id()) };
                self.set(&path, owner)
            }
            8 => {
                let scope = if self.dice.below(2) == 0 { ProjectScope::Node } else { ProjectScope::NewNodes };
                let project = Project { id: self.dice.id(), scope };
                self.fs.set_project(path.as_str(), project).map_err(|error| error.errno())
            }
            9 => {
                let (kind, id) = (KINDS[self.dice.below(3) as usize], self.dice.id());
                let limits = if self.dice.below(3) == 0 { QuotaLimits::default() } else { self.dice.limits() };
                self.fs.set_quota(kind, id, limits)
            }
            10 => {
                self.clock.fetch_add(self.dice.below(8) as i64, Relaxed);
                Ok(())
            }
            11 => self.open_or_close(&path),
            _ => self.change_data(),
        }
    }

    fn create(&mut self) -> Result<(), Errno> {
        let body = [b'x'; 200];
        let kinds = [NewKind::Regular, NewKind::Directory, NewKind::Symlink(&body), NewKind::Symlink(b"short"), NewKind::Fifo];
        let kind = kinds[self.dice.below(8).saturating_sub(3) as usize];
        let new = NewNode::new(kind, 0o755, self.dice.id(), self.dice.id());
        let dir = key(&self.fs, self.dice.of(&DIRS));
        let (at, unnamed) = (self.dice.of(&NAMES), self.dice.below(6) == 0);
        if !unnamed {
            return self.fs.0.create(dir, name(at), &new).map(drop);
        }
        let made = self.fs.0.create_unnamed(dir, &new)?;
        let file = self.fs.open(made.key(), OpenFor::READ | OpenFor::WRITE)?;
        self.open.push((made.key(), file));
        Ok(())
    }

    fn set(&self, path: &str, set: SetAttributes) -> Result<(), Errno> {
        let node = self.fs.key(path).map_err(|error| error.errno())?;
        self.fs.set_attributes(node, &set).map(drop)
    }

    fn open_or_close(&mut self, path: &str) -> Result<(), Errno> {
        if self.open.len() >= 6 {
            let place = self.dice.below(6) as usize;
            drop(self.open.swap_remove(place));
            return Ok(());
        }
        let node = self.fs.key(path).map_err(|error| error.errno())?;
        let file = self.fs.open(node, OpenFor::READ | OpenFor::WRITE)?;
        self.open.push((node, file));
        Ok(())
    }

    fn change_data(&mut self) -> Result<(), Errno> {
        let (Some(from), Some(to)) = (self.any_open(), self.any_open()) else { return Ok(()) };
        let (offset, length) = (self.dice.length(), self.dice.length());
        let (at, choice) = (self.dice.below(8) * PAGE, self.dice.below(12));
        let ((_, from), to) = (&self.open[from], self.open[to].0);
        match choice {
            0..=3 => from.write_at(&vec![7; length as usize], WriteAt::Offset(offset)).map(drop),
            4 => from.copy_range(offset, to, at, length as usize).map(drop),
            5 => from.clone_range(offset / PAGE * PAGE, to, at, length / PAGE * PAGE),
            _ if length == 0 => Ok(()),
            6 => from.fallocate(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, offset, length),
            7 => from.fallocate(FallocateFlags::COLLAPSE_RANGE, offset, length),
            8 => from.fallocate(FallocateFlags::INSERT_RANGE, offset, length),
            9 => from.fallocate(FallocateFlags::ZERO_RANGE, offset, length),
            10 => from.fallocate(FallocateFlags::UNSHARE_RANGE, offset, length),
            _ => from.fallocate(FallocateFlags::empty(), offset, length),
        }
    }

    fn any_open(&mut self) -> Option<usize> {
        (!self.open.is_empty()).then(|| self.dice.below(self.open.len() as u64) as usize)
    }

    /// Returns the bytes and nodes of each account, from the attributes of all nodes.
    fn recount(&self) -> BTreeMap<(usize, u32), (u64, u64)> {
        let (mut seen, mut sums) = (BTreeSet::new(), BTreeMap::new());
        let mut left = vec![String::new()];
        let mut nodes: Vec<NodeKey> = self.open.iter().map(|(node, _)| *node).collect();
        while let Some(path) = left.pop() {
            nodes.push(key(&self.fs, &path));
            for name in self.fs.list(path.as_str()).unwrap_or_default() {
                left.push(format!("{path}/{}", String::from_utf8(name).unwrap()));
            }
        }
        for node in nodes {
            let found = self.fs.attributes(node).unwrap();
            if !seen.insert(found.ino) {
                continue;
            }
            let ids = [found.uid, found.gid, self.fs.project_of(node).unwrap().id];
            for (kind, id) in ids.into_iter().enumerate() {
                let sum = sums.entry((kind, id)).or_insert((0, 0));
                *sum = (sum.0 + found.blocks * 512, sum.1 + 1);
            }
        }
        sums
    }

    fn accounts(&self) -> Accounts {
        let of = |kind: QuotaKind| self.fs.quotas(kind).unwrap().into_iter().map(move |(id, usage)| ((kind as usize, id), usage));
        KINDS.into_iter().flat_map(of).collect()
    }

    /// Checks the accounts after a step.
    fn check(&self, before: &Accounts, now: i64, done: Result<(), Errno>) -> Accounts {
        let accounts = self.accounts();
        let sums: BTreeMap<_, _> = accounts.iter().map(|(id, usage)| (*id, (usage.bytes, usage.nodes))).collect();
        let used = sums.into_iter().filter(|(_, sum)| *sum != (0, 0)).collect::<BTreeMap<_, _>>();
        assert_eq!(used, self.recount());
        let limited = before.values().any(|usage| usage.limits != QuotaLimits::default());
        assert!(limited || done != Err(Errno::EDQUOT), "no account has a limit");
        for (id, usage) in &accounts {
            let old = before.get(id).copied().unwrap_or_default();
            assert!(done != Err(Errno::EDQUOT) || (usage.bytes, usage.nodes) == (old.bytes, old.nodes), "{id:?}");
            let limits = usage.limits;
            assert_limits((old.bytes, usage.bytes), (limits.bytes, limits.soft_bytes), old.bytes_until, now);
            assert_limits((old.nodes, usage.nodes), (limits.nodes, limits.soft_nodes), old.nodes_until, now);
            assert_eq!(usage.bytes_until.is_some(), limits.soft_bytes.is_some_and(|soft| usage.bytes > soft), "{id:?}");
            assert_eq!(usage.nodes_until.is_some(), limits.soft_nodes.is_some_and(|soft| usage.nodes > soft), "{id:?}");
        }
        accounts
    }
}

/// Checks that a resource that grew is within the hard limit, and also within the soft one if its
/// time is over.
fn assert_limits((before, after): (u64, u64), (hard, soft): (Option<u64>, Option<u64>), until: Option<Timestamp>, now: i64) {
    if after > before {
        assert!(hard.is_none_or(|hard| after <= hard), "{after} of {hard:?}");
        let is_over = until.is_some_and(|until| now >= until.seconds);
        assert!(!is_over || soft.is_none_or(|soft| after <= soft), "{after} of {soft:?}");
    }
}

#[test]
fn accounts_are_what_a_recount_finds() {
    let steps = std::env::var("PATHWALK_QUOTA_OPERATIONS").map_or(20_000, |steps| steps.parse().unwrap());
    let steps = if cfg!(miri) { 100 } else { steps };
    let mut answers = BTreeMap::<_, u64>::new();
    for seed in 0..=steps / 5000 {
        let mut world = World::new(seed);
        let mut before = world.accounts();
        for step in 0..(steps - seed * 5000).min(5000) {
            let now = world.clock.load(Relaxed);
            let done = world.step();
            *answers.entry(done.err()).or_default() += 1;
            let checked = std::panic::AssertUnwindSafe(|| world.check(&before, now, done));
            before = std::panic::catch_unwind(checked).unwrap_or_else(|_| panic!("seed {seed}, step {step}: {done:?}"));
        }
        world.open.clear();
        let usage = world.fs.usage();
        assert_eq!((usage.held, usage.unlinked), (0, 0), "seed {seed}");
    }
    println!("{answers:?}");
    let met = |errno| answers.contains_key(&Some(errno));
    assert!(cfg!(miri) || [Errno::EDQUOT, Errno::ENOSPC, Errno::EXDEV].into_iter().all(met), "{answers:?}");
}
