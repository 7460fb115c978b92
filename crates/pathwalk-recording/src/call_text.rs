//! Reads the text of a call: its arguments one after the other, and its outcome.
//!
//! Nothing is copied. Strings, and the names that `-y` gives to descriptors, are passed over as
//! wholes, whatever is in them.

use memchr::{memchr, memchr2, memchr3};

use crate::line::{number, trim};

/// A description of what is wrong with a line, for people.
pub(crate) type Problem = &'static str;

const CUT_OFF: Problem = "the call is cut off";
const NO_DESCRIPTOR: Problem = "no descriptor where one should be";
const NO_RESULT: Problem = "no result after the call";

/// The description of a descriptor that `-y` prints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Annotation<'a> {
    /// The path of a file, escaped.
    Path(&'a [u8]),
    /// A file that was removed.
    Deleted,
    /// A file without a path: a socket, a pipe.
    NoPath,
}

/// The directory in which a relative path starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum At<'a> {
    /// The working directory: the call has no such argument, or `AT_FDCWD`.
    Cwd(Option<Annotation<'a>>),
    /// A descriptor.
    Descriptor(i32, Option<Annotation<'a>>),
}

/// A path argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PathText<'a> {
    /// The whole path, escaped.
    Whole(&'a [u8]),
    /// The argument `NULL`, where that stands for the descriptor itself.
    Null,
    /// A path that is cut off, or an address that strace could not read.
    Unknown,
}

/// The outcome of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome<'a> {
    /// Success with a number, and its description by `-y`.
    Done(i64, Option<Annotation<'a>>),
    /// The error `ENOENT`.
    Absent,
    /// Any other errno.
    Failed,
    /// The outcome `?`: the recording does not contain it, or the process ended before the call
    /// returned.
    Unknown,
}

/// The arguments of a call that have not been read yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    rest: &'a [u8],
}

impl<'a> Arguments<'a> {
    /// Returns the call's name and its arguments. `text` begins with the name.
    pub(crate) fn of(text: &'a [u8]) -> Result<(&'a [u8], Arguments<'a>), Problem> {
        let open = memchr(b'(', text).ok_or("no call")?;
        Ok((&text[..open], Arguments { rest: &text[open + 1..] }))
    }

    /// Returns the text of the next argument, unchanged.
    pub(crate) fn word(&mut self) -> Result<&'a [u8], Problem> {
        let text = trim(self.rest);
        let end = end_of_argument(text)?;
        if end == 0 {
            return Err("an argument is missing");
        }
        self.rest = after_argument(&text[end..]);
        Ok(&text[..end])
    }

    /// Reads a descriptor or `AT_FDCWD`.
    pub(crate) fn at(&mut self) -> Result<At<'a>, Problem> {
        let text = trim(self.rest);
        if let Some(rest) = text.strip_prefix(b"AT_FDCWD") {
            let (annotation, rest) = annotation(rest)?;
            self.pass(rest)?;
            return Ok(At::Cwd(annotation));
        }
        let (digits, sign) = text.strip_prefix(b"-").map_or((text, 1), |digits| (digits, -1));
        let (value, rest) = number(digits).ok_or(NO_DESCRIPTOR)?;
        let (annotation, rest) = annotation(rest)?;
        self.pass(rest)?;
        Ok(At::Descriptor(i32::try_from(i64::from(value) * sign).map_err(|_| NO_DESCRIPTOR)?, annotation))
    }

    /// Reads a path.
    pub(crate) fn path(&mut self) -> Result<PathText<'a>, Problem> {
        let text = trim(self.rest);
        let Some(string) = text.strip_prefix(b"\"") else {
            let word = self.word()?;
            return match word {
                b"NULL" => Ok(PathText::Null),
                word if word.starts_with(b"0x") => Ok(PathText::Unknown),
                _ => Err("no path where one should be"),
            };
        };
        let end = end_of_string(string)?;
        let rest = &string[end + 1..];
        self.pass(rest)?;
        Ok(if rest.starts_with(b"...") { PathText::Unknown } else { PathText::Whole(&string[..end]) })
    }

    /// Returns the outcome of the call. Passes over the remaining arguments.
    pub(crate) fn outcome(self) -> Result<Outcome<'a>, Problem> {
        let mut rest = self.rest;
        loop {
            let end = end_of_argument(rest)?;
            let comma = rest[end] == b',';
            rest = &rest[end + 1..];
            if !comma {
                break;
            }
        }
        let result = trim(rest).strip_prefix(b"=").ok_or(NO_RESULT)?;
        outcome(trim(result))
    }

    /// Continues after the argument that was read up to `rest`.
    fn pass(&mut self, rest: &'a [u8]) -> Result<(), Problem> {
        let end = match rest.first() {
            Some(b',' | b')') => 0,
            _ => end_of_argument(rest)?,
        };
        self.rest = after_argument(&rest[end..]);
        Ok(())
    }
}

