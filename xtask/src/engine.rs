//! The interpreter that carries programs out with the engine: a `Vfs` over a fresh file system, and a [`Context`](pathwalk::Context) for each process, called through a face.

mod administer;
mod convert;
mod data;
mod forget;
mod helpers;
mod late;
mod mounts;
mod open_files;
mod others;
mod space;
mod tree;
mod watch;
mod xattr;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use anyhow::{Context as _, Result};
use pathwalk::Statx;
use pathwalk::permission::NO_ID;
use pathwalk::{
    AccessTimes, AclState, AtFlags, Capabilities, Context, Credentials, Device, Errno, Freshness, Handle, MountFlags, OpenHow,
    PermissionRule, Resolve, StatxFlags, StatxMask, Vfs, VfsBuilder, internals,
};
use pathwalk_memfs::{LinkBodies, MemFs, Options};

use crate::base::{Base, Tree};
use crate::cast::{self, Actor};
use crate::composite::all_parts;
use crate::face::{Company, Face, Kind, at_odds};
use crate::op::Op;
use crate::outcome::{self, Answer, Contents, Interpreter, Node, OF_ACCESSES, Outcome, Transcript, directory_of};
use crate::program::{Act, MANY_PAGES, Program, Settings, Step};
use crate::times::tick;
use crate::words::{Owner, Place, Slot};
use convert::{new_kind, node};
use data::{Descriptor, Descriptors, data};
use late::Late;
use others::Others;

/// The budgets of the caches, in bytes: one with plenty of room, and one with little.
const BUDGET: u64 = 1 << 20;
const SMALL_BUDGET: u64 = 160 << 10;

/// The size of a memo of one set, in bytes.
const SMALL_MEMO: u64 = 384;

/// The size of a memo that holds all paths of a program, if the budget has room for it, in bytes.
const LARGE_MEMO: u64 = 256 << 10;

/// The interpreter that uses the engine, on this file system.
pub(crate) struct Engine(pub(crate) Base);

impl Engine {
    /// Creates the interpreter on the reference file system.
    pub(crate) fn in_memory() -> Engine {
        Engine(Base::Memory)
    }
}

impl Interpreter for Engine {
    fn name(&self) -> &'static str {
        "engine"
    }

    fn run(&mut self, program: &Program) -> Result<Transcript> {
        let clock = Arc::new(AtomicU32::new(0));
        let fs = self.0.tree(program.settings, &clock)?;
        let mut outcomes = Vec::with_capacity(program.steps.len());
        for Act { mount, steps } in program.acts() {
            fs.next_act().context("begin an act")?;
            let beginning = if program.changes_mounts() {
                mounts::covered(program.settings, mount, &fs).context("mount the file system")?
            } else {
                build(program.settings, mount, &fs).context("build a Vfs")?.context(Credentials::root())
            };
            let mut stage = Stage::new(beginning, &fs, program.settings, Company::Alone, &clock);
            if fs.has_others() {
                let settings = program.settings - Settings::FACES;
                let other = build(settings, mount, &fs).context("build another Vfs")?.context(Credentials::root());
                stage.other = Some(Others::new(Stage::new(other, &fs, settings, Company::Alone, &clock)));
            }
            for step in steps {
                // Relaxed: the reader is this thread, or a worker to which it hands the step over.
                clock.store(outcomes.len() as u32 + 1, Relaxed);
                self.0.step()?;
                outcomes.push(stage.carry_out(step));
            }
        }
        fs.end().context("end the last act")?;
        // To look at the tree is no access.
        let vfs = Vfs::builder().budget(BUDGET).mount_flags(MountFlags::NOATIME).build(fs.for_vfs()).context("build a Vfs")?;
        let tree = tree::look(&vfs.context(Credentials::root()), Contents::Ends).context("look at the engine's tree")?;
        let mut transcript = Transcript { outcomes, tree };
        self.0.tell(&mut transcript);
        Ok(transcript)
    }
}

