//! The part of the program that runs in the simulator: repeated lookups by the public
//! `Context::access`, of paths that are all cached.

use std::error::Error;
use std::hint::black_box;

use pathwalk::{Access, At, Context, Credentials, Errno, MountFlags, Recursion, Vfs, VfsBuilder, internals};
use pathwalk_branch::Branches;
use pathwalk_trace::listing::Listing;
use pathwalk_trace::trace::{Question, Trace};

/// The first argument of a run in the simulator.
pub(crate) const MEASURED: &str = "measured";

/// A part of the name of the function whose cost is collected, including that of its callees.
pub(crate) const PUBLIC_ACCESS: &str = "public_access";

/// A path of six components, all cached, whose file may be read.
const SIX_COMPONENTS: &[u8] = b"/usr/lib/gcc/x86_64-linux-gnu/12/crtendS.o";

/// The directories on that path.
const COVERED: [&str; 4] = ["usr", "usr/lib", "usr/lib/gcc", "usr/lib/gcc/x86_64-linux-gnu"];

/// The seed of the hash. It is always the same, because the places of names in the table decide how
/// many entries are looked at.
const SEED: u64 = 1;

/// The budget of the engine's caches: that with which the benches run.
const BUDGET: u64 = 64 << 20;

/// The number of passes before counting. One pass fills the caches, and one leaves the marks of a
/// hit. In the others, the memo learns one in four of the paths that it does not have.
const WARM_UP: u64 = 100;

/// The lookups that are measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// One path of six components.
    SixComponents,
    /// The 205 lookups of a compiler.
    GccTrace,
    /// The one path, where each of the first four directories is covered by that of another file
    /// system.
    FourCrossings,
    /// The one path by way of another function: the check has to detect that call.
    Control,
    /// The one path, from the memo of whole paths.
    SixFromMemo,
    /// The lookups of a compiler, from the memo except for those that it does not take.
    GccFromMemo,
    /// The same, where a dentry elsewhere has changed before each pass.
    GccCompared,
    /// The path with two crossings, from the memo, which has no room for more crossings on it.
    CrossingsFromMemo,
    /// The lookups of a compiler, for which the memo is asked and has no entries.
    GccNotInMemo,
    /// The one path, in a branch of the tree.
    SixInBranch,
}

impl Subject {
    /// The subjects with a budget.
    pub(crate) const BUDGETED: [Subject; 9] = [
        Subject::SixComponents,
        Subject::GccTrace,
        Subject::FourCrossings,
        Subject::SixFromMemo,
        Subject::GccFromMemo,
        Subject::GccCompared,
        Subject::CrossingsFromMemo,
        Subject::GccNotInMemo,
        Subject::SixInBranch,
    ];

