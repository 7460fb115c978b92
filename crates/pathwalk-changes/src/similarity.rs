//! How much two files have in common, and which of the added ones was a removed one.
//!
//! As git does: a file is cut behind each newline, and else after 64 bytes; what two files have in
//! common is the bytes of the pieces that both have, beside the size of the larger one.
//!
//! # Bounds
//!
//! Equal content is found among all files: those of which no other has the same size are not read.
//! Of the rest, those of at most 1 MiB are looked at, in the order of their paths, up to 16 MiB and
//! 500 files on each side, so at most 250,000 pairs are compared. Empty files are left out.

use std::collections::{BTreeMap, HashMap};
use std::io::Read as _;

use pathwalk::FileType;
use sha1::{Digest as _, Sha1};

use crate::data::{PART, Reader};
use crate::error::Error;
use crate::files::Files;
use crate::path::{PathBytes, split};
use crate::tree::Tree;

/// The least similarity of a file to the one that it was, in percent.
const LEAST: u8 = 50;
/// The largest file that is compared by its pieces.
const LARGEST: u64 = 1 << 20;
/// The most bytes that are compared on each side.
const MOST_BYTES: u64 = 16 << 20;
/// The most files that are compared on each side.
const MOST_FILES: usize = 500;
/// The longest piece.
const PIECE: usize = 64;

/// The pieces of a file: their bytes by their hashes.
pub(crate) struct Pieces {
    size: u64,
    bytes: HashMap<u64, u64>,
}

impl Pieces {
    pub(crate) fn of(data: &[u8]) -> Pieces {
        let mut bytes = HashMap::new();
        for line in data.split_inclusive(|byte| *byte == b'\n') {
            for piece in line.chunks(PIECE) {
                *bytes.entry(hash(piece)).or_default() += piece.len() as u64;
            }
        }
        Pieces { size: data.len() as u64, bytes }
    }

    /// Returns what two files have in common, in percent of the larger one.
    pub(crate) fn similarity(&self, other: &Pieces) -> u8 {
        let (few, many) = if self.bytes.len() < other.bytes.len() { (self, other) } else { (other, self) };
        let common: u64 = few.bytes.iter().map(|(hash, bytes)| many.bytes.get(hash).map_or(0, |other| *bytes.min(other))).sum();
        match self.size.max(other.size) {
            0 => 100,
            // 100 percent is equal content.
            larger => (common * 100 / larger).min(99) as u8,
        }
    }
}

/// Returns the hash of a piece by FNV-1a, which is the same at each run.
fn hash(piece: &[u8]) -> u64 {
    piece.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

/// A removed file that an added one was, and how similar they are in percent.
pub(crate) type Found = (PathBytes, u8);

/// Finds the added files that were removed ones.
pub(crate) fn renames(files: &Files, old: &Tree, new: &Tree) -> Result<BTreeMap<PathBytes, Found>, Error> {
    let (mut removed, mut added) = (sizes(&files.removed, old)?, sizes(&files.added, new)?);
    let mut found = equal(&removed, &added, old, new)?;
    added.retain(|path, _| !found.contains_key(path));
    removed.retain(|path, _| !found.values().any(|(from, _)| from == path));
    let (removed, added) = (pieces(&removed, old)?, pieces(&added, new)?);
    let mut pairs = Vec::new();
    for (to, one) in &added {
        for (from, other) in &removed {
            // Without room for it in the sizes, nothing is counted.
            if one.size.min(other.size) * 100 < one.size.max(other.size) * u64::from(LEAST) {
                continue;
            }
            let similarity = one.similarity(other);
            if similarity >= LEAST {
                pairs.push((similarity, split(from).1 == split(to).1, from, to));
            }
        }
    }
    pairs.sort_by(|one, other| (other.0, other.1).cmp(&(one.0, one.1)).then((one.2, one.3).cmp(&(other.2, other.3))));
    let mut taken = std::collections::BTreeSet::new();
    for (similarity, _, from, to) in pairs {
        if !found.contains_key(to) && taken.insert(from) {
            found.insert(to.clone(), (from.clone(), similarity));
        }
    }
    Ok(found)
}

/// Returns the sizes of the files that are not empty.
fn sizes(files: &BTreeMap<PathBytes, FileType>, tree: &Tree) -> Result<BTreeMap<PathBytes, u64>, Error> {
    let mut all = BTreeMap::new();
    for path in files.iter().filter(|(_, kind)| **kind == FileType::Regular).map(|(path, _)| path) {
        let size = tree.attributes(path)?.size;
        if size > 0 {
            all.insert(path.clone(), size);
        }
    }
    Ok(all)
}

/// Finds the added files that have the content of removed ones.
fn equal(
    removed: &BTreeMap<PathBytes, u64>,
    added: &BTreeMap<PathBytes, u64>,
    old: &Tree,
    new: &Tree,
) -> Result<BTreeMap<PathBytes, Found>, Error> {
    let mut by_content: HashMap<(u64, [u8; 20]), Vec<&PathBytes>> = HashMap::new();
    let sizes: std::collections::HashSet<u64> = added.values().copied().collect();
    for (path, size) in removed.iter().rev().filter(|(_, size)| sizes.contains(*size)) {
        by_content.entry((*size, content(old, path)?)).or_default().push(path);
    }
    let sizes: std::collections::HashSet<u64> = by_content.keys().map(|(size, _)| *size).collect();
    let mut found = BTreeMap::new();
    for (path, size) in added.iter().filter(|(_, size)| sizes.contains(*size)) {
        let Some(all) = by_content.get_mut(&(*size, content(new, path)?)) else { continue };
        // The same name first.
        let at = all.iter().position(|from| split(from).1 == split(path).1);
        if let Some(from) = at.map(|at| all.remove(at)).or_else(|| all.pop()) {
            found.insert(path.clone(), (from.clone(), 100));
        }
    }
    Ok(found)
}

fn content(tree: &Tree, path: &[u8]) -> Result<[u8; 20], Error> {
    let (mut reader, mut hash, mut buffer) = (Reader::open(tree, path)?, Sha1::new(), vec![0; PART]);
    loop {
        let length = reader.read(&mut buffer).map_err(|error| reader.failed(&error))?;
        if length == 0 {
            return Ok(hash.finalize().into());
        }
        hash.update(&buffer[..length]);
    }
}

/// Returns the pieces of the files that are compared.
fn pieces(sizes: &BTreeMap<PathBytes, u64>, tree: &Tree) -> Result<Vec<(PathBytes, Pieces)>, Error> {
    let (mut all, mut left) = (Vec::new(), MOST_BYTES);
    for (path, size) in sizes.iter().filter(|(_, size)| **size <= LARGEST) {
        if all.len() == MOST_FILES || *size > left {
            break;
        }
        left -= size;
        all.push((path.clone(), Pieces::of(&Reader::open(tree, path)?.whole()?)));
    }
    Ok(all)
}
