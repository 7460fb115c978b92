//! Circles of imports: sets of files of which each leads to each of the others.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::Import;

/// Returns the sets of more than `longest` modules that lead to each other, each sorted.
pub(super) fn of(modules: &BTreeSet<String>, imports: &[Import], longest: usize) -> Vec<Vec<String>> {
    let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for Import { from, to, .. } in imports {
        next.entry(from).or_default().insert(to);
    }
    let reach: BTreeMap<&str, BTreeSet<&str>> = modules.iter().map(|module| (&**module, reachable(module, &next))).collect();
    let mut circles = BTreeSet::new();
    for (module, reached) in &reach {
        let circle: Vec<String> =
            reached.iter().filter(|other| reach[**other].contains(module)).map(|other| (*other).to_owned()).collect();
        if circle.len() > longest {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// Returns all modules that the imports of one module lead to.
fn reachable<'a>(from: &'a str, next: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for other in next.get(module).into_iter().flatten() {
            if seen.insert(*other) {
                open.push(other);
            }
        }
    }
    seen
}
