//! A socket for several clients at once, which its user alone may use.
//!
//! What always holds: nothing else can connect before the mode of the socket is set, and the socket
//! is removed at the end, unless the program is killed.

use std::io::{BufReader, ErrorKind};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, bail};
use pathwalk_bench::machine::escaped;
use rustix::fs::Mode;
use rustix::process::umask;

use super::client::Client;
use super::session::Session;

/// The socket.
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Makes it. One that a killed program has left is removed.
    pub(super) fn make(path: &Path) -> anyhow::Result<Socket> {
        let shown = escaped(path).to_string();
        let making = || format!("making the socket \"{shown}\"");
        match UnixStream::connect(path) {
            Ok(_) => bail!("the socket \"{shown}\" is that of another program: choose another path"),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path).with_context(making)?,
            Err(_) => {}
        }
        // There is one thread yet.
        let before = umask(Mode::from_raw_mode(0o177));
        let listener = UnixListener::bind(path);
        umask(before);
        Ok(Socket { listener: listener.with_context(making)?, path: path.canonicalize().with_context(making)? })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Serves clients, each in a thread.
    pub(super) fn serve(&self, session: &Arc<Session>) -> anyhow::Result<()> {
        for client in self.listener.incoming() {
            let client = client.context("waiting for clients")?;
            let Ok(output) = client.try_clone() else { continue };
            let session = Arc::clone(session);
            let serve = move || Client::new(&session, output).serve(BufReader::new(client));
            thread::Builder::new().name("client".into()).spawn(serve).context("starting a thread")?;
        }
        Ok(())
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
