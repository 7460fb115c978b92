//! Tests of listings that continue while names are added and removed.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use pathwalk::{FIRST_COOKIE, FileSystem, FileType, NewKind, NodeKey, OpenFile, RenameFlags};
use proptest::prelude::*;

use super::key;
use crate::MemFs;

struct Listed {
    name: String,
    key: NodeKey,
    kind: FileType,
    cookie: u64,
}

/// Returns up to `most` entries behind a cookie.
fn list(dir: &dyn OpenFile, from: u64, most: usize) -> Vec<Listed> {
    let mut entries = Vec::new();
    let mut each = |entry: pathwalk::Entry<'_>| {
        assert_eq!(entry.ino, (entry.key.0 >> 64) as u64);
        let name = String::from_utf8(entry.name.to_vec()).unwrap();
        entries.push(Listed { name, key: entry.key, kind: entry.kind, cookie: entry.cookie });
        if entries.len() < most { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    dir.read_dir(from, &mut each).unwrap();
    entries
}

fn read_only(fs: &MemFs, path: &str) -> Box<dyn OpenFile> {
    fs.open(key(fs, path), pathwalk::OpenFor::READ).unwrap()
}

#[test]
fn entries_say_what_they_lead_to() {
    let fs = MemFs::new();
    let kinds = [NewKind::Regular, NewKind::Directory, NewKind::Symlink(b"x"), NewKind::Fifo, NewKind::Socket];
    for (i, kind) in kinds.into_iter().enumerate() {
        fs.mknod(format!("n{i}"), kind, 0o600).unwrap();
    }
    let dir = read_only(&fs, "/");
    let entries = list(&*dir, 0, usize::MAX);
    for (i, (entry, kind)) in entries.iter().rev().zip(kinds).enumerate() {
        assert_eq!((entry.name.as_str(), entry.key), (&*format!("n{i}"), key(&fs, &entry.name)));
        assert_eq!(entry.kind, kind.file_type());
    }
    assert_eq!(entries.len(), kinds.len());
    for from in 0..FIRST_COOKIE {
        assert_eq!(list(&*dir, from, usize::MAX).len(), kinds.len());
    }
    assert!(list(&*dir, u64::MAX, 1).is_empty());
}

#[test]
fn no_cookie_is_given_twice() {
    let fs = MemFs::new();
    let dir = read_only(&fs, "/");
    let mut given = HashSet::new();
    let mut only = |round: usize| {
        let entries = list(&*dir, 0, usize::MAX);
        assert!(entries.len() == 1 && given.insert(entries[0].cookie), "round {round}");
    };
    for i in 0..300 {
        fs.file("f", 0o644).unwrap();
        only(i);
        if i % 3 == 0 {
            fs.rename("f", "g").unwrap();
            only(i);
            fs.rename("g", "f").unwrap();
            only(i);
        }
        fs.unlink("f").unwrap();
        assert!(list(&*dir, 0, usize::MAX).is_empty());
    }
}

/// Creates a name and renames one for each entry, also of a listing that is read piece by piece.
#[test]
fn a_listing_ends_whatever_is_made_meanwhile() {
    let fs = MemFs::new();
    (0..5).for_each(|i| fs.file(format!("old{i}"), 0o644).unwrap());
    let dir = read_only(&fs, "/");
    let (mut last, mut seen) = (0, Vec::new());
    while let Some(entry) = list(&*dir, last, 1).pop() {
        last = entry.cookie;
        fs.file(format!("new{}", seen.len()), 0o644).unwrap();
        fs.rename(&entry.name, format!("renamed{}", seen.len())).unwrap();
        seen.push(entry.name);
    }
    assert_eq!(seen, ["old4", "old3", "old2", "old1", "old0"]);
}

#[test]
fn a_removed_directory_lists_nothing() {
    let fs = MemFs::new();
    fs.mkdir("d", 0o755).unwrap();
    fs.file("d/f", 0o644).unwrap();
    let dir = read_only(&fs, "d");
    fs.remove("d").unwrap();
    assert!(list(&*dir, 0, usize::MAX).is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Create(usize),
    Unlink(usize),
    Rename(usize, usize),
    /// A rename onto a name that stays: the name then leads to another node, but exists all the
    /// time.
    Replace(usize, usize),
    Exchange(usize, usize),
    Move(usize),
    List(usize),
}

const STAYING: usize = 20;
const COMING: usize = 40;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..COMING).prop_map(Step::Create),
        3 => (0..COMING).prop_map(Step::Unlink),
        2 => (0..COMING, 0..COMING).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (0..COMING, 0..STAYING).prop_map(|(from, to)| Step::Replace(from, to)),
        1 => (0..COMING, 0..STAYING).prop_map(|(from, to)| Step::Exchange(from, to)),
        1 => (0..COMING).prop_map(Step::Move),
        2 => (1..10usize).prop_map(Step::List),
    ]
}

