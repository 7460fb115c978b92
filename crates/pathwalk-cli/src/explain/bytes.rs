//! The text forms of names and paths: bytes that need not be text, escaped and quoted.
//!
//! No name of a file system reaches a terminal unchanged: control characters, and characters that
//! change the direction or the place of the text, are escaped.

use std::fmt::Write as _;

/// Returns bytes for reading: text unchanged, anything else escaped as in `\xff` or `\n`. A
/// backslash is doubled, so that it is unambiguous.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\'' | '"' => text.push(c),
                _ => text.extend(c.escape_debug()),
            }
        }
        push_hex(&mut text, chunk.invalid());
    }
    text
}

/// Returns bytes for reading. If they are too long for a line, returns their beginning and their
/// length.
pub(crate) fn shortened(bytes: &[u8], most: usize) -> String {
    if bytes.len() <= most { shown(bytes) } else { format!("{}… ({} bytes)", shown(&bytes[..most / 2]), bytes.len()) }
}

/// Returns bytes for pasting into a shell: bare where possible, in quotes where necessary, as
/// `$'…'` where they are not printable.
pub(crate) fn shell(bytes: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    if !bytes.is_empty() && bytes[0] != b'-' && bytes.iter().all(plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    // Bytes are printable if `shown` changes only backslashes.
    let printable = shown(bytes).replace("\\\\", "\\").as_bytes() == bytes && !shown(bytes).replace("\\\\", "").contains('\\');
    let dashed = if bytes.first() == Some(&b'-') { "./" } else { "" };
    if printable {
        return format!("'{dashed}{}'", String::from_utf8_lossy(bytes).replace('\'', r"'\''"));
    }
    let mut text = format!("$'{dashed}");
    for byte in bytes {
        match byte {
            b'\'' | b'\\' => text.extend(['\\', char::from(*byte)]),
            b' '..=b'~' => text.push(char::from(*byte)),
            _ => push_hex(&mut text, &[*byte]),
        }
    }
    text + "'"
}

fn push_hex(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        let _ = write!(text, "\\x{byte:02x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_as_it_is() {
        let cases: [(&[u8], &str); 6] = [
            (b"plain", "plain"),
            ("été 'x' \"y\"".as_bytes(), "été 'x' \"y\""),
            (b"a\x1b[31m\n", "a\\u{1b}[31m\\n"),
            (b"\xff\xfe", "\\xff\\xfe"),
            (b"a\\xff", "a\\\\xff"),
            ("a\u{202e}b".as_bytes(), "a\\u{202e}b"),
        ];
        for (bytes, text) in cases {
            assert_eq!(shown(bytes), text);
        }
        assert_eq!(shortened(&[b'a'; 300], 10), "aaaaa… (300 bytes)");
    }

    #[test]
    fn a_shell_takes_it_back() {
        let cases: [(&[u8], &str); 8] = [
            (b"/usr/bin", "/usr/bin"),
            (b"", "''"),
            (b"a b", "'a b'"),
            (b"it's", r"'it'\''s'"),
            (b"-rf", "'./-rf'"),
            (b"a\nb", r"$'a\x0ab'"),
            (b"\xff'\\", r"$'\xff\'\\'"),
            (b"a\\b", r"'a\b'"),
        ];
        for (bytes, text) in cases {
            assert_eq!(shell(bytes), text);
        }
    }

    #[test]
    fn bash_agrees() {
        let odd: Vec<u8> = (1..=255).collect();
        for bytes in [&odd[..], b"'", b"\\", b"\\n", "\u{202e}é".as_bytes()] {
            let script = format!("printf %s {}", shell(bytes));
            let Ok(output) = std::process::Command::new("bash").args(["-c", &script]).output() else {
                return pathwalk_tests::skipped("quoting for the shell", "there is no bash here");
            };
            assert_eq!(output.stdout, bytes, "{script}");
        }
    }
}