/// The engine for several concurrent threads.
pub(crate) struct Concurrent {
    vfs: Vfs,
    fs: Tree,
    settings: Settings,
}

impl Concurrent {
    pub(crate) fn new(settings: Settings) -> Result<Concurrent> {
        // All concurrent operations count as one step.
        let fs = Tree::Memory(MemFs::with(options(settings, &Arc::default())));
        Ok(Concurrent { vfs: build(settings, MountFlags::empty(), &fs).context("build a Vfs")?, fs, settings })
    }

    /// Returns a stage for one more thread.
    pub(crate) fn stage(&self) -> Stage {
        Stage::new(self.vfs.context(Credentials::root()), &self.fs, self.settings, Company::Others, &Arc::default())
    }

    /// Returns a stage for one more thread, with the descriptors of another.
    pub(crate) fn stage_like(&self, other: &Stage) -> Stage {
        Stage { slots: other.slots.clone(), ..self.stage() }
    }

    /// Returns the tree after all threads have ended.
    pub(crate) fn end(self) -> Result<Transcript> {
        let tree = tree::look(&self.vfs.context(Credentials::root()), Contents::Ends).context("look at the engine's tree")?;
        Ok(Transcript { outcomes: Vec::new(), tree }.without_steps())
    }
}

pub(crate) fn options(settings: Settings, clock: &Arc<AtomicU32>) -> Options {
    let clock = Arc::clone(clock);
    let asked = |flag| if settings.contains(flag) { Freshness::AskEachTime } else { Freshness::Stable };
    let mut options = Options::default().freshness(asked(Settings::ASK_NAMES)).absence(asked(Settings::ASK_ABSENCE));
    options = options.attributes(asked(Settings::ASK_ATTRIBUTES));
    let [nodes, pages] = settings.limits();
    if let Some(nodes) = nodes {
        options = options.max_nodes(nodes);
    }
    options = options.max_bytes(pages.unwrap_or(MANY_PAGES) << 12).clock(move || tick(clock.load(Relaxed)));
    if settings.intersects(Settings::ACCESSES) {
        options = options.access_times(AccessTimes::OfEngine);
    }
    if settings.contains(Settings::OWN_RULE) {
        options = options.permission_rule(PermissionRule::Own);
    }
    if settings.contains(Settings::BODIES_ON_REQUEST) {
        options = options.link_bodies(LinkBodies::OnRequest);
    }
    if settings.contains(Settings::ACL_UNKNOWN) {
        options = options.acl(AclState::Unknown);
    }
    options
}

/// Sets up the memo of whole paths, whose room is part of the budget.
fn memo(builder: VfsBuilder, settings: Settings) -> VfsBuilder {
    let builder = match () {
        () if settings.contains(Settings::PACED_MEMO) => builder,
        () if settings.contains(Settings::DIRECTORIES_MEMO) => internals::directories_learned_at_once(builder),
        () => internals::learning_at_once(builder),
    };
    match () {
        () if settings.contains(Settings::NO_MEMO) => builder.whole_paths(0),
        () if settings.contains(Settings::SMALL_MEMO) => builder.whole_paths(SMALL_MEMO),
        () if settings.contains(Settings::LARGE_MEMO) => builder.whole_paths(LARGE_MEMO),
        () => builder,
    }
}

