//! The comparison of two transcripts of one program: finds the first difference.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Write as _};

use pathwalk::Errno;

use crate::outcome::{Answer, Node, Outcome, Transcript};
use crate::program::Program;
use crate::watch::Watched;

/// A difference between two transcripts.
#[derive(Clone, Debug)]
pub(crate) struct Mismatch {
    /// The number of steps up to and with the one that differs; all steps if the final tree
    /// differs.
    pub(crate) steps: usize,
    /// The kind of the difference: two mismatches of one kind are likely to have one cause.
    pub(crate) kind: String,
    /// The statements of both sides.
    pub(crate) text: String,
}

/// The inode numbers that are known to be the same on both sides.
#[derive(Clone, Default, Hash)]
pub(crate) struct Identity {
    /// The right side's inode number for each of the left side's. The left side never reuses a
    /// number.
    pairs: BTreeMap<u64, u64>,
}

impl Identity {
    pub(crate) fn same(&mut self, left: u64, right: u64) -> bool {
        *self.pairs.entry(left).or_insert(right) == right
    }

    /// Returns whether the two numbers do not contradict a known pair.
    pub(crate) fn may_be_same(&self, left: u64, right: u64) -> bool {
        self.pairs.get(&left).is_none_or(|known| *known == right)
    }
}

/// Returns the first difference between two transcripts.
pub(crate) fn first_mismatch(program: &Program, names: [&str; 2], left: &Transcript, right: &Transcript) -> Option<Mismatch> {
    let mut identity = Identity::default();
    for (index, (l, r)) in left.outcomes.iter().zip(&right.outcomes).enumerate() {
        let step = &program.steps[index];
        let Some(what) = difference(l, r, &mut identity) else { continue };
        let text = format!("after `{step}`: {}\n  {}: {}\n  {}: {}", what.what, names[0], what.left, names[1], what.right);
        return Some(Mismatch { steps: index + 1, kind: format!("{} {}", step.op.verb(), what.kind), text });
    }
    let what = tree_difference(left, right)?;
    let text = format!("in the tree at the end: {}\n  {}: {}\n  {}: {}", what.what, names[0], what.left, names[1], what.right);
    Some(Mismatch { steps: program.steps.len(), kind: format!("tree {}", what.kind), text })
}

pub(crate) struct Difference {
    kind: String,
    what: String,
    left: String,
    right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} against {}", self.what, self.left, self.right)
    }
}

impl Difference {
    fn new(kind: String, what: &str, left: String, right: String) -> Option<Difference> {
        Some(Difference { kind, what: what.to_owned(), left, right })
    }
}

fn difference(left: &Outcome, right: &Outcome, identity: &mut Identity) -> Option<Difference> {
    if !same_answer(&left.answer, &right.answer, identity) {
        let kind = match (&left.answer, &right.answer) {
            (Answer::Node(l), Answer::Node(r)) | (Answer::Some(_, l), Answer::Some(_, r)) => {
                format!("node {}", differing_fields(l, r, identity))
            }
            (l, r) => format!("{} against {}", class(l), class(r)),
        };
        return Difference::new(kind, "the answer", show(&left.answer), show(&right.answer));
    }
    for (index, (l, r)) in left.seen.iter().zip(&right.seen).enumerate() {
        let kind = match (l, r) {
            (Ok(l), Ok(r)) => differing_fields(l, r, identity),
            (Err(l), Err(r)) if l == r => continue,
            (l, r) => format!("{} against {}", error_class(l), error_class(r)),
        };
        if !kind.is_empty() {
            let whose = ["what it names", "the directory of that", "the other that it names", "the directory of the other"];
            let whose = whose.get(index).copied().unwrap_or("what it names");
            return Difference::new(format!("seen {index} {kind}"), whose, format!("{l:?}"), format!("{r:?}"));
        }
    }
    match (&left.watched, &right.watched) {
        (Some(left), Some(right)) => watched_difference(left, right, identity),
        _ => None,
    }
}

fn watched_difference(left: &Watched, right: &Watched, identity: &mut Identity) -> Option<Difference> {
    let paths: BTreeSet<&Vec<u8>> = left.tree.keys().chain(right.tree.keys()).collect();
    for path in paths {
        let what = format!("the tree at {}", path.escape_ascii());
        let (l, r) = (left.tree.get(path), right.tree.get(path));
        let kind = match (l, r) {
            (Some(l), Some(r)) => differing_fields(l, r, identity),
            _ => "names".to_owned(),
        };
        if !kind.is_empty() {
            return Difference::new(format!("watched {kind}"), &what, format!("{l:?}"), format!("{r:?}"));
        }
    }
    for (slot, l) in &left.slots {
        let what = format!("descriptor {slot}");
        let Some(r) = right.slots.get(slot) else {
            return Difference::new("watched slots".to_owned(), &what, format!("{l:?}"), "none".to_owned());
        };
        let kind = differing_fields(&l.node, &r.node, identity);
        if !kind.is_empty() {
            return Difference::new(format!("watched slot {kind}"), &what, format!("{:?}", l.node), format!("{:?}", r.node));
        }
        if let (Some(l), Some(r)) = (&l.path, &r.path)
            && l != r
        {
            let show =
                |path: &Result<Vec<u8>, Errno>| path.as_ref().map(|path| path.escape_ascii().to_string()).map_err(|errno| *errno);
            return Difference::new("path".to_owned(), &what, format!("{:?}", show(l)), format!("{:?}", show(r)));
        }
    }
    None
}

fn error_class(seen: &Result<Node, Errno>) -> String {
    seen.as_ref().map_or_else(|errno| format!("{errno:?}"), |_| "there".to_owned())
}

