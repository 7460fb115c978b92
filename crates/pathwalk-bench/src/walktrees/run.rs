//! The run: contestants take turns, each with empty caches, a first pass and a repeated one.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use pathwalk::{AtFlags, Context, Credentials, Vfs};
use pathwalk_synthfs::{Place, Shape};

use super::crew::{Crew, Walk, Work, folded};
use super::meter::{Growth, Resident};
use super::nodes::nodes;
use super::paths::Paths;
use super::peers;
use super::trees::{self, Trees};
use super::{Ask, Memory, Pass, Plan, Report, Run, Served, Subject, Used, Which, Who};
use crate::kernel;
use crate::machine::{self, Doing, SetUpError};

/// The number of files of a thread in the pass that is not measured.
const WARM_UP_FILES: u32 = 64;
/// The budget for them, in bytes.
const WARM_UP_BUDGET: u64 = 4 << 20;

/// Walks as planned. `progress` is called some hundred times a second with the present contestant
/// and the number of [`Plan::lookups`] that are done.
///
/// Blocks until everything is walked. Fails if there are no files to walk, trees do not exist, a
/// budget cannot be allocated, the room for inode caches alone is given in bytes, a file cannot be
/// looked up, or an answer is wrong.
pub fn run(plan: &Plan, progress: &mut dyn FnMut(Who, Which, u64)) -> Result<Report, SetUpError> {
    if plan.shape.files() == 0 {
        let none: Result<_, &str> = Err("there are none: threads, directories and files are at least 1 each");
        return none.doing(|| "choosing files to walk".into());
    }
    let expected = match &plan.subject {
        Subject::Trees { trees: Trees::Host(dir), .. } => {
            trees::check(dir, plan.shape)?;
            None
        }
        Subject::Trees { trees: Trees::Synth, .. } | Subject::Nodes(_) => Some(checksum(plan.shape)),
    };
    let mut bench = Bench {
        plan,
        who: machine::credentials()?,
        crew: Crew::new(plan.shape.threads())?,
        resident: Resident::new()?,
        growth: None,
        expected,
        done: 0,
        progress,
        report: Report::default(),
    };
    if let Subject::Trees { trees, ask } = &plan.subject {
        bench.warm_up(trees, *ask)?;
        bench.growth = Some(Growth::from(bench.resident.bytes()));
    }
    let contestants = plan.contestants();
    for round in 0..plan.rounds {
        for step in 0..contestants.len() {
            let run = bench.turn(contestants[(round as usize + step) % contestants.len()], round)?;
            bench.report.runs.push(run);
        }
    }
    Ok(bench.report)
}

/// Returns the checksum of a pass over computed trees.
fn checksum(shape: Shape) -> u64 {
    let of_thread = |thread| {
        let directories = 0..shape.directories_each();
        let places = directories.flat_map(|dir| (0..shape.files_each()).map(move |file| Place::File(thread, dir, file)));
        places.fold(0, |sum, place| folded(sum, shape.inode_number(place)))
    };
    (0..shape.threads()).map(of_thread).fold(0, folded)
}

struct Bench<'a> {
    plan: &'a Plan,
    who: Credentials,
    crew: Crew,
    resident: Resident,
    /// The growth, for the first caches only: the allocator may keep the memory that they free, and
    /// the next caches are made of that.
    growth: Option<Growth>,
    /// The checksum that every pass has to have. Over files of the host, the first pass sets it.
    expected: Option<u64>,
    /// The number of files of the passes that are over.
    done: u64,
    progress: &'a mut dyn FnMut(Who, Which, u64),
    report: Report,
}

/// The `Vfs` whose memory is watched while a pass runs.
struct Watched<'a> {
    vfs: &'a Vfs,
    memory: &'a mut Memory,
}

