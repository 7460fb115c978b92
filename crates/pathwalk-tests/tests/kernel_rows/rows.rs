//! The file of scenes and rows: read, and written again with other answers.
//!
//! A line is empty, a comment (`#`), the head of a scene (`scene NAME: why`), a step (`+ [LABEL =]
//! OP`) that lays the scene out, or a row (`FROM RULES OP => ANSWER`). Each row runs on a scene of
//! its own. A line that is none of these is an error that names its number.
//!
//! What always holds: the written file differs from the one that was read in the answers and the
//! spaces of rows alone, and in the line that names the kernel.

use anyhow::{Context as _, Result, ensure};
use pathwalk::Resolve;
use xtask::read_flags;

use crate::op::{Kind, Op};

/// The beginning of the line that names the kernel.
const ANSWERS_OF: &str = "# Answers of Linux ";

/// The word before an answer.
const ARROW: &str = "=>";

/// The answer of caches that lack an entry, or that are not asked.
pub(crate) const AGAIN: &str = "EAGAIN";

/// The scene whose operations the engine's caches leave to a walk that may wait.
const HANDED_OVER: &str = "caches-hand-over";

/// The prefix of the answer that the kernel gives where it may leave its caches.
pub(crate) const AGAIN_THEN: &str = "EAGAIN then ";

/// The starting point of a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum From {
    /// The working directory, as the scene left it.
    Here,
    /// The given working directory.
    Cwd(String),
    /// The descriptor that the scene holds under this name.
    Held(String),
}

/// One operation that lays a scene out.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) line: usize,
    pub(crate) label: Option<String>,
    pub(crate) op: Op,
}

/// One question, and its answer.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) line: usize,
    pub(crate) from: From,
    pub(crate) rules: Resolve,
    pub(crate) op: Op,
    /// The words of the question.
    pub(crate) words: Vec<String>,
    /// The answer; empty if there is none yet.
    pub(crate) answer: String,
}

/// Steps, and the rows that run after them.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
    pub(crate) rows: Vec<Row>,
}

impl Scene {
    /// Returns the answer of the engine with all nodes of the row cached.
    pub(crate) fn expected<'a>(&self, row: &'a Row) -> &'a str {
        if self.name == HANDED_OVER { AGAIN } else { row.expected() }
    }
}

/// The lines and scenes of the file.
pub(crate) struct Rows {
    lines: Vec<String>,
    pub(crate) scenes: Vec<Scene>,
}

impl Rows {
    pub(crate) fn read(text: &str) -> Result<Rows> {
        let mut rows = Rows { lines: text.lines().map(str::to_owned).collect(), scenes: Vec::new() };
        for (at, line) in text.lines().enumerate() {
            rows.read_line(at + 1, line).with_context(|| format!("rows.txt:{}: `{}`", at + 1, line.trim()))?;
        }
        Ok(rows)
    }

    fn read_line(&mut self, number: usize, line: &str) -> Result<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match *words {
            [] => return Ok(()),
            [first, ..] if first.starts_with('#') => return Ok(()),
            ["scene", name, ..] => {
                let name = name.strip_suffix(':').context("a scene is written `scene NAME: why`")?;
                ensure!(self.scenes.iter().all(|scene| scene.name != name), "there is a scene of this name");
                self.scenes.push(Scene { name: name.into(), steps: Vec::new(), rows: Vec::new() });
                return Ok(());
            }
            _ => {}
        }
        let scene = self.scenes.last_mut().context("no scene was begun")?;
        match *words {
            ["+", ref step @ ..] => {
                ensure!(scene.rows.is_empty(), "a scene's steps come before its rows");
                scene.steps.push(Step::read(number, step)?);
            }
            _ => {
                let row = Row::read(number, &words)?;
                let is_new = scene.rows.iter().all(|other| other.words != row.words);
                ensure!(is_new, "this scene has the same row already");
                scene.rows.push(row);
            }
        }
        Ok(())
    }

    /// Returns the file with these answers, one for each row, in columns.
    pub(crate) fn written(&self, release: &str, answers: &[String]) -> String {
        let mut lines = self.lines.clone();
        let mut answers = answers.iter();
        for scene in &self.scenes {
            let widths = widths(&scene.rows);
            for row in &scene.rows {
                let answer = answers.next().expect("an answer for each row");
                lines[row.line - 1] = row.written(&widths, answer);
            }
        }
        let of = lines.iter_mut().find(|line| line.starts_with(ANSWERS_OF)).expect("a line that names the kernel");
        *of = format!("{ANSWERS_OF}{release}.");
        lines.join("\n") + "\n"
    }

    /// Returns the kernel that gave the answers.
    pub(crate) fn release(&self) -> &str {
        let of = self.lines.iter().find_map(|line| line.strip_prefix(ANSWERS_OF));
        of.map_or("an unknown kernel", |release| release.trim_end_matches('.'))
    }
}

