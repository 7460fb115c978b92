//! Tests of entries and batches.

use pathwalk::{Attributes, FileType};

use super::*;

fn key(i: u128) -> NodeKey {
    NodeKey(i)
}

/// Creates the table root/1/2/3, each node held once.
fn chain() -> Nodes {
    let mut nodes = Nodes::new(key(0));
    nodes.hold_root();
    nodes.hold(key(1), key(0), b"one").unwrap();
    nodes.hold(key(2), key(1), b"two").unwrap();
    nodes.hold(key(3), key(2), b"a name of more than twenty-two bytes").unwrap();
    nodes
}

fn path(nodes: &Nodes, of: u128) -> Option<String> {
    nodes.path_in(key(of), b"").map(|path| String::from_utf8(path).unwrap())
}

#[test]
fn paths_lead_from_the_root() {
    let nodes = chain();
    assert_eq!(path(&nodes, 0).unwrap(), "");
    assert_eq!(path(&nodes, 2).unwrap(), "one/two");
    assert_eq!(nodes.path_in(key(0), b"x").unwrap(), b"x");
    assert_eq!(nodes.path_in(key(2), b"x").unwrap(), b"one/two/x");
    let (dir, name) = nodes.place(key(3)).unwrap();
    assert_eq!((&*dir, name.bytes().len()), (&b"one/two"[..], 36));
    let (dir, name) = nodes.place(key(0)).unwrap();
    assert!(dir.is_empty() && name.bytes().is_empty());
    assert!(nodes.path_in(key(9), b"").is_none());
}

#[test]
fn what_is_above_a_held_node_stays() {
    let mut nodes = chain();
    let one = nodes.memory();
    nodes.forget(key(2));
    nodes.forget(key(1));
    assert_eq!(path(&nodes, 2).unwrap(), "one/two");
    nodes.forget(key(3));
    assert!((1..=3).all(|i| path(&nodes, i).is_none()));
    assert_eq!(nodes.slab.len(), 1);
    assert_eq!(one - nodes.memory(), 48, "the long name is given back");
    nodes.forget(key(3));
    nodes.forget(key(0));
    assert!(path(&nodes, 0).is_some(), "the root stays");
}

#[test]
fn each_hold_takes_a_forget() {
    let mut nodes = chain();
    nodes.hold(key(3), key(0), b"link").unwrap();
    assert_eq!(path(&nodes, 3).unwrap(), "link");
    nodes.forget(key(3));
    assert!(path(&nodes, 3).is_some());
    nodes.forget(key(3));
    assert!(path(&nodes, 3).is_none());
    assert_eq!(nodes.hold(key(4), key(3), b"x"), None, "not in a directory that was forgotten");
}

#[test]
fn nothing_comes_to_lie_below_itself() {
    let mut nodes = chain();
    nodes.hold(key(1), key(2), b"loop").unwrap();
    nodes.hold(key(1), key(1), b"self").unwrap();
    nodes.hold(key(0), key(1), b"root").unwrap();
    assert_eq!(path(&nodes, 2).unwrap(), "one/two");
    assert_eq!(path(&nodes, 0).unwrap(), "");
    nodes.hold(key(2), key(0), b"up").unwrap();
    nodes.hold(key(1), key(2), b"down").unwrap();
    assert_eq!(path(&nodes, 1).unwrap(), "up/down");
}

#[test]
fn guards_go_with_their_node() {
    let mut nodes = chain();
    let before = nodes.heap;
    let guard = Arc::new(Guard::new(&Attributes::new(FileType::Regular, 0), None));
    nodes.set_guard(key(3), Some(Arc::clone(&guard)));
    nodes.set_guard(key(3), Some(guard));
    assert!(nodes.guard(key(3)).is_some() && nodes.heap > before);
    nodes.set_guard(key(3), None);
    assert!(nodes.guard(key(3)).is_none() && nodes.heap == before);
    nodes.set_guard(key(9), None);
}

fn file(name: &str, number: u128) -> (Name<'_>, Node) {
    let attributes = Attributes::new(FileType::Regular, 0o644).with_nlink(1);
    (Name::new(name.as_bytes()).unwrap(), Node::new(key(number), attributes))
}

/// Hands out files `100` to `139` of `root/1/2` together. 110 has two names. The number 200 is far
/// from the others.
fn together(nodes: &mut Nodes) {
    let names: Vec<String> = (100..140).chain([200]).map(|number| number.to_string()).collect();
    let mut files: Vec<_> = names.iter().map(|name| file(name, name.parse().unwrap())).collect();
    files[10].1.attributes.nlink = 2;
    nodes.hold_all(key(2), &files).unwrap();
}

#[test]
fn files_that_are_handed_out_together_are_where_each_would_be() {
    let mut nodes = chain();
    let before = nodes.slab.len();
    together(&mut nodes);
    for number in (100..140).chain([200]) {
        assert_eq!(path(&nodes, number).unwrap(), format!("one/two/{number}"));
        let (dir, name) = nodes.place(key(number)).unwrap();
        assert_eq!((&*dir, name.bytes()), (&b"one/two"[..], number.to_string().as_bytes()));
    }
    assert!(nodes.path_in(key(105), b"x").is_none(), "it is no directory");
    // The entries are that of the file with two names and that of the distant file. The batches are
    // 100 to 109, 111 to 127 and 128 to 139.
    assert_eq!((nodes.slab.len() - before, nodes.hold_all(key(77), &[])), (2, None));
    for number in [2, 1, 3].into_iter().chain(100..140) {
        nodes.forget(key(number));
    }
    assert_eq!(path(&nodes, 200).unwrap(), "one/two/200", "what is above it stays");
    nodes.forget(key(200));
    assert_eq!(nodes.slab.len(), 1, "only the root");
    nodes.forget(key(105));
}

#[test]
fn a_file_that_was_handed_out_twice_is_forgotten_twice() {
    let mut nodes = chain();
    together(&mut nodes);
    nodes.hold(key(105), key(0), b"moved").unwrap();
    assert_eq!(path(&nodes, 105).unwrap(), "moved");
    nodes.forget(key(105));
    assert_eq!(path(&nodes, 105).unwrap(), "one/two/105");
    nodes.forget(key(105));
    assert_eq!(path(&nodes, 105), None);
    together(&mut nodes);
    nodes.forget(key(106));
    assert_eq!(path(&nodes, 106).unwrap(), "one/two/106");
}

#[test]
fn of_a_file_of_a_batch_a_guard_is_kept() {
    let mut nodes = chain();
    together(&mut nodes);
    nodes.refresh_guard(key(105), None);
    let before = nodes.slab.len();
    let guard = Arc::new(Guard::new(&Attributes::new(FileType::Regular, 0), None));
    nodes.set_guard(key(105), Some(guard));
    assert!(nodes.guard(key(105)).is_some() && nodes.slab.len() == before + 1);
    assert_eq!(path(&nodes, 105).unwrap(), "one/two/105");
    nodes.forget(key(105));
    assert!(nodes.guard(key(105)).is_none() && path(&nodes, 105).is_none() && nodes.slab.len() == before);
}
