//! Tests in which directories are moved in and out of the root while requests go through them: in
//! memory, through the same `Vfs`.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use pathwalk::{At, Context, Credentials, OpenFlags, OpenHow, RenameFlags, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_ring::Pool;
use pathwalk_serve::{Served, Site};

use crate::client::{SECRET, Server};

/// The number of requests of each client.
const REQUESTS: usize = 4000;
const INSIDE: &str = "what lies inside";

/// Creates the tree of which `/www` is served. `/www/d/e` is moved to `/out/e` and back. It
/// contains links that lead up. From `/out/e`, they lead outside.
fn world() -> Context {
    let fs = MemFs::new();
    for dir in ["/www/d/e/f", "/www/g", "/out/g"] {
        fs.mkdir_all(dir, 0o755).unwrap();
    }
    for (path, text) in [
        ("/www/d/e/f/page", INSIDE),
        ("/www/d/page", INSIDE),
        ("/www/page", INSIDE),
        ("/www/g/page", INSIDE),
        ("/page", SECRET),
        ("/out/page", SECRET),
        ("/out/g/page", SECRET),
    ] {
        fs.file(path, 0o644).unwrap();
        fs.write(path, 0, text.as_bytes()).unwrap();
    }
    for (path, body) in [
        ("/www/d/e/up", "../page"),
        ("/www/d/e/f/up", "../../page"),
        ("/www/d/e/f/far", "../../../../../page"),
        ("/www/d/e/aside", "../g"),
        ("/www/root", "/page"),
        ("/www/out", "../out/page"),
    ] {
        fs.symlink(body, path).unwrap();
    }
    Vfs::builder().build(fs).unwrap().context(Credentials::root())
}

fn site(context: &Context) -> Server {
    let mut context = context.clone();
    context.chroot("/www").unwrap();
    Server::start(Served::Pathwalk(Site::new(context, Pool::default()).unwrap()))
}

const TARGETS: [&str; 12] = [
    "/page",
    "/d/page",
    "/d/e/f/page",
    "/g/page",
    "/d/e/up",
    "/d/e/f/up",
    "/d/e/f/far",
    "/d/e/aside/page",
    "/root",
    "/out",
    "/d/e/../page",
    "/d/e/%2e%2e/%2e%2e/page",
];

/// Sends many requests on one connection, and returns the counts of the answers.
fn ask_again_and_again(server: &Server, first: usize) -> [usize; 2] {
    let mut stream = server.connect();
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    let mut counts = [0; 2];
    for target in TARGETS.iter().cycle().skip(first).take(REQUESTS) {
        // The request is written in one piece: the second of two pieces would wait until the first
        // is acknowledged.
        stream.write_all(format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).unwrap();
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let start = head.len();
            assert_ne!(answers.read_line(&mut head).unwrap(), 0, "the connection ended");
            if let Some(value) = head[start..].to_ascii_lowercase().strip_prefix("content-length: ") {
                length = value.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        answers.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        assert!(!body.contains(SECRET), "{target}: {head}");
        let is_served = head.starts_with("HTTP/1.1 200");
        assert!(is_served || head.starts_with("HTTP/1.1 403") || head.starts_with("HTTP/1.1 404"), "{target}: {head}");
        assert!(!is_served || body == INSIDE, "{target}: {body}");
        counts[usize::from(is_served)] += 1;
    }
    counts
}

#[test]
fn nothing_from_outside_is_served_in_a_storm_of_renames() {
    let context = world();
    let server = site(&context);
    let over = AtomicBool::new(false);
    let (counts, renames) = std::thread::scope(|scope| {
        let storm = scope.spawn(|| {
            let moves = [("/www/d/e", "/out/e"), ("/www/d/e", "/e"), ("/www/g", "/out/h"), ("/www/d", "/www/x")];
            let mut renames = 0_usize;
            while !over.load(Relaxed) {
                for (from, to) in moves {
                    for (from, to) in [(from, to), (to, from)] {
                        context.renameat(At::Cwd, from, At::Cwd, to, RenameFlags::empty()).unwrap();
                        renames += 1;
                    }
                }
            }
            renames
        });
        let server = &server;
        let clients: Vec<_> = (0..3).map(|first| scope.spawn(move || ask_again_and_again(server, first))).collect();
        let counts: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
        over.store(true, Relaxed);
        (counts, storm.join().unwrap())
    });
    let [refused, served] = counts.into_iter().map(Result::unwrap).fold([0; 2], |sum, of| [sum[0] + of[0], sum[1] + of[1]]);
    println!("{served} served, {refused} refused, beside {renames} renames");
    assert!(served > 0 && refused > 0 && renames > 0);
}

/// Tests a root further down: links are followed there as well, and end at the root.
#[test]
fn links_of_a_directory_further_down_end_at_it() {
    let server = site(&world());
    for target in ["/d/e/up", "/d/e/f/up", "/d/e/f/far", "/root"] {
        assert_eq!((server.get(target).status, server.get(target).text()), (200, INSIDE), "{target}");
    }
    assert_eq!(server.get("/d/e/aside/page").status, 404);
    assert_eq!(server.get("/out").status, 403, "it leads to itself: `..` stays at the root");
}

/// Tests the same below the root of a `Vfs`.
#[test]
fn a_slash_asks_for_a_directory_there_as_well() {
    let context = world();
    let mut file = context.open("/www/g/index.html", making()).unwrap();
    assert_eq!(file.write(b"index"), Ok(5));
    file = context.open("/www/index.html", making()).unwrap();
    assert_eq!(file.write(b"top"), Ok(3));
    let server = site(&context);
    for (target, status) in [
        ("/page/", 404),
        ("/d/page/.", 404),
        ("/d/", 404),
        ("/root/", 404),
        ("/g/page", 200),
        ("/g/", 200),
        ("/g/.", 200),
        ("/", 200),
    ] {
        assert_eq!(server.get(target).status, status, "{target}");
    }
    assert_eq!((server.get("/g//").text(), server.get("/").text()), ("index", "top"));
}

fn making() -> OpenHow {
    OpenHow { flags: OpenFlags::WRITE | OpenFlags::CREATE, mode: 0o644, ..OpenHow::default() }
}

/// Shows that the danger is real: following such a link while its directory is outside leads out,
/// even with another root.
#[test]
fn a_link_that_is_followed_would_lead_out() {
    let context = world();
    let mut confined = context.clone();
    confined.chroot("/www").unwrap();
    let dir = confined.lookup("/d/e").unwrap();
    context.renameat(At::Cwd, "/www/d/e", At::Cwd, "/out/e", RenameFlags::empty()).unwrap();
    let file = confined.openat(&dir, "up", OpenFlags::READ).unwrap();
    let mut text = vec![0; SECRET.len()];
    assert_eq!((file.read(&mut text), text.as_slice()), (Ok(SECRET.len()), SECRET.as_bytes()));
}
