//! The text of a file of the base, kept before the branch changes the file.
//!
//! A branch has no copy of what it did not change. So if the base changes the same file later, the
//! text that both had in common is nowhere, and without it their changes cannot be merged. A small
//! text is kept as a whole: with the first change of the file's data, and when another file takes
//! its name.
//!
//! What always holds: what is kept of a node is the text that the base has in the node's origin.
//!
//! What it does not do: a file with a zero byte is no text, and a longer one than the options say
//! is not kept. Nothing of it is shown: it is there for a merge.

use std::sync::Arc;

use pathwalk::{Errno, FileType};

use super::{BaseFiles, Inner, record, shows_base_alone};
use crate::blobs::Blob;
use crate::extents::Extents;
use crate::origin::Origin;
use crate::rows::{self, Extent, Row, Tag, What};
use crate::tree::Tree;

/// The number of bytes in which a zero byte is looked for before the rest of a file is read.
const FIRST: u64 = 4096;

impl Inner {
    /// Keeps the text of a file before its first change here. The tree has its attributes.
    pub(super) fn keep_text(&self, tree: &mut Tree<Row>, number: u64) -> Result<(), Errno> {
        // One without a name is merged with nothing.
        let named = record(tree, number).filter(|record| record.attributes.nlink > 0);
        let Some(origin) = named.and_then(|record| record.origin.clone()) else { return Ok(()) };
        let is_first = tree.get(&rows::of(number, Tag::Text)).is_none() && shows_base_alone(tree, number, &origin);
        if is_first { self.renew_text(tree, number, &origin) } else { Ok(()) }
    }

    /// Keeps the text that the base has in an origin, in the place of what is kept of a node.
    pub(crate) fn renew_text(&self, tree: &mut Tree<Row>, number: u64, origin: &Origin) -> Result<(), Errno> {
        let key = rows::of(number, Tag::Text);
        let Some(text) = self.text_of(origin) else {
            tree.remove(&key);
            return Ok(());
        };
        let what = if text.is_empty() { What::Zeroes } else { What::Blob(Blob::new(&self.data(), &text)?, 0) };
        tree.insert(&key, Row::Extent(Extent { length: text.len() as u64, what }));
        Ok(())
    }

    /// Returns the text that the base has in an origin: `None` if it is none, is too long, or
    /// cannot be read.
    pub(crate) fn text_of(&self, origin: &Origin) -> Option<Vec<u8>> {
        let size = origin.attributes.size;
        if origin.attributes.kind != FileType::Regular || size > self.shared.options.longest_text {
            return None;
        }
        let (files, mut text) = (BaseFiles::default(), vec![0; size as usize]);
        let (first, rest) = text.split_at_mut(size.min(FIRST) as usize);
        for (part, at) in [(first, 0), (rest, FIRST)] {
            if !part.is_empty() {
                files.read(&self.shared.base, origin, part, at).ok().filter(|()| !part.contains(&0))?;
            }
        }
        Some(text)
    }

    /// Returns the text that is kept of a node.
    pub(crate) fn kept_text(&self, tree: &Tree<Row>, number: u64) -> Option<Vec<u8>> {
        let Some(Row::Extent(Extent { length, what })) = tree.get(&rows::of(number, Tag::Text)) else { return None };
        let mut text = vec![0; *length as usize];
        match what {
            What::Blob(blob, from) => blob.read(*from, &mut text).ok()?,
            What::Zeroes if text.is_empty() => {}
            _ => return None,
        }
        Some(text)
    }

    /// Returns the data of a file of which the base has changed the rest, as it was before: `None`
    /// if the rest is not kept.
    pub(crate) fn data_over_kept(&self, tree: &Tree<Row>, number: u64) -> Option<Vec<u8>> {
        let (kept, record) = (self.kept_text(tree, number)?, record(tree, number)?);
        let origin: &Arc<Origin> = record.origin.as_ref()?;
        let mut data = vec![0; usize::try_from(record.attributes.size).ok()?];
        for (part, what) in Extents::new(tree, number).within(0..record.attributes.size) {
            let part = data.get_mut(part.start as usize..part.end as usize)?;
            match what {
                What::Blob(blob, from) => blob.read(from, part).ok()?,
                What::Base(of, from) if of == *origin => part.copy_from_slice(kept.get(from as usize..)?.get(..part.len())?),
                What::Base(..) => return None,
                What::Zeroes | What::Reserved => {}
            }
        }
        Some(data)
    }
}
