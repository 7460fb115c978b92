//! What was removed through a mount takes no space once the kernel has forgotten it.

use std::fs::{self, File};
use std::path::Path;

use crate::common::{Case, until};
use pathwalk::{Credentials, Vfs};
use pathwalk_fuse::CacheTimes;
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;

/// Makes nodes of several kinds, uses them, and removes them in several ways.
fn make_and_remove(at: &Path) {
    for round in 0..50 {
        let path = |name: &str| at.join(format!("{name}{round}"));
        fs::create_dir_all(path("d").join("sub/sub")).unwrap();
        fs::write(path("d").join("sub/sub/f"), [1; 5000]).unwrap();
        fs::write(path("f"), "text").unwrap();
        std::os::unix::fs::symlink("f", path("l")).unwrap();
        assert_eq!(fs::read_dir(path("d")).unwrap().count(), 1);
        let (file, dir) = (File::open(path("f")).unwrap(), File::open(path("d").join("sub")).unwrap());
        fs::rename(path("l"), path("f")).unwrap();
        fs::remove_dir_all(path("d")).unwrap();
        drop((file, dir));
        fs::remove_file(path("f")).unwrap();
    }
}

#[test]
fn removed_nodes_in_memory_take_no_space() {
    for times in [CacheTimes::FOREVER, CacheTimes::default()] {
        let fs = MemFs::with(pathwalk_memfs::Options::default().max_nodes(100_000).max_bytes(1 << 30));
        let context = Vfs::builder().build(fs).unwrap().context(Credentials::root());
        let Some(case) = Case::of(context, |options| options.times = times) else { return };
        let free = || case.context.root().statfs().map(|of| (of.files_free, of.blocks_free)).unwrap();
        let before = free();
        make_and_remove(case.dir.path());
        until(before, free);
    }
}

#[test]
fn removed_nodes_of_the_host_keep_no_descriptor() {
    let host = tempfile::tempdir().unwrap();
    let fs = HostFs::open_writable(host.path()).unwrap().with_coherence(Coherence::Exclusive);
    let context = Vfs::builder().build(fs).unwrap().context(pathwalk_hostfs::credentials().unwrap());
    let Some(case) = Case::of(context, |_| {}) else { return };
    make_and_remove(case.dir.path());
    let removed = || {
        let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
        open.filter(|path| path.starts_with(host.path()) && path.to_string_lossy().ends_with(" (deleted)")).count()
    };
    until(0, removed);
}
