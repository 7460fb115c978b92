//! The memory of an idle mount. Mounts are outside the budget.

use pathwalk::{Context, Credentials, MountAttributes, Propagation, Recursion, Vfs};
use pathwalk_memfs::MemFs;

use crate::process::{alone, resident, small_pages};

/// The most bytes that an idle mount may take.
const MOST: u64 = 512;

/// Returns a context with this many directories in `/m`, all of them cached.
fn context(count: u64) -> Context {
    let fs = MemFs::new();
    fs.mkdir("/s", 0o755).expect("a directory");
    fs.mkdir("/m", 0o755).expect("a directory");
    (0..count).for_each(|at| fs.mkdir(format!("/m/{at}"), 0o755).map(drop).expect("a directory"));
    let vfs = Vfs::builder().budget(Vfs::budget_for(2 * count + 1000)).build(fs).expect("a budget with room for all");
    let context = vfs.context(Credentials::root());
    (0..count).for_each(|at| _ = context.stat(format!("/m/{at}")).expect("what was made"));
    context
}

fn bind_all(context: &Context, count: u64) {
    for at in 0..count {
        context.bind("/s", format!("/m/{at}"), Recursion::Alone).expect("room for a mount");
    }
}

/// Fails if the process has grown by more than `MOST` for each mount since.
fn check(what: &str, before: u64, count: u64) {
    let each = resident().saturating_sub(before) / count;
    println!("{count} mounts, {what}: {each} bytes each");
    assert!(each <= MOST, "{what}: {each} bytes for each of {count}");
}

#[test]
fn an_idle_mount_takes_at_most_512_bytes() {
    alone("mounts::an_idle_mount_takes_at_most_512_bytes", &[2_000, 10_000], |count| {
        small_pages();
        // Loads the code, on a small `Vfs` that stays.
        let small = context(100);
        bind_all(&small, 100);
        let mut apart = small.clone();
        apart.unshare().expect("a namespace");

        let plain = context(count);
        let before = resident();
        bind_all(&plain, count);
        check("private", before, count);

        let mut copy = plain.clone();
        let before = resident();
        copy.unshare().expect("a namespace");
        check("of another namespace", before, count);

        let peers = context(count);
        let shared = MountAttributes::default().with_propagation(Propagation::Shared);
        peers.mount_setattr("/", &shared, Recursion::Alone).expect("the root can be shared");
        let before = resident();
        bind_all(&peers, count);
        check("shared", before, count);
    });
}
