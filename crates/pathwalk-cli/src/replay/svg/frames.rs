//! The frames of a picture, and their places.
//!
//! The children of a directory are side by side from its left edge, the widest first. The space
//! left at the right stands for the lookups that ended at the directory itself. Children that are
//! too narrow to see share one frame.

use std::ops::AddAssign;

use super::super::names::{NameId, Names};

/// The width of the narrowest frame in units of the picture.
pub(crate) const NARROWEST: f64 = 0.3;

/// A number of lookups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Weight {
    pub(crate) lookups: u64,
    /// The lookups among them that were answered with `ENOENT`.
    pub(crate) absent: u64,
}

impl Weight {
    /// Returns the share of absent lookups, 0 to 1.
    pub(crate) fn absent_share(self) -> f64 {
        self.absent as f64 / self.lookups.max(1) as f64
    }
}

impl AddAssign for Weight {
    fn add_assign(&mut self, other: Weight) {
        self.lookups += other.lookups;
        self.absent += other.absent;
    }
}

/// The subject of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Of {
    /// A name and everything below it.
    Name(NameId),
    /// A number of names in this directory, each too narrow to see.
    Others(NameId, usize),
}

/// A frame: `x` and `width` in units of the picture, `depth` in rows from the top.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Frame {
    pub(crate) of: Of,
    pub(crate) weight: Weight,
    pub(crate) depth: usize,
    pub(crate) x: f64,
    pub(crate) width: f64,
}

/// Returns all frames of a picture of this width. `own` has the lookups that ended at each name
/// itself.
pub(crate) fn frames(names: &Names, own: Vec<Weight>, width: f64) -> Vec<Frame> {
    let totals = totals(names, own);
    let root = totals[Names::ROOT as usize];
    if root.lookups == 0 {
        return Vec::new();
    }
    let children = children(names, &totals);
    let unit = width / root.lookups as f64;
    let mut frames = vec![Frame { of: Of::Name(Names::ROOT), weight: root, depth: 0, x: 0.0, width }];
    let mut next = 0;
    while let Some(&frame) = frames.get(next) {
        next += 1;
        if let Of::Name(directory) = frame.of {
            lay(&children[directory as usize], &totals, unit, directory, &frame, &mut frames);
        }
    }
    frames
}

/// Puts the children of a directory below its frame.
fn lay(children: &[NameId], totals: &[Weight], unit: f64, directory: NameId, below: &Frame, frames: &mut Vec<Frame>) {
    let depth = below.depth + 1;
    let width = |weight: Weight| weight.lookups as f64 * unit;
    let seen = children.partition_point(|child| width(totals[*child as usize]) >= NARROWEST);
    let mut x = below.x;
    for child in &children[..seen] {
        let weight = totals[*child as usize];
        frames.push(Frame { of: Of::Name(*child), weight, depth, x, width: width(weight) });
        x += width(weight);
    }
    let mut weight = Weight::default();
    children[seen..].iter().for_each(|child| weight += totals[*child as usize]);
    if width(weight) >= NARROWEST {
        frames.push(Frame { of: Of::Others(directory, children.len() - seen), weight, depth, x, width: width(weight) });
    }
}

/// Returns the lookups at each name and below. A parent has a lower number than its children.
fn totals(names: &Names, own: Vec<Weight>) -> Vec<Weight> {
    let mut totals = own;
    for name in (1..totals.len()).rev() {
        let below = totals[name];
        totals[names.parent(name as NameId) as usize] += below;
    }
    totals
}

/// Returns the children of each name that have lookups, the widest first.
fn children(names: &Names, totals: &[Weight]) -> Vec<Vec<NameId>> {
    let mut children = vec![Vec::new(); totals.len()];
    for name in 1..totals.len() {
        if totals[name].lookups > 0 {
            children[names.parent(name as NameId) as usize].push(name as NameId);
        }
    }
    let order = |a: &NameId, b: &NameId| {
        let (lookups_a, lookups_b) = (totals[*a as usize].lookups, totals[*b as usize].lookups);
        lookups_b.cmp(&lookups_a).then_with(|| names.name(*a).cmp(names.name(*b)))
    };
    children.iter_mut().for_each(|children| children.sort_by(order));
    children
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(paths: &[(&[u8], u64, u64)]) -> (Names, Vec<Weight>) {
        let mut names = Names::new();
        let numbers: Vec<_> = paths.iter().map(|(path, ..)| names.number(path)).collect();
        let mut own = vec![Weight::default(); names.len()];
        for (number, (_, lookups, absent)) in numbers.into_iter().zip(paths) {
            own[number as usize] += Weight { lookups: *lookups, absent: *absent };
        }
        (names, own)
    }

    #[test]
    fn frames_are_as_wide_as_lookups() {
        let (names, own) = of(&[(b"/a/x", 1, 1), (b"/a/y", 5, 0), (b"/a", 2, 0), (b"/b", 2, 2)]);
        let frames = frames(&names, own, 100.0);
        let told: Vec<_> = frames
            .iter()
            .map(|frame| {
                let Of::Name(name) = frame.of else { panic!("{frame:?}") };
                (names.path(name), frame.depth, frame.x, frame.width, frame.weight.absent)
            })
            .collect();
        let expected = [
            (b"/".to_vec(), 0, 0.0, 100.0, 3),
            (b"/a".to_vec(), 1, 0.0, 80.0, 1),
            (b"/b".to_vec(), 1, 80.0, 20.0, 2),
            (b"/a/y".to_vec(), 2, 0.0, 50.0, 0),
            (b"/a/x".to_vec(), 2, 50.0, 10.0, 1),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_too_narrow_to_see_is_one_frame() {
        let mut paths: Vec<(Vec<u8>, u64)> = (0..900).map(|i| (format!("/many/{i}").into_bytes(), 1)).collect();
        paths.push((b"/many/wide".to_vec(), 9000));
        paths.push((b"/few/thin".to_vec(), 1));
        let paths: Vec<_> = paths.iter().map(|(path, lookups)| (&path[..], *lookups, 0)).collect();
        let (names, own) = of(&paths);
        let frames = frames(&names, own, 1000.0);
        let others: Vec<_> = frames.iter().filter(|frame| matches!(frame.of, Of::Others(..))).collect();
        assert_eq!(others.len(), 1, "one at the root would be too narrow itself");
        assert!(matches!(others[0].of, Of::Others(_, 900)) && others[0].weight.lookups == 900);
        assert_eq!(frames.len(), 4);
    }

    #[test]
    fn without_lookups_there_is_nothing_to_see() {
        let (names, own) = of(&[(b"/a", 0, 0)]);
        assert_eq!(frames(&names, own, 100.0), []);
    }

    #[test]
    fn children_add_up_to_no_more_than_their_directory() {
        let paths: Vec<Vec<u8>> = (0..500_u32).map(|i| format!("/{}/{}/{}", i % 3, i % 11, i % 50).into_bytes()).collect();
        let paths: Vec<_> = paths.iter().zip(1..).map(|(path, i)| (&path[..], i % 40, i % 2)).collect();
        let (names, own) = of(&paths);
        let frames = frames(&names, own, 1200.0);
        for directory in &frames {
            let Of::Name(name) = directory.of else { continue };
            let is_below = |frame: &&Frame| match frame.of {
                Of::Name(child) => child != Names::ROOT && names.parent(child) == name,
                Of::Others(parent, _) => parent == name,
            };
            let sum: f64 = frames.iter().filter(is_below).map(|frame| frame.width).sum();
            assert!(sum <= directory.width + 1e-6, "{sum} in {directory:?}");
        }
    }
}
