//! Changes as a table for a person: what was added, changed, removed and renamed, with the sizes.
//!
//! A directory that was removed or renamed is one row, with all that is in it. A further name of a
//! file is shown with the first one. A file in whose place another one is, as programs save files,
//! is shown as changed. An added file that was a removed one is shown as renamed, with
//! how much of it stayed: the one of equal content, or else the one that has the most in common
//! with it, if that is half of it or more.
//!
//! Bounds: equal content is found among all files that have the size of another one. By parts, at
//! most 500 added files are compared with at most 500 removed ones, each of at most 1 MiB, and
//! together of at most 16 MiB on each side.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use pathwalk::{Context, FileType};
use pathwalk_branch::{Aspects, Change};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::error::Error;
use crate::files::Files;
use crate::path::PathBytes;
use crate::plan::{Plan, walk};
use crate::similarity;
use crate::tree::Tree;

/// The least width of a path beside other columns.
const NARROWEST: usize = 16;
/// The width of the first column, with the blanks behind it.
const INDENT: usize = 9;
/// The blanks before each other column.
const GAP: usize = 3;

/// What became of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Added,
    Changed,
    Removed,
    Renamed,
}

impl What {
    const ALL: [What; 4] = [What::Added, What::Changed, What::Removed, What::Renamed];

    fn shown(self) -> &'static str {
        match self {
            What::Added => "added",
            What::Changed => "changed",
            What::Removed => "removed",
            What::Renamed => "renamed",
        }
    }
}

/// A row.
struct Row {
    path: PathBytes,
    what: What,
    text: String,
    note: String,
    size: String,
}

/// Writes changes between two trees as a table that is at most this wide, if that is 40 or more. A
/// path is broken where there is no room for it.
///
/// ```
/// use pathwalk::{Credentials, Vfs};
/// use pathwalk_branch::Branches;
/// use pathwalk_changes::summary;
///
/// # let context = |branch| Ok::<_, pathwalk::BuildError>(Vfs::builder().build(branch)?.context(Credentials::root()));
/// let base = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// base.write("/draft", "some text")?;
/// let branches = Branches::new(base)?;
/// let new = context(branches.fork(None, "work")?)?;
/// new.copy("/draft", "/final")?;
/// new.remove_file("/draft")?;
/// new.mkdir("/more", 0o755)?;
/// let old = context(branches.before("work")?)?;
/// let mut out = Vec::new();
/// summary::write(&branches.diff("work")?, &old, &new, 80, &mut out)?;
/// let expected = "\
/// renamed  /draft -> /final   100 % the same   9
/// added    /more/
///
/// 1 added, 1 renamed
/// ";
/// assert_eq!(String::from_utf8(out)?, expected);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write(changes: &[Change], old: &Context, new: &Context, width: usize, mut out: impl Write) -> Result<(), Error> {
    let (old, new) = (Tree::of(old)?, Tree::of(new)?);
    let plan = Plan::of(changes, &old, &new)?;
    let rows = rows(&plan, &old, &new)?;
    out.write_all(table(&rows, width).as_bytes()).and_then(|()| out.flush()).map_err(Error::Output)
}