/// Returns the widths of columns: starting point and rules, the operation, and its arguments.
fn widths(rows: &[Row]) -> Vec<usize> {
    let columns = rows.iter().map(|row| row.words.len()).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.words.get(column)).map(String::len).max();
    (0..columns).map(|column| width(column).unwrap_or(0)).collect()
}

impl Step {
    fn read(line: usize, words: &[&str]) -> Result<Step> {
        let (label, words) = match *words {
            [label, "=", ref rest @ ..] => (Some(label), rest),
            _ => (None, words),
        };
        Ok(Step { line, label: label.map(str::to_owned), op: Op::read(words, label)? })
    }
}

impl Row {
    fn read(line: usize, words: &[&str]) -> Result<Row> {
        let arrow = words.iter().position(|word| *word == ARROW);
        let (question, answer) = words.split_at(arrow.context("neither a step (`+`) nor a row (`=>`)")?);
        let [from, rules, op @ ..] = question else { anyhow::bail!("a row is written `FROM RULES OP => ANSWER`") };
        let (rules, op): (Resolve, Op) = (read_flags(rules)?, Op::read(op, None)?);
        if !rules.is_empty() {
            op.check_by_rules()?;
        }
        let from = match from.strip_prefix('@') {
            Some(held) => From::Held(held.into()),
            None if *from == "." => From::Here,
            None => From::Cwd((*from).into()),
        };
        let words = question.iter().map(|word| (*word).to_owned()).collect();
        Ok(Row { line, from, rules, op, words, answer: answer[1..].join(" ") })
    }

    fn written(&self, widths: &[usize], answer: &str) -> String {
        let each = widths.iter().enumerate().map(|(column, width)| {
            let word = self.words.get(column).map_or("", String::as_str);
            format!("{word:width$} ")
        });
        format!("{}{ARROW} {answer}", each.collect::<String>())
    }

    /// Returns whether the row has the rule `CACHED`.
    pub(crate) fn asks_caches(&self) -> bool {
        self.rules.contains(Resolve::CACHED)
    }

    /// Returns the row without `CACHED`, for a system that may leave its caches.
    pub(crate) fn may_wait(&self) -> Row {
        Row { rules: self.rules - Resolve::CACHED, ..self.clone() }
    }

    /// Returns the answer of the engine with all nodes of the row cached: that of the kernel. Where
    /// the kernel leaves its caches to refuse an operation, the engine refuses it at once.
    fn expected(&self) -> &str {
        match (self.answer.strip_prefix(AGAIN_THEN), self.op.kind()) {
            (Some(refusal), Kind::Question) => refusal,
            (Some(_), _) => AGAIN,
            (None, _) => &self.answer,
        }
    }

    /// Returns the line and the question, for errors.
    pub(crate) fn place(&self) -> String {
        format!("rows.txt:{}: `{}`", self.line, self.question())
    }

    /// Returns the question as it is in the file.
    pub(crate) fn question(&self) -> String {
        self.words.join(" ")
    }
}
