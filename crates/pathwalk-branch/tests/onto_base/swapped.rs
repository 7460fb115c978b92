//! Commits while another program swaps directories of the base for links that lead out of it.
//!
//! `PATHWALK_BRANCH_SWAPS` is the number of commits.

use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::common::root_on;
use pathwalk_branch::{Branches, Resolution};
use pathwalk_hostfs::{Coherence, HostFs};

#[test]
fn directories_that_are_swapped_for_links_lead_nowhere() {
    let rounds = std::env::var("PATHWALK_BRANCH_SWAPS").map_or(1000, |rounds| rounds.parse().expect("it is a number"));
    let place = tempfile::tempdir().unwrap();
    let (inside, outside) = (place.path().join("inside"), place.path().join("outside"));
    for dir in ["d/sub", "d/other"] {
        std::fs::create_dir_all(inside.join(dir)).unwrap();
        std::fs::create_dir_all(outside.join(dir)).unwrap();
        std::fs::write(outside.join(dir).join("file"), "outside").unwrap();
    }
    let ends = AtomicBool::new(false);
    let (mut committed, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Relaxed) {
                let (d, aside) = (inside.join("d"), inside.join("aside"));
                std::fs::rename(&d, &aside).unwrap();
                symlink(outside.join("d"), &d).unwrap();
                std::thread::yield_now();
                std::fs::remove_file(&d).unwrap();
                std::fs::rename(&aside, &d).unwrap();
                std::thread::sleep(std::time::Duration::from_micros(fastrand::u64(..3000)));
            }
        });
        for round in 0..rounds {
            let fs = HostFs::open_writable(&inside).unwrap().with_coherence(Coherence::Strict);
            let base = root_on(fs);
            let Ok(branches) = Branches::new(base) else { continue };
            let context = root_on(branches.fork(None, "work").unwrap());
            // What fails here, fails since the directory is away.
            _ = context.write("/d/sub/file", format!("{round}"));
            _ = context.write(format!("/d/other/{}", round % 7), "new");
            _ = context.remove_file(format!("/d/other/{}", (round + 3) % 7));
            _ = context.rename("/d/sub/file", "/d/other/file");
            // Of all, or of a part.
            let committing = match round % 2 {
                0 => branches.commit("work"),
                _ => branches.commit_paths("work", &["/d"], &Resolution::default()),
            };
            match committing {
                Ok(()) => committed += 1,
                Err(_) => refused += 1,
            }
        }
        ends.store(true, Relaxed);
    });
    for dir in ["d/sub", "d/other"] {
        let names: Vec<_> = std::fs::read_dir(outside.join(dir)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["file"]);
        assert_eq!(std::fs::read_to_string(outside.join(dir).join("file")).unwrap(), "outside");
    }
    println!("{committed} committed, {refused} refused");
    assert!(committed > 0);
}
