//! The ways in which the engine can be asked: by a [`Context`], by its caches alone, by a ring, and
//! by futures.
//!
//! A face carries out single operations; the interpreter above is the same for all. What a face has
//! no way for, the [`Context`] does. An answer must not depend on the face that gave it.

mod asynchronous;
mod cached;
mod ring;

use std::ops::{ControlFlow, Deref};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use fastrand::Rng;
use pathwalk::{
    Access, At, AtFlags, Attributes, Context, Errno, File, FileType, LinkFlags, OpenHow, RenameFlags, Statx, StatxMask, SyncWhat,
};
use pathwalk_ring::Pool;

use crate::program::Settings;

/// How many faces there are.
const FACES: usize = 4;

/// A face, by its name.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A context.
    Engine,
    /// The caches alone; where they do not know, a context.
    Cached,
    /// Entries of a ring.
    Ring,
    /// Futures.
    Async,
}

impl Kind {
    const ALL: [Kind; FACES] = [Kind::Engine, Kind::Cached, Kind::Ring, Kind::Async];

    /// How a program says so.
    pub(crate) fn settings(self) -> Settings {
        match self {
            Kind::Engine => Settings::empty(),
            Kind::Cached => Settings::BY_CACHED,
            Kind::Ring => Settings::BY_RING,
            Kind::Async => Settings::BY_ASYNC,
        }
    }

    /// What a program says. Of several the first counts.
    fn of(settings: Settings) -> Kind {
        let asked = Kind::ALL.into_iter().skip(1).find(|kind| settings.contains(kind.settings()));
        asked.unwrap_or(Kind::Engine)
    }

    pub(crate) fn drawn(rng: &mut Rng) -> Kind {
        Kind::ALL[rng.usize(..FACES)]
    }

    fn name(self) -> &'static str {
        ["engine", "cached", "ring", "async"][self as usize]
    }
}

/// Whether other threads use the same `Vfs`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Company {
    Alone,
    Others,
}

/// What is listed of one name: the name, its type and inode number.
pub(crate) type Listed = (Vec<u8>, FileType, u64);

/// One process's way to ask.
///
/// Operations that no face has are reached through the face as a [`Context`].
pub(crate) trait Face: Send {
    fn context(&self) -> &Context;

    /// For what changes the process itself.
    fn context_mut(&mut self) -> &mut Context;

    fn open(&mut self, at: At<'_>, path: &[u8], how: &OpenHow) -> Result<Arc<File>, Errno> {
        self.context().open(at, path, how).map(Arc::new)
    }

    fn statx(&mut self, at: At<'_>, path: &[u8], flags: AtFlags, mask: StatxMask) -> Result<Statx, Errno> {
        self.context().statx(at, path, flags, mask)
    }

    fn fstatat(&mut self, at: At<'_>, path: &[u8], flags: AtFlags) -> Result<Attributes, Errno> {
        self.statx(at, path, flags, StatxMask::BASIC_STATS).map(|found| found.attributes)
    }

    fn faccessat(&mut self, at: At<'_>, path: &[u8], want: Access, flags: AtFlags) -> Result<(), Errno> {
        self.context().faccessat(at, path, want, flags)
    }

    fn readlinkat(&mut self, at: At<'_>, path: &[u8], buffer: &mut [u8]) -> Result<usize, Errno> {
        self.context().readlinkat(at, path, buffer)
    }

    fn mkdir(&mut self, at: At<'_>, path: &[u8], mode: u16) -> Result<(), Errno> {
        self.context().mkdir(at, path, mode)
    }

    fn symlink(&mut self, body: &[u8], at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        self.context().symlink(body, at, path)
    }

    fn link(&mut self, from: At<'_>, old: &[u8], to: At<'_>, new: &[u8], flags: LinkFlags) -> Result<(), Errno> {
        self.context().link(from, old, to, new, flags)
    }

    fn unlink(&mut self, at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        self.context().unlink(at, path)
    }

    fn rmdir(&mut self, at: At<'_>, path: &[u8]) -> Result<(), Errno> {
        self.context().rmdir(at, path)
    }

    fn rename(&mut self, from: At<'_>, old: &[u8], to: At<'_>, new: &[u8], flags: RenameFlags) -> Result<(), Errno> {
        self.context().rename(from, old, to, new, flags)
    }

    fn read(&mut self, file: &Arc<File>, buffer: &mut [u8]) -> Result<usize, Errno> {
        file.read(buffer)
    }

    fn read_at(&mut self, file: &Arc<File>, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        file.read_at(buffer, offset)
    }

    fn write(&mut self, file: &Arc<File>, data: &[u8]) -> Result<usize, Errno> {
        file.write(data)
    }

    fn write_at(&mut self, file: &Arc<File>, data: &[u8], offset: u64) -> Result<usize, Errno> {
        file.write_at(data, offset)
    }

    fn sync(&mut self, file: &Arc<File>, what: SyncWhat) -> Result<(), Errno> {
        file.sync(what)
    }

    /// Lists from the position to the end.
    fn list(&mut self, file: &Arc<File>, each: &mut dyn FnMut(Listed)) -> Result<(), Errno> {
        list(file, each)
    }

    fn close(&mut self, file: Arc<File>) -> Result<(), Errno> {
        drop(file);
        Ok(())
    }
}

