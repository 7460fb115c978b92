//! `cargo xtask differential --threads T`: threads at once, and an order that explains what they saw.
//!
//! A round is carried out by the engine, each operation with a stamp before and one behind it. Then an order is looked for in which the model
//! gives the same answers, one operation after the other, and has the same tree at the end; what had ended before another began comes before
//! it. Source: Wing and Gong, "Testing and verifying concurrent objects", 1993.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use std::collections::HashSet;

use anyhow::{Result, anyhow, ensure};

use crate::compare::{Identity, class, same_answer, tree_difference};
use crate::engine::Concurrent;
use crate::generate::{Round, rounds};
use crate::model::World;
use crate::op::Op;
use crate::outcome::{Answer, Transcript};
use crate::program::Step;

/// An operation that a thread carried out.
struct Event {
    step: Step,
    answer: Answer,
    began: u64,
    ended: u64,
}

/// What a round came to.
pub(crate) enum Verdict {
    Explained,
    /// No order explains it.
    Unexplained(String),
}

/// Draws a round, carries it out, and looks for an order.
pub(crate) fn one(seed: u64, threads: usize) -> Result<(u64, Verdict)> {
    let round = rounds::round(seed, threads);
    let (histories, engine) = carry_out(&round)?;
    let mut world = World::new(round.settings).map_err(|errno| anyhow!("set the model up: {errno:?}"))?;
    round.setup.iter().for_each(|step| drop(world.carry_out(step)));
    let ops = histories.iter().map(|history| history.len() as u64).sum();
    let mut search = Search { parts: &Part::all(&histories), engine: &engine, dead_ends: HashSet::new() };
    if search.explains(&mut vec![0; histories.len()], &world, &Identity::default()) {
        return Ok((ops, Verdict::Explained));
    }
    Ok((ops, Verdict::Unexplained(told(&round, &histories))))
}

fn carry_out(round: &Round) -> Result<(Vec<Vec<Event>>, Transcript)> {
    let concurrent = Concurrent::new(round.settings)?;
    let mut stage = concurrent.stage();
    round.setup.iter().for_each(|step| drop(stage.carry_out(step)));
    let (clock, ready) = (AtomicU64::new(0), AtomicUsize::new(0));
    let all = round.threads.len();
    let histories = thread::scope(|scope| {
        let spawned: Vec<_> = round
            .threads
            .iter()
            .map(|steps| {
                let mut stage = concurrent.stage();
                let (clock, ready) = (&clock, &ready);
                scope.spawn(move || {
                    ready.fetch_add(1, Ordering::SeqCst);
                    while ready.load(Ordering::SeqCst) < all {
                        thread::yield_now();
                    }
                    let event = |step: &Step| {
                        let began = clock.fetch_add(1, Ordering::SeqCst);
                        let answer = stage.carry_out(step).answer;
                        Event { step: step.clone(), answer, began, ended: clock.fetch_add(1, Ordering::SeqCst) }
                    };
                    steps.iter().map(event).collect::<Vec<Event>>()
                })
            })
            .collect();
        spawned.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))).collect::<Result<Vec<_>>>()
    })?;
    ensure!(histories.len() == all, "a thread is missing");
    drop(stage);
    Ok((histories, concurrent.end()?))
}

/// A part of an operation.
struct Part<'a> {
    step: Step,
    of: &'a Event,
    /// The parts of the same operation behind it.
    left: usize,
}

impl<'a> Part<'a> {
    fn all(histories: &'a [Vec<Event>]) -> Vec<Vec<Part<'a>>> {
        let of_history =
            |(thread, history): (usize, &'a Vec<Event>)| history.iter().flat_map(|event| Part::of(event, thread)).collect();
        histories.iter().enumerate().map(of_history).collect()
    }

    fn of(event: &'a Event, thread: usize) -> Vec<Part<'a>> {
        let ops = rounds::parts(&event.step, thread);
        let last = ops.len() - 1;
        let part = |(index, op)| Part { step: Step { actor: event.step.actor, op }, of: event, left: last - index };
        ops.into_iter().enumerate().map(part).collect()
    }
}

struct Search<'a> {
    parts: &'a [Vec<Part<'a>>],
    engine: &'a Transcript,
    /// From where there is no way: how far each thread is, and the state of the model.
    dead_ends: HashSet<(Vec<usize>, u64)>,
}

impl Search<'_> {
    /// Whether there is an order of what is left behind `done` of each thread.
    fn explains(&mut self, done: &mut Vec<usize>, world: &World, identity: &Identity) -> bool {
        let parts = self.parts;
        let next: Vec<(usize, &Part<'_>)> =
            (0..done.len()).filter_map(|thread| parts[thread].get(done[thread]).map(|part| (thread, part))).collect();
        let Some(first_end) = next.iter().map(|(_, part)| part.of.ended).min() else {
            return tree_difference(&world.transcript(), self.engine, Identity::default()).is_none();
        };
        let state = (done.clone(), hash(world, identity));
        if self.dead_ends.contains(&state) {
            return false;
        }
        for (thread, part) in next.into_iter().filter(|(_, part)| part.of.began < first_end) {
            let (mut world, mut identity) = (world.clone(), identity.clone());
            let answer = world.carry_out(&part.step).answer;
            let fails = matches!(answer, Answer::Failed(_));
            if part.left > 0 && !fails || agree(&part.of.step.op, &answer, &part.of.answer, &mut identity) {
                // What fails at its first part has no other.
                let steps = if fails { part.left + 1 } else { 1 };
                done[thread] += steps;
                if self.explains(done, &world, &identity) {
                    return true;
                }
                done[thread] -= steps;
            }
        }
        self.dead_ends.insert(state);
        false
    }
}

/// What is opened is looked at a moment later: only what it is counts.
fn agree(op: &Op, model: &Answer, engine: &Answer, identity: &mut Identity) -> bool {
    match (op, model, engine) {
        (Op::Open { .. }, Answer::Node(l), Answer::Node(r)) => l.kind == r.kind && identity.same(l.ino, r.ino),
        _ => same_answer(model, engine, identity),
    }
}

fn hash(world: &World, identity: &Identity) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    identity.hash(&mut hasher);
    hasher.finish()
}

