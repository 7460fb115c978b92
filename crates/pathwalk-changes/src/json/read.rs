//! The reader. The input is read twice: once to check all of it beside the tree, and once to apply
//! it.

use std::io::{BufRead, BufReader, Read, Seek};

use pathwalk::{Context, FileType, InodeFlags};
use pathwalk_branch::Aspects;

use super::{NAME, Record, VERSION, What};
use crate::apply::{self, Names};
use crate::data::Writer;
use crate::error::{Error, Position};
use crate::node::{self, Kind, Node};
use crate::path::{PathBytes, checked};
use crate::plan::{Changed, Plan};
use crate::tree::Tree;

/// The longest line: a node with many extended attributes is one.
const LONGEST_LINE: u64 = 64 << 20;

/// Applies changes that [`write`](super::write) has written to the tree below the root of a context.
/// No link is followed, and nothing outside is touched.
///
/// All of the input is read before the first change, and checked beside the tree: it has the nodes
/// that are changed or go, with their types, and the places of new ones are free.
///
/// [`json`](crate::json) has the format and an example.
pub fn apply(mut input: impl Read + Seek, onto: &Context) -> Result<(), Error> {
    let tree = Tree::of(onto)?;
    let begin = input.stream_position().map_err(Error::Input)?;
    let plan = check(&mut input)?;
    apply::check(&plan, &tree)?;
    input.seek(std::io::SeekFrom::Start(begin)).map_err(Error::Input)?;
    let mut lines = Lines::new(&mut input);
    let mut applying = Applying { tree: &tree, names: Names::begin(&tree, &plan)?, open: None, directories: Vec::new() };
    while let Some(record) = lines.next()? {
        applying.carry_out(record)?;
    }
    Ok(())
}

/// The lines of the input.
struct Lines<R> {
    input: BufReader<R>,
    number: u64,
}

impl<R: Read> Lines<R> {
    fn new(input: R) -> Lines<R> {
        Lines { input: BufReader::new(input), number: 0 }
    }

    fn place(&self) -> Position {
        Position::Line(self.number)
    }

    fn malformed(&self, what: impl Into<String>) -> Error {
        Error::malformed(self.place(), what)
    }

    fn next(&mut self) -> Result<Option<Record>, Error> {
        let mut line = Vec::new();
        self.number += 1;
        let length = self.input.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(Error::Input)?;
        match line.last() {
            None => return Ok(None),
            Some(b'\n') => {}
            Some(_) if length as u64 == LONGEST_LINE => return Err(self.malformed("the line is too long")),
            Some(_) => return Err(self.malformed("the last line is cut off")),
        }
        serde_json::from_slice(&line).map(Some).map_err(|error| self.malformed(format!("no line of changes ({error})")))
    }
}

/// Returns the place of a line in the order of their kinds.
fn rank(record: &Record) -> u8 {
    match record {
        Record::Format { .. } => 0,
        Record::Removed { .. } => 1,
        Record::Renamed { .. } => 2,
        Record::New { .. } => 3,
        Record::Link { .. } => 4,
        Record::Changed { .. } => 5,
        Record::Directory { .. } => 6,
        Record::End { .. } => 7,
        // Of the file before it.
        Record::Data { .. } => u8::MAX,
    }
}

/// Reads all of an input, and returns what it does to the names of a tree.
fn check(input: impl Read) -> Result<Plan, Error> {
    let mut lines = Lines::new(input);
    match lines.next()? {
        Some(Record::Format { name, version: VERSION }) if name == NAME => {}
        Some(Record::Format { name, version }) if name == NAME => {
            return Err(lines.malformed(format!("version {version} of the format, of which this is {VERSION}")));
        }
        _ => return Err(lines.malformed(format!("not the format \"{NAME}\""))),
    }
    let (mut plan, mut last, mut count) = (Plan::default(), 1, 1);
    // Of the file to which data may come: where the data before it ended, and the size.
    let mut file = None;
    while let Some(record) = lines.next()? {
        if let Record::Data { at, bytes } = &record {
            let (done, size) = file.as_mut().ok_or_else(|| lines.malformed("data of no file"))?;
            let end = at.checked_add(bytes.0.len() as u64).filter(|end| end <= size && at >= done && end > at);
            *done = end.ok_or_else(|| lines.malformed("data that overlaps other data, or lies behind the end of the file"))?;
        } else {
            if rank(&record) < last {
                return Err(lines.malformed("the line comes too late"));
            }
            last = rank(&record);
            file = note(&mut plan, &record, &lines, count)?;
        }
        count += 1;
    }
    if last == rank(&Record::End { lines: 0 }) { Ok(plan) } else { Err(lines.malformed("the end is missing")) }
}

