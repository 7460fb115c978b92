//! The process that changes the tree. It is this test binary once more, which takes commands
//! through a socket.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fuzz::changes;

/// The variable that names the socket.
const SOCKET: &str = "PATHWALK_WATCH_SOCKET";

/// The other process.
pub(crate) struct Child {
    process: std::process::Child,
    stream: BufReader<UnixStream>,
}

impl Child {
    /// Starts it in a directory.
    pub(crate) fn start(root: &Path) -> Child {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child::process", "--nocapture"]).env(SOCKET, &socket).current_dir(root);
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
        let stream = BufReader::new(listener.accept().unwrap().0);
        Child { process, stream }
    }

    /// Has it do something, and returns once that is done.
    pub(crate) fn run(&mut self, command: &str) {
        let answer = self.ask(command);
        assert_eq!(answer, "ok", "{command}");
    }

    /// Has it do something, and returns what it says.
    pub(crate) fn ask(&mut self, command: &str) -> String {
        self.begin(command);
        self.end()
    }

    /// Has it do something at the same time.
    pub(crate) fn begin(&mut self, command: &str) {
        writeln!(self.stream.get_mut(), "{command}").unwrap();
    }

    /// Waits until it is done, and returns what it says.
    pub(crate) fn end(&mut self) -> String {
        let mut answer = String::new();
        self.stream.read_line(&mut answer).unwrap();
        answer.trim_end().to_owned()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        _ = self.stream.get_mut().shutdown(std::net::Shutdown::Both);
        _ = self.process.wait();
    }
}

/// The other process, if it is that. As a test, does nothing.
#[test]
fn process() {
    let Ok(socket) = std::env::var(SOCKET) else { return };
    let stream = UnixStream::connect(socket).unwrap();
    let mut answers = stream.try_clone().unwrap();
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { return };
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match carry_out(&words) {
            Ok(()) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        if writeln!(answers, "{answer}").is_err() {
            return;
        }
    }
}

fn carry_out(words: &[&str]) -> std::io::Result<()> {
    match *words {
        ["write", path, text] => fs::write(path, text),
        ["append", path, text] => fs::OpenOptions::new().append(true).open(path)?.write_all(text.as_bytes()),
        ["truncate", path, size] => fs::OpenOptions::new().write(true).open(path)?.set_len(size.parse().unwrap()),
        ["mkdir", path] => fs::create_dir_all(path),
        ["chmod", path, mode] => fs::set_permissions(path, fs::Permissions::from_mode(u32::from_str_radix(mode, 8).unwrap())),
        ["chown", path, id] => chown(path, Some(id.parse().unwrap()), Some(id.parse().unwrap())),
        ["utime", path, seconds] => {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.parse().unwrap());
            fs::File::open(path)?.set_modified(time)
        }
        ["rename", from, to] => fs::rename(from, to),
        ["exchange", from, to] => {
            Ok(rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, rustix::fs::RenameFlags::EXCHANGE)?)
        }
        ["link", from, to] => fs::hard_link(from, to),
        ["symlink", body, path] => symlink(body, path),
        ["unlink", path] => fs::remove_file(path),
        ["rmdir", path] => fs::remove_dir(path),
        ["rmall", path] => fs::remove_dir_all(path),
        ["xattr", path, value] => Ok(rustix::fs::setxattr(path, "user.test", value.as_bytes(), rustix::fs::XattrFlags::empty())?),
        ["changes", seed, count, links] => {
            changes(seed.parse().unwrap(), count.parse().unwrap(), links);
            Ok(())
        }
        _ => Err(std::io::Error::other(format!("no such command: {words:?}"))),
    }
}
