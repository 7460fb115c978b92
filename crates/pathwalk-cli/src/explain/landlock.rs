//! Rulesets as files give them, in the words of Landlock, and the rights that an access needs.
//!
//! A file is one ruleset. Its lines are `restrict RIGHTS`, which gives rights up everywhere, and
//! `allow RIGHTS PATH`, which keeps some of them beneath a path; a `#` begins a comment. Rights are
//! names of `LANDLOCK_ACCESS_FS_*` in small letters with dashes, separated by commas, or `all`.
//!
//! What it does not do: apply the rules. The engine's Landlock does, whose answers are the
//! kernel's.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use pathwalk::landlock::Ruleset;
use pathwalk::security::Rights;
use pathwalk::{Access, Context, FileType};

/// A ruleset as its file gives it.
#[derive(PartialEq, Eq, Debug)]
struct Rules {
    restricted: Rights,
    allowed: Vec<(Rights, PathBuf)>,
}

/// Restricts a context by the ruleset of each file, in this order. Paths in the files are looked up
/// by the context as it is before that.
pub(crate) fn restrict(context: &mut Context, files: &[PathBuf]) -> anyhow::Result<()> {
    let finder = context.clone();
    for file in files {
        let shown = file.display();
        let text = std::fs::read(file).with_context(|| format!("reading the ruleset \"{shown}\""))?;
        let rules = parse(&text).with_context(|| format!("reading the ruleset \"{shown}\""))?;
        let mut set = Ruleset::new(rules.restricted);
        for (rights, path) in &rules.allowed {
            let at = finder.lookup(path).with_context(|| format!("looking for {} of \"{shown}\"", path.display()))?;
            // A file has no rights of directories: the kernel takes no such rule.
            let fits = if at.kind() == FileType::Directory { *rights } else { *rights & Rights::OF_FILES };
            set = set.allow(&at, fits).with_context(|| {
                format!("allowing {} at {} by \"{shown}\"; a rule keeps what the file restricts", names(*rights), path.display())
            })?;
        }
        context.restrict(&set).with_context(|| format!("restricting by \"{shown}\"; there may be 16 rulesets"))?;
    }
    Ok(())
}

fn parse(text: &[u8]) -> anyhow::Result<Rules> {
    let mut rules = Rules { restricted: Rights::empty(), allowed: Vec::new() };
    for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
        if line.is_empty() {
            continue;
        }
        add(line, &mut rules).with_context(|| format!("line {}", number + 1))?;
    }
    if rules.restricted.is_empty() {
        bail!("it restricts nothing: add a line like \"restrict all\"");
    }
    // `all` in a rule means all that the file restricts.
    let restricted = rules.restricted;
    rules.allowed.iter_mut().filter(|(rights, _)| rights.is_all()).for_each(|(rights, _)| *rights = restricted);
    Ok(rules)
}

fn add(line: &[u8], rules: &mut Rules) -> anyhow::Result<()> {
    let word = |text: &[u8]| -> (Vec<u8>, Vec<u8>) {
        let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
        (text[..end].to_vec(), text[end..].trim_ascii().to_vec())
    };
    let (verb, rest) = word(line);
    let (listed, path) = word(&rest);
    match &verb[..] {
        b"restrict" if path.is_empty() => rules.restricted |= rights(&listed)?,
        b"allow" if !path.is_empty() => {
            rules.allowed.push((rights(&listed)?, PathBuf::from(std::ffi::OsStr::from_bytes(&path))));
        }
        _ => bail!(
            "\"{}\" is neither \"restrict RIGHTS\" nor \"allow RIGHTS PATH\": write for example \"allow read-file,read-dir /usr\"",
            line.escape_ascii()
        ),
    }
    Ok(())
}

fn rights(text: &[u8]) -> anyhow::Result<Rights> {
    let mut all = Rights::empty();
    for name in text.split(|byte| *byte == b',') {
        let name = String::from_utf8_lossy(name);
        all |= match &*name {
            "all" => Rights::all(),
            name => Rights::from_name(&name.replace('-', "_").to_uppercase())
                .with_context(|| format!("\"{}\" is no right: there are {}", name.escape_debug(), names(Rights::all())))?,
        };
    }
    Ok(all)
}

/// Returns the names of rights, as files have them.
pub(crate) fn names(rights: Rights) -> String {
    rights.iter_names().map(|(name, _)| name.to_lowercase().replace('_', "-")).collect::<Vec<_>>().join(",")
}

/// Returns the rights that it takes for an access to a node of this type: to open a file, or to
/// execute it, which reads it; to list a directory, or to make a file in it. The search of a
/// directory takes none.
pub(crate) fn needed(kind: FileType, want: Access) -> Rights {
    let pairs = match kind {
        FileType::Directory => {
            [(Access::READ, Rights::READ_DIR), (Access::WRITE, Rights::MAKE_REG), (Access::EXECUTE, Rights::empty())]
        }
        FileType::Regular => [
            (Access::READ, Rights::READ_FILE),
            (Access::WRITE, Rights::WRITE_FILE),
            (Access::EXECUTE, Rights::EXECUTE | Rights::READ_FILE),
        ],
        _ => [(Access::READ, Rights::READ_FILE), (Access::WRITE, Rights::WRITE_FILE), (Access::EXECUTE, Rights::empty())],
    };
    pairs.into_iter().filter(|(one, _)| want.contains(*one)).fold(Rights::empty(), |all, (_, rights)| all | rights)
}

/// Returns the line that would grant a right at a path, for a file.
pub(crate) fn line(right: Rights, path: &Path) -> String {
    format!("allow {} {}", names(right), path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_ruleset() {
        let text =
            b"# all of it\nrestrict read-file,read-dir\nrestrict execute\n\n allow all /usr # and below\nallow read-file /a b\n";
        let restricted = Rights::READ_FILE | Rights::READ_DIR | Rights::EXECUTE;
        let allowed = vec![(restricted, "/usr".into()), (Rights::READ_FILE, "/a b".into())];
        assert_eq!(parse(text).unwrap(), Rules { restricted, allowed });
        assert_eq!(parse(b"restrict all").unwrap().restricted, Rights::all());
        assert_eq!(names(Rights::MAKE_REG | Rights::EXECUTE), "execute,make-reg");
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let told = |text: &[u8]| format!("{:#}", parse(text).unwrap_err());
        assert!(told(b"").contains("restrict all"));
        assert!(told(b"restrict all\nallow read /x").starts_with("line 2: \"read\" is no right"));
        for line in [&b"allow read-file"[..], b"deny all /x", b"restrict all /x"] {
            assert!(told(line).contains("neither"), "{}", line.escape_ascii());
        }
    }

    #[test]
    fn an_access_takes_the_rights_of_the_call_that_it_is_for() {
        assert_eq!(needed(FileType::Regular, Access::all()), Rights::READ_FILE | Rights::WRITE_FILE | Rights::EXECUTE);
        assert_eq!(needed(FileType::Directory, Access::EXECUTE), Rights::empty());
        assert_eq!(needed(FileType::Fifo, Access::READ), Rights::READ_FILE);
    }
}
