//! What runs in the simulator: lookups by the public `Context::access`, over and over, of paths that are all cached.

use std::error::Error;
use std::hint::black_box;

use pathwalk::{Access, Context, Credentials, Errno, Vfs};
use pathwalk_bench::listing::Listing;
use pathwalk_bench::machine::BUDGET;
use pathwalk_bench::trace::{Question, Trace};

/// The first argument of a run in the simulator.
pub(crate) const MEASURED: &str = "measured";

/// Part of the name of the function whose cost is collected, with what is beneath it.
pub(crate) const PUBLIC_ACCESS: &str = "public_access";

/// A path of six components, all cached, whose file may be read.
const SIX_COMPONENTS: &[u8] = b"/usr/lib/gcc/x86_64-linux-gnu/12/crtendS.o";

/// The hash's seed: where names lie in the table decides how many entries are looked at, so it is always the same.
const SEED: u64 = 1;

/// Passes before counting: one fills the caches, one leaves the marks of a hit.
const WARM_UP: u64 = 3;

/// What is looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Subject {
    /// One path of six components.
    SixComponents,
    /// The 205 lookups of a compiler.
    GccTrace,
}

impl Subject {
    /// All of them.
    pub(crate) const ALL: [Subject; 2] = [Subject::SixComponents, Subject::GccTrace];

    /// As the budget has it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Subject::SixComponents => "six-components",
            Subject::GccTrace => "gcc-trace",
        }
    }

    /// Passes of the shorter run.
    pub(crate) fn few(self) -> u64 {
        match self {
            Subject::SixComponents => 100,
            Subject::GccTrace => 3,
        }
    }

    /// Passes of the longer run.
    pub(crate) fn more(self) -> u64 {
        10 * self.few()
    }

    /// Lookups in one pass.
    pub(crate) fn lookups(self) -> usize {
        self.trace().questions().len()
    }

    fn trace(self) -> Trace {
        match self {
            Subject::SixComponents => Trace::repeated(SIX_COMPONENTS, Access::READ, 1),
            Subject::GccTrace => Trace::gcc(),
        }
    }
}

/// Makes everything ready, then does the passes that are counted.
pub(crate) fn run(subject: &str, passes: &str) -> Result<(), Box<dyn Error>> {
    let subject = Subject::ALL.into_iter().find(|known| known.name() == subject).ok_or("no such subject")?;
    let passes: u64 = passes.parse()?;
    let vfs = Vfs::builder().budget(BUDGET).seed(SEED).build(Listing::gcc())?;
    let context = vfs.context(Credentials::user(1000, 1000, &[]));
    let trace = subject.trace();
    for _ in 0..WARM_UP {
        for question in trace.questions() {
            black_box(context.access(&question.path[..], question.want)).ok();
        }
    }
    let before = vfs.stats();
    let mut found = 0;
    for _ in 0..passes {
        found += pass(&context, trace.questions());
    }
    let expected = if subject == Subject::SixComponents { 1 } else { 87 };
    if found != expected * passes || vfs.stats() != before {
        return Err(format!("{}: {found} lookups of {passes} passes succeeded, or not all were cached", subject.name()).into());
    }
    Ok(())
}

#[inline(never)]
fn pass(context: &Context, questions: &[Question]) -> u64 {
    let found = |question: &&Question| public_access(context, black_box(&question.path), black_box(question.want)).is_ok();
    questions.iter().filter(found).count() as u64
}

/// The public call and nothing else: what is collected.
#[inline(never)]
fn public_access(context: &Context, path: &[u8], want: Access) -> Result<(), Errno> {
    context.access(path, want)
}
