//! The width of the output, and text that is broken to fit into it.
//!
//! What always holds: a broken text has all letters of the whole one; only [`cut`] leaves some out,
//! and puts `…` in their place. Colours take no width.
//!
//! What it does not do: lay out tables, or break JSON.

use std::os::fd::AsFd;
use std::sync::OnceLock;

use unicode_width::UnicodeWidthChar as _;

/// The width where neither a terminal nor `COLUMNS` gives one.
const USUAL: usize = 80;
/// The smallest width. In fewer columns a table cannot be read.
const LEAST: usize = 40;
/// The width of an output that is not measured, as in unit tests, which look for whole sentences.
const UNMEASURED: usize = 1000;
/// The indentation of the lines after the first one of a broken line.
const HANG: usize = 2;

/// The columns of standard output, once they are measured.
static WIDTH: OnceLock<usize> = OnceLock::new();

/// Returns the columns of standard output as [`program::run`](crate::program::run) measured them:
/// those of its terminal, or of `COLUMNS`, or 80.
pub fn width() -> usize {
    WIDTH.get().copied().unwrap_or(UNMEASURED)
}

/// Measures the columns of standard output, once, and returns them.
pub(crate) fn measure() -> usize {
    *WIDTH.get_or_init(|| width_of(std::io::stdout()))
}

/// Returns the columns of a stream: those of its terminal, or of `COLUMNS`, or 80.
pub fn width_of(stream: impl AsFd) -> usize {
    let terminal = rustix::termios::tcgetwinsize(stream).ok().map(|size| size.ws_col);
    chosen(terminal, std::env::var("COLUMNS").ok().as_deref())
}

fn chosen(terminal: Option<u16>, columns: Option<&str>) -> usize {
    let of_terminal = terminal.map(usize::from).filter(|columns| *columns > 0);
    let asked = || columns.and_then(|text| text.parse().ok()).filter(|columns| *columns > 0);
    of_terminal.or_else(asked).unwrap_or(USUAL).max(LEAST)
}

/// Returns the columns that a text takes.
pub fn columns(text: &str) -> usize {
    glyphs(text).map(|(_, width)| width).sum()
}

/// Returns a text with all lines broken that take more than `width` columns.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let mut all = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let bare = line.strip_suffix('\n').unwrap_or(line);
        if columns(bare) <= width {
            all.push_str(line);
        } else {
            all.push_str(&broken(bare, width, HANG).join("\n"));
            all.push_str(&line[bare.len()..]);
        }
    }
    all
}

/// Returns the lines of a text that is broken at blanks. A word that is too long for a line is
/// broken after a slash, or anywhere. The lines keep the text's indentation; those after the first
/// have `hang` columns more.
pub fn broken(text: &str, width: usize, hang: usize) -> Vec<String> {
    let words = text.trim_start_matches(' ');
    let indent = (text.len() - words.len()).min(width / 2);
    let hang = hang.min(width / 4);
    let mut lines = vec![" ".repeat(indent)];
    let (mut used, mut start) = (indent, indent);
    for (blanks, word) in words_of(words) {
        let mut rest = word;
        let wide = columns(rest);
        if used > start && used + blanks + wide > width {
            start = indent + hang;
            used = start;
            lines.push(" ".repeat(start));
        } else if used > start {
            push(&mut lines, &" ".repeat(blanks));
            used += blanks;
        }
        while used + columns(rest) > width {
            let end = end_of_part(rest, width - used);
            push(&mut lines, &rest[..end]);
            rest = &rest[end..];
            start = indent + hang;
            used = start;
            lines.push(" ".repeat(start));
        }
        push(&mut lines, rest);
        used += columns(rest);
    }
    lines
}

fn push(lines: &mut [String], text: &str) {
    if let Some(line) = lines.last_mut() {
        line.push_str(text);
    }
}

/// Returns the words of a text, each with the number of blanks before it.
fn words_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut blanks = 0;
    text.split(' ').enumerate().filter_map(move |(i, word)| {
        blanks += usize::from(i > 0);
        (!word.is_empty()).then(|| (std::mem::take(&mut blanks), word))
    })
}

