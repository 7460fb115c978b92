//! A persistent ordered map with byte keys: a B-tree whose nodes are shared by its clones.
//!
//! A clone costs one reference count, whatever the size. A change copies the nodes from the root to
//! the leaf as far as another tree shares them, and changes the others in place. Two trees are
//! compared without a visit to what they share.
//!
//! What always holds: keys are in order; all leaves are at one depth; a node other than the root
//! has at least [`LEAST`] and at most [`MOST`] rows or children.
//!
//! A node has a number once it was stored. A change of it, and a copy, has none. So a node with a
//! number is as it was stored, and so are all below it.
//!
//! What it does not do: it has no lock. The crates for persistent maps (`imbl`, `rpds`) show
//! neither their nodes nor which of them two maps share, and both are needed: to compare two trees
//! in the time of their differences, and to store changed nodes one by one.

mod compare;
mod stored;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

pub(crate) use compare::Difference;
pub(crate) use stored::{Parts, Shape};

/// The key of a row.
pub(crate) type Key = Arc<[u8]>;

/// The number of rows of a leaf, or of children of another node, beyond which it is split.
const MOST: usize = 32;

/// The number of rows or children below which a node is joined with its neighbour.
const LEAST: usize = MOST / 4;

/// The map.
#[derive(Clone)]
pub(crate) struct Tree<V> {
    root: Arc<Node<V>>,
}

/// A node: its content, and the number under which it was stored.
pub(crate) struct Node<V> {
    /// 0 if it was not stored.
    number: AtomicU64,
    part: Part<V>,
}

#[derive(Clone)]
enum Part<V> {
    Leaf(Vec<(Key, V)>),
    Inner(Vec<Child<V>>),
}

#[derive(Clone)]
struct Child<V> {
    /// A key that is not greater than any in the node, and greater than all in the one before.
    from: Key,
    node: Arc<Node<V>>,
}

impl<V: Clone> Clone for Node<V> {
    /// Returns a copy, which is about to be changed.
    fn clone(&self) -> Node<V> {
        self.part.clone().into()
    }
}

impl<V> From<Part<V>> for Node<V> {
    fn from(part: Part<V>) -> Node<V> {
        Node { number: AtomicU64::new(0), part }
    }
}

impl<V> Part<V> {
    fn node(self) -> Arc<Node<V>> {
        Arc::new(self.into())
    }
}

/// Returns the content of a node for a change. No other tree shares the node afterwards.
fn change<V: Clone>(node: &mut Arc<Node<V>>) -> &mut Part<V> {
    let node = Arc::make_mut(node);
    *node.number.get_mut() = 0;
    &mut node.part
}

impl<V> Default for Tree<V> {
    fn default() -> Self {
        Tree { root: Part::Leaf(Vec::new()).node() }
    }
}

impl<V: Clone> Tree<V> {
    /// Returns the value of a key.
    pub(crate) fn get(&self, key: &[u8]) -> Option<&V> {
        let mut node = &*self.root;
        loop {
            match &node.part {
                Part::Leaf(rows) => return find(rows, key).ok().map(|at| &rows[at].1),
                Part::Inner(children) => node = &children[child_of(children, key)].node,
            }
        }
    }

    /// Returns the value of a key for a change in place. The nodes on the way are no longer shared
    /// afterwards.
    pub(crate) fn get_mut(&mut self, key: &[u8]) -> Option<&mut V> {
        self.get(key)?;
        let mut node = change(&mut self.root);
        loop {
            match node {
                Part::Leaf(rows) => return find(rows, key).ok().map(|at| &mut rows[at].1),
                Part::Inner(children) => {
                    let at = child_of(children, key);
                    node = change(&mut children[at].node);
                }
            }
        }
    }

    /// Sets the value of a key. Returns the one before.
    pub(crate) fn insert(&mut self, key: &[u8], value: V) -> Option<V> {
        let (before, split) = insert(change(&mut self.root), key, value);
        if let Some(right) = split {
            let left = std::mem::replace(&mut self.root, Part::Leaf(Vec::new()).node());
            let left = Child { from: Key::from(&b""[..]), node: left };
            self.root = Part::Inner(vec![left, right]).node();
        }
        before
    }

    /// Removes a key. Returns its value.
    pub(crate) fn remove(&mut self, key: &[u8]) -> Option<V> {
        self.get(key)?;
        let removed = remove(change(&mut self.root), key);
        while let Part::Inner(children) = &self.root.part
            && let [only] = &children[..]
        {
            self.root = only.node.clone();
        }
        removed
    }

    /// Returns the rows from a key on, in order.
    pub(crate) fn range(&self, from: &[u8]) -> Rows<'_, V> {
        let (mut stack, mut node) = (Vec::new(), &*self.root);
        loop {
            match &node.part {
                Part::Leaf(rows) => {
                    let rest = &rows[rows.partition_point(|(key, _)| &key[..] < from)..];
                    return Rows { stack, leaf: rest.iter() };
                }
                Part::Inner(children) => {
                    let at = child_of(children, from);
                    stack.push(children[at + 1..].iter());
                    node = &children[at].node;
                }
            }
        }
    }

    /// Returns the rows whose keys begin with these bytes, in order.
    pub(crate) fn with_prefix<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = (&'a Key, &'a V)> {
        self.range(prefix).take_while(move |(key, _)| key.starts_with(prefix))
    }

    /// Returns the last row before a key.
    pub(crate) fn before(&self, key: &[u8]) -> Option<(&Key, &V)> {
        let (mut left, mut node) = (None, &*self.root);
        loop {
            match &node.part {
                Part::Leaf(rows) => match rows.partition_point(|(other, _)| &other[..] < key) {
                    0 => break,
                    at => return Some((&rows[at - 1].0, &rows[at - 1].1)),
                },
                Part::Inner(children) => {
                    let at = child_of(children, key);
                    if at > 0 {
                        left = Some(&*children[at - 1].node);
                    }
                    node = &children[at].node;
                }
            }
        }
        left.map(last)
    }

    /// Returns the number of nodes that a search for a key visits.
    #[cfg(test)]
    pub(crate) fn visits(&self, key: &[u8]) -> usize {
        let (mut visits, mut node) = (1, &*self.root);
        while let Part::Inner(children) = &node.part {
            node = &children[child_of(children, key)].node;
            visits += 1;
        }
        visits
    }
}

