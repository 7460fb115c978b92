//! The taking of a layer into a branch.
//!
//! What always holds:
//!
//! - What gets another name is set aside first, as long as the names of the base lead to it. So
//!   names may be exchanged, and a directory may move into what was below it.
//! - A directory gets its times when all in it is done, and the root last.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use pathwalk::{AtFlags, Context, Errno, FileType, Handle, LinkFlags, NewKind, OpenFlags, RenameFlags, UnlinkFlags};
use pathwalk_branch::{BlobId, Branch};

use crate::data;
use crate::error::Error;
use crate::files::LayerFiles;
use crate::form::Extras;
use crate::layer::{INDEX, Layer, UPPER, WORK};
use crate::left::Left;
use crate::plan::{Comes, Node, Original, Plan, Stays, View, What};
use crate::settings::{Settings, Target, Times};
use crate::tree::{allow_changes, child, join, remove};
use crate::upper::{self, Dir};

/// A layer that is about to be taken into a branch.
///
/// ```
/// use std::path::Path;
/// use pathwalk::Context;
/// use pathwalk_overlay::{Error, Layer, Taking};
///
/// /// Takes a layer into a branch, unless the base changed meanwhile.
/// fn take(layer: &Layer, base: &Context, branch: &Context) -> Result<bool, Error> {
///     let taking = Taking::of(layer, base, branch)?;
///     for path in taking.changed() {
///         eprintln!("changed meanwhile: {}", path.escape_ascii());
///     }
///     let is_quiet = taking.changed().is_empty();
///     if is_quiet {
///         taking.take()?;
///     }
///     Ok(is_quiet)
/// }
/// ```
pub struct Taking {
    view: View,
    plan: Plan,
}

impl std::fmt::Debug for Taking {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Taking").field("changed", &self.changed().len()).finish_non_exhaustive()
    }
}

impl Taking {
    /// Looks at a layer that is mounted no longer. Both contexts have the rights of root: that of
    /// the base sees it as it is now, and that of the branch has nothing but the base.
    pub fn of(layer: &Layer, base: &Context, branch: &Context) -> Result<Taking, Error> {
        let view = layer.view(base, branch)?;
        let plan = Plan::of(&view)?;
        Ok(Taking { view, plan })
    }

    /// Returns the paths of the base that the layer has to do with, and that changed since it was
    /// begun: a node by its time of change, a name that is gone. What overlayfs showed there is not
    /// defined.
    pub fn changed(&self) -> &[Box<[u8]>] {
        &self.plan.changed
    }

    /// Lets the branch that the context is on do what takes it fewer steps.
    ///
    /// ```
    /// use pathwalk::{Credentials, Vfs};
    /// use pathwalk_branch::Branches;
    /// use pathwalk_overlay::{Layer, Taking};
    ///
    /// /// Takes a layer into a new branch.
    /// fn take(layer: &Layer, branches: &Branches) -> Result<(), Box<dyn std::error::Error>> {
    ///     let branch = branches.fork(None, "taken")?;
    ///     let context = Vfs::builder().build(branch.clone())?.context(Credentials::root());
    ///     Taking::of(layer, branches.base(), &context)?.with(branch).take()?;
    ///     Ok(())
    /// }
    /// ```
    #[must_use]
    pub fn with(mut self, branch: Branch) -> Taking {
        self.view.itself = Some(branch);
        self
    }

    /// Lets the branch, which is held with these files as its data, show their data where it is.
    /// Needs [`with`](Self::with).
    ///
    /// [`LayerFiles`] has an example.
    #[must_use]
    pub fn by_reference(mut self, files: Arc<LayerFiles>) -> Taking {
        self.view.files = Some(files);
        self
    }

