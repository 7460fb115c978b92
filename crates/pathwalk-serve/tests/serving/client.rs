//! A server with a tree, and requests byte by byte, because a client library would normalize the
//! path.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::Duration;

use pathwalk::Credentials;
use pathwalk_serve::{Limits, OneHop, Served, Site, TokioFs, serve};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The contents of every file outside of the root.
pub(crate) const SECRET: &str = "what lies outside";

/// The code that serves the files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum With {
    Pathwalk,
    TokioFs,
    OneHop,
}

impl With {
    pub(crate) const ALL: [With; 3] = [With::Pathwalk, With::TokioFs, With::OneHop];
}

/// A server in a thread of its own.
pub(crate) struct Server {
    address: SocketAddr,
    /// The runtime of the server, which ends when this is dropped.
    _runtime: Runtime,
}

/// An answer, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn text(&self) -> &str {
        str::from_utf8(&self.body).unwrap()
    }
}

impl Server {
    pub(crate) fn start(served: Served) -> Server {
        Server::within(served, Limits::default())
    }

    pub(crate) fn within(served: Served, limits: Limits) -> Server {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(serve(listener, served, limits));
        Server { address, _runtime: runtime }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Sends a request with the target unchanged, and returns the answer.
    pub(crate) fn ask(&self, method: &str, target: &str) -> Answer {
        let mut stream = self.connect();
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").expect("an answer with a head");
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Answer { status, head, body: bytes[end + 4..].to_vec() }
    }

    pub(crate) fn get(&self, target: &str) -> Answer {
        self.ask("GET", target)
    }
}

/// A directory with a root, and beside it files that must not be served.
pub(crate) struct World {
    dir: TempDir,
}

impl World {
    pub(crate) fn new() -> World {
        let world = World { dir: tempfile::tempdir().unwrap() };
        let root = world.root();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("docs")).unwrap();
        fs::create_dir_all(world.dir.path().join("etc")).unwrap();
        for name in ["passwd", "etc/passwd", "www-secret"] {
            fs::write(world.dir.path().join(name), SECRET).unwrap();
        }
        fs::write(root.join("a/b/page.html"), "<p>page</p>").unwrap();
        fs::write(root.join("a/with space.txt"), "spaced").unwrap();
        fs::write(root.join("docs/index.html"), "index").unwrap();
        fs::write(root.join("empty.css"), "").unwrap();
        symlink("a/b/page.html", root.join("way")).unwrap();
        let absolute = world.dir.path().join("passwd");
        for (body, name) in [
            (PathBuf::from("../passwd"), "out"),
            (PathBuf::from("../../../../../../../../etc/passwd"), "far-out"),
            (absolute, "absolute-out"),
            (PathBuf::from("/etc/passwd"), "etc-passwd"),
            (PathBuf::from(".."), "up"),
            (PathBuf::from("../.."), "a/up"),
            (PathBuf::from("../www-secret"), "a/b/beside"),
        ] {
            symlink(body, root.join(name)).unwrap();
        }
        world
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("www")
    }

    pub(crate) fn serve(&self, with: With) -> Server {
        let root = self.root();
        Server::start(match with {
            With::Pathwalk => Served::Pathwalk(Site::of_host(&root, Credentials::root(), 4 << 20).unwrap()),
            With::TokioFs => Served::TokioFs(TokioFs::new(&root).unwrap()),
            With::OneHop => Served::OneHop(OneHop::new(&root).unwrap()),
        })
    }
}
