//! The nodes that the lookups go through, as a `.tree` file:
//! `kind TAB path TAB mode in octal TAB link body` a line. The kinds are `D`, `F` and `L`, and
//! directories come before their contents. A recording can be replayed on another machine on a tree
//! that is made from it.
//!
//! What it does not keep: owners, contents, and nodes that are neither directory, file nor link.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use pathwalk::{At, AtFlags, Context, FileType, Handle, Steps};

use super::sides::Engine;
use super::survey::node;

struct Node {
    kind: FileType,
    mode: u16,
    body: Box<[u8]>,
}

/// The directories, files and links, by canonical path.
#[derive(Default)]
pub(crate) struct Tree {
    nodes: BTreeMap<Vec<u8>, Node>,
    /// The names that do not fit into a line: with a TAB or a newline.
    unwritable: HashSet<Vec<u8>>,
}

impl Tree {
    /// Returns the number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the number of nodes whose name or body cannot be written, because it contains a TAB
    /// or a newline.
    pub(crate) fn unwritable(&self) -> usize {
        self.unwritable.len()
    }

    /// Adds the nodes that a walk went through.
    pub(crate) fn add(&mut self, engine: &Engine, steps: &Steps) {
        for node in steps.steps.iter().filter_map(node) {
            // A node without a path was removed meanwhile.
            if let Ok(path) = node.path() {
                self.add_with_parents(engine, path, node);
            }
        }
    }

    fn add_with_parents(&mut self, engine: &Engine, path: Vec<u8>, node: &Handle) {
        if self.nodes.contains_key(&path) || self.unwritable.contains(&path) {
            return;
        }
        if let Some(parent) = parent(&path)
            && let Ok(above) = at(engine.context(), parent)
        {
            self.add_with_parents(engine, parent.to_vec(), &above);
        }
        let Ok(attributes) = node.attributes() else { return };
        let body = match attributes.kind {
            FileType::Directory | FileType::Regular => Box::default(),
            FileType::Symlink => engine.link_body(node).unwrap_or_default(),
            _ => return,
        };
        if [&path[..], &body].iter().any(|text| text.iter().any(|byte| matches!(byte, b'\t' | b'\n'))) {
            self.unwritable.insert(path);
        } else {
            self.nodes.insert(path, Node { kind: attributes.kind, mode: attributes.mode, body });
        }
    }

    /// Writes the file.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (path, Node { kind, mode, body }) in &self.nodes {
            let kind = match kind {
                FileType::Directory => 'D',
                FileType::Symlink => 'L',
                _ => 'F',
            };
            write!(out, "{kind}\t")?;
            out.write_all(path)?;
            write!(out, "\t{mode:o}\t")?;
            out.write_all(body)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

/// Returns the directory above, or `None` for the root.
fn parent(path: &[u8]) -> Option<&[u8]> {
    match path.iter().rposition(|byte| *byte == b'/')? {
        0 if path.len() == 1 => None,
        0 => Some(b"/"),
        slash => Some(&path[..slash]),
    }
}

fn at(context: &Context, path: &[u8]) -> Result<Handle, pathwalk::Errno> {
    context.lookup_at(At::Cwd, path, AtFlags::SYMLINK_NOFOLLOW)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use pathwalk_bench::machine::{self, LastLinks};

    use super::*;

    #[test]
    fn a_walk_leaves_all_that_it_went_through() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(base.join("a/b")).unwrap();
        std::fs::write(base.join("a/b/file"), "text").unwrap();
        symlink("a/b", base.join("link")).unwrap();
        std::fs::write(base.join("with\ttab"), "").unwrap();
        let engine = Engine::new(machine::host(LastLinks::Any).unwrap(), &[]);
        let mut tree = Tree::default();
        let steps = |name: &str| engine.steps_to(base.join(name).as_os_str().as_encoded_bytes());
        for name in ["link/file", "link/nothing", "with\ttab", "with\ttab"] {
            tree.add(&engine, &steps(name));
        }
        let mut written = Vec::new();
        tree.write(&mut written).unwrap();
        let written = String::from_utf8(written).unwrap();
        assert!(written.starts_with("D\t/\t"), "{written}");
        let below = format!("\t{}/", base.display());
        let inside: Vec<_> = written.lines().filter_map(|line| line.split_once(&below)).collect();
        let names = inside.iter().map(|(kind, rest)| (*kind, rest.split('\t').next().unwrap_or_default()));
        assert_eq!(names.collect::<Vec<_>>(), [("D", "a"), ("D", "a/b"), ("F", "a/b/file"), ("L", "link")], "{written}");
        assert!(written.ends_with("/link\t777\ta/b\n"), "{written}");
        assert!(!written.contains("nothing") && !written.contains("tab"));
        assert_eq!((tree.unwritable(), tree.len()), (1, written.lines().count()));
    }

    #[test]
    fn above_the_root_is_nothing() {
        assert_eq!([parent(b"/"), parent(b"/a"), parent(b"/a/b")], [None, Some(&b"/"[..]), Some(b"/a")]);
    }
}