/// Returns the kind of an answer; for a failure its errno.
pub(crate) fn class(answer: &Answer) -> String {
    match answer {
        Answer::Failed(errno) => format!("{errno:?}"),
        Answer::NotCarriedOut => "not carried out".to_owned(),
        Answer::Done => "done".to_owned(),
        Answer::Number(_) => "number".to_owned(),
        Answer::Node(_) => "node".to_owned(),
        Answer::Some(..) => "some".to_owned(),
        Answer::Bytes(_) => "bytes".to_owned(),
        Answer::Listing(_) => "listing".to_owned(),
        Answer::Nodes(_) => "listing of nodes".to_owned(),
        Answer::Again => "again".to_owned(),
    }
}

/// Returns an answer as text; long data is cut short.
fn show(answer: &Answer) -> String {
    match answer {
        Answer::Bytes(bytes) if bytes.len() > 64 => format!("{} bytes: {}…", bytes.len(), bytes[..64].escape_ascii()),
        Answer::Bytes(bytes) => format!("{} bytes: {}", bytes.len(), bytes.escape_ascii()),
        Answer::Listing(listing) => {
            let mut text = "listing:".to_owned();
            for (name, (kind, ino)) in listing {
                let _ = write!(text, " {} ({kind:?}, {ino})", name.escape_ascii());
            }
            text
        }
        other => format!("{other:?}"),
    }
}

/// Returns whether both answers are the same.
pub(crate) fn same_answer(left: &Answer, right: &Answer, identity: &mut Identity) -> bool {
    match (left, right) {
        (Answer::Again, _) | (_, Answer::Again) => true,
        (Answer::Node(l), Answer::Node(r)) => differing_fields(l, r, identity).is_empty(),
        (Answer::Some(which, l), Answer::Some(same, r)) => which == same && differing_fields(l, r, identity).is_empty(),
        (Answer::Listing(l), Answer::Listing(r)) => {
            // The model lists neither `.` nor `..`.
            let has_dots = l.contains_key(&b"."[..]) && r.contains_key(&b"."[..]);
            let counts = |name: &[u8]| has_dots || !matches!(name, b"." | b"..");
            let mut others = r.iter().filter(|(name, _)| counts(name));
            l.iter().filter(|(name, _)| counts(name)).all(|(name, entry)| {
                others.next().is_some_and(|(other_name, other)| {
                    name == other_name && entry.0 == other.0 && identity.same(entry.1, other.1)
                })
            }) && others.next().is_none()
        }
        (Answer::Nodes(l), Answer::Nodes(r)) => {
            l.keys().eq(r.keys())
                && l.values().zip(r.values()).all(|pair| match pair {
                    (Ok(l), Ok(r)) => differing_fields(l, r, identity).is_empty(),
                    (l, r) => l == r,
                })
        }
        (l, r) => l == r,
    }
}

/// Returns the names of the attributes that differ.
fn differing_fields(left: &Node, right: &Node, identity: &mut Identity) -> String {
    let [mtime, ctime] = [left.mtime.agrees(right.mtime), left.ctime.agrees(right.ctime)];
    let could = left.flags_mask & right.flags_mask;
    let fields = [
        ("kind", left.kind == right.kind),
        ("mode", left.mode == right.mode),
        ("nlink", left.nlink == right.nlink),
        ("uid", left.uid == right.uid),
        ("gid", left.gid == right.gid),
        ("ino", identity.same(left.ino, right.ino)),
        ("size", left.size == right.size),
        ("device", left.device == right.device),
        ("blocks", left.blocks == right.blocks),
        ("block_size", left.block_size == right.block_size),
        ("atime", left.atime.agrees(right.atime)),
        ("mtime", mtime),
        ("ctime", ctime),
        ("btime", left.btime.agrees(right.btime)),
        ("flags", left.flags & could == right.flags & could),
        // The engine leaves out the flags that describe a mount. Its mask records that.
        ("flags_mask", left.flags_mask.contains(right.flags_mask)),
    ];
    let differing: Vec<&str> = fields.into_iter().filter(|(_, same)| !same).map(|(name, _)| name).collect();
    differing.join("+")
}

/// Returns the first difference of the final trees. Their inode numbers need not match those of the
/// steps before.
pub(crate) fn tree_difference(left: &Transcript, right: &Transcript) -> Option<Difference> {
    let mut identity = Identity::default();
    let paths: BTreeSet<&Vec<u8>> = left.tree.keys().chain(right.tree.keys()).collect();
    let mut back = HashMap::new();
    for path in paths {
        let what = path.escape_ascii().to_string();
        let (l, r) = match (left.tree.get(path), right.tree.get(path)) {
            (Some(l), Some(r)) => (l, r),
            (l, r) => return Difference::new("names".to_owned(), &what, format!("{l:?}"), format!("{r:?}")),
        };
        let mut fields = differing_fields(&l.node, &r.node, &mut identity);
        if *back.entry(r.node.ino).or_insert(l.node.ino) != l.node.ino {
            fields.push_str("+ino");
        }
        if l.content != r.content {
            fields.push_str("+content");
        }
        if l.lists != r.lists {
            return Difference::new(format!("{fields}+lists"), &what, format!("{:?}", l.lists), format!("{:?}", r.lists));
        }
        if l.xattrs != r.xattrs {
            return Difference::new(fields + "+xattrs", &what, format!("{:?}", l.xattrs), format!("{:?}", r.xattrs));
        }
        if !fields.is_empty() {
            return Difference::new(fields, &what, format!("{:?}", l.node), format!("{:?}", r.node));
        }
    }
    None
}

#[cfg(test)]
mod tests;
