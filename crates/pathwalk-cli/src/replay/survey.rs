//! The survey of the lookups, by walking each step by step: the name at which it ends, and whether
//! it is left out.
//!
//! A lookup is left out if it goes through a file system that is not made of files (see
//! [`FileSystems`]), or ends at a device: its answer belongs to a process or a driver and not to
//! the tree. It is also left out if it started in a directory that is gone.

use std::collections::HashMap;

use pathwalk::{Errno, FileType, Handle, Step, Steps, What};
use pathwalk_recording::{LeftOut, Recording, Start};

use super::file_systems::FileSystems;
use super::names::{NameId, Names};
use super::question::Prepared;
use super::sides::{Engine, Kernel, StartDirectory};
use super::tree::Tree;

/// The reason why a lookup is left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Reason {
    /// A reason in the recording: it does not contain enough, or the call is not understood.
    Recorded(LeftOut),
    /// A start in a directory that does not exist now.
    DirectoryGone,
    /// A walk through a file system of this type.
    FileSystem(&'static str),
    /// A walk through, or to, a link to an open file of a process.
    MagicLink,
    /// A walk to a device.
    Device,
}

impl Reason {
    /// Returns a short name, for tables and JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Reason::Recorded(LeftOut::UnknownDirectory) => "unknown directory",
            Reason::Recorded(LeftOut::RemovedDirectory) => "removed directory",
            Reason::Recorded(LeftOut::OtherRoot) => "other root",
            Reason::Recorded(LeftOut::UnknownPath) => "unknown path",
            Reason::Recorded(LeftOut::ResolveFlags) => "resolve flags",
            Reason::Recorded(LeftOut::OtherCall) => "other call",
            Reason::Recorded(_) => "not understood",
            Reason::DirectoryGone => "directory is gone",
            Reason::FileSystem(kind) => kind,
            Reason::MagicLink => "magic link",
            Reason::Device => "device",
        }
    }

    /// Returns whether the answer belongs to the kernel, a process or a driver, and not to a tree
    /// of files. No cache of names could give such an answer.
    pub(crate) fn is_outside(self) -> bool {
        matches!(self, Reason::FileSystem(_) | Reason::MagicLink | Reason::Device)
    }

    /// Returns the meaning of the reason, in a line.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Reason::Recorded(LeftOut::UnknownDirectory) => {
                "a relative path, and the recording does not tell where the process was: give --cwd, record fchdir and close"
            }
            Reason::Recorded(LeftOut::RemovedDirectory) => "it starts in a directory that was removed while recording",
            Reason::Recorded(LeftOut::OtherRoot) => "the process had changed its root or its mounts",
            Reason::Recorded(LeftOut::UnknownPath) => "strace could not read the path, or cut it off: record with -s 4096",
            Reason::Recorded(LeftOut::ResolveFlags) => "openat2 with resolve flags, which have rules of their own",
            Reason::Recorded(LeftOut::OtherCall) => "a call on a name that asks for something else, as statfs or getxattr",
            Reason::Recorded(_) => "the reader does not understand it",
            Reason::DirectoryGone => "it starts in a directory that is not there now",
            Reason::FileSystem("devtmpfs" | "devpts") => {
                "it goes through a file system of devices, about which drivers have a say"
            }
            Reason::FileSystem(_) => "it goes through a file system that shows the running kernel and its processes",
            Reason::MagicLink => "it goes over a link to what a process has open, as /proc/self/exe",
            Reason::Device => "it ends at a device, about which its driver has a say",
        }
    }
}

/// The place to which a lookup leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// A lookup that is left out.
    LeftOut(Reason),
    /// A lookup that ends here. It is `None` if the lookup ends at no name: the path is empty or
    /// too long.
    At(Option<End>),
}

/// The name at which a lookup ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    /// The number of the name.
    pub(crate) name: NameId,
    /// True if the name is absent from the directory above it.
    pub(crate) is_absent: bool,
}

/// The places to which all lookups lead.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    /// The places, by lookup.
    pub(crate) places: Vec<Place>,
    /// The names at which the lookups end.
    pub(crate) names: Names,
}

/// The data that a survey uses.
pub(crate) struct Surveyor<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) kernel: &'a Kernel,
    pub(crate) file_systems: &'a FileSystems,
}