fn build(settings: Settings, mount: MountFlags, fs: &Tree) -> Result<Vfs, pathwalk::BuildError> {
    let budget = match () {
        () if settings.contains(Settings::LEAST_BUDGET) => Vfs::budget_for(0),
        // The memo is a part of it, and leaves room for the nodes that a program holds.
        () if settings.contains(Settings::SMALL_BUDGET | Settings::LARGE_MEMO) => SMALL_BUDGET + LARGE_MEMO,
        () if settings.contains(Settings::SMALL_BUDGET) => SMALL_BUDGET,
        () => BUDGET,
    };
    let mount = (mount - OF_ACCESSES) | settings.of_accesses();
    // No time passes in which a lease ends.
    let mut builder = memo(Vfs::builder().budget(budget).mount_flags(mount).leases(Duration::ZERO), settings);
    if settings.contains(Settings::PROTECT_SYMLINKS) {
        builder = builder.protect_symlinks();
    }
    if settings.contains(Settings::PROTECT_HARDLINKS) {
        builder = builder.protect_hardlinks();
    }
    if settings.contains(Settings::LATE) { builder.build(Late::new(fs.for_vfs())) } else { builder.build(fs.for_vfs()) }
}

/// One process: its face, and its context with all capabilities for looking.
struct Process {
    face: Box<dyn Face>,
    looking: Context,
    all_seeing: Credentials,
    own: Credentials,
    /// A flag that is set once the process has changed its root.
    is_elsewhere: bool,
}

impl Process {
    fn new(beginning: &Context, actor: Actor, settings: Settings, company: Company) -> Process {
        let all_seeing = actor.credentials().with_capabilities(Capabilities::all());
        // Threads of one process own its locks together.
        let context = beginning.clone().with_lock_owner(beginning.lock_owner()).with_credentials(actor.credentials());
        Process {
            face: Kind::of(settings).face(context, company),
            looking: beginning.clone().with_credentials(all_seeing.clone()),
            all_seeing,
            own: actor.credentials(),
            is_elsewhere: false,
        }
    }

    fn moved(&mut self, moved: Result<(), Errno>) -> Result<Answer, Errno> {
        self.looking = self.face.context().clone().with_credentials(self.all_seeing.clone());
        moved.map(|()| Answer::Done)
    }
}

/// The state of one thread.
pub(crate) struct Stage {
    vfs: Vfs,
    /// The file systems, by the numbers of their devices.
    file_systems: HashMap<Device, Tree>,
    /// The root of the whole tree.
    top: Handle,
    /// A context at that root, which sees the whole tree.
    overview: Context,
    clock: Arc<AtomicU32>,
    settings: Settings,
    processes: Vec<Process>,
    slots: Descriptors,
    keeps: open_files::Keeps,
    /// The side that makes some of the changes behind the back of this one.
    other: Option<Others>,
}

impl Stage {
    /// Creates a stage whose processes begin where this context is.
    fn new(overview: Context, fs: &Tree, settings: Settings, company: Company, clock: &Arc<AtomicU32>) -> Stage {
        let processes = cast::all_actors().map(|actor| Process::new(&overview, actor, settings, company)).collect();
        let top = overview.lookup("/").expect("there is a root");
        let device = top.attributes().expect("the root has attributes").device;
        Stage {
            vfs: overview.vfs().clone(),
            file_systems: HashMap::from([(device, fs.alias())]),
            top,
            overview,
            clock: Arc::clone(clock),
            settings,
            processes,
            slots: Descriptors::default(),
            keeps: open_files::Keeps::default(),
            other: None,
        }
    }

    pub(crate) fn carry_out(&mut self, step: &Step) -> Outcome {
        let Step { actor, op } = step;
        if !op.counts(*actor, |slot| self.slots.opener(slot)) {
            return Outcome::not_carried_out();
        }
        if self.settings.contains(Settings::FORGETFUL) {
            self.forget(step);
        }
        let answer = match self.answer_of_others(*actor, op) {
            Some(answer) => answer,
            None => self.answer(*actor, op),
        };
        let answer = op.settled(answer.unwrap_or_else(Answer::Failed));
        let seen = if self.settings.contains(Settings::OBSERVE) { self.seen(*actor, op) } else { Vec::new() };
        let watched = self.watch(*actor).expect("what is there can be looked at");
        Outcome { answer, seen, watched }
    }

