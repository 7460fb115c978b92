//! The drawing of paths.

use super::dice::Dice;
use super::names::Names;

/// The length of the longest name, in bytes.
const LONGEST: usize = 255;

/// The type of node that a path should preferably lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wish {
    Directory,
    File,
    Any,
}

/// Draws a path of any kind.
pub(super) fn path(rng: &mut Dice, names: &Names, wish: Wish) -> Vec<u8> {
    match rng.u8(..100) {
        0 => Vec::new(),
        1 => b"/".repeat(rng.usize(1..4)),
        2 => of_length(rng, names, wish),
        _ => some(rng, names, wish),
    }
}

/// Draws a path from the root of at most two names, without dots and links.
pub(super) fn plain(rng: &mut Dice, names: &Names, wish: Wish) -> Vec<u8> {
    let mut path = vec![b'/'];
    for _ in 0..rng.usize(0..2) {
        path.extend_from_slice(names.few(rng, Wish::Directory));
        path.push(b'/');
    }
    path.extend(names.one(rng, wish));
    path
}

/// Draws the body of a link: often a name beside it, so that links lead to links and in circles.
pub(super) fn body(rng: &mut Dice, names: &Names) -> Vec<u8> {
    match rng.u8(..20) {
        0..8 => names.one(rng, Wish::Any),
        8..11 => [names.few(rng, Wish::Any), b"/", names.few(rng, Wish::Any)].concat(),
        11 => b".".to_vec(),
        12 => b"..".to_vec(),
        // With such a link, each walk through it doubles the number of links that follow.
        13 => [names.few(rng, Wish::Any), b"/../", names.few(rng, Wish::Any)].concat(),
        14 => b"x".repeat(rng.usize(120..140)),
        15 => b"x/".repeat(2047 + rng.usize(..2)),
        _ => path(rng, names, Wish::Any),
    }
}

fn some(rng: &mut Dice, names: &Names, wish: Wish) -> Vec<u8> {
    let mut path = names.way_down(rng);
    if path.is_empty() && rng.u8(..4) == 0 {
        slashes(rng, &mut path);
    }
    let components = 1 + [0, 0, 0, 0, 1, 1, 1, 1, 2, 4][rng.usize(..10)];
    for index in 0..components {
        if index > 0 {
            slashes(rng, &mut path);
        }
        let is_last = index + 1 == components;
        component(rng, names, is_last, if is_last { wish } else { Wish::Directory }, &mut path);
    }
    if rng.u8(..10) == 0 {
        slashes(rng, &mut path);
    }
    path
}

fn slashes(rng: &mut Dice, path: &mut Vec<u8>) {
    let count = if rng.u8(..12) == 0 { rng.usize(2..4) } else { 1 };
    path.resize(path.len() + count, b'/');
}

fn component(rng: &mut Dice, names: &Names, is_last: bool, wish: Wish, path: &mut Vec<u8>) {
    let dots = if is_last { 6 } else { 14 };
    match rng.u8(..100) {
        chance if chance < dots / 2 => path.push(b'.'),
        chance if chance < dots => path.extend_from_slice(b".."),
        95 | 96 => path.resize(path.len() + LONGEST, b'n'),
        97 => path.resize(path.len() + LONGEST + 1, b'n'),
        94 => path.extend_from_slice([&b"l38"[..], b"l39", b"l40", b"l41"][rng.usize(..4)]),
        98 => path.extend_from_slice(b"..."),
        99 => path.extend_from_slice(b"\xff\n\x01"),
        _ => path.extend(names.one(rng, wish)),
    }
}

/// Draws a path that is about as long as a path may be: a prefix of `./` before another path.
fn of_length(rng: &mut Dice, names: &Names, wish: Wish) -> Vec<u8> {
    let end = some(rng, names, wish);
    let length = 4093 + rng.usize(..6);
    let mut path = b"./".repeat(length.saturating_sub(end.len()) / 2);
    if (path.len() + end.len()) < length {
        path.push(b'/');
    }
    path.extend_from_slice(&end);
    path
}
