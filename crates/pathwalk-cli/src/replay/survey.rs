//! Where each lookup leads, by walking it step by step: the name at which it ends, and whether it is left out.
//!
//! Left out is what goes through a file system that is not made of files (see [`FileSystems`]), or ends at a device: its answer
//! belongs to a process or a driver and not to the tree. So is what started in a directory that is gone.

use std::collections::HashMap;

use pathwalk::{Errno, FileType, Handle, Step, Steps, What};
use pathwalk_recording::{LeftOut, Recording, Start};

use super::file_systems::FileSystems;
use super::names::{NameId, Names};
use super::question::Prepared;
use super::sides::{Engine, Kernel, StartDirectory};
use super::tree::Tree;

/// Why a lookup is left out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Reason {
    /// The recording does not tell enough, or it is no lookup that is understood.
    Recorded(LeftOut),
    /// The directory it starts in is not there now.
    DirectoryGone,
    /// It goes through a file system of this type.
    FileSystem(&'static str),
    /// It goes through, or ends at, a link to what a process has open.
    MagicLink,
    /// It ends at a device.
    Device,
}

impl Reason {
    /// A short name, for tables and JSON.
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

    /// Whether the answer belongs to the kernel, a process or a driver, and not to a tree of files: no cache of names could give it.
    pub(crate) fn is_outside(self) -> bool {
        matches!(self, Reason::FileSystem(_) | Reason::MagicLink | Reason::Device)
    }

    /// What it means, in a line.
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

/// Where a lookup leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// It is left out.
    LeftOut(Reason),
    /// It ends here; `None` if at no name: the path is empty or too long.
    At(Option<End>),
}

/// The name at which a lookup ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    /// Which.
    pub(crate) name: NameId,
    /// Whether it is absent: sought in vain in the directory above it.
    pub(crate) is_absent: bool,
}

/// Where all lookups lead.
#[derive(Clone, Debug)]
pub(crate) struct Survey {
    /// By lookup.
    pub(crate) places: Vec<Place>,
    /// The names at which they end.
    pub(crate) names: Names,
}

/// What a survey needs to know.
pub(crate) struct Surveyor<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) kernel: &'a Kernel,
    pub(crate) file_systems: &'a FileSystems,
}

impl Surveyor<'_> {
    /// Walks all lookups. What the answered ones go through is added to `tree`. `tick` is called after each.
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

    /// Why what starts in this directory is left out, if it is.
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

    /// What the walk meets that is not of the tree. A magic link counts before the file system that it lies on.
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

/// The node that a step is about.
pub(crate) fn node(step: &Step) -> Option<&Handle> {
    match &step.what {
        What::Start(node) | What::Up(node) | What::Mount(node) | What::Name { node, .. } => Some(node),
        What::Absent { dir: node, .. } | What::Refused { node, .. } => Some(node),
        What::Link { from: node, .. } => Some(node),
        _ => None,
    }
}

/// Whether a link on procfs leads to what a process has open, whatever its text says. Source: `proc(5)`.
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
