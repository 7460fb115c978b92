//! Names as git writes them: in quotes, with C's escapes, where a byte is unusual.

/// The escapes of single bytes.
const ESCAPES: [(u8, u8); 9] =
    [(7, b'a'), (8, b'b'), (9, b't'), (10, b'n'), (11, b'v'), (12, b'f'), (13, b'r'), (b'"', b'"'), (b'\\', b'\\')];

/// Returns a name behind a prefix, in quotes if it needs any.
pub(super) fn quoted(prefix: &str, name: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\');
    if name.iter().all(is_plain) {
        return [prefix.as_bytes(), name].concat();
    }
    let mut quoted = [b"\"", prefix.as_bytes()].concat();
    for byte in name {
        match ESCAPES.iter().find(|(of, _)| of == byte) {
            Some((_, escape)) => quoted.extend([b'\\', *escape]),
            None if is_plain(byte) => quoted.push(*byte),
            None => quoted.extend(format!("\\{byte:03o}").into_bytes()),
        }
    }
    quoted.push(b'"');
    quoted
}

/// Parses a name in quotes, and returns it with what is behind it.
pub(super) fn unquoted(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut name, mut rest) = (Vec::new(), text.strip_prefix(b"\"")?);
    loop {
        match rest {
            [b'"', behind @ ..] => return Some((name, behind)),
            [b'\\', high @ b'0'..=b'3', middle @ b'0'..=b'7', low @ b'0'..=b'7', behind @ ..] => {
                name.push(((high - b'0') << 6) | ((middle - b'0') << 3) | (low - b'0'));
                rest = behind;
            }
            [b'\\', escape, behind @ ..] => {
                name.push(ESCAPES.iter().find(|(_, of)| of == escape)?.0);
                rest = behind;
            }
            [byte, behind @ ..] => {
                name.push(*byte);
                rest = behind;
            }
            [] => return None,
        }
    }
}

/// Returns a path from the root, of a name behind a prefix that ends with a slash.
pub(super) fn without_prefix(name: &[u8]) -> Option<Vec<u8>> {
    let slash = name.iter().position(|byte| *byte == b'/')?;
    Some(name[slash..].to_vec())
}

/// Parses the name of a line that has one name: in quotes, or up to a tab.
pub(super) fn single(text: &[u8]) -> Option<Vec<u8>> {
    if text.starts_with(b"\"") {
        return unquoted(text).filter(|(_, rest)| rest.is_empty() || rest.starts_with(b"\t")).map(|(name, _)| name);
    }
    text.split(|byte| *byte == b'\t').next().map(<[u8]>::to_vec)
}

/// Parses the names of a line that begins a file, each with its prefix. If none is in quotes, it is
/// one name, twice.
pub(super) fn pair(text: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    if text.starts_with(b"\"") {
        let (old, rest) = unquoted(text)?;
        return Some((without_prefix(&old)?, without_prefix(&single(rest.strip_prefix(b" ")?)?)?));
    }
    if text.ends_with(b"\"") {
        let quote = text.windows(2).position(|two| two == b" \"")?;
        let (new, rest) = unquoted(&text[quote + 1..])?;
        return rest.is_empty().then_some((without_prefix(&text[..quote])?, without_prefix(&new)?));
    }
    let blanks = (0..text.len()).filter(|at| text[*at] == b' ');
    let mut pairs = blanks.filter_map(|at| Some((without_prefix(&text[..at])?, without_prefix(&text[at + 1..])?)));
    pairs.find(|(old, new)| old == new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        for name in [&b"a b"[..], b"\"\\", b"\t\n\r\x07\x01\x7f\xff", b"\xc3\xa4", b"a b/a b"] {
            let shown = quoted("a/", name);
            assert_eq!(single(&shown).and_then(|name| without_prefix(&name)), Some([b"/", name].concat()));
            let line = [&shown[..], b" ", &quoted("b/", name)].concat();
            assert_eq!(pair(&line), Some(([b"/", name].concat(), [b"/", name].concat())), "{}", line.escape_ascii());
        }
        assert_eq!(quoted("a/", b"\xc3\xa4\x01"), b"\"a/\\303\\244\\001\"");
        assert_eq!(pair(b"a/x \"b/\\001\""), Some((b"/x".to_vec(), b"/\x01".to_vec())));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [&b"\"a/"[..], b"\"a/\\9\" b/x", b"a/x b/y", b"", b"\"a\" \"b\""] {
            assert_eq!(pair(text), None, "{}", text.escape_ascii());
        }
    }
}
