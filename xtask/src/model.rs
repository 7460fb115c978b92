//! The interpreter that carries programs out with the model.
//!
//! All processes of a program share one process of the model, since they share their descriptors.
//! When another actor has its turn, that process takes over the actor's root, working directory,
//! umask and credentials. The roots and working directories are held by descriptors above those of
//! the program.

mod administer;
mod convert;
pub(crate) mod crowd;
mod helpers;
mod open_files;
mod space;
mod xattr;

use anyhow::{Result, anyhow};
use pathwalk::permission::NO_ID;
use pathwalk::{Errno, OpenFlags, StatxMask};
use pathwalk_model::{
    AT_FDCWD, Access, Accesses, AtFlags as ModelAtFlags, Credentials, Model, NodeFlags, OpenFlags as ModelOpenFlags, OpenHow,
    Options, Process, RenameFlags, Whence as ModelWhence,
};

use crate::cast::{self, ACTORS, Actor};
use crate::composite::all_parts;
use crate::op::Op;
use crate::outcome::{self, Answer, Interpreter, Node, Outcome, Transcript, directory_of};
use crate::program::{Program, Settings, Step};
use crate::watch::{Open, Watched};
use crate::words::{Owner, Place, SLOTS, Slot, Whence};
use convert::{
    acl, acl_kind, at_flags, file_type, ino, kind_and_device, leaf, link_flags, list_value, new_time, node, open_flags,
};

/// The interpreter that uses the model.
pub(crate) struct ModelInterpreter;

/// The model's limit on the length of a file, in bytes: the model stores every byte.
pub(crate) const LARGEST_FILE: u64 = 1 << 20;

impl Interpreter for ModelInterpreter {
    fn name(&self) -> &'static str {
        "model"
    }

    fn run(&mut self, program: &Program) -> Result<Transcript> {
        let mut world = World::new(program.settings).map_err(|errno| anyhow!("set the model up: {errno:?}"))?;
        let carry_out = |(index, step)| {
            world.model.set_clock(index as u32 + 1);
            world.carry_out(step)
        };
        let outcomes = program.steps.iter().enumerate().map(carry_out).collect();
        Ok(Transcript { outcomes, ..world.transcript() })
    }
}

type Answered<T> = std::result::Result<T, pathwalk_model::Errno>;

/// The state of a program. A clone goes on from here by itself.
#[derive(Clone, Hash)]
pub(crate) struct World {
    model: Model,
    process: Process,
    settings: Settings,
    /// The current actor, and the umasks of all actors.
    now: Actor,
    umasks: [u32; ACTORS],
    openers: [Option<Actor>; SLOTS],
    keeps: open_files::Keeps,
}

/// Returns the accesses that the settings have stored.
fn accesses(settings: Settings) -> Accesses {
    match () {
        () if settings.contains(Settings::STRICTATIME) => Accesses::Always,
        () if settings.contains(Settings::RELATIME) => Accesses::Relative,
        () => Accesses::Never,
    }
}

fn root_of(actor: Actor) -> i32 {
    (SLOTS + 2 * actor.index()) as i32
}

fn cwd_of(actor: Actor) -> i32 {
    root_of(actor) + 1
}

impl World {
    pub(crate) fn new(settings: Settings) -> Answered<World> {
        let model = Model::new(Options {
            protected_symlinks: settings.contains(Settings::PROTECT_SYMLINKS),
            protected_hardlinks: settings.contains(Settings::PROTECT_HARDLINKS),
            largest_file: LARGEST_FILE,
            most_nodes: settings.limits()[0],
            most_pages: settings.limits()[1],
            accesses: accesses(settings),
            directory_accesses: if settings.contains(Settings::NODIRATIME) { Accesses::Never } else { accesses(settings) },
            ..Options::default()
        });
        let process = model.process(Credentials::root());
        let umasks = [0o022; ACTORS];
        let mut world =
            World { model, process, settings, now: cast::ROOT, umasks, openers: Default::default(), keeps: Default::default() };
        for actor in cast::all_actors() {
            world.keep(b"/", root_of(actor))?;
            world.keep(b"/", cwd_of(actor))?;
        }
        Ok(world)
    }

