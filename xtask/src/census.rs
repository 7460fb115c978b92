//! `cargo xtask differential --census`: counts what programs were made of and which rules they met.
//!
//! The census counts operations, answers, flags, users, flags of mounts and settings, and each rule
//! of pathname lookup that a step met: see [`rules`]. It counts the oracle's answers. A rule that
//! no step of a long run met is a hole in what is drawn.
//!
//! What it does not do: it judges no answer. [`compare`](crate::compare) does.

mod met;
mod rules;

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use crate::compare::class;
use crate::op::Op;
use crate::outcome::{Answer, Transcript};
use crate::program::{Program, Step};
use met::{Met, Past};
use pathwalk::Errno;
use rules::Reach;

/// The number of operations from which on a rule that no step met is a hole.
pub(crate) const LONG_RUN: u64 = 1_000_000;

type Table = BTreeMap<String, u64>;

/// The counts of a run.
#[derive(Default)]
pub(crate) struct Census {
    ops: u64,
    answers: BTreeMap<&'static str, Table>,
    flags: BTreeMap<&'static str, Table>,
    users: Table,
    mounts: Table,
    settings: Table,
    /// The number of steps that met each rule, by its place in [`rules::all`].
    rules: Vec<u64>,
}

fn count(table: &mut Table, what: &str) {
    match table.get_mut(what) {
        Some(times) => *times += 1,
        None => _ = table.insert(what.to_owned(), 1),
    }
}

impl Census {
    /// Counts the steps of one program.
    pub(crate) fn take(&mut self, program: &Program, transcript: &Transcript) {
        self.rules.resize(rules::all().count(), 0);
        program.settings.iter_names().for_each(|(name, _)| count(&mut self.settings, name));
        let (mut past, mut before) = (Past::default(), None);
        let mounts = program.acts().into_iter().flat_map(|act| std::iter::repeat_n(act.mount, act.steps.len()));
        for ((step, outcome), mount) in program.steps.iter().zip(&transcript.outcomes).zip(mounts) {
            self.ops += 1;
            count(self.answers.entry(step.op.verb()).or_default(), &class(&outcome.answer));
            count(&mut self.users, step.actor.name());
            mount.iter_names().for_each(|(name, _)| count(&mut self.mounts, name));
            for flag in flags(&step.to_string()) {
                count(self.flags.entry(step.op.verb()).or_default(), flag);
            }
            let places = step.op.places();
            let met = Met { step, outcome, settings: program.settings, mount, before, past: &past, places };
            for (rule, times) in rules::all().zip(&mut self.rules) {
                if let Reach::Drawn(is_met) = rule.reach {
                    *times += u64::from(is_met(&met));
                }
            }
            past.follow(step, &outcome.answer);
            before = outcome.watched.as_deref();
        }
    }

    /// Returns the drawn rules that no step met.
    pub(crate) fn unmet(&self) -> Vec<String> {
        let unmet = rules::all().zip(&self.rules).filter(|(rule, times)| matches!(rule.reach, Reach::Drawn(_)) && **times == 0);
        unmet.map(|(rule, _)| format!("{} {}", rule.section, rule.name)).collect()
    }

    /// Returns whether the run was long enough, and some rule was met by no step.
    pub(crate) fn has_holes(&self) -> bool {
        self.ops >= LONG_RUN && !self.unmet().is_empty()
    }

    pub(crate) fn json(&self) -> Value {
        let rules: Vec<Value> = rules::all()
            .zip(&self.rules)
            .map(|(rule, times)| match rule.reach {
                Reach::Drawn(_) => json!({ "section": rule.section, "rule": rule.name, "met": times }),
                Reach::Elsewhere(place) => json!({ "section": rule.section, "rule": rule.name, "elsewhere": place }),
            })
            .collect();
        json!({
            "answers": self.answers, "flags": self.flags, "users": self.users, "mounts": self.mounts, "settings": self.settings,
            "rules": rules, "unmet": self.unmet(),
        })
    }

    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let tables = [
            ("operations by user", &self.users),
            ("operations under a mount", &self.mounts),
            ("programs with a setting", &self.settings),
        ];
        for (verb, answers) in &self.answers {
            let _ = writeln!(text, "{verb}: {}", answers.values().sum::<u64>());
            let _ = writeln!(text, "    answers: {}", line(answers));
            if let Some(flags) = self.flags.get(verb) {
                let _ = writeln!(text, "    flags: {}", line(flags));
            }
        }
        for (title, table) in tables {
            let _ = writeln!(text, "{title}: {}", line(table));
        }
        for (rule, times) in rules::all().zip(&self.rules) {
            let _ = match rule.reach {
                Reach::Drawn(_) => writeln!(text, "{times:>9}  {} {}", rule.section, rule.name),
                Reach::Elsewhere(place) => writeln!(text, "        -  {} {}: {place}", rule.section, rule.name),
            };
        }
        for rule in self.unmet() {
            let _ = writeln!(text, "no step met the rule: {rule}");
        }
        text
    }
}

impl Past {
    fn follow(&mut self, Step { actor, op }: &Step, answer: &Answer) {
        match (op, answer) {
            (op, Answer::Node(_)) if op.fills().is_some() => {
                self.openers.extend(op.fills().map(|slot| (slot.0, *actor)));
            }
            (Op::Mount { .. }, _) => self.openers.clear(),
            _ => {}
        }
        let Some((_, path)) = op.places().first().copied() else { return };
        match (op, answer) {
            (_, Answer::Failed(Errno::ENOENT)) => _ = self.absent.insert(path.to_vec()),
            (Op::Unlink { .. } | Op::Rmdir { .. }, Answer::Done) => _ = self.removed.insert(path.to_vec()),
            _ => {}
        }
    }
}

fn line(table: &Table) -> String {
    let mut entries: Vec<(&String, &u64)> = table.iter().collect();
    entries.sort_by_key(|(_, times)| std::cmp::Reverse(**times));
    entries.iter().map(|(what, times)| format!("{what} {times}")).collect::<Vec<_>>().join(", ")
}

/// Returns the flags in a step's line: words in capital letters, joined by `+`.
fn flags(line: &str) -> impl Iterator<Item = &str> {
    let is_flags = |word: &&str| word.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'+' | b'_'));
    line.split(' ').filter(is_flags).flat_map(|word| word.split('+'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Engine;
    use crate::generate;
    use crate::outcome::Interpreter;

    /// Uses the engine alone, since it answers as the kernel does.
    #[test]
    fn each_rule_is_drawn() {
        let mut census = Census::default();
        let mut seeds = fastrand::Rng::with_seed(1);
        for _ in 0..600 {
            let program = generate::program(seeds.u64(..), 400, generate::Files::Any);
            census.take(&program, &Engine::in_memory().run(&program).expect("the engine carries it out"));
        }
        assert_eq!(census.unmet(), Vec::<String>::new(), "seed 1, {} operations", census.ops);
    }

    #[test]
    fn flags_are_words_in_capitals() {
        let found: Vec<&str> = flags("user open 0 \"A\" CREATE+WRITE 0644").collect();
        assert_eq!(found, ["CREATE", "WRITE"]);
    }
}
