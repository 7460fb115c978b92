//! Extents beside a plain buffer, and beside the pages that a tmpfs would have.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::blobs::MemoryBlobs;

/// The size of the files, in bytes.
const SIZE: u64 = 12 * PAGE;

/// No file here has a base.
struct NoBase;

impl Segments for NoBase {
    fn first_in(&mut self, _: &Arc<crate::origin::Origin>, _: Range<u64>) -> Result<Option<Range<u64>>, Errno> {
        unreachable!("there is no base")
    }
}

fn read(extents: Extents<'_>, range: Range<u64>) -> Vec<u8> {
    let mut buffer = vec![0; (range.end - range.start) as usize];
    for (part, what) in extents.within(range.clone()) {
        let target = &mut buffer[(part.start - range.start) as usize..(part.end - range.start) as usize];
        if let What::Blob(blob, offset) = what {
            blob.read(offset, target).expect("it is there");
        }
    }
    buffer
}

/// What a tmpfs keeps: bytes, and the pages that are there, of which some were written.
#[derive(Clone)]
struct Plain {
    /// Those of the file and of what may be moved behind it.
    bytes: Vec<u8>,
    pages: BTreeMap<u64, bool>,
}

impl Plain {
    fn write(&mut self, data: &[u8], offset: u64) {
        for (at, byte) in (offset..).zip(data) {
            self.bytes[at as usize] = *byte;
            self.pages.insert(at / PAGE, true);
        }
    }

    fn zero(&mut self, range: Range<u64>) {
        self.bytes[range.start as usize..range.end as usize].fill(0);
    }

    fn punch(&mut self, range: Range<u64>) {
        self.zero(range.clone());
        self.pages.retain(|page, _| !(page * PAGE >= range.start && (page + 1) * PAGE <= range.end));
    }

    fn reserve(&mut self, range: Range<u64>) {
        for page in pages(&range) {
            let was_there = self.pages.contains_key(&page);
            self.pages.insert(page, was_there);
        }
    }

    fn zero_range(&mut self, range: Range<u64>) {
        self.reserve(range.clone());
        self.zero(range.clone());
        let whole = |page: &u64| page * PAGE >= range.start && (page + 1) * PAGE <= range.end;
        self.pages.iter_mut().filter(|(page, _)| whole(page)).for_each(|(_, written)| *written = false);
    }

    fn shift(&mut self, from: u64, to: impl Fn(u64) -> u64) {
        let length = self.bytes.len();
        let behind = self.bytes.split_off(from as usize);
        self.bytes.resize(to(from) as usize, 0);
        self.bytes.extend(behind);
        self.bytes.resize(length, 0);
        let behind = self.pages.split_off(&(from / PAGE));
        self.pages.extend(behind.into_iter().map(|(page, written)| (to(page * PAGE) / PAGE, written)));
    }

    fn is_data(&self, at: u64) -> bool {
        self.pages.get(&(at / PAGE)) == Some(&true)
    }
}

fn check(extents: Extents<'_>, plain: &Plain) {
    assert!(read(extents, 0..2 * SIZE) == plain.bytes, "the bytes differ");
    assert_eq!(extents.pages_in(0..2 * SIZE), Pages { own: plain.pages.len() as u64, of_base: 0 });
    for at in (0..SIZE).step_by(PAGE as usize / 2 - 1) {
        let begins = || std::iter::once(at).chain((at / PAGE + 1..SIZE / PAGE).map(|page| page * PAGE));
        let data = begins().find(|at| plain.is_data(*at)).ok_or(Errno::ENXIO);
        assert_eq!(extents.seek_data(at, SIZE, &mut NoBase), data, "data from {at} on");
        let hole = begins().find(|at| !plain.is_data(*at)).unwrap_or(SIZE);
        assert_eq!(extents.seek_hole(at, SIZE, &mut NoBase), Ok(hole), "a hole from {at} on");
    }
    let mut end = 0;
    for (offset, extent) in extents.touching(0..u64::MAX) {
        assert!(offset >= end && extent.length > 0, "extents overlap");
        end = offset + extent.length;
    }
}

