//! Branches, changes and conflicts as text and as JSON.
//!
//! What always holds: a path in a line of text has no control characters; in JSON it is text, where
//! bytes that are no UTF-8 are replaced, and then has its bytes beside it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use pathwalk::FileType;
use pathwalk_bench::machine::escaped;
use pathwalk_branch::{Aspects, BranchInfo, Change, Collected, Conflict, ConflictKind, Damage};
use serde_json::{Value, json};

use crate::output::{grouped, table};

/// Returns all branches as a table.
pub(crate) fn branches(all: &[BranchInfo], base: &Path) -> String {
    let mut rows = table(&["branch", "made of", "age", "note"], &[1, 3]);
    for branch in all {
        let of = branch.parent.clone().unwrap_or_else(|| "the base".to_owned());
        rows.add_row([escape(branch.name.as_bytes()), of, age(branch.created.seconds), escape(branch.note.as_bytes())]);
    }
    if rows.is_empty() {
        return format!("\"{}\" has no branches; make one by: pathwalk branch fork NAME\n", escaped(base));
    }
    format!("Branches of \"{}\"\n\n{rows}\n", escaped(base))
}

pub(crate) fn branches_json(all: &[BranchInfo]) -> Value {
    json!({ "branches": all.iter().map(branch_value).collect::<Vec<_>>() })
}

fn branch_value(of: &BranchInfo) -> Value {
    json!({ "name": of.name, "parent": of.parent, "created": of.created.seconds, "note": of.note })
}

/// Returns the time since then, in the largest unit of which it has two.
fn age(seconds: i64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs() as i64);
    let since = (now - seconds).max(0);
    let units = [(86_400, "d"), (3600, "h"), (60, "min"), (1, "s")];
    let (length, unit) = units.into_iter().find(|(length, _)| since >= 2 * length).unwrap_or((1, "s"));
    format!("{} {unit}", since / length)
}

/// Returns what is known of a branch, and how many changes of each kind there are.
pub(crate) fn branch(branch: &BranchInfo, changes: &[Change]) -> String {
    let mut rows = table(&["of the branch", ""], &[1]);
    let of = branch.parent.clone().unwrap_or_else(|| "the base".to_owned());
    rows.add_row(["name".to_owned(), escape(branch.name.as_bytes())]);
    rows.add_row(["made of".to_owned(), of]);
    rows.add_row(["age".to_owned(), age(branch.created.seconds)]);
    rows.add_row(["note".to_owned(), escape(branch.note.as_bytes())]);
    for (letter, count) in counts(changes) {
        rows.add_row([word(letter).to_owned(), count.to_string()]);
    }
    format!("{rows}\n")
}

pub(crate) fn branch_json(branch: &BranchInfo, changes: &[Change]) -> Value {
    let mut value = branch_value(branch);
    let counts = counts(changes).into_iter().map(|(letter, count)| (word(letter).to_owned(), json!(count)));
    value["changes"] = counts.collect::<serde_json::Map<_, _>>().into();
    value
}

/// Returns the number of changes of each kind, by their letters.
fn counts(changes: &[Change]) -> BTreeMap<char, usize> {
    let mut counts: BTreeMap<char, usize> = ['A', 'D', 'M', 'R', 'T'].map(|letter| (letter, 0)).into();
    changes.iter().for_each(|change| *counts.entry(parts(change).0).or_default() += 1);
    counts
}

/// Returns changes, one a line: a letter as `git status` has it, what was changed of an old node,
/// and the path.
pub(crate) fn changes(changes: &[Change]) -> String {
    let line = |change: &Change| {
        let (letter, kind, what) = parts(change);
        let slash = if kind == FileType::Directory { "/" } else { "" };
        let from = match change {
            Change::Renamed { from, .. } => format!("{} -> ", escape(from)),
            _ => String::new(),
        };
        let what = if what.is_empty() { String::new() } else { format!("  ({})", words(what).join(", ")) };
        format!("{letter} {from}{}{slash}{what}\n", escape(change.path()))
    };
    changes.iter().map(line).collect()
}

