//! The three-way merge of text, by lines.
//!
//! The text before both changes is that of the state that both had in common; where the base has
//! changed the file, it is what the branch has kept.
//!
//! What it does not do: a file with a zero byte, and one beyond [`LONGEST`], is not merged, and
//! changes of the same lines are not either.

use std::sync::Arc;

use pathwalk::{Errno, FileType};

use super::super::{At, ConflictKind, Found};
use super::{Answers, Over, Three};
use crate::base::Copied;
use crate::branch::{BaseFiles, Inner, copied_up, record, record_mut};
use crate::diff::{Aspects, path_at};
use crate::rows::{self, Record, Row};
use crate::tree::{Key, Tree};

/// The greatest size in bytes of a file that is merged: the time for it grows with the square of
/// what differs.
const LONGEST: u64 = 4 << 20;

impl Answers<'_> {
    /// Merges the texts of the files that the three states have under one name into that of the
    /// branch. Returns false if that cannot be.
    pub(super) fn merge_text(&mut self, found: &Found) -> Result<bool, Errno> {
        match (found.conflict.kind, &found.at) {
            (ConflictKind::Changed(what), At::Node(number)) if what.contains(Aspects::DATA) => self.merge_node(*number),
            (ConflictKind::BaseChanged, At::Node(number)) => self.merge_node(*number),
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

    /// Merges the texts that the three states have of one node.
    fn merge_node(&mut self, number: u64) -> Result<bool, Errno> {
        self.copy_to_all(number)?;
        merge(self.onto, self.three, [number; 3])
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
            [Some(common), Some(ours), None] if self.three.over == Over::Base => {
                for number in [common, ours] {
                    self.copy_from(number)?;
                }
                let Some(theirs) = self.text_of_base(key)? else { return Ok(false) };
                merge_with(self.onto, self.three, [common, ours], theirs)
            }
            _ => Ok(false),
        }
    }

    /// Returns the text of what the base has under a name now, which no state has: `None` if it is
    /// none.
    fn text_of_base(&self, key: &[u8]) -> Result<Option<Vec<u8>>, Errno> {
        let (shared, ours) = (&self.onto.shared, &self.before.ours);
        let Some((dir, _, rest)) = rows::parts(key) else { return Ok(None) };
        let Some((_, name)) = rows::hash_and_name(rest) else { return Ok(None) };
        let Some(path) = path_at(ours, shared.root, dir, name) else { return Ok(None) };
        let mut found = shared.base.root().clone();
        for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
            match if found.kind() == FileType::Directory { shared.base.lookup(&found, name)? } else { None } {
                Some(node) => found = node,
                None => return Ok(None),
            }
        }
        Ok(self.onto.text_of(&shared.base.origin(&found)?))
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
    match text(inner, &three.theirs, theirs) {
        Some(other) => merge_with(inner, three, [common, ours], other),
        None => Ok(false),
    }
}

/// Does the same with the text of the other side.
fn merge_with(inner: &Inner, three: &mut Three, [common, ours]: [u64; 2], other: Vec<u8>) -> Result<bool, Errno> {
    let old = text(inner, &three.common, common).or_else(|| kept(inner, three, common));
    let (Some(old), Some(one)) = (old, text(inner, &three.ours, ours)) else { return Ok(false) };
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

/// Returns the text of a node before the first change, where that was kept. Of two branches, each
/// has kept it when it changed the file first.
fn kept(inner: &Inner, three: &Three, number: u64) -> Option<Vec<u8>> {
    let ours = inner.kept_text(&three.ours, number)?;
    let is_common = three.over == Over::Base || inner.kept_text(&three.theirs, number).as_ref() == Some(&ours);
    is_common.then_some(ours)
}

/// Returns the text of a node: `None` if it is none, or cannot be read any more.
fn text(inner: &Inner, tree: &Tree<Row>, number: u64) -> Option<Vec<u8>> {
    let record = record(tree, number)?;
    let size = record.attributes.size;
    if record.kind() != FileType::Regular || size > LONGEST {
        return None;
    }
    let mut text = vec![0; size as usize];
    match inner.read_in(tree, &BaseFiles::default(), number, &mut text, 0) {
        Ok(length) if length == text.len() => {}
        // The base has changed the rest.
        Err(Errno::ESTALE) => text = inner.data_over_kept(tree, number)?,
        _ => return None,
    }
    (!text.contains(&0)).then_some(text)
}
