//! The conversion of a request's target to names in a tree.

use percent_encoding::percent_decode_str;

use crate::Refused;
use crate::site::INDEX;

/// Returns the names that a request's path goes through, decoded. Empty names and `.` are left out.
/// An encoded slash separates names like any other slash. If the path ends in a slash or in `.`,
/// which is valid only for a directory, the last name is empty.
///
/// Fails with `Forbidden` for `..`, wherever it leads: browsers remove `..` themselves, so a client
/// that sends it tries to reach the directories above. Fails with `Absent` for a NUL, which no name
/// contains.
pub fn segments(path: &str) -> Result<Vec<Vec<u8>>, Refused> {
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    if decoded.contains(&0) {
        return Err(Refused::Absent);
    }
    let is_nothing = |name: &&[u8]| matches!(*name, b"" | b".");
    let mut names = decoded.split(|byte| *byte == b'/');
    let refused = |name: &[u8]| if name == b".." { Err(Refused::Forbidden) } else { Ok(name.to_vec()) };
    let mut found: Vec<Vec<u8>> = names.clone().filter(|name| !is_nothing(name)).map(refused).collect::<Result<_, _>>()?;
    if !found.is_empty() && names.next_back().as_ref().is_some_and(is_nothing) {
        found.push(Vec::new());
    }
    Ok(found)
}

/// Returns the names of the index in the directory that `names` lead to.
pub(crate) fn index_of(names: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let directory = names.iter().filter(|name| !name.is_empty()).cloned();
    directory.chain([INDEX.to_vec()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_decoded_and_nothing_leads_up() {
        let names = |path| segments(path).map(|names| names.join(&b'|'));
        assert_eq!(names("/a%20b//./c%2Fd/"), Ok(b"a b|c|d|".to_vec()));
        assert_eq!(
            (names("/a/."), names("/a//"), names("/a/./b")),
            (Ok(b"a|".to_vec()), Ok(b"a|".to_vec()), Ok(b"a|b".to_vec()))
        );
        assert_eq!((names("//"), names("/.")), (Ok(Vec::new()), Ok(Vec::new())));
        assert_eq!(names("/"), Ok(Vec::new()));
        assert_eq!(names("/%ff/%zz"), Ok(b"\xff|%zz".to_vec()));
        assert_eq!(names("/..."), Ok(b"...".to_vec()));
        for path in ["/..", "/a/../b", "/%2e%2e/x", "/.%2E", "/a%2f..%2fb", "//..//..//etc/passwd", "/..%2f"] {
            assert_eq!(names(path), Err(Refused::Forbidden), "{path}");
        }
        assert_eq!(names("/a%00b"), Err(Refused::Absent));
    }
}