/// Takes a line into the plan, and returns where the data of its file begins, and its size.
fn note<R: Read>(plan: &mut Plan, record: &Record, lines: &Lines<R>, count: u64) -> Result<Option<(u64, u64)>, Error> {
    let place = lines.place();
    let path = |path: &crate::bytes::Bytes| checked(&path.0, place);
    let is_new = |plan: &Plan, path: &PathBytes| match plan.has_come(path) {
        true => Err(lines.malformed("a name comes twice")),
        false => Ok(()),
    };
    let sound = |node: &Node| node.fault().map_or(Ok(()), |fault| Err(lines.malformed(fault)));
    match record {
        Record::Removed { path: at, kind } => _ = plan.removed.insert(path(at)?, kind.file_type()),
        Record::Renamed { from, to, kind } => {
            let (from, to) = (path(from)?, path(to)?);
            is_new(plan, &to)?;
            if plan.is_gone(&from) {
                return Err(lines.malformed("a name goes twice"));
            }
            plan.rename(&from, &to, kind.file_type());
        }
        Record::New { path: at, node } => {
            let at = path(at)?;
            is_new(plan, &at)?;
            sound(node)?;
            if plan.new.last_key_value().is_some_and(|(last, _)| *last > at) {
                return Err(lines.malformed("the paths of new nodes are not sorted"));
            }
            plan.make(&at, node.kind.file_type());
            return Ok((node.kind == Kind::File).then_some((0, node.size)));
        }
        Record::Link { path: at, to } => {
            let (at, to) = (path(at)?, path(to)?);
            is_new(plan, &at)?;
            plan.link(&at, &to);
        }
        Record::Changed { path: at, was, what, node } => {
            let (path, was, what) = (path(at)?, path(was)?, What::aspects(what));
            sound(node)?;
            if what.contains(Aspects::DATA) && node.kind != Kind::File {
                return Err(lines.malformed("data of what is no file"));
            }
            if plan.old_path(&path).as_ref() != Some(&was) {
                return Err(lines.malformed("the old path of a changed node is not the one that leads to its new path"));
            }
            plan.changed.insert(path, Changed { kind: node.kind.file_type(), was, what });
            return Ok(what.contains(Aspects::DATA).then_some((0, node.size)));
        }
        Record::Directory { path: at, .. } => _ = path(at)?,
        Record::End { lines: said } if *said == count => {}
        Record::End { .. } => return Err(lines.malformed("lines are missing or too many")),
        Record::Format { .. } | Record::Data { .. } => return Err(lines.malformed("the line comes too late")),
    }
    Ok(None)
}

/// A tree to which lines are applied.
struct Applying<'t> {
    tree: &'t Tree,
    names: Names<'t>,
    open: Option<Open>,
    /// New directories, which get their attributes when all is in them.
    directories: Vec<(PathBytes, Node)>,
}

/// The node whose line was the last one.
struct Open {
    path: PathBytes,
    node: Node,
    what: Aspects,
    /// The flags that it had, and that forbade changes.
    forbidden: InodeFlags,
    data: Option<Writer>,
}

impl Applying<'_> {
    fn carry_out(&mut self, record: Record) -> Result<(), Error> {
        if let Record::Data { at, bytes } = &record {
            let Some(Open { path, data: Some(data), .. }) = &self.open else { return Ok(()) };
            return self.names.at("the data of", path, data.write(*at, &bytes.0));
        }
        if let Some(open) = self.open.take() {
            let done = self.close(&open);
            self.names.at("the attributes of", &open.path, done)?;
        }
        // All that moves has its place before the first line that says where it is.
        if rank(&record) > rank(&Record::New { path: Default::default(), node: Node::default() }) {
            self.names.come_all()?;
        }
        match record {
            Record::New { path, node } => {
                self.names.come_before(&path.0)?;
                let done = self.make(&path.0, node);
                self.names.at("the new", &path.0, done)
            }
            Record::Link { path, to } => {
                let done = self.link(&path.0, &to.0);
                self.names.at("the further name", &path.0, done)
            }
            Record::Changed { path, what, node, .. } => {
                let done = self.change(&path.0, What::aspects(&what), node);
                self.names.at("the change of", &path.0, done)
            }
            Record::Directory { path, mtime } => {
                self.finish_directories()?;
                let done = node::set_mtime(self.tree, &path.0, mtime);
                self.names.at("the time of", &path.0, done)
            }
            Record::End { .. } => self.finish_directories(),
            _ => Ok(()),
        }
    }

    fn make(&mut self, path: &[u8], node: Node) -> Result<(), Error> {
        node.make(self.tree, path)?;
        if node.kind == Kind::Directory {
            self.directories.push((path.into(), node));
            return Ok(());
        }
        let data = if node.kind == Kind::File { Some(Writer::begin(self.tree, path, node.size)?) } else { None };
        self.open = Some(Open { path: path.into(), node, what: Aspects::all(), forbidden: InodeFlags::empty(), data });
        Ok(())
    }

    fn link(&self, path: &[u8], to: &[u8]) -> Result<(), Error> {
        node::link(self.tree, to, path)
    }

    fn change(&mut self, path: &[u8], what: Aspects, node: Node) -> Result<(), Error> {
        let forbidden = node::allow_changes(self.tree, path)?;
        let has_data = what.contains(Aspects::DATA) && node.kind == Kind::File;
        let data = if has_data { Some(Writer::begin(self.tree, path, node.size)?) } else { None };
        self.open = Some(Open { path: path.into(), node, what, forbidden, data });
        Ok(())
    }

    fn close(&self, open: &Open) -> Result<(), Error> {
        let Open { path, node, what, forbidden, .. } = open;
        node.set(self.tree, path, *what)?;
        if self.tree.node(path)?.kind() == FileType::Directory {
            node.finish(self.tree, path, *what - Aspects::DATA)?;
        }
        let kept = if what.contains(Aspects::ATTRIBUTES) { InodeFlags::empty() } else { *forbidden };
        node::forbid_changes(self.tree, path, kept)
    }

    /// Gives new directories their attributes, the deepest first: the rights to one may not suffice
    /// to reach what is below it.
    fn finish_directories(&mut self) -> Result<(), Error> {
        while let Some((path, node)) = self.directories.pop() {
            let set = || {
                node.set(self.tree, &path, Aspects::all())?;
                node.finish(self.tree, &path, Aspects::all())
            };
            self.names.at("the attributes of", &path, set())?;
        }
        Ok(())
    }
}
