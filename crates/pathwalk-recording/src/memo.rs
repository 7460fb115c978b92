//! Calls that came before, by their whole text: what they did is done again without reading them.
//!
//! Recordings repeat themselves, and finding a text costs less than half of reading it. A [`Recipe`] says all that a call does, and when that
//! holds. The room is bounded: a text is kept from its second time on, until another takes its place.

use std::hash::BuildHasher;

use rapidhash::fast::RandomState;

use crate::distinct::Answer;
use crate::processes::Descriptor;

/// How many texts are kept: eight megabytes with all that belongs to them.
const PLACES: usize = 1 << 15;

/// Longest text that is kept, in bytes; most are shorter.
const LONGEST: usize = 200;

/// All that a call does, in a process that sees the recording's root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Recipe {
    /// Where the process has to be, and for certain; `None` if it does not matter.
    pub(crate) cwd: Option<u32>,
    /// What a descriptor leads to from then on.
    pub(crate) sets: Option<(i32, Option<Descriptor>)>,
    pub(crate) counts: Counts,
}

/// What a call counts as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Counts {
    Nothing,
    /// A call with an empty path on a descriptor.
    NoName,
    /// A lookup, by its place among the distinct ones.
    Lookup(u32, Answer),
}

impl Recipe {
    pub(crate) const NOTHING: Recipe = Recipe { cwd: None, sets: None, counts: Counts::Nothing };
}

pub(crate) struct Memo {
    places: Vec<Place>,
    hasher: RandomState,
}

#[derive(Default)]
struct Place {
    hash: u64,
    /// `None` as long as the text came only once.
    known: Option<Box<Known>>,
}

/// A text and what it does, side by side: they are always read together, and seldom from a core's own cache.
struct Known {
    recipe: Recipe,
    length: usize,
    text: [u8; LONGEST],
}

/// Where a text belongs.
#[derive(Clone, Copy)]
pub(crate) struct Key(u64);

impl Memo {
    pub(crate) fn new() -> Memo {
        Memo { places: std::iter::repeat_with(Place::default).take(PLACES).collect(), hasher: RandomState::default() }
    }

    pub(crate) fn key(&self, text: &[u8]) -> Key {
        Key(self.hasher.hash_one(text))
    }

    /// What the text of this key does, if it is known.
    pub(crate) fn find(&self, Key(hash): Key, text: &[u8]) -> Option<Recipe> {
        let place = &self.places[hash as usize % PLACES];
        let known = place.known.as_ref().filter(|known| place.hash == hash && known.text[..known.length] == *text);
        known.map(|known| known.recipe)
    }

    /// Keeps what a text does, if it comes for the second time.
    pub(crate) fn keep(&mut self, Key(hash): Key, text: &[u8], recipe: Recipe) {
        let place = &mut self.places[hash as usize % PLACES];
        if place.hash != hash {
            *place = Place { hash, known: None };
        } else if text.len() <= LONGEST {
            let mut known = Known { recipe, length: text.len(), text: [0; LONGEST] };
            known.text[..text.len()].copy_from_slice(text);
            place.known = Some(Box::new(known));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_known_from_its_second_time_on() {
        let mut memo = Memo::new();
        let recipe = Recipe { counts: Counts::NoName, ..Recipe::NOTHING };
        for known in [None, None, Some(recipe), Some(recipe)] {
            let key = memo.key(b"close(3) = 0");
            assert_eq!(memo.find(key, b"close(3) = 0"), known);
            memo.keep(key, b"close(3) = 0", recipe);
            assert_eq!(memo.find(key, b"close(4) = 0"), None);
        }
    }
}
