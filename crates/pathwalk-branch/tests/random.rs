//! Random operations on branches that are forked, compared, committed and dropped, beside whole
//! copies of their trees.
//!
//! `PATHWALK_BRANCH_ROUNDS` is the number of rounds, of 400 steps each, on each kind of base.

use std::collections::BTreeMap;

use crate::common::Ground;
use crate::common::trees::{Copied, Node, change, look};
use fastrand::Rng;
use pathwalk::Context;
use pathwalk_branch::{Aspects, Change, Error};

struct Branch {
    name: String,
    parent: Option<usize>,
    context: Context,
    /// The tree when it was forked, and now.
    forked: Copied,
    now: Copied,
    /// The number of renames that it has seen, and that of its parent when it was forked.
    renames: u64,
    of_parent: u64,
}

/// Returns the longest of some paths that is another, or a directory above it, with what belongs to
/// it.
fn nearest<'a, T>(of: &'a BTreeMap<Vec<u8>, T>, path: &[u8]) -> Option<(&'a Vec<u8>, &'a T)> {
    let above = |end: usize| of.get_key_value(&path[..end]);
    let ends = (1..=path.len()).rev().filter(|end| *end == path.len() || path[*end] == b'/');
    ends.into_iter().find_map(above)
}

/// Checks that changes lead from one tree to another.
fn check(changes: &[Change], old: &Copied, new: &Copied) {
    let (mut moves, mut expected, mut told) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut replaced = BTreeMap::new();
    for change in changes {
        match change {
            Change::Added { path, .. } => _ = expected.insert(path.to_vec(), None),
            Change::Removed { path, .. } => _ = moves.insert(path.to_vec(), None),
            Change::Renamed { from, path, what, .. } => {
                moves.insert(from.to_vec(), Some(path.to_vec()));
                told.insert(path.to_vec(), *what);
            }
            Change::Changed { path, what, .. } => _ = told.insert(path.to_vec(), *what),
            Change::TypeChanged { path, .. } => _ = replaced.insert(path.to_vec(), ()),
            other => panic!("{other:?} is new"),
        }
    }
    for (path, node) in old {
        let (to, moved_to) = match nearest(&moves, path) {
            None => (path.clone(), 0),
            Some((_, None)) => continue,
            Some((from, Some(to))) => ([to, &path[from.len()..]].concat(), to.len()),
        };
        // What was below a directory that another node replaced went with it; what was moved there
        // came later.
        if nearest(&replaced, &to).is_none_or(|(place, ())| place.len() < moved_to) {
            expected.insert(to, Some(node));
        }
    }
    expected.extend(replaced.into_keys().map(|path| (path, None)));
    let paths = |of: &mut dyn Iterator<Item = &Vec<u8>>| of.map(|path| path.escape_ascii().to_string()).collect::<Vec<_>>();
    assert_eq!(paths(&mut expected.keys()), paths(&mut new.keys()), "{changes:?}");
    for (path, before) in expected {
        let (Some(before), now) = (before, &new[&path]) else { continue };
        let told = told.get(&path).copied().unwrap_or_default();
        let shown = path.escape_ascii().to_string();
        assert!(now.data == before.data || told.contains(Aspects::DATA), "data of {shown}: {changes:?}");
        assert!(now.mode == before.mode || told.contains(Aspects::ATTRIBUTES), "mode of {shown}: {changes:?}");
    }
}

/// Returns the merge of two trees by paths, in which no name moved.
fn merged(forked: &Copied, ours: &Copied, theirs: &Copied) -> Copied {
    let mut merged = Copied::new();
    for path in ours.keys().chain(theirs.keys()) {
        let [before, one, other] = [forked, ours, theirs].map(|tree| tree.get(path));
        let taken = match (one, other) {
            (one, other) if one == before => other.cloned(),
            (Some(one), Some(other)) if before.is_some() => {
                let before = before.expect("it was looked for");
                let mode = if one.mode == before.mode { other.mode } else { one.mode };
                let data = if one.data == before.data { &other.data } else { &one.data };
                Some(Node { kind: one.kind, mode, data: data.clone() })
            }
            (one, _) => one.cloned(),
        };
        merged.extend(taken.map(|node| (path.clone(), node)));
    }
    merged
}

fn context_of(branch: &Option<Branch>) -> &Context {
    &branch.as_ref().expect("it is there").context
}

struct World {
    ground: Ground,
    branches: Vec<Option<Branch>>,
    committed: usize,
    refused: usize,
}

impl World {
    fn fork(&mut self, parent: Option<usize>) {
        let name = self.branches.len().to_string();
        let of = parent.map(|parent| self.branches[parent].as_ref().expect("it is there"));
        let context = self.ground.fork(of.map(|branch| &*branch.name), &name);
        let forked = of.map_or_else(|| look(&self.ground.base), |branch| branch.now.clone());
        let of_parent = of.map_or(0, |branch| branch.renames);
        self.branches.push(Some(Branch { name, parent, context, now: forked.clone(), forked, renames: 0, of_parent }));
    }

