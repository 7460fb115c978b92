//! What a person should look at first: programs that were made or changed, files whose names begin
//! with a dot, and changed or removed files of which version control has no copy.
//!
//! What it does not do: look into files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use pathwalk::{Context, FileType};
use pathwalk_branch::Change;
use serde_json::{Value, json};

/// The most paths that are named of a kind.
const MOST: usize = 5;

/// The paths, each without repeats.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Notable {
    pub(super) executables: BTreeSet<Vec<u8>>,
    pub(super) dotfiles: BTreeSet<Vec<u8>>,
    pub(super) unversioned: BTreeSet<Vec<u8>>,
}

impl Notable {
    /// Looks for them. `new` is the branch.
    pub(super) fn of(changes: &[Change], new: &Context, base: &Path) -> Notable {
        let mut found = Notable::default();
        for change in changes {
            let path = change.path();
            let is_there = !matches!(change, Change::Removed { .. });
            let is_program = |path: &[u8]| {
                let of = new.lstat(path);
                of.is_ok_and(|of| of.kind == FileType::Regular && of.mode & 0o111 != 0)
            };
            if is_there && is_program(path) {
                found.executables.insert(path.to_owned());
            }
            if is_dotfile(path) {
                found.dotfiles.insert(path.to_owned());
            }
        }
        found.unversioned = unversioned(changes, base);
        found
    }

    /// Returns them as JSON, all of each kind.
    pub(super) fn json(&self) -> Value {
        let texts = |paths: &BTreeSet<Vec<u8>>| {
            let texts = paths.iter().map(|path| String::from_utf8_lossy(path).into_owned());
            texts.collect::<Vec<_>>()
        };
        json!({
            "programs": texts(&self.executables),
            "dotfiles": texts(&self.dotfiles),
            "no_copy_in_git": texts(&self.unversioned),
        })
    }

    /// Returns them as lines, those of each kind together.
    pub(super) fn text(&self) -> String {
        let kinds = [("program", &self.executables), ("dotfile", &self.dotfiles), ("no copy in git", &self.unversioned)];
        let mut lines = String::new();
        for (kind, paths) in kinds {
            for path in paths.iter().take(MOST) {
                lines += &format!("{kind:14}   {}\n", crate::branch::shown::escape(path));
            }
            if paths.len() > MOST {
                lines += &format!("{kind:14}   and {} more\n", paths.len() - MOST);
            }
        }
        if lines.is_empty() { lines } else { format!("Look at these first:\n{lines}\n") }
    }
}

/// Returns whether a component begins with a dot. Of what git keeps for itself, only what it runs
/// or reads as its configuration counts.
fn is_dotfile(path: &[u8]) -> bool {
    let mut components = path.split(|byte| *byte == b'/').filter(|component| !component.is_empty());
    while let Some(component) = components.next() {
        if component == b".git" {
            return components.next().is_none_or(|next| next == b"hooks" || next == b"config");
        }
        if component.starts_with(b".") {
            return true;
        }
    }
    false
}

/// Returns whether a path leads to what git keeps for itself, which it never lists.
fn is_of_git(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|component| component == b".git")
}

/// Returns the files at the paths that changed or went which git does not know. The base is as it
/// was. None where there is no git, or no repository.
fn unversioned(changes: &[Change], base: &Path) -> BTreeSet<Vec<u8>> {
    let old = changes.iter().filter_map(|change| match change {
        Change::Added { .. } => None,
        Change::Renamed { from, .. } => Some(&**from),
        Change::Changed { kind: FileType::Directory, .. } => None,
        change => Some(change.path()),
    });
    let old: Vec<&[u8]> =
        old.map(|path| path.strip_prefix(b"/").unwrap_or(path)).filter(|path| !path.is_empty() && !is_of_git(path)).collect();
    if old.is_empty() || !may_be_in_repository(base) {
        return BTreeSet::new();
    }
    let mut git = Command::new("git");
    git.arg("-C").arg(base).args(["-c", "core.fsmonitor=false", "--literal-pathspecs", "ls-files", "-z", "--others", "--"]);
    // As many as a command line takes for sure.
    git.args(old.iter().take(1000).map(|path| OsStr::from_bytes(path)));
    let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output();
    let listed = output.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| [b"/", name].concat()).collect()
}

/// Returns whether git may find a repository for a directory, without starting it.
fn may_be_in_repository(dir: &Path) -> bool {
    std::env::var_os("GIT_DIR").is_some() || dir.ancestors().any(|above| above.join(".git").symlink_metadata().is_ok())
}

/// Writes them to standard error.
pub(super) fn tell(notable: &Notable) -> anyhow::Result<()> {
    Ok(std::io::stderr().write_all(notable.text().as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dotfiles_are_told_by_any_component() {
        for (path, is) in [("/.bashrc", true), ("/a/.ssh/key", true), ("/a.b/c", false), ("/.git/objects/1", false)] {
            assert_eq!(is_dotfile(path.as_bytes()), is, "{path}");
        }
        assert!(is_dotfile(b"/.git/hooks/pre-commit") && is_dotfile(b"/.git") && is_dotfile(b"/sub/.git/config"));
    }

    #[test]
    fn of_many_some_are_named() {
        let notable = Notable { dotfiles: (0..7).map(|n| format!("/.{n}").into_bytes()).collect(), ..Notable::default() };
        assert!(notable.text().ends_with("dotfile          /.4\ndotfile          and 2 more\n\n"), "{}", notable.text());
    }
}
