//! The target `operations`: bytes become a program in the language of `cargo xtask differential`,
//! which the model and the engine carry out.
//!
//! A program with a difference is printed as text, which `cargo xtask differential --replay`
//! accepts.

use arbitrary::Unstructured;

use crate::draw::Draw;

/// The largest number of steps of a program. With `draw::LENGTHS`, no file grows past what the
/// model stores.
const STEPS: usize = 48;

/// The names of the settings. The model has no mounts, so there is no `READ_ONLY`.
const SETTINGS: [&str; 10] = [
    "OBSERVE",
    "PROTECT_SYMLINKS",
    "PROTECT_HARDLINKS",
    "SMALL_BUDGET",
    "ASK_NAMES",
    "ASK_ABSENCE",
    "OWN_RULE",
    "BODIES_ON_REQUEST",
    "ACL_UNKNOWN",
    "OBSERVE_AS_ACTOR",
];

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
    let mut draw = Draw::new(Unstructured::new(bytes));
    let mut text = format!("settings {}\n", draw.flags(&SETTINGS));
    for step in 0..STEPS {
        if step > 0 && draw.is_empty() {
            break;
        }
        draw.step(&mut text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_are_a_program_that_can_be_carried_out() {
        let mut state = 1_u64;
        for length in 0..400 {
            let bytes: Vec<u8> = (0..length)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 56) as u8
                })
                .collect();
            check(&bytes);
        }
    }

    #[test]
    fn all_verbs_can_be_drawn() {
        let verbs: std::collections::BTreeSet<String> = (0..=u8::MAX)
            .map(|verb| {
                let text = program(&[0, 0, verb]);
                text.lines().nth(1).and_then(|line| line.split(' ').nth(1)).expect("a step has a verb").to_owned()
            })
            .collect();
        assert_eq!(verbs.len(), 29, "{verbs:?}");
    }
}
