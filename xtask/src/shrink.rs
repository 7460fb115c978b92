//! Delta debugging: finds the fewest steps that still differ in the same way.
//!
//! Each candidate is carried out on fresh trees. Source: Zeller and Hildebrandt, "Simplifying and
//! isolating failure-inducing input", 2002.

use anyhow::Result;

use crate::program::Program;

/// Leaves out all steps that are not needed; `differs` returns whether a candidate still differs.
pub(crate) fn shrink(program: &Program, mut differs: impl FnMut(&Program) -> Result<bool>) -> Result<Program> {
    let mut best = program.clone();
    let mut length = best.steps.len() / 2;
    while length >= 1 {
        let mut from = 0;
        let mut left_out = false;
        while from < best.steps.len() {
            let mut candidate = best.clone();
            candidate.steps.drain(from..(from + length).min(best.steps.len()));
            if !candidate.steps.is_empty() && differs(&candidate)? {
                best = candidate;
                left_out = true;
            } else {
                from += length;
            }
        }
        if !(length == 1 && left_out) {
            length /= 2;
        }
    }
    for flag in best.settings.iter() {
        let mut candidate = best.clone();
        candidate.settings -= flag;
        if differs(&candidate)? {
            best = candidate;
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_matters_stays() {
        let lines: Vec<String> = (0..40).map(|i| format!("root mkdir \"{i}\" 0755")).collect();
        let program: Program = lines.join("\n").parse().expect("a program");
        let has = |program: &Program, name: &str| program.to_string().contains(&format!("\"{name}\""));
        let shrunk = shrink(&program, |candidate| Ok(has(candidate, "3") && has(candidate, "37"))).expect("nothing fails");
        assert_eq!(shrunk.to_string(), "settings -\nroot mkdir \"3\" 0755\nroot mkdir \"37\" 0755\n");
    }
}
