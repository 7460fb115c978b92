//! Sockets of a [`Context`]: values that are found by a path.

use std::any::Any;
use std::sync::Arc;

use super::{AsPath, At, Context};
use crate::abi::AtFlags;
use crate::handle::Handle;
use crate::ops::{Way, connect, healed};
use crate::special::endpoints::Endpoint;
use crate::{Errno, ops};

/// The binding of an endpoint to a socket. Made by [`Context::bind_socket`]. When it is dropped, a
/// [`connect_socket`](Context::connect_socket) is refused; the node stays, as on Linux, and is to be unlinked.
///
/// It holds the socket's node, so it keeps its mount busy, and the endpoint.
///
/// ```
/// use std::sync::Arc;
/// use pathwalk::{Credentials, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let bound = context.bind_socket("/socket", Arc::new("service"))?;
/// assert_eq!(bound.handle().path()?, b"/socket");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "the endpoint is unbound when this is dropped"]
pub struct Bound(Handle);

impl Bound {
    /// Returns a handle on the socket, whose path is [`Handle::path`].
    ///
    /// [`Bound`] has an example.
    pub fn handle(&self) -> &Handle {
        &self.0
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        let node = ops::connect::special_node(self.0.world(), self.0.place());
        self.0.world().special.endpoints.unbind(node);
    }
}

/// # Sockets
///
/// What is behind a socket is any value, such as the sender of a channel. No data passes through
/// the engine: it makes the name, checks the rights, and finds the value.
///
/// ```
/// use std::sync::{Arc, mpsc};
/// use pathwalk::{Credentials, Errno, Vfs};
/// # let context = Vfs::builder().build(pathwalk_memfs::MemFs::new())?.context(Credentials::root());
/// let (sender, requests) = mpsc::channel::<&str>();
/// let bound = context.bind_socket("/log.sock", Arc::new(sender))?;
/// assert_eq!(bound.handle().path()?, b"/log.sock");
/// assert_eq!(context.bind_socket("/log.sock", Arc::new(())).unwrap_err(), Errno::EADDRINUSE);
///
/// let log = context.connect_socket::<mpsc::Sender<&str>>("/log.sock")?;
/// log.send("hello")?;
/// assert_eq!(requests.recv()?, "hello");
///
/// // The socket has mode 0777, less the umask, and to connect needs the right to write.
/// let user = context.clone().with_credentials(Credentials::user(1000, 1000, &[]));
/// assert_eq!(user.connect_socket::<mpsc::Sender<&str>>("/log.sock").unwrap_err(), Errno::EACCES);
/// assert_eq!(context.connect_socket::<String>("/log.sock").unwrap_err(), Errno::EPROTOTYPE);
/// drop(bound);
/// assert_eq!(context.connect_socket::<mpsc::Sender<&str>>("/log.sock").unwrap_err(), Errno::ECONNREFUSED);
///
/// // The same from a starting point.
/// let _bound = context.bind_socket_at(context.root(), "other.sock", Arc::new(7))?;
/// assert_eq!(*context.connect_socket_at::<i32>(context.root(), "other.sock")?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl Context {
    /// Makes a socket and binds a value to it until the guard is dropped. The socket has mode 0777,
    /// less the umask. `EADDRINUSE` if the name exists, also as a link; else the errors of
    /// [`mknod`](Self::mknod). Source: `bind(2)`, `unix(7)`, with no limit on the path but
    /// [`PATH_MAX`](crate::limits::PATH_MAX).
    pub fn bind_socket<T: Any + Send + Sync>(&self, path: impl AsPath, endpoint: Arc<T>) -> Result<Bound, Errno> {
        self.bind_socket_at(At::Cwd, path, endpoint)
    }

    /// Does the same as [`bind_socket`](Self::bind_socket) from a starting point. Source: `bindat(2)`
    /// of FreeBSD.
    pub fn bind_socket_at<'a, T: Any + Send + Sync>(
        &self,
        at: impl Into<At<'a>>,
        path: impl AsPath,
        endpoint: Arc<T>,
    ) -> Result<Bound, Errno> {
        self.may_change()?;
        let (at, path) = (self.begin(at), path.path_bytes());
        let endpoint: Endpoint = endpoint;
        let node = healed(&self.asker, [Way::to_name(at, path)], || connect::bind(&self.asker, at, path, endpoint.clone()))?;
        Ok(Bound(Handle::from_pinned(self.vfs(), node)))
    }

    /// Returns the value that is bound to the socket at `path`, after links. The binder may unbind
    /// it at any time: the value stays as long as it is held here.
    ///
    /// `ECONNREFUSED` if nothing is bound there, or it is no socket; `EACCES` without the right to
    /// write to it; `EPROTOTYPE` if the value is of another type. Source: `connect(2)`, `unix(7)`.
    pub fn connect_socket<T: Any + Send + Sync>(&self, path: impl AsPath) -> Result<Arc<T>, Errno> {
        self.connect_socket_at(At::Cwd, path)
    }

    /// Does the same as [`connect_socket`](Self::connect_socket) from a starting point. Source:
    /// `connectat(2)` of FreeBSD.
    pub fn connect_socket_at<'a, T: Any + Send + Sync>(&self, at: impl Into<At<'a>>, path: impl AsPath) -> Result<Arc<T>, Errno> {
        self.may_change()?;
        let (at, path, flags) = (self.begin(at), path.path_bytes(), AtFlags::empty());
        healed(&self.asker, [Way::new(at, path, flags)], || connect::connect(&self.asker, at, path, flags))
    }
}
