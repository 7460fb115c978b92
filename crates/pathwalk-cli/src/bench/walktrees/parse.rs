//! Parsers of the values of `walktrees`' arguments.

use std::path::PathBuf;

use pathwalk_bench::walktrees::trees::Trees;

/// Parses the trees that are walked.
pub(super) fn trees(text: &str) -> Result<Trees, String> {
    match text.split_once(':') {
        None if text == "synth" => Ok(Trees::Synth),
        Some(("host", dir)) if !dir.is_empty() => Ok(Trees::Host(PathBuf::from(dir))),
        _ => Err("there are synth and host:DIR".into()),
    }
}

/// Parses a number of bytes, with or without a unit.
pub(super) fn bytes(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|last: char| !last.is_ascii_digit());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        unit => return Err(format!("unknown unit \"{}\": there are K, M, G and T", unit.escape_debug())),
    };
    let number: u64 = digits.parse().map_err(|error| format!("{error}"))?;
    number.checked_mul(1 << shift).ok_or_else(|| "more than 64 bits can count".into())
}
