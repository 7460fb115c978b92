//! Tests that existing files are served, by all three alike; twice, because the second time they
//! are cached.

use std::fs;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use crate::client::{With, World};

#[test]
fn files_are_served_as_they_are() {
    let world = World::new();
    let large: Vec<u8> = (0..500_000u32).flat_map(u32::to_le_bytes).collect();
    fs::write(world.root().join("large.bin"), &large).unwrap();
    for with in With::ALL {
        let server = world.serve(with);
        for _ in 0..2 {
            let page = server.get("/a/b/page.html");
            assert_eq!((page.status, page.text()), (200, "<p>page</p>"), "{with:?}");
            assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
            assert_eq!(page.header("content-length"), Some("11"));
            assert_eq!(server.get("/way").text(), "<p>page</p>", "a link within");
            assert_eq!(server.get("//a/./with%20space.txt?query=1").text(), "spaced");
            for target in ["/docs", "/docs/", "/docs/.", "/docs//"] {
                assert_eq!(server.get(target).text(), "index", "{with:?}: {target}");
            }
            let empty = server.get("/empty.css");
            assert_eq!((empty.status, empty.body.len(), empty.header("content-type")), (200, 0, Some("text/css; charset=utf-8")));
            assert!(server.get("/large.bin").body == large, "{with:?}: a file that is sent in pieces");
        }
    }
}

#[test]
fn head_tells_the_same_without_a_body() {
    let world = World::new();
    for with in With::ALL {
        let server = world.serve(with);
        for (target, status) in [("/a/b/page.html", 200), ("/none", 404), ("/..", 403)] {
            let (head, get) = (server.ask("HEAD", target), server.get(target));
            assert_eq!((head.status, head.body.len()), (status, 0), "{with:?}: {target}");
            assert_eq!(head.header("content-length"), get.header("content-length"));
            assert_eq!(head.header("content-type"), get.header("content-type"));
        }
    }
}

#[test]
fn what_cannot_be_served_is_told_why() {
    let world = World::new();
    mknodat(CWD, world.root().join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let long = format!("/{}", "x".repeat(300));
    for with in With::ALL {
        let server = world.serve(with);
        for (target, status) in [
            ("/none", 404),
            ("/a/b/page.html/x", 404),
            ("/a/b/page.html/", 404),
            ("/a/b/page.html/.", 404),
            ("/way/", 404),
            ("/a%00", 404),
            (&long, 404),
            ("/a", 404),
            ("/pipe", 403),
            ("/../x", 403),
        ] {
            assert_eq!(server.get(target).status, status, "{with:?}: {target}");
        }
        let post = server.ask("POST", "/docs/");
        assert_eq!((post.status, post.header("allow")), (405, Some("GET, HEAD")));
    }
}