/// The rows of a tree from some key on.
pub(crate) struct Rows<'a, V> {
    /// The children that come behind the leaf, the nearest last.
    stack: Vec<std::slice::Iter<'a, Child<V>>>,
    leaf: std::slice::Iter<'a, (Key, V)>,
}

impl<'a, V> Iterator for Rows<'a, V> {
    type Item = (&'a Key, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.leaf.next() {
                return Some((key, value));
            }
            let Some(child) = self.stack.last_mut()?.next() else {
                self.stack.pop();
                continue;
            };
            match &child.node.part {
                Part::Leaf(rows) => self.leaf = rows.iter(),
                Part::Inner(children) => self.stack.push(children.iter()),
            }
        }
    }
}

fn find<V>(rows: &[(Key, V)], key: &[u8]) -> Result<usize, usize> {
    rows.binary_search_by(|(other, _)| other[..].cmp(key))
}

/// Returns the child in which a key is, if the node has it.
fn child_of<V>(children: &[Child<V>], key: &[u8]) -> usize {
    children.partition_point(|child| &child.from[..] <= key).saturating_sub(1)
}

fn first<V>(node: &Node<V>) -> &[u8] {
    let mut node = node;
    loop {
        match &node.part {
            Part::Leaf(rows) => return &rows[0].0,
            Part::Inner(children) => node = &children[0].node,
        }
    }
}

fn last<V>(node: &Node<V>) -> (&Key, &V) {
    let mut node = node;
    loop {
        match &node.part {
            Part::Leaf(rows) => {
                let (key, value) = &rows[rows.len() - 1];
                return (key, value);
            }
            Part::Inner(children) => node = &children[children.len() - 1].node,
        }
    }
}

/// Sets a key below a node. Returns the value before, and the node that was split off.
fn insert<V: Clone>(node: &mut Part<V>, key: &[u8], value: V) -> (Option<V>, Option<Child<V>>) {
    match node {
        Part::Leaf(rows) => match find(rows, key) {
            Ok(at) => (Some(std::mem::replace(&mut rows[at].1, value)), None),
            Err(at) => {
                rows.insert(at, (key.into(), value));
                let right = (rows.len() > MOST).then(|| rows.split_off(split_at(at, rows.len())));
                (None, right.map(|rows| Child { from: rows[0].0.clone(), node: Part::Leaf(rows).node() }))
            }
        },
        Part::Inner(children) => {
            let at = child_of(children, key);
            let (before, split) = insert(change(&mut children[at].node), key, value);
            if let Some(right) = split {
                children.insert(at + 1, right);
            }
            let right = (children.len() > MOST).then(|| children.split_off(children.len() / 2));
            (before, right.map(|children| Child { from: children[0].from.clone(), node: Part::Inner(children).node() }))
        }
    }
}

/// Returns where a leaf is split: rows that come in order leave full leaves behind.
fn split_at(inserted: usize, length: usize) -> usize {
    if inserted + 1 == length { length - LEAST } else { length / 2 }
}

/// Removes a key that is below a node.
fn remove<V: Clone>(node: &mut Part<V>, key: &[u8]) -> Option<V> {
    match node {
        Part::Leaf(rows) => find(rows, key).ok().map(|at| rows.remove(at).1),
        Part::Inner(children) => {
            let at = child_of(children, key);
            let removed = remove(change(&mut children[at].node), key);
            if children[at].node.part.len() < LEAST && children.len() > 1 {
                join(children, at.min(children.len() - 2));
            }
            removed
        }
    }
}

/// Joins a child with the next one, and splits them anew if they are too many.
fn join<V: Clone>(children: &mut Vec<Child<V>>, at: usize) {
    let right = children.remove(at + 1);
    let left = &mut children[at];
    let from = change(&mut left.node).append(Arc::unwrap_or_clone(right.node).part, right.from);
    if let Some(right) = from {
        children.insert(at + 1, right);
    }
}

impl<V> Part<V> {
    fn len(&self) -> usize {
        match self {
            Part::Leaf(rows) => rows.len(),
            Part::Inner(children) => children.len(),
        }
    }

    /// Takes over the content of the next node, which begins at `from`. Returns the second half if
    /// it is too much for one.
    fn append(&mut self, next: Part<V>, from: Key) -> Option<Child<V>> {
        match (self, next) {
            (Part::Leaf(rows), Part::Leaf(more)) => {
                rows.extend(more);
                let right = (rows.len() > MOST).then(|| rows.split_off(rows.len() / 2))?;
                Some(Child { from: right[0].0.clone(), node: Part::Leaf(right).node() })
            }
            (Part::Inner(children), Part::Inner(more)) => {
                let seam = children.len();
                children.extend(more);
                // The bound of a node's first child may be lower than that of the node.
                children[seam].from = from;
                let right = (children.len() > MOST).then(|| children.split_off(children.len() / 2))?;
                Some(Child { from: right[0].from.clone(), node: Part::Inner(right).node() })
            }
            // All leaves are at one depth.
            _ => unreachable!("neighbours are of one height"),
        }
    }
}

#[cfg(test)]
mod tests;