    /// Takes the layer into the branch. If it fails, the branch has a part of it, and is to be
    /// dropped. Returns the new files of the layer, which the branch has, too.
    pub fn take(self) -> Result<Left, Error> {
        let Taking { view, plan } = &self;
        let mut take = Take { view, plan, made: HashMap::new(), stage: Stage::prepare(view, plan)?, left: Left::default() };
        take.indexed()?;
        let mut upper = Dir::open(&view.upper).map_err(Error::tree("open the layer at", b"/"))?;
        let mut frames = vec![Frame { directory: 0, next: 0, branch: view.branch.root().clone(), path: b"/".to_vec() }];
        while let Some(frame) = frames.last_mut() {
            let entries = &plan.directories[frame.directory].entries;
            match entries.get(frame.next) {
                Some(entry) => {
                    frame.next += 1;
                    if let Some((below, at)) = take.entry((frame, &upper), &entry.name, &entry.what)? {
                        frames.push(below);
                        upper = at;
                    }
                }
                None => {
                    let frame = frames.pop().expect("it was looked at");
                    if frames.is_empty() {
                        take.stage.take().map_or(Ok(()), |stage| stage.end(&view.branch))?;
                    }
                    take.finish(&frame, &upper)?;
                    if !frames.is_empty() {
                        upper = upper.above().map_err(Error::tree("open the directory above", &frame.path))?;
                    }
                }
            }
        }
        Ok(take.left)
    }
}

/// A directory that is being done.
struct Frame {
    directory: usize,
    next: usize,
    branch: Handle,
    path: Vec<u8>,
}

struct Take<'t> {
    view: &'t View,
    plan: &'t Plan,
    /// Nodes with several names in the layer that are done, by their numbers there, with
    /// the times that they got.
    made: HashMap<u64, (Handle, Times)>,
    stage: Option<Stage>,
    left: Left,
}

/// Whether the node of the layer is as the branch has it, with nothing that is in neither its
/// attributes nor its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Copied {
    Alike,
    WithMore,
}