/// What no face has.
impl Deref for dyn Face {
    type Target = Context;

    fn deref(&self) -> &Context {
        self.context()
    }
}

/// Lists without a face.
pub(super) fn list(file: &File, each: &mut dyn FnMut(Listed)) -> Result<(), Errno> {
    file.read_dir(|entry| {
        each((entry.name.to_vec(), entry.kind, entry.ino));
        ControlFlow::Continue(())
    })
}

/// The context itself.
struct Plain(Context);

impl Face for Plain {
    fn context(&self) -> &Context {
        &self.0
    }

    fn context_mut(&mut self) -> &mut Context {
        &mut self.0
    }
}

/// The face that the settings ask for.
pub(super) fn face(settings: Settings, company: Company, context: Context) -> Box<dyn Face> {
    match Kind::of(settings) {
        Kind::Engine => Box::new(Plain(context)),
        Kind::Cached => Box::new(cached::Caches::new(context, company)),
        Kind::Ring => Box::new(ring::ByRing::new(context)),
        Kind::Async => Box::new(asynchronous::ByFuture::new(context)),
    }
}

/// The workers of all rings and futures.
static POOL: LazyLock<Pool> = LazyLock::new(|| Pool::builder().workers(2).build());

/// What stands for two answers that differ, and for a completion that is missing or one too many:
/// no oracle answers so.
fn at_odds() -> Errno {
    Errno::from_raw(4000)
}

/// How often a face was asked, and how often its answer was there at once. Each is a count of its
/// own: no partner.
struct Tally {
    asked: AtomicU64,
    answered: AtomicU64,
    /// Of those that were asked again after a context had answered.
    asked_again: AtomicU64,
    answered_again: AtomicU64,
}

static TALLIES: [Tally; FACES] = [const { Tally::new() }; FACES];

impl Tally {
    const fn new() -> Tally {
        let [asked, answered, asked_again, answered_again] = [const { AtomicU64::new(0) }; 4];
        Tally { asked, answered, asked_again, answered_again }
    }
}

/// Whether an answer was there at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Knew {
    Yes,
    No,
}

impl Kind {
    fn count(self, knew: Knew) {
        let Tally { asked, answered, .. } = &TALLIES[self as usize];
        asked.fetch_add(1, Ordering::Relaxed);
        answered.fetch_add(u64::from(knew == Knew::Yes), Ordering::Relaxed);
    }

    fn count_again(self, knew: Knew) {
        let Tally { asked_again, answered_again, .. } = &TALLIES[self as usize];
        asked_again.fetch_add(1, Ordering::Relaxed);
        answered_again.fetch_add(u64::from(knew == Knew::Yes), Ordering::Relaxed);
    }
}

/// How often answers were there at once, by face; one line each. `None` if no face was asked.
pub(crate) fn told() -> Option<String> {
    let line = |kind: Kind| {
        let [asked, answered, asked_again, answered_again] = {
            let Tally { asked, answered, asked_again, answered_again } = &TALLIES[kind as usize];
            [asked, answered, asked_again, answered_again].map(|count| count.load(Ordering::Relaxed))
        };
        let again = match asked_again {
            0 => String::new(),
            _ => format!(", of the others {answered_again} of {asked_again} after a context's answer"),
        };
        let what = if kind == Kind::Cached { "answered by the caches" } else { "ready at once" };
        (asked > 0).then(|| format!("{}: {answered} of {asked} {what}{again}", kind.name()))
    };
    let lines: Vec<String> = Kind::ALL.into_iter().filter_map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::first_mismatch;
    use crate::engine::Engine;
    use crate::generate::{self, Files};
    use crate::outcome::Interpreter as _;
    use crate::program::Program;

    fn by(kind: Kind, program: &Program) -> Program {
        Program { settings: (program.settings - Settings::FACES) | kind.settings(), ..program.clone() }
    }

    #[test]
    fn all_faces_answer_the_same() {
        for seed in 0..40 {
            let program = generate::program(seed, 200, Files::Short);
            let plain = Engine.run(&by(Kind::Engine, &program)).expect("a context carries it out");
            for kind in [Kind::Cached, Kind::Ring, Kind::Async] {
                let program = by(kind, &program);
                let other = Engine.run(&program).expect("a face carries it out");
                let differs = first_mismatch(&program, ["engine", kind.name()], &plain, &other);
                assert!(differs.is_none(), "seed {seed}: {}\n{program}", differs.map(|found| found.text).unwrap_or_default());
            }
        }
    }

    #[test]
    fn the_caches_answer_what_was_just_answered() {
        let count = |which: &AtomicU64| which.load(Ordering::Relaxed);
        for seed in 0..40 {
            let program = by(Kind::Cached, &generate::program(seed, 200, Files::Short));
            let slow = Settings::ASK_NAMES | Settings::ASK_ABSENCE | Settings::OWN_RULE | Settings::FORGETFUL;
            let program = Program { settings: program.settings - slow, ..program };
            Engine.run(&program).expect("the caches carry it out");
        }
        let Tally { asked, answered, asked_again, answered_again } = &TALLIES[Kind::Cached as usize];
        assert!(count(answered) * 4 > count(asked), "{:?}", told());
        assert!(count(answered_again) * 4 > count(asked_again), "{:?}", told());
    }
}
