//! The page `docs/porting.md` shows the differences of the programs as they are.
//!
//! `PATHWALK_WRITE_DIFFS=1 cargo test -p pathwalk-examples --test porting_page` writes them.

use std::fs;
use std::path::{Path, PathBuf};

use similar::TextDiff;

const PROGRAMS: [&str; 3] = ["copy_tree", "count_lines", "site"];

fn crate_file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns what `diff -u` prints for both forms of a program, from the crate's directory and
/// without times.
fn difference(program: &str) -> String {
    let paths = ["with_std", "ported"].map(|form| format!("src/{form}/{program}.rs"));
    let [from, to] = paths.each_ref().map(|path| fs::read_to_string(crate_file(path)).unwrap());
    TextDiff::from_lines(&from, &to).unified_diff().context_radius(3).header(&paths[0], &paths[1]).to_string()
}

#[test]
fn the_page_shows_the_differences() {
    let path = crate_file("../../docs/porting.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut written = String::new();
    let mut left = page.as_str();
    for program in PROGRAMS {
        let begin = left.find("```diff\n").unwrap_or_else(|| panic!("no diff of {program}")) + "```diff\n".len();
        let length = left[begin..].find("```\n").unwrap();
        written += &left[..begin];
        written += &difference(program);
        left = &left[begin + length..];
    }
    written += left;
    if std::env::var_os("PATHWALK_WRITE_DIFFS").is_some() {
        fs::write(&path, &written).unwrap();
    } else {
        assert_eq!(page, written, "write the page with PATHWALK_WRITE_DIFFS=1");
    }
    assert!(!left.contains("```diff"), "a diff that no program has");
}

#[test]
fn only_imports_and_calls_differ() {
    for program in PROGRAMS {
        let difference = difference(program);
        let changed = |sign: &'static str| {
            move |line: &&str| line.starts_with(sign) && !line.starts_with(&sign.repeat(3)) && line.len() > 1
        };
        let mut removed: Vec<_> = difference.lines().filter(changed("-")).map(plain).collect();
        let mut added: Vec<_> = difference.lines().filter(changed("+")).map(plain).collect();
        removed.retain(|line| !line.starts_with("use "));
        added.retain(|line| !line.starts_with("use "));
        assert_eq!(removed, added, "{program}");
    }
}

/// Returns a changed line in the form that both programs share: without the argument, and with
/// calls as the standard library's.
fn plain(line: &str) -> String {
    let line = line[1..].replace("fs: &Context, ", "").replace("fs, ", "").replace("(fs)", "()");
    line.replace("fs.", "fs::").replace("fs::symlink(", "symlink(")
}