impl Take<'_> {
    /// Does one name, and returns the directory that it leads to, if it does.
    fn entry(&mut self, (frame, upper): (&Frame, &Dir), name: &[u8], what: &What) -> Result<Option<(Frame, Dir)>, Error> {
        let path = join(&frame.path, name);
        let branch = &self.view.branch;
        let failed = || Error::tree("take", &path);
        match what {
            What::Removed => {
                self.remove(&frame.branch, name, &path)?;
                Ok(None)
            }
            What::Node(node) => {
                let upper = upper.node(name, node.kind).map_err(failed())?;
                self.node(frame, name, &upper, node, &path)?;
                Ok(None)
            }
            What::Directory(directory) => {
                let upper = upper.node(name, FileType::Directory).and_then(upper::Node::into_dir).map_err(failed())?;
                let comes = self.plan.directories[*directory].comes;
                if comes != Comes::Stays {
                    self.remove(&frame.branch, name, &path)?;
                }
                let come = || {
                    match (comes, &self.stage) {
                        (Comes::Moved(number), Some(stage)) => stage.give(branch, &number.to_string(), &frame.branch, name)?,
                        (Comes::New | Comes::Moved(_), _) => branch.mkdirat(&frame.branch, name, 0o700)?,
                        (Comes::Stays, _) => {}
                    }
                    let node = branch.lookup_at(&frame.branch, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    allow_changes(branch, &node)?;
                    Ok(node)
                };
                let node = come().map_err(failed())?;
                Ok(Some((Frame { directory: *directory, next: 0, branch: node, path }, upper)))
            }
        }
    }

    /// Does a name of a node that is no directory.
    fn node(
        &mut self,
        frame: &Frame,
        name: &[u8],
        upper: &upper::Node,
        &Node { number, extras, stays, .. }: &Node,
        path: &[u8],
    ) -> Result<(), Error> {
        let branch = &self.view.branch;
        let failed = || Error::tree("take", path);
        if stays == Stays::No {
            self.remove(&frame.branch, name, path)?;
        }
        if let Some((node, times)) = self.made.get(&number) {
            let again = || {
                if stays == Stays::No {
                    self.link(node, &frame.branch, name)?;
                }
                // A link is made while the flags allow it.
                self.settings(upper, extras)?.give(*times, branch, (node, Target::OfBase))
            };
            return again().map_err(failed());
        }
        let place = || match (self.plan.originals.get(&number), &self.stage) {
            _ if stays == Stays::Yes => Ok(Target::OfBase),
            (Some(Original { stays: Stays::No, .. }), Some(stage)) => {
                stage.give(branch, &node_name(number), &frame.branch, name).map(|()| Target::OfBase)
            }
            (Some(original), _) => self.link(&original.node, &frame.branch, name).map(|()| Target::OfBase),
            (None, _) => self.make(upper, &frame.branch, name).map(|()| Target::New),
        };
        let target = place().map_err(failed())?;
        let node = branch.lookup_at(&frame.branch, name, AtFlags::SYMLINK_NOFOLLOW).map_err(failed())?;
        let data = || self.file_in(UPPER, &frame.path, name);
        let (times, is) = self.copy((upper, extras), &node, target, data).map_err(failed())?;
        if upper.attributes().nlink > 1 {
            self.made.insert(number, (node, times));
        } else if is == Copied::Alike {
            self.left.add(&frame.path, name, node.attributes().map_err(failed())?.ino);
        }
        Ok(())
    }

    fn remove(&self, dir: &Handle, name: &[u8], path: &[u8]) -> Result<(), Error> {
        remove(&self.view.branch, self.view.itself.as_ref(), dir, name, path)
    }

    fn link(&self, node: &Handle, dir: &Handle, name: &[u8]) -> Result<(), Errno> {
        let branch = &self.view.branch;
        allow_changes(branch, node)?;
        branch.linkat(node, "", dir, name, LinkFlags::EMPTY_PATH)
    }

    fn make(&self, upper: &upper::Node, dir: &Handle, name: &[u8]) -> Result<(), Errno> {
        let (branch, of) = (&self.view.branch, upper.attributes());
        let kind = match of.kind {
            FileType::Symlink => return branch.symlinkat(&upper.body()?, dir, name),
            FileType::Directory => return branch.mkdirat(dir, name, 0o700),
            FileType::Regular => NewKind::Regular,
            FileType::Fifo => NewKind::Fifo,
            FileType::Socket => NewKind::Socket,
            FileType::CharDevice => NewKind::CharDevice(of.device_node),
            FileType::BlockDevice => NewKind::BlockDevice(of.device_node),
        };
        branch.mknodat(dir, name, kind, 0o600)
    }

    /// Copies all that a node has but its names, and returns the times that it gets.
    fn copy(
        &self,
        (upper, extras): (&upper::Node, Extras),
        node: &Handle,
        is: Target,
        data: impl FnOnce() -> Option<BlobId>,
    ) -> Result<(Times, Copied), Errno> {
        let branch = &self.view.branch;
        allow_changes(branch, node)?;
        let (of, times) = (upper.attributes(), self.times(upper, node, is)?);
        // Before the data is read. A command may have passed an open file on.
        let may_be_alike = is == Target::New && of.kind == FileType::Regular && extras == Extras::None && upper.is_settled();
        if of.kind == FileType::Regular && (of.size > 0 || node.attributes()?.size > 0) {
            self.copy_data(upper, node, is, data())?;
        }
        let settings = self.settings(upper, extras)?;
        settings.give(times, branch, (node, is))?;
        Ok((times, if may_be_alike && settings.is_plain() { Copied::Alike } else { Copied::WithMore }))
    }

    fn copy_data(&self, upper: &upper::Node, node: &Handle, is: Target, data: Option<BlobId>) -> Result<(), Errno> {
        let open = || self.view.branch.reopen(node, OpenFlags::READ | OpenFlags::WRITE | OpenFlags::NOATIME);
        match (data, &self.view.itself) {
            (Some(data), Some(branch)) => {
                let of_base = (is == Target::OfBase).then(open).transpose()?;
                data::show(upper, data, branch, node.attributes()?.ino, of_base.as_ref())
            }
            _ => data::copy(upper, &open()?, is),
        }
    }

    /// Returns the blob that a file in a directory of the layer is; `None` if data is copied.
    fn file_in(&self, top: &str, dir: &[u8], name: &[u8]) -> Option<BlobId> {
        let files = self.view.files.as_ref()?;
        Some(files.add(&[top.as_bytes(), dir].concat(), name))
    }

    fn settings(&self, upper: &upper::Node, extras: Extras) -> Result<Settings, Errno> {
        Settings::of_upper(self.view.form, upper, extras)
    }

    /// Returns the times that a node gets.
    fn times(&self, upper: &upper::Node, node: &Handle, is: Target) -> Result<Times, Errno> {
        let of = upper.attributes();
        Ok(match is {
            Target::New => Times::of(of),
            Target::OfBase => Times::of_copy(of, &node.attributes()?, self.view.start),
        })
    }

    /// Does nodes that are seen only by names that the layer does not have.
    fn indexed(&self) -> Result<(), Error> {
        let Some(index) = &self.view.index else { return Ok(()) };
        for (name, node) in &self.plan.indexed {
            let Some(original) = self.plan.originals.get(&node.number) else { continue };
            let copy = || {
                let upper = Dir::open(index)?.node(name, node.kind)?;
                let data = || self.file_in(WORK, format!("/{INDEX}").as_bytes(), name);
                self.copy((&upper, node.extras), &original.node, Target::OfBase, data).map(drop)
            };
            copy().map_err(Error::tree("take a node of the index,", name))?;
        }
        Ok(())
    }

    /// Does what a directory has but its names, when all in it is done.
    fn finish(&self, frame: &Frame, upper: &Dir) -> Result<(), Error> {
        let directory = &self.plan.directories[frame.directory];
        let is = match directory.comes {
            Comes::New => Target::New,
            Comes::Stays | Comes::Moved(_) => Target::OfBase,
        };
        let finish = || {
            let upper = upper.as_node()?;
            let times = self.times(&upper, &frame.branch, is)?;
            self.settings(&upper, directory.extras)?.give(times, &self.view.branch, (&frame.branch, is))
        };
        finish().map_err(Error::tree("set the attributes of", &frame.path))
    }
}

