//! The operations of scenes and rows, and their text form.
//!
//! What always holds: an operation is one line of words, and its first word determines the number
//! of the others. A path that begins with `@` starts at the file that the scene holds open under
//! that name.

use anyhow::{Context as _, Result, bail, ensure};
use pathwalk::{Access, LinkFlags, MountFlags, OpenFlags, Propagation, Recursion, RenameFlags, UmountFlags};
use xtask::read_flags;

/// A path, and its starting point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Spot {
    /// A path from the starting point of the row.
    Path(String),
    /// A path from a held file; an empty path means that file itself.
    Held(String, String),
}

/// An operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    // Questions.
    Open(OpenFlags, Spot),
    Stat(Spot),
    Lstat(Spot),
    Access(Access, Spot),
    Readlink(Spot),
    // Changes of names.
    Mkdir(Spot),
    File(Spot),
    Device(Spot),
    Pipe(Spot),
    Symlink(Spot, String),
    Unlink(Spot),
    Rmdir(Spot),
    Rename(RenameFlags, Spot, Spot),
    Link(LinkFlags, Spot, Spot),
    Chmod(Spot),
    /// `chmod(2)` with this mode.
    Mode(u16, Spot),
    Chown(Spot),
    Truncate(Spot),
    /// `utimensat(2)`, with the current time or with another.
    Touch(Spot),
    SetTimes(Spot),
    // Changes of mounts.
    Mount(MountFlags, Spot),
    Bind(Recursion, Spot, Spot),
    /// The move of a mount, beneath the one at the target or onto it.
    Move(Layer, Spot, Spot),
    Umount(UmountFlags, Spot),
    Remount(MountFlags, Spot),
    Set(Recursion, MountFlags, Spot),
    Clear(Recursion, MountFlags, Spot),
    Propagate(Propagation, Spot),
    Pivot(Spot, Spot),
    // Files that are held open under a name, and the caller.
    Tree(String),
    Clone(String, Recursion, Spot),
    Hold(String, Spot),
    Keep(String, OpenFlags, Spot),
    Close(String),
    Unshare,
    Chdir(Spot),
    Chroot(Spot),
    /// The caller's change to this user, of the group of the same number, without capabilities.
    User(u32),
    /// The caller's loss of all capabilities.
    Powerless,
}

/// The position of a moved mount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layer {
    On,
    Beneath,
}

/// The contents of an operation's answer; it also determines which operations may have rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// An operation that changes nothing: the answer is the node that was found.
    Question,
    /// An operation that makes or removes a name: the answer is its directory.
    Names,
    /// An operation that changes a node.
    Node,
    /// An operation that changes mounts: the answer is a list of all mounts.
    Mounts,
    /// An operation that holds a file open, or changes the caller's place: the answer is the node.
    Caller,
}

impl Spot {
    fn read(word: &str) -> Spot {
        match word.strip_prefix('@') {
            Some(held) => match held.split_once('/') {
                Some((name, path)) => Spot::Held(name.into(), path.into()),
                None => Spot::Held(held.into(), String::new()),
            },
            None if word == "\"\"" => Spot::Path(String::new()),
            None => Spot::Path(lengthened(word)),
        }
    }

    fn text(&self) -> &str {
        match self {
            Spot::Path(path) | Spot::Held(_, path) => path,
        }
    }

    fn with(&self, path: &str) -> Spot {
        match self {
            Spot::Path(_) => Spot::Path(path.into()),
            Spot::Held(name, _) => Spot::Held(name.clone(), path.into()),
        }
    }

    /// Returns the directory of the last component, and that component; none if the component is no
    /// name.
    pub(crate) fn split(&self) -> Option<(Spot, &str)> {
        let path = self.text();
        let at = path.rfind('/').map_or(0, |slash| slash + 1);
        let (way, name) = path.split_at(at);
        let is_name = !matches!(name, "" | "." | "..");
        is_name.then(|| (self.with(if way.is_empty() { "." } else { way }), name))
    }
}

/// Returns a path in which `{NUMBER}` is replaced by that many letters.
fn lengthened(word: &str) -> String {
    let parts = word.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)));
    let Some((before, (number, behind))) = parts else { return word.into() };
    number.parse().map_or_else(|_| word.into(), |count| format!("{before}{}{behind}", "n".repeat(count)))
}

