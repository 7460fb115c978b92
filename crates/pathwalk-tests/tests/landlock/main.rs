//! Comparison of [`Landlock`](pathwalk::landlock::Landlock) with Linux's: random programs under
//! random rulesets, by a thread that restricts itself and by a context.
//!
//! `PATHWALK_LANDLOCK_PROGRAMS` sets their number.

mod engine;
mod kernel;
mod program;

use pathwalk_tests::skipped;
use program::{Answer, Program};

/// The number of programs where the environment says nothing else.
const PROGRAMS: u64 = 500;

#[test]
fn restricted_contexts_answer_as_restricted_threads() {
    if let Err(why) = kernel::is_there() {
        return skipped("Landlock", &why);
    }
    let count = std::env::var("PATHWALK_LANDLOCK_PROGRAMS").map_or(PROGRAMS, |count| count.parse().unwrap());
    let seed = std::env::var("PATHWALK_LANDLOCK_SEED").map_or_else(|_| fastrand::u64(..), |seed| seed.parse().unwrap());
    println!("seed {seed}, {count} programs");
    let place = tempfile::tempdir().unwrap();
    let mut tally = std::collections::BTreeMap::<String, u64>::new();
    for number in 0..count {
        let program = Program::draw(&mut fastrand::Rng::with_seed(seed.wrapping_add(number)));
        let dir = place.path().join(number.to_string());
        let (theirs, ours) = (kernel::run(&program, &dir), engine::run(&program));
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(ours.answers.len(), theirs.answers.len());
        for (index, (ours, theirs)) in ours.answers.iter().zip(&theirs.answers).enumerate() {
            assert_eq!(ours, theirs, "seed {}: step {index} of {program:#?}", seed.wrapping_add(number));
        }
        assert_eq!(ours.tree, theirs.tree, "seed {}: the tree after {program:#?}", seed.wrapping_add(number));
        for (step, answer) in program.steps.iter().zip(&ours.answers) {
            *tally.entry(format!("{} {answer:?}", step.verb())).or_default() += 1;
        }
    }
    if count >= PROGRAMS {
        for met in ["rename Err(18)", "rename Err(13)", "link Err(18)", "open Err(13)", "unlink Err(13)", "truncate Err(13)"] {
            assert!(tally.contains_key(met), "no step was `{met}`: {tally:#?}");
        }
    }
}

/// The end of a program.
#[derive(Debug, Default)]
struct Outcome {
    answers: Vec<Answer>,
    /// The paths with the types of their nodes.
    tree: Vec<String>,
}
