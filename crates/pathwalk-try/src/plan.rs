//! What the inner process is to do, in the form in which it is sent there.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Caller, Trial};

/// The network of a command.
///
/// ```
/// use pathwalk_try::{Network, Trial};
/// let mut trial = Trial::new("/srv", ["make"]);
/// assert_eq!(trial.network, Network::Shared);
/// trial.network = Network::None;
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Network {
    /// That of the caller, without its abstract sockets.
    Shared,
    /// None but a loopback of its own.
    None,
}

/// What shows the branch to a command.
///
/// ```
/// use pathwalk_try::{Engine, Trial};
/// assert!(matches!(Trial::new("/srv", ["make"]).engine, Engine::Fuse));
/// ```
#[derive(Clone, Debug)]
pub enum Engine {
    /// FUSE, which the caller serves.
    Fuse,
    /// A layer of the kernel's overlayfs, in this directory. The inner process mounts it over the
    /// base, in its user namespace.
    Layer(PathBuf),
    /// A mount that the caller has made, and attached nowhere: one that takes the caller's rights.
    Mounted(Arc<OwnedFd>),
}

/// The source of the mount at the base.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Tree {
    Fuse,
    Layer(SentPath),
    /// The caller sends it.
    Mounted,
}

/// A path, which need not be text.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct SentPath(OsString);

impl SentPath {
    pub(crate) fn get(&self) -> &Path {
        Path::new(&self.0)
    }
}

impl From<&PathBuf> for SentPath {
    fn from(path: &PathBuf) -> SentPath {
        SentPath(path.clone().into_os_string())
    }
}

/// What the inner process is sent.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) base: SentPath,
    pub(crate) directory: SentPath,
    pub(crate) command: Vec<OsString>,
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) writable: Vec<SentPath>,
    pub(crate) read_only: Vec<SentPath>,
    pub(crate) hidden: Vec<SentPath>,
    pub(crate) private: Vec<SentPath>,
    pub(crate) network: Network,
    pub(crate) source: String,
    pub(crate) tree: Tree,
    pub(crate) mapping: Mapping,
    pub(crate) session: Session,
}

/// The session of the command.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Session {
    Callers,
    Own,
}

/// The process that maps ids into the user namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Mapping {
    /// The caller maps all ids that it has.
    All,
    /// The inner process maps its own user and group.
    Own,
}

impl Plan {
    pub(crate) fn of(trial: &Trial, mapping: Mapping) -> Plan {
        let paths = |paths: &[PathBuf]| paths.iter().map(SentPath::from).collect();
        Plan {
            base: SentPath::from(&trial.base),
            directory: SentPath::from(&trial.directory),
            command: trial.command.clone(),
            variables: trial.variables.clone(),
            writable: paths(&trial.writable),
            read_only: paths(&trial.read_only),
            hidden: paths(&trial.hidden),
            private: paths(&trial.private),
            network: trial.network,
            source: trial.source.clone(),
            tree: match &trial.engine {
                Engine::Fuse => Tree::Fuse,
                Engine::Layer(dir) => Tree::Layer(dir.into()),
                Engine::Mounted(_) => Tree::Mounted,
            },
            mapping,
            session: match &trial.caller {
                Caller::Shared => Session::Callers,
                Caller::Apart(_) => Session::Own,
            },
        }
    }
}
