//! What is mounted, as the command line and namespace files name it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::bail;
use pathwalk_bench::machine::escaped;

use super::namespace;
use super::options::Options;
use super::tree::{self, From, Part, Tree};

/// The forms of a source.
pub(crate) const FORMS: &str = "mem, host:DIR, branch:NAME, or a namespace file whose name ends in .toml";

/// The beginning of a directory of this machine.
const HOST: &[u8] = b"host:";

/// The beginning of a branch.
const BRANCH: &[u8] = b"branch:";

/// A source of the command line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// A tree in memory, a directory of this machine, or a branch.
    One(From),
    /// A file that lists mounts.
    Namespace(PathBuf),
}

impl Source {
    /// Reads the text of a source.
    pub(crate) fn parse(text: &OsStr) -> anyhow::Result<Source> {
        if let Some(from) = one(text.as_bytes(), Path::new("")) {
            return Ok(Source::One(from));
        }
        let path = Path::new(text);
        if path.extension() == Some(OsStr::new("toml")) {
            return Ok(Source::Namespace(path.to_owned()));
        }
        let advice = if path.is_dir() { format!("; for this directory write host:{}", escaped(path)) } else { String::new() };
        bail!("there is no source \"{}\": it is {FORMS}{advice}", escaped(path))
    }

    /// Builds the tree. The options of a namespace file complete those of the whole.
    pub(crate) fn build(self, options: &mut Options) -> anyhow::Result<Tree> {
        match self {
            Source::One(from) => {
                let part = Part { at: "/".into(), from, options: options.clone(), map: None };
                part.check()?;
                tree::build(&[part], options.budget)
            }
            Source::Namespace(path) => {
                let mut parts = namespace::parts(&path, options)?;
                parts.iter_mut().for_each(|part| part.options.access |= options.access);
                let tree = tree::build(&parts, options.budget)?;
                Ok(Tree { times: options.changed(tree.times), ..tree })
            }
        }
    }
}

/// Reads the source of one tree. A relative directory is below `dir`.
pub(super) fn one(text: &[u8], dir: &Path) -> Option<From> {
    if text == b"mem" {
        return Some(From::Memory);
    }
    if let Some(name) = text.strip_prefix(BRANCH) {
        let name = String::from_utf8(name.to_vec()).ok().filter(|name| !name.is_empty())?;
        return Some(From::Branch { name, below: dir.to_owned() });
    }
    let path = text.strip_prefix(HOST).filter(|path| !path.is_empty())?;
    Some(From::Host(dir.join(OsStr::from_bytes(path))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_have_four_forms() {
        let parse = |text: &str| Source::parse(OsStr::new(text));
        assert_eq!(parse("mem").unwrap(), Source::One(From::Memory));
        assert_eq!(parse("host:/a b").unwrap(), Source::One(From::Host("/a b".into())));
        assert_eq!(parse("branch:work").unwrap(), Source::One(From::Branch { name: "work".into(), below: "".into() }));
        assert_eq!(parse("./x.toml").unwrap(), Source::Namespace("./x.toml".into()));
        for (text, says) in [("/", "write host:/"), ("host:", FORMS), ("branch:", FORMS), ("memory", FORMS), ("", "\"\"")] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
