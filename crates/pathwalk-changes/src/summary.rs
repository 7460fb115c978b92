//! Changes as a table for a person: what was added, changed, removed and renamed, with the sizes.
//!
//! A directory that was removed or renamed is one row, with all that is in it. An added file that
//! was a removed one is shown as renamed, with how much of it stayed: the one of equal content, or
//! else the one that has the most in common with it, if that is half of it or more.
//!
//! Bounds: equal content is found among all files that have the size of another one. By parts, at
//! most 500 added files are compared with at most 500 removed ones, each of at most 1 MiB, and
//! together of at most 16 MiB on each side.

use std::collections::BTreeSet;
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

/// The least width of a path, however narrow the table is to be.
const NARROWEST: usize = 10;

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

/// Writes changes between two trees as a table that is at most this wide. Only paths are broken to
/// fit, and below 40 columns the table may be wider.
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
    let files = Files::of(plan, old, new)?;
    let found = similarity::renames(&files, old, new)?;
    let went: BTreeSet<&PathBytes> = found.values().map(|(from, _)| from).collect();
    let mut rows = Vec::new();
    for (path, kind) in plan.removed.iter().filter(|(path, _)| !went.contains(path)) {
        rows.push(removed(plan, old, (path, *kind), &went)?);
    }
    let come = plan.new.iter().map(|(path, kind)| (path, *kind, String::new()));
    let links = plan.links.iter().map(|(path, to)| (path, FileType::Regular, format!("is {}", shown(to, FileType::Regular))));
    for (path, kind, note) in come.chain(links) {
        let row = match found.get(path) {
            Some((from, similarity)) => {
                let text = format!("{} -> {}", shown(from, kind), shown(path, kind));
                let note = if note.is_empty() { format!("{similarity} % the same") } else { note };
                Row { path: path.clone(), what: What::Renamed, text, note, size: size(new, path)? }
            }
            None => Row { path: path.clone(), what: What::Added, text: shown(path, kind), note, size: size(new, path)? },
        };
        rows.push(row);
    }
    for (path, (from, kind)) in &plan.renamed {
        let text = format!("{} -> {}", shown(from, *kind), shown(path, *kind));
        let note = plan.changed.get(path).map(|changed| aspects(changed.what)).unwrap_or_default();
        rows.push(Row { path: path.clone(), what: What::Renamed, text, note, size: size(new, path)? });
    }
    for (path, changed) in plan.changed.iter().filter(|(path, _)| !plan.renamed.contains_key(*path)) {
        let (before, now) = (size(old, &changed.was)?, size(new, path)?);
        let size = if before == now { now } else { format!("{before} -> {now}") };
        let (text, note) = (shown(path, changed.kind), aspects(changed.what));
        rows.push(Row { path: path.clone(), what: What::Changed, text, note, size });
    }
    rows.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(rows)
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
    let names = [(Aspects::DATA, "data"), (Aspects::ATTRIBUTES, "attributes"), (Aspects::XATTRS, "extended attributes")];
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

/// Returns the table.
fn table(rows: &[Row], width: usize) -> String {
    let widest = |of: fn(&Row) -> &str| rows.iter().map(|row| of(row).width()).max().unwrap_or(0);
    let (what, note, size) = (widest(|row| row.what.shown()), widest(|row| &row.note), widest(|row| &row.size));
    // Two blanks before a path, three before each other column that has something in it.
    let others = what + 2 + [note, size].iter().filter(|width| **width > 0).map(|width| width + 3).sum::<usize>();
    let room = width.saturating_sub(others).max(NARROWEST).min(widest(|row| &row.text));
    let mut text = String::new();
    for row in rows {
        for (at, part) in broken(&row.text, room).iter().enumerate() {
            let is_first = at == 0;
            let of_first = |cell: &'static str| if is_first { cell } else { "" };
            let mut line = format!("{:what$}  {part}{:pad$}", of_first(row.what.shown()), "", pad = room - part.width());
            if note > 0 {
                let shown = if is_first { &row.note } else { "" };
                line += &format!("   {shown}{:pad$}", "", pad = note - shown.width());
            }
            if size > 0 && is_first {
                line += &format!("   {:>size$}", row.size);
            }
            text += line.trim_end();
            text.push('\n');
        }
    }
    let count = |what: What| rows.iter().filter(|row| row.what == what).count();
    let counts = What::ALL.iter().filter(|what| count(**what) > 0);
    let counts: Vec<_> = counts.map(|what| format!("{} {}", grouped(count(*what) as u64), what.shown())).collect();
    if rows.is_empty() { "nothing changed\n".to_owned() } else { format!("{text}\n{}\n", counts.join(", ")) }
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
