//! The socket of a mount, through which other calls of the program ask for its statistics, and wait
//! for its end.
//!
//! It is named after the mount's device, in `/run/pathwalk` for root, and in a directory of the
//! user otherwise. A client sends the line `stats`, and gets a line of JSON, as often as it likes.
//! The connection is closed when the program ends.
//!
//! What always holds: only the user that mounted and root get an answer. No client waits for
//! another one.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Context as _, bail};
use pathwalk::Device;
use pathwalk_bench::machine::escaped;
use pathwalk_hostfs::mountinfo;
use rustix::net::sockopt::socket_peercred;
use rustix::process::{Uid, geteuid};
use serde_json::{Value, json};

/// The directory of root's sockets.
const OF_ROOT: &str = "/run/pathwalk";

/// The end of a socket's name.
const SUFFIX: &str = ".sock";

/// The request for statistics.
const STATS: &str = "stats";

/// What answers a request for statistics.
pub(crate) type Source = dyn Fn() -> anyhow::Result<Value> + Send + Sync;

/// A socket that is served. Its name is removed at the end.
pub(crate) struct Control {
    path: PathBuf,
}

impl Drop for Control {
    fn drop(&mut self) {
        // A name that stays is removed by the next mount or unmount.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Serves the socket of a mount, in threads.
pub(crate) fn serve(device: Device, source: Box<Source>) -> anyhow::Result<Control> {
    remove_dead();
    let mut why = None;
    for dir in own_dirs() {
        match listen(&dir, device) {
            Ok((listener, path)) => {
                let source: Arc<Source> = source.into();
                let accept = move || accept_all(&listener, &source);
                thread::Builder::new().name("control".into()).spawn(accept).context("starting a thread")?;
                return Ok(Control { path });
            }
            Err(error) => why = Some(error),
        }
    }
    Err(why.unwrap_or_else(|| anyhow::anyhow!("the variable XDG_RUNTIME_DIR is not set")))
}

/// Removes the sockets of this user's programs that were killed. They are of no device that is
/// mounted, and refuse connections. What cannot be removed stays.
pub(crate) fn remove_dead() {
    let mounted: Vec<String> = mountinfo::now().into_iter().map(|line| name(line.device)).collect();
    let entries = own_dirs().into_iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let is_socket = name.as_encoded_bytes().ends_with(SUFFIX.as_bytes());
        if !is_socket || mounted.iter().any(|of| **of == *name) {
            continue;
        }
        // A program in another mount namespace takes the connection.
        let refused = |error: std::io::Error| error.kind() == std::io::ErrorKind::ConnectionRefused;
        if UnixStream::connect(entry.path()).is_err_and(refused) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns the directories in which this user's sockets may be, the best one first.
fn own_dirs() -> Vec<PathBuf> {
    let of_user = || Some(PathBuf::from(format!("/run/user/{}", geteuid().as_raw()))).filter(|dir| dir.is_dir());
    let of_session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let of_root = geteuid().is_root().then(|| OF_ROOT.into());
    let below = of_session.or_else(of_user).map(|dir| dir.join("pathwalk"));
    of_root.into_iter().chain(below).collect()
}

fn listen(dir: &Path, device: Device) -> anyhow::Result<(UnixListener, PathBuf)> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o755).create(dir);
    made.with_context(|| format!("making \"{}\"", escaped(dir)))?;
    let path = dir.join(name(device));
    // That of a mount whose program was killed: the device of a mount is no other's.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).with_context(|| format!("binding \"{}\"", escaped(&path)))?;
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).context("setting the mode of the socket")?;
    Ok((listener, path))
}

fn name(device: Device) -> String {
    format!("{}-{}{SUFFIX}", device.major, device.minor)
}

fn accept_all(listener: &UnixListener, source: &Arc<Source>) {
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // No more descriptors, for example.
            thread::sleep(std::time::Duration::from_millis(100));
            continue;
        };
        let source = Arc::clone(source);
        let answer = move || answer_all(&stream, &*source);
        // Without a thread, the client sees the end of the connection.
        let _ = thread::Builder::new().name("control-client".into()).spawn(answer);
    }
}

/// Answers a client until it closes the connection.
fn answer_all(stream: &UnixStream, source: &Source) {
    let is_allowed = socket_peercred(stream).is_ok_and(|peer| peer.uid == Uid::ROOT || peer.uid == geteuid());
    let mut lines = BufReader::new(stream).lines();
    while let Some(Ok(line)) = lines.next() {
        let answer = match &*line {
            _ if !is_allowed => json!({ "error": "statistics are for the user that mounted, and for root" }),
            STATS => source().unwrap_or_else(|error| json!({ "error": format!("{error:#}") })),
            _ => json!({ "error": format!("the program has no answer to \"{}\"", line.escape_debug()) }),
        };
        let mut stream = stream;
        if writeln!(stream, "{answer}").is_err() {
            return;
        }
    }
}

/// A connection to the program of a mount.
pub(crate) struct Connection(BufReader<UnixStream>);

/// Connects to the program of a mount.
pub(crate) fn connect(device: Device) -> anyhow::Result<Connection> {
    let mut dirs = own_dirs();
    dirs.push(OF_ROOT.into());
    if geteuid().is_root() {
        let users = std::fs::read_dir("/run/user").into_iter().flatten().flatten();
        dirs.extend(users.map(|user| user.path().join("pathwalk")));
    }
    let mut why = None;
    for dir in dirs {
        match UnixStream::connect(dir.join(name(device))) {
            Ok(stream) => return Ok(Connection(BufReader::new(stream))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => why = Some(error),
        }
    }
    match why {
        Some(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            bail!("the program of the mount answers the user that mounted and root alone; become one of them")
        }
        Some(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            bail!("the program of the mount has ended; unmount it by pathwalk umount")
        }
        Some(error) => Err(error).context("connecting to the program of the mount"),
        None => bail!(
            "the program of the mount has no socket in {OF_ROOT} and $XDG_RUNTIME_DIR/pathwalk; \
             was it mounted by another program, or with another XDG_RUNTIME_DIR?"
        ),
    }
}

impl Connection {
    /// Asks for statistics. `None` if the program has ended.
    pub(crate) fn stats(&mut self) -> anyhow::Result<Option<Value>> {
        let mut line = String::new();
        let asked = writeln!(self.0.get_mut(), "{STATS}").and_then(|()| self.0.read_line(&mut line));
        match asked {
            Err(error) if !matches!(error.kind(), std::io::ErrorKind::BrokenPipe | std::io::ErrorKind::ConnectionReset) => {
                Err(error).context("asking the program of the mount")
            }
            Ok(1..) => {
                let value: Value = serde_json::from_str(&line).context("reading the answer of the mount's program")?;
                match value["error"].as_str() {
                    Some(error) => bail!("{error}"),
                    None => Ok(Some(value)),
                }
            }
            _ => Ok(None),
        }
    }

    /// Waits until the program has ended.
    pub(crate) fn wait_for_end(mut self) {
        let mut rest = String::new();
        while self.0.read_line(&mut rest).is_ok_and(|length| length > 0) {
            rest.clear();
        }
    }
}
