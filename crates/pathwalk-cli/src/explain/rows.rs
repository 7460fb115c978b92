//! The lines of the walk, laid out in columns that fit into the width of the output.
//!
//! What does not fit into its line stands in the next one, below the name: the body of a link, the
//! mount, the refusal. A name that is wider than its column loses its middle; JSON has it whole.

use std::fmt::Write as _;

use anstyle::Style;
use pathwalk::FileType;

use super::bytes::shortened;
use super::rule::{Node, Rule};
use super::text::{BAD, Colour, FAINT, MOUNT, PLAIN, errno_name, mode, style_of};
use super::told::{Found, Line};
use super::words::{self, Voice};
use crate::output::wrap::{columns, cut};

/// The widest name after which remarks are still aligned.
const WIDEST: usize = 44;
/// The length of the longest name that is shown whole in a line of the walk.
const LONGEST_NAME: usize = 80;
/// The part of the output's width that a column before the name takes at most.
const WIDEST_SHARE: usize = 5;
/// The headings of the columns.
const HEADER: [&str; 4] = ["mode", "owner", "group", "as"];

/// A line of the walk, in pieces.
pub(super) struct Row {
    mode: String,
    owner: String,
    group: String,
    class: &'static str,
    indent: usize,
    name: String,
    style: Style,
    body: Option<String>,
    mount: Option<String>,
    refused: Option<String>,
}

impl Row {
    pub(super) fn of(voice: Voice<'_>, line: &Line) -> Row {
        let node = match &line.found {
            Found::Node(node, rule) => Some((node, rule)),
            _ => None,
        };
        let column =
            |of: &dyn Fn(&Node, Rule) -> String, none: &str| node.map_or(none.to_owned(), |(node, rule)| of(node, *rule));
        let is_link = |node: &Node| node.attributes.kind == FileType::Symlink;
        Row {
            mode: column(&|node, _| mode(&node.attributes, &node.acl), "-"),
            owner: column(&|node, _| voice.names.user(node.attributes.uid), "-"),
            group: column(&|node, _| voice.names.group(node.attributes.gid), "-"),
            // The mode of a link has no effect.
            class: node.filter(|(node, _)| !is_link(node)).map_or("-", |(_, rule)| rule.word()),
            indent: line.depth,
            name: shortened(&line.name, LONGEST_NAME),
            style: node.map_or(FAINT, |(node, _)| style_of(&node.attributes)),
            body: line.body.as_ref().map(|body| shortened(body, LONGEST_NAME)),
            mount: line.mount.as_ref().map(words::mount),
            refused: refusal(line),
        }
    }

    fn columns(&self) -> [&str; 4] {
        [&self.mode, &self.owner, &self.group, self.class]
    }

    /// Returns the columns of the name with its indentation and link body.
    fn wide(&self) -> usize {
        let body = self.body.as_ref().map_or(0, |body| ARROW.len() + columns(body));
        2 * self.indent + columns(&self.name) + body
    }

    /// Returns the remarks with their styles: the mount that begins here, and the refusal.
    fn remarks(&self) -> Vec<(Style, String)> {
        let mount = self.mount.iter().map(|mount| (MOUNT, format!("[{mount}]")));
        let style = |refused: &str| if refused.starts_with('<') { BAD } else { FAINT };
        mount.chain(self.refused.iter().map(|refused| (style(refused), refused.clone()))).collect()
    }
}

fn refusal(line: &Line) -> Option<String> {
    let Some((errno, rule)) = line.refused else {
        return matches!(line.found, Found::NotLookedFor).then(|| "not looked for".into());
    };
    let says = match rule {
        Rule::Absent => "no such name",
        Rule::NotADirectory | Rule::TrailingSlash => "no directory",
        Rule::Removed => "removed",
        Rule::NameTooLong => "too long",
        Rule::TooManyLinks => "one link too many",
        Rule::ProtectedLink | Rule::NoSymFollow => "may not be followed",
        Rule::LinkBody => "cannot be read",
        Rule::NotVisible => return Some("<-- this process may not look".into()),
        Rule::FileSystem => "says the file system",
        _ => "may not be searched",
    };
    Some(format!("<-- {}: {says}", errno_name(errno)))
}

