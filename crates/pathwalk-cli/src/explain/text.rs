//! The report as text: one line a step, in columns, and below them the end of the walk and the
//! advice.
//!
//! [`rows`] has the lines of the walk. Columns: mode (with `+` for an access control list), owner,
//! group, the relation of the user to the node (`owner`, `group`, `other`, `acl` or `cap`), and the
//! name. The names that a link leads to are indented below it.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use pathwalk::{Access, Attributes, Errno, FileType};

use super::advice::{self, Advice};
use super::bytes::shortened;
use super::rows::{self, Row};
use super::rule::{Judged, List, Node, Rule};
use super::told::{Ending, Failure, Found, Line, May, Told};
use super::words::{self, LONGEST, Voice, letters};
use crate::output::wrap::{broken, columns};

/// The permission to use colours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Colour {
    On,
    Off,
}

/// The form of a report.
#[derive(Clone, Copy)]
struct Form<'a> {
    voice: Voice<'a>,
    colour: Colour,
    /// The columns of the output.
    width: usize,
}

pub(super) const PLAIN: Style = Style::new();
pub(super) const FAINT: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();
pub(super) const BAD: Style = AnsiColor::Red.on_default().bold();
const DIRECTORY: Style = AnsiColor::Blue.on_default().bold();
const LINK: Style = AnsiColor::Cyan.on_default();
const PROGRAM: Style = AnsiColor::Green.on_default();
pub(super) const MOUNT: Style = AnsiColor::Yellow.on_default();

impl Colour {
    pub(super) fn paint(self, style: Style, text: &str) -> String {
        if self == Colour::Off || style.is_plain() || text.is_empty() {
            text.to_owned()
        } else {
            format!("{style}{text}{style:#}")
        }
    }
}

/// Returns the whole report.
pub(crate) fn render(voice: Voice<'_>, told: &Told, path: &[u8], colour: Colour, width: usize) -> String {
    let asked = if path.is_empty() { "\"\"".into() } else { shortened(path, LONGEST) };
    let mut text = format!("{}, as {}\n\n", colour.paint(BOLD, &asked), voice.introduced());
    let rows: Vec<Row> = once_round(told).iter().map(|line| Row::of(voice, line)).collect();
    rows::lay_out(&rows, colour, width, &mut text);
    if rows.len() < told.lines.len() {
        let _ = writeln!(text, "{}", colour.paint(FAINT, "... and round again, until 40 links were followed"));
    }
    if !rows.is_empty() {
        text.push('\n');
    }
    let form = Form { voice, colour, width };
    match &told.ending {
        Ending::Reached(node, may) => reached(form, told, node, may, &mut text),
        Ending::Failed(failure) => failed(form, failure, path, &mut text),
    }
    let assumed = voice.who.assumed.iter().cloned();
    for doubt in assumed.chain(told.doubts.iter().map(|doubt| voice.doubt(doubt))) {
        let _ = writeln!(text, "{} {doubt}", colour.paint(MOUNT, "note:"));
    }
    text
}

/// Returns the lines of the walk. Of a walk in a circle, only those until it returns to its first
/// link.
fn once_round(told: &Told) -> &[Line] {
    let first = match &told.ending {
        Ending::Failed(failure) => failure.circle.first(),
        Ending::Reached(..) => None,
    };
    let is_first = |line: &&Line| matches!(&line.found, Found::Node(node, _) if node.path.as_ref() == first);
    let back = first.and_then(|_| told.lines.iter().enumerate().filter(|(_, line)| is_first(line)).nth(1));
    back.map_or(&told.lines, |(i, _)| &told.lines[..=i])
}

/// Returns the errno's name, such as `ENOENT`, or its number.
pub(crate) fn errno_name(errno: Errno) -> String {
    errno.name().map_or_else(|| format!("errno {}", errno.raw()), str::to_owned)
}

/// Returns the mode as in `ls -l`: `drwxr-xr-t+`.
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

pub(super) fn style_of(attributes: &Attributes) -> Style {
    match attributes.kind {
        FileType::Directory => DIRECTORY,
        FileType::Symlink => LINK,
        FileType::Regular if attributes.mode & 0o111 != 0 => PROGRAM,
        _ => PLAIN,
    }
}

fn reached(form: Form<'_>, told: &Told, node: &Node, may: &[May; 3], text: &mut String) {
    let Form { voice, colour, .. } = form;
    let kind = words::kind(node.attributes.kind);
    let _ = writeln!(text, "{}: {}, {kind}", colour.paint(GOOD, "reached"), voice.path(node));
    if node.attributes.kind == FileType::Symlink {
        text.push_str("  a link itself; its mode counts for nothing\n");
    } else {
        for may in may {
            let doing = words::doing(node.attributes.kind, may.want);
            let _ = writeln!(text, "  {doing:<8} {}  {}", yes_or_no(*may, colour), why(voice, node, *may));
            if is_to_be_mended(told, node, *may) {
                advise(form, &advice::grant(voice, node, may.judged.rule, may.want), 4, text);
            }
        }
    }
    if let Some(wanted) = told.wanted {
        verdict(form, node, may, wanted, text);
    }
}

