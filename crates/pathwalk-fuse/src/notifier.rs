//! The thread that tells the kernel what changed by others, and what to forget.
//!
//! It takes the engine's events, finds the numbers of their nodes, and sends notices. Changes that
//! are made through the mount itself are not heard: the kernel has made them in its own caches.
//! They are heard while a node has several numbers, since those caches are of one number.
//!
//! What always holds: the kernel keeps no answer from before a change that it is told of. An answer
//! may be under way when its notice is sent, and reach the kernel afterwards. So a [round](Round)
//! begins before notices are sent, and a thread that finds its answer overtaken by a round has the
//! notice sent again behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use pathwalk::security::NodeId;
use pathwalk::{Cancellation, NodeEvent, NodeSubscription};

use crate::covered::Covered;
use crate::device::Device;
use crate::nodes::Nodes;
use crate::notice::{Abilities, Notice};

/// The most events that are taken for one round.
const MOST_EVENTS: usize = 256;

/// The most nodes in one notice.
const MOST_FORGOTTEN: usize = 512;

/// The number of a round of notices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Round(u64);

/// What the thread works on.
pub(crate) struct Notifier {
    events: NodeSubscription,
    abilities: Abilities,
    covered: Arc<Covered>,
    /// The most nodes that the kernel is to know.
    bound: u64,
    /// The number of rounds. `SeqCst`: moved after events were taken, and before their notices are
    /// sent; read by a thread before it asks the engine, and again when the kernel has its answer.
    /// Then either the thread asked after the change, or the notice is sent behind the answer, or
    /// the thread sees that the number has moved.
    rounds: AtomicU64,
    /// Notices about answers that were overtaken.
    again: Mutex<Vec<Notice>>,
    /// Set to have the thread look around; taken before it looks. `SeqCst`, beside `asleep`.
    rung: AtomicBool,
    /// What ends the wait of the thread. It is there before the thread looks at `rung` and sleeps.
    asleep: Mutex<Cancellation>,
    /// Set before `rung` when nothing is mounted any more.
    ends: AtomicBool,
    /// The nodes that the kernel was asked to forget. It orders nothing.
    asked: AtomicU64,
    /// The notices that were sent. It orders nothing.
    sent: AtomicU64,
}

impl Notifier {
    pub(crate) fn new(events: NodeSubscription, abilities: Abilities, bound: u64, covered: Arc<Covered>) -> Notifier {
        Notifier {
            events,
            abilities,
            covered,
            bound,
            rounds: AtomicU64::new(0),
            again: Mutex::default(),
            rung: AtomicBool::new(false),
            asleep: Mutex::new(Cancellation::new()),
            ends: AtomicBool::new(false),
            asked: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        }
    }

    /// Returns the number of rounds so far.
    pub(crate) fn round(&self) -> Round {
        Round(self.rounds.load(Ordering::SeqCst))
    }

    /// Serves a request, of whose changes the kernel need not be told.
    pub(crate) fn unheard<T>(&self, serve: impl FnOnce() -> T) -> T {
        self.events.unheard(serve)
    }

    /// Sends notices about an answer that the kernel has, and that was overtaken.
    pub(crate) fn again(&self, notices: impl IntoIterator<Item = Notice>) {
        self.again.lock().extend(notices);
        self.ring();
    }

    /// Has the kernel asked to forget nodes, if it knows too many of them.
    pub(crate) fn look_at(&self, nodes: &Nodes) {
        if self.is_due(nodes) {
            self.ring();
        }
    }

    /// Returns the largest number of nodes that the kernel is to know.
    pub(crate) fn bound(&self) -> u64 {
        self.bound
    }

    /// Returns whether the kernel can be asked to forget nodes.
    pub(crate) fn can_forget(&self) -> bool {
        self.abilities.prunes()
    }

    /// Returns the number of times that the kernel was asked to forget a node.
    pub(crate) fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    /// Returns the number of notices that were sent.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Ends the thread.
    pub(crate) fn end(&self) {
        self.ends.store(true, Ordering::SeqCst);
        self.ring();
    }

