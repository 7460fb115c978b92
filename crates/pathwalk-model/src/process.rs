//! The calling process.
//!
//! A [`Process`] is a plain value. A clone of it is a snapshot that belongs to a clone of the
//! model. A second process with the same descriptors comes from
//! [`Model::fork`](crate::Model::fork).

use std::collections::BTreeMap;

use crate::errno::{Errno, Result};
use crate::flags::Capabilities;
use crate::node::Id;

/// The number that is no user and no group: `(uid_t) -1`.
pub(crate) const NO_ID: u32 = u32::MAX;

/// The ids and capabilities of a process. Source: `credentials(7)`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Credentials {
    /// The real user, which `access` without `EACCESS` checks.
    pub uid: u32,
    /// The real group, which `access` without `EACCESS` checks.
    pub gid: u32,
    /// The user for all file operations.
    pub fsuid: u32,
    /// The group for all file operations.
    pub fsgid: u32,
    /// The supplementary groups, in any order.
    pub groups: Vec<u32>,
    /// The effective capabilities.
    pub effective: Capabilities,
    /// The permitted capabilities: `access` without `EACCESS` checks them if the real user is root.
    pub permitted: Capabilities,
}

impl Credentials {
    /// Returns the credentials of root, with all capabilities.
    pub fn root() -> Credentials {
        Credentials::user(0, 0, &[]).with_capabilities(Capabilities::all())
    }

    /// Returns the credentials of a user and a group, real and effective, without capabilities.
    pub fn user(uid: u32, gid: u32, groups: &[u32]) -> Credentials {
        let none = Capabilities::empty();
        Credentials { uid, gid, fsuid: uid, fsgid: gid, groups: groups.to_vec(), effective: none, permitted: none }
    }

    /// Returns the credentials with these capabilities, permitted and effective.
    pub fn with_capabilities(self, capabilities: Capabilities) -> Credentials {
        Credentials { effective: capabilities, permitted: capabilities, ..self }
    }

    /// Returns the credentials that `access` checks: the real user and group, with all permitted
    /// capabilities if that user is root, else with none.
    pub(crate) fn real(&self) -> Credentials {
        let effective = if self.uid == 0 { self.permitted } else { Capabilities::empty() };
        Credentials { fsuid: self.uid, fsgid: self.gid, effective, ..self.clone() }
    }

    pub(crate) fn in_group(&self, gid: u32) -> bool {
        self.fsgid == gid || self.groups.contains(&gid)
    }

    pub(crate) fn has(&self, capability: Capabilities) -> bool {
        self.effective.contains(capability)
    }
}

/// An identity that is equal for two moments of one process between which its credentials were not
/// set. The kernel compares addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CredentialsId {
    process: u32,
    set: u32,
}

/// A calling process: credentials, places, umask and descriptors.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Process {
    number: u32,
    made: u32,
    credentials: Credentials,
    credentials_set: u32,
    pub(crate) root: Id,
    pub(crate) cwd: Id,
    pub(crate) umask: u32,
    /// The open file of each descriptor.
    pub(crate) descriptors: BTreeMap<i32, Id>,
}

impl Process {
    pub(crate) fn new(number: u32, credentials: Credentials, at: Id) -> Process {
        let descriptors = BTreeMap::new();
        Process { number, made: 0, credentials, credentials_set: 0, root: at, cwd: at, umask: 0o022, descriptors }
    }

    /// Returns a copy with a number of its own.
    pub(crate) fn renumbered(&self, number: u32) -> Process {
        Process { number, made: 0, credentials_set: 0, ..self.clone() }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns the credentials.
    pub fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Sets the credentials. Descriptors opened before then count as opened by another process, and
    /// `linkat` refuses them. If the credentials are the same, nothing changes. (The kernel
    /// compares addresses: there, some of the calls that set the same credentials count as a
    /// change.)
    pub fn set_credentials(&mut self, credentials: Credentials) {
        if credentials != self.credentials {
            self.credentials = credentials;
            self.credentials_set += 1;
        }
    }

    /// Returns the permission bits that new nodes do not get.
    pub fn umask(&self) -> u32 {
        self.umask
    }

    /// Returns the node of the root directory.
    pub fn root(&self) -> Id {
        self.root
    }

    /// Returns the node of the working directory.
    pub fn cwd(&self) -> Id {
        self.cwd
    }

    /// Returns the numbers of open descriptors, ascending.
    pub fn descriptors(&self) -> impl Iterator<Item = i32> {
        self.descriptors.keys().copied()
    }

    pub(crate) fn credentials_id(&self) -> CredentialsId {
        CredentialsId { process: self.number, set: self.credentials_set }
    }

    /// Returns the identity of the next node or open file that this process makes.
    pub(crate) fn next_id(&mut self) -> Id {
        self.made += 1;
        Id { process: self.number, number: self.made }
    }

    pub(crate) fn open_file(&self, descriptor: i32) -> Result<Id> {
        self.descriptors.get(&descriptor).copied().ok_or(Errno::EBADF)
    }

    /// Returns the lowest free descriptor, from 0.
    pub(crate) fn free_descriptor(&self) -> i32 {
        (0..)
            .zip(self.descriptors.keys())
            .find(|&(free, &used)| free != used)
            .map_or(self.descriptors.len() as i32, |(free, _)| free)
    }
}
