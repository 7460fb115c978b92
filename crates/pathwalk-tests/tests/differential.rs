//! A short differential against the model, in all that `cargo test` runs: it needs no root and no kernel.
//!
//! The seeds are fixed, so that a failure is a change of the code. `cargo xtask differential` draws fresh ones, holds against the kernel as
//! well, and shrinks what differs.

#[test]
fn random_programs_end_as_by_the_model() {
    for seed in 1..=5 {
        let difference = xtask::random_difference_from_model(seed, 8_000).expect("both carry it out");
        assert_eq!(difference, None, "seed {seed}");
    }
}

#[test]
fn what_threads_do_has_an_order() {
    let history = xtask::unexplained_by_model(1, 4, 4_000).expect("the engine carries it out");
    assert_eq!(history, None);
}