/// Returns the end of the first part of a word: behind its last slash within `width` columns, or
/// where the columns end. A part has one letter at least.
fn end_of_part(word: &str, width: usize) -> usize {
    let (mut used, mut end, mut slash) = (0, 0, None);
    for (glyph, wide) in glyphs(word) {
        if used + wide > width && end > 0 {
            break;
        }
        (used, end) = (used + wide, end + glyph.len());
        if glyph == "/" {
            slash = Some(end);
        }
    }
    slash.unwrap_or(end)
}

/// Returns the letters of a text with their widths. A colour is one letter without width.
fn glyphs(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let colour = rest.starts_with("\x1b[").then(|| rest.find('m')).flatten();
        let (end, width) = colour.map_or_else(|| (first.len_utf8(), first.width().unwrap_or(0)), |end| (end + 1, 0));
        let (glyph, after) = rest.split_at(end);
        rest = after;
        Some((glyph, width))
    })
}

/// Returns a text without its middle if it takes more than `most` columns. Its end is the larger
/// part, since the end of a path tells more. The text has no colours.
pub fn cut(text: &str, most: usize) -> String {
    if columns(text) <= most {
        return text.to_owned();
    }
    let head = most.saturating_sub(1) * 3 / 10;
    let tail = most.saturating_sub(1) - head;
    let start: usize = taken(glyphs(text), head);
    let backwards: Vec<_> = glyphs(text).collect();
    let end: usize = taken(backwards.into_iter().rev(), tail);
    format!("{}…{}", &text[..start], &text[text.len() - end..])
}

/// Returns the bytes of the first letters that take `most` columns together.
fn taken<'a>(glyphs: impl Iterator<Item = (&'a str, usize)>, most: usize) -> usize {
    let mut used = 0;
    let fits = |(_, width): &(&str, usize)| {
        used += width;
        used <= most
    };
    glyphs.take_while(fits).map(|(glyph, _)| glyph.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_comes_before_the_variable() {
        assert_eq!(chosen(Some(120), Some("60")), 120);
        assert_eq!([chosen(None, Some("60")), chosen(Some(0), Some("60"))], [60, 60], "a terminal of no size gives none");
        for bad in [None, Some(""), Some("0"), Some("-1"), Some("wide")] {
            assert_eq!(chosen(None, bad), 80, "{bad:?}");
        }
        assert_eq!((chosen(Some(3), None), chosen(None, Some("1"))), (40, 40));
    }

    #[test]
    fn lines_break_at_blanks() {
        assert_eq!(broken("one two  three", 7, 0), ["one two", "three"]);
        assert_eq!(broken("  one two", 6, 2), ["  one", "   two"]);
        assert_eq!(broken("", 6, 2), [""]);
        assert_eq!(fitted("short\nlonger than that\n", 10), "short\nlonger\n  than\n  that\n");
        assert_eq!(fitted("no end of line", 80), "no end of line");
    }

    #[test]
    fn long_words_break_after_slashes_and_lose_nothing() {
        assert_eq!(broken("/usr/share/doc", 11, 0), ["/usr/share/", "doc"]);
        assert_eq!(broken("at /usr/share/doc", 11, 0), ["at", "/usr/share/", "doc"]);
        assert_eq!(broken("abcdefgh", 3, 0), ["abc", "def", "gh"]);
        let path = "/a/bc/déf/".repeat(30);
        for width in 1..90 {
            let lines = broken(&path, width, 0);
            assert_eq!(lines.concat(), path, "{width}");
            assert!(lines.iter().all(|line| columns(line) <= width), "{width}: {lines:?}");
        }
    }

    #[test]
    fn colours_take_no_width() {
        assert_eq!(columns("\x1b[1m\x1b[31mred\x1b[0m"), 3);
        assert_eq!(broken("\x1b[1mone two\x1b[0m", 7, 0), ["\x1b[1mone two\x1b[0m"]);
        assert_eq!(columns("日本"), 4);
    }

    #[test]
    fn what_is_cut_keeps_both_ends() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("0123456789", 5), "0…789");
        assert_eq!(cut(&"日本".repeat(20), 11), "日…本日本");
        assert_eq!(cut("abc", 1), "…");
    }
}