fn recursion(word: &str) -> Result<Recursion> {
    Ok(match word {
        "-" => Recursion::Alone,
        "RECURSIVE" => Recursion::Recursive,
        _ => bail!("`{word}` is neither - nor RECURSIVE"),
    })
}

fn layer(word: &str) -> Result<Layer> {
    Ok(match word {
        "-" => Layer::On,
        "BENEATH" => Layer::Beneath,
        _ => bail!("`{word}` is neither - nor BENEATH"),
    })
}

fn propagation(word: &str) -> Option<Propagation> {
    Some(match word {
        "share" => Propagation::Shared,
        "slave" => Propagation::Slave,
        "private" => Propagation::Private,
        "unbindable" => Propagation::Unbindable,
        _ => return None,
    })
}

impl Op {
    /// Reads an operation. `name` is the name under which its result is held.
    pub(crate) fn read(words: &[&str], name: Option<&str>) -> Result<Op> {
        let op = Op::read_any(words, name)?;
        op.check_entered()?;
        Ok(op)
    }

    fn read_any(words: &[&str], name: Option<&str>) -> Result<Op> {
        let spot = Spot::read;
        let held = || name.unwrap_or("held").to_string();
        Ok(match *words {
            ["open", flags, path] => Op::Open(read_flags(flags)?, spot(path)),
            ["stat", path] => Op::Stat(spot(path)),
            ["lstat", path] => Op::Lstat(spot(path)),
            ["access", want, path] => Op::Access(read_flags(want)?, spot(path)),
            ["readlink", path] => Op::Readlink(spot(path)),
            ["mkdir", path] => Op::Mkdir(spot(path)),
            ["file", path] => Op::File(spot(path)),
            ["device", path] => Op::Device(spot(path)),
            ["pipe", path] => Op::Pipe(spot(path)),
            ["symlink", path, body] => Op::Symlink(spot(path), body.into()),
            ["unlink", path] => Op::Unlink(spot(path)),
            ["rmdir", path] => Op::Rmdir(spot(path)),
            ["rename", flags, from, to] => Op::Rename(read_flags(flags)?, spot(from), spot(to)),
            ["link", flags, from, to] => Op::Link(read_flags(flags)?, spot(from), spot(to)),
            ["chmod", path] => Op::Chmod(spot(path)),
            ["mode", mode, path] => Op::Mode(u16::from_str_radix(mode, 8)?, spot(path)),
            ["chown", path] => Op::Chown(spot(path)),
            ["truncate", path] => Op::Truncate(spot(path)),
            ["touch", path] => Op::Touch(spot(path)),
            ["set-times", path] => Op::SetTimes(spot(path)),
            ["mount", flags, path] => Op::Mount(read_flags(flags)?, spot(path)),
            ["bind", how, from, to] => Op::Bind(recursion(how)?, spot(from), spot(to)),
            ["move", how, from, to] => Op::Move(layer(how)?, spot(from), spot(to)),
            ["umount", flags, path] => Op::Umount(read_flags(flags)?, spot(path)),
            ["remount", flags, path] => Op::Remount(read_flags(flags)?, spot(path)),
            ["user", id] => Op::User(id.parse()?),
            ["powerless"] => Op::Powerless,
            ["set", how, flags, path] => Op::Set(recursion(how)?, read_flags(flags)?, spot(path)),
            ["clear", how, flags, path] => Op::Clear(recursion(how)?, read_flags(flags)?, spot(path)),
            ["pivot", new, old] => Op::Pivot(spot(new), spot(old)),
            ["tree"] => Op::Tree(held()),
            ["clone", how, path] => Op::Clone(held(), recursion(how)?, spot(path)),
            ["hold", path] => Op::Hold(held(), spot(path)),
            ["keep", flags, path] => Op::Keep(held(), read_flags(flags)?, spot(path)),
            ["close", held] => Op::Close(held.trim_start_matches('@').into()),
            ["unshare"] => Op::Unshare,
            ["chdir", path] => Op::Chdir(spot(path)),
            ["chroot", path] => Op::Chroot(spot(path)),
            [word, path] => Op::Propagate(propagation(word).with_context(|| unknown(words))?, spot(path)),
            _ => bail!(unknown(words)),
        })
    }

