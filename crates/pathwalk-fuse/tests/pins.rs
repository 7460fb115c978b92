//! Tests of the bound on what the kernel holds.

use std::fs;
use std::path::Path;

use crate::common::{Case, until};
use pathwalk::{Credentials, Vfs};
use pathwalk_memfs::MemFs;
use pathwalk_synthfs::{Shape, SynthFs};

/// Asks for the attributes of all that is below a directory, and returns how many there are.
fn walk(dir: &Path, each: &mut impl FnMut()) -> usize {
    let mut found = 0;
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        found += 1;
        each();
        if entry.metadata().unwrap().is_dir() {
            found += walk(&entry.path(), each);
        }
    }
    found
}

#[test]
fn a_walk_over_many_files_stays_near_the_bound() {
    let fs = SynthFs::new(Shape::new(2, 250, 200).unwrap());
    let context = Vfs::builder().build(fs).unwrap().context(Credentials::root());
    let used = || context.vfs().stats().dentries.used;
    let Some(mut case) = Case::of(context.clone(), |options| options.pinned = Some(1_000)) else { return };
    if !case.mounted().can_forget() {
        return eprintln!("skipped: the kernel cannot be asked to forget nodes, which came with Linux 6.18");
    }
    let (mut most, mut seen) = (0, 0);
    let found = walk(case.dir.path(), &mut || {
        seen += 1;
        if seen % 100 == 0 {
            most = most.max(case.mounted().pinned().nodes);
        }
    });
    assert_eq!(found, 100_502);
    // The kernel forgets behind the walk. Without a bound, it would know all of them.
    assert!(most < 20_000, "{most}");
    // What comes later is forgotten in turn, also the directories, whose names are gone by then.
    until(true, || {
        let _ = fs::read_dir(case.at("t0/d0")).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>();
        case.mounted().pinned().nodes < 1_500
    });
    let held = case.mounted().pinned();
    assert!(held.bound == 1_000 && held.asked_to_forget > 90_000, "{held:?}");
    assert!(used() > 0);
    case.mounted.take().unwrap().unmount().unwrap();
}

#[test]
fn what_is_in_use_is_kept_beyond_the_bound() {
    let context = Vfs::builder().build(MemFs::new()).unwrap().context(Credentials::root());
    let Some(case) = Case::of(context, |options| options.pinned = Some(10)) else { return };
    let open: Vec<_> = (0..200)
        .map(|number| {
            let path = case.at(&format!("f{number}"));
            fs::write(&path, format!("{number}")).unwrap();
            fs::File::open(path).unwrap()
        })
        .collect();
    for number in 0..200 {
        assert_eq!(fs::read_to_string(case.at(&format!("f{number}"))).unwrap(), format!("{number}"));
    }
    assert!(case.mounted().pinned().nodes >= 200 && case.mounted().pinned().open_files >= 200);
    drop(open);
    if case.mounted().can_forget() {
        until(true, || {
            (0..40).for_each(|number| _ = fs::write(case.at(&format!("g{number}")), ""));
            (0..40).for_each(|number| _ = fs::remove_file(case.at(&format!("g{number}"))));
            case.mounted().pinned().nodes < 60
        });
    }
}
