//! Unix sockets that are bound to a node, and connections to them. All that are bound take
//! datagrams; no data is sent.
//!
//! Source: `unix_bind_bsd` and `unix_find_bsd` of Linux.

use crate::Model;
use crate::create::Making;
use crate::errno::{Errno, Result};
use crate::flags::Access;
use crate::node::{Body, Id, Special};
use crate::permission::{may_create, permission};
use crate::process::Process;
use crate::walk::{Empty, Follow};

/// The type of a socket that connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SocketKind {
    /// `SOCK_DGRAM`.
    Datagram,
    /// `SOCK_STREAM`.
    Stream,
}

impl Model {
    /// Makes a node at a path from the working directory and binds a socket to it, as `bind` does.
    /// Returns the node, for [`unbind`](Self::unbind).
    pub fn bind(&self, process: &mut Process, path: &[u8]) -> Result<Id> {
        let mut call = self.call(process);
        let taken = |errno| if errno == Errno::EEXIST { Errno::EADDRINUSE } else { errno };
        let (directory, name) = call.free_name(crate::AT_FDCWD, path, Making::Other).map_err(taken)?;
        may_create(&call.state, call.who(), directory)?;
        let body = Body::Special { kind: Special::Socket, device: 0, links: 1 };
        // The umask applies before a default list is looked for, which replaces it elsewhere.
        let mode = 0o777 & !call.process.umask;
        let node = call.make(directory, &name, body, mode)?;
        call.state.pin(node);
        call.state.bound.insert(node);
        Ok(node)
    }

    /// Closes a socket that was bound to a node.
    pub fn unbind(&self, node: Id) {
        let mut state = self.state.lock();
        if state.bound.remove(&node) {
            state.unpin(node);
        }
    }

    /// Connects to the socket that is bound to the node at a path, as `connect` does.
    pub fn connect(&self, process: &mut Process, path: &[u8], kind: SocketKind) -> Result<()> {
        let call = self.call(process);
        let node = call.lookup(crate::AT_FDCWD, path, Follow::Links, Empty::Refused)?;
        permission(call.state.node(node), call.who(), Access::WRITE)?;
        if !call.state.bound.contains(&node) {
            return Err(Errno::ECONNREFUSED);
        }
        if kind != SocketKind::Datagram {
            return Err(Errno::EPROTOTYPE);
        }
        call.access(node);
        Ok(())
    }
}
