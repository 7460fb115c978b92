//! What is bound to sockets: values of any type, by the node of the socket.
//!
//! What always holds: the binder has a pin on the node, so its key belongs to no other node while
//! something is bound. An endpoint is dropped without the lock.

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;

use super::words::SpecialNode;
use crate::Errno;
use crate::sync::Mutex;

/// A value that is bound to a socket.
pub(crate) type Endpoint = Arc<dyn Any + Send + Sync>;

/// The endpoints, by their nodes. Linux: `bsd_socket_buckets`.
#[derive(Default)]
pub(crate) struct Endpoints {
    /// Above nothing.
    bound: Mutex<HashMap<SpecialNode, Endpoint>>,
}

impl Endpoints {
    /// Binds an endpoint to a node that was made for it.
    pub(crate) fn bind(&self, node: SpecialNode, endpoint: Endpoint) {
        let before = self.bound.lock().insert(node, endpoint);
        drop(before);
    }

    /// Removes the endpoint of a node.
    pub(crate) fn unbind(&self, node: SpecialNode) {
        let bound = self.bound.lock().remove(&node);
        drop(bound);
    }

    /// Returns the endpoint of a node: `ECONNREFUSED` if it has none.
    pub(crate) fn find(&self, node: SpecialNode) -> Result<Endpoint, Errno> {
        self.bound.lock().get(&node).cloned().ok_or(Errno::ECONNREFUSED)
    }
}
