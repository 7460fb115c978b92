//! Tests: each attribute that differs is reported as a difference.

use super::*;
use crate::engine::Engine;
use crate::outcome::Interpreter;
use crate::times::Time;

const PROGRAM: &str = "settings OBSERVE+WATCH\nroot mkdir \"/a\" 0755\nroot open 0 \"/a/c\" CREATE+WRITE 0644\nroot write 0 120 9000\nroot stat \"/a/c\" -";

type Change = fn(&mut Node);

/// Returns the kind of the difference that a change of the right side makes.
fn kind(change: impl FnOnce(&mut Transcript)) -> Option<String> {
    let program: Program = PROGRAM.parse().expect("a program");
    let left = Engine::in_memory().run(&program).expect("the engine carries it out");
    let mut right = left.clone();
    change(&mut right);
    first_mismatch(&program, ["left", "right"], &left, &right).map(|mismatch| mismatch.kind)
}

fn node(answer: &mut Answer) -> &mut Node {
    if let Answer::Node(node) = answer { node } else { panic!("it is none") }
}

#[test]
fn each_attribute_is_compared() {
    assert_eq!(kind(|_| {}), None);
    let changes: [(&str, Change); 8] = [
        ("atime", |node| node.atime = Time::set(5, 5)),
        ("mtime", |node| node.mtime = Time::Step(Some(2))),
        ("ctime", |node| node.ctime = Time::Step(Some(4))),
        ("btime", |node| node.btime = Time::Step(Some(1))),
        ("size", |node| node.size += 1),
        ("blocks", |node| node.blocks = 16),
        ("block_size", |node| node.block_size = 512),
        ("flags_mask", |node| node.flags_mask = pathwalk::StatxFlags::VERITY),
    ];
    for (name, change) in changes {
        assert_eq!(kind(|right| change(node(&mut right.outcomes[3].answer))), Some(format!("stat node {name}")));
        let watched = kind(|right| {
            let watched = right.outcomes[2].watched.as_mut().expect("it was watched");
            change(watched.tree.get_mut(&b"/a/c"[..]).expect("it is there"));
        });
        assert_eq!(watched, Some(format!("write watched {name}")));
        let tree = kind(|right| change(&mut right.tree.get_mut(&b"/a/c"[..]).expect("it is there").node));
        assert!(tree.is_some_and(|kind| kind.starts_with("tree")), "{name}");
    }
}

#[test]
fn paths_of_what_is_open_are_compared() {
    let path = |right: &mut Transcript, path| {
        let watched = right.outcomes[2].watched.as_mut().expect("it was watched");
        watched.slots.get_mut(&0).expect("it is open").path = path;
    };
    assert_eq!(kind(|right| path(right, Some(Ok(b"/a/c".to_vec())))), None);
    assert_eq!(kind(|right| path(right, None)), None);
    assert_eq!(kind(|right| path(right, Some(Err(Errno::ENOENT)))), Some("write path".to_owned()));
}