    pub(crate) fn kind(&self) -> Kind {
        match self {
            Op::Open(flags, _) if flags.intersects(OpenFlags::CREATE | OpenFlags::TRUNCATE | OpenFlags::TMPFILE) => Kind::Node,
            Op::Open(..) | Op::Stat(_) | Op::Lstat(_) | Op::Access(..) | Op::Readlink(_) => Kind::Question,
            Op::Mkdir(_) | Op::File(_) | Op::Device(_) | Op::Pipe(_) | Op::Symlink(..) => Kind::Names,
            Op::Unlink(_) | Op::Rmdir(_) | Op::Rename(..) | Op::Link(..) => Kind::Names,
            Op::Chmod(_) | Op::Mode(..) | Op::Chown(_) | Op::Truncate(_) | Op::Touch(_) | Op::SetTimes(_) => Kind::Node,
            Op::Mount(..) | Op::Bind(..) | Op::Move(..) | Op::Umount(..) | Op::Remount(..) => Kind::Mounts,
            Op::Set(..) | Op::Clear(..) | Op::Propagate(..) | Op::Pivot(..) | Op::Unshare => Kind::Mounts,
            Op::Tree(_) | Op::Clone(..) | Op::Hold(..) | Op::Keep(..) | Op::Close(_) => Kind::Caller,
            Op::Chdir(_) | Op::Chroot(_) | Op::User(_) | Op::Powerless => Kind::Caller,
        }
    }

    /// Returns the paths of the operation: last that of the name that it makes or removes.
    pub(crate) fn spots(&self) -> Vec<&Spot> {
        match self {
            Op::Open(_, at) | Op::Access(_, at) | Op::Mount(_, at) | Op::Umount(_, at) | Op::Propagate(_, at) => vec![at],
            Op::Stat(at) | Op::Lstat(at) | Op::Readlink(at) | Op::Mkdir(at) | Op::File(at) | Op::Device(at) => vec![at],
            Op::Symlink(at, _) | Op::Unlink(at) | Op::Rmdir(at) | Op::Chmod(at) | Op::Clone(_, _, at) => vec![at],
            Op::Set(_, _, at) | Op::Clear(_, _, at) | Op::Hold(_, at) | Op::Keep(_, _, at) | Op::Chdir(at) | Op::Chroot(at) => {
                vec![at]
            }
            Op::Pipe(at) | Op::Mode(_, at) | Op::Chown(at) | Op::Truncate(at) | Op::Touch(at) | Op::SetTimes(at) => vec![at],
            Op::Remount(_, at) => vec![at],
            Op::Rename(_, from, to) | Op::Link(_, from, to) | Op::Bind(_, from, to) | Op::Move(_, from, to) => vec![from, to],
            Op::Pivot(new, old) => vec![new, old],
            Op::Tree(_) | Op::Close(_) | Op::Unshare | Op::User(_) | Op::Powerless => Vec::new(),
        }
    }

    /// Fails where the kernel's call takes no descriptor, so that a held directory has to be
    /// entered and another relative path would start there too.
    fn check_entered(&self) -> Result<()> {
        if matches!(self, Op::Bind(..) | Op::Pivot(..)) {
            let spots = self.spots();
            let is_held = spots.iter().any(|spot| matches!(spot, Spot::Held(..)));
            let is_relative = spots.iter().any(|spot| matches!(spot, Spot::Path(path) if !path.starts_with('/')));
            ensure!(!(is_held && is_relative), "beside what is held, a path has to be absolute");
        }
        Ok(())
    }

    /// Fails where the kernel has no answer by rules: for operations that are no questions, unless
    /// they use the directory of a plain last name.
    pub(crate) fn check_by_rules(&self) -> Result<()> {
        match self.kind() {
            Kind::Question => Ok(()),
            Kind::Node if matches!(self, Op::Open(..)) => Ok(()),
            Kind::Names => {
                let all_plain = self.spots().iter().all(|spot| spot.split().is_some());
                ensure!(all_plain, "by rules, the last component has to be a name without a slash behind it");
                Ok(())
            }
            _ => bail!("the kernel has no rules for this operation"),
        }
    }
}

fn unknown(words: &[&str]) -> String {
    format!("no operation is written `{}`", words.join(" "))
}
