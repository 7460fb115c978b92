//! `explain` held against the kernel: every case is asked by several users of the running kernel (in threads with their very
//! credentials), of the engine's own steps, and of the program with `--as`. The answer must be that of `stat(2)` or `lstat(2)`,
//! what may be done with the node that of `faccessat2(2)`, and the rule told the one that the case names.
//!
//! - `tree`: what is looked up; `cases`: what is asked, and the rule for each user; `asked`: the three who answer.
//!
//! Needs root and a mount namespace; says what was skipped where they are not to be had.

mod asked;
mod cases;
mod tree;

use std::collections::BTreeSet;

use pathwalk_tests::place::{Filesystem, Place, Protection, Users, in_a_place};
use pathwalk_tests::skipped;

use asked::{Answer, Engine, Kernel, User, program};
use cases::{Case, KnownTo, all, sticky};

/// Who asks.
const USERS: [User; 7] = [
    User { name: "root", uid: 0, gid: 0, groups: &[] },
    User { name: "owner", uid: 1000, gid: 1000, groups: &[] },
    User { name: "member", uid: 1001, gid: 1001, groups: &[7, 1000] },
    User { name: "primary", uid: 1005, gid: 1000, groups: &[] },
    User { name: "other", uid: 1002, gid: 1002, groups: &[] },
    User { name: "listed", uid: 1003, gid: 1003, groups: &[] },
    User { name: "grouped", uid: 1004, gid: 1004, groups: &[3000] },
];

/// Whether the tree can be had here.
fn is_possible(place: &Place) -> bool {
    let is = place.users == Users::All && place.filesystem == Filesystem::OwnTmpfs;
    if !is {
        skipped("the table", "it needs several users and mounts: run it as root");
    }
    is
}

/// Those that are not about what is missing here.
fn without(cases: Vec<Case>, missing: &[&str]) -> Vec<Case> {
    let is_there = |case: &Case| !missing.iter().any(|name| case.path.starts_with(format!("/{name}").as_bytes()));
    cases.into_iter().filter(is_there).collect()
}

/// Asks each case as each user, and tells all that differ.
fn check(place: &Place, cases: &[Case]) {
    let mut wrong = Vec::new();
    let mut rules = BTreeSet::new();
    for user in &USERS {
        let kernel = Kernel::answers(place, user, cases).expect("a thread may become anybody");
        let engine = Engine::over(&place.dir, user);
        for (case, theirs) in cases.iter().zip(kernel) {
            let ours = engine.answer(case);
            let told = program(&place.dir, user, case);
            let rule = case.rule_for(user.name);
            let what = format!("{} as {}", case.shown(), user.name);
            if ours != theirs && case.known_to == KnownTo::Everybody {
                wrong.push(format!("{what}: the engine says {ours:?}, the kernel {theirs:?}"));
            }
            if told.answer != theirs {
                wrong.push(format!("{what}: the program says {:?}, the kernel {theirs:?}", told.answer));
            }
            if told.rule != rule {
                wrong.push(format!("{what}: the rule is told as {}, not {rule}", told.rule));
            }
            if told.code != i32::from(matches!(theirs, Answer::Failed(_))) {
                wrong.push(format!("{what}: the program exits with {}", told.code));
            }
            rules.insert(told.rule);
            let may = case.may.iter().filter(|(who, _)| *who == user.name);
            for (_, expected) in may.filter(|(_, expected)| *expected != told.may.join(" ")) {
                wrong.push(format!("{what}: it may by {}, not by {expected}", told.may.join(" ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    println!("{} cases, {} users, rules: {rules:?}", cases.len(), USERS.len());
}

#[test]
fn everybody_is_told_what_the_kernel_does() {
    in_a_place("everybody_is_told_what_the_kernel_does", |place| {
        if !is_possible(place) {
            return;
        }
        let missing = tree::lay_out(&place.dir).expect("the tree fits into a tmpfs");
        let cases = without(all(), &missing);
        assert!(cases.len() >= 60, "{} cases", cases.len());
        check(place, &cases);
    });
}

#[test]
fn links_in_sticky_directories_are_told_by_the_switch() {
    in_a_place("links_in_sticky_directories_are_told_by_the_switch", |place| {
        if !is_possible(place) {
            return;
        }
        tree::lay_out(&place.dir).expect("the tree fits into a tmpfs");
        for switch in ["0", "1"] {
            match Protection::set(switch) {
                Ok(_protection) => check(place, &sticky(switch == "1")),
                Err(error) => skipped("protected_symlinks", &format!("the switch may not be set here ({error})")),
            }
        }
    });
}

/// Without `--as` the program tells of itself, and is told the same by the kernel.
#[test]
fn who_asks_for_himself_is_told_the_same() {
    in_a_place("who_asks_for_himself_is_told_the_same", |place| {
        if !is_possible(place) {
            return;
        }
        let missing = tree::lay_out(&place.dir).expect("the tree fits into a tmpfs");
        let cases = without(all(), &missing);
        for user in &USERS {
            let kernel = Kernel::answers(place, user, &cases).expect("a thread may become anybody");
            for (case, theirs) in cases.iter().zip(kernel) {
                let told = match asked::as_himself(&place.dir, user, case) {
                    Ok(told) => told,
                    Err(why) => return skipped("the program as others run it", &why),
                };
                assert_eq!((told.answer, &*told.rule), (theirs, case.rule_for(user.name)), "{} as {}", case.shown(), user.name);
            }
        }
    });
}