impl Surveyor<'_> {
    /// Walks all lookups. The nodes that the answered ones go through are added to `tree`. `tick`
    /// is called after each lookup.
    pub(crate) fn survey(
        &self,
        recording: &Recording,
        prepared: &[Prepared],
        mut tree: Option<&mut Tree>,
        tick: &mut dyn FnMut(),
    ) -> Survey {
        let mut names = Names::new();
        let mut starts = HashMap::new();
        let mut places = Vec::with_capacity(prepared.len());
        for (recorded, question) in recording.lookups.iter().zip(prepared) {
            let mut start = |number| {
                let path = &recording.starts[number as usize];
                *starts.entry(number).or_insert_with(|| self.start(number, path, tree.as_deref_mut()))
            };
            let gone = match recorded.lookup.start {
                Start::Directory(number) => start(number),
                Start::Root => None,
            };
            places.push(match gone {
                Some(reason) => Place::LeftOut(reason),
                None => self.place(question, &mut names, tree.as_deref_mut()),
            });
            tick();
        }
        Survey { places, names }
    }

    /// Returns the reason why lookups that start in this directory are left out, if there is one.
    fn start(&self, number: NameId, path: &[u8], tree: Option<&mut Tree>) -> Option<Reason> {
        let steps = self.engine.steps_to(path);
        let special = self.special(&steps);
        match (special, self.kernel.start(number)) {
            (Some(reason), _) => Some(reason),
            (None, StartDirectory::Gone(_)) => Some(Reason::DirectoryGone),
            (None, _) => {
                if let Some(tree) = tree {
                    tree.add(self.engine, &steps);
                }
                None
            }
        }
    }

    fn place(&self, question: &Prepared, names: &mut Names, tree: Option<&mut Tree>) -> Place {
        let Ok(steps) = self.engine.steps(question) else { return Place::At(None) };
        if let Some(reason) = self.special(&steps) {
            return Place::LeftOut(reason);
        }
        if let Some(tree) = tree {
            tree.add(self.engine, &steps);
        }
        Place::At(end(&steps, names))
    }

    /// Returns the part of the walk that is not of the tree, if there is one. A magic link counts
    /// before the file system that it is on.
    fn special(&self, steps: &Steps) -> Option<Reason> {
        let mut met = None;
        for node in steps.steps.iter().filter_map(node) {
            let Ok(attributes) = node.attributes() else { continue };
            let Some(kind) = self.file_systems.special(attributes.device) else { continue };
            if kind == "proc" && attributes.kind == FileType::Symlink && is_magic(node) {
                return Some(Reason::MagicLink);
            }
            met = met.or(Some(Reason::FileSystem(kind)));
        }
        let is_device = |end: &Handle| matches!(end.kind(), FileType::CharDevice | FileType::BlockDevice);
        met.or_else(|| steps.answer.as_ref().is_ok_and(is_device).then_some(Reason::Device))
    }
}

/// Returns the node that a step is about.
pub(crate) fn node(step: &Step) -> Option<&Handle> {
    match &step.what {
        What::Start(node) | What::Up(node) | What::Mount(node) | What::Name { node, .. } => Some(node),
        What::Absent { dir: node, .. } | What::Refused { node, .. } => Some(node),
        What::Link { from: node, .. } => Some(node),
        _ => None,
    }
}

/// Returns whether a link on procfs leads to an open file of a process, whatever its body says.
/// Source: `proc(5)`.
fn is_magic(link: &Handle) -> bool {
    let Ok(path) = link.path() else { return false };
    let mut names = path.rsplit(|byte| *byte == b'/');
    let (name, dir) = (names.next().unwrap_or_default(), names.next().unwrap_or_default());
    matches!(name, b"exe" | b"cwd" | b"root") || matches!(dir, b"fd" | b"ns" | b"map_files")
}

fn end(steps: &Steps, names: &mut Names) -> Option<End> {
    let mut number = |node: &Handle| node.path().map(|path| names.number(&path));
    let (name, is_absent) = match (&steps.answer, &steps.steps.last()?.what) {
        (Ok(found), _) => (number(found), false),
        (Err(_), What::Absent { name, dir }) => (number(dir).map(|dir| names.below(dir, name)), true),
        (Err(_), What::Refused { node, .. }) => (number(node), false),
        (Err(_), _) => (Err(Errno::ENOENT), false),
    };
    // A name without a path was removed meanwhile.
    name.ok().map(|name| End { name, is_absent })
}