    /// Returns the name in the budget.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Subject::SixComponents => "six-components",
            Subject::GccTrace => "gcc-trace",
            Subject::FourCrossings => "four-crossings",
            Subject::Control => "control",
            Subject::SixFromMemo => "six-memo",
            Subject::GccFromMemo => "gcc-memo",
            Subject::GccCompared => "gcc-compared",
            Subject::CrossingsFromMemo => "crossings-memo",
            Subject::GccNotInMemo => "gcc-missed",
            Subject::SixInBranch => "six-branch",
        }
    }

    fn named(name: &str) -> Option<Subject> {
        Subject::BUDGETED.into_iter().chain([Subject::Control]).find(|subject| subject.name() == name)
    }

    /// Returns the number of passes of the shorter run.
    pub(crate) fn few(self) -> u64 {
        match self {
            Subject::GccTrace | Subject::GccFromMemo | Subject::GccCompared | Subject::GccNotInMemo => 3,
            _ => 100,
        }
    }

    /// Returns the number of passes of the longer run.
    pub(crate) fn more(self) -> u64 {
        10 * self.few()
    }

    /// Returns the number of lookups in one pass.
    pub(crate) fn lookups(self) -> usize {
        self.trace().questions().len()
    }

    fn trace(self) -> Trace {
        match self {
            Subject::GccTrace | Subject::GccFromMemo | Subject::GccCompared | Subject::GccNotInMemo => Trace::gcc(),
            _ => Trace::repeated(SIX_COMPONENTS, Access::READ, 1),
        }
    }

    /// Returns the number of lookups that succeed.
    fn found(self) -> u64 {
        match self {
            Subject::GccTrace | Subject::GccFromMemo | Subject::GccCompared | Subject::GccNotInMemo => 87,
            _ => 1,
        }
    }

    /// Returns the number of first directories that are covered.
    fn crossings(self) -> usize {
        match self {
            Subject::FourCrossings => COVERED.len(),
            Subject::CrossingsFromMemo => 2,
            _ => 0,
        }
    }

    /// Returns whether the cost differs between passes, because the memo is asked less often where
    /// it never answers, or stamps an entry from time to time. The cost of a pass is then the mean.
    pub(crate) fn is_paced(self) -> bool {
        matches!(self, Subject::GccNotInMemo | Subject::GccCompared)
    }

    /// Returns whether a dentry elsewhere changes before each pass.
    fn changes(self) -> bool {
        self == Subject::GccCompared
    }

    /// Returns the builder with the memo of whole paths configured for this subject.
    fn memo(self, builder: VfsBuilder) -> VfsBuilder {
        match self {
            Subject::SixFromMemo | Subject::GccFromMemo | Subject::GccCompared | Subject::CrossingsFromMemo => builder,
            Subject::GccNotInMemo => internals::learning_never(builder),
            Subject::SixComponents | Subject::GccTrace | Subject::FourCrossings | Subject::Control | Subject::SixInBranch => {
                builder.whole_paths(0)
            }
        }
    }

    fn tree(self) -> Result<Vfs, Box<dyn Error>> {
        let builder = self.memo(Vfs::builder().budget(BUDGET).seed(SEED));
        if self != Subject::SixInBranch {
            return Ok(builder.build(Listing::gcc())?);
        }
        let base = Vfs::builder().build(Listing::gcc())?.context(Credentials::root());
        // `rustix`, which reads the system's clock, finds no auxiliary vector in the simulator.
        let branches = Branches::with(base, pathwalk_branch::Options::default().clock(pathwalk::Timestamp::now))?;
        Ok(builder.build(branches.fork(None, "measured")?)?)
    }

    fn access(self) -> fn(&Context, &[u8], Access) -> Result<(), Errno> {
        match self {
            Subject::Control => not_quite_public_access,
            _ => public_access,
        }
    }
}

/// Prepares everything, then does the passes that are counted.
pub(crate) fn run(subject: &str, passes: &str) -> Result<(), Box<dyn Error>> {
    let subject = Subject::named(subject).ok_or("no such subject")?;
    let passes: u64 = passes.parse()?;
    let vfs = subject.tree()?;
    let root = vfs.context(Credentials::root());
    for directory in &COVERED[..subject.crossings()] {
        let another = root.new_tree(Listing::gcc(), MountFlags::empty())?;
        root.bind_at(another.handle(), *directory, At::Cwd, format!("/{directory}"), Recursion::Alone)?;
    }
    let context = vfs.context(Credentials::user(1000, 1000, &[]));
    let trace = subject.trace();
    for _ in 0..WARM_UP {
        pass(&context, trace.questions(), |context, path, want| context.access(path, want));
    }
    let before = vfs.stats();
    let one_pass = || {
        if subject.changes() {
            internals::count_change(&vfs);
        }
        pass(&context, trace.questions(), subject.access())
    };
    let found: u64 = (0..passes).map(|_| one_pass()).sum();
    if found != subject.found() * passes || vfs.stats() != before {
        return Err(format!("{}: {found} lookups succeeded in {passes} passes, or not all were cached", subject.name()).into());
    }
    Ok(())
}

/// Asks every question once. Returns the number of lookups that succeeded.
fn pass(context: &Context, questions: &[Question], access: fn(&Context, &[u8], Access) -> Result<(), Errno>) -> u64 {
    let found = |question: &&Question| black_box(access)(context, &question.path, question.want).is_ok();
    questions.iter().filter(found).count() as u64
}

/// Makes the public call and nothing else. The cost of this function is collected.
#[inline(never)]
fn public_access(context: &Context, path: &[u8], want: Access) -> Result<(), Errno> {
    context.access(path, want)
}

/// Makes the public call by way of a function that the hit path does not have.
#[inline(never)]
fn not_quite_public_access(context: &Context, path: &[u8], want: Access) -> Result<(), Errno> {
    one_more_call(context, path, black_box(want))
}

#[inline(never)]
fn one_more_call(context: &Context, path: &[u8], want: Access) -> Result<(), Errno> {
    black_box(context.access(path, want))
}