pub(crate) fn changes_json(changes: &[Change]) -> Value {
    let change = |change: &Change| {
        let (letter, kind, what) = parts(change);
        let mut value = json!({ "change": word(letter), "type": type_of(kind), "path": text(change.path()) });
        if !what.is_empty() {
            value["what"] = json!(words(what));
        }
        match change {
            Change::Renamed { from, .. } => value["from"] = json!(text(from)),
            Change::TypeChanged { from, .. } => value["was"] = json!(type_of(*from)),
            _ => {}
        }
        if std::str::from_utf8(change.path()).is_err() {
            value["path_bytes"] = json!(change.path());
        }
        value
    };
    json!({ "changes": changes.iter().map(change).collect::<Vec<_>>() })
}

/// Returns the letter of a change, the type of the node, and what was changed of it.
fn parts(change: &Change) -> (char, FileType, Aspects) {
    match change {
        Change::Added { kind, .. } => ('A', *kind, Aspects::empty()),
        Change::Removed { kind, .. } => ('D', *kind, Aspects::empty()),
        Change::Changed { kind, what, .. } => ('M', *kind, *what),
        Change::Renamed { kind, what, .. } => ('R', *kind, *what),
        Change::TypeChanged { kind, .. } => ('T', *kind, Aspects::empty()),
        // The list of changes may grow.
        _ => ('?', FileType::Regular, Aspects::empty()),
    }
}

/// Returns a path as one word of a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let shown = escaped(path).to_string();
    let is_plain = shown.chars().all(|char| char.is_alphanumeric() || "/._-+:@%".contains(char));
    if is_plain && !shown.is_empty() { shown } else { format!("'{}'", shown.replace('\'', "'\\''")) }
}

fn word(letter: char) -> &'static str {
    match letter {
        'A' => "added",
        'D' => "removed",
        'M' => "changed",
        'R' => "renamed",
        'T' => "type changed",
        _ => "unknown",
    }
}

fn type_of(kind: FileType) -> &'static str {
    match kind {
        FileType::Regular => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "link",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::CharDevice => "character device",
        FileType::BlockDevice => "block device",
    }
}

fn words(what: Aspects) -> Vec<&'static str> {
    let all = [(Aspects::DATA, "data"), (Aspects::ATTRIBUTES, "attributes"), (Aspects::XATTRS, "extended attributes")];
    all.into_iter().filter(|(aspect, _)| what.contains(*aspect)).map(|(_, word)| word).collect()
}

/// Returns conflicts as a table, and what can be done.
pub(crate) fn conflicts(name: &str, conflicts: &[Conflict]) -> String {
    let mut rows = table(&["path", "conflict"], &[1]);
    conflicts.iter().for_each(|conflict| rows.add_row([escape(&conflict.path), conflict.kind.to_string()]));
    let name = escape(name.as_bytes());
    format!(
        "Nothing was done: \"{name}\" and what it was made of do not agree.\n\n{rows}\n\n\
         pathwalk branch commit, undo and rebase take --ours, --theirs or --merge for all of it,\n\
         and --resolve PATH=ours, =theirs or =merge for some: ours is what the branch has. What is\n\
         listed in spite of an answer needs another: undo one of the changes, or drop the branch.\n"
    )
}

pub(crate) fn conflicts_json(conflicts: &[Conflict]) -> Value {
    let conflict = |conflict: &Conflict| {
        let mut value = json!({ "path": text(&conflict.path), "conflict": conflict.kind.to_string() });
        if let ConflictKind::Changed(what) = conflict.kind {
            value["what"] = json!(words(what));
        }
        value
    };
    json!({ "conflicts": conflicts.iter().map(conflict).collect::<Vec<_>>() })
}

/// Returns what a collection has removed.
pub(crate) fn collected(of: Collected) -> String {
    let data = match of.bytes {
        Some(bytes) => format!("{} bytes of data", grouped(bytes as i64)),
        None => "no data, since another process uses the store: unmount its branches, and try again".to_owned(),
    };
    format!("removed: {} rows, {data}\n", grouped(of.rows as i64))
}

/// Returns what a check has found.
pub(crate) fn damages(found: &[Damage]) -> String {
    if found.is_empty() {
        return "all that the branches refer to is there\n".to_owned();
    }
    found.iter().map(|damage| format!("{damage}\n")).collect()
}

/// Returns text as a terminal can show it.
pub(crate) fn escape(text: &[u8]) -> String {
    escaped(Path::new(OsStr::from_bytes(text))).to_string()
}

fn text(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}
