//! A walk as text: one line a step, in columns, and below it how it ended and what can be done.
//!
//! Columns: mode (with `+` for an access control list), owner, group, as what the walker comes to it (`owner`, `group`, `other`,
//! `acl` or `cap`), and the name, with what links lead to indented below them.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use pathwalk::{Access, Attributes, Errno, FileType};
use unicode_width::UnicodeWidthStr as _;

use super::advice::{self, Advice};
use super::bytes::shortened;
use super::rule::{List, Node, Rule};
use super::told::{Ending, Failure, Found, Line, May, Told};
use super::words::{self, LONGEST, Voice, letters};

/// Whether text may have colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Colour {
    On,
    Off,
}

const PLAIN: Style = Style::new();
const FAINT: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default().bold();
const DIRECTORY: Style = AnsiColor::Blue.on_default().bold();
const LINK: Style = AnsiColor::Cyan.on_default();
const PROGRAM: Style = AnsiColor::Green.on_default();
const MOUNT: Style = AnsiColor::Yellow.on_default();

/// Widest name behind which remarks are still aligned.
const WIDEST: usize = 44;
/// Longest name that is shown whole in a line of the walk.
const LONGEST_NAME: usize = 80;

impl Colour {
    fn paint(self, style: Style, text: &str) -> String {
        if self == Colour::Off || style.is_plain() || text.is_empty() {
            text.to_owned()
        } else {
            format!("{style}{text}{style:#}")
        }
    }
}

/// All of it.
pub(crate) fn render(voice: Voice<'_>, told: &Told, path: &[u8], colour: Colour) -> String {
    let asked = if path.is_empty() { "\"\"".into() } else { shortened(path, LONGEST) };
    let mut text = format!("{}, as {}\n\n", colour.paint(BOLD, &asked), voice.introduced());
    let rows: Vec<Row> = once_round(told).iter().map(|line| Row::of(voice, line)).collect();
    lay_out(&rows, colour, &mut text);
    if rows.len() < told.lines.len() {
        let _ = writeln!(text, "{}", colour.paint(FAINT, "... and round again, until 40 links were followed"));
    }
    if !rows.is_empty() {
        text.push('\n');
    }
    match &told.ending {
        Ending::Reached(node, may) => reached(voice, node, may, colour, &mut text),
        Ending::Failed(failure) => failed(voice, failure, path, colour, &mut text),
    }
    let assumed = voice.who.assumed.iter().cloned();
    for doubt in assumed.chain(told.doubts.iter().map(|doubt| voice.doubt(doubt))) {
        let _ = writeln!(text, "{} {doubt}", colour.paint(MOUNT, "note:"));
    }
    text
}

/// The lines of the walk; of one in a circle, until it comes back to where it was.
fn once_round(told: &Told) -> &[Line] {
    let first = match &told.ending {
        Ending::Failed(failure) => failure.circle.first(),
        Ending::Reached(..) => None,
    };
    let is_first = |line: &&Line| matches!(&line.found, Found::Node(node, _) if node.path.as_ref() == first);
    let back = first.and_then(|_| told.lines.iter().enumerate().filter(|(_, line)| is_first(line)).nth(1));
    back.map_or(&told.lines, |(i, _)| &told.lines[..=i])
}

