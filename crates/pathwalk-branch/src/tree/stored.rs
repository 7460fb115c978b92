//! Nodes as a store sees them: their numbers, their content, and how they are made of it again.

use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Release};

use super::{Child, Key, Node, Part, Tree, first};

/// The content of a node.
pub(crate) enum Parts<'a, V> {
    Rows(&'a [(Key, V)]),
    /// The children, each with a key that is not greater than any in it.
    Children(Vec<(&'a Key, &'a Arc<Node<V>>)>),
}

/// The content of a node that is made.
pub(crate) enum Shape<V> {
    Rows(Vec<(Key, V)>),
    Children(Vec<(Key, Arc<Node<V>>)>),
}

impl<V> Tree<V> {
    pub(crate) fn root(&self) -> &Arc<Node<V>> {
        &self.root
    }

    pub(crate) fn of_root(root: Arc<Node<V>>) -> Tree<V> {
        Tree { root }
    }

    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.root.part, Part::Leaf(rows) if rows.is_empty())
    }
}

impl<V> Node<V> {
    /// Returns the number under which the node was stored; 0 if it was not. Then all nodes below it
    /// have one, too.
    pub(crate) fn number(&self) -> u64 {
        self.number.load(Acquire)
    }

    /// Notes that the node was stored under this number, and all nodes below it before.
    pub(crate) fn set_number(&self, number: u64) {
        self.number.store(number, Release);
    }

    pub(crate) fn parts(&self) -> Parts<'_, V> {
        match &self.part {
            Part::Leaf(rows) => Parts::Rows(rows),
            Part::Inner(children) => Parts::Children(children.iter().map(|child| (&child.from, &child.node)).collect()),
        }
    }

    /// Makes a node that was stored under this number. `None` if that cannot be one: no part, parts
    /// that are not in order, or children of unequal heights.
    pub(crate) fn stored(number: u64, shape: Shape<V>) -> Option<Arc<Node<V>>> {
        let part = match shape {
            Shape::Rows(rows) => {
                let is_one = !rows.is_empty() && rows.is_sorted_by(|(one, _), (other, _)| one < other);
                is_one.then_some(Part::Leaf(rows))?
            }
            Shape::Children(children) => {
                let are_in_order = children.is_sorted_by(|(one, _), (other, _)| one < other);
                let height = children.first()?.1.height();
                let fits = |(at, (from, node)): (usize, &(Key, Arc<Node<V>>))| {
                    node.height() == height && (at == 0 || **from <= *first(node))
                };
                let is_one = are_in_order && children.iter().enumerate().all(fits);
                let child = |(from, node)| Child { from, node };
                is_one.then(|| Part::Inner(children.into_iter().map(child).collect()))?
            }
        };
        let node = part.node();
        node.set_number(number);
        Some(node)
    }

    /// Returns whether two nodes are one, or were stored as one.
    pub(super) fn is_same(self: &Arc<Self>, other: &Arc<Self>) -> bool {
        Arc::ptr_eq(self, other) || (self.number() != 0 && self.number() == other.number())
    }

    fn height(&self) -> usize {
        let (mut height, mut node) = (0, self);
        while let Part::Inner(children) = &node.part {
            node = &children[0].node;
            height += 1;
        }
        height
    }
}
