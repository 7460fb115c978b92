//! A trace of lookups: `path TAB mode` a line, where a mode is `F_OK` or some of `R_OK|W_OK|X_OK`.
//!
//! A path is the bytes up to the last TAB of its line. It need not be text, and may be empty or too
//! long, since those have answers too. It cannot contain a NUL, because the kernel could not be
//! asked about it.

use std::collections::HashSet;

use pathwalk::Access;

/// The calls that gcc and the linker make to compile one file: the default trace.
pub const GCC_ACCESS: &[u8] = include_bytes!("../../../traces/gcc-access.tsv");

/// Every directory, file and link that [`GCC_ACCESS`] goes through on Debian 12 with gcc 12.
pub const GCC_TREE: &[u8] = include_bytes!("../../../traces/gcc-access.tree");

/// One lookup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Question {
    /// The number of its line in the trace, from 1.
    pub line: usize,
    /// The path, without a NUL.
    pub path: Box<[u8]>,
    /// The access that is asked for; empty for `F_OK`.
    pub want: Access,
}

/// The lookups, in order and with repeats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    questions: Vec<Question>,
}

/// The reason why a trace cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TraceError {
    /// An empty trace.
    #[error("the trace is empty; it needs at least one line of `path TAB mode`")]
    Empty,
    /// A line without a TAB.
    #[error("line {line}: no TAB in \"{text}\"; a line is `path TAB mode`")]
    NoTab {
        /// The number of the line, from 1.
        line: usize,
        /// The line, escaped.
        text: String,
    },
    /// A mode that is not valid.
    #[error("line {line}: unknown mode \"{mode}\"; a mode is F_OK or some of R_OK|W_OK|X_OK")]
    UnknownMode {
        /// The number of the line, from 1.
        line: usize,
        /// The mode, escaped.
        mode: String,
    },
    /// A path with a NUL in it.
    #[error("line {line}: the path has a NUL byte, and so the kernel cannot be asked about it")]
    Nul {
        /// The number of the line, from 1.
        line: usize,
    },
}

impl Trace {
    /// Parses the bytes of a file.
    pub fn parse(bytes: &[u8]) -> Result<Trace, TraceError> {
        if bytes.is_empty() {
            return Err(TraceError::Empty);
        }
        let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let lines = body.split(|byte| *byte == b'\n').enumerate();
        let questions = lines.map(|(i, text)| parse_line(i + 1, text)).collect::<Result<_, _>>()?;
        Ok(Trace { questions })
    }

    /// Returns the default trace.
    pub fn gcc() -> Trace {
        Trace::parse(GCC_ACCESS).expect("the built-in trace is well formed: a test parses it")
    }

    /// Returns a trace with one question repeated, so that the loop around it does not show in its
    /// time.
    pub fn repeated(path: &[u8], want: Access, times: usize) -> Trace {
        Trace { questions: vec![Question { line: 1, path: path.into(), want }; times] }
    }

    /// Returns the lookups.
    pub fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Returns the number of different paths.
    pub fn distinct(&self) -> usize {
        self.questions.iter().map(|question| &question.path).collect::<HashSet<_>>().len()
    }
}

fn parse_line(line: usize, text: &[u8]) -> Result<Question, TraceError> {
    let tab = text.iter().rposition(|byte| *byte == b'\t');
    let tab = tab.ok_or_else(|| TraceError::NoTab { line, text: shortened(text) })?;
    let (path, mode) = (&text[..tab], &text[tab + 1..]);
    if path.contains(&0) {
        return Err(TraceError::Nul { line });
    }
    let want = parse_mode(mode).ok_or_else(|| TraceError::UnknownMode { line, mode: shortened(mode) })?;
    Ok(Question { line, path: path.into(), want })
}

fn parse_mode(mode: &[u8]) -> Option<Access> {
    if mode == b"F_OK" {
        return Some(Access::empty());
    }
    mode.split(|byte| *byte == b'|').try_fold(Access::empty(), |want, word| match word {
        b"R_OK" => Some(want | Access::READ),
        b"W_OK" => Some(want | Access::WRITE),
        b"X_OK" => Some(want | Access::EXECUTE),
        _ => None,
    })
}

/// Returns the mode in the form that a trace uses.
pub fn mode_text(want: Access) -> String {
    let words = [(Access::READ, "R_OK"), (Access::WRITE, "W_OK"), (Access::EXECUTE, "X_OK")];
    let words: Vec<_> = words.iter().filter(|(bit, _)| want.contains(*bit)).map(|(_, word)| *word).collect();
    if words.is_empty() { "F_OK".into() } else { words.join("|") }
}

/// Returns the text escaped, and cut off where a message would get too long.
fn shortened(text: &[u8]) -> String {
    const MOST: usize = 80;
    let dots = if text.len() > MOST { "..." } else { "" };
    format!("{}{dots}", text[..text.len().min(MOST)].escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_trace_is_what_it_says() {
        let trace = Trace::gcc();
        assert_eq!((trace.questions().len(), trace.distinct()), (205, 39));
        assert_eq!(trace.questions()[0], Question { line: 1, path: b"/etc/ld.so.preload"[..].into(), want: Access::READ });
    }

    #[test]
    fn modes_go_there_and_back() {
        for bits in 0..8 {
            let want = Access::from_bits(bits).unwrap();
            assert_eq!(parse_mode(mode_text(want).as_bytes()), Some(want));
        }
        for bad in ["", "R_OK|", "r_ok", "R_OK|F_OK", "R_OK\r", "7"] {
            assert_eq!(parse_mode(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn bad_lines_are_named() {
        assert_eq!(Trace::parse(b""), Err(TraceError::Empty));
        assert_eq!(Trace::parse(b"/a\tF_OK\n\n"), Err(TraceError::NoTab { line: 2, text: String::new() }));
        assert_eq!(Trace::parse(b"/a\tF_OK\n/b\tX\xff"), Err(TraceError::UnknownMode { line: 2, mode: "X\\xff".into() }));
        assert_eq!(Trace::parse(b"/a\0b\tF_OK"), Err(TraceError::Nul { line: 1 }));
        assert!(Trace::parse(&[b'a'; 5000]).unwrap_err().to_string().len() < 200);
    }

    #[test]
    fn paths_are_bytes() {
        let trace = Trace::parse(b"\xff\ta\tW_OK|R_OK\n\tF_OK").unwrap();
        assert_eq!(*trace.questions()[0].path, *b"\xff\ta");
        assert_eq!(trace.questions()[0].want, Access::READ | Access::WRITE);
        assert_eq!(*trace.questions()[1].path, *b"");
    }
}
