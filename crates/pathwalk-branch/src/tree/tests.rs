//! The tree beside `BTreeMap`, and what its clones share.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Insert(u16, u8),
    Remove(u16),
    Change(u16, u8),
    Fork,
    Back,
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..600u16;
    prop_oneof![
        6 => (key.clone(), any::<u8>()).prop_map(|(key, value)| Step::Insert(key, value)),
        5 => key.clone().prop_map(Step::Remove),
        2 => (key, any::<u8>()).prop_map(|(key, value)| Step::Change(key, value)),
        1 => Just(Step::Fork),
        1 => Just(Step::Back),
    ]
}

fn bytes(key: u16) -> Vec<u8> {
    // Of several lengths, some the beginning of others.
    let digits = key.to_string().into_bytes();
    if key.is_multiple_of(3) { [&digits[..], b"/x"].concat() } else { digits }
}

/// Checks the shape, and returns the height.
fn check<V>(node: &Node<V>, is_root: bool) -> usize {
    match &node.part {
        Part::Leaf(rows) => {
            assert!(rows.len() <= MOST && (is_root || rows.len() >= LEAST), "{} rows", rows.len());
            assert!(rows.is_sorted_by(|one, other| one.0 < other.0));
            1
        }
        Part::Inner(children) => {
            assert!(children.len() <= MOST && children.len() >= if is_root { 2 } else { LEAST });
            for (at, child) in children.iter().enumerate() {
                assert!(at == 0 || *child.from <= *first(&child.node));
                assert!(children.get(at + 1).is_none_or(|next| **last(&child.node).0 < *next.from));
            }
            let heights: Vec<_> = children.iter().map(|child| check(&child.node, false)).collect();
            assert!(heights.iter().all(|height| *height == heights[0]));
            heights[0] + 1
        }
    }
}

fn assert_equal(tree: &Tree<u8>, map: &BTreeMap<Vec<u8>, u8>) {
    check(&tree.root, true);
    let rows: Vec<_> = tree.range(b"").map(|(key, value)| (key.to_vec(), *value)).collect();
    assert_eq!(rows, map.iter().map(|(key, value)| (key.clone(), *value)).collect::<Vec<_>>());
}

fn differences(new: &BTreeMap<Vec<u8>, u8>, old: &BTreeMap<Vec<u8>, u8>) -> Vec<Difference<u8>> {
    let mut keys: Vec<_> = old.keys().chain(new.keys()).collect();
    keys.sort();
    keys.dedup();
    let all =
        keys.into_iter().map(|key| Difference { key: key[..].into(), old: old.get(key).copied(), new: new.get(key).copied() });
    all.filter(|row| row.old != row.new).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 200 }))]

    #[test]
    fn it_is_a_sorted_map(steps in proptest::collection::vec(step(), 1..1500)) {
        let (mut tree, mut map) = (Tree::default(), BTreeMap::new());
        let mut forks = vec![(tree.clone(), map.clone())];
        for step in steps {
            match step {
                Step::Insert(key, value) => {
                    assert_eq!(tree.insert(&bytes(key), value), map.insert(bytes(key), value));
                }
                Step::Remove(key) => assert_eq!(tree.remove(&bytes(key)), map.remove(&bytes(key))),
                Step::Change(key, value) => {
                    let changed = tree.get_mut(&bytes(key)).map(|place| *place = value);
                    assert_eq!(changed, map.get_mut(&bytes(key)).map(|place| *place = value));
                    let before = tree.before(&bytes(key)).map(|(key, value)| (key.to_vec(), *value));
                    let expected = map.range(..bytes(key)).next_back().map(|(key, value)| (key.clone(), *value));
                    assert_eq!(before, expected);
                    let from: Vec<_> = tree.range(&bytes(key)).map(|(key, _)| key.to_vec()).collect();
                    assert_eq!(from, map.range(bytes(key)..).map(|(key, _)| key.clone()).collect::<Vec<_>>());
                    assert_eq!(tree.get(&bytes(key)), map.get(&bytes(key)));
                }
                Step::Fork => forks.push((tree.clone(), map.clone())),
                Step::Back => (tree, map) = forks[forks.len() / 2].clone(),
            }
        }
        forks.push((tree, map));
        let (last, map) = forks.last().expect("there is one");
        for (fork, of_fork) in &forks {
            assert_equal(fork, of_fork);
            assert_eq!(last.since(fork), differences(map, of_fork));
        }
    }
}

fn full(rows: u32) -> Tree<u32> {
    let mut tree = Tree::default();
    (0..rows).for_each(|row| _ = tree.insert(&row.to_be_bytes(), row));
    tree
}

#[test]
fn a_search_in_a_fork_of_forks_visits_as_many_nodes_as_in_the_first() {
    let first = full(20_000);
    let mut last = first.clone();
    for fork in 0..1000u32 {
        last = last.clone();
        last.insert(&(fork * 7).to_be_bytes(), fork);
    }
    for key in [0u32, 9_999, 19_999] {
        assert_eq!(first.visits(&key.to_be_bytes()), last.visits(&key.to_be_bytes()));
    }
    assert!(first.visits(&[]) <= 4);
}

/// A value that counts its comparisons.
#[derive(Clone)]
struct Counted(std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl PartialEq for Counted {
    fn eq(&self, _: &Counted) -> bool {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        true
    }
}

#[test]
fn a_comparison_costs_what_was_changed() {
    let compared = std::sync::Arc::default();
    let mut old = Tree::default();
    (0..100_000u32).for_each(|row| _ = old.insert(&row.to_be_bytes(), Counted(std::sync::Arc::clone(&compared))));
    let mut new = old.clone();
    for row in [5u32, 50_000, 99_999] {
        new.remove(&row.to_be_bytes());
    }
    // It moves the borders of nodes beside those that it does not touch.
    (0..100u32)
        .for_each(|row| _ = new.insert(&[&70_000u32.to_be_bytes()[..], &row.to_be_bytes()].concat(), Counted(compared.clone())));
    assert_eq!(new.since(&old).len(), 103);
    let compared = compared.load(std::sync::atomic::Ordering::Relaxed);
    assert!(compared <= 8 * MOST, "{compared} rows were compared");
}
