//! The search for an order of the threads' operations in which the model gives the same answers.
//!
//! An operation that ended before another began comes before it. The parts of an operation keep
//! their order, with parts of other operations between them. The first try takes the operations in
//! the order of their ends, so that it succeeds where threads hardly overlapped. Then some short
//! tries place each part at a random instant of its operation's time: otherwise a wrong early step
//! would be found only after all possible continuations. The last try leaves nothing out. All tries
//! share the record of dead ends.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Event;
use super::parts::{Came, Progress, advance};
use crate::compare::{Identity, same_answer, tree_difference};
use crate::model::crowd::Crowd;
use crate::op::Op;
use crate::outcome::{Answer, Node, Transcript};
use pathwalk::{FileType, OpenFlags};

/// The number of parts after which a search is given up.
const MOST_PARTS: u64 = 3_000_000;

/// The number of short tries before the last, and the number of parts of each.
const TRIES: u64 = 40;
const PARTS_OF_TRY: u64 = 5_000;

/// The result of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Order,
    None,
    /// The search took too long.
    GaveUp,
}

/// The progress of all threads.
#[derive(Clone)]
struct State {
    /// The number of operations of each thread that have ended.
    done: Vec<usize>,
    /// The progress of each thread's next operation.
    progress: Vec<Progress>,
    crowd: Crowd,
    identity: Identity,
}

pub(super) struct Search<'a> {
    histories: &'a [Vec<Event>],
    engine: &'a Transcript,
    /// The states from which no order was found.
    dead_ends: HashSet<u64>,
    /// The number of this try, and its parts so far.
    attempt: u64,
    parts: u64,
    furthest: Furthest,
}

/// The largest number of operations that an order was found for, and the objections to each
/// operation that could have come next.
#[derive(Default)]
struct Furthest {
    done: usize,
    against: Vec<String>,
}

impl Furthest {
    /// The number of objections that are kept: most others repeat them.
    const MOST: usize = 8;

    fn note(&mut self, done: &[usize], why: impl FnOnce() -> String) {
        let done = done.iter().sum();
        if done > self.done {
            *self = Furthest { done, against: Vec::new() };
        }
        if done == self.done && self.against.len() < Furthest::MOST {
            let why = why();
            if !self.against.contains(&why) {
                self.against.push(why);
            }
        }
    }
}

