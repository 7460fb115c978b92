//! Branches in the place of the file system.
//!
//! A program is cut into acts, between which the file system is mounted anew. The first act makes
//! the base. The next works on a branch of it, the next on a fork of that, and so on. After two
//! acts on forks, all of them are committed, each onto its parent, and a fork in which all was
//! removed is dropped. At the end of the program all is committed onto the base. In some programs,
//! each branch is rebased before it is forked or committed, and a second fork of the same parent
//! takes over by a rebase what the first one has committed. The kernel's side does nothing of that,
//! and must be equal.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result};
use pathwalk::{Credentials, FileSystem, Timestamp, Vfs};
use pathwalk_branch::{Branch, Branches, Options, Resolution};

use super::Tree;
use crate::cast::ROOT;
use crate::op::Op;
use crate::outcome::{Answer, Transcript};
use crate::program::{Program, Settings, Step};
use crate::times::{Time, tick};

/// The number of forks of one another before they are committed.
const DEEPEST: usize = 3;

/// The budget of the caches of the base, in bytes: each node that a branch holds is held there.
const BUDGET: u64 = 16 << 20;

/// A base with its branches.
pub(crate) struct Grown {
    base: Tree,
    is_rebased: bool,
    clock: Option<Arc<AtomicU32>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    acts: usize,
    branches: Option<Branches>,
    /// The branches that were forked of one another, by the number of forks above them.
    depth: usize,
}

/// The second fork of a parent.
const SECOND: &str = "second";

fn name(depth: usize) -> String {
    format!("fork {depth}")
}

impl Grown {
    /// Creates a base without branches. Without a clock, branches have the system's.
    pub(crate) fn new(base: Tree, settings: Settings, clock: Option<Arc<AtomicU32>>) -> Grown {
        Grown { base, is_rebased: settings.contains(Settings::REBASES), clock, state: Mutex::default() }
    }

    /// Goes on to a fork of what the last act was on, or commits that.
    pub(super) fn next_act(&self) -> Result<()> {
        let mut state = self.state.lock().expect("no thread panics here");
        let State { acts, branches, depth } = &mut *state;
        *acts += 1;
        match (*acts, &*branches) {
            (1, _) => return Ok(()),
            (_, None) => {
                let base = Vfs::builder().budget(BUDGET).build(self.base.for_vfs())?.context(Credentials::root());
                let options = match self.clock.clone() {
                    Some(clock) => Options::default().clock(move || tick(clock.load(Relaxed))),
                    // The host's times tell steps apart that are within one tick of its clock.
                    None => Options::default().clock(Timestamp::now),
                };
                let of_base = Branches::with(base, options)?;
                of_base.fork(None, &name(0))?;
                *branches = Some(of_base);
            }
            (_, Some(branches)) if *depth + 1 < DEEPEST => {
                self.rebase(branches, &name(*depth))?;
                branches.fork(Some(&name(*depth)), &name(*depth + 1))?;
                *depth += 1;
            }
            (_, Some(branches)) => self.commit_forks(branches, depth)?,
        }
        Ok(())
    }

    /// Commits all onto the base.
    pub(super) fn end(&self) -> Result<()> {
        let mut state = self.state.lock().expect("no thread panics here");
        let State { branches, depth, .. } = &mut *state;
        if let Some(of_base) = branches {
            self.commit_forks(of_base, depth)?;
            self.rebase(of_base, &name(0))?;
            of_base.commit(&name(0)).context("commit onto the base")?;
            *branches = None;
        }
        Ok(())
    }

    /// Returns the file system for a `Vfs`.
    pub(super) fn for_vfs(&self) -> Box<dyn FileSystem> {
        let state = self.state.lock().expect("no thread panics here");
        let found: Option<Branch> =
            state.branches.as_ref().map(|branches| branches.get(&name(state.depth)).expect("it was forked"));
        match found {
            Some(branch) => Box::new(branch),
            None => self.base.for_vfs(),
        }
    }

