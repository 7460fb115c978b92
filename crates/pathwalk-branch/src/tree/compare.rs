//! The comparison of two trees.
//!
//! Both are passed through in the order of their keys. A node that both share is skipped. To meet
//! it, the tree whose next key is lower is gone through first, and of two nodes that begin with one
//! key, the higher is opened.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Key, Node, Part, Tree, first};

/// A row that two trees do not have alike.
#[derive(Debug, PartialEq)]
pub(crate) struct Difference<V> {
    pub(crate) key: Key,
    pub(crate) old: Option<V>,
    pub(crate) new: Option<V>,
}

impl<V: Clone + PartialEq> Tree<V> {
    /// Returns the rows in which a tree differs from an older one, in order. Cost: the nodes that
    /// the trees do not share, each with the path to it.
    pub(crate) fn since(&self, old: &Tree<V>) -> Vec<Difference<V>> {
        let (mut old, mut new) = (Cursor::new(old), Cursor::new(self));
        let mut found = Vec::new();
        loop {
            let order = match (old.top(), new.top()) {
                (None, None) => return found,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some(left), Some(right)) if left.is_same(right) => {
                    old.skip();
                    new.skip();
                    continue;
                }
                (Some(left), Some(right)) => left.first().cmp(right.first()),
            };
            match order {
                Ordering::Less => found.extend(old.step().map(|row| difference(Some(row), None))),
                Ordering::Greater => found.extend(new.step().map(|row| difference(None, Some(row)))),
                Ordering::Equal => found.extend(both(&mut old, &mut new)),
            }
        }
    }
}

fn difference<V: Clone>(old: Option<&(Key, V)>, new: Option<&(Key, V)>) -> Difference<V> {
    let key = old.or(new).map_or_else(|| Key::from(&b""[..]), |(key, _)| Key::clone(key));
    let value = |row: Option<&(Key, V)>| row.map(|(_, value)| value.clone());
    Difference { key, old: value(old), new: value(new) }
}

/// Compares the next rows of two trees, which have one key; or opens the higher of the next parts,
/// which begin with one key.
fn both<V: Clone + PartialEq>(old: &mut Cursor<'_, V>, new: &mut Cursor<'_, V>) -> Option<Difference<V>> {
    let height = |cursor: &Cursor<'_, V>| cursor.top().map_or(0, |top| top.height());
    let (left, right) = (height(old), height(new));
    let of_old = if left >= right { old.step() } else { None };
    let of_new = if right >= left { new.step() } else { None };
    let (of_old, of_new) = (of_old?, of_new?);
    (of_old.1 != of_new.1).then(|| difference(Some(of_old), Some(of_new)))
}

/// The next part of a tree in a comparison: a row, or a whole node with its height.
enum Top<'a, V> {
    Row(&'a (Key, V)),
    Node(&'a Arc<Node<V>>, usize),
}

impl<'a, V> Top<'a, V> {
    fn first(&self) -> &'a [u8] {
        match self {
            Top::Row((key, _)) => key,
            Top::Node(node, _) => first(node),
        }
    }

    fn is_same(&self, other: &Top<'_, V>) -> bool {
        matches!((self, other), (Top::Node(one, _), Top::Node(other, _)) if one.is_same(other))
    }

    fn height(&self) -> usize {
        match self {
            Top::Row(_) => 0,
            Top::Node(_, height) => *height,
        }
    }
}

/// What is left of a tree in a comparison.
struct Cursor<'a, V> {
    /// The parts that are left, the nearest last.
    parts: Vec<Top<'a, V>>,
}

impl<'a, V> Cursor<'a, V> {
    fn new(tree: &'a Tree<V>) -> Cursor<'a, V> {
        let (mut height, mut node) = (1, &*tree.root);
        while let Part::Inner(children) = &node.part {
            node = &children[0].node;
            height += 1;
        }
        let is_empty = matches!(&node.part, Part::Leaf(rows) if rows.is_empty());
        Cursor { parts: if is_empty { Vec::new() } else { vec![Top::Node(&tree.root, height)] } }
    }

    fn top(&self) -> Option<&Top<'a, V>> {
        self.parts.last()
    }

    fn skip(&mut self) {
        self.parts.pop();
    }

    /// Takes the row that comes next; or replaces the node that does by its parts, and returns
    /// none.
    fn step(&mut self) -> Option<&'a (Key, V)> {
        match self.parts.pop()? {
            Top::Row(row) => return Some(row),
            Top::Node(node, height) => match &node.part {
                Part::Leaf(rows) => self.parts.extend(rows.iter().rev().map(Top::Row)),
                Part::Inner(children) => {
                    self.parts.extend(children.iter().rev().map(|child| Top::Node(&child.node, height - 1)));
                }
            },
        }
        None
    }
}
