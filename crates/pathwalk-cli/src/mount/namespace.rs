//! Namespace files: mounts, one `[[mount]]` each, in the order in which they are mounted.
//!
//! What always holds: an error names the file, the line and what is wrong. A key that is not known
//! is an error.

use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use pathwalk::{IdExtent, IdMap, Recursion};
use pathwalk_bench::machine::escaped;
use serde::Deserialize;
use toml::Spanned;

use super::options::{Memory, Of, Options};
use super::source;
use super::tree::{From, Part};

/// A file.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct File {
    /// Options of the whole.
    options: Option<Spanned<String>>,
    #[serde(default)]
    mount: Vec<Spanned<Entry>>,
}

/// A mount.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The mount point.
    at: String,
    /// `mem`, or `host:DIR` with a directory that may be relative to that of the file.
    source: Option<String>,
    /// Another path of the tree, in the place of a source.
    bind: Option<String>,
    /// Whether mounts below that path are bound, too.
    #[serde(default)]
    recursive: bool,
    options: Option<String>,
    uids: Option<Vec<Extent>>,
    gids: Option<Vec<Extent>>,
}

/// A range of ids that is mapped.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Extent {
    /// The first id as the source stores it.
    inside: u32,
    /// The first id as it is seen.
    outside: u32,
    length: u32,
}

/// Reads the file at a path. Options of the file are read before those of the command line.
pub(super) fn parts(path: &Path, options: &mut Options) -> anyhow::Result<Vec<Part>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading the namespace \"{}\"", escaped(path)))?;
    let dir = path.parent().unwrap_or(Path::new(""));
    read(&text, dir, options).with_context(|| format!("the namespace \"{}\"", escaped(path)))
}

fn read(text: &str, dir: &Path, options: &mut Options) -> anyhow::Result<Vec<Part>> {
    let file: File = toml::from_str(text).map_err(|error| match error.span() {
        Some(span) => anyhow!("line {}: {}", line(text, span.start), error.message()),
        None => anyhow!("{}", error.message()),
    })?;
    if options.mode.is_some() || options.memory != Memory::default() {
        bail!("of the options given with -o, those of one source belong into the file, to its mount");
    }
    if let Some(words) = &file.options {
        let own = format!("{},{}", words.get_ref(), options.given);
        *options = Options::default();
        options.read(&own, Of::Whole).with_context(|| format!("line {}", line(text, words.span().start)))?;
    }
    let mut parts: Vec<Part> = Vec::new();
    for entry in &file.mount {
        let at = line(text, entry.span().start);
        let part = part(entry.get_ref(), dir).with_context(|| format!("line {at}"))?;
        if parts.iter().any(|before| before.at == part.at) {
            bail!("line {at}: there are two mounts at \"{}\"", part.at);
        }
        parts.push(part);
    }
    match parts.iter().position(|part| part.at == "/") {
        Some(0) => Ok(parts),
        Some(_) => bail!("the mount at \"/\" has to be the first one, since it hides those before it"),
        None if parts.is_empty() => bail!("it lists no mounts: begin with [[mount]], at = \"/\" and source = \"mem\""),
        None => {
            let root = Options { read_only: true, ..Options::default() };
            parts.insert(0, Part { at: "/".into(), from: From::Memory, options: root, map: None });
            Ok(parts)
        }
    }
}

fn part(entry: &Entry, dir: &Path) -> anyhow::Result<Part> {
    let at = place(&entry.at).with_context(|| format!("at = \"{}\"", entry.at.escape_debug()))?;
    let how = if entry.recursive { Recursion::Recursive } else { Recursion::Alone };
    let from = match (&entry.source, &entry.bind) {
        (Some(source), None) if how == Recursion::Alone => {
            let from = source::one(source.as_bytes(), dir);
            from.with_context(|| format!("there is no source \"{}\": it is mem or host:DIR", source.escape_debug()))?
        }
        (Some(_), None) => bail!("\"recursive\" is for a bind"),
        (None, Some(path)) => From::Bind { path: place(path).context("bind")?, how },
        (Some(_), Some(_)) => bail!("a mount has a \"source\" or a \"bind\", not both"),
        (None, None) => bail!("the mount lacks its \"source\": {}", source::FORMS),
    };
    let mut options = Options::default();
    options.read(entry.options.as_deref().unwrap_or_default(), Of::Part)?;
    let part = Part { at, from, options, map: map(entry)? };
    part.check()?;
    Ok(part)
}

/// Returns a path in the form of [`Part::at`].
fn place(path: &str) -> anyhow::Result<String> {
    if !path.starts_with('/') {
        bail!("it begins with /");
    }
    let components: Vec<&str> = path.split('/').filter(|component| !component.is_empty()).collect();
    if components.iter().any(|component| matches!(*component, "." | "..")) {
        bail!("it has neither . nor ..");
    }
    Ok(format!("/{}", components.join("/")))
}

