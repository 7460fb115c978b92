//! Walks from strace's output.
//!
//! A recording has paths as programs spell them. The links in these paths are in a `.tree`, which
//! `pathwalk replay --tree` writes; without one, links are taken for directories. A name is present
//! if it is in the `.tree`, or if any call for it, or for a name below it, got another answer than
//! `ENOENT`. A walk that found nothing ends at the first name that is not present.

use std::collections::{HashMap, HashSet};

use pathwalk_recording::{Links, Lookup, Question, Recording, Start};

use super::file::Line;
use super::trace::Found;

/// The most links that a walk goes through. Source: `path_resolution(7)`.
const MOST_LINKS: usize = 40;

/// The links of a recording with their targets, and the names known to be present.
#[derive(Clone, Default, Debug)]
pub struct Tree {
    links: HashMap<Vec<u8>, Vec<u8>>,
    present: HashSet<Vec<u8>>,
}

impl Tree {
    /// Parses the bytes of a `.tree`, with `kind TAB path TAB mode TAB link body` in each line.
    /// Lines with fewer fields are left out.
    pub fn parse(bytes: &[u8]) -> Tree {
        let mut tree = Tree::default();
        for line in bytes.split(|byte| *byte == b'\n') {
            let mut fields = line.split(|byte| *byte == b'\t');
            if let (Some(kind), Some(path), Some(_), Some(body)) = (fields.next(), fields.next(), fields.next(), fields.next()) {
                add_with_parents(&mut tree.present, path);
                if kind == b"L" {
                    tree.links.insert(path.into(), body.into());
                }
            }
        }
        tree
    }
}

/// A path without links, `.` and `..`, and the links that lead there.
#[derive(Default)]
struct Resolved {
    links: Vec<Vec<u8>>,
    path: Vec<u8>,
}

/// Passes the walks of a recording to `each`, line by line and in their order: the lookups of
/// [`Recording::sequence`], which are all or a sample.
pub fn tell(recording: &Recording, tree: &Tree, mut each: impl FnMut(Line<'_>)) {
    let resolved: Vec<_> = recording.lookups.iter().map(|recorded| resolve(recording, tree, &recorded.lookup)).collect();
    let mut present = tree.present.clone();
    for (recorded, resolved) in recording.lookups.iter().zip(&resolved) {
        if recorded.answers.total() > recorded.answers.absent {
            add_with_parents(&mut present, &resolved.path);
        }
        resolved.links.iter().for_each(|link| add_with_parents(&mut present, link));
    }
    let ends: Vec<_> = resolved.iter().map(|resolved| end(&present, &resolved.path)).collect();
    for place in &recording.sequence {
        let place = *place as usize;
        resolved[place].links.iter().for_each(|link| each(Line::Link(link)));
        let (length, found) = ends[place];
        if length > 0 {
            each(Line::Walk(&resolved[place].path[..length], found));
        }
    }
}

/// Returns the length of the part of a path that a walk goes along, and what it finds there.
fn end(present: &HashSet<Vec<u8>>, path: &[u8]) -> (usize, Found) {
    let ends = path.iter().enumerate().skip(1).filter(|(_, byte)| **byte == b'/').map(|(i, _)| i);
    let missing = ends.chain([path.len()]).find(|length| *length > 0 && !present.contains(&path[..*length]));
    missing.map_or((path.len(), Found::Present), |length| (length, Found::Absent))
}

fn add_with_parents(present: &mut HashSet<Vec<u8>>, path: &[u8]) {
    let mut path = path;
    while !path.is_empty() && present.insert(path.to_vec()) {
        let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        path = &path[..slash];
    }
}

fn resolve(recording: &Recording, tree: &Tree, lookup: &Lookup) -> Resolved {
    let mut resolved = Resolved::default();
    if let Start::Directory(start) = lookup.start {
        // A directory's own path has no links.
        go(&mut resolved, &Tree::default(), &recording.starts[start as usize], Links::Follow);
    }
    let links = match lookup.question {
        Question::Access { links, .. } | Question::Directory { links, .. } | Question::Stat { links } => links,
        Question::Readlink => Links::Stay,
    };
    go(&mut resolved, tree, &lookup.path, links);
    resolved
}

/// Follows a path from the place where the walk stands.
fn go(resolved: &mut Resolved, tree: &Tree, path: &[u8], last: Links) {
    if path.starts_with(b"/") {
        resolved.path.clear();
    }
    let follows_last = last == Links::Follow || path.ends_with(b"/");
    let mut names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".").peekable();
    while let Some(name) = names.next() {
        if name == b".." {
            let slash = resolved.path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
            resolved.path.truncate(slash);
            continue;
        }
        let directory = resolved.path.len();
        resolved.path.push(b'/');
        resolved.path.extend_from_slice(name);
        if names.peek().is_none() && !follows_last {
            return;
        }
        if let Some(body) = tree.links.get(&resolved.path)
            && resolved.links.len() < MOST_LINKS
        {
            resolved.links.push(resolved.path.clone());
            resolved.path.truncate(directory);
            go(resolved, tree, body, Links::Follow);
        }
    }
}

#[cfg(test)]
mod tests {
    use pathwalk_recording::Options;

    use super::*;

    fn told(tree: &str, text: &str) -> Vec<String> {
        let options = Options { cwd: Some("/home/user".into()), ..Options::default() };
        let recording = Recording::read(text.as_bytes(), options).unwrap();
        let mut lines = Vec::new();
        tell(&recording, &Tree::parse(tree.as_bytes()), |line| {
            let (sign, path) = match line {
                Line::Link(path) => ('>', path),
                Line::Walk(path, Found::Present) => ('+', path),
                Line::Walk(path, Found::Absent) => ('-', path),
            };
            lines.push(format!("{sign}{}", path.escape_ascii()));
        });
        lines
    }

    #[test]
    fn links_are_gone_through() {
        let tree = "D\t/\t755\t\nL\t/lib\t777\tusr/lib\nL\t/usr/lib/a\t777\t../b/./c\nL\t/loop\t777\tloop\n";
        let text = "1 access(\"/lib/a\", R_OK) = 0\n1 readlink(\"/lib/a\", \"../b/./c\", 9) = 8\n1 access(\"x/../y\", R_OK) = 0\n\
                    1 access(\"/loop/x\", R_OK) = -1 ELOOP (Too many levels of symbolic links)\n";
        let lines = told(tree, text);
        assert_eq!(lines[..5], [">/lib", ">/usr/lib/a", "+/usr/b/c", ">/lib", "+/usr/lib/a"]);
        assert_eq!(lines[5], "+/home/user/y");
        assert_eq!(lines.len(), 6 + MOST_LINKS + 1);
    }

    #[test]
    fn an_absent_walk_ends_at_the_first_name_that_was_never_found() {
        let text = "1 access(\"/a/b/c\", R_OK) = -1 ENOENT (No such file or directory)\n1 access(\"/a/x\", R_OK) = 0\n\
                    1 access(\"/d\", R_OK) = -1 ENOENT (No such file or directory)\n1 access(\"/d\", R_OK) = 0\n";
        assert_eq!(told("", text), ["-/a/b", "+/a/x", "+/d", "+/d"]);
    }
}
