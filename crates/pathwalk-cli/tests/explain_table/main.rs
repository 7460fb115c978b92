//! Compares `explain` with the kernel. Each case is asked as several users: of the running kernel
//! (in threads with the users' own credentials), of the engine's own steps, and of the program with
//! `--as`. The answer must be that of `stat(2)` or `lstat(2)`, the accesses to the node those of
//! `faccessat2(2)`, and the reported rule the one that the case names.
//!
//! - `tree`: the nodes.
//! - `cases`: the questions, and the rule for each user.
//! - `asked`: the three sources of answers.
//! - `landlock`: rulesets that are given in files, beside a thread that restricts itself.
//!
//! Needs root and a mount namespace. Reports what was skipped where they are not available.

mod asked;
mod cases;
mod landlock;
mod tree;

use std::collections::BTreeSet;

use pathwalk_tests::place::{Filesystem, Place, Protection, Users, in_a_place};
use pathwalk_tests::skipped;

use asked::{Answer, Engine, Kernel, User, WANTS, access, program};
use cases::{Case, KnownTo, Wants, all, sticky};

/// The users.
const USERS: [User; 7] = [
    User { name: "root", uid: 0, gid: 0, groups: &[] },
    User { name: "owner", uid: 1000, gid: 1000, groups: &[] },
    User { name: "member", uid: 1001, gid: 1001, groups: &[7, 1000] },
    User { name: "primary", uid: 1005, gid: 1000, groups: &[] },
    User { name: "other", uid: 1002, gid: 1002, groups: &[] },
    User { name: "listed", uid: 1003, gid: 1003, groups: &[] },
    User { name: "grouped", uid: 1004, gid: 1004, groups: &[3000] },
];

/// Asks each case with `--want` as each user: one access of the seven, or all of them where the
/// case says so. The exit code and the reported answer must be the kernel's.
fn check_wanted(place: &Place, cases: &[Case]) {
    let (mut wrong, mut asked, mut granted) = (Vec::new(), 0, 0);
    for (number, user) in USERS.iter().enumerate() {
        let kernel = Kernel::answers(place, user, cases).expect("a thread may become any user");
        for (i, (case, theirs)) in cases.iter().zip(kernel).enumerate() {
            let all = case.wants == Wants::Every;
            for want in (0..WANTS).filter(|want| all || *want == (i + number) % WANTS).map(access) {
                let told = program(&place.dir, user, case, Some(want));
                let theirs_wanted = theirs.wanted(want);
                let what = format!("{} as {}, wanted {want:?}", case.shown(), user.name);
                if told.code != i32::from(theirs_wanted.is_err()) {
                    wrong.push(format!("{what}: the program exits with {}, the kernel says {theirs_wanted:?}", told.code));
                }
                let is_reached = matches!(theirs, Answer::Reached(_));
                if told.wanted != is_reached.then_some(theirs_wanted) {
                    wrong.push(format!("{what}: the program says {:?}, the kernel {theirs_wanted:?}", told.wanted));
                }
                asked += 1;
                granted += usize::from(theirs_wanted.is_ok());
            }
        }
    }
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
    println!("{asked} accesses, {granted} of them granted");
}

/// Returns whether the tree can be made here.
fn is_possible(place: &Place) -> bool {
    let is = place.users == Users::All && place.filesystem == Filesystem::OwnTmpfs;
    if !is {
        skipped("the table", "it needs several users and mounts: run it as root");
    }
    is
}

/// Returns the cases that do not depend on nodes which are missing here.
fn without(cases: Vec<Case>, missing: &[&str]) -> Vec<Case> {
    let is_there = |case: &Case| !missing.iter().any(|name| case.path.starts_with(format!("/{name}").as_bytes()));
    cases.into_iter().filter(is_there).collect()
}

/// Asks each case as each user, and reports all that differ.
fn check(place: &Place, cases: &[Case]) {
    let mut wrong = Vec::new();
    let mut rules = BTreeSet::new();
    for user in &USERS {
        let kernel = Kernel::answers(place, user, cases).expect("a thread may become any user");
        let engine = Engine::over(&place.dir, user);
        for (case, theirs) in cases.iter().zip(kernel) {
            let ours = engine.answer(case);
            let told = program(&place.dir, user, case, None);
            let rule = case.rule_for(user.name);
            let what = format!("{} as {}", case.shown(), user.name);
            if ours != theirs && case.known_to == KnownTo::AllUsers {
                wrong.push(format!("{what}: the engine says {ours:?}, the kernel {theirs:?}"));
            }
            if told.answer != theirs.singles() {
                wrong.push(format!("{what}: the program says {:?}, the kernel {:?}", told.answer, theirs.singles()));
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
fn all_users_get_the_answers_of_the_kernel() {
    in_a_place("all_users_get_the_answers_of_the_kernel", |place| {
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
fn what_is_wanted_is_granted_as_by_the_kernel() {
    in_a_place("what_is_wanted_is_granted_as_by_the_kernel", |place| {
        if !is_possible(place) {
            return;
        }
        let missing = tree::lay_out(&place.dir).expect("the tree fits into a tmpfs");
        check_wanted(place, &without(all(), &missing));
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

/// Tests the program without `--as`: it reports about its own user, as the kernel does.
#[test]
fn who_asks_for_himself_is_told_the_same() {
    in_a_place("who_asks_for_himself_is_told_the_same", |place| {
        if !is_possible(place) {
            return;
        }
        let missing = tree::lay_out(&place.dir).expect("the tree fits into a tmpfs");
        let cases = without(all(), &missing);
        for user in &USERS {
            let kernel = Kernel::answers(place, user, &cases).expect("a thread may become any user");
            for (case, theirs) in cases.iter().zip(kernel) {
                let told = match asked::as_himself(&place.dir, user, case) {
                    Ok(told) => told,
                    Err(why) => return skipped("the program as others run it", &why),
                };
                assert_eq!(
                    (told.answer, &*told.rule),
                    (theirs.singles(), case.rule_for(user.name)),
                    "{} as {}",
                    case.shown(),
                    user.name
                );
            }
        }
    });
}
