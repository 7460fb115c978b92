//! Tests of the store by key, as the engine uses it. They build trees through paths; `key` and
//! `errno` translate between the two.

mod data;
mod life;
mod limits;
mod listing;
mod moves;
mod presentation;
mod quota;
mod quota_random;
mod threads;
mod threads_data;
mod unnamed;
mod xattr;

use pathwalk::{Errno, FileSystem, Name, NewKind, NewNode, NodeKey, OpenFile, OpenFor};

use crate::{Error, MemFs};

fn name(name: &str) -> Name<'_> {
    Name::new(name.as_bytes()).unwrap()
}

fn key(fs: &MemFs, path: &str) -> NodeKey {
    fs.key(path).unwrap()
}

fn errno(result: Result<(), Error>) -> Errno {
    result.unwrap_err().errno()
}

fn new(kind: NewKind<'_>) -> NewNode<'_> {
    NewNode::new(kind, 0o644, 1, 2)
}

/// Returns the link counts of some paths.
fn links<const N: usize>(fs: &MemFs, paths: [&str; N]) -> [u32; N] {
    paths.map(|path| fs.stat(path).unwrap().nlink)
}

fn open(fs: &MemFs, path: &str) -> Box<dyn OpenFile> {
    fs.open(key(fs, path), OpenFor::READ | OpenFor::WRITE).unwrap()
}