    /// Returns the current tree.
    pub(crate) fn transcript(&self) -> Transcript {
        Transcript { outcomes: Vec::new(), tree: self.model.dump().into_iter().map(leaf).collect() }
    }

    /// Holds a directory by this descriptor.
    fn keep(&mut self, path: &[u8], descriptor: i32) -> Answered<()> {
        let flags = ModelOpenFlags::PATH | ModelOpenFlags::DIRECTORY;
        let new = self.model.open(&mut self.process, AT_FDCWD, path, flags, 0)?;
        self.model.dup2(&mut self.process, new, descriptor)?;
        if new != descriptor { self.model.close(&mut self.process, new) } else { Ok(()) }
    }

    /// Makes another actor the current one.
    fn become_process(&mut self, actor: Actor) -> Answered<()> {
        if self.now == actor {
            return Ok(());
        }
        self.process.set_credentials(Credentials::root());
        self.model.fchdir(&mut self.process, root_of(actor))?;
        self.model.chroot(&mut self.process, b".")?;
        self.model.fchdir(&mut self.process, cwd_of(actor))?;
        self.umasks[self.now.index()] = self.model.umask(&mut self.process, self.umasks[actor.index()]);
        self.process.set_credentials(actor.model_credentials());
        self.now = actor;
        Ok(())
    }

    pub(crate) fn carry_out(&mut self, Step { actor, op }: &Step) -> Outcome {
        if !op.counts(*actor, |slot| self.openers[usize::from(slot.0)]) {
            return Outcome::not_carried_out();
        }
        let answer = self.become_process(*actor).and_then(|()| self.answer(op));
        let answer = op.settled(answer.unwrap_or_else(|errno| Answer::Failed(Errno::from_raw(errno.0))));
        let seen = if self.settings.contains(Settings::OBSERVE) { self.seen(*actor, op) } else { Vec::new() };
        let watched = self.watch(*actor);
        Outcome { answer, seen, watched }
    }

