//! The description of a walk: its lines, its end, and the doubts about it.
//!
//! It is made by [`walk`](super::walk). What it does not do: phrase or print it.

use pathwalk::{Access, Errno};

use super::mounts::Mount;
use super::rule::{Judged, Node, Rule};

/// The node at one name of the walk.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// This node, and the rule that describes the user's relation to it.
    Node(Box<Node>, Rule),
    /// No node.
    Absent,
    /// A name after the end of the walk.
    NotLookedFor,
}

/// A line of the report.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// The number of nested link bodies that the name is in.
    pub(crate) depth: usize,
    pub(crate) name: Vec<u8>,
    pub(crate) found: Found,
    /// The body, if this is a link that was followed.
    pub(crate) body: Option<Vec<u8>>,
    /// The mount that begins here.
    pub(crate) mount: Option<Mount>,
    /// The error with which the walk ends here, and the rule.
    pub(crate) refused: Option<(Errno, Rule)>,
}

/// The reason why a walk does not reach its end.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) errno: Errno,
    pub(crate) rule: Rule,
    /// The node that the error is about: the one to be searched, to be followed, or expected to be
    /// a directory.
    pub(crate) node: Option<Node>,
    /// The directory in which that node was found.
    pub(crate) dir: Option<Node>,
    /// The name that was looked for in it.
    pub(crate) name: Vec<u8>,
    /// The link that led there, and its body.
    pub(crate) link: Option<(Vec<u8>, Vec<u8>)>,
    /// The links that lead in a circle, in order.
    pub(crate) circle: Vec<Vec<u8>>,
    /// The existing names that are like the missing one.
    pub(crate) near: Vec<Vec<u8>>,
}

/// The answer to an access to the node at the end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct May {
    pub(crate) want: Access,
    pub(crate) judged: Judged,
}

/// The end of a walk.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// The end at this node, with the answers for read, write and execute.
    Reached(Box<Node>, [May; 3]),
    Failed(Box<Failure>),
}

/// The description of a walk.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) lines: Vec<Line>,
    pub(crate) ending: Ending,
    /// The answer to the access that was asked for, if one was and the end is reached.
    pub(crate) wanted: Option<May>,
    /// The reasons to doubt the answer.
    pub(crate) doubts: Vec<Doubt>,
}

/// A reason why the kernel might give another answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Doubt {
    /// A link through which the kernel jumps, whatever its body says.
    MagicLink(Vec<u8>),
    /// A file at the end that may only be appended to: the kernel's check of an access does not
    /// say so, and its open does.
    AppendOnly,
    /// A file system of this type, mounted at this point, which may have permission rules of its
    /// own.
    OwnRules(Vec<u8>, Vec<u8>),
}

impl Failure {
    /// Creates a failure of which only the errno is known.
    pub(crate) fn of(errno: Errno) -> Failure {
        let (name, circle, near) = Default::default();
        Failure { errno, rule: Rule::FileSystem, node: None, dir: None, name, link: None, circle, near }
    }
}

impl Told {
    /// Returns whether the answer is reliable. It is not if this process may not look, be it at a
    /// node of the walk or at the list that decides about the access that was asked for, or if the
    /// walk met a link that cannot be followed.
    pub(crate) fn is_certain(&self) -> bool {
        match &self.ending {
            Ending::Reached(..) => self.wanted.is_none_or(|wanted| wanted.judged.rule != Rule::NotVisible),
            Ending::Failed(failure) => {
                let jumped = self.doubts.iter().any(|doubt| matches!(doubt, Doubt::MagicLink(_)));
                failure.rule != Rule::NotVisible && !jumped
            }
        }
    }
}
