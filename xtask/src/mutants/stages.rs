//! The stages: the tests that a mutant is run against, the cheapest first.

use super::sample::PACKAGES;

/// A set of tests.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Stage {
    /// The tests of the engine and of the ring.
    Engine,
    /// The tests with failing file systems and threads, and a short differential against the model.
    Short,
    /// The kernel's tables, the comparison of mounts with the kernel's, and the memory budget.
    Tables,
    /// The scenarios under shuttle.
    Races,
}

impl Stage {
    pub(super) fn all() -> impl Iterator<Item = Stage> {
        [Stage::Engine, Stage::Short, Stage::Tables, Stage::Races].into_iter()
    }

    /// Returns a description of the tests for messages.
    pub(super) fn what(self) -> &'static str {
        match self {
            Stage::Engine => "the tests of the engine and the ring",
            Stage::Short => "failing file systems, threads, and a short differential",
            Stage::Tables => "the kernel's tables, mounts and the memory budget",
            Stage::Races => "the scenarios under shuttle",
        }
    }

    pub(super) fn packages(self) -> &'static [&'static str] {
        match self {
            Stage::Engine | Stage::Races => &PACKAGES,
            Stage::Short | Stage::Tables => &["pathwalk-tests"],
        }
    }

    /// Returns the arguments of `cargo test` that choose test programs.
    ///
    /// The examples in the documentation are left out: rustdoc would compile them anew for each
    /// mutant.
    pub(super) fn programs(self) -> &'static [&'static str] {
        match self {
            Stage::Engine => &["--lib", "--tests"],
            Stage::Short => &["--test=differential", "--test=failing", "--test=last_component", "--test=stress"],
            Stage::Tables => &[
                "--test=kernel_rows",
                "--test=mounts",
                "--test=escape",
                "--test=kernel_table",
                "--test=memory_budget",
                "--test=storm",
                "--test=read_only_memory",
            ],
            Stage::Races => &["--lib"],
        }
    }

    /// Returns the arguments of a test program, which choose some of its tests.
    pub(super) fn tests(self) -> &'static [&'static str] {
        if self == Stage::Races { &["scenarios"] } else { &[] }
    }

    /// Returns the flags of the compiler.
    pub(super) fn flags(self) -> &'static str {
        if self == Stage::Races { "--cfg shuttle" } else { "" }
    }
}
