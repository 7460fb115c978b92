//! A storm of absent names against a hot set. It is generated, because it has to be worse than any
//! recording.
//!
//! The hot set consists of files. After every ten absent names, one of these files is looked up, at
//! random. No absent name comes back. So, on average, there are ten times as many new names between
//! two lookups of a hot file as there are hot files.

use super::trace::{EntryId, Found, ROOT, Walks};

/// The number of files in a directory of the hot set.
const FILES: usize = 100;
/// The number of absent names for each lookup of a hot file.
const NAMES_A_LOOKUP: usize = 10;
/// The seed for the order of the hot lookups.
const SEED: u64 = 7;

/// The properties that make a storm bad.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weather {
    /// A storm before which the hot set was looked up twice.
    Known,
    /// A storm during which the hot set comes up.
    New,
    /// A storm before which the hot set was looked up twice, and which asks for each absent name
    /// twice, as by `stat` and then `open`.
    Twice,
}

impl Weather {
    /// All kinds of storms.
    pub const ALL: [Weather; 3] = [Weather::Known, Weather::New, Weather::Twice];

    /// Returns the name of this kind of storm.
    pub fn name(self) -> &'static str {
        match self {
            Weather::Known => "known",
            Weather::New => "new",
            Weather::Twice => "twice",
        }
    }
}

/// A storm of absent names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Storm {
    /// The number of files that are looked up again and again, at least 1.
    pub hot: usize,
    /// The number of absent names.
    pub names: usize,
    /// The kind of storm.
    pub weather: Weather,
}

impl Storm {
    /// Generates the walks. Also returns the hits of the hot set that are possible: the number of
    /// walks to a hot file that was looked up before.
    pub fn walks(self) -> (Walks, u64) {
        let mut walks = Walks::new();
        let hot = self.add_hot(&mut walks);
        let mut is_seen = vec![false; hot.len()];
        let mut possible = 0;
        let mut look_up = |walks: &mut Walks, i: usize| {
            walks.add_walk(&[], hot[i], Found::Present);
            possible += u64::from(std::mem::replace(&mut is_seen[i], true));
        };
        if self.weather != Weather::New {
            (0..hot.len()).chain(0..hot.len()).for_each(|i| look_up(&mut walks, i));
        }
        let searched = walks.add_entry(ROOT);
        let askings = if self.weather == Weather::Twice { 2 } else { 1 };
        let mut random = fastrand::Rng::with_seed(SEED);
        for i in 0..self.names {
            let name = walks.add_entry(searched);
            (0..askings).for_each(|_| walks.add_walk(&[], name, Found::Absent));
            if i.is_multiple_of(NAMES_A_LOOKUP) {
                look_up(&mut walks, random.usize(..hot.len()));
            }
        }
        (walks, possible)
    }

    fn add_hot(self, walks: &mut Walks) -> Vec<EntryId> {
        let mut directory = ROOT;
        let file = |i: usize| {
            if i.is_multiple_of(FILES) {
                directory = walks.add_entry(ROOT);
            }
            walks.add_entry(directory)
        };
        (0..self.hot).map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_it_says() {
        for (weather, walks_of_hot, askings) in [(Weather::Known, 600, 1), (Weather::New, 100, 1), (Weather::Twice, 600, 2)] {
            let (walks, possible) = Storm { hot: 250, names: 1000, weather }.walks();
            assert_eq!((walks.entries(), walks.len()), (250 + 3 + 1 + 1000, walks_of_hot + 1000 * askings));
            let seen = walks_of_hot - possible as usize;
            assert!(if weather == Weather::New { seen <= 100 } else { seen == 250 }, "{weather:?}: {possible}");
            let absent = walks.iter().filter(|walk| walks.is_absent(walk.end())).count();
            assert_eq!(absent, 1000 * askings);
        }
    }
}
