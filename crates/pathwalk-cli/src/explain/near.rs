//! The search for existing names that are like a missing one.

use strsim::generic_damerau_levenshtein;

/// The largest number of names that are reported.
const MOST: usize = 3;

/// Returns the names that are most like a missing one, the likest first: a difference in case comes
/// before other differences, then the number of differing letters counts. Names that differ in many
/// letters, or in much more than the likest one, are left out.
pub(crate) fn names_like(missing: &[u8], names: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let limit = match missing.len() {
        0..=3 => 1,
        4..=6 => 2,
        _ => 3,
    };
    let distance = |name: &Vec<u8>| {
        if name.eq_ignore_ascii_case(missing) {
            return Some(0);
        }
        // The difference in length is the minimum number of differences.
        let differs =
            if name.len().abs_diff(missing.len()) > limit { usize::MAX } else { generic_damerau_levenshtein(missing, name) };
        // A name that shares no letter is not like the missing one.
        (differs <= limit && differs < missing.len().max(name.len())).then_some(differs)
    };
    let mut like: Vec<_> = names.iter().filter_map(|name| Some((distance(name)?, name))).collect();
    like.sort();
    let likest = like.first().map_or(0, |(differs, _)| *differs);
    like.retain(|(differs, _)| *differs <= likest + 1);
    like.into_iter().take(MOST).map(|(_, name)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(missing: &str, names: &[&str]) -> Vec<String> {
        let names: Vec<Vec<u8>> = names.iter().map(|name| name.as_bytes().to_vec()).collect();
        names_like(missing.as_bytes(), &names).into_iter().map(|name| String::from_utf8(name).unwrap()).collect()
    }

    #[test]
    fn a_slip_is_found() {
        assert_eq!(like("pasword", &["passwd", "group"]), ["passwd"]);
        assert_eq!(like("pasword", &["passwd", "password", "group"]), ["password"], "only what is about as like as the likest");
        assert_eq!(like("hsots", &["hosts", "host.conf"]), ["hosts"]);
        assert_eq!(like("readme.MD", &["README.md", "readme.mdx"]), ["README.md"]);
        assert_eq!(like("lib", &["lib ", "libs", "lib64", "bin"]), ["lib ", "libs"]);
    }

    #[test]
    fn what_is_not_like_it_is_not_told() {
        assert!(like("x", &["a", "b", "xyz"]).is_empty());
        assert!(like("etc", &["usr", "var", "tmp"]).is_empty());
        assert_eq!(like("aaaa", &["aaab", "aaac", "aaad", "aaae"]).len(), 3);
        assert_eq!(names_like(b"\xff\xfe\xfd", &[b"\xff\xfe\xfc".to_vec()]), [b"\xff\xfe\xfc".to_vec()]);
    }
}
