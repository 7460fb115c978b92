//! What is promised between two processes: reads of what was written, and the time that it takes.

use std::fs;
use std::time::{Duration, Instant};

use pathwalk::Errno;
use pathwalk_hostfs::{HostFs, WatchBy};

use crate::child::Child;
use crate::compare::assert_same;
use crate::{by_both, number, watched};

/// What a call of the other process did, and returned before `catch_up`, is seen after it: each
/// time, with no other wait.
#[test]
fn after_catching_up_the_writes_of_the_other_process_are_read() {
    by_both("after_catching_up_the_writes_of_the_other_process_are_read", |_, watched, child| {
        child.run("write file x");
        for i in 2..500_u64 {
            assert_eq!(watched.context.stat("/file").map(|of| of.size), Ok(i - 1));
            assert_eq!(watched.context.stat(format!("/{i}")), Err(Errno::ENOENT));
            child.run("append file x");
            child.run(&format!("mkdir {i}"));
            watched.fs.catch_up();
            assert_eq!(watched.context.stat("/file").map(|of| of.size), Ok(i));
            assert!(watched.context.stat(format!("/{i}")).is_ok());
        }
    });
}

/// The same if several threads catch up at once.
#[test]
fn each_thread_that_catches_up_has_caught_up() {
    by_both("each_thread_that_catches_up_has_caught_up", |_, watched, child| {
        child.run("write file x");
        let done = std::sync::atomic::AtomicU64::new(1);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut known = 1;
                    while known < 300 {
                        known = done.load(std::sync::atomic::Ordering::SeqCst);
                        watched.fs.catch_up();
                        assert!(watched.context.stat("/file").unwrap().size >= known);
                    }
                });
            }
            for i in 2..=300 {
                child.run("append file x");
                done.store(i, std::sync::atomic::Ordering::SeqCst);
            }
        });
    });
}

/// A change beside the first look at a directory, or at a file with two names, is in the answer, or
/// its event comes after the watch began: nothing is between.
#[test]
fn a_change_beside_the_first_look_is_seen() {
    by_both("a_change_beside_the_first_look_is_seen", |root, watched, child| {
        ["mkdir d/e", "write d/one x", "link d/one d/two"].into_iter().for_each(|command| child.run(command));
        let paths = ["d", "d/e", "d/e/f", "d/one"].map(str::to_owned);
        for i in 0..2000 {
            while pathwalk::internals::evict(watched.context.vfs(), 100) > 0 {}
            let mode = if i % 2 == 0 { "700" } else { "755" };
            let command = match i / 2 % 3 {
                0 => format!("chmod d/e {mode}"),
                1 => format!("chmod d/one {mode}"),
                _ if mode == "700" => "mkdir d/e/f".to_owned(),
                _ => "rmdir d/e/f".to_owned(),
            };
            child.begin(&command);
            // The other process takes a moment to wake up.
            (0..i % 50 * 40).for_each(|_| std::hint::spin_loop());
            paths.iter().for_each(|path| _ = watched.context.lstat(format!("/{path}")));
            assert_eq!(child.end(), "ok");
            watched.fs.catch_up();
            assert_same(root, watched, &paths, &command);
        }
    });
}