fn rows(plan: &Plan, old: &Tree, new: &Tree) -> Result<Vec<Row>, Error> {
    let (replaced, mut files) = (replaced(plan), Files::of(plan, old, new)?);
    for (path, (was, _)) in &replaced {
        files.removed.remove(was);
        files.added.remove(*path);
    }
    let found = similarity::renames(&files, old, new)?;
    let went: BTreeSet<&PathBytes> = found.values().map(|(from, _)| from).chain(replaced.values().map(|(was, _)| was)).collect();
    let mut rows = Vec::new();
    for (path, kind) in plan.removed.iter().filter(|(path, _)| !went.contains(path)) {
        rows.push(removed(plan, old, (path, *kind), &went)?);
    }
    for (path, (was, before)) in &replaced {
        let kind = plan.new[*path];
        let note = if kind == *before { "replaced".to_owned() } else { format!("was a {}", named(*before)) };
        let (text, size) = (shown(path, kind), size_of_both((old, was), (new, path))?);
        rows.push(Row { path: (*path).clone(), what: What::Changed, text, note, size });
    }
    let come = plan.new.iter().filter(|(path, _)| !replaced.contains_key(path));
    let come = come.map(|(path, kind)| (path, *kind, String::new()));
    let links = plan.links.iter().map(|(path, to)| (path, FileType::Regular, format!(" = {}", shown(to, FileType::Regular))));
    for (path, kind, same) in come.chain(links) {
        let size = size(new, path)?;
        let row = match found.get(path) {
            Some((from, similarity)) => {
                let text = format!("{} -> {}{same}", shown(from, kind), shown(path, kind));
                Row { path: path.clone(), what: What::Renamed, text, note: format!("{similarity} % the same"), size }
            }
            None => Row { path: path.clone(), what: What::Added, text: shown(path, kind) + &same, note: String::new(), size },
        };
        rows.push(row);
    }
    for (path, (from, kind)) in &plan.renamed {
        let text = format!("{} -> {}", shown(from, *kind), shown(path, *kind));
        let note = plan.changed.get(path).map(|changed| aspects(changed.what)).unwrap_or_default();
        rows.push(Row { path: path.clone(), what: What::Renamed, text, note, size: size(new, path)? });
    }
    for (path, changed) in plan.changed.iter().filter(|(path, _)| !plan.renamed.contains_key(*path)) {
        let size = size_of_both((old, &changed.was), (new, path))?;
        let (text, note) = (shown(path, changed.kind), aspects(changed.what));
        rows.push(Row { path: path.clone(), what: What::Changed, text, note, size });
    }
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(rows)
}

/// Returns the new files in whose places others were, with what these were.
fn replaced(plan: &Plan) -> BTreeMap<&PathBytes, (PathBytes, FileType)> {
    let files = plan.new.iter().filter(|(_, kind)| **kind != FileType::Directory);
    let replaced = files.filter_map(|(path, _)| {
        let was = plan.old_place(path)?;
        let kind = *plan.removed.get(&was).filter(|kind| **kind != FileType::Directory)?;
        Some((path, (was, kind)))
    });
    replaced.collect()
}

/// Returns the row of a name that went. Of a directory, it has what is in it and went nowhere else.
fn removed(
    plan: &Plan,
    old: &Tree,
    (path, kind): (&PathBytes, FileType),
    elsewhere: &BTreeSet<&PathBytes>,
) -> Result<Row, Error> {
    let (text, what) = (shown(path, kind), What::Removed);
    if kind != FileType::Directory {
        return Ok(Row { path: path.clone(), what, text, note: String::new(), size: size(old, path)? });
    }
    let mut below = Vec::new();
    walk(old, path, |path, kind, _| {
        let path = PathBytes::from(path);
        let is_of_its_own = plan.is_gone(&path);
        if !is_of_its_own && kind != FileType::Directory && !elsewhere.contains(&path) {
            below.push(path);
        }
        !is_of_its_own
    })?;
    let mut bytes = 0;
    for path in &below {
        bytes += old.attributes(path)?.size;
    }
    let (note, size) = match below.len() {
        0 => Default::default(),
        count => (format!("with {}", counted(count, "file")), grouped(bytes)),
    };
    Ok(Row { path: path.clone(), what, text, note, size })
}

/// Returns the size of a file, with its digits in groups; nothing for others.
fn size(tree: &Tree, path: &[u8]) -> Result<String, Error> {
    let of = tree.attributes(path)?;
    Ok(if of.kind == FileType::Regular { grouped(of.size) } else { String::new() })
}

/// Returns the sizes that a file had and has, once if they are equal.
fn size_of_both((old, was): (&Tree, &[u8]), (new, path): (&Tree, &[u8])) -> Result<String, Error> {
    let (before, now) = (size(old, was)?, size(new, path)?);
    let has_both = before != now && !before.is_empty() && !now.is_empty();
    Ok(if has_both { format!("{before} -> {now}") } else { now })
}

fn named(kind: FileType) -> &'static str {
    match kind {
        FileType::Regular => "file",
        FileType::Directory => "directory",
        FileType::Symlink => "link",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        FileType::CharDevice | FileType::BlockDevice => "device",
    }
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

