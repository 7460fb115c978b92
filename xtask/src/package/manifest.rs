//! The manifest of a published crate: what crates.io shows of it, and what cargo does not refuse.

use cargo_metadata::{Dependency, DependencyKind, Metadata, Package};

/// The name of a package's README.
pub(super) const README: &str = "README.md";

/// The names of a package's licences.
pub(super) const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];

/// The most keywords and the most categories that crates.io accepts.
const MOST_WORDS: usize = 5;

/// The most characters of a keyword.
const LONGEST_KEYWORD: usize = 20;

/// Returns the faults of a manifest.
pub(super) fn faults(package: &Package, workspace: &Metadata) -> Vec<String> {
    let mut faults = Vec::new();
    for (field, is_there) in [
        ("description", package.description.is_some()),
        ("license", package.license.is_some()),
        ("repository", package.repository.is_some()),
        ("documentation", package.documentation.is_some()),
        ("rust-version", package.rust_version.is_some()),
        ("package.metadata.docs.rs", package.metadata.pointer("/docs/rs").is_some()),
    ] {
        if !is_there {
            faults.push(format!("the manifest has no {field}"));
        }
    }
    if package.readme.as_ref().is_none_or(|readme| readme != README) {
        faults.push(format!("the manifest's readme is not {README} of the crate"));
    }
    for (field, words) in [("keywords", &package.keywords), ("categories", &package.categories)] {
        if !(1..=MOST_WORDS).contains(&words.len()) {
            faults.push(format!("{} {field}; crates.io takes 1 to {MOST_WORDS}", words.len()));
        }
    }
    let keywords = package.keywords.iter().filter(|keyword| !is_keyword(keyword));
    faults.extend(keywords.map(|keyword| format!("crates.io does not take the keyword {keyword:?}")));
    let own = package.dependencies.iter().filter(|dependency| has_version_for_tests(dependency, workspace));
    faults.extend(own.map(|dependency| format!("the dev-dependency {} has a version: name it by path alone", dependency.name)));
    faults
}

/// Returns whether crates.io accepts a keyword. Source: the reference of cargo, "The keywords
/// field".
fn is_keyword(word: &str) -> bool {
    word.len() <= LONGEST_KEYWORD
        && word.starts_with(|first: char| first.is_ascii_alphanumeric())
        && word.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-+".contains(letter))
}

/// Returns whether a dev-dependency on a crate of the workspace has a version. Cargo leaves it out
/// of the package otherwise; with a version, two crates that test each other could not be published
/// in any order, which a dry run does not show.
fn has_version_for_tests(dependency: &Dependency, workspace: &Metadata) -> bool {
    dependency.kind == DependencyKind::Development
        && !dependency.req.comparators.is_empty()
        && workspace.workspace_packages().iter().any(|package| package.name == dependency.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_those_of_crates_io() {
        assert!(["vfs", "io-uring", "c++", "3d"].into_iter().all(is_keyword));
        assert!(!["", "-vfs", "file system", "größe", "a-keyword-of-twenty-one"].into_iter().any(is_keyword));
    }
}
