//! The three-way merge of text, by lines.
//!
//! What it does not do: a file with a zero byte, and one beyond [`LONGEST`], is not merged, and
//! changes of the same lines are not either.

use std::sync::Arc;

use pathwalk::{Errno, FileType};

use super::super::{At, ConflictKind, Found};
use super::{Answers, Three};
use crate::base::Copied;
use crate::branch::{BaseFiles, Inner, copied_up, record, record_mut};
use crate::diff::Aspects;
use crate::rows::{Record, Row};
use crate::tree::{Key, Tree};

/// The greatest size in bytes of a file that is merged: the time for it grows with the square of
/// what differs.
const LONGEST: u64 = 4 << 20;

impl Answers<'_> {
    /// Merges the texts of the files that the three states have under one name into that of the
    /// branch. Returns false if that cannot be.
    pub(super) fn merge_text(&mut self, found: &Found) -> Result<bool, Errno> {
        match (found.conflict.kind, &found.at) {
            (ConflictKind::Changed(what), At::Node(number)) if what.contains(Aspects::DATA) => {
                self.copy_to_all(*number)?;
                merge(self.onto, self.three, [*number; 3])
            }
            (ConflictKind::Changed(_) | ConflictKind::BaseChanged | ConflictKind::Moved, _) => Ok(false),
            (_, At::Name(key)) => self.merge_at(&key.clone()),
            (_, At::Node(number)) => {
                let keys = self.names.of_node.get(number);
                let keys: Vec<Key> = keys.into_iter().flatten().cloned().collect();
                // Of a node with several names it is not said which text became which.
                if let [key] = &keys[..] { self.merge_at(key) } else { Ok(false) }
            }
            (_, At::Nodes(_)) => Ok(false),
        }
    }

    /// Merges the texts of what is under one name, in the place of which one or both have put
    /// another file.
    fn merge_at(&mut self, key: &Key) -> Result<bool, Errno> {
        let hidden = [&self.before.ours, &self.before.theirs].into_iter().find_map(|tree| match tree.get(key) {
            Some(Row::Entry(entry)) => entry.hides.map(|hidden| hidden.target.number),
            _ => None,
        });
        let at = |tree: &Tree<Row>| match tree.get(key) {
            Some(Row::Entry(entry)) => entry.target.map(|target| target.number),
            _ => hidden,
        };
        let Three { common, ours, theirs, .. } = self.before;
        match [at(common), at(ours), at(theirs)] {
            [Some(common), Some(ours), Some(theirs)] => {
                // The common state, and the side that kept the file, may have no rows of it.
                for number in [common, ours, theirs] {
                    self.copy_from(number)?;
                }
                merge(self.onto, self.three, [common, ours, theirs])
            }
            _ => Ok(false),
        }
    }

    /// Makes sure that the common state has the attributes of a node of the base that a side has.
    fn copy_from(&mut self, number: u64) -> Result<(), Errno> {
        if record(&self.three.common, number).is_some() {
            return Ok(());
        }
        let of_side = [&self.before.ours, &self.before.theirs].into_iter().find_map(|tree| record(tree, number));
        if let Some(Record { origin: Some(origin), body, .. }) = of_side {
            let copied = Copied { origin: Arc::clone(origin), body: body.clone() };
            copied_up(&mut self.three.common, number, copied);
        }
        Ok(())
    }
}

/// Merges the texts of the nodes that the three states have, in their order, and gives the result
/// to the node of the branch. Returns false if they cannot be merged.
fn merge(inner: &Inner, three: &mut Three, [common, ours, theirs]: [u64; 3]) -> Result<bool, Errno> {
    let of = [(&three.common, common), (&three.ours, ours), (&three.theirs, theirs)];
    let [Some(old), Some(one), Some(other)] = of.map(|(tree, number)| text(inner, tree, number)) else { return Ok(false) };
    let Ok(merged) = diffy::merge_bytes(&old, &one, &other) else { return Ok(false) };
    let (tree, end) = (&mut three.ours, merged.len() as u64);
    inner.change_extents(tree, ours, 0..u64::MAX, |extents| {
        extents.truncate(0);
        if merged.is_empty() { Ok(()) } else { extents.write(&merged, 0, &inner.shared.store) }
    })??;
    let now = inner.shared.now();
    let record = record_mut(tree, ours)?;
    record.attributes.size = end;
    record.touch(now);
    Ok(true)
}

/// Returns the text of a node: `None` if it is none, or cannot be read any more.
fn text(inner: &Inner, tree: &Tree<Row>, number: u64) -> Option<Vec<u8>> {
    let record = record(tree, number)?;
    let size = record.attributes.size;
    if record.kind() != FileType::Regular || size > LONGEST {
        return None;
    }
    let mut text = vec![0; size as usize];
    let length = inner.read_in(tree, &BaseFiles::default(), number, &mut text, 0).ok()?;
    (length == text.len() && !text.contains(&0)).then_some(text)
}
