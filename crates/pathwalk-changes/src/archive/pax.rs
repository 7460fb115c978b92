//! Extended headers of tar: records of a length, a key and a value. Source: `pax` in POSIX.

/// Appends a record. Its length counts itself.
pub(super) fn push(records: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    records.extend([length.to_string().as_bytes(), b" ", key, b"=", value, b"\n"].concat());
}

/// Parses records. `None` if they are none.
pub(super) fn parse(mut rest: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    let mut all = Vec::new();
    while !rest.is_empty() {
        let blank = rest.iter().position(|byte| *byte == b' ')?;
        let length: usize = std::str::from_utf8(&rest[..blank]).ok()?.parse().ok()?;
        let record = rest.get(blank + 1..length)?.strip_suffix(b"\n")?;
        let equals = record.iter().position(|byte| *byte == b'=')?;
        all.push((&record[..equals], &record[equals + 1..]));
        rest = &rest[length..];
    }
    Some(all)
}

/// Returns the name of an extended attribute as GNU tar has it in a key, in which no `=` may be.
pub(super) fn encoded(name: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::new();
    for byte in name {
        match byte {
            b'%' => encoded.extend(b"%25"),
            b'=' => encoded.extend(b"%3D"),
            byte => encoded.push(*byte),
        }
    }
    encoded
}

/// Returns the name that a key has.
pub(super) fn decoded(mut key: &[u8]) -> Vec<u8> {
    let mut name = Vec::new();
    while let Some((first, rest)) = key.split_first() {
        let (byte, behind) = match key {
            [b'%', b'2', b'5', behind @ ..] => (b'%', behind),
            [b'%', b'3', b'D', behind @ ..] => (b'=', behind),
            _ => (*first, rest),
        };
        name.push(byte);
        key = behind;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_go_there_and_back() {
        let mut records = Vec::new();
        let values: Vec<Vec<u8>> = (80..120).map(|length| vec![b'\n'; length]).collect();
        values.iter().for_each(|value| push(&mut records, b"key", value));
        push(&mut records, b"k", b"a=b\n");
        let parsed = parse(&records).expect("they are records");
        assert!(parsed.iter().zip(&values).all(|((key, value), wanted)| *key == b"key" && value == wanted));
        assert_eq!(parsed.last(), Some(&(&b"k"[..], &b"a=b\n"[..])));
        assert!((1..records.len()).filter(|end| parse(&records[..*end]).is_some()).count() == values.len());
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for records in [&b"x"[..], b"5 a=b", b"99 a=b\n", b"0 a=b\n", b"1 a=b\n", b"5 ab\n", b"-1 a=b\n"] {
            assert_eq!(parse(records), None, "{}", records.escape_ascii());
        }
        assert_eq!(decoded(&encoded(b"user.%3D=%")), b"user.%3D=%");
    }
}
