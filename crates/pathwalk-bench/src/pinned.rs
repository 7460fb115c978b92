//! The cost of a change of a name where most slots are pinned, because handles are open on them.
//!
//! Each pinned share has a `Vfs` of its own over a memfs. All its slots are in use: some by files
//! that are held, the others by names that were made and removed. So each change that needs a slot
//! has to find one among those that are not held. Two changes are timed: making a file, and
//! removing the name of an open file. (A negative entry takes the place of that name. It needs a
//! slot, because the old entry stays with the open file.)
//!
//! The shares take turns. Names are made before the clock runs, and the files of a turn are removed
//! after it.
//!
//! What it does not do: measure the first round of the clock hands, in which they meet every pinned
//! slot once. That round is over before the measurement.

use std::time::{Duration, Instant};

use pathwalk::{Context, Credentials, Errno, File, Handle, NewKind, OpenFlags, OpenHow, Vfs};
use pathwalk_memfs::MemFs;

use crate::machine::{Doing, SetUpError};
use crate::rounds::Quartiles;

/// The number of changes of each kind in a turn.
const CHANGES: usize = 256;
/// The largest number of files that are open at once beside those that are held.
const MOST_OPEN: usize = 64;
/// The number of slots that are pinned besides files: the root and two directories.
const DIRECTORIES: usize = 3;
/// The share that the others are compared with, in percent.
pub const BASE: u32 = 50;

/// The plan of a measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// The numbers of slots of the caches.
    pub slots: Vec<u32>,
    /// The percentages of the slots that are pinned.
    pub pinned: Vec<u32>,
    /// The number of rounds that are timed.
    pub rounds: u32,
}

impl Plan {
    /// Returns the number of calls of `tick`.
    pub fn steps(&self) -> u64 {
        self.slots.len() as u64 * self.pinned.len() as u64 * (u64::from(self.rounds) + 1)
    }
}

/// The cost of a change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Cost {
    /// The nanoseconds, over the rounds.
    pub ns: Quartiles,
    /// The ratio to the time for the share of [`BASE`] percent in the same round, if that was
    /// measured.
    pub of_base: Option<Quartiles>,
    /// The mean number of slots that were looked at.
    pub looks: f64,
}

/// The results for a share of some number of slots.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Row {
    /// The number of slots of the cache.
    pub slots: u32,
    /// The percentage of them that were pinned.
    pub pinned: u32,
    /// The cost of making a file.
    pub mknod: Cost,
    /// The cost of removing the name of an open file.
    pub unlink: Cost,
}

/// Runs the bench. `tick` is called for each share that was prepared, and after each of its turns.
pub fn run(plan: &Plan, tick: &mut dyn FnMut()) -> Result<Vec<Row>, SetUpError> {
    let mut rows = Vec::new();
    for slots in &plan.slots {
        rows.extend(race(*slots, plan, tick)?);
    }
    Ok(rows)
}

/// Measures all shares of a cache with this number of slots.
fn race(slots: u32, plan: &Plan, tick: &mut dyn FnMut()) -> Result<Vec<Row>, SetUpError> {
    let doing = |share: u32| move || format!("making {slots} slots ready of which {share} % are pinned");
    let mut lanes = Vec::new();
    for share in &plan.pinned {
        let world = World::new(slots, *share).doing(doing(*share))?;
        lanes.push(Lane { world, mknod: Vec::new(), unlink: Vec::new() });
        tick();
    }
    for round in 0..plan.rounds as usize {
        for step in 0..lanes.len() {
            let at = (round + step) % lanes.len();
            lanes[at].turn().doing(doing(plan.pinned[at]))?;
            tick();
        }
    }
    let base = plan.pinned.iter().position(|share| *share == BASE).map(|at| &lanes[at]);
    let row = |(lane, share): (&Lane, &u32)| Row {
        slots,
        pinned: *share,
        mknod: cost(&lane.mknod, base.map(|base| &base.mknod)),
        unlink: cost(&lane.unlink, base.map(|base| &base.unlink)),
    };
    Ok(lanes.iter().zip(&plan.pinned).map(row).collect())
}

fn cost(turns: &[Turn], base: Option<&Vec<Turn>>) -> Cost {
    let of_base = |base: &Vec<Turn>| Quartiles::of(turns.iter().zip(base).map(|(turn, base)| turn.ns() / base.ns()).collect());
    let all = turns.iter().map(|turn| turn.changes).sum::<usize>().max(1);
    Cost {
        ns: Quartiles::of(turns.iter().map(Turn::ns).collect()),
        of_base: base.map(of_base),
        looks: turns.iter().map(|turn| turn.looks).sum::<u64>() as f64 / all as f64,
    }
}

/// Some changes of one kind.
#[derive(Default)]
struct Turn {
    changes: usize,
    time: Duration,
    looks: u64,
}

impl Turn {
    fn ns(&self) -> f64 {
        self.time.as_secs_f64() * 1e9 / self.changes as f64
    }
}

/// A share, and its measurements by round.
struct Lane {
    world: World,
    mknod: Vec<Turn>,
    unlink: Vec<Turn>,
}

impl Lane {
    fn turn(&mut self) -> Result<(), Errno> {
        self.mknod.push(self.world.make_files()?);
        self.unlink.push(self.world.unlink_open_files()?);
        Ok(())
    }
}

/// A `Vfs` with a share of its slots pinned.
struct World {
    context: Context,
    /// The number of files that are open at once beside those that are held.
    open: usize,
    /// The number of the next name.
    next: usize,
    held: Vec<Handle>,
}

