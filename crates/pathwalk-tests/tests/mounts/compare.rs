//! Carries out the same operations on two systems and compares their results.

use std::collections::BTreeMap;

use super::files::{Call, Owner};
use super::op::{Kind, Op, Random, Spot};
use super::system::{Failure, Line, System, normalize};

/// The length of a sequence of operations: long enough for peers and slaves of several generations,
/// and short enough to keep the number of mounts small.
const LENGTH: usize = 120;

/// The length of every tenth sequence.
const LONG: usize = 500;

/// The number of mounts at which a sequence ends: beyond it, each operation would take longer than
/// all before.
const MANY: usize = 5_000;

/// The share of operations on files and id maps in every third sequence, in percent.
const FILES: usize = 90;

/// The share in the other sequences, in percent.
const FEW_FILES: usize = 10;

/// The counts of the comparison.
#[derive(Default, Debug)]
pub(crate) struct Tally {
    pub(crate) compared: u64,
    pub(crate) succeeded: u64,
    pub(crate) most_mounts: usize,
    /// The number of operations of each name, by result: 0 for success, or the errno.
    pub(crate) by_name: BTreeMap<String, BTreeMap<i32, u64>>,
}

/// Carries out one sequence. Returns a description of the first difference.
pub(crate) fn sequence(seed: u64, leader: &mut dyn System, follower: &mut dyn System, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut story = vec![format!("seed {seed}")];
    let mut dead = 0;
    let share = if seed.is_multiple_of(3) { FILES } else { FEW_FILES };
    let mut prologue = if share == FILES { random.prologue() } else { Vec::new() }.into_iter();
    for step in 0..if seed.is_multiple_of(10) { LONG } else { LENGTH } {
        let op = prologue.next().unwrap_or_else(|| random.op(share));
        let op = if step == 0 && seed % 2 == 1 { share_all() } else { op };
        let expected = leader.run(&op);
        if expected == Err(Failure::Skipped) {
            continue;
        }
        tally.compared += 1;
        let found = follower.run(&op);
        story.push(format!("{op:?}: {expected:?}"));
        let (ours, theirs) = (lines(leader), lines(follower));
        if expected != found || ours != theirs {
            story.push(format!("leader {expected:?}, follower {found:?}"));
            story.push(difference(&ours, &theirs));
            return Err(story.join("\n"));
        }
        if let Some(difference) = file_difference(&op, leader, follower) {
            story.push(difference);
            return Err(story.join("\n"));
        }
        if leader.run(&Op::File { user: 0, call: Call::Access("/".into(), 1) }).is_err() {
            break;
        }
        if ours.len() > MANY {
            count(tally, &op, expected, ours.len());
            break;
        }
        // The caller's root was unmounted, and hardly any operation succeeds any more.
        dead = if ours.is_empty() { dead + 1 } else { 0 };
        if dead == 15 {
            break;
        }
        random.set_points(ours.iter().map(|line| line.point.clone()));
        count(tally, &op, expected, ours.len());
    }
    Ok(())
}

/// Returns the first operation of half of the sequences, as distributions do it.
fn share_all() -> Op {
    Op::Propagation { at: Spot::Path("/".into()), kind: Kind::Shared, recursive: true }
}

/// Returns a description of a file of the operation that differs afterwards.
fn file_difference(op: &Op, leader: &mut dyn System, follower: &mut dyn System) -> Option<String> {
    op.files().into_iter().find_map(|path| {
        let stat = Op::File { user: 0, call: Call::Stat(path) };
        let (ours, theirs) = (leader.run(&stat), follower.run(&stat));
        (ours != theirs).then(|| format!("{stat:?}: leader {ours:?}, follower {theirs:?}"))
    })
}

fn lines(system: &mut dyn System) -> Vec<Line> {
    let mut lines = system.mountinfo();
    normalize(&mut lines);
    lines
}

fn difference(ours: &[Line], theirs: &[Line]) -> String {
    let side = |name: &str, lines: &[Line], others: &[Line]| {
        let mark = |(index, line): (usize, &Line)| {
            let mark = if others.get(index) == Some(line) { ' ' } else { '!' };
            format!("{mark} {line:?}")
        };
        let lines: Vec<String> = lines.iter().enumerate().map(mark).collect();
        format!("{name}\n{}", lines.join("\n"))
    };
    [side("leader", ours, theirs), side("follower", theirs, ours)].join("\n")
}

fn count(tally: &mut Tally, op: &Op, result: Result<Option<Owner>, Failure>, mounts: usize) {
    tally.most_mounts = tally.most_mounts.max(mounts);
    let name = match op {
        Op::File { call, .. } => format!("{call:?}"),
        other => format!("{other:?}"),
    };
    let name: String = name.chars().take_while(|letter| letter.is_alphanumeric()).collect();
    let errno = match result {
        Ok(_) => 0,
        Err(Failure::Errno(errno)) => errno,
        Err(Failure::Skipped) => return,
    };
    tally.succeeded += u64::from(errno == 0);
    *tally.by_name.entry(name).or_default().entry(errno).or_default() += 1;
}
