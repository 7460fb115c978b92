//! The words of operations on data.

use anyhow::Result;

use super::Word;

/// An offset in bytes; `-` for the position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Offset(pub(crate) Option<u64>);

impl Word for Offset {
    fn write(&self, out: &mut String) {
        out.push_str(&self.0.map_or_else(|| "-".to_owned(), |offset| offset.to_string()));
    }

    fn read(word: &str) -> Result<Offset> {
        Ok(Offset(if word == "-" { None } else { Some(word.parse()?) }))
    }
}