/// A line of the walk, in pieces.
struct Row {
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
    fn of(voice: Voice<'_>, line: &Line) -> Row {
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
            // The mode of a link counts for nothing.
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

    /// The name as it stands there, without colours.
    fn plain(&self) -> String {
        let body = self.body.as_ref().map_or(String::new(), |body| format!(" -> {body}"));
        format!("{}{}{body}", "  ".repeat(self.indent), self.name)
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

/// `ENOENT`, or the number.
pub(crate) fn errno_name(errno: Errno) -> String {
    errno.name().map_or_else(|| format!("errno {}", errno.raw()), str::to_owned)
}

/// What stands above the columns.
const HEADER: [&str; 4] = ["mode", "owner", "group", "as"];

fn lay_out(rows: &[Row], colour: Colour, text: &mut String) {
    if rows.is_empty() {
        return;
    }
    let widths: [usize; 4] = std::array::from_fn(|i| {
        let widest = rows.iter().map(|row| row.columns()[i].width()).max();
        widest.unwrap_or(0).max(HEADER[i].width())
    });
    let name = rows.iter().map(|row| row.plain().width()).filter(|width| *width <= WIDEST).max().unwrap_or(0);
    let pad = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
    let header: String = HEADER.iter().zip(widths).map(|(column, width)| format!("{column:width$}  ")).collect();
    let _ = writeln!(text, "{}", colour.paint(FAINT, &(header + "name")));
    for row in rows {
        for (column, width) in row.columns().into_iter().zip(widths) {
            let style = if column == "-" { FAINT } else { PLAIN };
            let _ = write!(text, "{}{}  ", colour.paint(style, column), pad(column, width));
        }
        let style = if row.refused.is_some() && row.style != FAINT { BAD } else { row.style };
        let _ = write!(text, "{}{}", "  ".repeat(row.indent), colour.paint(style, &row.name));
        if let Some(body) = &row.body {
            let _ = write!(text, "{}", colour.paint(FAINT, &format!(" -> {body}")));
        }
        let mut gap = pad(&row.plain(), name) + "  ";
        if let Some(mount) = &row.mount {
            let _ = write!(text, "{gap}{}", colour.paint(MOUNT, &format!("[{mount}]")));
            gap = "  ".into();
        }
        if let Some(refused) = &row.refused {
            let style = if refused.starts_with('<') { BAD } else { FAINT };
            let _ = write!(text, "{gap}{}", colour.paint(style, refused));
        }
        text.push('\n');
    }
}

/// `drwxr-xr-t+`, as `ls -l` has it.
pub(crate) fn mode(attributes: &Attributes, acl: &List) -> String {
    let kind = match attributes.kind {
        FileType::Fifo => 'p',
        FileType::CharDevice => 'c',
        FileType::Directory => 'd',
        FileType::BlockDevice => 'b',
        FileType::Regular => '-',
        FileType::Symlink => 'l',
        FileType::Socket => 's',
    };
    let mut text = String::from(kind);
    for (shift, special, letter) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let triad = letters(Access::from_bits_truncate((attributes.mode >> shift & 7) as u8));
        text.push_str(&triad[..2]);
        let has_x = triad.ends_with('x');
        text.push(match (attributes.mode & special != 0, has_x) {
            (true, true) => letter,
            (true, false) => letter.to_ascii_uppercase(),
            (false, _) => {
                if has_x {
                    'x'
                } else {
                    '-'
                }
            }
        });
    }
    match acl {
        List::Present(_) => text.push('+'),
        List::Unknown => text.push('?'),
        List::Absent => {}
    }
    text
}

fn style_of(attributes: &Attributes) -> Style {
    match attributes.kind {
        FileType::Directory => DIRECTORY,
        FileType::Symlink => LINK,
        FileType::Regular if attributes.mode & 0o111 != 0 => PROGRAM,
        _ => PLAIN,
    }
}

fn reached(voice: Voice<'_>, node: &Node, may: &[May; 3], colour: Colour, text: &mut String) {
    let kind = words::kind(node.attributes.kind);
    let _ = writeln!(text, "{}: {}, {kind}", colour.paint(GOOD, "reached"), voice.path(node));
    if node.attributes.kind == FileType::Symlink {
        text.push_str("  a link itself; its mode counts for nothing\n");
        return;
    }
    for May { want, judged } in may {
        let doing = words::doing(node.attributes.kind, *want);
        let why = voice.rule(node, judged.rule, *want);
        let answer = match judged.answer {
            Ok(()) => colour.paint(GOOD, "yes"),
            Err(_) => colour.paint(BAD, "no "),
        };
        let errno = judged.answer.err().map_or(String::new(), |errno| format!("{}: ", errno_name(errno)));
        let _ = writeln!(text, "  {doing:<8} {answer}  {errno}{why}");
        let is_mode = matches!(judged.rule, Rule::Bits(..) | Rule::Entry(..) | Rule::NoEntry | Rule::NoExecuteBit);
        if judged.answer.is_err() && !is_mode {
            for one in advice::grant(voice, node, judged.rule, *want) {
                let _ = writeln!(text, "                {}", colour.paint(FAINT, &in_a_line(&one)));
            }
        }
    }
}

fn in_a_line(advice: &Advice) -> String {
    advice.command.as_ref().map_or_else(|| advice.says.clone(), |command| format!("{command}  ({})", advice.says))
}

fn failed(voice: Voice<'_>, failure: &Failure, path: &[u8], colour: Colour, text: &mut String) {
    let heading = if failure.rule == Rule::NotVisible { "not known".to_owned() } else { failure.errno.to_string() };
    let _ = writeln!(text, "{}: {}", colour.paint(BAD, &heading), voice.failure(failure, path));
    let all = advice::about_failure(voice, failure, path);
    let widest = all.iter().filter_map(|one| one.command.as_ref()).map(|command| command.width()).max().unwrap_or(0);
    for Advice { command, says } in all {
        let _ = match command {
            Some(command) => writeln!(
                text,
                "  {}  {}",
                colour.paint(BOLD, &format!("{command:widest$}")),
                colour.paint(FAINT, &format!("# {says}"))
            ),
            None => writeln!(text, "  {says}"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_those_of_ls() {
        let of = |kind, bits| mode(&Attributes::new(kind, bits), &List::Absent);
        assert_eq!(of(FileType::Directory, 0o1777), "drwxrwxrwt");
        assert_eq!(of(FileType::Directory, 0o1776), "drwxrwxrwT");
        assert_eq!(of(FileType::Regular, 0o6755), "-rwsr-sr-x");
        assert_eq!(of(FileType::Regular, 0o6644), "-rwSr-Sr--");
        assert_eq!(of(FileType::Socket, 0), "s---------");
        let list = List::Present(pathwalk::permission::Acl::new(Vec::new()));
        assert_eq!(mode(&Attributes::new(FileType::Fifo, 0o640), &list), "prw-r-----+");
    }

    #[test]
    fn colours_are_only_where_they_are_wanted() {
        assert_eq!(Colour::Off.paint(BAD, "x"), "x");
        assert_eq!(Colour::On.paint(PLAIN, "x"), "x");
        assert!(Colour::On.paint(BAD, "x").starts_with('\x1b'));
    }
}