impl Bench<'_> {
    /// Runs a pass over few files. After it, stacks, allocators and the program itself are
    /// resident, and do not count as the caches' growth.
    fn warm_up(&self, trees: &Trees, ask: Ask) -> Result<(), SetUpError> {
        let shape = self.plan.shape;
        let few = shape.files_each().min(WARM_UP_FILES);
        let few = Shape::new(shape.threads(), 1, few).doing(|| "choosing files to warm up with".into())?;
        let context = self.context(trees, ask, WARM_UP_BUDGET)?;
        let mut memory = Memory::default();
        let look = &mut |_| memory.look(context.vfs(), self.resident.bytes());
        self.crew.pass(&ours(&context, few), look).doing(|| "asking pathwalk for a file, to warm up".into())?;
        Ok(())
    }

    /// Creates the engine over the trees, with empty caches.
    fn context(&self, trees: &Trees, ask: Ask, budget: u64) -> Result<Context, SetUpError> {
        let (fs, flags) = trees.open(self.plan.shape)?;
        let mut builder = Vfs::builder().budget(budget).mount_flags(flags);
        if ask == Ask::OneByOne {
            builder = builder.one_by_one();
        }
        let vfs = builder.build(fs).doing(|| format!("building a Vfs of {budget} bytes"))?;
        Ok(vfs.context(self.who.clone()))
    }

    /// Runs both passes of one contestant.
    fn turn(&mut self, who: Who, round: u32) -> Result<Run, SetUpError> {
        match (who, &self.plan.subject) {
            (Who::Kernel, Subject::Trees { trees: Trees::Host(dir), .. }) => self.kernels_turn(dir, round),
            (Who::Pathwalk, Subject::Trees { trees, ask }) => self.our_turn(trees, *ask, round),
            (Who::Inodes(probe), Subject::Nodes(_)) => {
                let work = nodes(probe, self.plan.shape, self.plan.inodes()?)?;
                self.passes(who, round, &work)
            }
            (Who::Peer(peer), Subject::Nodes(_)) => {
                let work = peers::nodes(peer, self.plan.shape, self.plan.inodes()?);
                self.passes(who, round, &work)
            }
            _ => unreachable!("a plan has no other contestants"),
        }
    }

    fn kernels_turn(&mut self, dir: &Path, round: u32) -> Result<Run, SetUpError> {
        let root = trees::descriptor(dir)?;
        let ask =
            move |paths: &Paths| kernel::fstatat(root.as_fd(), paths.relative(), AtFlags::empty()).map(|found| found.st_ino);
        let work: Arc<dyn Work> = Arc::new(Walk { shape: self.plan.shape, ask });
        self.cool_down();
        self.passes(Who::Kernel, round, &work)
    }

    /// Runs both passes without watching the memory.
    fn passes(&mut self, who: Who, round: u32, work: &Arc<dyn Work>) -> Result<Run, SetUpError> {
        let mut pass = |which| self.pass(who, which, work, None);
        let (first, repeated) = (pass(Which::First)?, pass(Which::Repeated)?);
        Ok(Run { who, round, first, repeated, memory: None })
    }

    fn our_turn(&mut self, trees: &Trees, ask: Ask, round: u32) -> Result<Run, SetUpError> {
        let who = Who::Pathwalk;
        if *trees != Trees::Synth {
            self.cool_down();
        }
        let context = self.context(trees, ask, self.plan.budget())?;
        let work = ours(&context, self.plan.shape);
        let mut memory = Memory { growth: self.growth.take(), ..Memory::default() };
        let mut pass = |which| {
            let vfs = context.vfs();
            let start = vfs.stats();
            let pass = self.pass(who, which, &work, Some(Watched { vfs, memory: &mut memory }))?;
            Ok(Pass { served: Some(Served::between(&start, &vfs.stats(), pass.files)), ..pass })
        };
        let (first, repeated) = (pass(Which::First)?, pass(Which::Repeated)?);
        Ok(Run { who, round, first, repeated, memory: Some(memory) })
    }

    fn pass(&mut self, who: Who, which: Which, work: &Arc<dyn Work>, mut of: Option<Watched<'_>>) -> Result<Pass, SetUpError> {
        let Bench { resident, progress, done, .. } = self;
        let mut look = |files| {
            if let Some(Watched { vfs, memory }) = &mut of {
                memory.look(vfs, resident.bytes());
            }
            progress(who, which, *done + files);
        };
        let start = Used::so_far();
        let walked = self.crew.pass(work, &mut look).doing(|| format!("asking {} for a file", who.name()))?;
        let used = Used::so_far().since(start);
        let files = self.plan.shape.files();
        self.done += files;
        let expected = *self.expected.get_or_insert(walked.checksum);
        if walked.checksum != expected {
            let wrong: Result<_, &str> =
                Err("the inode numbers that it gave are not those of the files; were the files changed?");
            return wrong.doing(|| format!("checking the answers of {}", who.name()));
        }
        Ok(Pass { seconds: walked.seconds, files, used, served: None })
    }

    /// Prepares a first pass over files: empties the kernel's caches, or adds a note that this was
    /// not possible.
    fn cool_down(&mut self) {
        if let Err(error) = trees::drop_kernel_caches() {
            let note = format!(
                "the kernel's caches were warm in first passes, its own and pathwalk's: writing \"/proc/sys/vm/drop_caches\", which takes root: {error}"
            );
            if !self.report.notes.contains(&note) {
                self.report.notes.push(note);
            }
        }
    }
}

/// Returns the work of asking the engine for each file.
fn ours(context: &Context, shape: Shape) -> Arc<dyn Work> {
    let context = context.clone();
    Arc::new(Walk { shape, ask: move |paths: &Paths| context.stat(paths.absolute()).map(|found| found.ino) })
}
