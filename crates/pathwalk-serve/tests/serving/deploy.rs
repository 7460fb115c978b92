//! A site that is replaced by a rename while it is served.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use pathwalk::Credentials;
use pathwalk_serve::{Served, Site};

use crate::client::Server;

const RELEASES: u64 = 30;
const PAGES: u64 = 5;

fn release(dir: &Path, number: u64) {
    for page in 0..PAGES {
        fs::create_dir_all(dir.join(format!("p/{page}"))).unwrap();
        fs::write(dir.join(format!("p/{page}/index.html")), format!("{number}")).unwrap();
    }
}

/// Returns the release that a page is of. A page is never absent: a rename replaces all at once.
fn served(server: &Server, page: u64) -> u64 {
    let answer = server.ask("GET", &format!("/site/p/{page}"));
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.text().parse().unwrap()
}

/// Deploys some releases by `deploy`, beside clients. No client is served a release that is older
/// than one that it was served before, and in the end all are served the last one.
fn deployed(root: &Path, deploy: impl Fn(u64)) {
    let server = Server::start(Served::Pathwalk(Site::of_host(root, Credentials::root(), 16 << 20).unwrap()));
    let current = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for client in 0..2 {
            let (server, current) = (&server, &current);
            scope.spawn(move || {
                let mut latest = [0; PAGES as usize];
                while current.load(Ordering::SeqCst) < RELEASES - 1 {
                    for page in 0..PAGES {
                        let release = served(server, page);
                        let before = &mut latest[page as usize];
                        assert!(release >= *before, "client {client}: release {release} of page {page} after {before}");
                        *before = release;
                    }
                }
            });
        }
        for number in 1..RELEASES {
            deploy(number);
            current.store(number, Ordering::SeqCst);
            // Each is served before the next.
            (0..PAGES).for_each(|page| while served(&server, page) < number {});
        }
    });
}

#[test]
fn a_directory_is_exchanged() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    release(&at("site"), 0);
    deployed(dir.path(), |number| {
        release(&at("next"), number);
        let (from, to) = (at("next"), at("site"));
        rustix::fs::renameat_with(rustix::fs::CWD, from, rustix::fs::CWD, to, rustix::fs::RenameFlags::EXCHANGE).unwrap();
        fs::remove_dir_all(at("next")).unwrap();
    });
}

#[test]
fn a_link_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: String| dir.path().join(name);
    let deploy = |number: u64| {
        release(&at(format!("releases/{number}")), number);
        symlink(format!("releases/{number}"), at("next".into())).unwrap();
        fs::rename(at("next".into()), at("site".into())).unwrap();
    };
    deploy(0);
    deployed(dir.path(), deploy);
}
