//! The branch of a `try`: one that was kept, a new one of a name that is given, or a new one of a
//! name that is made up.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::bail;
use pathwalk_branch::{Branches, Error, Fork};

use super::options::TryArgs;

/// The name for commands whose own name has no letters.
const NAMELESS: &str = "try";

/// The name for a server's branch.
const SERVED: &str = "served";

/// The branch.
pub(super) struct Chosen {
    pub(super) name: String,
    pub(super) origin: Origin,
}

/// Where a branch comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Origin {
    /// It was made for this command.
    New,
    /// It was there.
    Kept,
}

/// Finds the branch, or begins to make it.
pub(super) fn choose(args: &TryArgs, branches: &Branches) -> anyhow::Result<(Chosen, Fork)> {
    let of = args.fork_of.as_deref();
    let command = args.command.first().map_or(OsStr::new(SERVED), |command| command);
    let Some(name) = &args.branch else { return made_up(command, of, branches) };
    match branches.begin_fork(of, name) {
        Ok(branch) => Ok((Chosen { name: name.clone(), origin: Origin::New }, branch)),
        Err(Error::Exists(_)) if of.is_none() => {
            Ok((Chosen { name: name.clone(), origin: Origin::Kept }, branches.get(name)?.into()))
        }
        Err(Error::Exists(_)) => {
            bail!("there is a branch \"{name}\" already: leave --fork-of out to go on in it, or choose another name")
        }
        Err(error) => Err(error.into()),
    }
}

/// Begins to make a branch with the name of the command, and the first number that is free.
fn made_up(command: &OsStr, of: Option<&str>, branches: &Branches) -> anyhow::Result<(Chosen, Fork)> {
    let stem = stem(command);
    for number in 1.. {
        let name = format!("{stem}-{number}");
        match branches.begin_fork(of, &name) {
            Ok(branch) => return Ok((Chosen { name, origin: Origin::New }, branch)),
            Err(Error::Exists(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    bail!("all names \"{stem}-…\" are taken: name a branch by --branch")
}

fn stem(command: &OsStr) -> String {
    let name = Path::new(command).file_name().map(OsStr::to_string_lossy).unwrap_or_default();
    let name: String = name.chars().filter(|char| char.is_alphanumeric() || "._-".contains(*char)).take(40).collect();
    if name.chars().any(char::is_alphanumeric) { name } else { NAMELESS.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_commands() {
        let names = ["/usr/bin/make", "./a b.sh", "..", "", "/", "[", "é"].map(|name| stem(OsStr::new(name)));
        assert_eq!(names, ["make", "ab.sh", "try", "try", "try", "try", "é"]);
    }
}
