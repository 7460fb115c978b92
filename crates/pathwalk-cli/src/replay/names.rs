//! The names where lookups ended, as a tree: each is stored once, however many lookups ended at it
//! or below.
//!
//! A name's parent has a lower number than the name, and the root is number 0.

use std::collections::HashMap;

/// The number of a name.
pub(crate) type NameId = u32;

/// The names below the root.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// The parent and the name, by number.
    nodes: Vec<(NameId, Box<[u8]>)>,
    numbers: HashMap<(NameId, Box<[u8]>), NameId>,
}

impl Names {
    /// The number of the root.
    pub(crate) const ROOT: NameId = 0;

    /// Creates a tree with only the root.
    pub(crate) fn new() -> Names {
        Names { nodes: vec![(Names::ROOT, b"/"[..].into())], numbers: HashMap::new() }
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the number of a canonical path.
    pub(crate) fn number(&mut self, path: &[u8]) -> NameId {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty());
        names.fold(Names::ROOT, |parent, name| self.below(parent, name))
    }

    /// Returns the number of a name in a directory.
    pub(crate) fn below(&mut self, parent: NameId, name: &[u8]) -> NameId {
        let next = NameId::try_from(self.nodes.len()).expect("fewer than 2^32 lookups are distinct");
        let key = (parent, Box::from(name));
        *self.numbers.entry(key).or_insert_with_key(|(parent, name)| {
            self.nodes.push((*parent, name.clone()));
            next
        })
    }

    /// Returns the last component, or `/` for the root.
    pub(crate) fn name(&self, of: NameId) -> &[u8] {
        &self.nodes[of as usize].1
    }

    /// Returns the directory above. The root's parent is the root itself.
    pub(crate) fn parent(&self, of: NameId) -> NameId {
        self.nodes[of as usize].0
    }

    /// Returns the whole path.
    pub(crate) fn path(&self, of: NameId) -> Vec<u8> {
        let mut chain = Vec::new();
        let mut at = of;
        while at != Names::ROOT {
            chain.push(self.name(at));
            at = self.parent(at);
        }
        let path: Vec<u8> = chain.into_iter().rev().flat_map(|name| [b"/", name].concat()).collect();
        if path.is_empty() { b"/".to_vec() } else { path }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_one_number() {
        let mut names = Names::new();
        let deep = names.number(b"/usr/lib/\xff");
        assert_eq!((names.number(b"/usr//lib/\xff/"), names.len()), (deep, 4));
        assert_eq!((names.path(deep), names.name(deep)), (b"/usr/lib/\xff".to_vec(), &b"\xff"[..]));
        let lib = names.parent(deep);
        assert_eq!((names.path(lib), names.below(lib, b"x")), (b"/usr/lib".to_vec(), 4));
        assert_eq!((names.number(b"/"), names.path(Names::ROOT)), (Names::ROOT, b"/".to_vec()));
        assert_eq!(names.parent(Names::ROOT), Names::ROOT);
    }
}
