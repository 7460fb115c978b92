//! `cargo xtask differential --threads T`: runs concurrent threads, and searches for an order of
//! their operations that explains the answers.
//!
//! The engine carries out a round. Each operation gets a stamp before it and one after it. Then the
//! search looks for an order of the operations' parts in which the model gives the same answers and
//! has the same tree at the end. An operation that ended before another began comes before it.
//! Source: Wing and Gong, "Testing and verifying concurrent objects", 1993.

mod listing;
mod parts;
mod search;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, anyhow, ensure};
use pathwalk::OpenFlags;

use crate::cast::Actor;
use crate::compare::class;
use crate::engine::{Concurrent, Stage};
use crate::generate::rounds::{self, Round, Thread};
use crate::model::World;
use crate::model::crowd::Crowd;
use crate::op::Op;
use crate::outcome::{Answer, Transcript};
use crate::program::{Settings, Step};
use crate::words::{Text, Word as _, write_flags};
use search::{Found, Search};

/// An operation that a thread carried out.
struct Event {
    step: Step,
    answer: Answer,
    began: u64,
    ended: u64,
    /// A flag that is set if no other thread changed anything during the operation.
    undisturbed: bool,
    /// The last components of the names that other threads changed during it.
    coming_and_going: BTreeSet<Vec<u8>>,
}

/// The result of a round.
pub(crate) enum Verdict {
    Explained,
    /// No order explains the round.
    Unexplained(String),
}

/// Draws a round, carries it out, and searches for an order.
pub(crate) fn one(seed: u64, threads: usize) -> Result<(u64, Verdict)> {
    let round = rounds::round(seed, threads);
    let (histories, engine) = carry_out(&round)?;
    let ops = histories.iter().map(|history| history.len() as u64).sum();
    let crowd = crowd(&round).map_err(|errno| anyhow!("set the model up: {errno:?}"))?;
    let mut search = Search::new(&histories, &engine);
    let why = match search.run(crowd) {
        Found::Order => return Ok((ops, Verdict::Explained)),
        Found::None => "no order of these explains what they answered",
        Found::GaveUp => "no order of these was found that explains what they answered, and many were tried",
    };
    Ok((ops, Verdict::Unexplained(told(why, seed, &round, &histories) + &format!("# {}\n", search.against()))))
}

/// Returns the model in the state in which the threads begin.
fn crowd(round: &Round) -> Result<Crowd, pathwalk_model::Errno> {
    let mut world = World::new(round.settings)?;
    round.setup.iter().for_each(|step| drop(world.carry_out(step)));
    let actors: Vec<Actor> = round.threads.iter().map(|thread| thread.actor).collect();
    let mut crowd = Crowd::new(world, &actors)?;
    for (thread, Thread { before, .. }) in round.threads.iter().enumerate() {
        for op in before.iter().filter(|op| crowd.counts(thread, op)).collect::<Vec<_>>() {
            crowd.carry_out(thread, op);
        }
    }
    Ok(crowd)
}

fn carry_out(round: &Round) -> Result<(Vec<Vec<Event>>, Transcript)> {
    let concurrent = Concurrent::new(round.settings)?;
    let mut first = concurrent.stage();
    round.setup.iter().for_each(|step| drop(first.carry_out(step)));
    let (clock, ready, over) = (AtomicU64::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let all = round.threads.len();
    let mut stages: Vec<Stage> = round.threads.iter().map(|_| concurrent.stage_like(&first)).collect();
    for (stage, Thread { actor, before, .. }) in stages.iter_mut().zip(&round.threads) {
        before.iter().for_each(|op| drop(stage.carry_out(&Step { actor: *actor, op: op.clone() })));
    }
    let mut histories = thread::scope(|scope| {
        if round.settings.contains(Settings::FORGETFUL) {
            let over = &over;
            scope.spawn(move || first.disturb(|| over.load(Ordering::SeqCst) == all));
        }
        let spawned: Vec<_> = stages
            .into_iter()
            .zip(&round.threads)
            .map(|(stage, thread)| {
                let (clock, ready, over) = (&clock, &ready, &over);
                scope.spawn(move || {
                    let _over = Over(over);
                    ready.fetch_add(1, Ordering::SeqCst);
                    while ready.load(Ordering::SeqCst) < all {
                        thread::yield_now();
                    }
                    run(stage, thread, clock)
                })
            })
            .collect();
        spawned.into_iter().map(|thread| thread.join().map_err(|_| anyhow!("a thread panicked"))).collect::<Result<Vec<_>>>()
    })?;
    ensure!(histories.len() == all, "a thread is missing");
    note_disturbed(&mut histories);
    Ok((histories, concurrent.end()?))
}

/// A guard that counts a thread as ended, even if the thread panics.
struct Over<'a>(&'a AtomicUsize);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Carries out the operations of one thread, each with a stamp before it and one after it.
fn run(mut stage: Stage, Thread { actor, ops, .. }: &Thread, clock: &AtomicU64) -> Vec<Event> {
    let event = |op: &Op| {
        let step = Step { actor: *actor, op: op.clone() };
        let began = clock.fetch_add(1, Ordering::SeqCst);
        let answer = stage.carry_out(&step).answer;
        Event {
            step,
            answer,
            began,
            ended: clock.fetch_add(1, Ordering::SeqCst),
            undisturbed: false,
            coming_and_going: BTreeSet::new(),
        }
    };
    ops.iter().map(event).collect()
}