/// Returns whether advice about a refusal is of use: where that access is asked for; or where none
/// is, unless a file is not executed that is no program.
fn is_to_be_mended(told: &Told, node: &Node, may: May) -> bool {
    let is_asked_for = match told.wanted {
        Some(wanted) => wanted.want.contains(may.want),
        None => may.want != Access::EXECUTE || node.attributes.mode & 0o111 != 0,
    };
    may.judged.answer.is_err() && is_asked_for
}

/// Adds the answer to `--want`.
fn verdict(form: Form<'_>, node: &Node, may: &[May; 3], wanted: May, text: &mut String) {
    let Form { voice, colour, .. } = form;
    let want = words::short(wanted.want);
    let each_is_granted = may.iter().filter(|may| wanted.want.contains(may.want)).all(|may| may.judged.answer.is_ok());
    let (answer, style) = match wanted.judged {
        Judged { answer: Ok(()), .. } => ("yes".to_owned(), GOOD),
        Judged { rule: Rule::NotVisible, .. } => (format!("not known: {}", why(voice, node, wanted)), BAD),
        Judged { answer: Err(_), .. } if each_is_granted => {
            (format!("no: {}, and nothing else grants all of it at once", why(voice, node, wanted)), BAD)
        }
        Judged { answer: Err(errno), .. } => (format!("no: {errno}"), BAD),
    };
    let _ = writeln!(text, "{}: {answer}", colour.paint(style, &format!("wanted {want}")));
    if wanted.judged.answer.is_err() && each_is_granted {
        advise(form, &advice::grant(voice, node, wanted.judged.rule, wanted.want), 2, text);
    }
}

fn yes_or_no(may: May, colour: Colour) -> String {
    if may.judged.answer.is_ok() { colour.paint(GOOD, "yes") } else { colour.paint(BAD, "no ") }
}

/// Returns the rule for an access, behind the errno of a refusal.
fn why(voice: Voice<'_>, node: &Node, may: May) -> String {
    let errno = may.judged.answer.err().map_or(String::new(), |errno| format!("{}: ", errno_name(errno)));
    errno + &voice.rule(node, may.judged.rule, may.want)
}

fn failed(form: Form<'_>, failure: &Failure, path: &[u8], text: &mut String) {
    let Form { voice, colour, .. } = form;
    let heading = if failure.rule == Rule::NotVisible { "not known".to_owned() } else { failure.errno.to_string() };
    let _ = writeln!(text, "{}: {}", colour.paint(BAD, &heading), voice.failure(failure, path));
    advise(form, &advice::about_failure(voice, failure, path), 2, text);
}

/// Adds pieces of advice: commands, and their effects as comments of the shell. Commands are not
/// broken except where the shell joins them again.
fn advise(form: Form<'_>, all: &[Advice], indent: usize, text: &mut String) {
    let Form { colour, width, .. } = form;
    let widest = all.iter().filter_map(|one| one.command.as_ref()).map(|command| columns(command)).max().unwrap_or(0);
    let says = all.iter().filter(|one| one.command.is_some()).map(|one| columns(&one.says)).max().unwrap_or(0);
    let is_aligned = indent + widest + "  # ".len() + says <= width;
    let before = " ".repeat(indent);
    for Advice { command, says } in all {
        let Some(command) = command else {
            let _ = writeln!(text, "{before}{says}");
            continue;
        };
        if is_aligned {
            let (command, says) = (format!("{command:widest$}"), format!("# {says}"));
            let _ = writeln!(text, "{before}{}  {}", colour.paint(BOLD, &command), colour.paint(FAINT, &says));
            continue;
        }
        let _ = writeln!(text, "{before}{}", colour.paint(BOLD, &joined_by_the_shell(command, width - indent)));
        for line in broken(says, width - indent - 4, 0) {
            let _ = writeln!(text, "{before}  {}", colour.paint(FAINT, &format!("# {line}")));
        }
    }
}

/// Returns a command in two lines before its last word if it is wider than `width`. A command with
/// quotes stays as it is, since they may be around a blank.
fn joined_by_the_shell(command: &str, width: usize) -> String {
    let is_plain = !command.contains(['\'', '"', '\\']);
    match command.rsplit_once(' ').filter(|_| is_plain && columns(command) > width) {
        Some((start, last)) => format!("{start} \\\n      {last}"),
        None => command.to_owned(),
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
