//! Names and paths for people: bytes that need not be text, shown and quoted.
//!
//! Nothing that comes from a file system reaches a terminal as it is: control characters, and what changes the direction or
//! the place of the text, are escaped.

use std::fmt::Write as _;

/// For reading: text as it is, anything else escaped as in `\xff` or `\n`; a backslash is doubled, so that it cannot be mistaken.
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

/// The same, of what is too long for a line: its beginning, and how long it is.
pub(crate) fn shortened(bytes: &[u8], most: usize) -> String {
    if bytes.len() <= most { shown(bytes) } else { format!("{}… ({} bytes)", shown(&bytes[..most / 2]), bytes.len()) }
}

/// For pasting into a shell: bare where that will do, in quotes where it has to be, as `$'…'` where it is not printable.
pub(crate) fn shell(bytes: &[u8]) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(byte);
    if !bytes.is_empty() && bytes[0] != b'-' && bytes.iter().all(plain) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    // What can be shown unchanged, but for backslashes, is printable.
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
