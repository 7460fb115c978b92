//! Walks beside a storm of renames and mounts, which must not leave their root: under `BENEATH`,
//! `IN_ROOT`, and confined.
//!
//! Two threads move directories within the root, out of it and back. A third mounts on them and
//! unmounts, inside and outside. Other threads walk in the root, up and down, through links that
//! lead up and across the mounts. Files outside have another size than files inside, which shows a
//! walk that left the root.
//!
//! `PATHWALK_ESCAPE_WALKS` sets the number of all walks; the default is small.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use pathwalk::{At, Context, Credentials, Errno, MountFlags, Recursion, RenameFlags, Resolve, UmountFlags, Vfs};
use pathwalk_memfs::MemFs;

const WALKS: u64 = 60_000;
const WALKERS: u64 = 3;

/// The size of each file inside in bytes, and of each outside.
const INSIDE: u64 = 1;
const OUTSIDE: u64 = 2;

/// Returns a tree with `/root`, to which walks are confined, and `/out` beside it, with the same
/// names and other files.
fn world() -> Context {
    let fs = MemFs::new();
    for dir in ["/root/a/b/c/d", "/root/x/y", "/out/a/b/c", "/out/x"] {
        fs.mkdir_all(dir, 0o755).unwrap();
    }
    let files = [
        ("/root", INSIDE),
        ("/root/a", INSIDE),
        ("/root/a/b", INSIDE),
        ("/root/a/b/c", INSIDE),
        ("/root/a/b/c/d", INSIDE),
        ("/root/x", INSIDE),
        ("/root/x/y", INSIDE),
        ("", OUTSIDE),
        ("/out", OUTSIDE),
        ("/out/a", OUTSIDE),
        ("/out/a/b", OUTSIDE),
        ("/out/x", OUTSIDE),
    ];
    for (dir, size) in files {
        fs.file(format!("{dir}/f"), 0o644).unwrap();
        fs.write(format!("{dir}/f"), 0, &vec![b'x'; size as usize]).unwrap();
    }
    for (link, body) in [
        ("/root/a/b/c/up", "../../f"),
        ("/root/a/b/c/d/far", "../../../../../../f"),
        ("/root/a/b/around", "../b/c/../../b/c/up"),
        ("/root/x/y/chain", "../../a/b/around"),
        ("/root/a/top", "/f"),
    ] {
        fs.symlink(body, link).unwrap();
    }
    Vfs::builder().build(fs).unwrap().context(Credentials::root())
}

/// Paths from `/root`, each of which leads to a file inside, or to none.
const PATHS: [&str; 14] = [
    "f",
    "a/b/../../f",
    "a/b/c/d/../../../../f",
    "a/b/c/../../c/../f",
    "a/b/c/d/../../c/d/../../../f",
    "a/b/c/up",
    "a/b/c/d/far",
    "a/b/around",
    "x/y/chain",
    "x/y/../../a/b/c/d/../f",
    "a/top",
    "a/b/c/../../../root/f",
    "a/b/c/d/../../../out/f",
    "x/../../f",
];

/// The moves of the first thread and of the second; each is made there and back.
const MOVES: [&[(&str, &str)]; 2] = [
    &[("/root/a/b", "/out/moved"), ("/root/a/b/c", "/root/x/c"), ("/root/a/b/c/d", "/d")],
    &[("/root/x/y", "/out/y"), ("/root/a", "/root/x/a"), ("/root/x", "/out/a/x")],
];

/// The mount points, with the size of the files of the file system that is mounted there.
const POINTS: [(&str, u64); 6] = [
    ("/root/a/b/c", INSIDE),
    ("/root/x/y", INSIDE),
    ("/root/a/b", INSIDE),
    ("/out/a/b", OUTSIDE),
    ("/root/x", INSIDE),
    ("/out/x", OUTSIDE),
];

/// The directories of the mounted file systems and of the binds, so that walks continue beyond a
/// mount.
const DIRECTORIES: [&str; 4] = ["", "/b", "/c", "/c/d"];

/// The time for which mounts exist, and for which they do not.
const PAUSE: Duration = Duration::from_micros(50);

fn mountable(size: u64) -> MemFs {
    let fs = MemFs::new();
    for dir in DIRECTORIES {
        fs.mkdir_all(dir, 0o755).unwrap();
        fs.file(format!("{dir}/f"), 0o644).unwrap();
        fs.write(format!("{dir}/f"), 0, &vec![b'x'; size as usize]).unwrap();
    }
    fs.symlink("../../../../../f", "/c/d/far").unwrap();
    fs.symlink("../../f", "/c/up").unwrap();
    fs
}

