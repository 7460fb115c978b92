//! The parts of a line of strace's text: the process, and the kind of the line.
//!
//! A line may begin with the process (`-f`), its program's name (`-Y`), a time (`-t`, `-tt`,
//! `-ttt`, `-r`), and a number in brackets (`-n`, `-i`). Times are skipped. The contents of a call
//! are not read here, see [`call_text`](crate::call_text).

/// The process that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Who {
    /// No number: the only process that there is.
    Unnamed,
    /// A number as `strace -f -o FILE` writes it.
    Plain(u32),
    /// A number as `strace -f` writes it to standard error while there are several processes:
    /// `[pid 12]`.
    Bracketed(u32),
}

/// The line after its prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body<'a> {
    /// A call, mostly with its result: the text from the call's name on.
    Call(&'a [u8]),
    /// The beginning of a call that was interrupted by a line of another process.
    Unfinished(&'a [u8]),
    /// The rest of a call that was [`Unfinished`](Self::Unfinished).
    Resumed {
        /// The name of the call.
        name: &'a [u8],
        /// The text from where the call was interrupted.
        text: &'a [u8],
    },
    /// The beginning of a call that continues under another number, as `execve` of a thread does.
    PidChanged {
        /// The text of the call.
        text: &'a [u8],
        /// The new number.
        to: u32,
    },
    /// The end of the process.
    Exited,
    /// A thread that took the place of the line's process by `execve`: the thread's old number.
    Became(u32),
    /// A line with a message of strace in its middle. The next line continues it.
    Broken {
        /// The length of the message, which ends the line.
        message: usize,
    },
    /// A signal, a message of strace, or nothing. It has no effect.
    Note,
    /// A line that is not strace's.
    Garbage,
}

/// A line, taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) who: Who,
    pub(crate) body: Body<'a>,
}

const UNFINISHED: &[u8] = b"<unfinished ...>";
const DETACHED: &[u8] = b"<detached ...>";

/// Takes a line apart. The text has no newline.
pub(crate) fn parse(text: &[u8]) -> Line<'_> {
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    if text.is_empty() {
        return Line { who: Who::Unnamed, body: Body::Note };
    }
    let (who, rest) = who(text);
    Line { who, body: body(without_time(rest)) }
}

fn who(text: &[u8]) -> (Who, &[u8]) {
    if let Some(rest) = text.strip_prefix(b"[pid") {
        let named = number(trim(rest)).and_then(|(pid, rest)| {
            let rest = without_name(rest).strip_prefix(b"]")?;
            Some((Who::Bracketed(pid), trim(rest)))
        });
        return named.unwrap_or((Who::Unnamed, text));
    }
    match number(text) {
        // A number with a point or a colon is a time.
        Some((pid, rest)) if matches!(rest.first(), Some(b' ' | b'<')) => {
            let rest = without_name(rest);
            if rest.first() == Some(&b' ') { (Who::Plain(pid), trim(rest)) } else { (Who::Unnamed, text) }
        }
        _ => (Who::Unnamed, trim(text)),
    }
}

/// Returns the text without the program's name of `-Y`, such as `<sh>`.
fn without_name(text: &[u8]) -> &[u8] {
    match text.strip_prefix(b"<").and_then(|rest| memchr::memchr(b'>', rest)) {
        Some(end) => &text[end + 2..],
        None => text,
    }
}

/// Returns the text without times and numbers in brackets.
fn without_time(mut text: &[u8]) -> &[u8] {
    loop {
        let closing = match text.first() {
            Some(b'0'..=b'9') => b' ',
            Some(b'[') => b']',
            Some(b'(') => b')',
            _ => return text,
        };
        let Some(end) = memchr::memchr(closing, text) else { return text };
        let inner = &text[usize::from(closing != b' ')..end];
        let fits = match closing {
            b' ' => inner.iter().all(|byte| matches!(byte, b'0'..=b'9' | b':' | b'.' | b'-' | b'+' | b'T')),
            b']' => inner.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b' ' | b'?')),
            _ => inner.starts_with(b"+ "),
        };
        if !fits {
            return text;
        }
        text = trim(&text[end + 1..]);
    }
}

fn body(text: &[u8]) -> Body<'_> {
    match text.first() {
        Some(b'a'..=b'z' | b'_' | b'A'..=b'Z') => named(text),
        Some(b'<') => resumed(text).unwrap_or(Body::Garbage),
        Some(b'+') => ended(text),
        Some(b'-') if text.starts_with(b"--- ") && text.ends_with(b" ---") => Body::Note,
        // This is a frame of `-k`: " > /lib/libc.so.6(fork+0x10) [0x1234]".
        Some(b'>') if text.starts_with(b"> ") && text.ends_with(b"]") => Body::Note,
        _ => Body::Garbage,
    }
}

