//! Tests: histories that have an order, and some that have none.

use std::collections::BTreeMap;

use pathwalk::{Errno, FileType};

use super::*;
use crate::cast;
use crate::engine::Engine;
use crate::outcome::Interpreter;
use crate::program::Program;

/// An operation, its answer, and the stamps of its beginning and end.
type Told = (&'static str, Answer, u64, u64);

/// Returns whether the search explains threads that did this after `before`, and left the tree that
/// `left` makes.
fn explained_after(before: &str, threads: &[&[Told]], left: &str) -> bool {
    let event = |(line, answer, began, ended): &Told| Event {
        step: line.parse().expect("a step"),
        answer: answer.clone(),
        began: *began,
        ended: *ended,
        undisturbed: false,
        coming_and_going: BTreeSet::new(),
    };
    let mut histories: Vec<Vec<Event>> = threads.iter().map(|told| told.iter().map(event).collect()).collect();
    note_disturbed(&mut histories);
    let program: Program = left.parse().expect("a program");
    let engine = Engine::in_memory().run(&program).expect("the engine carries it out").without_steps();
    let mut world = World::new(Settings::empty()).expect("a model");
    for line in before.lines() {
        world.carry_out(&line.parse().expect("a step"));
    }
    let crowd = Crowd::new(world, &vec![cast::ROOT; threads.len()]).expect("a model");
    Search::new(&histories, &engine).run(crowd) == Found::Order
}

fn explained(threads: &[&[Told]], left: &str) -> bool {
    explained_after("", threads, left)
}

const MKDIR: &str = "root mkdir \"c\" 0755";
const RMDIR: &str = "root rmdir \"c\"";
const EEXIST: Answer = Answer::Failed(Errno::EEXIST);
const ENOENT: Answer = Answer::Failed(Errno::ENOENT);

#[test]
fn one_of_two_may_make_a_name() {
    assert!(explained(&[&[(MKDIR, Answer::Done, 0, 2)], &[(MKDIR, EEXIST, 1, 3)]], MKDIR));
    assert!(explained(&[&[(MKDIR, EEXIST, 0, 2)], &[(MKDIR, Answer::Done, 1, 3)]], MKDIR));
    assert!(!explained(&[&[(MKDIR, Answer::Done, 0, 2)], &[(MKDIR, Answer::Done, 1, 3)]], MKDIR));
}

#[test]
fn what_had_ended_comes_before() {
    assert!(!explained(&[&[(MKDIR, EEXIST, 0, 1)], &[(MKDIR, Answer::Done, 2, 3)]], MKDIR));
}

#[test]
fn the_tree_has_to_come_out() {
    let both: [&[Told]; 2] = [&[(MKDIR, Answer::Done, 0, 2)], &[(RMDIR, Answer::Done, 1, 3)]];
    assert!(explained(&both, "root stat \"/\" -"));
    assert!(!explained(&both, MKDIR));
}

#[test]
fn between_finding_and_naming_others_come() {
    let file = "root mknod \"c\" file 0644";
    let link = "root link \"c\" \"d\" -";
    let moved = "root rename \"c\" \"e\" -";
    let missing = ("root stat \"d\" -", ENOENT, 6, 7);
    // When the new name was made, its source had already been renamed.
    let threads: [&[Told]; 2] =
        [&[(file, Answer::Done, 0, 1), (link, Answer::Done, 2, 9)], &[(moved, Answer::Done, 4, 5), missing]];
    assert!(explained(&threads, &format!("{file}\n{link}\n{moved}")));
}

const TREE: &str = "root mkdir \"a\" 0755\nroot mkdir \"a/c\" 0755\nroot mkdir \"b\" 0755";

/// Checks that `a/c/../d` leads to the directory that `c` is moved into, but only if the move is
/// concurrent.
#[test]
fn a_walk_is_no_snapshot() {
    let make = "root mkdir \"a/c/../d\" 0755";
    let moved = "root rename \"a/c\" \"b/c\" -";
    let left = format!("{TREE}\n{moved}\nroot mkdir \"b/d\" 0755");
    let threads =
        |began, ended| explained_after(TREE, &[&[(make, Answer::Done, 2, 5)], &[(moved, Answer::Done, began, ended)]], &left);
    assert!(threads(3, 4));
    assert!(!threads(0, 1));
    assert!(!threads(6, 7));
}

fn listing(names: &[&str]) -> Answer {
    let entry = |(at, name): (usize, &&str)| (name.as_bytes().to_vec(), (FileType::Directory, at as u64 + 1));
    Answer::Listing(names.iter().enumerate().map(entry).collect::<BTreeMap<_, _>>())
}

#[test]
fn a_listing_has_what_stays() {
    let before = format!("{TREE}\nroot open 0 \"/\" READ 0000");
    let listed = |names: &[&str], began, ended| {
        let moved = ("root rename \"b\" \"d\" -", Answer::Done, began, ended);
        let list = ("root list 0", listing(names), 2, 5);
        explained_after(&before, &[&[list], &[moved]], &format!("{TREE}\nroot rename \"b\" \"d\" -"))
    };
    for names in [&["a", "b"][..], &["a", "d"], &["a"], &["a", "b", "d"]] {
        assert!(listed(names, 3, 4), "{names:?}");
    }
    assert!(!listed(&["b"], 3, 4));
    assert!(!listed(&["a", "c"], 3, 4));
    assert!(!listed(&["a", "a/"], 3, 4));
    assert!(listed(&["a", "d"], 0, 1));
    assert!(!listed(&["a", "b"], 0, 1));
    assert!(!listed(&["a"], 6, 7));
}

#[test]
fn two_who_append_come_one_after_the_other() {
    let before = "root mknod \"f\" file 0644\nroot open 0 \"f\" READ+WRITE+APPEND 0000";
    let write = |byte| if byte == b'a' { "root write 0 97 2" } else { "root write 0 98 2" };
    let read = |data: &[u8]| ("root pread 0 5 0", Answer::Bytes(data.to_vec()), 4, 5);
    let explained = |data: &[u8]| {
        let threads: [&[Told]; 2] =
            [&[(write(b'a'), Answer::Number(2), 0, 2), read(data)], &[(write(b'b'), Answer::Number(2), 1, 3)]];
        let [first, second] = if data == b"aabb" { [b'a', b'b'] } else { [b'b', b'a'] };
        explained_after(before, &threads, &format!("{before}\n{}\n{}", write(first), write(second)))
    };
    assert!(explained(b"aabb") && explained(b"bbaa"));
    assert!(!explained(b"abab"));
}