/// Finds the changes that other threads made during each operation.
fn note_disturbed(histories: &mut [Vec<Event>]) {
    let changes = |event: &&Event| event.step.op.changes() && !matches!(event.answer, Answer::Failed(_) | Answer::NotCarriedOut);
    let of = |event: &Event| (event.began, event.ended, event.step.op.last_components());
    let changes: Vec<Vec<_>> = histories.iter().map(|history| history.iter().filter(changes).map(of).collect()).collect();
    for (thread, history) in histories.iter_mut().enumerate() {
        for event in history {
            let others = changes.iter().enumerate().filter(|(other, _)| *other != thread).flat_map(|(_, changes)| changes);
            let meanwhile = others.filter(|(began, ended, _)| event.began < *ended && *began < event.ended);
            event.undisturbed = true;
            for (_, _, names) in meanwhile {
                event.undisturbed = false;
                event.coming_and_going.extend(names.iter().cloned());
            }
        }
    }
}

/// Returns the history as text.
fn told(why: &str, seed: u64, round: &Round, histories: &[Vec<Event>]) -> String {
    let mut settings = String::new();
    write_flags(&round.settings, &mut settings);
    let mut text = format!("# {why}; round {seed}, settings {settings}; first, one after the other:\n");
    for step in &round.setup {
        let _ = writeln!(text, "{step}");
    }
    for (thread, Thread { actor, before, .. }) in round.threads.iter().enumerate() {
        for op in before {
            let _ = writeln!(text, "{}    # by thread {thread}", Step { actor: *actor, op: op.clone() });
        }
    }
    for (thread, history) in histories.iter().enumerate() {
        let _ = writeln!(text, "# thread {thread}:");
        for Event { step, answer, began, ended, .. } in history {
            let _ = writeln!(
                text,
                "{step}    # {began}..{ended} {}",
                match answer {
                    Answer::Bytes(bytes) => {
                        let mut text = String::new();
                        Text(bytes.clone()).write(&mut text);
                        text
                    }
                    Answer::Node(_) | Answer::Number(_) => format!("{answer:?}"),
                    Answer::Listing(listing) => {
                        let entry = |(name, (_, ino)): (&Vec<u8>, &(_, u64))| format!("{} {ino}", name.escape_ascii());
                        listing.iter().map(entry).collect::<Vec<_>>().join(", ")
                    }
                    other => class(other),
                }
            );
        }
    }
    text
}

impl Op {
    fn last_components(&self) -> Vec<Vec<u8>> {
        let last = |path: &[u8]| path.split(|byte| *byte == b'/').rfind(|part| !part.is_empty()).unwrap_or_default().to_vec();
        self.places().into_iter().map(|(_, path)| last(path)).collect()
    }

    /// Returns whether the operation may change what other threads see.
    fn changes(&self) -> bool {
        match self {
            Op::Open { flags, .. } => flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE),
            Op::Stat { .. }
            | Op::Statx { .. }
            | Op::Access { .. }
            | Op::Readlink { .. }
            | Op::Statfs { .. }
            | Op::Chdir { .. }
            | Op::Umask { .. }
            | Op::Close { .. }
            | Op::Read { .. }
            | Op::ReadAt { .. }
            | Op::Seek { .. }
            | Op::List { .. }
            | Op::ListNodes { .. }
            | Op::Sync { .. } => false,
            _ => true,
        }
    }
}