/// The bytes that names of calls consist of.
const IN_NAMES: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0);
    while byte < 256 {
        table[byte] = (byte as u8).is_ascii_alphanumeric() || byte as u8 == b'_';
        byte += 1;
    }
    table
};

/// Reads a line that begins with a word.
fn named(text: &[u8]) -> Body<'_> {
    let name = text.iter().position(|byte| !IN_NAMES[usize::from(*byte)]).unwrap_or(text.len());
    if text.get(name) != Some(&b'(') {
        return if is_message(text) { Body::Note } else { Body::Garbage };
    }
    match text.last() {
        Some(b'>') => {}
        Some(b'd') if text.ends_with(b" attached") => {
            let message = memchr::memmem::rfind(text, b"strace: Process ").or_else(|| memchr::memmem::rfind(text, b"Process "));
            return message.map_or(Body::Garbage, |at| Body::Broken { message: text.len() - at });
        }
        _ => return Body::Call(text),
    }
    if !text.ends_with(b" ...>") {
        return Body::Call(without_duration(text));
    }
    if let Some(begun) = text.strip_suffix(UNFINISHED).or_else(|| text.strip_suffix(DETACHED)) {
        return Body::Unfinished(trim_end(begun));
    }
    match pid_changed(text) {
        Some((begun, to)) => Body::PidChanged { text: begun, to },
        None => Body::Call(text),
    }
}

/// Returns the text without the duration that `-T` puts after a call: ` <0.000012>`. With
/// durations, no two lines would be alike.
fn without_duration(text: &[u8]) -> &[u8] {
    let digits = text[..text.len() - 1].iter().rev().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let call = &text[..text.len() - 1 - digits];
    if digits == 0 { text } else { call.strip_suffix(b" <").unwrap_or(text) }
}

/// Reads a line such as `execve("/bin/sh", ... <pid changed to 12 ...>`.
fn pid_changed(text: &[u8]) -> Option<(&[u8], u32)> {
    let begun = text.strip_suffix(b" ...>")?;
    let at = memchr::memmem::rfind(begun, b"<pid changed to ")?;
    let (pid, rest) = number(&begun[at + b"<pid changed to ".len()..])?;
    rest.is_empty().then_some((trim_end(&text[..at]), pid))
}

/// Reads a line such as `<... openat resumed>) = 3`.
fn resumed(text: &[u8]) -> Option<Body<'_>> {
    let rest = text.strip_prefix(b"<... ")?;
    let name = &rest[..memchr::memchr(b' ', rest)?];
    let text = rest[name.len()..].strip_prefix(b" resumed>")?;
    Some(Body::Resumed { name, text })
}

/// Reads a line such as `+++ exited with 0 +++`.
fn ended(text: &[u8]) -> Body<'_> {
    let Some(what) = text.strip_prefix(b"+++ ").and_then(|rest| rest.strip_suffix(b" +++")) else { return Body::Garbage };
    if let Some(by) = what.strip_prefix(b"superseded by execve in pid ") {
        return number(by).map_or(Body::Garbage, |(pid, _)| Body::Became(pid));
    }
    if what.starts_with(b"exited with ") || what.starts_with(b"killed by ") { Body::Exited } else { Body::Note }
}

/// Returns whether a line is a message of strace about itself.
fn is_message(text: &[u8]) -> bool {
    let process = text.strip_prefix(b"Process ").and_then(number);
    text.starts_with(b"strace: ")
        || process.is_some_and(|(_, rest)| [b" attached", b" detached"].iter().any(|what| rest.starts_with(*what)))
}

/// Returns whether the text ends in a result. This is a cheap check for calls that are not read any
/// further.
pub(crate) fn ends_like_a_call(text: &[u8]) -> bool {
    memchr::memrchr_iter(b'=', text).any(|equals| {
        let before = trim_end(&text[..equals]);
        before.len() < equals && before.last() == Some(&b')') && text.get(equals + 1) == Some(&b' ') && text.len() > equals + 2
    })
}

/// Reads a decimal number. Returns it with the text that follows.
pub(crate) fn number(text: &[u8]) -> Option<(u32, &[u8])> {
    let (mut value, mut rest) = (0u64, text);
    while let [digit @ b'0'..=b'9', after @ ..] = rest {
        value = value * 10 + u64::from(digit - b'0');
        if value > u64::from(u32::MAX) {
            return None;
        }
        rest = after;
    }
    (rest.len() < text.len()).then_some((value as u32, rest))
}

/// Returns the text without leading spaces.
pub(crate) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ', rest @ ..] = text {
        text = rest;
    }
    text
}

fn trim_end(text: &[u8]) -> &[u8] {
    let spaces = text.iter().rev().take_while(|byte| **byte == b' ').count();
    &text[..text.len() - spaces]
}

#[cfg(test)]
mod tests;
