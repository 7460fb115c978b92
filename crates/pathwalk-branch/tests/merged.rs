//! Merges of text that a branch and its base have both changed: the base has no old text any more.
//!
//! `PATHWALK_BRANCH_ROUNDS` is the number of rounds of the random test.

use crate::common::Ground;
use fastrand::Rng;
use pathwalk::{Context, Errno, OpenFlags};
use pathwalk_branch::{Answer, Error, Resolution};

/// The text that both had in common.
const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/// The text with the branch's line, with the base's, and with both.
const OURS: &str = "one\nTWO of the branch\nthree\nfour\nfive\nsix\nseven\n";
const THEIRS: &str = "one\ntwo\nthree\nfour\nfive\nSIX of the base\nseven\n";
const BOTH: &str = "one\nTWO of the branch\nthree\nfour\nfive\nSIX of the base\nseven\n";

fn fill(base: &Context) {
    base.mkdir("/dir", 0o755).unwrap();
    base.write("/dir/file", OLD).unwrap();
}

/// A way to give a file another text.
type Save = fn(&Context, &str);

/// Writes into the file.
fn in_place(context: &Context, text: &str) {
    context.write("/dir/file", text).unwrap();
}

/// Writes what differs, and leaves the rest.
fn in_part(context: &Context, text: &str) {
    let old = context.read("/dir/file").unwrap();
    let file = context.open("/dir/file", OpenFlags::WRITE).unwrap();
    let same = old.iter().zip(text.as_bytes()).take_while(|(old, new)| old == new).count();
    file.write_all_at(&text.as_bytes()[same..], same as u64).unwrap();
    file.set_len(text.len() as u64).unwrap();
}

/// Puts a new file in the place of the old one.
fn by_another(context: &Context, text: &str) {
    context.write("/dir/.new", text).unwrap();
    context.rename("/dir/.new", "/dir/file").unwrap();
}

/// Lets the branch change the file, and then the base.
fn both_change(ground: &Ground, ours: Save, theirs: Save) {
    ours(&ground.fork(None, "work"), OURS);
    // The clock of a host's file system ticks a few hundred times a second.
    std::thread::sleep(std::time::Duration::from_millis(12));
    theirs(&ground.base, THEIRS);
    ground.branches.catch_up();
}

fn merge() -> Resolution {
    Resolution::all(Answer::Merge)
}

#[test]
fn a_text_that_both_changed_is_merged_over_the_base() {
    let saves: [(&str, Save); 3] = [("in place", in_place), ("in part", in_part), ("by another", by_another)];
    for (how_ours, ours) in saves {
        for (how_theirs, theirs) in saves {
            for mut ground in Ground::each(fill) {
                let what = format!("{how_ours}, then {how_theirs}, on {}", ground.name);
                both_change(&ground, ours, theirs);
                if ground.is_stored() {
                    ground.reopen();
                }
                let plain = ground.branches.commit("work");
                assert!(matches!(plain, Err(Error::Conflicts { .. })), "{what}");
                ground.branches.commit_with("work", &merge()).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(ground.base.read_to_string("/dir/file").unwrap(), BOTH, "{what}");
            }
        }
    }
}

#[test]
fn after_a_rebase_the_text_of_the_base_is_the_old_one() {
    let saves: [(&str, Save); 2] = [("in place", in_place), ("by another", by_another)];
    for (how_ours, ours) in saves {
        for (how_theirs, theirs) in saves {
            for ground in Ground::each(fill) {
                let what = format!("{how_ours}, then {how_theirs}, on {}", ground.name);
                both_change(&ground, ours, theirs);
                ground.branches.rebase("work", &merge()).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(ground.again("work").read_to_string("/dir/file").unwrap(), BOTH, "{what}");
                // What the base does to its own line again is no conflict with the merge.
                std::thread::sleep(std::time::Duration::from_millis(12));
                theirs(&ground.base, &THEIRS.replace("SIX", "Six"));
                ground.branches.catch_up();
                ground.branches.commit_with("work", &merge()).unwrap_or_else(|error| panic!("{what}: {error}"));
                let expected = BOTH.replace("SIX", "Six");
                assert_eq!(ground.base.read_to_string("/dir/file").unwrap(), expected, "{what}");
            }
        }
    }
}