    fn has_forks(&self, of: usize) -> bool {
        self.branches.iter().flatten().any(|branch| branch.parent == Some(of))
    }

    fn check_all(&self) {
        for branch in self.branches.iter().flatten() {
            assert_eq!(look(&branch.context), branch.now, "branch {} on {}", branch.name, self.ground.name);
            assert_eq!(look(&self.ground.again(&branch.name)), branch.now, "without caches");
            check(&self.ground.branches.diff(&branch.name).expect("it is there"), &branch.forked, &branch.now);
        }
    }

    fn commit(&mut self, at: usize) {
        let Some(Branch { parent: Some(parent), .. }) = self.branches[at] else { return };
        if self.has_forks(at) {
            return;
        }
        let branch = self.branches[at].take().expect("it is there");
        let onto = self.branches[parent].as_mut().expect("it has a fork");
        let is_alone = onto.now == branch.forked;
        let has_moves = branch.renames > 0 || onto.renames > branch.of_parent;
        match self.ground.branches.commit(&branch.name) {
            Ok(()) => {
                let now = look(&onto.context);
                assert_eq!(now, look(&self.ground.again(&onto.name)), "without caches");
                if is_alone {
                    assert_eq!(now, branch.now, "all of the branch");
                } else if !has_moves {
                    assert!(now == merged(&branch.forked, &branch.now, &onto.now), "the merge of {}", branch.name);
                }
                onto.renames += branch.renames;
                onto.now = now;
                self.committed += 1;
            }
            Err(Error::Conflicts { conflicts, .. }) => {
                assert!(!conflicts.is_empty());
                assert_eq!(look(&onto.context), onto.now, "nothing was done");
                self.ground.branches.drop(&branch.name).expect("it has no forks");
                self.refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }

    /// Closes the store and opens it again, with all that was open.
    fn reopen(&mut self) {
        let nowhere = self.ground.base.clone();
        self.branches.iter_mut().flatten().for_each(|branch| branch.context = nowhere.clone());
        self.ground.reopen();
        for branch in self.branches.iter_mut().flatten() {
            branch.context = self.ground.again(&branch.name);
        }
    }

    fn step(&mut self, random: &mut Rng) {
        let there: Vec<usize> = (0..self.branches.len()).filter(|at| self.branches[*at].is_some()).collect();
        let at = there[random.usize(..there.len())];
        match random.u8(..40) {
            0 if there.len() < 6 => self.fork(None),
            1..4 if there.len() < 6 => self.fork(Some(at)),
            4 | 5 => self.commit(at),
            6 if there.len() > 1 && !self.has_forks(at) => {
                let branch = self.branches[at].take().expect("it is there");
                self.ground.branches.drop(&branch.name).expect("it has no forks");
            }
            7 => self.check_all(),
            8 if self.ground.is_stored() => self.reopen(),
            10 => _ = self.ground.branches.collect().expect("all of it can be read"),
            9 => context_of(&self.branches[at]).syncfs("/").expect("there is room"),
            _ => {
                let branch = self.branches[at].as_mut().expect("it is there");
                branch.renames += u64::from(change(&branch.context, random));
                branch.now = look(&branch.context);
            }
        }
    }
}

#[test]
fn branches_are_as_whole_copies() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let rounds = std::env::var("PATHWALK_BRANCH_ROUNDS").map_or(4, |rounds| rounds.parse().expect("it is a number"));
    let (mut committed, mut refused) = (0, 0);
    for _ in 0..rounds {
        let mut of_base = random.fork();
        let filled = of_base.u64(..);
        let grounds = Ground::each(|base| {
            let mut of_base = Rng::with_seed(filled);
            (0..60).for_each(|_| _ = change(base, &mut of_base));
        });
        for ground in grounds {
            let base = look(&ground.base);
            let mut world = World { ground, branches: Vec::new(), committed: 0, refused: 0 };
            world.fork(None);
            (0..400).for_each(|_| world.step(&mut random));
            world.check_all();
            assert_eq!(look(&world.ground.base), base, "the base is as it was");
            (committed, refused) = (committed + world.committed, refused + world.refused);
            let World { ground, branches, .. } = world;
            let names: Vec<_> = branches.iter().flatten().map(|branch| branch.name.clone()).rev().collect();
            drop(branches);
            names.iter().for_each(|name| ground.branches.drop(name).expect("its forks are gone"));
            assert!(ground.has_stored(0), "all data went with the branches");
        }
    }
    println!("{committed} commits, and {refused} with conflicts");
}
