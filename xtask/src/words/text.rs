//! Bytes as text: quoted, with all unprintable bytes escaped and repetitions folded.

use std::fmt::Write;

use anyhow::{Result, anyhow};

/// The number of repetitions from which on they are folded.
const FOLDED: usize = 12;

/// Appends the bytes in quotes.
pub(super) fn quote(bytes: &[u8], out: &mut String) {
    out.push('"');
    let mut rest = bytes;
    while !rest.is_empty() {
        let (unit, times) = repetition(rest);
        if times >= FOLDED {
            out.push('{');
            escape(&rest[..unit], out);
            let _ = write!(out, "*{times}}}");
            rest = &rest[unit * times..];
        } else {
            escape(&rest[..1], out);
            rest = &rest[1..];
        }
    }
    out.push('"');
}

/// Returns the bytes of a quoted text.
pub(super) fn unquote(word: &str) -> Result<Vec<u8>> {
    let inner = word.strip_prefix('"').and_then(|word| word.strip_suffix('"'));
    let mut rest = inner.ok_or_else(|| anyhow!("it stands in quotes"))?;
    let mut bytes = Vec::new();
    while let Some(open) = rest.find('{') {
        let (fold, behind) = rest[open + 1..].split_once('}').ok_or_else(|| anyhow!("`{{` without `}}`"))?;
        let (unit, times) = fold.rsplit_once('*').ok_or_else(|| anyhow!("`{{{fold}}}` has no `*`"))?;
        bytes.extend(unescape(&rest[..open])?);
        bytes.extend(unescape(unit)?.repeat(times.parse()?));
        rest = behind;
    }
    bytes.extend(unescape(rest)?);
    Ok(bytes)
}

/// Returns the repetition of one or two bytes that the text begins with: the length of the unit,
/// and the number of repetitions.
fn repetition(text: &[u8]) -> (usize, usize) {
    let times = |unit: usize| text.chunks_exact(unit).take_while(|chunk| *chunk == &text[..unit]).count();
    if times(1) >= FOLDED || text.len() < 2 { (1, times(1)) } else { (2, times(2)) }
}

/// Appends bytes. Braces, stars and spaces are escaped as well, since they have a meaning here.
fn escape(bytes: &[u8], out: &mut String) {
    for byte in bytes {
        let _ = match byte {
            b'{' | b'}' | b'*' | b' ' | b'"' | b'\\' | 0..0x20 | 0x7f.. => write!(out, "\\x{byte:02x}"),
            _ => write!(out, "{}", char::from(*byte)),
        };
    }
}

fn unescape(text: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut pieces = text.split("\\x");
    bytes.extend(pieces.next().unwrap_or_default().bytes());
    for piece in pieces {
        let (code, rest) = piece.split_at_checked(2).ok_or_else(|| anyhow!("`\\x` takes two digits"))?;
        bytes.push(u8::from_str_radix(code, 16)?);
        bytes.extend(rest.bytes());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_go_there_and_back() {
        let cases: [(&[u8], &str); 7] = [
            (b"", r#""""#),
            (b"a/b", r#""a/b""#),
            (&[b'n'; 255], r#""{n*255}""#),
            (&b"./".repeat(2000), r#""{./*2000}""#),
            (b"a {b}*\"\\", r#""a\x20\x7bb\x7d\x2a\x22\x5c""#),
            (b"\xff\n\x01", r#""\xff\x0a\x01""#),
            (&[b'x'; 11], r#""xxxxxxxxxxx""#),
        ];
        for (bytes, text) in cases {
            let mut written = String::new();
            quote(bytes, &mut written);
            assert_eq!(written, text);
            assert_eq!(unquote(text).expect("it was written by us"), bytes, "{text}");
        }
        for nonsense in ["a", r#""{a""#, r#""{a}""#, r#""{a*b}""#, r#""\x""#, r#""\xgg""#] {
            assert!(unquote(nonsense).is_err(), "{nonsense}");
        }
    }
}
