//! Tests of what clients cannot take: a connection forever, or more memory than their share.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use pathwalk::{Credentials, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_ring::Pool;
use pathwalk_serve::{Limits, Served, Site};

use crate::client::Server;

/// The length of a file that is larger than any socket's buffers.
const LONG: u64 = 1 << 30;

const NEVER: Duration = Duration::from_secs(600);
const SOON: Duration = Duration::from_millis(100);

fn site() -> (MemFs, Served) {
    let fs = MemFs::new();
    fs.file("/long", 0o644).unwrap();
    fs.truncate("/long", LONG).unwrap();
    fs.file("/short", 0o644).unwrap();
    fs.write("/short", 0, b"short").unwrap();
    let context = Vfs::builder().build(fs.alias()).unwrap().context(Credentials::root());
    (fs, Served::Pathwalk(Site::new(context, Pool::default()).unwrap()))
}

fn ask(stream: &mut TcpStream, target: &str) {
    write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
}

/// Reads up to the end of the connection. Returns the number of bytes.
fn rest(mut stream: TcpStream) -> u64 {
    let (mut buffer, mut all) = (vec![0; 1 << 16], 0);
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return all,
            Ok(length) => all += length as u64,
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return all,
            Err(error) => panic!("the connection is not closed: {error}"),
        }
    }
}

#[test]
fn a_head_that_does_not_come_ends_the_connection() {
    let limits = Limits { head: SOON, stall: NEVER, ..Limits::default() };
    let server = Server::within(site().1, limits);
    let silent = server.connect();
    let mut begun = server.connect();
    write!(begun, "GET /short HTTP/1.1\r\nHost: ").unwrap();
    let mut idle = server.connect();
    ask(&mut idle, "/short");
    rest(silent);
    rest(begun);
    assert!(rest(idle) > 0, "after an answer");
}

/// Tests a server with one place: the next client is served once the client that takes nothing is
/// disconnected.
#[test]
fn an_answer_that_is_not_taken_ends_the_connection() {
    let (fs, served) = site();
    let server = Server::within(served, Limits { head: NEVER, stall: SOON, connections: 1 });
    for _ in 0..3 {
        let mut stuck = server.connect();
        let before = fs.calls().read_at;
        ask(&mut stuck, "/long");
        assert_eq!(server.get("/short").text(), "short");
        let read = (fs.calls().read_at - before) * (64 << 10);
        assert!(read < LONG / 8, "{read} bytes were read for a client that takes none");
        assert!(rest(stuck) < LONG);
    }
}

#[test]
fn connections_beyond_the_limit_wait() {
    let server = Server::within(site().1, Limits { head: NEVER, stall: NEVER, connections: 1 });
    let mut first = server.connect();
    ask(&mut first, "/short");
    assert_ne!(first.read(&mut [0; 1]).unwrap(), 0, "it is served");
    let mut second = server.connect();
    ask(&mut second, "/short");
    second.set_read_timeout(Some(SOON)).unwrap();
    let waits = second.read(&mut [0; 1]).unwrap_err().kind();
    assert!(matches!(waits, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{waits}");
    drop(first);
    second.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    assert_ne!(second.read(&mut [0; 1]).unwrap(), 0, "it is served in its turn");
}