/// The history, for people.
fn told(round: &Round, histories: &[Vec<Event>]) -> String {
    let mut text = String::from("# no order of these explains what they answered; first, one after the other:\n");
    for step in &round.setup {
        let _ = writeln!(text, "{step}");
    }
    for (thread, history) in histories.iter().enumerate() {
        let _ = writeln!(text, "# thread {thread}:");
        for Event { step, answer, began, ended } in history {
            let _ = writeln!(
                text,
                "{step}    # {began}..{ended} {}",
                match answer {
                    Answer::Node(node) => format!("{node:?}"),
                    other => class(other),
                }
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::outcome::Interpreter;
    use crate::program::{Program, Settings};

    /// An operation, its answer, and from when to when.
    type Told = (&'static str, Answer, u64, u64);

    /// Whether threads that did this, and left the tree that `left` makes, are explained.
    fn explained(threads: &[&[Told]], left: &str) -> bool {
        let event = |(line, answer, began, ended): &Told| Event {
            step: line.parse().expect("a step"),
            answer: answer.clone(),
            began: *began,
            ended: *ended,
        };
        let histories: Vec<Vec<Event>> = threads.iter().map(|told| told.iter().map(event).collect()).collect();
        let program: Program = left.parse().expect("a program");
        let engine = Engine.run(&program).expect("the engine carries it out").without_steps();
        let world = World::new(Settings::empty()).expect("a model");
        let mut search = Search { parts: &Part::all(&histories), engine: &engine, dead_ends: HashSet::new() };
        search.explains(&mut vec![0; histories.len()], &world, &Identity::default())
    }

    const MKDIR: &str = "root mkdir \"c\" 0755";
    const RMDIR: &str = "root rmdir \"c\"";
    const EEXIST: Answer = Answer::Failed(pathwalk::Errno::EEXIST);

    #[test]
    fn one_of_two_may_make_a_name() {
        assert!(explained(&[&[(MKDIR, Answer::Done, 0, 2)], &[(MKDIR, EEXIST, 1, 3)]], MKDIR));
        assert!(explained(&[&[(MKDIR, EEXIST, 0, 2)], &[(MKDIR, Answer::Done, 1, 3)]], MKDIR));
        assert!(!explained(&[&[(MKDIR, Answer::Done, 0, 2)], &[(MKDIR, Answer::Done, 1, 3)]], MKDIR));
    }

    #[test]
    fn what_had_ended_comes_before() {
        assert!(!explained(&[&[(MKDIR, EEXIST, 0, 1)], &[(MKDIR, Answer::Done, 2, 3)]], MKDIR));
    }

    #[test]
    fn the_tree_has_to_come_out() {
        let both: [&[Told]; 2] = [&[(MKDIR, Answer::Done, 0, 2)], &[(RMDIR, Answer::Done, 1, 3)]];
        assert!(explained(&both, "root stat \"/\" -"));
        assert!(!explained(&both, MKDIR));
    }

    #[test]
    fn between_finding_and_naming_others_come() {
        let file = "root mknod \"c\" file 0644";
        let link = "root link \"c\" \"d\" -";
        let moved = "root rename \"c\" \"e\" -";
        let missing = ("root stat \"d\" -", Answer::Failed(pathwalk::Errno::ENOENT), 6, 7);
        // When the name was made, what it was made from had another already.
        let threads: [&[Told]; 2] =
            [&[(file, Answer::Done, 0, 1), (link, Answer::Done, 2, 9)], &[(moved, Answer::Done, 4, 5), missing]];
        assert!(explained(&threads, &format!("{file}\n{link}\n{moved}")));
    }
}