fn map(entry: &Entry) -> anyhow::Result<Option<IdMap>> {
    let extents = |of: &[Extent]| -> Vec<IdExtent> {
        of.iter().map(|of| IdExtent { inside: of.inside, outside: of.outside, length: of.length }).collect()
    };
    match (&entry.uids, &entry.gids) {
        (None, None) => Ok(None),
        (Some(uids), Some(gids)) => Ok(Some(IdMap::new(&extents(uids), &extents(gids))?)),
        _ => bail!("ids are mapped by \"uids\" and \"gids\" together"),
    }
}

/// Returns the line of a place in the text, counted from 1.
fn line(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> anyhow::Result<Vec<Part>> {
        read(text, Path::new("/files"), &mut Options::default())
    }

    #[test]
    fn a_file_lists_mounts_in_order() {
        let parts = parsed(
            "[[mount]]\nat = '/'\nsource = 'mem'\noptions = 'size=1M'\n\
             [[mount]]\nat = '//src/'\nsource = 'host:src'\noptions = 'ro,coherence=ttl'\n\
             [[mount]]\nat = '/bound'\nbind = '/src'\nrecursive = true\n\
             [[mount]]\nat = '/guest'\nsource = 'mem'\n\
             uids = [{ inside = 0, outside = 1000, length = 1 }]\ngids = [{ inside = 0, outside = 1000, length = 1 }]\n",
        )
        .unwrap();
        assert_eq!(parts[1].from, From::Host("/files/src".into()));
        assert_eq!((&*parts[1].at, parts[1].options.read_only), ("/src", true));
        assert_eq!(parts[2].from, From::Bind { path: "/src".into(), how: Recursion::Recursive });
        assert_eq!(parts[3].map.as_ref().unwrap().seen_uid(0), Some(1000));
    }

    #[test]
    fn without_a_root_there_is_an_empty_one() {
        let parts = parsed("[[mount]]\nat = '/a'\nsource = 'mem'\n").unwrap();
        assert_eq!((&*parts[0].at, parts[0].options.read_only, parts.len()), ("/", true, 2));
    }

    #[test]
    fn options_of_the_command_line_come_after_those_of_the_file() {
        let mut options = Options::default();
        options.read("nodev,budget=1M", Of::Whole).unwrap();
        read("options = 'dev,suid'\n[[mount]]\nat = '/'\nsource = 'mem'\n", Path::new(""), &mut options).unwrap();
        assert_eq!((options.dev, options.suid, options.budget), (false, true, Some(1 << 20)));
    }

    #[test]
    fn errors_name_the_line() {
        let mount = "[[mount]]\nat = '/'\n";
        for (text, says) in [
            ("", "it lists no mounts"),
            ("x = 1\n", "line 1: unknown field `x`"),
            ("[[mount]]\nat = '/'\nsource = 'mem'\nsoruce = 1\n", "line 4: unknown field `soruce`"),
            ("[[mount]\n", "line 1: "),
            ("[[mount]]\nsource = 'mem'\n", "line 1: missing field `at`"),
            (mount, "line 1: the mount lacks its \"source\""),
            ("options = 'frob'\n", "line 1: there is no option \"frob\""),
            ("\n[[mount]]\nat = 'x'\nsource = 'mem'\n", "line 2: at = \"x\": it begins with /"),
            ("[[mount]]\nat = '/a/../b'\nsource = 'mem'\n", "neither . nor .."),
            ("[[mount]]\nat = '/'\nsource = '/srv'\n", "there is no source \"/srv\": it is mem or host:DIR"),
            ("[[mount]]\nat = '/'\nsource = 'mem'\nbind = '/a'\n", "not both"),
            ("[[mount]]\nat = '/'\nsource = 'mem'\nrecursive = true\n", "for a bind"),
            ("[[mount]]\nat = '/'\nsource = 'mem'\noptions = 'coherence=ttl'\n", "is for host:DIR"),
            ("[[mount]]\nat = '/'\nsource = 'mem'\noptions = 'noexec'\n", "give it with -o"),
            ("[[mount]]\nat = '/'\nsource = 'host:/'\noptions = 'size=1'\n", "are for mem"),
            ("[[mount]]\nat = '/'\nsource = 'mem'\nuids = []\n", "together"),
            ("[[mount]]\nat = '/a'\nbind = '/b'\noptions = 'coherence=ttl'\n", "line 1: the option \"coherence\" is for"),
            ("[[mount]]\nat = '/a'\nbind = '/b'\noptions = 'size=1'\n", "are for mem"),
            ("[[mount]]\nat = '/'\nsource = 'mem'\nuids = []\ngids = []\n", "making a map of user ids"),
            ("[[mount]]\nat = '/a'\nsource = 'mem'\n[[mount]]\nat = '/a/'\nsource = 'mem'\n", "line 4: there are two mounts"),
            ("[[mount]]\nat = '/a'\nsource = 'mem'\n[[mount]]\nat = '/'\nsource = 'mem'\n", "has to be the first"),
        ] {
            let error = format!("{:#}", parsed(text).unwrap_err());
            assert!(error.contains(says), "{text}: {error}");
        }
        let mut options = Options::default();
        options.read("size=1", Of::Whole).unwrap();
        assert!(read(mount, Path::new(""), &mut options).unwrap_err().to_string().contains("belong into the file"));
    }
}
