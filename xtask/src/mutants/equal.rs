//! The page of mutants that change nothing that can be observed, with an argument for each.
//!
//! An entry is a heading with the mutant's title, a `diff` block with its changed lines, and the
//! argument below it. A survivor is printed in the same form. Several entries in a row may share
//! one argument, below the last of them.

use anyhow::{Result, bail, ensure};

use super::sample::Mutant;

/// An entry of the page.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Equal {
    title: String,
    changed: Vec<String>,
}

impl Equal {
    pub(super) fn title(&self) -> &str {
        &self.title
    }

    /// Returns whether the entry is about this mutant.
    pub(super) fn is(&self, mutant: &Mutant) -> bool {
        self.title == mutant.title() && self.changed.iter().eq(mutant.changed())
    }
}

/// Reads the page. An entry without a diff is an error. So is one without an argument, either its
/// own or one below the entries that follow it, up to the next heading that is no entry.
pub(super) fn read(page: &str) -> Result<Vec<Equal>> {
    let mut entries = Vec::new();
    for part in page.split("\n## ").map(|part| part.split("\n### ").skip(1)) {
        let mut argued = true;
        for text in part {
            ensure!(argued || text.starts_with("crates/"), "what stands before `{text}` has no argument");
            if text.starts_with("crates/") {
                let (entry, has_argument) = entry(text)?;
                entries.push(entry);
                argued = has_argument;
            }
        }
        ensure!(argued, "the last of a row of entries has no argument below its diff");
    }
    Ok(entries)
}

/// Returns an entry, and whether it has an argument of its own.
fn entry(text: &str) -> Result<(Equal, bool)> {
    let title = text.lines().next().unwrap_or_default().to_owned();
    let Some((_, behind)) = text.split_once("```diff\n") else { bail!("`{title}` has no diff") };
    let Some((diff, argument)) = behind.split_once("```") else { bail!("the diff of `{title}` does not end") };
    let entry = Equal { title, changed: diff.lines().map(str::to_owned).collect() };
    Ok((entry, !argument.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Mutants\n\n### crates/a.rs: replace < with <= in f\n\n```diff\n-    a < b\n+    a <= b\n```\n\nThey are never equal.\n";

    #[test]
    fn an_entry_is_about_one_mutant() {
        let entries = read(PAGE).expect("a page");
        let name = "crates/a.rs:3:4: replace < with <= in f";
        let mutant = |diff| Mutant::of_test(name, "crates/a.rs", diff);
        assert!(entries[0].is(&mutant("--- crates/a.rs\n+++ replace\n@@ -1 @@\n     x\n-    a < b\n+    a <= b\n")));
        assert!(!entries[0].is(&mutant("-    a < c\n+    a <= c\n")));
    }

    #[test]
    fn an_entry_needs_a_diff_and_an_argument() {
        assert!(read("\n### crates/a.rs: replace\n\nBecause.\n").is_err());
        assert!(read("\n### crates/a.rs: replace\n\n```diff\n-a\n+b\n```\n").is_err());
        assert_eq!(read("# Mutants\n\n### How to read it\n").expect("a page"), []);
    }

    #[test]
    fn a_row_of_entries_has_its_argument_below_the_last() {
        let of = |name: &str| format!("\n### crates/{name}.rs: replace\n\n```diff\n-a\n+b\n```\n");
        let argued = format!("{}{}\nBecause.\n", of("a"), of("b"));
        assert_eq!(read(&argued).expect("a page").len(), 2);
        for without in [of("c"), format!("{}\n## Others\n{argued}", of("c")), format!("{}\n### How\n\nSo.\n", of("c"))] {
            assert!(read(&format!("{argued}{without}")).is_err(), "{without}");
        }
    }
}