    fn answer(&mut self, actor: Actor, op: &Op) -> Result<Answer, Errno> {
        match op {
            Op::Open { slot, at, flags, mode } => {
                let how = OpenHow { flags: convert::at_once(*flags), mode: mode.0, ..OpenHow::default() };
                return self.open(actor, *slot, at, &how);
            }
            Op::OpenUnder { slot, at, flags, mode, rules } => {
                return self.open(actor, *slot, at, &OpenHow { flags: convert::at_once(*flags), mode: mode.0, resolve: *rules });
            }
            op if op.changes_mounts() => return self.change_mounts(actor, op),
            op if op.is_helper() => return self.help(actor, op),
            op if op.is_on_open_files() => return self.of_open_files(actor, op),
            Op::Close { slot } => {
                let closed = self.slots.set(*slot, None).expect("it was looked for");
                return self.processes[actor.index()].face.close(closed.file).map(done);
            }
            Op::Chdir { path } => {
                let process = &mut self.processes[actor.index()];
                let moved = process.face.context_mut().chdir(&path.0);
                return process.moved(moved);
            }
            Op::Chroot { path } => {
                let process = &mut self.processes[actor.index()];
                let moved = process.face.context_mut().chroot(&path.0);
                process.is_elsewhere |= moved.is_ok();
                return process.moved(moved);
            }
            Op::Mount { .. } => return Ok(Answer::Done),
            Op::Umask { mask } => {
                return Ok(Answer::Number(self.processes[actor.index()].face.context_mut().umask(mask.0).into()));
            }
            Op::Fill { .. } | Op::Dig { .. } => {
                return all_parts(&op.parts().unwrap_or_default(), |part| self.answer(actor, part));
            }
            Op::ListParts { slot, size, name, to } => return self.list_parts(actor, *slot, *size, [name, to]),
            Op::SetAcl { at: of, list, flags } => return self.set_acl(actor, of, list, *flags).map(done),
            Op::GetAcl { at: of, kind, flags } => return self.acl(actor, of, *kind, *flags),
            Op::SetFlags { at: of, set, flags } => return self.set_flags(actor, of, *set, *flags).map(done),
            Op::GetFlags { at: of, flags } => return self.inode_flags(actor, of, *flags),
            _ => {}
        }
        let process = &mut self.processes[actor.index()];
        if op.is_on_xattrs() {
            return xattr::carry_out(process, &self.slots, op);
        }
        let context = &mut *process.face;
        let at = |place: &Place| self.slots.at(place.at);
        match op {
            Op::Mkdir { at: to, mode } => context.mkdir(at(to), &to.path.0, mode.0).map(done),
            Op::Mknod { at: to, kind, mode } => context.mknodat(at(to), &to.path.0, new_kind(*kind), mode.0).map(done),
            Op::Symlink { body, at: to } => context.symlink(&body.0, at(to), &to.path.0).map(done),
            Op::Link { from, to, flags } => context.link(at(from), &from.path.0, at(to), &to.path.0, *flags).map(done),
            Op::Unlink { at: of } => context.unlink(at(of), &of.path.0).map(done),
            Op::Rmdir { at: of } => context.rmdir(at(of), &of.path.0).map(done),
            Op::Rename { from, to, flags } => context.rename(at(from), &from.path.0, at(to), &to.path.0, *flags).map(done),
            Op::Chmod { at: of, mode, flags } => context.fchmodat(at(of), &of.path.0, mode.0, *flags).map(done),
            Op::Chown { at: of, uid, gid, flags } => {
                // `chown(2)` means by -1 what the engine means by `None`; the engine refuses a -1.
                let known = |owner: Owner| owner.0.filter(|id| *id != NO_ID);
                let chown = |uid, gid| context.fchownat(at(of), &of.path.0, uid, gid, *flags).map(done);
                let answer = chown(uid.0, gid.0);
                let refused = answer == Err(Errno::EINVAL);
                if refused { chown(known(*uid), known(*gid)) } else { answer }
            }
            Op::Truncate { path, size } => {
                let look = || context.stat(&path.0).map(|found| node(&found));
                let before = look();
                context.truncate(&path.0, *size)?;
                if outcome::keeps_size(before.as_ref().ok(), *size) { look().map(Answer::Node) } else { Ok(Answer::Done) }
            }
            Op::Times { at: of, atime, mtime, flags } => context.utimensat(at(of), &of.path.0, *atime, *mtime, *flags).map(done),
            Op::Stat { at: of, flags } => {
                let mut found = context.fstatat(at(of), &of.path.0, *flags)?;
                if flags.contains(AtFlags::DONT_SYNC) {
                    found = context.fstatat(at(of), &of.path.0, *flags - AtFlags::DONT_SYNC)?;
                }
                Ok(Answer::Node(node(&found)))
            }
            Op::Statx { at: of, flags, mask } => {
                let mut found = context.statx(at(of), &of.path.0, *flags, *mask)?;
                if flags.contains(AtFlags::DONT_SYNC) {
                    // What the answer says to be up to date has to be so. Then all is compared.
                    let all = context.statx(at(of), &of.path.0, *flags - AtFlags::DONT_SYNC, *mask)?;
                    // No bit of the mask stands for the flags. A change of them moves the time of
                    // change.
                    let flags = |node: Node| {
                        let knows = found.mask.contains(StatxMask::CTIME);
                        if knows { node } else { Node { flags: StatxFlags::empty(), ..node } }
                    };
                    let known = |of: &Statx| flags(node(&of.attributes).only(found.mask));
                    if known(&found) != known(&all) {
                        return Err(at_odds());
                    }
                    found = all;
                }
                // File systems differ in the attributes that they return without being asked.
                Ok(Answer::Some(found.mask & *mask & outcome::COMPARED, node(&found.attributes).only(*mask)))
            }
            Op::Readlink { at: of, size } => {
                let mut buffer = vec![0; *size as usize];
                let length = context.readlinkat(at(of), &of.path.0, &mut buffer)?;
                buffer.truncate(length);
                Ok(Answer::Bytes(buffer))
            }
            Op::Access { at: of, want, flags } => context.faccessat(at(of), &of.path.0, *want, *flags).map(done),
            Op::TryOpen { at: of, flags, mode } => {
                let how = OpenHow { flags: convert::at_once(*flags), mode: mode.0, resolve: Resolve::CACHED };
                let file = context.open(at(of), &of.path.0, &how)?;
                Ok(Answer::Node(node(&file.handle().attributes()?)))
            }
            Op::Statfs { path } => context.statfs(&path.0).map(|found| outcome::told_of_file_system(found.name_max, found.flags)),
            op if op.is_of_space() => space::space(process, &self.slots, actor, op),
            _ => data(process, &self.slots, actor, op),
        }
    }

    fn open(&mut self, actor: Actor, slot: Slot, at: &Place, how: &OpenHow) -> Result<Answer, Errno> {
        let file = self.processes[actor.index()].face.open(self.slots.at(at.at), &at.path.0, how)?;
        let node = node(&file.handle().attributes()?);
        self.slots.set(slot, Some(Descriptor { file, opener: actor }));
        Ok(Answer::Node(node))
    }

    fn seen(&self, actor: Actor, op: &Op) -> Vec<Result<Node, Errno>> {
        let process = &self.processes[actor.index()];
        let as_root = actor.may_look_as_root() && !self.settings.contains(Settings::OBSERVE_AS_ACTOR);
        let eyes = if as_root { &process.looking } else { process.face.context() };
        let look = |slot, path: &[u8]| {
            let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::EMPTY_PATH;
            eyes.fstatat(self.slots.at(slot), path, flags).map(|found| node(&found))
        };
        op.places().into_iter().flat_map(|(slot, path)| [look(slot, path), look(slot, directory_of(path))]).collect()
    }
}

fn done((): ()) -> Answer {
    Answer::Done
}
