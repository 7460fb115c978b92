//! `cargo xtask prose`: holds comments and pages to the rules of English in `CONTRIBUTING.md`.
//!
//! # What always holds
//!
//! - Each fault names its file and line.
//! - Text between backticks, headings, tables and blocks of code are not looked at.
//!
//! # What it does not do
//!
//! It reads no grammar. A first word that ends in "s" passes for a verb, and a sentence with none
//! of the [`REFUSED`] words passes for a plain one.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};

/// The most columns of a line of prose.
const COLUMNS: usize = 100;

/// Words that are no subject of a plain sentence.
const REFUSED: [&str; 11] =
    ["whoever", "nobody", "somebody", "anybody", "everybody", "someone", "anyone", "he", "she", "him", "his"];

/// First words that end in "s" and are no verbs.
const NO_VERBS: [&str; 6] = ["As", "Is", "Its", "This", "Thus", "Was"];

/// What the command line asks for.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The files to look at [default: all sources and pages of the repository].
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let files = if args.files.is_empty() { tracked()? } else { args.files.clone() };
    let mut count = 0;
    for file in &files {
        let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        for fault in faults(file, &text) {
            println!("{}:{}: {}", file.display(), fault.line, fault.what);
            count += 1;
        }
    }
    println!("{} files: {}", files.len(), if count == 0 { "plain".into() } else { format!("{count} faults") });
    Ok(ExitCode::from(u8::from(count > 0)))
}

/// Returns the sources and pages of the repository.
fn tracked() -> Result<Vec<PathBuf>> {
    let output = Command::new("git").args(["ls-files", "-z", "*.rs", "*.md"]).output().context("run git ls-files")?;
    ensure!(output.status.success(), "git ls-files failed: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8(output.stdout).context("read the names of files")?;
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

/// A fault of a text.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Fault {
    /// The line, from 1.
    line: usize,
    what: String,
}

fn faults(file: &Path, text: &str) -> Vec<Fault> {
    let is_page = file.extension().is_some_and(|extension| extension == "md");
    let mut faults = of_lines(text, is_page);
    if !is_page {
        faults.extend(of_functions(text));
    }
    faults
}

/// Returns the lines with refused words, and those that are too long.
fn of_lines(text: &str, is_page: bool) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut is_code = false;
    for (at, line) in text.lines().enumerate() {
        let Some(prose) = (if is_page { Some(line) } else { comment(line) }) else {
            is_code = false;
            continue;
        };
        if prose.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        if is_code || prose.trim_start().starts_with(['|', '#']) {
            continue;
        }
        let mut fault = |what| faults.push(Fault { line: at + 1, what });
        if line.chars().count() > COLUMNS && prose.trim().contains(' ') && !prose.contains("](") {
            fault(format!("{} columns, more than {COLUMNS}", line.chars().count()));
        }
        if let Some(word) = words(prose).find(|word| REFUSED.iter().any(|refused| word.eq_ignore_ascii_case(refused))) {
            fault(format!("\"{word}\" is no plain subject: name the caller, the holder, a thread or a user"));
        }
    }
    faults
}

/// Returns the text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    Some(text.trim_start_matches(['/', '!']))
}

/// Returns the words outside of backticks.
fn words(prose: &str) -> impl Iterator<Item = &str> {
    let outside = prose.split('`').step_by(2);
    outside.flat_map(|text| text.split(|letter: char| !letter.is_alphanumeric() && letter != '_'))
}

/// Returns the comments of functions that do not begin with a verb in the third person.
fn of_functions(text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut begun: Option<(usize, &str)> = None;
    let mut is_test = false;
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        if let Some(doc) = line.strip_prefix("///") {
            begun = begun.or(Some((at + 1, doc.trim())));
        } else if line.starts_with("#[") || begun.is_some() && line.starts_with(')') {
            is_test |= line.starts_with("#[test]");
        } else if begun.is_some() && line.starts_with("//") {
            // A comment between a function's documentation and its head.
        } else {
            if let Some((line_of_doc, doc)) = begun.take()
                && is_function(line)
                && !is_test
                && !begins_with_verb(doc)
            {
                let what = format!("a function's comment begins with a verb in the third person, not \"{}\"", first_word(doc));
                faults.push(Fault { line: line_of_doc, what });
            }
            is_test = false;
        }
    }
    faults
}

/// Returns whether a line is the head of a function.
fn is_function(line: &str) -> bool {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub")
            || word.starts_with("in")
            || ["crate)", "super)", "const", "async", "unsafe", "extern"].contains(word)
    });
    words.next() == Some("fn")
}

fn first_word(doc: &str) -> &str {
    doc.split(' ').next().unwrap_or_default()
}

fn begins_with_verb(doc: &str) -> bool {
    let word = first_word(doc).trim_end_matches([',', ':', ';', '.']);
    // Headings group functions.
    doc.starts_with('#') || word.starts_with(char::is_uppercase) && word.ends_with('s') && !NO_VERBS.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str, text: &str) -> Vec<usize> {
        faults(Path::new(file), text).iter().map(|fault| fault.line).collect()
    }

    #[test]
    fn refused_words_are_found_in_prose_alone() {
        let text = "// Nobody waits.\nlet nobody = 1;\n// `nobody` waits.\n//! Waits for whoever holds it.\n";
        assert_eq!(lines("a.rs", text), [1, 4]);
        assert_eq!(lines("a.md", "Whoever\n\n```sh\nwhoever\n```\n| he |\n"), [1]);
    }

    #[test]
    fn lines_of_prose_end_at_column_100() {
        let long = format!("// {}", "word ".repeat(20).trim_end());
        let table = format!("// | {} |", "word ".repeat(30));
        assert_eq!(lines("a.rs", &format!("{}\n{long}\n{table}\n", &long[..100])), [2]);
    }

    #[test]
    fn a_functions_comment_begins_with_a_verb() {
        let text = [
            "/// Returns it.",
            "pub(crate) fn one() {}",
            "/// Whether it is.",
            "///",
            "/// Returns it.",
            "#[inline(always)]",
            "pub const fn two() {}",
            "/// The bytes.",
            "struct Bytes;",
            "/// A rule that holds.",
            "#[test]",
            "fn three() {}",
            "/// Its own.",
            "fn four() {}",
        ];
        assert_eq!(lines("a.rs", &text.join("\n")), [3, 13]);
    }
}
