//! The conversion of strings as strace prints them back to bytes.
//!
//! The known escapes are those of C: `\n` and the like, one to three octal digits, and `\x` with
//! two hexadecimal digits (`strace -x`).

/// Returns the bytes that `text` stands for. They are in `room` if anything was escaped. Returns
/// `None` if an escape is not valid, or stands for NUL, which no path contains.
pub(crate) fn unescape<'t>(text: &'t [u8], room: &'t mut Vec<u8>) -> Option<&'t [u8]> {
    let Some(first) = memchr::memchr(b'\\', text) else { return Some(text) };
    room.clear();
    room.extend_from_slice(&text[..first]);
    let mut rest = &text[first..];
    while let Some((&byte, after)) = rest.split_first() {
        let (meant, used) = if byte == b'\\' { escaped(after)? } else { (byte, 0) };
        if meant == 0 {
            return None;
        }
        room.push(meant);
        rest = &after[used..];
    }
    Some(room)
}

/// Reads the text after a backslash. Returns the byte that it stands for, and the length of the
/// escape.
fn escaped(text: &[u8]) -> Option<(u8, usize)> {
    let simple = |byte| Some((byte, 1));
    match *text.first()? {
        b'n' => simple(b'\n'),
        b't' => simple(b'\t'),
        b'r' => simple(b'\r'),
        b'v' => simple(0x0b),
        b'f' => simple(0x0c),
        byte @ (b'"' | b'\\' | b'\'') => simple(byte),
        b'0'..=b'7' => {
            let digits = text.iter().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
            let value = text[..digits].iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            Some((u8::try_from(value).ok()?, digits))
        }
        b'x' => {
            let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
            Some((u8::try_from(digit(1)? * 16 + digit(2)?).ok()?, 3))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        let cases: [(&[u8], Option<&[u8]>); 11] = [
            (b"", Some(b"")),
            (b"/usr/lib", Some(b"/usr/lib")),
            (br"\n\t\r\v\f\\\x", None),
            (br#"a\n\t\r\v\f\\\""#, Some(b"a\n\t\r\x0b\x0c\\\"")),
            (br"\303\251", Some("\u{e9}".as_bytes())),
            (br"\1a\12b\0019", Some(b"\x01a\x0ab\x019")),
            (br"\x2f\x41z", Some(b"/Az")),
            (br"\400", None),
            (br"\0", None),
            (br"\x4", None),
            (br"end\", None),
        ];
        for (text, bytes) in cases {
            assert_eq!(unescape(text, &mut Vec::new()), bytes, "{}", text.escape_ascii());
        }
    }
}