    /// Works until the end.
    pub(crate) fn run(&self, device: &Device, nodes: &Nodes) {
        while !self.ends.load(Ordering::SeqCst) {
            self.sleep();
            let events: Vec<NodeEvent> = std::iter::from_fn(|| self.events.try_next()).take(MOST_EVENTS).collect();
            if !events.is_empty() {
                self.rounds.fetch_add(1, Ordering::SeqCst);
                let mut notices = Vec::new();
                events.into_iter().for_each(|event| translate(event, nodes, &mut notices));
                self.send(device, notices);
            }
            let again = std::mem::take(&mut *self.again.lock());
            self.send(device, again);
            self.forget_some(device, nodes);
        }
    }

    /// Sends notices, of those about one node the first of each kind: what came later is as new.
    fn send(&self, device: &Device, notices: Vec<Notice>) {
        let mut sent = std::collections::HashSet::new();
        for notice in notices {
            let is_new = match notice {
                Notice::Attributes(node) => sent.insert((node, false)),
                Notice::Data(node) => sent.insert((node, true)),
                _ => true,
            };
            if is_new {
                self.tell(device, &notice);
            }
        }
    }

    /// Sends a notice at once, unless it is about names that are covered. A thread that serves
    /// requests sends those about attributes, and about the listings of directories, alone.
    pub(crate) fn tell(&self, device: &Device, notice: &Notice) {
        let is_silent = match notice {
            Notice::Name { parent, name } | Notice::Removed { parent, name, .. } => self.covered.leads(*parent, name),
            Notice::Names => !self.covered.is_empty(),
            Notice::Attributes(_) | Notice::Data(_) | Notice::Forget(_) => false,
        };
        if is_silent {
            return;
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
        notice.send(device, self.abilities);
    }

    fn ring(&self) {
        if !self.rung.swap(true, Ordering::SeqCst) {
            self.asleep.lock().cancel();
        }
    }

    /// Sleeps until there is an event, or it is rung for.
    fn sleep(&self) {
        let wait = Cancellation::new();
        *self.asleep.lock() = wait.clone();
        if !self.rung.swap(false, Ordering::SeqCst) {
            // Cancelled, or not: the thread looks around.
            let _ = wait.during(|| self.events.wait());
            self.rung.store(false, Ordering::SeqCst);
        }
    }

    /// Returns whether there are too many nodes, and enough came since the kernel was last asked.
    fn is_due(&self, nodes: &Nodes) -> bool {
        nodes.known() > self.bound && nodes.added() >= self.step()
    }

    fn step(&self) -> u64 {
        (self.bound / 16).max(16)
    }

    /// Asks the kernel to forget what is beyond the bound, and some more: part of it is in use, and
    /// directories are kept by the names in them.
    fn forget_some(&self, device: &Device, nodes: &Nodes) {
        if !self.abilities.prunes() || !self.is_due(nodes) {
            return;
        }
        let beyond = nodes.known().saturating_sub(self.bound);
        for some in nodes.oldest(beyond + self.step()).chunks(MOST_FORGOTTEN) {
            self.asked.fetch_add(some.len() as u64, Ordering::Relaxed);
            self.tell(device, &Notice::Forget(some.to_vec()));
        }
    }
}

/// Puts the notices for an event. What the kernel does not know needs none.
fn translate(event: NodeEvent, nodes: &Nodes, notices: &mut Vec<Notice>) {
    match event {
        NodeEvent::Name { directory, name, removed } => {
            for (mount, parent) in nodes.numbers(directory) {
                let removed = removed.and_then(|node| nodes.numbers(node).into_iter().find(|(of, _)| *of == mount));
                notices.push(match removed {
                    Some((_, child)) => Notice::Removed { parent, name: name.clone(), child },
                    None => Notice::Name { parent, name: name.clone() },
                });
                // The listing of the directory, and its attributes.
                notices.push(Notice::Data(parent));
            }
        }
        NodeEvent::Attributes(node) => notices.extend(each(nodes, node, Notice::Attributes)),
        NodeEvent::Data(node) => notices.extend(each(nodes, node, Notice::Data)),
        NodeEvent::Names(directory) => {
            notices.push(Notice::Names);
            notices.extend(each(nodes, directory, Notice::Data));
        }
        NodeEvent::Mounts => notices.push(Notice::Names),
        // What is not known to concern few nodes concerns all.
        _ => notices.extend(Notice::all(nodes)),
    }
}

/// Returns a notice for each number of a node.
fn each(nodes: &Nodes, node: NodeId, notice: fn(u64) -> Notice) -> impl Iterator<Item = Notice> {
    nodes.numbers(node).into_iter().map(move |(_, number)| notice(number))
}