impl<'a> Search<'a> {
    pub(super) fn new(histories: &'a [Vec<Event>], engine: &'a Transcript) -> Search<'a> {
        Search { histories, engine, dead_ends: HashSet::new(), attempt: 0, parts: 0, furthest: Furthest::default() }
    }

    /// Searches for an order that begins in this state of the model.
    pub(super) fn run(&mut self, crowd: Crowd) -> Found {
        let threads = self.histories.len();
        let (done, progress) = (vec![0; threads], vec![Progress::default(); threads]);
        let state = State { done, progress, crowd, identity: Identity::default() };
        for attempt in 0..=TRIES {
            (self.attempt, self.parts) = (attempt, 0);
            if self.explains(state.clone()) {
                return Found::Order;
            }
            if !self.is_over() {
                return Found::None;
            }
        }
        Found::GaveUp
    }

    /// Returns whether this try has taken too long.
    fn is_over(&self) -> bool {
        self.parts > if self.attempt < TRIES { PARTS_OF_TRY } else { MOST_PARTS }
    }

    /// Returns the objections to continuing the longest order that was found.
    pub(super) fn against(&self) -> String {
        let Furthest { done, against } = &self.furthest;
        format!("after {done} operations in some order: {}", against.join("; or "))
    }

    fn explains(&mut self, state: State) -> bool {
        let mut next = self.next(&state);
        let Some(first_end) = next.iter().map(|(_, event)| event.ended).min() else {
            let differs = tree_difference(&state.crowd.transcript(), self.engine);
            differs.iter().for_each(|what| self.furthest.note(&state.done, || format!("the tree: {what}")));
            return differs.is_none();
        };
        next.retain(|(_, event)| event.began < first_end);
        next.sort_by_cached_key(|(thread, event)| self.when(&state, *thread, event));
        let name = (!self.dead_ends.is_empty()).then(|| state.hash());
        if name.is_some_and(|name| self.dead_ends.contains(&name)) {
            return false;
        }
        for (thread, event) in next {
            let mut then = state.clone();
            if self.takes(&mut then, thread, event) && self.explains(then) {
                return true;
            }
            if self.is_over() {
                return false;
            }
        }
        self.dead_ends.insert(name.unwrap_or_else(|| state.hash()));
        false
    }

    /// Returns the instant at which the next part of an operation is tried.
    fn when(&self, state: &State, thread: usize, event: &Event) -> u64 {
        if self.attempt == 0 || self.attempt == TRIES {
            return event.ended << 16;
        }
        let mut hasher = DefaultHasher::new();
        (self.attempt, thread, state.done[thread], state.progress[thread].parts).hash(&mut hasher);
        // This clock is finer than that of the stamps.
        (event.began << 16) + hasher.finish() % ((event.ended - event.began) << 16)
    }

    fn next(&self, state: &State) -> Vec<(usize, &'a Event)> {
        let histories = self.histories;
        let of = |thread: usize| histories[thread].get(state.done[thread]).map(|event| (thread, event));
        (0..histories.len()).filter_map(of).collect()
    }

    /// Returns whether the next part of a thread's operation may come now. An operation without
    /// concurrent changes has one part.
    fn takes(&mut self, state: &mut State, thread: usize, event: &Event) -> bool {
        loop {
            self.parts += 1;
            let State { progress, crowd, identity, .. } = state;
            let came = advance(crowd, thread, &event.step.op, &mut progress[thread]);
            let agrees = match &came {
                Came::On => {
                    state.look_at_listings(thread);
                    if event.undisturbed {
                        continue;
                    }
                    return true;
                }
                Came::Answered(answer) => agree(event, answer, identity),
                Came::Listed(span) => match &event.answer {
                    Answer::Listing(listed) => span.allows(listed, &event.coming_and_going, identity),
                    _ => false,
                },
            };
            if agrees {
                state.end(thread);
                state.look_at_listings(thread);
            } else {
                self.furthest.note(&state.done, || format!("`{}` would have come to {came:?}", event.step));
            }
            return agrees;
        }
    }
}

impl State {
    fn end(&mut self, thread: usize) {
        self.crowd.end_walks(thread);
        self.progress[thread] = Progress::default();
        self.done[thread] += 1;
    }

    /// Adds the current instant to the listings of the other threads.
    fn look_at_listings(&mut self, but: usize) {
        let State { progress, crowd, .. } = self;
        for (thread, progress) in progress.iter_mut().enumerate().filter(|(thread, _)| *thread != but) {
            if let Some(span) = &mut progress.listing {
                let names = crowd.names(thread, span.slot);
                span.sees(names);
            }
        }
    }

    fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.done.hash(&mut hasher);
        self.progress.hash(&mut hasher);
        self.crowd.hash(&mut hasher);
        self.identity.hash(&mut hasher);
        hasher.finish()
    }
}

/// Returns whether the model's answer explains the engine's. An opened node is read a moment after
/// the open, so only its identity counts. During changes of names, a link count may be the one
/// before or after the change, as on Linux, where the change of a name and that of the attributes
/// are two steps.
fn agree(event: &Event, model: &Answer, identity: &mut Identity) -> bool {
    match (&event.step.op, model, &event.answer) {
        (Op::Open { flags, .. }, Answer::Done, Answer::Node(_)) if flags.contains(OpenFlags::TRUNCATE) => true,
        (Op::Open { .. }, Answer::Node(l), Answer::Node(r)) => l.kind == r.kind && identity.same(l.ino, r.ino),
        (_, Answer::Node(l), Answer::Node(r)) if !event.undisturbed => {
            same_answer(&Answer::Node(beside_changes(l, r)), &event.answer, identity)
        }
        (_, model, engine) => same_answer(model, engine, identity),
    }
}

/// Returns the model's node with those values of the engine that may be read earlier or later
/// during changes of names: the link count, and a directory's size, which counts its names. Linux,
/// too, changes a name after the file system has counted it.
fn beside_changes(model: &Node, engine: &Node) -> Node {
    let size = if model.kind == FileType::Directory { engine.size } else { model.size };
    Node { nlink: engine.nlink, size, ..*model }
}