/// A directory in the root of the branch for what is on its way to another name.
struct Stage {
    name: String,
    dir: Handle,
}

impl Stage {
    /// The most names that are tried for one.
    const ATTEMPTS: u32 = 1 << 16;

    /// Sets aside all that gets another name. Makes no directory if there is nothing.
    fn prepare(view: &View, plan: &Plan) -> Result<Option<Stage>, Error> {
        let branch = &view.branch;
        allow_changes(branch, branch.root()).map_err(Error::tree("change", b"/"))?;
        let indexed: HashSet<u64> = plan.indexed.iter().map(|(_, node)| node.number).collect();
        let moves = |(number, original): &(&u64, &Original)| original.stays == Stays::No && !indexed.contains(number);
        let moved = plan.originals.iter().filter(moves);
        if plan.moves.is_empty() && moved.clone().next().is_none() {
            return Ok(None);
        }
        let stage = Stage::make(branch).map_err(Error::tree("set names aside in", b"/"))?;
        for (number, moved) in plan.moves.iter().enumerate() {
            stage.set_aside(branch, number, &moved.dir, &moved.name).map_err(Error::tree("rename", &moved.path))?;
        }
        for (number, original) in moved {
            let link = || {
                allow_changes(branch, &original.node)?;
                branch.linkat(&original.node, "", &stage.dir, node_name(*number), LinkFlags::EMPTY_PATH)
            };
            link().map_err(Error::tree("set a node aside in", b"/"))?;
        }
        Ok(Some(stage))
    }

    fn make(branch: &Context) -> Result<Stage, Errno> {
        for number in 0..Stage::ATTEMPTS {
            let name = format!(".pathwalk-overlay-{number}");
            match branch.mkdirat(branch.root(), &name, 0o700) {
                Ok(()) => {
                    let dir = branch.lookup_at(branch.root(), &name, AtFlags::SYMLINK_NOFOLLOW)?;
                    return Ok(Stage { name, dir });
                }
                Err(Errno::EEXIST) => {}
                Err(errno) => return Err(errno),
            }
        }
        Err(Errno::EEXIST)
    }

    fn set_aside(&self, branch: &Context, number: usize, dir: &Handle, name: &[u8]) -> Result<(), Errno> {
        allow_changes(branch, dir)?;
        if let Some(node) = child(branch, dir, name)? {
            allow_changes(branch, &node)?;
        }
        branch.renameat(dir, name, &self.dir, number.to_string(), RenameFlags::NOREPLACE)
    }

    /// Gives what is set aside by a name its new one.
    fn give(&self, branch: &Context, aside: &str, dir: &Handle, name: &[u8]) -> Result<(), Errno> {
        branch.renameat(&self.dir, aside, dir, name, RenameFlags::NOREPLACE)
    }

    /// Removes the directory, which is empty.
    fn end(self, branch: &Context) -> Result<(), Error> {
        let removed = branch.unlinkat(branch.root(), &self.name, UnlinkFlags::REMOVEDIR);
        removed.map_err(Error::tree("remove", self.name.as_bytes()))
    }
}

/// Returns the name by which a node is set aside that is no directory.
fn node_name(number: u64) -> String {
    format!("node {number}")
}
