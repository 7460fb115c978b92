//! The kind of a file: strace's text, a trace of lookups, or neither.
//!
//! A single line decides, and it may be any line: a recording may begin with output of the traced
//! program.

use crate::line::{self, Body};

/// The kind of a file.
///
/// [`kind_of`] has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The output of strace.
    Strace,
    /// A trace: lines of `path TAB mode`.
    Trace,
    /// Any other text.
    Neither,
    /// An empty file.
    Empty,
}

/// Returns the kind of a file from its beginning, unpacked. [`BEGINNING`](crate::BEGINNING) bytes
/// are enough.
///
/// ```
/// use pathwalk_recording::{BEGINNING, Kind, kind_of};
/// let text = b"12 chdir(\"/tmp\") = 0\n";
/// assert_eq!(kind_of(&text[..text.len().min(BEGINNING)]), Kind::Strace);
/// assert_eq!(kind_of(b"/etc/hosts\tR_OK\n"), Kind::Trace);
/// assert_eq!((kind_of(b"hello\n"), kind_of(b"")), (Kind::Neither, Kind::Empty));
/// ```
pub fn kind_of(beginning: &[u8]) -> Kind {
    if beginning.is_empty() {
        return Kind::Empty;
    }
    let lines = || beginning.split(|byte| *byte == b'\n');
    // A path of a trace may look like a call, but no call ends in a mode.
    if lines().any(|line| is_of_strace(line) && !is_of_a_trace(line)) {
        Kind::Strace
    } else if lines().any(is_of_a_trace) {
        Kind::Trace
    } else {
        Kind::Neither
    }
}

fn is_of_strace(text: &[u8]) -> bool {
    match line::parse(text).body {
        Body::Call(text) => line::ends_like_a_call(text),
        Body::Unfinished(_) | Body::Resumed { .. } | Body::Exited | Body::Became(_) => true,
        Body::PidChanged { .. } => true,
        Body::Note | Body::Broken { .. } | Body::Garbage => false,
    }
}

fn is_of_a_trace(text: &[u8]) -> bool {
    let mode = text.rsplit(|byte| *byte == b'\t').next().unwrap_or_default();
    mode.len() < text.len() && mode.split(|byte| *byte == b'|').all(|word| matches!(word, b"F_OK" | b"R_OK" | b"W_OK" | b"X_OK"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_decides() {
        let cases: [(&[u8], Kind); 13] = [
            (b"", Kind::Empty),
            (b"\n\n", Kind::Neither),
            (b"hello\nworld (again) = 3\n", Kind::Neither),
            (b"\x7fELF\x02\x01\x01\0\0\0\xff", Kind::Neither),
            (b"/etc/hosts\tF_OK\n", Kind::Trace),
            (b"open(\"/x\", O_RDONLY) = 3\tR_OK|W_OK\n", Kind::Trace),
            (b"/etc\tF_OK\n/etc\tbad\n", Kind::Trace),
            (b"/etc\tbad\n", Kind::Neither),
            (b"access(\"/x\", F_OK) = 0", Kind::Strace),
            (b"\0\0\ngarbage\n12   12:00:01 access(\"/x\", F_OK)     = -1 ENOENT (No such file or directory)\n", Kind::Strace),
            (b"[pid  7] <... openat resumed>) = 3\n", Kind::Strace),
            (b"7 +++ exited with 0 +++\n", Kind::Strace),
            (b"7 vfork( <unfinished ...>\n", Kind::Strace),
        ];
        for (beginning, kind) in cases {
            assert_eq!(kind_of(beginning), kind, "{}", beginning.escape_ascii());
        }
    }
}
