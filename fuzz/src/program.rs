//! The target `operations`: bytes become a program in the language of `cargo xtask differential`,
//! which the model and the engine carry out.
//!
//! The programs are drawn by the differential's own generator. A program with a difference is
//! printed as text, which `cargo xtask differential --replay` accepts.

/// The largest number of steps of a program.
const STEPS: usize = 48;

/// Carries out the program that these bytes stand for.
///
/// # Panics
///
/// If engine and model differ.
pub fn check(bytes: &[u8]) {
    let program = program(bytes);
    match xtask::difference_from_model(&program) {
        Ok(None) => {}
        Ok(Some(difference)) => panic!("{difference}\nin the program:\n{program}"),
        Err(error) => panic!("{error:#}\nin the program:\n{program}"),
    }
}

/// Returns the program as text. It has at least one step, and ends when the bytes are used up.
pub fn program(bytes: &[u8]) -> String {
    xtask::program_of_bytes(bytes, STEPS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns this many bytes that follow from `state`.
    fn bytes(state: &mut u64, length: usize) -> Vec<u8> {
        let mut byte = || {
            *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*state >> 56) as u8
        };
        (0..length).map(|_| byte()).collect()
    }

    #[test]
    fn any_bytes_are_a_program_that_can_be_carried_out() {
        let mut state = 1;
        (0..400).for_each(|length| check(&bytes(&mut state, length)));
    }

    #[test]
    fn all_verbs_can_be_drawn() {
        let mut state = 2;
        let verbs: BTreeSet<String> = (0..500)
            .flat_map(|_| {
                let text = program(&bytes(&mut state, 400));
                let verb = |line: &str| line.split(' ').nth(1).expect("a step has a verb").to_owned();
                text.lines().skip(1).map(verb).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(verbs.len(), 47, "{verbs:?}");
    }
}
