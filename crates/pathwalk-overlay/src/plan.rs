//! What a layer means for a branch.
//!
//! What always holds: it holds no node of the layer, and of the branch only what another name is
//! given to. Its size is that of the layer.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use pathwalk::{Context, FileType, Handle, Timestamp};
use pathwalk_branch::Branch;

use crate::files::LayerFiles;
use crate::form::{Extras, Form};

/// A layer, its base, and the branch into which it is taken.
pub(crate) struct View {
    pub(crate) form: Form,
    pub(crate) start: Timestamp,
    /// The root of the layer.
    pub(crate) upper: PathBuf,
    /// The directory of nodes with several names in the base, if overlayfs keeps one.
    pub(crate) index: Option<PathBuf>,
    pub(crate) base: Context,
    pub(crate) branch: Context,
    /// The branch itself, for what needs no steps by the context.
    pub(crate) itself: Option<Branch>,
    /// The files whose data it shows where it is. `None` if data is copied.
    pub(crate) files: Option<Arc<LayerFiles>>,
}

/// A node of the base, and the same one of the branch.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) base: Handle,
    pub(crate) branch: Handle,
}

/// How a node of the layer comes to its place in the branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Comes {
    /// It is made.
    New,
    /// It is there.
    Stays,
    /// It is the directory of this number in [`Plan::moves`].
    Moved(usize),
}

/// A directory of the layer. The first one is the root.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) comes: Comes,
    pub(crate) extras: Extras,
    pub(crate) entries: Vec<Entry>,
}

/// A name in a directory of the layer.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: Box<[u8]>,
    pub(crate) what: What,
}

/// What a name in the layer means.
#[derive(Debug)]
pub(crate) enum What {
    /// The name goes.
    Removed,
    /// The directory of this number in [`Plan::directories`].
    Directory(usize),
    /// Another node, which all its names share.
    Node(Node),
}

/// A node that is no directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    /// Its number in the layer.
    pub(crate) number: u64,
    pub(crate) kind: FileType,
    pub(crate) extras: Extras,
    pub(crate) stays: Stays,
}

/// Whether a name of the base leads to the node already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stays {
    Yes,
    No,
}

/// A directory of the branch that is moved: the one above, and its name there.
pub(crate) struct Move {
    pub(crate) dir: Handle,
    pub(crate) name: Box<[u8]>,
    pub(crate) path: Box<[u8]>,
}

/// A node of the branch of which the layer has a copy.
pub(crate) struct Original {
    pub(crate) node: Handle,
    /// Whether one of its names in the layer is one that it has.
    pub(crate) stays: Stays,
}

/// What a layer means for a branch.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) directories: Vec<Directory>,
    pub(crate) moves: Vec<Move>,
    /// Nodes that have several names in the layer, or come from elsewhere, by their numbers there.
    pub(crate) originals: HashMap<u64, Original>,
    /// Entries of the index whose nodes have no name in the layer: names, with the nodes.
    pub(crate) indexed: Vec<(Box<[u8]>, Node)>,
    /// Paths of the base that changed since the layer was begun, sorted.
    pub(crate) changed: Vec<Box<[u8]>>,
}
