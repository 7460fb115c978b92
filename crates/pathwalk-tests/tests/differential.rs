//! A short differential against the model, for every run of `cargo test`: it needs no root and no
//! kernel.
//!
//! The seeds are fixed, so that a failure comes from a change of the code. `cargo xtask
//! differential` draws fresh ones, compares with the kernel as well, and shrinks differences.

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