/// The sign between a link and its body.
const ARROW: &str = " -> ";
/// The columns of a mode with the sign of a list.
const MODE: usize = 11;

/// The widths of the columns.
struct Widths {
    /// Those before the name.
    columns: [usize; 4],
    /// The column in which names begin.
    start: usize,
    /// The width of the output.
    all: usize,
    /// The column behind the names after which the remarks are aligned.
    aligned: usize,
}

impl Widths {
    fn of(rows: &[Row], all: usize) -> Widths {
        let of_column = |i: usize| {
            let widest = rows.iter().map(|row| columns(row.columns()[i])).max();
            widest.unwrap_or(0).max(columns(HEADER[i])).min((all / WIDEST_SHARE).max(MODE))
        };
        let before: [usize; 4] = std::array::from_fn(of_column);
        let start = before.iter().map(|width| width + 2).sum();
        let widest = WIDEST.min(all.saturating_sub(start));
        let name = rows.iter().map(Row::wide).filter(|wide| *wide <= widest).max().unwrap_or(0);
        Widths { columns: before, start, all, aligned: start + name }
    }
}

/// Adds the lines of the walk to `text`, below their header.
pub(super) fn lay_out(rows: &[Row], colour: Colour, width: usize, text: &mut String) {
    if rows.is_empty() {
        return;
    }
    let widths = Widths::of(rows, width);
    let header: String = HEADER.iter().zip(widths.columns).map(|(column, width)| format!("{column:width$}  ")).collect();
    let _ = writeln!(text, "{}", colour.paint(FAINT, &(header + "name")));
    for row in rows {
        for (column, width) in row.columns().into_iter().zip(widths.columns) {
            let style = if column == "-" { FAINT } else { PLAIN };
            let column = cut(column, width);
            let _ = write!(text, "{}{}  ", colour.paint(style, &column), blanks(width - columns(&column)));
        }
        lay_out_name(row, colour, &widths, text);
        text.push('\n');
    }
}

fn blanks(count: usize) -> String {
    " ".repeat(count)
}

/// Adds the name of a row and all that stands behind it, in as many lines as that takes.
fn lay_out_name(row: &Row, colour: Colour, widths: &Widths, text: &mut String) {
    let Widths { start, all, aligned, .. } = *widths;
    let indent = (2 * row.indent).min(all.saturating_sub(start) / 2);
    // The columns of the line that are used.
    let mut used = start + indent;
    text.push_str(&blanks(indent));
    let style = if row.refused.is_some() && row.style != FAINT { BAD } else { row.style };
    let name = cut(&row.name, all.saturating_sub(used));
    used += columns(&name);
    text.push_str(&colour.paint(style, &name));
    let mut add = |gap: usize, style: Style, piece: &str| {
        let wide = columns(piece);
        if used + gap + wide <= all {
            text.push_str(&blanks(gap));
            used += gap;
        } else {
            // Below the name, or farther to the left if it does not fit there.
            used = (start + indent + 2).min(all.saturating_sub(wide)).max(2);
            let _ = write!(text, "\n{}", blanks(used));
        }
        let piece = cut(piece, all.saturating_sub(used));
        used += columns(&piece);
        text.push_str(&colour.paint(style, &piece));
        used
    };
    let mut end = start + indent + columns(&name);
    if let Some(body) = &row.body {
        end = add(0, FAINT, &format!("{ARROW}{body}"));
    }
    let remarks = row.remarks();
    let wide: usize = remarks.iter().map(|(_, remark)| columns(remark) + 2).sum();
    let is_aligned = end <= aligned && aligned + wide <= all;
    let mut gap = if is_aligned { aligned - end + 2 } else { 2 };
    for (style, remark) in remarks {
        add(gap, style, &remark);
        gap = 2;
    }
}