/// Mounts on a place, binds a part of that on another, and unmounts all mounts anywhere, since
/// renames may have moved them meanwhile. Returns the number of mounts that were unmounted.
fn mount_and_unmount(context: &Context, turn: usize) -> u64 {
    let (point, size) = POINTS[turn % POINTS.len()];
    let (other, size_of_other) = POINTS[(turn / POINTS.len()) % POINTS.len()];
    let mounted = context.mount(mountable(size), point, MountFlags::empty()).is_ok();
    let part = format!("{point}/c");
    let bound = size == size_of_other && context.bind(&part, other, Recursion::Alone).is_ok();
    // Mounts exist for a while, and then none for a while: a mount point cannot be renamed.
    std::thread::sleep(PAUSE);
    // Lazily, since walks are there. A mount that was just moved, or that another mount hides, is
    // unmounted in the next round.
    while let mounts = context.mountinfo()
        && mounts.len() > 1
    {
        for mount in mounts.iter().skip(1).rev() {
            _ = context.umount(&mount.mount_point, UmountFlags::DETACH);
        }
    }
    std::thread::sleep(PAUSE);
    u64::from(mounted) + u64::from(bound)
}

/// The counts of the results of walks: answered, absent, `EXDEV`, `EAGAIN`, `ELOOP`.
type Counts = [u64; 5];

fn walk(contexts: &[Context; 3], seed: u64, walks: u64) -> Counts {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut counts = Counts::default();
    for _ in 0..walks {
        let (context, path) = (&contexts[rng.usize(..3)], PATHS[rng.usize(..PATHS.len())]);
        let size = match rng.u8(..3) {
            0 => context.stat(path).map(|of| of.size),
            1 => context.lookup(path).and_then(|found| found.attributes()).map(|of| of.size),
            _ => context.cached().stat(path).map(|of| of.size),
        };
        counts[match size {
            Ok(INSIDE) => 0,
            Err(Errno::ENOENT) => 1,
            Err(Errno::EXDEV) => 2,
            Err(Errno::EAGAIN) => 3,
            Err(Errno::ELOOP) => 4,
            other => panic!("{path} with {:?}: {other:?}", context.resolve()),
        }] += 1;
    }
    counts
}

#[test]
fn no_walk_gets_out_of_a_storm_of_renames_and_mounts() {
    let walks = std::env::var("PATHWALK_ESCAPE_WALKS")
        .map_or(WALKS, |text| text.parse().unwrap_or_else(|_| panic!("PATHWALK_ESCAPE_WALKS is to be a number, not {text:?}")));
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let context = world();
    let root = context.lookup("/root").unwrap();
    let mut there = context.clone();
    there.chdir("/root").unwrap();
    let contexts = [
        context.confined(&root).unwrap(),
        there.clone().with_resolve(Resolve::BENEATH).unwrap(),
        there.with_resolve(Resolve::IN_ROOT).unwrap(),
    ];
    let over = AtomicBool::new(false);
    let (counts, renames, mounts) = std::thread::scope(|scope| {
        let (over, context, contexts) = (&over, &context, &contexts);
        let storms = MOVES.map(|moves| {
            scope.spawn(move || {
                let mut renames = 0_u64;
                while !over.load(Relaxed) {
                    for (from, to) in moves {
                        // The name is absent while the other thread has moved its directory.
                        for (from, to) in [(from, to), (to, from)] {
                            renames += u64::from(context.renameat(At::Cwd, *from, At::Cwd, *to, RenameFlags::NOREPLACE).is_ok());
                        }
                    }
                }
                renames
            })
        });
        let mounter = scope.spawn(move || {
            let turns = (0..).take_while(|_| !over.load(Relaxed));
            turns.map(|turn| mount_and_unmount(context, turn)).sum::<u64>()
        });
        let walkers = (0..WALKERS).map(|at| scope.spawn(move || walk(contexts, seed.wrapping_add(at), walks / WALKERS)));
        let walkers: Vec<_> = walkers.collect();
        let ended: Vec<_> = walkers.into_iter().map(|walker| walker.join()).collect();
        over.store(true, Relaxed);
        let renames: u64 = storms.into_iter().map(|storm| storm.join().unwrap()).sum();
        (ended, renames, mounter.join().unwrap())
    });
    let sum = |sum: Counts, of: Counts| std::array::from_fn(|at| sum[at] + of[at]);
    let counts = counts.into_iter().map(Result::unwrap).fold(Counts::default(), sum);
    let shares = counts.map(|count| 100.0 * count as f64 / walks as f64);
    println!("{walks} walks beside {renames} renames and {mounts} mounts, in percent:");
    println!(
        "answered {:.1}, absent {:.1}, EXDEV {:.1}, EAGAIN {:.1}, ELOOP {:.1}",
        shares[0], shares[1], shares[2], shares[3], shares[4]
    );
    let all_get_on = counts[0] > 0 && renames > 0 && mounts > 0;
    assert!(all_get_on, "walks get on beside renames and mounts: {counts:?}, {renames}, {mounts}");
}
