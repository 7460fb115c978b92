//! The exit code that all programs share, and the text below the options of their helps.

/// The exit code of a command that could not be carried out.
pub const NOT_DONE: u8 = 2;

/// Returns the text below the options with `-h`.
pub fn short(codes: &str) -> String {
    format!("{codes}\n\nExamples, and what the figures say: --help")
}

/// Returns the text below the options with `--help`.
pub fn long(examples: &str, codes: &str) -> String {
    format!("{examples}\n\n{codes}")
}