/// Changes some lines of a text.
fn with_lines(old: &[String], changed: &[(usize, String)]) -> String {
    let line = |(at, line): (usize, &String)| match changed.iter().find(|(of, _)| *of == at) {
        Some((_, new)) => format!("{new}\n"),
        None => format!("{line}\n"),
    };
    old.iter().enumerate().map(line).collect()
}

#[test]
fn random_texts_are_merged_over_the_base() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let rounds = std::env::var("PATHWALK_BRANCH_ROUNDS").map_or(10, |rounds| rounds.parse().expect("it is a number"));
    let saves: [Save; 3] = [in_place, in_part, by_another];
    for round in 0..rounds {
        let old: Vec<String> = (0..random.usize(2..200)).map(|line| format!("{line} {}", random.u32(..))).collect();
        // Each other line may be changed, by one of the two.
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for at in (0..old.len()).step_by(2) {
            match random.u8(..6) {
                0 => ours.push((at, "of the branch".to_owned())),
                1 => theirs.push((at, "of the base\nand a new line".to_owned())),
                _ => {}
            }
        }
        if ours.is_empty() || theirs.is_empty() {
            continue;
        }
        let (one, other) = (with_lines(&old, &ours), with_lines(&old, &theirs));
        let both = with_lines(&old, &[ours, theirs].concat());
        let (save_ours, save_theirs) = (saves[random.usize(..3)], saves[random.usize(..3)]);
        let is_rebased = random.bool();
        for ground in Ground::each(|base| {
            base.mkdir("/dir", 0o755).unwrap();
            base.write("/dir/file", with_lines(&old, &[])).unwrap();
        }) {
            let what = format!("seed {seed}, round {round} on {}", ground.name);
            save_ours(&ground.fork(None, "work"), &one);
            std::thread::sleep(std::time::Duration::from_millis(12));
            save_theirs(&ground.base, &other);
            ground.branches.catch_up();
            if is_rebased {
                ground.branches.rebase("work", &merge()).unwrap_or_else(|error| panic!("{what}: {error}"));
                assert_eq!(ground.again("work").read_to_string("/dir/file").unwrap(), both, "{what}");
                ground.branches.commit("work").unwrap_or_else(|error| panic!("{what}: {error}"));
            } else {
                ground.branches.commit_with("work", &merge()).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            assert_eq!(ground.base.read_to_string("/dir/file").unwrap(), both, "{what}");
        }
    }
}

#[test]
fn what_is_no_text_or_too_long_stays_a_conflict() {
    let long = "line\n".repeat(210_000);
    let cases = [("a zero byte", "one\n\0\ntwo\n".to_owned()), ("more than 1 MiB", long), ("the same line", OLD.to_owned())];
    for (what, old) in cases {
        for ground in Ground::each(|base| base.write("/file", &old).unwrap()) {
            let work = ground.fork(None, "work");
            work.write("/file", format!("branch {old}")).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(12));
            ground.base.write("/file", format!("base {old}")).unwrap();
            ground.branches.catch_up();
            let merged = ground.branches.commit_with("work", &merge());
            assert!(matches!(merged, Err(Error::Conflicts { .. })), "{what} on {}", ground.name);
            let shown = work.read_to_string("/file");
            assert_eq!(shown.unwrap_or_default(), format!("branch {old}"), "{what} on {}", ground.name);
        }
    }
}

#[test]
fn a_text_is_kept_once_and_goes_with_the_branch() {
    let [ground, ..] = Ground::each(fill);
    let work = ground.fork(None, "work");
    let before = ground.branches.stored();
    in_part(&work, OURS);
    let after = ground.branches.stored();
    assert!(after - before >= OLD.len() as u64, "{before} and {after} bytes");
    in_part(&work, OURS);
    work.chmod("/dir/file", 0o600).unwrap();
    assert!(ground.branches.stored() - after <= OURS.len() as u64);
    drop(work);
    ground.branches.drop("work").unwrap();
    assert_eq!(ground.branches.stored(), before);
    // What is not changed in its data is not kept.
    let work = ground.fork(None, "work");
    work.chmod("/dir/file", 0o600).unwrap();
    work.remove_file("/dir/file").unwrap();
    assert_eq!((ground.branches.stored(), work.stat("/dir/file").err()), (before, Some(Errno::ENOENT)));
}
