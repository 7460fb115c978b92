//! Random branches and parents: a commit with an answer gives what a rebase with it leaves.

use fastrand::Rng;
use pathwalk::Context;
use pathwalk_branch::{Answer, Error, Resolution};

use crate::common::Ground;
use crate::common::trees::{change_more, differences, look};
use crate::{Parent, check_links};

#[test]
fn random_conflicts_are_answered() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = Rng::with_seed(seed);
    let rounds = std::env::var("PATHWALK_BRANCH_ROUNDS").map_or(8, |rounds| rounds.parse().expect("it is a number"));
    for parent in [Parent::Branch, Parent::Base] {
        let (mut answered, mut plain, mut open) = (0, 0, 0);
        for round in 0..rounds {
            for answer in [Answer::Ours, Answer::Theirs, Answer::Merge] {
                let seed = random.u64(..);
                for name in 0..3 {
                    let what = format!("round {round} ({seed}), {answer:?}, {parent:?}, ground {name}");
                    match answer_randomly(seed, parent, answer, name, &what) {
                        Some(true) => plain += 1,
                        Some(false) => answered += 1,
                        None => open += 1,
                    }
                }
            }
        }
        println!("{parent:?}: {plain} without conflicts, {answered} answered, {open} open");
        assert!(answered > 0);
    }
}

/// Commits a branch with an answer, and rebases another like it before it is committed: the results
/// are equal. Returns whether there was no conflict; `None` if one stays.
fn answer_randomly(seed: u64, parent: Parent, answer: Answer, name: usize, what: &str) -> Option<bool> {
    let mut random = Rng::with_seed(seed);
    let [filled, of_parent, of_step] = [(); 3].map(|()| random.u64(..));
    let (count_parent, count_step) = (random.usize(10..50), random.usize(10..50));
    let changes = |context: &Context, seed: u64, count: usize| {
        let mut random = Rng::with_seed(seed);
        (0..count).for_each(|_| change_more(context, &mut random));
    };
    let ground = || Ground::each(|base| changes(base, filled, 60)).into_iter().nth(name).expect("there are three");
    let (one, other) = (ground(), ground());
    let both = [&one, &other].map(|ground| {
        let of_parent = |context: &Context| changes(context, of_parent, count_parent);
        parent.prepared(ground, of_parent, |context| changes(context, of_step, count_step))
    });
    let resolution = Resolution::all(answer);
    // A branch of a base that has changed need not show all of it: so its changes are compared.
    let before = other.branches.diff("step").unwrap();
    let is_plain = other.branches.rebase("step", &Resolution::default()).is_ok();
    if !is_plain {
        assert_eq!(other.branches.diff("step").unwrap(), before, "{what}: nothing was done");
    }
    if let Err(error) = one.branches.commit_with("step", &resolution) {
        println!("{what}: {error}");
        assert!(matches!(error, Error::Conflicts { .. }), "{what}");
        let rebased = other.branches.rebase("step", &resolution);
        assert!(matches!(rebased, Err(Error::Conflicts { .. })), "{what}");
        return None;
    }
    check_links(&both[0].0, Parent::Branch, what);
    other.branches.rebase("step", &resolution).unwrap_or_else(|error| panic!("{what}: {error}"));
    check_links(&both[1].1, parent, what);
    let rebased = look(&both[1].1);
    assert_eq!(rebased, look(&other.again("step")), "{what}: without caches");
    other.branches.diff("step").unwrap();
    other.branches.commit("step").unwrap_or_else(|error| panic!("{what}: {error}"));
    let (one, other) = (look(&both[0].0), look(&both[1].0));
    assert!(other == rebased, "{what}: {}", differences(&other, &rebased));
    assert!(one == other, "{what}: {}", differences(&one, &other));
    Some(is_plain)
}
