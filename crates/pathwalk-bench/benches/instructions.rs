//! Counts the instructions of cached lookups, by pathwalk and its variants, with gungraun in
//! callgrind's simulator.
//!
//! `public` is the public `Context::access`. The others are the same with one thing changed at
//! compile time. All of them use a listing in memory, whose lookups are cached before counting
//! starts. So the figures are those of the walk alone, and the same on every run.
//!
//! ```text
//! cargo install --locked --version =0.20.0 gungraun-runner   # the version in Cargo.lock
//! cargo bench -p pathwalk-bench --bench instructions
//! ```
//!
//! It needs valgrind and `gungraun-runner` in `PATH` (or its path in `GUNGRAUN_RUNNER`). The upper
//! limits of these figures are checked elsewhere, in `.ci/hit-path`.

#![allow(missing_docs, reason = "gungraun's macros make items that are public and bear no documentation")]

use std::hint::black_box;

use gungraun::{Callgrind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};
use pathwalk::internals::{self, Config};
use pathwalk::{Access, Context, Credentials, Vfs};
use pathwalk_bench::listing::Listing;
use pathwalk_bench::machine::BUDGET;
use pathwalk_bench::trace::{Question, Trace};
use pathwalk_bench::variants::{FullCheck, ModeTest, StepOutOfLine};

/// The seed of the table. It is always the same, since it decides where names are in the table.
const SEED: u64 = 1;

/// The lookups, and the context that answers them with everything cached.
pub struct Ready {
    context: Context,
    questions: Vec<Question>,
}

impl Ready {
    fn new(trace: &Trace) -> Ready {
        let vfs = Vfs::builder().budget(BUDGET).seed(SEED).build(Listing::gcc()).expect("the listing has a root");
        let ready = Ready { context: vfs.context(Credentials::user(1000, 1000, &[])), questions: trace.questions().to_vec() };
        for _ in 0..3 {
            black_box(ready.public());
        }
        ready
    }

    #[inline(never)]
    fn public(&self) -> usize {
        let found = |question: &&Question| self.context.access(&question.path[..], question.want).is_ok();
        black_box(&self.questions).iter().filter(found).count()
    }

    #[inline(never)]
    fn variant<C: Config>(&self) -> usize {
        let found = |question: &&Question| internals::access::<C>(&self.context, &question.path, question.want).is_ok();
        black_box(&self.questions).iter().filter(found).count()
    }
}

/// Prepares the 205 lookups of a compiler.
fn gcc_trace() -> Ready {
    Ready::new(&Trace::gcc())
}

/// Prepares lookups of one path of six components.
fn six_components() -> Ready {
    Ready::new(&Trace::repeated(b"/usr/lib/gcc/x86_64-linux-gnu/12/crtendS.o", Access::READ, 1))
}

// `Ready` is returned so that it is dropped after counting.

#[library_benchmark]
#[bench::gcc_trace(gcc_trace())]
#[bench::six_components(six_components())]
fn public(ready: Ready) -> (usize, Ready) {
    (ready.public(), ready)
}

#[library_benchmark]
#[bench::gcc_trace(gcc_trace())]
#[bench::six_components(six_components())]
fn step_out_of_line(ready: Ready) -> (usize, Ready) {
    (ready.variant::<StepOutOfLine>(), ready)
}

#[library_benchmark]
#[bench::gcc_trace(gcc_trace())]
#[bench::six_components(six_components())]
fn mode_test(ready: Ready) -> (usize, Ready) {
    (ready.variant::<ModeTest>(), ready)
}

#[library_benchmark]
#[bench::gcc_trace(gcc_trace())]
#[bench::six_components(six_components())]
fn full_check(ready: Ready) -> (usize, Ready) {
    (ready.variant::<FullCheck>(), ready)
}

library_benchmark_group!(
    name = lookups;
    compare_by_id = true;
    benchmarks = public, step_out_of_line, mode_test, full_check
);

main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"]));
    library_benchmark_groups = lookups
);
