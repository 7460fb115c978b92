//! An order of what threads did, in which the model answers as they were answered.
//!
//! What had ended before another began comes before it; the parts of an operation come in their
//! order, with those of others between them. Tried first is what ended first, so that where threads
//! hardly met the first try succeeds. Then some tries are short, each part at an instant drawn from
//! its operation's time: a wrong step early on would else be found out only after all that may
//! follow it. The last try leaves nothing out. From where there is no way is remembered by all.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::Event;
use super::parts::{Came, Progress, advance};
use crate::compare::{Identity, same_answer, tree_difference};
use crate::model::crowd::Crowd;
use crate::op::Op;
use crate::outcome::{Answer, Node, Transcript};
use pathwalk::{FileType, OpenFlags};

/// After so many parts a search is given up.
const MOST_PARTS: u64 = 3_000_000;

/// Short tries before the last, and their parts.
const TRIES: u64 = 40;
const PARTS_OF_TRY: u64 = 5_000;

/// What a search came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Order,
    None,
    /// It took too long.
    GaveUp,
}

/// How far the threads are.
#[derive(Clone)]
struct State {
    /// How many operations of each thread are over.
    done: Vec<usize>,
    /// Of the next one of each.
    progress: Vec<Progress>,
    crowd: Crowd,
    identity: Identity,
}

pub(super) struct Search<'a> {
    histories: &'a [Vec<Event>],
    engine: &'a Transcript,
    /// From where there is no way.
    dead_ends: HashSet<u64>,
    /// Of this try: its number, and its parts so far.
    attempt: u64,
    parts: u64,
    furthest: Furthest,
}

/// The most operations that an order was found for, and what stood against each that might have
/// come next.
#[derive(Default)]
struct Furthest {
    done: usize,
    against: Vec<String>,
}

impl Furthest {
    /// Most of what stands against orders of as many operations is the same again.
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

    /// Looks for an order that begins with this crowd.
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

    /// Whether this try took too long.
    fn is_over(&self) -> bool {
        self.parts > if self.attempt < TRIES { PARTS_OF_TRY } else { MOST_PARTS }
    }

    /// What stood against the longest order that was found.
    pub(super) fn against(&self) -> String {
        let Furthest { done, against } = &self.furthest;
        format!("after {done} operations in some order: {}", against.join("; or "))
    }

    fn explains(&mut self, state: State) -> bool {
        let mut next = self.next(&state);
        let Some(first_end) = next.iter().map(|(_, event)| event.ended).min() else {
            let differs = tree_difference(&state.crowd.transcript(), self.engine, Identity::default());
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

    /// When the next part of an operation is tried.
    fn when(&self, state: &State, thread: usize, event: &Event) -> u64 {
        if self.attempt == 0 || self.attempt == TRIES {
            return event.ended << 16;
        }
        let mut hasher = DefaultHasher::new();
        (self.attempt, thread, state.done[thread], state.progress[thread].parts).hash(&mut hasher);
        // Of a finer clock than that of the stamps.
        (event.began << 16) + hasher.finish() % ((event.ended - event.began) << 16)
    }

    fn next(&self, state: &State) -> Vec<(usize, &'a Event)> {
        let histories = self.histories;
        let of = |thread: usize| histories[thread].get(state.done[thread]).map(|event| (thread, event));
        (0..histories.len()).filter_map(of).collect()
    }

    /// Whether the next part of a thread's operation may come now. What nothing changes meanwhile
    /// has one part.
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

    /// Listings of other threads see what there is now.
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

/// What is opened is looked at a moment later: only what it is counts. While names are changed, a
/// count of links may be that before or after it, as on Linux, where a change of names and one of
/// attributes are two.
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

/// Returns what the model tells of a node with what the engine may tell earlier or later while names
/// change: how many names a node has, and a directory's size, which counts the names in it. Linux,
/// too, moves a name after the file system has counted it.
fn beside_changes(model: &Node, engine: &Node) -> Node {
    let size = if model.kind == FileType::Directory { engine.size } else { model.size };
    Node { nlink: engine.nlink, size, ..*model }
}