    fn answer(&mut self, op: &Op) -> Answered<Answer> {
        if let Some(parts) = op.parts() {
            return all_parts(&parts, |part| self.answer(part));
        }
        if let Op::ListParts { slot, name, to, .. } = op {
            return self.list_parts(*slot, [name, to]);
        }
        let Self { model, process, .. } = self;
        let at = |place: &Place| place.at.map_or(AT_FDCWD, number);
        match op {
            Op::Open { slot, at, flags, mode } => self.open(*slot, at, *flags, mode.0),
            Op::Close { slot } => {
                self.openers[usize::from(slot.0)] = None;
                model.close(process, number(*slot)).map(done)
            }
            Op::Chdir { path } => {
                model.chdir(process, &path.0)?;
                self.keep(b".", cwd_of(self.now)).map(done)
            }
            Op::Chroot { path } => {
                model.chroot(process, &path.0)?;
                self.keep(b"/", root_of(self.now)).map(done)
            }
            // The model has no mounts and no `RESOLVE_*` rules.
            Op::Mount { .. } | Op::OpenUnder { .. } => Ok(Answer::NotCarriedOut),
            op if op.changes_mounts() => Ok(Answer::NotCarriedOut),
            op if op.is_helper() => self.help(op),
            op if op.is_on_open_files() => self.of_open_files(op),
            op if op.is_on_xattrs() => self.xattr(op),
            Op::Umask { mask } => Ok(Answer::Number(model.umask(process, mask.0.into()).into())),
            Op::Mkdir { at: to, mode } => model.mkdir(process, at(to), &to.path.0, mode.0.into()).map(done),
            Op::Mknod { at: to, kind, mode } => {
                let (kind, device) = kind_and_device(*kind);
                model.mknod(process, at(to), &to.path.0, kind | u32::from(mode.0), device).map(done)
            }
            Op::Symlink { body, at: to } => model.symlink(process, &body.0, at(to), &to.path.0).map(done),
            Op::Link { from, to, flags } => {
                model.link(process, at(from), &from.path.0, at(to), &to.path.0, link_flags(*flags)).map(done)
            }
            Op::Unlink { at: of } => model.unlink(process, at(of), &of.path.0).map(done),
            Op::Rmdir { at: of } => model.rmdir(process, at(of), &of.path.0).map(done),
            Op::Rename { from, to, flags } => {
                let flags = RenameFlags::from_bits_retain(flags.bits());
                model.rename(process, at(from), &from.path.0, at(to), &to.path.0, flags).map(done)
            }
            Op::Chmod { at: of, mode, flags } => {
                model.chmod(process, at(of), &of.path.0, mode.0.into(), at_flags(*flags)).map(done)
            }
            Op::Chown { at: of, uid, gid, flags } => {
                let known = |owner: Owner| owner.0.filter(|id| *id != NO_ID);
                model.chown(process, at(of), &of.path.0, known(*uid), known(*gid), at_flags(*flags)).map(done)
            }
            Op::Truncate { path, size } => {
                let look = |process: &mut Process| {
                    model.stat(process, AT_FDCWD, &path.0, ModelAtFlags::empty()).map(|found| node(&found))
                };
                let before = look(process);
                model.truncate(process, &path.0, *size as i64)?;
                if outcome::keeps_size(before.as_ref().ok(), *size) { look(process).map(Answer::Node) } else { Ok(Answer::Done) }
            }
            Op::Times { at: of, atime, mtime, flags } => {
                model.utimens(process, at(of), &of.path.0, new_time(*atime), new_time(*mtime), at_flags(*flags)).map(done)
            }
            Op::Stat { at: of, flags } => {
                model.stat(process, at(of), &of.path.0, at_flags(*flags)).map(|found| Answer::Node(node(&found)))
            }
            Op::Statx { at: of, flags, mask } => {
                let found = model.statx(process, at(of), &of.path.0, at_flags(*flags), mask.bits())?;
                let unique = mask.contains(StatxMask::MNT_ID_UNIQUE);
                let absent = if unique { StatxMask::MNT_ID } else { StatxMask::empty() };
                Ok(Answer::Some(*mask & (outcome::COMPARED - absent), node(&found).only(*mask)))
            }
            Op::Readlink { at: of, size } => model.readlink(process, at(of), &of.path.0, *size as i32).map(Answer::Bytes),
            Op::Access { at: of, want, flags } => {
                let want = Access::from_bits_retain(want.bits().into());
                model.access(process, at(of), &of.path.0, want, at_flags(*flags)).map(done)
            }
            Op::SetAcl { at: of, list, flags } => {
                let list = (acl_kind(list.kind), &acl(&list.entries)[..]);
                model.set_acl(process, at(of), &of.path.0, list, at_flags(*flags)).map(done)
            }
            Op::GetAcl { at: of, kind, flags } => {
                let list = model.acl(process, at(of), &of.path.0, acl_kind(*kind), at_flags(*flags))?;
                Ok(Answer::Bytes(list_value(&list)))
            }
            Op::SetFlags { at: of, set, flags } => {
                let set = NodeFlags::from_bits_retain(set.bits());
                model.set_flags(process, at(of), &of.path.0, set, at_flags(*flags)).map(done)
            }
            Op::GetFlags { at: of, flags } => {
                let found = model.flags(process, at(of), &of.path.0, at_flags(*flags))?;
                Ok(Answer::Number(found.bits().into()))
            }
            Op::TryOpen { at: of, flags, mode } => self.try_open(of, *flags, mode.0),
            Op::Statfs { path } => model.statfs(process, &path.0).map(|found| Answer::Number(found.longest_name)),
            op if op.is_of_space() => self.space(op),
            _ => self.data(op),
        }
    }

    fn open(&mut self, slot: Slot, at: &Place, flags: OpenFlags, mode: u16) -> Answered<Answer> {
        let start = at.at.map_or(AT_FDCWD, number);
        let how = OpenHow { flags: open_flags(flags), mode: mode.into(), ..OpenHow::default() };
        let new = self.model.open2(&mut self.process, start, &at.path.0, how)?;
        self.fill(slot, new)
    }

    /// Moves a new descriptor to a slot of the current actor; returns its attributes.
    fn fill(&mut self, slot: Slot, new: i32) -> Answered<Answer> {
        let Self { model, process, now, openers, .. } = self;
        model.renumber(process, new, number(slot))?;
        openers[usize::from(slot.0)] = Some(*now);
        model.fstat(process, number(slot)).map(|found| Answer::Node(node(&found)))
    }

