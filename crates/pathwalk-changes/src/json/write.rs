//! The writer: names first, then nodes, each with its data.

use std::io::Write;

use pathwalk::{Context, FileType};
use pathwalk_branch::{Aspects, Change};

use super::{NAME, Record, VERSION, What};
use crate::bytes::Bytes;
use crate::data::{self, PART};
use crate::error::Error;
use crate::node::Node;
use crate::plan::Plan;
use crate::tree::Tree;

/// Writes changes between two trees as JSON.
///
/// [`json`](crate::json) has the format and an example.
pub fn write(changes: &[Change], old: &Context, new: &Context, out: impl Write) -> Result<(), Error> {
    let (old, new) = (Tree::of(old)?, Tree::of(new)?);
    let plan = Plan::of(changes, &old, &new)?;
    let mut lines = Lines { out, lines: 0 };
    lines.write(&Record::Format { name: NAME.to_owned(), version: VERSION })?;
    for (path, kind) in &plan.removed {
        lines.write(&Record::Removed { path: Bytes::from(&**path), kind: (*kind).into() })?;
    }
    for (to, (from, kind)) in &plan.renamed {
        lines.write(&Record::Renamed { from: Bytes::from(&**from), to: Bytes::from(&**to), kind: (*kind).into() })?;
    }
    for path in plan.new.keys() {
        let node = Node::read(&new, path)?;
        let size = node.size;
        lines.write(&Record::New { path: Bytes::from(&**path), node })?;
        lines.data(&new, path, size)?;
    }
    for (path, to) in &plan.links {
        lines.write(&Record::Link { path: Bytes::from(&**path), to: Bytes::from(&**to) })?;
    }
    for (path, changed) in &plan.changed {
        let node = Node::read(&new, path)?;
        let size = if changed.what.contains(Aspects::DATA) { node.size } else { 0 };
        let (was, what) = (Bytes::from(&*changed.was), What::of(changed.what));
        lines.write(&Record::Changed { path: Bytes::from(&**path), was, what, node })?;
        lines.data(&new, path, size)?;
    }
    for path in plan.directories().iter().filter(|path| !plan.new.contains_key(*path)) {
        let mtime = new.attributes(path)?.mtime.into();
        lines.write(&Record::Directory { path: Bytes::from(&**path), mtime })?;
    }
    let end = Record::End { lines: lines.lines };
    lines.write(&end)?;
    lines.out.flush().map_err(Error::Output)
}

/// The lines of the output.
struct Lines<W> {
    out: W,
    lines: u64,
}

impl<W: Write> Lines<W> {
    fn write(&mut self, record: &Record) -> Result<(), Error> {
        let mut line = serde_json::to_vec(record).map_err(|error| Error::Output(error.into()))?;
        line.push(b'\n');
        self.lines += 1;
        self.out.write_all(&line).map_err(Error::Output)
    }

    /// Writes the data of a file of this size.
    fn data(&mut self, tree: &Tree, path: &[u8], size: u64) -> Result<(), Error> {
        if size == 0 || tree.node(path)?.kind() != FileType::Regular {
            return Ok(());
        }
        let file = tree.open(path)?;
        for range in data::ranges(&file, path, size)? {
            let mut rest = Vec::with_capacity(PART);
            let end = range.end;
            data::for_each_part(&file, path, range, |at, bytes| {
                let begin = at - rest.len() as u64;
                rest.extend_from_slice(bytes);
                // A part of a character waits for its other bytes.
                let is_last = at + bytes.len() as u64 == end;
                let kept = if is_last { 0 } else { begun_character(&rest) };
                let waiting = rest.split_off(rest.len() - kept);
                let bytes = Bytes(std::mem::replace(&mut rest, waiting));
                self.write(&Record::Data { at: begin, bytes })
            })?;
        }
        Ok(())
    }
}

/// Returns the number of bytes at the end of some text that begin a character, and are no whole
/// one.
fn begun_character(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() && error.valid_up_to() > 0 => bytes.len() - error.valid_up_to(),
        _ => 0,
    }
}
