//! The answers to conflicts that `commit`, `undo` and `rebase` take.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use anyhow::bail;
use clap::Args as ClapArgs;
use pathwalk_bench::machine::escaped;
use pathwalk_branch::{Answer, Resolution};

/// The options of answers.
#[derive(ClapArgs, Debug)]
pub(crate) struct Answers {
    /// Where both changed the same, take what the branch has
    #[arg(long, conflicts_with_all = ["theirs", "merge"])]
    ours: bool,
    /// Where both changed the same, take what the base or the other branch has
    #[arg(long, conflicts_with = "merge")]
    theirs: bool,
    /// Where both changed other lines of a text, take both
    #[arg(long)]
    merge: bool,
    /// Do so for one path and all below it: PATH=ours, PATH=theirs, PATH=merge or PATH=left
    #[arg(long = "resolve", value_name = "PATH=ANSWER")]
    by_path: Vec<OsString>,
}

impl Answers {
    pub(super) fn resolution(&self) -> anyhow::Result<Resolution> {
        let otherwise = match self {
            Answers { ours: true, .. } => Answer::Ours,
            Answers { theirs: true, .. } => Answer::Theirs,
            Answers { merge: true, .. } => Answer::Merge,
            _ => Answer::Left,
        };
        self.by_path.iter().try_fold(Resolution::all(otherwise), |all, given| {
            let (path, answer) = parse(given)?;
            Ok(all.at(path, answer))
        })
    }
}

/// Returns the path, which begins at the root of the branch, and the answer.
fn parse(given: &OsStr) -> anyhow::Result<(Vec<u8>, Answer)> {
    let bytes = given.as_bytes();
    let parts = bytes.iter().rposition(|byte| *byte == b'=').map(|at| (&bytes[..at], &bytes[at + 1..]));
    let answer = match parts {
        Some((_, b"ours")) => Answer::Ours,
        Some((_, b"theirs")) => Answer::Theirs,
        Some((_, b"merge")) => Answer::Merge,
        Some((_, b"left")) => Answer::Left,
        _ => {
            bail!("--resolve \"{}\": write a path, \"=\", and ours, theirs, merge or left", escaped(std::path::Path::new(given)))
        }
    };
    Ok((rooted(parts.map_or(&b""[..], |(path, _)| path)), answer))
}

/// Returns a path that begins at the root of the branch.
pub(crate) fn rooted(path: &[u8]) -> Vec<u8> {
    let path = path.strip_prefix(b"./").unwrap_or(path);
    let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    [b"/", &path[start..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_an_answer_behind_its_last_equals_sign() {
        let parsed = |given: &str| parse(OsStr::new(given)).ok();
        assert_eq!(parsed("/a=b=ours"), Some((b"/a=b".to_vec(), Answer::Ours)));
        assert_eq!(parsed("a/=merge"), Some((b"/a/".to_vec(), Answer::Merge)));
        assert_eq!(
            [&b"a"[..], b"//a/b/", b"./a", b"/", b""].map(rooted),
            [&b"/a"[..], b"/a/b/", b"/a", b"/", b"/"].map(Vec::from)
        );
        assert_eq!([parsed("/a"), parsed("/a=mine"), parsed("")], [const { None }; 3]);
    }
}