    /// Looks at the whole tree and at all open files, if the program is watched. The model reports
    /// no paths of open files.
    fn watch(&mut self, actor: Actor) -> Option<Box<Watched>> {
        if !self.settings.contains(Settings::WATCH) || !actor.may_look_as_root() {
            return None;
        }
        let tree = self.transcript().tree.into_iter().map(|(path, leaf)| (path, leaf.node)).collect();
        let open = (0..SLOTS as u8).filter(|slot| self.openers[usize::from(*slot)].is_some()).collect::<Vec<u8>>();
        let mut look = |slot: &u8| self.model.fstat(&mut self.process, number(Slot(*slot))).ok();
        let slots = open.iter().filter_map(|slot| Some((*slot, Open { node: node(&look(slot)?), path: None }))).collect();
        Some(Box::new(Watched { tree, slots }))
    }

    /// Carries out an operation on an open file.
    fn data(&mut self, op: &Op) -> Answered<Answer> {
        let Self { model, process, .. } = self;
        match *op {
            Op::Read { slot, size } => model.read(process, number(slot), size as usize).map(Answer::Bytes),
            Op::ReadAt { slot, size, offset } | Op::TryReadAt { slot, size, offset } => {
                model.pread(process, number(slot), size as usize, offset as i64).map(Answer::Bytes)
            }
            Op::Write { slot, byte, size } => model.write(process, number(slot), &vec![byte; size as usize]).map(counted),
            Op::WriteAt { slot, byte, size, offset } => {
                model.pwrite(process, number(slot), &vec![byte; size as usize], offset as i64).map(counted)
            }
            Op::Seek { slot, whence, by } => {
                let kind = node(&model.fstat(process, number(slot))?).kind;
                if !outcome::may_seek(kind, whence) {
                    return Ok(Answer::NotCarriedOut);
                }
                let whence = match whence {
                    Whence::Start => ModelWhence::Set,
                    Whence::Current => ModelWhence::Current,
                    Whence::End => ModelWhence::End,
                };
                model.seek(process, number(slot), by, whence).map(Answer::Number)
            }
            Op::SetLen { slot, size } => model.ftruncate(process, number(slot), size as i64).map(done),
            Op::List { slot } => self.list(slot),
            Op::ListNodes { slot, .. } => self.list_nodes(slot),
            Op::Sync { slot } => model.fsync(process, number(slot)).map(done),
            ref other => unreachable!("{} is no operation on what is open", other.verb()),
        }
    }

    /// Lists a directory. The model lists neither `.` nor `..`.
    fn list(&mut self, slot: Slot) -> Answered<Answer> {
        let Self { model, process, .. } = self;
        model.seek(process, number(slot), 0, ModelWhence::Set)?;
        let entries = model.readdir(process, number(slot))?;
        let entry = |entry: pathwalk_model::DirectoryEntry| (entry.name, (file_type(entry.file_type), ino(entry.node)));
        Ok(Answer::Listing(entries.into_iter().map(entry).collect()))
    }

    fn seen(&mut self, actor: Actor, op: &Op) -> Vec<std::result::Result<Node, Errno>> {
        let as_root = actor.may_look_as_root() && !self.settings.contains(Settings::OBSERVE_AS_ACTOR);
        let own = actor.model_credentials();
        if as_root {
            self.process.set_credentials(own.clone().with_capabilities(pathwalk_model::Capabilities::all()));
        }
        let mut seen = Vec::new();
        for (slot, path) in op.places() {
            for path in [path, directory_of(path)] {
                let flags = ModelAtFlags::SYMLINK_NOFOLLOW | ModelAtFlags::EMPTY_PATH;
                let found = self.model.stat(&mut self.process, slot.map_or(AT_FDCWD, number), path, flags);
                seen.push(found.map(|found| node(&found)).map_err(|errno| Errno::from_raw(errno.0)));
            }
        }
        if as_root {
            self.process.set_credentials(own);
        }
        seen
    }
}

fn number(slot: Slot) -> i32 {
    slot.0.into()
}

fn done((): ()) -> Answer {
    Answer::Done
}

fn counted(bytes: usize) -> Answer {
    Answer::Number(bytes as u64)
}
