//! Tables: rows of one operation each, on trees of their own, and their answers.
//!
//! `rows.txt` has the operations, `expected.txt` the kernel's answers. The format of the first is
//! described at its top. A line of the second is a row with its answer, the names that it made
//! (`+`) and those that it removed (`-`).

use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use crate::cast;
use crate::compare::class;
use crate::engine::Engine;
use crate::kernel::{Kernel, Supervised, supervise};
use crate::outcome::{Answer, Interpreter, Transcript};
use crate::program::{Program, Settings, Step};
use crate::words::read_flags;

/// The arguments of the command.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The directory of `rows.txt` and `expected.txt`.
    #[arg(default_value = "crates/pathwalk-tests/tests/last_component")]
    directory: PathBuf,
}

/// Rows that begin with the same tree.
#[derive(Default)]
struct Section {
    name: String,
    settings: Settings,
    setup: Vec<Step>,
    names: Vec<String>,
    rows: Vec<Step>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    ensure!(rustix::process::geteuid().is_root(), "the kernel is asked as root and others: run it as root");
    let rows = args.directory.join("rows.txt");
    let expected = args.directory.join("expected.txt");
    let text = std::fs::read_to_string(&rows).with_context(|| format!("read {}", rows.display()))?;
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    match supervise()? {
        Supervised::Parent(code) => Ok(code),
        Supervised::Child => {
            // The file is opened before `Kernel::enter` changes the root.
            let mut out = std::fs::File::create(&expected).with_context(|| format!("create {}", expected.display()))?;
            let answers = answers(&text, &mut Kernel::enter(None)?)?;
            let head = format!("# Answers of Linux {release} on a tmpfs. Written by `cargo xtask table`; not to be edited.\n");
            std::io::Write::write_all(&mut out, (head + &answers).as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Returns the engine's answers to `rows`, in the form of `expected.txt` without its comments.
pub fn engine_answers(rows: &str) -> Result<String> {
    answers(rows, &mut Engine::in_memory())
}

fn answers(text: &str, by: &mut dyn Interpreter) -> Result<String> {
    let mut out = String::new();
    for section in sections(text)? {
        writeln!(out, "section {}", section.name)?;
        let before = by.run(&Program { settings: section.settings - Settings::READ_ONLY, steps: section.setup.clone() })?;
        for (step, outcome) in section.setup.iter().zip(&before.outcomes) {
            ensure!(!matches!(outcome.answer, Answer::Failed(_)), "section {}: `{step}`: {:?}", section.name, outcome.answer);
        }
        for row in section.rows {
            let steps = [&section.setup[..], std::slice::from_ref(&row)].concat();
            let after = by.run(&Program { settings: section.settings, steps })?;
            writeln!(out, "{row} => {}", described(&before, &after))?;
        }
    }
    Ok(out)
}

/// Returns the answer of the last step, and the names that it made and removed.
fn described(before: &Transcript, after: &Transcript) -> String {
    let mut text = match after.outcomes.last().map(|outcome| &outcome.answer) {
        Some(Answer::Node(node)) => format!("{:?} {:04o}", node.kind, node.mode),
        Some(Answer::Bytes(bytes)) => format!("\"{}\"", bytes.escape_ascii()),
        Some(Answer::Number(number)) => number.to_string(),
        Some(answer) => class(answer),
        None => String::new(),
    };
    for (sign, here, there) in [('+', after, before), ('-', before, after)] {
        for name in here.tree.keys().filter(|name| !there.tree.contains_key(*name)) {
            let _ = write!(text, " {sign}{}", name.escape_ascii());
        }
    }
    text
}

fn sections(text: &str) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            take(line, &mut sections).with_context(|| format!("line {}: `{line}`", index + 1))?;
        }
    }
    Ok(sections)
}

fn take(line: &str, sections: &mut Vec<Section>) -> Result<()> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    if word == "section" {
        let (name, flags) = rest.split_once(' ').unwrap_or((rest, "-"));
        sections.push(Section { name: name.to_owned(), settings: read_flags(flags)?, ..Section::default() });
        return Ok(());
    }
    let Some(section) = sections.last_mut() else { bail!("it belongs to no section") };
    match word {
        "setup" => section.setup.push(rest.parse()?),
        "names" => section.names.extend(rest.split_ascii_whitespace().map(str::to_owned)),
        "row" if rest.contains('@') => {
            for name in &section.names {
                section.rows.push(rest.replace('@', name).parse()?);
            }
        }
        "row" => section.rows.push(rest.parse()?),
        "rows" => {
            for (actor, name) in cast::all_actors().flat_map(|actor| section.names.iter().map(move |name| (actor, name))) {
                section.rows.push(format!("{} {}", actor.name(), rest.replace('@', name)).parse()?);
            }
        }
        _ => bail!("a line begins with section, setup, names, row or rows"),
    }
    Ok(())
}
