//! Files of walks: small enough to keep, and without the other contents of a recording.
//!
//! The file begins with the line [`HEADER`]. After it, each walk is a line: `+` and its path, or
//! `-` and its path if the walk found nothing there. Lines of `>` before it are the links that it
//! went through. Paths are absolute and have no links, `.` or `..` in them. A walk that occurred
//! before is written as a number instead: its position among the different walks, from 0. The file
//! may be packed with gzip.

use std::collections::HashMap;
use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};

use super::trace::{Builder, Found, WalkId, Walks};

/// The first line of a file.
pub const HEADER: &[u8] = b"# walks: + found, - absent, > through a link, number as before";

/// A line of a file: a link or a walk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line<'a> {
    /// A link that the next walk goes through.
    Link(&'a [u8]),
    /// A walk, with its path and its result.
    Walk(&'a [u8], Found),
}

/// Errors of [`parse`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FormatError {
    /// A file that does not begin with [`HEADER`].
    #[error("this is neither what strace writes nor a file of walks, which begins with \"{}\"", HEADER.escape_ascii())]
    NoHeader,
    /// A malformed line.
    #[error("line {line}: \"{text}\" is neither `+`, `-` or `>` and an absolute path, nor the number of a walk before it")]
    BadLine {
        /// The number of the line, from 1.
        line: usize,
        /// The beginning of the line, escaped.
        text: String,
    },
    /// A file without any walk.
    #[error("there is no walk in it")]
    Empty,
}

impl Line<'_> {
    /// Adds the line to the walks of a builder.
    pub fn add_to(self, builder: &mut Builder) {
        match self {
            Line::Link(path) => builder.link(path),
            Line::Walk(path, found) => {
                builder.walk(path, found);
            }
        }
    }
}

/// A writer of files of walks.
pub struct Writer<W> {
    out: W,
    numbers: HashMap<Vec<u8>, usize>,
    /// The lines of links for the next walk.
    text: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file by writing its header.
    ///
    /// # Errors
    ///
    /// Returns an error if writing fails.
    pub fn new(mut out: W) -> io::Result<Writer<W>> {
        out.write_all(HEADER)?;
        out.write_all(b"\n")?;
        Ok(Writer { out, numbers: HashMap::new(), text: Vec::new() })
    }

    /// Writes a line. A path with a newline in it is left out, because it does not fit into one
    /// line. The links that came before it for the same walk are left out too.
    ///
    /// # Errors
    ///
    /// Returns an error if writing fails.
    pub fn line(&mut self, line: Line<'_>) -> io::Result<()> {
        let (sign, path) = match line {
            Line::Link(path) => (b'>', path),
            Line::Walk(path, Found::Present) => (b'+', path),
            Line::Walk(path, Found::Absent) => (b'-', path),
        };
        if path.contains(&b'\n') {
            self.text.clear();
            return Ok(());
        }
        self.text.push(sign);
        self.text.extend_from_slice(path);
        self.text.push(b'\n');
        if matches!(line, Line::Link(_)) { Ok(()) } else { self.end_walk() }
    }

    fn end_walk(&mut self) -> io::Result<()> {
        let text = std::mem::take(&mut self.text);
        if let Some(number) = self.numbers.get(&text) {
            return writeln!(self.out, "{number}");
        }
        self.out.write_all(&text)?;
        self.numbers.insert(text, self.numbers.len());
        Ok(())
    }

    /// Returns the output that was written to.
    pub fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Writer<GzEncoder<W>> {
    /// Begins a file packed with gzip. The same walks give the same bytes.
    ///
    /// # Errors
    ///
    /// Returns an error if writing fails.
    pub fn packed(out: W) -> io::Result<Writer<GzEncoder<W>>> {
        Writer::new(GzBuilder::new().write(out, Compression::best()))
    }

    /// Ends the packed file, and returns the output that was written to.
    ///
    /// # Errors
    ///
    /// Returns an error if writing fails.
    pub fn finish(self) -> io::Result<W> {
        self.into_inner().finish()
    }
}

/// Parses the walks from the unpacked bytes of a file.
///
/// # Errors
///
/// Returns an error if the bytes do not begin with [`HEADER`], if a line is malformed, or if there
/// is no walk.
pub fn parse(bytes: &[u8]) -> Result<Walks, FormatError> {
    let body = bytes.strip_prefix(HEADER).and_then(|rest| rest.strip_prefix(b"\n")).ok_or(FormatError::NoHeader)?;
    let mut builder = Builder::default();
    let mut different = Vec::new();
    for (i, text) in body.split(|byte| *byte == b'\n').enumerate().filter(|(_, text)| !text.is_empty()) {
        // Lines count from 1, and the header is the first.
        parse_line(text, &mut builder, &mut different).ok_or_else(|| bad_line(i + 2, text))?;
    }
    let walks = builder.finish();
    if walks.is_empty() { Err(FormatError::Empty) } else { Ok(walks) }
}

fn parse_line(text: &[u8], builder: &mut Builder, different: &mut Vec<WalkId>) -> Option<()> {
    match text {
        [b'>', path @ ..] if path.starts_with(b"/") => builder.link(path),
        [sign @ (b'+' | b'-'), path @ ..] if path.starts_with(b"/") => {
            let found = if *sign == b'+' { Found::Present } else { Found::Absent };
            different.push(builder.walk(path, found)?);
        }
        _ => {
            let number: usize = std::str::from_utf8(text).ok()?.parse().ok()?;
            builder.again(*different.get(number)?);
        }
    }
    Some(())
}

fn bad_line(line: usize, text: &[u8]) -> FormatError {
    const MOST: usize = 80;
    FormatError::BadLine { line, text: text[..text.len().min(MOST)].escape_ascii().to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let lines = [
            Line::Link(b"/lib"),
            Line::Walk(b"/usr/lib/a", Found::Present),
            Line::Walk(b"/\xff", Found::Absent),
            Line::Walk(b"/usr/lib/a", Found::Present),
            Line::Link(b"/lib"),
            Line::Walk(b"/usr/lib/a", Found::Present),
            Line::Walk(b"/\xff", Found::Absent),
        ];
        let mut writer = Writer::new(Vec::new()).unwrap();
        let mut builder = Builder::default();
        for line in lines {
            writer.line(line).unwrap();
            line.add_to(&mut builder);
        }
        let file = writer.into_inner();
        assert_eq!(file[HEADER.len()..], *b"\n>/lib\n+/usr/lib/a\n-/\xff\n+/usr/lib/a\n0\n1\n");
        assert_eq!(parse(&file), Ok(builder.finish()));
    }

    #[test]
    fn a_line_s_end_has_no_place_in_a_line() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for path in [&b"/a\nb"[..], b"/c"] {
            writer.line(Line::Walk(path, Found::Present)).unwrap();
        }
        assert_eq!(parse(&writer.into_inner()).map(|walks| walks.len()), Ok(1));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let with_header = |text: &[u8]| parse(&[HEADER, b"\n", text].concat()).map(|walks| walks.len());
        assert_eq!(parse(b"").map(|walks| walks.len()), Err(FormatError::NoHeader));
        assert_eq!(with_header(b""), Err(FormatError::Empty));
        for bad in ["x", "+a", "+", "?/a", "+/", "1", "-1", "99999999999999999999"] {
            let text = format!("+/a\n{bad}\n");
            assert_eq!(with_header(text.as_bytes()), Err(FormatError::BadLine { line: 3, text: bad.into() }));
        }
    }
}
