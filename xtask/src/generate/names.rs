//! The names of a program: mostly few and short; in some programs as long as names can be, or many.
//!
//! Most steps use five names, so that they affect each other. All long names of a program have the
//! same prefix and differ at the end only.

use super::dice::Dice;
use super::paths::Wish;
use crate::composite::{dug, filled};
use crate::op::Op;
use crate::words::{Place, Text};

/// The lengths of long names, in bytes: about the sizes at which names are stored, compared and
/// hashed in another way.
const LENGTHS: [usize; 16] = [6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 100, 200, 254, 255];

/// The names of a program.
#[derive(Clone, Debug)]
pub(super) struct Names {
    /// The names that most steps use.
    few: [Vec<u8>; 5],
    /// Files in one directory.
    many: Option<Many>,
    /// Directories in each other.
    deep: Option<Many>,
}

/// A number of names of the same length in bytes.
#[derive(Clone, Copy, Debug)]
struct Many {
    count: u64,
    length: u64,
}

impl Names {
    /// Returns names of one letter each.
    pub(super) fn short() -> Names {
        Names { few: std::array::from_fn(|index| vec![b'a' + index as u8]), many: None, deep: None }
    }

    /// Draws the names of a program.
    pub(super) fn drawn(rng: &mut Dice) -> Names {
        let mut names = Names::short();
        match rng.u8(..100) {
            0..74 => {}
            74..90 => names.few = std::array::from_fn(|index| long(rng, index)),
            90..95 => names.many = Some(Many { count: rng.u64(100..400), length: length(rng) as u64 }),
            chance => {
                let length = length(rng) as u64;
                // A depth that comes near the longest path.
                let count = if rng.bool() { 4095 / (length + 1) + rng.u64(..2) } else { rng.u64(7..20) };
                names.deep = Some(Many { count: count.min(300), length });
                if chance == 99 {
                    names.many = Some(Many { count: rng.u64(100..300), length });
                }
            }
        }
        names
    }

    /// Returns whether all names are short, and not many.
    pub(super) fn are_few(&self) -> bool {
        self.many.is_none() && self.deep.is_none() && self.few.iter().all(|name| name.len() < 40)
    }

    /// Returns the operations that make the many names.
    pub(super) fn layout(&self) -> Vec<Op> {
        let at = |path: &[u8]| Place { at: None, path: Text(path.to_vec()) };
        let many = self.many.map(|many| Op::Fill { at: at(b"/"), count: many.count, length: many.length });
        let deep = self.deep.map(|deep| Op::Dig { at: at(b"/"), count: deep.count, length: deep.length });
        many.into_iter().chain(deep).collect()
    }

    /// Draws one of the few names: `a` and `b` are for directories.
    pub(super) fn few(&self, rng: &mut Dice, wish: Wish) -> &[u8] {
        let from = if rng.u8(..6) == 0 { Wish::Any } else { wish };
        &self.few[match from {
            Wish::Directory => rng.usize(..2),
            Wish::File => 2 + rng.usize(..3),
            Wish::Any => rng.usize(..5),
        }]
    }

    /// Draws one of the many names or of the few.
    pub(super) fn one(&self, rng: &mut Dice, wish: Wish) -> Vec<u8> {
        match self.many {
            Some(many) if wish != Wish::Directory && rng.u8(..3) == 0 => filled(rng.u64(..many.count + 3), many.length),
            _ => self.few(rng, wish).to_vec(),
        }
    }

    /// Draws the path of a deep directory, with a slash at its end; or an empty path.
    pub(super) fn way_down(&self, rng: &mut Dice) -> Vec<u8> {
        match self.deep {
            Some(deep) if rng.u8(..4) == 0 => {
                let depth = if rng.bool() { deep.count } else { rng.u64(..deep.count + 1) };
                let component = [&dug(deep.length)[..], b"/"].concat();
                [b"/", &component.repeat(depth as usize)[..]].concat()
            }
            _ => Vec::new(),
        }
    }
}

/// Draws the length of a name, in bytes.
fn length(rng: &mut Dice) -> usize {
    LENGTHS[rng.usize(..LENGTHS.len())]
}

/// Draws a long name for one of the few; in one of three cases the short one.
fn long(rng: &mut Dice, index: usize) -> Vec<u8> {
    let before = if rng.u8(..3) == 0 { 0 } else { length(rng) - 1 };
    let mut name = vec![b'n'; before];
    name.push(b'a' + index as u8);
    name
}
