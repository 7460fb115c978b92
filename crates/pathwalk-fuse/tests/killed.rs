//! Tests of ends that are not planned: a server that is killed, a mount that is unmounted in use, a
//! client that is stopped, and requests that are interrupted.
//!
//! The server is this program again, in a process of its own. `PATHWALK_FUSE_KILLS` sets how often
//! it is killed.

mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use common::{Case, names, until};
use pathwalk::{Attributes, Cancellation, Credentials, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, Vfs};
use pathwalk_fuse::{CacheTimes, Options, mount};
use pathwalk_memfs::MemFs;
use tempfile::TempDir;

/// The mount point of a server, for the process that is one.
const SERVER: &str = "PATHWALK_FUSE_SERVER";

/// Serves an empty tree until it is unmounted, if this process is to do so.
#[test]
fn server() {
    let Some(at) = std::env::var_os(SERVER) else { return };
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    let mut options = Options::default();
    options.times = CacheTimes::FOREVER;
    let mounted = mount(&context, at, &options).unwrap();
    println!("\nready");
    mounted.wait();
}

fn serve(at: &Path) -> Child {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "server", "--nocapture", "--test-threads=1"])
        .env(SERVER, at)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "ready"));
    // Read to the end, so that the server can write.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

/// Works on a mount until it ends, and returns the error that ended the work.
fn work(at: &Path, mine: usize) -> std::io::Error {
    let dir = at.join(format!("d{mine}"));
    let round = |number: usize| -> std::io::Result<()> {
        fs::create_dir_all(&dir)?;
        let (one, other) = (dir.join("one"), dir.join("other"));
        fs::write(&one, format!("{number}"))?;
        fs::rename(&one, &other)?;
        assert_eq!(fs::read_to_string(&other)?, format!("{number}"));
        fs::read_dir(at)?.try_for_each(|entry| entry.map(drop))?;
        fs::remove_dir_all(&dir)
    };
    (0..).find_map(|number| round(number).err()).unwrap()
}

#[test]
fn killed_at_random_instants() {
    if Case::new(CacheTimes::FOREVER).is_none() {
        return;
    }
    let kills = std::env::var("PATHWALK_FUSE_KILLS").map_or(5, |kills| kills.parse().unwrap());
    let dir = TempDir::new().unwrap();
    let mut random = kills as u64;
    for kill in 0..kills {
        let mut child = serve(dir.path());
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..8)
                .map(|mine| {
                    let at = dir.path();
                    scope.spawn(move || work(at, mine))
                })
                .collect();
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            std::thread::sleep(Duration::from_micros(random >> 47));
            child.kill().unwrap();
            assert_eq!(child.wait().unwrap().signal(), Some(9));
            for worker in workers {
                let error = worker.join().unwrap().raw_os_error();
                // ECONNABORTED for a request that was under way, ENOTCONN for a later one; EIO for
                // pages that could not be read.
                assert!(matches!(error, Some(103 | 107 | 5)), "kill {kill}: {error:?}");
            }
        });
        assert_eq!(rustix::fs::statfs(dir.path()).unwrap_err().raw_os_error(), 107);
        // The next server mounts in its place.
    }
    let mut child = serve(dir.path());
    assert!(names(dir.path()).is_empty());
    fs::write(dir.path().join("f"), "text").unwrap();
    assert!(Command::new("umount").arg(dir.path()).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    assert!(names(dir.path()).is_empty());
}