fn counted(number: usize, what: &str) -> String {
    format!("{} {what}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// Returns the parts of a node that changed.
fn aspects(what: Aspects) -> String {
    let names = [(Aspects::DATA, "data"), (Aspects::ATTRIBUTES, "attributes"), (Aspects::XATTRS, "xattrs")];
    names.iter().filter(|(aspect, _)| what.contains(*aspect)).map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

/// Returns a path as a terminal can show it: that of a directory with a slash behind it.
fn shown(path: &[u8], kind: FileType) -> String {
    let mut shown = match std::str::from_utf8(path) {
        Ok(text) if !text.chars().any(char::is_control) => text.to_owned(),
        _ => path.escape_ascii().to_string(),
    };
    if kind == FileType::Directory && path != crate::path::ROOT {
        shown.push('/');
    }
    shown
}

/// Returns the table, and how many there are of each.
fn table(rows: &[Row], width: usize) -> String {
    if rows.is_empty() {
        return "nothing changed\n".to_owned();
    }
    let widest = |of: fn(&Row) -> &str| rows.iter().map(|row| of(row).width()).max().unwrap_or(0);
    let columns = Columns { text: 0, note: widest(|row| &row.note), size: widest(|row| &row.size) };
    let others = [columns.note, columns.size].iter().filter(|width| **width > 0).map(|width| width + GAP).sum::<usize>();
    let room = width.saturating_sub(INDENT + others);
    let lines: String = match room {
        NARROWEST.. => {
            let columns = Columns { text: room.min(widest(|row| &row.text)), ..columns };
            rows.iter().map(|row| columns.row(row)).collect()
        }
        _ => rows.iter().map(|row| stacked(row, width)).collect(),
    };
    let count = |what: What| rows.iter().filter(|row| row.what == what).count();
    let counts = What::ALL.iter().filter(|what| count(**what) > 0);
    let counts: Vec<_> = counts.map(|what| format!("{} {}", grouped(count(*what) as u64), what.shown())).collect();
    format!("{lines}\n{}\n", counts.join(", "))
}

/// The widths of the columns behind the first one.
struct Columns {
    text: usize,
    note: usize,
    size: usize,
}

impl Columns {
    /// Returns a row, in as many lines as its path takes.
    fn row(&self, row: &Row) -> String {
        let mut lines = String::new();
        for (at, part) in broken(&row.text, self.text).iter().enumerate() {
            let cells = if at == 0 { [row.what.shown(), &row.note, &row.size] } else { [""; 3] };
            let pad = |cell: &str, width: usize| " ".repeat(width.saturating_sub(cell.width()));
            let mut line = format!("{}{}{part}{}", cells[0], pad(cells[0], INDENT), pad(part, self.text));
            if self.note > 0 {
                line += &format!("{}{}{}", " ".repeat(GAP), cells[1], pad(cells[1], self.note));
            }
            line += &format!("{}{}{}", " ".repeat(GAP), pad(cells[2], self.size), cells[2]);
            lines += line.trim_end();
            lines.push('\n');
        }
        lines
    }
}

/// Returns a row with its parts below each other.
fn stacked(row: &Row, width: usize) -> String {
    let path = broken(&row.text, width.saturating_sub(INDENT).max(NARROWEST));
    let others = [&row.note, &row.size].into_iter().filter(|cell| !cell.is_empty());
    let mut lines = String::new();
    for (at, part) in path.iter().chain(others).enumerate() {
        let first = if at == 0 { row.what.shown() } else { "" };
        lines += &format!("{first:INDENT$}{part}\n");
    }
    lines
}

/// Returns text in parts of at most this many columns, of which none is lost.
fn broken(text: &str, width: usize) -> Vec<String> {
    let (mut parts, mut taken) = (vec![String::new()], 0);
    for character in text.chars() {
        let columns = character.width().unwrap_or(0);
        if taken + columns > width && taken > 0 {
            parts.push(String::new());
            taken = 0;
        }
        taken += columns;
        parts.last_mut().expect("there is one").push(character);
    }
    parts
}
