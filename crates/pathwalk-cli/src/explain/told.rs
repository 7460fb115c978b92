//! A walk, told: its lines, how it ends, and what makes that doubtful.
//!
//! Made by [`walk`](super::walk); what it does not do is find words for it, or print.

use pathwalk::{Access, Errno};

use super::mounts::Mount;
use super::rule::{Judged, Node, Rule};

/// What is at one name of the walk.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// This; and as what he comes to it.
    Node(Box<Node>, Rule),
    /// Nothing.
    Absent,
    /// The walk ended before.
    NotLookedFor,
}

/// One line.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// In how many links' bodies it stands.
    pub(crate) depth: usize,
    pub(crate) name: Vec<u8>,
    pub(crate) found: Found,
    /// Where it leads, if it is a link that was followed.
    pub(crate) body: Option<Vec<u8>>,
    /// The mount that begins here.
    pub(crate) mount: Option<Mount>,
    /// The walk ends here, so, by this rule.
    pub(crate) refused: Option<(Errno, Rule)>,
}

/// Why a walk does not reach its end.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) errno: Errno,
    pub(crate) rule: Rule,
    /// What it is about: what was to be searched, followed or a directory.
    pub(crate) node: Option<Node>,
    /// The directory in which that was found.
    pub(crate) dir: Option<Node>,
    /// What was wanted in it.
    pub(crate) name: Vec<u8>,
    /// The link that led there, and where it leads.
    pub(crate) link: Option<(Vec<u8>, Vec<u8>)>,
    /// Of links that lead in a circle: which, in order.
    pub(crate) circle: Vec<Vec<u8>>,
    /// Names that are there and are like the one that is missing.
    pub(crate) near: Vec<Vec<u8>>,
}

/// Whether somebody may do one thing with the node at the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct May {
    pub(crate) want: Access,
    pub(crate) judged: Judged,
}

/// How a walk ends.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// At this node, of which he may read, write and execute so much.
    Reached(Box<Node>, [May; 3]),
    Failed(Box<Failure>),
}

/// A walk, told.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) lines: Vec<Line>,
    pub(crate) ending: Ending,
    /// What makes the answer doubtful.
    pub(crate) doubts: Vec<Doubt>,
}

/// Why the kernel might answer otherwise.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Doubt {
    /// The kernel jumps through this link, whatever its text says.
    MagicLink(Vec<u8>),
    /// The file system of this kind, which begins here, may have a mind of its own about who may do what.
    OwnRules(Vec<u8>, Vec<u8>),
}

impl Failure {
    /// That of which nothing is known but the number.
    pub(crate) fn of(errno: Errno) -> Failure {
        let (name, circle, near) = Default::default();
        Failure { errno, rule: Rule::FileSystem, node: None, dir: None, name, link: None, circle, near }
    }
}

impl Told {
    /// Whether the answer is one: not if this process may not look, or looked at what it cannot follow.
    pub(crate) fn is_certain(&self) -> bool {
        match &self.ending {
            Ending::Reached(..) => true,
            Ending::Failed(failure) => {
                let jumped = self.doubts.iter().any(|doubt| matches!(doubt, Doubt::MagicLink(_)));
                failure.rule != Rule::NotVisible && !jumped
            }
        }
    }
}
