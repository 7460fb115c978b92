//! Tests of entries and batches.

use pathwalk::{Attributes, FileType};

use super::*;

fn key(i: u128) -> NodeKey {
    NodeKey(i)
}

/// Creates the table root/1/2/3, each node held once.
fn chain() -> Nodes {
    let mut nodes = Nodes::new(key(0), Kept::Newest);
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
fn a_way_is_known_as_long_as_its_last_node_is_held() {
    let mut nodes = Nodes::new(key(0), Kept::All);
    nodes.hold_root();
    let name = |name: &'static [u8]| Name::new(name).unwrap();
    nodes.hold_way(&[(key(1), name(b"a")), (key(2), name(b"b")), (key(3), name(b"c"))]);
    assert_eq!(path(&nodes, 3).unwrap(), "a/b/c");
    let (dir, last, above) = nodes.home(key(3)).unwrap();
    assert_eq!((dir, last.bytes(), &*above), (key(2), &b"c"[..], &b"a/b"[..]));
    assert!(nodes.home(key(0)).is_none());
    // One of its directories is elsewhere by now.
    nodes.hold_way(&[(key(4), name(b"d")), (key(2), name(b"e"))]);
    assert_eq!((path(&nodes, 3).unwrap(), path(&nodes, 2).unwrap()), ("d/e/c".into(), "d/e".into()));
    assert!(nodes.hold_again(key(3)).is_some() && nodes.hold_again(key(9)).is_none());
    [3, 3, 2].into_iter().for_each(|node| _ = nodes.forget(key(node)));
    assert_eq!(nodes.slab.len(), 1);
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

/// Returns some descriptor.
fn descriptor() -> std::os::fd::OwnedFd {
    std::fs::File::open("/dev/null").unwrap().into()
}

/// Creates a table that stores all names, with the directories 1 and 2 in the root.
fn changing() -> (Nodes, NodeKey) {
    // Files and directories have types in their keys.
    let mut nodes = Nodes::new(key(0), Kept::All);
    nodes.hold_root();
    nodes.hold(key(1), key(0), b"one").unwrap();
    nodes.hold(key(2), key(0), b"two").unwrap();
    (nodes, NodeKey(8 << 124 | 3))
}

fn way(nodes: &Nodes, of: NodeKey) -> Option<String> {
    match nodes.whereabouts(of)? {
        Whereabouts::Path(path) => Some(String::from_utf8(path).unwrap()),
        Whereabouts::Kept(_) => Some("kept".to_owned()),
    }
}

#[test]
fn names_take_over_from_one_another_and_then_the_descriptor() {
    let (mut nodes, file) = changing();
    let before = nodes.memory();
    nodes.hold(file, key(1), b"a").unwrap();
    nodes.hold(file, key(2), b"b").unwrap();
    nodes.hold(file, key(2), b"a name of more than twenty-two bytes").unwrap();
    nodes.hold(file, key(1), b"a").unwrap();
    assert_eq!(way(&nodes, file).unwrap(), "one/a");
    nodes.lost(file, key(1), b"a", descriptor());
    nodes.lost(file, key(2), b"a name of more than twenty-two bytes", descriptor());
    assert_eq!(way(&nodes, file).unwrap(), "two/b");
    nodes.moved(file, (key(2), b"b"), (key(1), b"c"));
    assert_eq!(way(&nodes, file).unwrap(), "one/c");
    nodes.lost(file, key(1), b"c", descriptor());
    assert_eq!((way(&nodes, file).unwrap().as_str(), nodes.kept_descriptors()), ("kept", 1));
    assert!(nodes.place(file).is_none() && nodes.path_in(file, b"").is_none());
    nodes.hold(file, key(0), b"again").unwrap();
    assert_eq!((way(&nodes, file).unwrap().as_str(), nodes.kept_descriptors()), ("again", 0));
    nodes.lost(file, key(0), b"again", descriptor());
    (0..5).for_each(|_| _ = nodes.forget(file));
    assert_eq!((way(&nodes, file), nodes.kept_descriptors()), (None, 0));
    drop(nodes.take_done_with());
    assert!(nodes.memory() <= before + 256, "only tables have grown");
    [key(1), key(2)].into_iter().for_each(|dir| _ = nodes.forget(dir));
    assert_eq!(nodes.slab.len(), 1);
}

#[test]
fn a_moved_directory_takes_all_below_along_and_not_into_itself() {
    let (mut nodes, file) = changing();
    nodes.hold(file, key(2), b"f").unwrap();
    nodes.moved(key(2), (key(0), b"two"), (key(1), b"sub"));
    assert_eq!(way(&nodes, file).unwrap(), "one/sub/f");
    nodes.moved(key(1), (key(0), b"one"), (key(2), b"circle"));
    assert_eq!(way(&nodes, file).unwrap(), "one/sub/f");
    // A directory that was removed has no way, and nothing below it has.
    nodes.lost(key(2), key(1), b"sub", descriptor());
    assert_eq!(way(&nodes, key(2)).unwrap(), "kept");
    assert_eq!(way(&nodes, file), None);
    nodes.forget(key(1));
    nodes.forget(key(2));
    nodes.forget(file);
    assert_eq!(nodes.slab.len(), 1);
}

#[test]
fn a_file_without_a_name_is_kept_until_it_gets_one() {
    let (mut nodes, file) = changing();
    nodes.hold_without_name(file, descriptor());
    assert_eq!(way(&nodes, file).unwrap(), "kept");
    nodes.hold(file, key(1), b"named").unwrap();
    nodes.forget(file);
    assert_eq!((way(&nodes, file).unwrap().as_str(), nodes.kept_descriptors()), ("one/named", 0));
    nodes.forget(file);
    assert_eq!(way(&nodes, file), None);
}
