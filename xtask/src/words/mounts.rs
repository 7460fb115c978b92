//! The words of operations on mounts.

use anyhow::{Result, bail, ensure};
use pathwalk::{Propagation, Recursion};

use super::Word;
use crate::id_maps::MAPS;

/// The new propagation of a mount; `-` if it does not change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Spread(pub(crate) Option<Propagation>);

const SPREADS: [(&str, Option<Propagation>); 5] = [
    ("-", None),
    ("private", Some(Propagation::Private)),
    ("shared", Some(Propagation::Shared)),
    ("slave", Some(Propagation::Slave)),
    ("unbindable", Some(Propagation::Unbindable)),
];

impl Word for Spread {
    fn write(&self, out: &mut String) {
        let name = SPREADS.iter().find(|(_, spread)| *spread == self.0);
        out.push_str(name.expect("each has a name").0);
    }

    fn read(word: &str) -> Result<Spread> {
        match SPREADS.iter().find(|(name, _)| *name == word) {
            Some((_, spread)) => Ok(Spread(*spread)),
            None => bail!("-, private, shared, slave or unbindable"),
        }
    }
}

/// The number of an id map; `-` for none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ids(pub(crate) Option<usize>);

impl Word for Ids {
    fn write(&self, out: &mut String) {
        out.push_str(&self.0.map_or_else(|| "-".to_owned(), |map| map.to_string()));
    }

    fn read(word: &str) -> Result<Ids> {
        if word == "-" {
            return Ok(Ids(None));
        }
        let map = word.parse()?;
        ensure!(map < MAPS.len(), "id maps are 0 to {}", MAPS.len() - 1);
        Ok(Ids(Some(map)))
    }
}

impl Word for Recursion {
    fn write(&self, out: &mut String) {
        out.push_str(match self {
            Recursion::Alone => "alone",
            Recursion::Recursive => "recursive",
        });
    }

    fn read(word: &str) -> Result<Recursion> {
        match word {
            "alone" => Ok(Recursion::Alone),
            "recursive" => Ok(Recursion::Recursive),
            _ => bail!("alone or recursive"),
        }
    }
}
