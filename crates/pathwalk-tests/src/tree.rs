//! The recorded trees of `traces/`: parses them, and lays them into a file system or a directory of
//! the host.
//!
//! A tree has a line for each node, `kind TAB path TAB mode in octal TAB link body`, directories
//! before their contents. Paths are bytes. No node can lie outside the tree: a path with `..` in it
//! is refused.
//!
//! `pathwalk_trace::trace` reads the traces that run on such trees.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use pathwalk_memfs::MemFs;

/// The nodes that the lookups of gcc and the linker go through.
const GCC_TREE: &[u8] = include_bytes!("../../../traces/gcc-access.tree");

/// A line that describes no node.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, \"{}\": {problem}", text.escape_ascii())]
pub struct ParseError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The text of the line.
    pub text: Vec<u8>,
    /// The error in the line.
    pub problem: &'static str,
}

/// The type of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A directory.
    Directory,
    /// An empty regular file.
    File,
    /// A symbolic link with this body.
    Link(Vec<u8>),
}

/// One node of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The type of the node.
    pub kind: Kind,
    /// The path from the root, with a leading slash.
    pub path: Vec<u8>,
    /// The permission bits.
    pub mode: u16,
}

/// A recorded tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree(pub Vec<Entry>);

/// Returns the tree that gcc and the linker go through on Debian 12.
pub fn gcc_tree() -> Result<Tree, ParseError> {
    Tree::parse(GCC_TREE)
}

impl Tree {
    /// Parses a tree; the first malformed line is the error.
    pub fn parse(text: &[u8]) -> Result<Tree, ParseError> {
        lines(text, parse_entry).map(Tree)
    }

    /// Lays the tree into a file system in memory.
    pub fn lay_into(&self, fs: &MemFs) -> Result<(), pathwalk_memfs::Error> {
        for Entry { kind, path, mode } in &self.0 {
            match kind {
                Kind::Directory if path == b"/" => fs.chmod(path, *mode)?,
                Kind::Directory => fs.mkdir(path, *mode)?,
                Kind::File => fs.file(path, *mode)?,
                Kind::Link(body) => fs.symlink(body, path)?,
            }
        }
        Ok(())
    }

    /// Lays the tree into a directory of the host, which becomes its root. Sets modes regardless of
    /// the umask, those of directories last, so that some may be read-only. A link keeps the mode
    /// that the host gives it.
    pub fn lay_beneath(&self, root: &Path) -> io::Result<()> {
        for entry in &self.0 {
            let path = entry.beneath(root);
            let made = match &entry.kind {
                Kind::Directory if path == root => Ok(()),
                Kind::Directory => fs::create_dir(&path),
                Kind::File => File::create_new(&path).map(drop),
                Kind::Link(body) => symlink(OsStr::from_bytes(body), &path),
            };
            made.map_err(|error| at("make", &path, &error))?;
        }
        for entry in self.0.iter().rev().filter(|entry| !matches!(entry.kind, Kind::Link(_))) {
            let path = entry.beneath(root);
            let set = fs::set_permissions(&path, Permissions::from_mode(entry.mode.into()));
            set.map_err(|error| at("change mode of", &path, &error))?;
        }
        Ok(())
    }
}

impl Entry {
    fn beneath(&self, root: &Path) -> PathBuf {
        let names = self.path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        names.fold(root.to_path_buf(), |path, name| path.join(OsStr::from_bytes(name)))
    }
}

fn parse_entry(fields: &[&[u8]]) -> Result<Entry, &'static str> {
    let [kind, path, mode, rest @ ..] = fields else { return Err("a node has kind, path, mode and, if a link, body") };
    if !path.starts_with(b"/") || path.contains(&0) || path.split(|byte| *byte == b'/').any(|name| matches!(name, b"." | b"..")) {
        return Err("a path starts with a slash and has no NUL, . or .. in it");
    }
    let mode = std::str::from_utf8(mode).ok().and_then(|mode| u16::from_str_radix(mode, 8).ok());
    let mode = mode.filter(|mode| *mode <= 0o7777).ok_or("a mode is octal, 0 to 7777")?;
    let kind = match (*kind, rest) {
        (b"D", [] | [b""]) => Kind::Directory,
        (b"F", [] | [b""]) => Kind::File,
        (b"L", [body]) if !body.is_empty() => Kind::Link(body.to_vec()),
        _ => return Err("a node is D, F, or L with a body"),
    };
    Ok(Entry { kind, path: path.to_vec(), mode })
}

/// Parses the fields of each line that is not empty.
fn lines<T>(text: &[u8], parse: impl Fn(&[&[u8]]) -> Result<T, &'static str>) -> Result<Vec<T>, ParseError> {
    let numbered = text.split(|byte| *byte == b'\n').zip(1..).filter(|(line, _)| !line.is_empty());
    let parse = |(line, number): (&[u8], usize)| {
        let fields: Vec<_> = line.split(|byte| *byte == b'\t').collect();
        parse(&fields).map_err(|problem| ParseError { line: number, text: line.to_vec(), problem })
    };
    numbered.map(parse).collect()
}

fn at(action: &str, path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot {action} \"{}\": {error}", path.as_os_str().as_bytes().escape_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_is_whole() {
        let tree = gcc_tree().unwrap();
        assert_eq!(tree.0.len(), 39);
        assert_eq!(tree.0[1].kind, Kind::Link(b"usr/bin".to_vec()));
        assert_eq!((tree.0[5].path.as_slice(), tree.0[5].mode), (b"/tmp".as_slice(), 0o1777));
    }

    #[test]
    fn a_malformed_line_is_named() {
        let error = Tree::parse(b"D\t/\t755\t\n\nF\t/\xff\t9\t\n").unwrap_err();
        assert_eq!(error.to_string(), "line 3, \"F\\t/\\xff\\t9\\t\": a mode is octal, 0 to 7777");
        for line in [
            "",
            "D",
            "D\t/",
            "X\t/a\t1\t",
            "L\t/a\t1\t",
            "L\t/a\t1",
            "F\ta\t1\t",
            "F\t/../a\t1\t",
            "F\t/a\t10000\t",
            "F\t/a\t1\tx",
        ] {
            assert_eq!(Tree::parse(line.as_bytes()).is_err(), !line.is_empty(), "{line:?}");
        }
    }

    #[test]
    fn the_host_gets_the_modes_whatever_the_umask() {
        let dir = tempfile::tempdir().unwrap();
        let tree = Tree::parse(b"D\t/\t700\nD\t/d\t555\nF\t/d/f\t666\nD\t/d/e\t1777\nL\t/d/l\t777\tf\n").unwrap();
        tree.lay_beneath(dir.path()).unwrap();
        let mode = |path: &str| fs::metadata(dir.path().join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!(["", "d", "d/f", "d/e", "d/l"].map(mode), [0o700, 0o555, 0o666, 0o1777, 0o666]);
        let error = tree.lay_beneath(dir.path()).unwrap_err().to_string();
        assert!(error.contains("cannot make") && error.contains("/d\""), "{error}");
        // So that a user other than root can also remove the directory.
        fs::set_permissions(dir.path().join("d"), Permissions::from_mode(0o755)).unwrap();
    }
}
