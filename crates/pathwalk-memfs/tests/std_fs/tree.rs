//! Whole trees, as lines.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use pathwalk::{Context, Error, FileType};

use super::op::{ours, theirs};

/// Returns each entry below a path, as a walk gives it. Directories come before what is in them.
pub(super) fn walked(context: &Context, path: &str) -> Result<Vec<String>, Error> {
    let mut seen = vec![PathBuf::from(path).components().collect::<PathBuf>()];
    let mut walk = context.walk(path)?;
    let mut lines = Vec::new();
    while let Some(entry) = walk.next() {
        let entry = entry?;
        let path: PathBuf = entry.path().components().collect();
        assert!(seen.iter().any(|dir| Some(dir.as_path()) == path.parent()), "{path:?} came before its directory");
        assert!(!seen.contains(&path), "{path:?} came twice");
        assert_eq!(walk.depth(), path.components().count() - seen[0].components().count());
        if entry.kind() == FileType::Directory {
            seen.push(path);
        }
        lines.push(format!("{} {}", entry.path().display(), ours(&entry.metadata(context)?)));
    }
    Ok(lines)
}

/// Returns the same of a directory of the host; paths from `root` on.
pub(super) fn walked_on_host(path: &Path, root: &Path) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    let mut open = vec![path.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            lines.push(line_on_host(&entry, root)?);
            if entry.file_type()?.is_dir() {
                open.push(entry.path());
            }
        }
    }
    Ok(lines)
}

/// Returns one entry of the host, with its path from `root` on, as it is spelled.
pub(super) fn line_on_host(entry: &fs::DirEntry, root: &Path) -> io::Result<String> {
    let path = entry.path();
    let shown = &path.as_os_str().as_bytes()[root.as_os_str().len()..];
    Ok(format!("{} {}", String::from_utf8_lossy(shown), theirs(&entry.metadata()?)))
}

/// Returns all there is, with what is in files and links.
pub(super) fn of_context(context: &Context) -> Vec<String> {
    let mut lines = walked(context, "/").unwrap();
    for line in &mut lines {
        let path = line.split(' ').next().unwrap().to_owned();
        let inside = match context.symlink_metadata(&path).unwrap().kind {
            FileType::Regular => context.read(&path).unwrap(),
            FileType::Symlink => context.read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            _ => vec![],
        };
        line.push_str(&inside.escape_ascii().to_string());
    }
    lines.sort();
    lines
}

/// Returns the same of a directory of the host.
pub(super) fn of_host(root: &Path) -> Vec<String> {
    let mut lines = walked_on_host(root, root).unwrap();
    for line in &mut lines {
        let path = PathBuf::from(format!("{}{}", root.display(), line.split(' ').next().unwrap()));
        let kind = fs::symlink_metadata(&path).unwrap().file_type();
        let inside = match (kind.is_file(), kind.is_symlink()) {
            (true, _) => fs::read(&path).unwrap(),
            (_, true) => fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec(),
            _ => vec![],
        };
        line.push_str(&inside.escape_ascii().to_string());
    }
    lines.sort();
    lines
}
