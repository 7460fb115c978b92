//! The list of all mutants, and a sample with the same share from each folder.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::built::LeftOut;

/// The packages that are mutated.
pub(super) const PACKAGES: [&str; 2] = ["pathwalk", "pathwalk-ring"];

/// The parts that a sample is spread over, each with the beginnings of its files' paths.
pub(super) const FOLDERS: [(&str, &[&str]); 6] = [
    ("walk", &["crates/pathwalk/src/walk/", "crates/pathwalk/src/text/"]),
    ("dcache", &["crates/pathwalk/src/cache/dcache/", "crates/pathwalk/src/cache/join.rs"]),
    ("icache", &["crates/pathwalk/src/cache/icache/", "crates/pathwalk/src/inode_cache/"]),
    ("memory", &["crates/pathwalk/src/memory/", "crates/pathwalk/src/cache/reclaim/", "crates/pathwalk/src/cache/budget.rs"]),
    ("ops", &["crates/pathwalk/src/ops/", "crates/pathwalk/src/superblock/"]),
    ("ring", &["crates/pathwalk-ring/src/"]),
];

/// A small change to the sources.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Mutant {
    /// The name that `cargo-mutants` gives it: file, line, column and description.
    pub(super) name: String,
    pub(super) file: String,
    pub(super) folder: &'static str,
    /// The kind, in the words of `cargo-mutants`: `FnValue`, `BinaryOperator` and others.
    pub(super) genre: String,
    /// The text that the mutant has between `start` and `end`.
    pub(super) replacement: String,
    pub(super) start: Position,
    pub(super) end: Position,
    pub(super) diff: String,
}

/// A line and a column of a source, in characters. Both count from one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Position {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Mutant {
    /// Returns the file and the description, without a position that moves when other lines change.
    pub(super) fn title(&self) -> String {
        let described = self.name[self.file.len()..].splitn(4, ':').last().unwrap_or_default();
        format!("{}: {}", self.file, described.trim())
    }

    /// Returns the removed and added lines, with their signs.
    pub(super) fn changed(&self) -> Vec<&str> {
        let is_change = |line: &&str| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
        self.diff.lines().filter(is_change).collect()
    }

    #[cfg(test)]
    pub(super) fn of_test(name: &str, file: &str, diff: &str) -> Mutant {
        let start = Position { line: 1, column: 1 };
        let (name, file, diff) = (name.to_owned(), file.to_owned(), diff.to_owned());
        Mutant { name, file, folder: FOLDERS[0].0, genre: String::new(), replacement: String::new(), start, end: start, diff }
    }
}

/// Returns all mutants of the folders, in the order of the sources. Code that is not built for
/// users has none.
pub(super) fn all() -> Result<Vec<Mutant>> {
    let mut command = Command::new("cargo");
    command.args(["mutants", "--list", "--json"]).args(PACKAGES.iter().flat_map(|package| ["-p", package]));
    let output = command.output().context("run cargo mutants; `cargo install cargo-mutants --locked` installs it")?;
    ensure!(output.status.success(), "cargo mutants --list: {}", String::from_utf8_lossy(&output.stderr));
    let list: Value = serde_json::from_slice(&output.stdout).context("read what cargo mutants lists")?;
    let mut files = HashMap::new();
    let mut all = Vec::new();
    for mutant in list.as_array().into_iter().flatten().filter_map(mutant) {
        let left_out = match files.entry(mutant.file.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let source = std::fs::read_to_string(&mutant.file).with_context(|| format!("read {}", mutant.file))?;
                new.insert(LeftOut::of(&source).with_context(|| mutant.file.clone())?)
            }
        };
        if !left_out.has(mutant.start.line) {
            all.push(mutant);
        }
    }
    Ok(all)
}

fn mutant(told: &Value) -> Option<Mutant> {
    let text = |key: &str| told[key].as_str().map(str::to_owned);
    let file = text("file")?;
    let folder = FOLDERS.iter().find(|(_, beginnings)| beginnings.iter().any(|beginning| file.starts_with(beginning)))?.0;
    let position = |end: &str| {
        let number = |key: &str| usize::try_from(told["span"][end][key].as_u64()?).ok();
        Some(Position { line: number("line")?, column: number("column")? })
    };
    Some(Mutant {
        name: text("name")?,
        file,
        folder,
        genre: text("genre")?,
        replacement: text("replacement")?,
        start: position("start")?,
        end: position("end")?,
        diff: text("diff")?,
    })
}

/// Draws `size` mutants. If a folder has too few, the others provide the rest.
pub(super) fn draw(mut all: Vec<Mutant>, size: usize, seed: u64) -> Vec<Mutant> {
    let mut rng = fastrand::Rng::with_seed(seed);
    rng.shuffle(&mut all);
    let mut drawn = Vec::new();
    let mut rest: Vec<Vec<Mutant>> =
        FOLDERS.iter().map(|(folder, _)| all.iter().filter(|mutant| mutant.folder == *folder).cloned().collect()).collect();
    while drawn.len() < size && rest.iter().any(|folder| !folder.is_empty()) {
        let round = rest.iter_mut().filter_map(Vec::pop).take(size - drawn.len()).collect::<Vec<_>>();
        drawn.extend(round);
    }
    drawn.sort_by(|left, right| left.name.cmp(&right.name));
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn many() -> Vec<Mutant> {
        let of_folder = |(folder, beginnings): &(&'static str, &[&str])| {
            let file = format!("{}a.rs", beginnings[0]);
            let name = format!("{file}:1:2: replace a with b");
            (0..10).map(|_| Mutant { folder, ..Mutant::of_test(&name, &file, "") }).collect::<Vec<_>>()
        };
        FOLDERS.iter().flat_map(of_folder).collect()
    }

    #[test]
    fn each_folder_gives_its_share() {
        let drawn = draw(many(), 30, 7);
        for (folder, _) in FOLDERS {
            assert_eq!(drawn.iter().filter(|mutant| mutant.folder == folder).count(), 5, "{folder}");
        }
        assert_eq!(draw(many(), 1000, 7).len(), 60);
        assert_eq!(draw(many(), 31, 7).len(), 31);
    }

    #[test]
    fn a_title_has_no_position() {
        let mutant = Mutant::of_test("a/b.rs:12:5: replace a::b -> bool with true", "a/b.rs", "");
        assert_eq!(mutant.title(), "a/b.rs: replace a::b -> bool with true");
    }
}