    /// Commits all forks, the deepest first.
    fn commit_forks(&self, branches: &Branches, depth: &mut usize) -> Result<()> {
        while *depth > 0 {
            let (fork, parent) = (name(*depth), name(*depth - 1));
            wreck(branches, &fork).context("wreck a fork and drop it")?;
            self.rebase(branches, &fork)?;
            let second = self.is_rebased.then(|| branches.fork_only(Some(&parent), SECOND)).transpose()?;
            branches.commit(&fork)?;
            if second.is_some() {
                self.rebase(branches, SECOND)?;
                // What it has in other ways than the parent, the parent gets.
                branches.commit(SECOND).context("commit a fork that has nothing of its own")?;
            }
            *depth -= 1;
        }
        Ok(())
    }

    /// Rebases a branch onto its parent or the base, if this is such a program.
    fn rebase(&self, branches: &Branches, name: &str) -> Result<()> {
        if self.is_rebased {
            branches.rebase(name, &Resolution::default()).context("rebase a branch")?;
        }
        Ok(())
    }
}

/// Forks a branch, changes what is there, and drops the fork.
fn wreck(branches: &Branches, name: &str) -> Result<()> {
    let fork = branches.fork(Some(name), "wrecked")?;
    let context = Vfs::builder().budget(BUDGET).build(fork)?.context(Credentials::root());
    for entry in context.read_dir("/")? {
        let path = [b"/", entry?.name()].concat();
        // Some files cannot be removed.
        let _ = context.remove_dir_all(&path);
        let _ = context.remove_file(&path);
    }
    // Nor can every directory be written to.
    let _ = context.write("/wrecked", "text");
    branches.diff("wrecked")?;
    branches.drop("wrecked")?;
    Ok(())
}

/// Takes from a program what cannot be compared, and cuts it into acts.
pub(super) fn adapt(program: &mut Program) {
    program.settings -= Settings::FEW_NODES | Settings::FEW_PAGES;
    let length = program.steps.len();
    if !program.steps.iter().any(|step| matches!(step.op, Op::Mount { .. })) {
        for at in [4, 3, 2, 1] {
            let step = Step { actor: ROOT, op: Op::Mount { flags: pathwalk::MountFlags::empty() } };
            program.steps.insert(length * at / 5, step);
        }
    }
    without_seeks_in_space_of_the_base(program);
}

/// Leaves out searches for data and holes where space is reserved in the base, and again on
/// branches. On a tmpfs it is data then. A branch cannot tell such space of its base from a hole.
fn without_seeks_in_space_of_the_base(program: &mut Program) {
    let is_mount = |step: &Step| matches!(step.op, Op::Mount { .. });
    let base = program.steps.iter().position(is_mount).unwrap_or(program.steps.len());
    let reserves = |steps: &[Step]| steps.iter().any(|step| super::allocates(&step.op));
    if reserves(&program.steps[..base]) && reserves(&program.steps[base..]) {
        let on_branches = program.steps.split_off(base).into_iter();
        program.steps.extend(on_branches.filter(|step| !matches!(step.op, Op::SeekData { .. } | Op::SeekHole { .. })));
    }
}

/// Returns the transcript without the numbers of devices: the base has one, and so has each branch.
/// Blocks of a file of the base that was changed in parts are not known.
pub(super) fn comparable(mut transcript: Transcript) -> Transcript {
    for outcome in &mut transcript.outcomes {
        if let Answer::Listing(listing) = &mut outcome.answer {
            listing.values_mut().for_each(|(_, ino)| *ino &= INO);
        }
    }
    transcript.nodes_mut(|node| {
        node.blocks = 0;
        node.ino &= INO;
    });
    // The commit onto the base has made and changed nodes at its own time.
    for leaf in transcript.tree.values_mut() {
        (leaf.node.ctime, leaf.node.btime, leaf.node.ino) = (Time::Step(None), Time::Step(None), 0);
    }
    transcript
}

/// The bits of a number that are those of the node itself.
const INO: u64 = 1 << 62 | ((1 << 40) - 1);