/// Prints how long it takes until a change is seen, without a call. No test asserts a time.
#[test]
fn the_time_until_a_change_is_seen() {
    let changes = number("PATHWALK_WATCH_CHANGES", 1000);
    for by in [WatchBy::Any, WatchBy::Inotify] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Child::start(dir.path());
        let mut rng = fastrand::Rng::with_seed(7);
        child.run("mkdir deep/1/2/3/4/5/6/7");
        (0..20).for_each(|i| child.run(&format!("write deep/1/2/3/4/5/6/7/{i} x")));
        child.run("write f x");
        let watched = watched(HostFs::open(dir.path()).unwrap(), by, 16 << 20);
        let mut times = Vec::new();
        let mut state = (false, false, false, 1_u64, 0o644_u16);
        for i in 0..changes {
            if i % 100 == 0 {
                (0..20).for_each(|i| _ = watched.context.stat(format!("/deep/1/2/3/4/5/6/7/{i}")));
                (0..20).for_each(|i| _ = watched.context.stat(format!("/moved/1/2/3/4/5/6/7/{i}")));
            }
            let (command, is_seen): (String, Box<dyn Fn() -> bool>) = match rng.u32(0..6) {
                0 => {
                    state.0 = !state.0;
                    let (is, context) = (state.0, &watched.context);
                    (if is { "write new x" } else { "unlink new" }.into(), Box::new(move || context.stat("/new").is_ok() == is))
                }
                1 => {
                    state.1 = !state.1;
                    let (is, context) = (state.1, &watched.context);
                    let command = if is { "rename deep moved" } else { "rename moved deep" };
                    (command.into(), Box::new(move || context.stat("/moved/1/2/3/4/5/6/7/0").is_ok() == is))
                }
                2 => {
                    state.2 = !state.2;
                    let (is, context) = (state.2, &watched.context);
                    (
                        if is { "link f g" } else { "unlink g" }.into(),
                        Box::new(move || context.stat("/f").unwrap().nlink == 1 + u32::from(is)),
                    )
                }
                3 => {
                    state.4 ^= 0o44;
                    let (is, context) = (state.4, &watched.context);
                    (format!("chmod f {is:o}"), Box::new(move || context.stat("/f").unwrap().mode == is))
                }
                _ => {
                    state.3 += 1;
                    let (is, context) = (state.3, &watched.context);
                    ("append f x".into(), Box::new(move || context.stat("/f").unwrap().size == is))
                }
            };
            _ = is_seen();
            child.run(&command);
            let begin = Instant::now();
            while !is_seen() {
                std::thread::yield_now();
            }
            times.push(begin.elapsed());
        }
        times.sort();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        let [half, most, all] = [0.5, 0.99, 1.0].map(at);
        println!("{changes} changes by {by:?}: half are seen within {half:?}, 99 % within {most:?}, all within {all:?}");
        assert!(all < Duration::from_secs(3600));
    }
}

/// A file that other names lead to, in a directory that is cached, is marked by a change through
/// any of them.
#[test]
fn further_names_are_seen() {
    by_both("further_names_are_seen", |_, watched, child| {
        ["mkdir a", "mkdir b", "mkdir outside/c", "write a/one x"].into_iter().for_each(|command| child.run(command));
        let of = |path: &str| watched.context.stat(path).map(|of| (of.nlink, of.size));
        assert_eq!((of("/a/one"), of("/b/none")), (Ok((1, 1)), Err(Errno::ENOENT)));
        child.run("link a/one b/two");
        watched.fs.catch_up();
        assert_eq!(of("/a/one"), Ok((2, 1)));
        child.run("append b/two y");
        watched.fs.catch_up();
        assert_eq!(of("/a/one"), Ok((2, 2)));
        // A directory that is not cached.
        child.run("link b/two outside/c/three");
        watched.fs.catch_up();
        assert_eq!(of("/a/one"), Ok((3, 2)));
        child.run("append outside/c/three z");
        watched.fs.catch_up();
        assert_eq!(of("/a/one"), Ok((3, 3)));
        ["unlink b/two", "unlink outside/c/three"].into_iter().for_each(|command| child.run(command));
        watched.fs.catch_up();
        assert_eq!(of("/a/one"), Ok((1, 3)));
    });
}

#[test]
fn a_name_that_was_absent_and_is_listed_is_not_forgotten() {
    by_both("a_name_that_was_absent_and_is_listed_is_not_forgotten", |dir, watched, _| {
        fs::create_dir(dir.join("d")).unwrap();
        let context = &watched.context;
        let _held = context.lookup("/d").unwrap();
        assert!(context.lstat("/d/a").is_err());
        fs::write(dir.join("d/a"), "").unwrap();
        watched.fs.catch_up();
        // The listing finds the name in the caches, as an absence that is in doubt.
        assert_eq!(context.read_dir("/d").unwrap().count(), 1);
        pathwalk::internals::evict(context.vfs(), 100);
        assert!(context.lstat("/d/a").is_ok(), "{}", watched.state());
    });
}

#[test]
fn a_file_that_had_lost_its_name_is_read_again_under_the_next_one() {
    by_both("a_file_that_had_lost_its_name_is_read_again_under_the_next_one", |dir, watched, _| {
        let (a, b, context) = (dir.join("a"), dir.join("b"), &watched.context);
        fs::write(&a, "1").unwrap();
        let held = context.lookup("/a").unwrap();
        fs::rename(&a, &b).unwrap();
        watched.fs.catch_up();
        assert!(context.lstat("/a").is_err());
        assert_eq!(held.attributes().unwrap().size, 1);
        // The report is about a name that is not cached, and the node is.
        fs::write(&b, "longer").unwrap();
        watched.fs.catch_up();
        assert_eq!(context.lstat("/b").unwrap().size, 6, "{}", watched.state());
    });
}