/// Returns the text after a comma. A closing bracket stays, since only the outcome follows it.
fn after_argument(text: &[u8]) -> &[u8] {
    text.strip_prefix(b",").unwrap_or(text)
}

/// Returns the position of the comma or bracket that ends an argument.
fn end_of_argument(text: &[u8]) -> Result<usize, Problem> {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b',' | b')' if depth == 0 => return Ok(at),
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'(' | b'[' => depth += 1,
            b'{' => at += end_of_braces(&text[at + 1..])? + 1,
            b'"' => at += end_of_string(&text[at + 1..])? + 1,
            b'<' if at > 0 && text[at - 1].is_ascii_alphanumeric() => {
                at += end_of_annotation(&text[at + 1..]).ok_or(CUT_OFF)? + 1
            }
            _ => {}
        }
        at += 1;
    }
    Err(CUT_OFF)
}

/// Returns the position of the closing brace, in a text that begins after the opening brace.
pub(crate) fn end_of_braces(text: &[u8]) -> Result<usize, Problem> {
    let mut depth = 0usize;
    let mut at = 0;
    loop {
        at += memchr3(b'{', b'}', b'"', &text[at..]).ok_or(CUT_OFF)?;
        match text[at] {
            b'}' if depth == 0 => return Ok(at),
            b'}' => depth -= 1,
            b'{' => depth += 1,
            _ => at += end_of_string(&text[at + 1..])? + 1,
        }
        at += 1;
    }
}

/// Returns the position of the quote that ends a string.
fn end_of_string(text: &[u8]) -> Result<usize, Problem> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', &text[at..]).ok_or(CUT_OFF)?;
        if text[at] == b'"' {
            return Ok(at);
        }
        at += 2;
        if at > text.len() {
            return Err(CUT_OFF);
        }
    }
}

/// Returns the description that `-y` may have put after a descriptor, and the text that follows.
fn annotation(text: &[u8]) -> Result<(Option<Annotation<'_>>, &[u8]), Problem> {
    let Some(inner) = text.strip_prefix(b"<") else { return Ok((None, text)) };
    let end = end_of_annotation(inner).ok_or(CUT_OFF)?;
    let (inner, rest) = (&inner[..end], &inner[end + 1..]);
    if let Some(rest) = rest.strip_prefix(b"(deleted)") {
        return Ok((Some(Annotation::Deleted), rest));
    }
    let annotation = match inner {
        [b'/', ..] if inner.ends_with(b" (deleted)") => Annotation::Deleted,
        // The text for a device is "/dev/null<char 1:3>".
        [b'/', ..] => Annotation::Path(&inner[..memchr(b'<', inner).unwrap_or(end)]),
        _ => Annotation::NoPath,
    };
    Ok((Some(annotation), rest))
}

/// Returns the position of the bracket that ends a description. In paths, angle brackets are
/// escaped. Addresses of sockets contain arrows.
fn end_of_annotation(text: &[u8]) -> Option<usize> {
    let first = memchr(b'>', text)?;
    if text.first() != Some(&b'/') {
        return match memchr::memmem::find(&text[..first], b":[") {
            Some(_) => memchr::memmem::find(text, b"]>").map(|at| at + 1),
            None => Some(first),
        };
    }
    match memchr(b'<', &text[..first]) {
        Some(_) => memchr(b'>', &text[first + 1..]).map(|second| first + 1 + second),
        None => Some(first),
    }
}

/// Reads an outcome, from the text after the `=`.
fn outcome(text: &[u8]) -> Result<Outcome<'_>, Problem> {
    match text {
        [b'?', ..] => Ok(Outcome::Unknown),
        [b'-', b'1', b' ', name @ ..] => failure(name),
        [b'-', digit, ..] if digit.is_ascii_digit() => Ok(Outcome::Failed),
        [b'0', b'x', ..] => Ok(Outcome::Done(i64::MAX, None)),
        _ => {
            let (value, rest) = number(text).ok_or(NO_RESULT)?;
            let (annotation, rest) = annotation(rest)?;
            Ok(Outcome::Done(i64::from(seen_by_strace(rest).unwrap_or(value)), annotation))
        }
    }
}

/// Reads an errno such as `ENOENT (No such file or directory)`.
fn failure(text: &[u8]) -> Result<Outcome<'_>, Problem> {
    let end = text.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    if text[end..].starts_with(b" (") && memchr(b')', &text[end..]).is_none() {
        return Err("the result is cut off");
    }
    Ok(if &text[..end] == b"ENOENT" { Outcome::Absent } else { Outcome::Failed })
}

/// Returns a process' number in strace's own pid namespace, if strace printed it beside the number
/// in another namespace.
fn seen_by_strace(text: &[u8]) -> Option<u32> {
    let (pid, rest) = number(text.strip_prefix(b" /* ")?)?;
    rest.starts_with(b" in strace's PID NS").then_some(pid)
}

#[cfg(test)]
mod tests;