impl World {
    fn new(slots: u32, share: u32) -> Result<World, Box<dyn std::error::Error + Send + Sync>> {
        let slots = slots as usize;
        let held = (slots * share as usize / 100).saturating_sub(DIRECTORIES);
        let mut world = World::empty(slots)?;
        for file in 0..held {
            let name = format!("/held/{file}");
            world.make(&name)?;
            world.held.push(world.context.lookup(&name)?);
        }
        // After this, the hands have gone round, and the remaining names were all made here.
        for name in world.names(2 * (slots - held) + CHANGES) {
            world.make(&name)?;
            world.unlink(&name)?;
        }
        world.make_files()?;
        world.unlink_open_files()?;
        Ok(world)
    }

    /// Creates a `Vfs` in which only the directories are pinned.
    fn empty(slots: usize) -> Result<World, Box<dyn std::error::Error + Send + Sync>> {
        let fs = MemFs::new();
        fs.mkdir("/held", 0o755)?;
        fs.mkdir("/new", 0o755)?;
        let vfs = Vfs::builder().budget(Vfs::budget_for(slots as u64)).one_by_one().build(fs)?;
        let context = vfs.context(Credentials::root());
        let held = vec![context.lookup("/new")?];
        Ok(World { context, open: (slots / 800).clamp(1, MOST_OPEN), next: 0, held })
    }

    fn names(&mut self, count: usize) -> Vec<String> {
        let names = (self.next..self.next + count).map(|name| format!("/new/{name}")).collect();
        self.next += count;
        names
    }

    fn make(&self, name: &str) -> Result<(), Errno> {
        self.context.mknod(name, NewKind::Regular, 0o644)
    }

    fn unlink(&self, name: &str) -> Result<(), Errno> {
        self.context.unlink(name)
    }

    fn open(&self, name: &str) -> Result<File, Errno> {
        let how = OpenHow { flags: OpenFlags::CREATE | OpenFlags::WRITE, mode: 0o644, ..OpenHow::default() };
        self.context.open(name, how)
    }

    /// Makes files. They are removed again while no clock runs.
    fn make_files(&mut self) -> Result<Turn, Errno> {
        let mut turn = Turn::default();
        let names = self.names(CHANGES);
        self.timed(&mut turn, &names, World::make)?;
        names.iter().try_for_each(|name| self.unlink(name))?;
        Ok(turn)
    }

    /// Removes the names of open files. The files are opened before and closed after, while no
    /// clock runs.
    fn unlink_open_files(&mut self) -> Result<Turn, Errno> {
        let mut turn = Turn::default();
        while turn.changes < CHANGES {
            let names = self.names(self.open);
            let files = names.iter().map(|name| self.open(name)).collect::<Result<Vec<File>, _>>()?;
            self.timed(&mut turn, &names, World::unlink)?;
            drop(files);
        }
        Ok(turn)
    }

    fn timed(&self, turn: &mut Turn, names: &[String], change: fn(&World, &str) -> Result<(), Errno>) -> Result<(), Errno> {
        let looks = self.context.vfs().stats().looks;
        let start = Instant::now();
        names.iter().try_for_each(|name| change(self, name))?;
        turn.time += start.elapsed();
        turn.looks += self.context.vfs().stats().looks - looks;
        turn.changes += names.len();
        Ok(())
    }
}

/// The number of slots beside those of the open files that [`unlink_all`] removes.
const SPARE: usize = 5000;

/// The cost of removing the names of many open files, one after the other, including the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unlinked {
    /// The number of files that were open.
    pub files: u32,
    /// The number of slots of the cache.
    pub slots: u32,
    /// The time of all removals.
    pub time: Duration,
}

/// Opens `files` files with few slots more, and removes all their names. The hands have not gone
/// round before.
pub fn unlink_all(files: u32) -> Result<Unlinked, SetUpError> {
    let doing = || format!("taking away the names of {files} open files");
    let slots = files as usize + SPARE;
    let mut world = World::empty(slots).doing(doing)?;
    let names = world.names(files as usize);
    let files_open = names.iter().map(|name| world.open(name)).collect::<Result<Vec<_>, _>>().doing(doing)?;
    let mut turn = Turn::default();
    world.timed(&mut turn, &names, World::unlink).doing(doing)?;
    drop(files_open);
    Ok(Unlinked { files, slots: slots as u32, time: turn.time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_share_of_every_size_is_measured() {
        let plan = Plan { slots: vec![1000, 2000], pinned: vec![0, 50, 99], rounds: 2 };
        let mut ticks = 0;
        let rows = run(&plan, &mut || ticks += 1).unwrap();
        assert_eq!(ticks, plan.steps());
        let of = |row: &Row| (row.slots, row.pinned);
        assert_eq!(
            rows.iter().map(of).collect::<Vec<_>>(),
            [1000, 2000].map(|slots| [0, 50, 99].map(|share| (slots, share))).concat()
        );
        for row in rows {
            assert!(row.mknod.ns.median > 0.0 && row.unlink.ns.median > 0.0 && row.unlink.looks > 0.0, "{row:?}");
        }
    }

    #[test]
    fn all_names_of_open_files_are_taken_away() {
        let unlinked = unlink_all(1000).unwrap();
        assert_eq!((unlinked.files, unlinked.slots), (1000, 6000));
        assert!(unlinked.time > Duration::ZERO);
    }

    #[test]
    fn what_is_said_to_be_pinned_is() {
        for share in [0, 50, 99] {
            let world = World::new(1000, share).unwrap();
            let vfs = world.context.vfs();
            pathwalk::internals::evict(vfs, 2000);
            // If no file is to be held, the directories are still held.
            let (left, wanted) = (vfs.stats().dentries.used, (share * 10).max(DIRECTORIES as u32));
            assert!(left.abs_diff(wanted.into()) <= 1, "{share} %: {left} of 1,000 are left, {wanted} were to be");
        }
    }
}