fn change(fs: &MemFs, step: &Step) {
    let (coming, staying) = (|i: &usize| format!("d/c{i}"), |i: &usize| format!("d/s{i}"));
    // Any step may fail, since a name is missing or exists.
    let _ = match step {
        Step::Create(name) => fs.file(coming(name), 0o644),
        Step::Unlink(name) => fs.unlink(coming(name)),
        Step::Rename(from, to) => fs.rename(coming(from), coming(to)),
        Step::Replace(from, to) => fs.rename(coming(from), staying(to)),
        Step::Exchange(one, two) => fs.rename_with(coming(one), staying(two), RenameFlags::EXCHANGE),
        Step::Move(name) => fs.rename(coming(name), format!("e/{name}")),
        Step::List(_) => Ok(()),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn what_stays_is_listed_once(steps in proptest::collection::vec(step(), 1..300), mixed in 0..STAYING) {
        let fs = MemFs::new();
        fs.mkdir("d", 0o755).unwrap();
        fs.mkdir("e", 0o755).unwrap();
        for i in 0..STAYING {
            fs.file(format!("d/s{i}"), 0o644).unwrap();
            if i < mixed {
                change(&fs, &Step::Create(i));
            }
        }
        let dir = read_only(&fs, "d");
        let mut seen: HashMap<String, u64> = HashMap::new();
        let mut last = 0;
        let mut note = |entries: Vec<Listed>, last: &mut u64| {
            for entry in entries {
                assert!(entry.cookie > *last && entry.cookie >= FIRST_COOKIE);
                *last = entry.cookie;
                *seen.entry(entry.name).or_default() += 1;
            }
        };
        for step in &steps {
            change(&fs, step);
            if let Step::List(most) = step {
                note(list(&*dir, last, *most), &mut last);
            }
        }
        note(list(&*dir, last, usize::MAX), &mut last);
        for i in 0..STAYING {
            assert_eq!(seen.get(&format!("s{i}")), Some(&1), "s{i}");
        }
        let mut now: Vec<_> = list(&*dir, 0, usize::MAX).into_iter().map(|entry| entry.name.into_bytes()).collect();
        now.sort();
        assert_eq!(now, fs.list("d").unwrap());
    }
}

#[test]
fn what_stays_is_listed_once_beside_other_threads() {
    let fs = MemFs::new();
    fs.mkdir("d", 0o755).unwrap();
    let dir = read_only(&fs, "d");
    let stays = |i: usize| format!("s{i}");
    for i in 0..STAYING {
        fs.file(format!("d/{}", stays(i)), 0o644).unwrap();
        change(&fs, &Step::Create(i));
    }
    std::thread::scope(|scope| {
        let changing: Vec<_> = (0..2)
            .map(|thread| {
                let fs = &fs;
                scope.spawn(move || {
                    for i in 0..20_000 {
                        let name = i * 7 % (COMING / 2) * 2 + thread;
                        let steps =
                            [Step::Create(name), Step::Replace(name, i % STAYING), Step::Create(name), Step::Unlink(name)];
                        change(fs, &steps[i % steps.len()]);
                    }
                })
            })
            .collect();
        while !changing.iter().all(|thread| thread.is_finished()) {
            let (mut last, mut seen) = (0, HashMap::new());
            loop {
                let entries = list(&*dir, last, 3);
                let Some(end) = entries.last() else { break };
                last = end.cookie;
                entries.into_iter().for_each(|entry| *seen.entry(entry.name).or_insert(0) += 1);
            }
            (0..STAYING).for_each(|i| assert_eq!(seen.get(&stays(i)), Some(&1), "{}", stays(i)));
        }
    });
    assert_eq!((fs.usage().held, fs.usage().unlinked), (1, 0));
}