#[test]
fn random_changes_show_what_a_buffer_shows() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let store: Arc<dyn BlobStore> = Arc::new(MemoryBlobs::default());
    for _ in 0..if cfg!(miri) { 1 } else { 40 } {
        let (mut tree, mut plain) = (Tree::default(), Plain { bytes: vec![0; 2 * SIZE as usize], pages: BTreeMap::new() });
        let mut forks: Vec<(Tree<Row>, Plain)> = Vec::new();
        for _ in 0..60 {
            let [one, other] = [random.u64(..SIZE), random.u64(..SIZE)];
            let range = one.min(other)..one.max(other) + 1;
            let whole = range.start / PAGE * PAGE..range.end.next_multiple_of(PAGE);
            let mut extents = ExtentsMut::new(&mut tree, 5);
            match random.u8(..12) {
                0..5 => {
                    let offset = if random.bool() { range.start } else { last_end(extents.shared()) };
                    let data: Vec<u8> = (0..random.usize(1..6000)).map(|_| random.u8(1..)).collect();
                    let data = &data[..data.len().min((SIZE - offset) as usize)];
                    if !data.is_empty() {
                        extents.write(data, offset, &store).expect("there is room");
                        plain.write(data, offset);
                    }
                }
                5 => {
                    extents.truncate(range.start);
                    plain.zero(range.start..2 * SIZE);
                    plain.pages.retain(|page, _| page * PAGE < range.start);
                }
                6 => {
                    extents.reserve(range.clone());
                    plain.reserve(range);
                }
                7 => {
                    extents.punch(range.clone());
                    plain.punch(range);
                }
                8 => {
                    extents.zero(range.clone());
                    plain.zero_range(range);
                }
                9 => {
                    extents.collapse(whole.clone());
                    plain.punch(whole.clone());
                    plain.shift(whole.end, |at| at - (whole.end - whole.start));
                }
                10 => {
                    extents.truncate(SIZE / 2);
                    plain.zero(SIZE / 2..2 * SIZE);
                    plain.pages.retain(|page, _| page * PAGE < SIZE / 2);
                    let put_in = whole.start / 2 / PAGE * PAGE..whole.start / 2 / PAGE * PAGE + 2 * PAGE;
                    ExtentsMut::new(&mut tree, 5).insert(put_in.clone());
                    plain.shift(put_in.start, |at| at + 2 * PAGE);
                }
                _ => forks.push((tree.clone(), plain.clone())),
            }
            check(Extents::new(&tree, 5), &plain);
        }
        for (tree, plain) in &forks {
            check(Extents::new(tree, 5), plain);
        }
        ExtentsMut::new(&mut tree, 5).replace(0..u64::MAX, None);
        assert_eq!(tree.range(b"").count(), 0);
    }
    assert_eq!(store.bytes(), 0, "all blobs are gone with the trees");
}

fn last_end(extents: Extents<'_>) -> u64 {
    let last = extents.touching(0..SIZE).last();
    last.map_or(0, |(offset, extent)| (offset + extent.length).min(SIZE - 1))
}

#[test]
fn data_that_follows_joins_one_extent_of_one_blob() {
    let store: Arc<dyn BlobStore> = Arc::new(MemoryBlobs::default());
    let mut tree = Tree::default();
    for at in 0..100 {
        ExtentsMut::new(&mut tree, 1).write(&[at as u8; 10], at * 10, &store).expect("there is room");
    }
    let fork = tree.clone();
    assert_eq!(Extents::new(&tree, 1).touching(0..u64::MAX).count(), 1);
    // The first that goes on takes the end of the blob; the other one gets a blob of its own.
    for (tree, byte, extents) in [(&mut tree, 1, 1), (&mut fork.clone(), 2, 2)] {
        ExtentsMut::new(tree, 1).write(&[byte; 10], 1000, &store).expect("there is room");
        assert_eq!(read(Extents::new(tree, 1), 995..1005), [[99; 5], [byte; 5]].concat());
        assert_eq!(Extents::new(tree, 1).touching(0..u64::MAX).count(), extents);
    }
    assert_eq!(read(Extents::new(&fork, 1), 995..1005), [[99; 5], [0; 5]].concat(), "the fork does not show it");
}

#[test]
fn the_last_page_is_data_if_what_was_cut_off_was() {
    let store: Arc<dyn BlobStore> = Arc::new(MemoryBlobs::default());
    let mut tree = Tree::default();
    let mut extents = ExtentsMut::new(&mut tree, 1);
    extents.write(&[7; 100], PAGE - 1, &store).expect("there is room");
    extents.truncate(PAGE - 1);
    let extents = extents.shared();
    assert_eq!(extents.seek_data(5, PAGE - 1, &mut NoBase), Ok(5));
    assert_eq!(extents.seek_hole(5, PAGE - 1, &mut NoBase), Ok(PAGE - 1));
    assert_eq!(extents.pages_in(0..2 * PAGE), Pages { own: 1, of_base: 0 });
}
