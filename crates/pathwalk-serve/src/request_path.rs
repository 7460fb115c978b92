//! From the target of a request to names in a tree.

use percent_encoding::percent_decode_str;

use crate::Refused;

/// The names that a request's path goes through, decoded: empty ones and `.` are left out, an encoded slash separates like any other.
///
/// `Forbidden` for `..`, wherever it leads: browsers take it out themselves, so who sends it wants to see what is above. `Absent` for a NUL, which no
/// name has.
pub fn segments(path: &str) -> Result<Vec<Vec<u8>>, Refused> {
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    if decoded.contains(&0) {
        return Err(Refused::Absent);
    }
    let names = decoded.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    let refused = |name: &[u8]| if name == b".." { Err(Refused::Forbidden) } else { Ok(name.to_vec()) };
    names.map(refused).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded_and_nothing_leads_up() {
        let names = |path| segments(path).map(|names| names.join(&b'|'));
        assert_eq!(names("/a%20b//./c%2Fd/"), Ok(b"a b|c|d".to_vec()));
        assert_eq!(names("/"), Ok(Vec::new()));
        assert_eq!(names("/%ff/%zz"), Ok(b"\xff|%zz".to_vec()));
        assert_eq!(names("/..."), Ok(b"...".to_vec()));
        for path in ["/..", "/a/../b", "/%2e%2e/x", "/.%2E", "/a%2f..%2fb", "//..//..//etc/passwd", "/..%2f"] {
            assert_eq!(names(path), Err(Refused::Forbidden), "{path}");
        }
        assert_eq!(names("/a%00b"), Err(Refused::Absent));
    }
}
