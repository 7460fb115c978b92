//! `/dev` of the command: the nodes that every program may use, terminals of its own, and shared
//! memory of its own.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::io::{self, Errno};

use super::mounts;
use crate::error::{Failed, While};

/// The place.
pub(super) const DEV: &str = "/dev";

/// The nodes. By `fuse`, a `try` in a `try` mounts.
const NODES: [&str; 7] = ["null", "zero", "full", "random", "urandom", "tty", "fuse"];

/// Links as every system has them.
const LINKS: [(&str, &str); 6] = [
    ("ptmx", "pts/ptmx"),
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("core", "/proc/kcore"),
];

/// What of the old `/dev` is in the new one.
pub(super) struct Devices {
    nodes: Vec<(&'static str, OwnedFd)>,
    /// The terminal of the caller.
    console: Option<OwnedFd>,
}

impl Devices {
    /// Takes it, while the old one is there.
    pub(super) fn take() -> Devices {
        let node = |name: &'static str| Some((name, mounts::copy(&Path::new(DEV).join(name)).ok()?));
        let streams = [rustix::stdio::stdin(), rustix::stdio::stdout(), rustix::stdio::stderr()];
        let console = streams.into_iter().find(|stream| rustix::termios::isatty(stream));
        Devices {
            nodes: NODES.into_iter().filter_map(node).collect(),
            console: console.and_then(|stream| mounts::copy_of(stream).ok()),
        }
    }

    /// Fills the new one, which is mounted.
    pub(super) fn fill(self) -> Result<(), Failed> {
        let fill = || -> io::Result<()> {
            for (name, node) in &self.nodes {
                cover(&at(name), node)?;
            }
            if let Some(console) = &self.console {
                cover(&at("console"), console)?;
            }
            mount("pts", "devpts", &[("source", "devpts"), ("mode", "620"), ("ptmxmode", "666")])?;
            mount("shm", "tmpfs", &[("source", "shm"), ("mode", "1777")])?;
            LINKS.iter().try_for_each(|(name, to)| symlink(to, at(name)).map_err(number))
        };
        fill().doing("making /dev")
    }
}

fn at(name: &str) -> PathBuf {
    Path::new(DEV).join(name)
}

fn mount(name: &str, kind: &str, options: &[(&str, &str)]) -> io::Result<()> {
    fs::create_dir(at(name)).map_err(number)?;
    mounts::attach(mounts::make(kind, options)?.as_fd(), &at(name))
}

fn cover(path: &Path, by: &OwnedFd) -> io::Result<()> {
    fs::write(path, "").map_err(number)?;
    mounts::attach(by.as_fd(), path)
}

fn number(error: std::io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
