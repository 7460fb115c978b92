//! What is used stays in the cache, whatever else passes through it.

use pathwalk::{Access, Context, Credentials, Vfs};
use pathwalk_memfs::MemFs;

/// Looks a path up again and again while names that nobody asks for twice fill the cache many times over; returns how often the file system was
/// asked because of the path.
fn asked_amid_a_storm(path: &str) -> u64 {
    const STORM: u64 = 2000;
    let fs = MemFs::new();
    fs.mkdir("/d", 0o755).unwrap();
    fs.file("/d/file", 0o644).unwrap();
    fs.symlink("/link", "/d").unwrap();
    let who: Context = Vfs::builder().budget(Vfs::budget_for(64)).build(fs.clone()).unwrap().context(Credentials::root());
    let hit = || _ = who.access(path, Access::empty());
    hit();
    let before = fs.calls();
    for i in 0..STORM {
        let _ = who.access(&format!("/none{i}"), Access::empty());
        (0..2).for_each(|_| hit());
    }
    fs.calls().since(&before).lookup - STORM
}

#[test]
fn a_file_stays() {
    assert_eq!(asked_amid_a_storm("/d/file"), 0);
}

#[test]
fn an_absent_name_stays() {
    assert_eq!(asked_amid_a_storm("/d/none"), 0);
}

#[test]
fn an_absent_directory_in_the_middle_of_a_path_stays() {
    assert_eq!(asked_amid_a_storm("/d/none/below/it"), 0);
}

#[test]
fn a_link_on_the_way_stays() {
    assert_eq!(asked_amid_a_storm("/link/file"), 0);
}

#[test]
fn an_absent_name_behind_a_link_stays() {
    assert_eq!(asked_amid_a_storm("/link/none"), 0);
}
