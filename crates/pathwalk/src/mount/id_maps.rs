//! The id maps that mounts have, by their numbers. They are found without a lock.
//!
//! What always holds: a number stands for one map for as long as the table lives, and equal maps
//! have one number. So a walk that read a number from a record finds a map, and sees from the
//! record whether it is still the mount's map. The map is stored before its number is given out; a
//! reader loads the map's cell with Acquire.
//!
//! What it does not do: it drops no map. So it takes 65,535 at most, with 1,048,576 extents of
//! users and groups in all. Then no more can be set (`ENOSPC`).

use std::collections::HashMap;
use std::num::NonZeroU16;
use std::sync::OnceLock;

use crate::Errno;
use crate::permission::IdMap;
use crate::sync::Mutex;

/// The number of maps in one piece of the table, which is allocated as a whole.
const PIECE: usize = 256;

/// The largest number of extents that all maps have together.
const MOST_EXTENTS: usize = 1 << 20;

type Piece = Box<[OnceLock<IdMap>]>;

/// The number of a map.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct IdMapNumber(NonZeroU16);

impl IdMapNumber {
    /// Returns the number in a word of a record, where 0 is none.
    pub(super) fn from_word(word: u64) -> Option<IdMapNumber> {
        NonZeroU16::new(word as u16).map(IdMapNumber)
    }

    /// Returns the word that stands for a number in a record.
    pub(super) fn word(number: Option<IdMapNumber>) -> u64 {
        number.map_or(0, |number| number.0.get().into())
    }
}

/// The table of id maps.
pub(super) struct IdMaps {
    /// The cells of the maps. Each is written once, with `known` locked.
    pieces: Box<[OnceLock<Piece>]>,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    numbers: HashMap<IdMap, IdMapNumber>,
    extents: usize,
}

impl Default for IdMaps {
    fn default() -> IdMaps {
        IdMaps { pieces: (0..PIECE).map(|_| OnceLock::new()).collect(), known: Mutex::new(Known::default()) }
    }
}

impl IdMaps {
    /// Returns the number of a map, and gives it one if it has none. Fails with `ENOSPC` if the
    /// table is full.
    pub(super) fn enter(&self, map: &IdMap) -> Result<IdMapNumber, Errno> {
        let mut known = self.known.lock();
        if let Some(&number) = known.numbers.get(map) {
            return Ok(number);
        }
        let extents = known.extents + map.uids().len() + map.gids().len();
        let next = u16::try_from(known.numbers.len() + 1).ok().and_then(NonZeroU16::new);
        let number = next.filter(|_| extents <= MOST_EXTENTS).map(IdMapNumber).ok_or(Errno::ENOSPC)?;
        let fresh = self.cell(number).set(map.clone());
        debug_assert!(fresh.is_ok(), "the number is new");
        known.extents = extents;
        known.numbers.insert(map.clone(), number);
        Ok(number)
    }

    /// Returns the map of a number.
    pub(super) fn get(&self, number: IdMapNumber) -> &IdMap {
        self.cell(number).get().expect("a map is there before its number is given out")
    }

    fn cell(&self, number: IdMapNumber) -> &OnceLock<IdMap> {
        let number = usize::from(number.0.get());
        let piece = self.pieces[number / PIECE].get_or_init(|| (0..PIECE).map(|_| OnceLock::new()).collect());
        &piece[number % PIECE]
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::permission::IdExtent;

    fn map(outside: u32, extents: u32) -> IdMap {
        let extent = |at| IdExtent { inside: 2 * at, outside: outside + 2 * at, length: 1 };
        let extents: Vec<_> = (0..extents).map(extent).collect();
        IdMap::new(&extents, &extents).unwrap()
    }

    #[test]
    fn equal_maps_have_one_number() {
        let maps = IdMaps::default();
        let (one, other) = (maps.enter(&map(5, 1)).unwrap(), maps.enter(&map(6, 1)).unwrap());
        assert_eq!(maps.enter(&map(5, 1)), Ok(one));
        assert_ne!(one, other);
        assert_eq!((maps.get(one), maps.get(other)), (&map(5, 1), &map(6, 1)));
        assert_eq!(IdMapNumber::from_word(IdMapNumber::word(Some(other))), Some(other));
        assert_eq!(IdMapNumber::from_word(IdMapNumber::word(None)), None);
    }

    #[test]
    #[cfg_attr(miri, ignore = "a million extents")]
    fn the_table_is_bounded() {
        let maps = IdMaps::default();
        let fit = (0..).take_while(|&at| maps.enter(&map(at, 340)).is_ok()).count();
        assert_eq!(fit, MOST_EXTENTS / 680);
        assert_eq!(maps.enter(&map(0, 340)).map(|number| maps.get(number) == &map(0, 340)), Ok(true), "one that it has");
        let maps = IdMaps::default();
        let fit = (0..).take_while(|&at| maps.enter(&map(at, 1)).is_ok()).count();
        assert_eq!(fit, 65_535);
        assert_eq!(maps.get(maps.enter(&map(65_534, 1)).unwrap()), &map(65_534, 1));
    }
}