#[test]
fn sixty_four_clients_and_an_unmount_in_use() {
    let Some(mut case) = Case::new(CacheTimes::FOREVER) else { return };
    let (free, ends) = (case.context.vfs().stats().dentries.used, AtomicBool::new(false));
    let at = case.dir.path().to_owned();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..64)
            .map(|mine| {
                let (at, ends) = (&at, &ends);
                scope.spawn(move || {
                    let dir = at.join(format!("d{mine}"));
                    for number in 0.. {
                        if ends.load(Ordering::Relaxed) {
                            break;
                        }
                        fs::create_dir(&dir).unwrap();
                        fs::write(dir.join("f"), format!("{number}")).unwrap();
                        assert_eq!(fs::read_to_string(dir.join("f")).unwrap(), format!("{number}"));
                        fs::remove_dir_all(&dir).unwrap();
                    }
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        ends.store(true, Ordering::Relaxed);
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
    until(0, || case.mounted().pinned().nodes);
    assert_eq!((case.mounted().pinned().lookups, case.mounted().pinned().open_files), (0, 0));
    // In use: it goes from its place at once, and the files that are open go on.
    fs::write(at.join("f"), "text").unwrap();
    let open = fs::File::open(at.join("f")).unwrap();
    let mounted = case.mounted.take().unwrap();
    std::thread::scope(|scope| {
        let unmounts = scope.spawn(move || mounted.unmount().unwrap());
        until(true, || names(&at).is_empty());
        assert_eq!(open.metadata().unwrap().len(), 4);
        drop(open);
        unmounts.join().unwrap();
    });
    // All that the kernel held is given back to the engine.
    case.context.remove_file("/f").unwrap();
    until(free, || {
        // What stays is pinned.
        pathwalk::internals::evict_all(case.context.vfs());
        case.context.vfs().stats().dentries.used
    });
}

#[test]
fn a_client_that_is_stopped_in_the_middle_stops_no_other() {
    let Some(case) = Case::new(CacheTimes::NONE) else { return };
    fs::write(case.at("big"), vec![7; 8 << 20]).unwrap();
    let script = format!(
        "cd '{}'; while :; do cat big >copy; mv copy other; ls -l >list; rm -f other list; done",
        case.dir.path().display()
    );
    let clients: Vec<Child> =
        (0..4).map(|_| Command::new("sh").args(["-c", &script]).stderr(Stdio::null()).spawn().unwrap()).collect();
    let signal = |client: &Child, number: &str| {
        let done = Command::new("kill").args([number, &client.id().to_string()]).status().unwrap();
        assert!(done.success());
    };
    for _ in 0..20 {
        for client in &clients {
            signal(client, "-STOP");
            fs::write(case.at("mine"), "text").unwrap();
            assert_eq!(fs::read(case.at("mine")).unwrap(), b"text");
            signal(client, "-CONT");
        }
    }
    for mut client in clients {
        client.kill().unwrap();
        client.wait().unwrap();
    }
    drop(case);
}

/// A root without names, which takes its time to say so, unless the lookup is cancelled.
#[derive(Default)]
struct Slow {
    waiting: AtomicU64,
    released: Mutex<bool>,
    changed: Condvar,
}

impl FileSystem for Slow {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(0), self.attributes(NodeKey(0))?))
    }

    fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut released = self.released.lock().unwrap();
        while !*released {
            if Cancellation::current().is_some_and(|cancellation| cancellation.is_cancelled()) {
                return Err(Errno::ECANCELED);
            }
            released = self.changed.wait_timeout(released, Duration::from_millis(5)).unwrap().0;
        }
        Ok(None)
    }

    fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
        Ok(Attributes::new(FileType::Directory, 0o755))
    }
}

#[test]
fn a_request_that_is_interrupted() {
    let fs = std::sync::Arc::new(Slow::default());
    let context = Vfs::builder().build(std::sync::Arc::clone(&fs)).unwrap().context(Credentials::root());
    let Some(case) = Case::of(context, |_| {}) else { return };
    let asker = |name: &str| Command::new("stat").arg(case.at(name)).stderr(Stdio::null()).spawn().unwrap();
    let mut interrupted = asker("a");
    until(1, || fs.waiting.load(Ordering::SeqCst));
    // Others go on meanwhile.
    assert!(fs::metadata(case.dir.path()).unwrap().is_dir());
    let ended = Command::new("kill").args(["-TERM", &interrupted.id().to_string()]).status().unwrap();
    assert!(ended.success());
    assert_eq!(interrupted.wait().unwrap().signal(), Some(15));
    let mut other = asker("b");
    until(2, || fs.waiting.load(Ordering::SeqCst));
    *fs.released.lock().unwrap() = true;
    fs.changed.notify_all();
    assert_eq!(other.wait().unwrap().code(), Some(1));
}
