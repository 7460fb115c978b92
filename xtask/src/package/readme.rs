//! The README of a published crate, which crates.io shows and which the documentation begins with.
//!
//! rustdoc finds the target of a link by itself and hides lines of examples; crates.io does
//! neither. So a README defines each link, by its absolute address. The crate's `lib.rs` may define
//! the same links as items before it includes the README: the first definition counts.

use cargo_metadata::{Metadata, Package};
use pulldown_cmark::{BrokenLink, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Returns the faults of a README. `broken` returns the fault of an absolute link.
pub(super) fn faults(text: &str, broken: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let mut undefined = Vec::new();
    let callback = |link: BrokenLink<'_>| {
        undefined.push(format!("[{}] has no definition, so crates.io shows no link", link.reference));
        None
    };
    let mut faults = Vec::new();
    let mut examples = 0;
    let mut is_example = false;
    for event in Parser::new_with_broken_link_callback(text, Options::ENABLE_TABLES, Some(callback)) {
        match event {
            Event::Start(Tag::Link { dest_url: link, .. } | Tag::Image { dest_url: link, .. }) => {
                faults.extend(fault_of(&link, &broken))
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => {
                is_example = &*language == "rust";
                examples += usize::from(is_example);
            }
            Event::End(TagEnd::CodeBlock) => is_example = false,
            Event::Text(code) if is_example => {
                let hidden = code.lines().filter(|line| *line == "#" || line.trim_start().starts_with("# "));
                faults.extend(hidden.map(|line| format!("`{line}` is hidden in the documentation, and crates.io shows it")));
            }
            _ => {}
        }
    }
    if examples == 0 {
        faults.push("there is no example, a block of rust that is a test".into());
    }
    faults.extend(undefined);
    faults
}

/// Returns the fault of a link.
fn fault_of(link: &str, broken: impl Fn(&str) -> Option<String>) -> Option<String> {
    if link.starts_with("https://") { broken(link) } else { Some(format!("{link} is no absolute address")) }
}

/// Returns the fault of an absolute link that leads to documentation or a file of this repository,
/// if the target is not there. The documentation has been built.
pub(super) fn broken(link: &str, published: &[&Package], workspace: &Metadata) -> Option<String> {
    let (page, fragment) = link.split_once('#').unwrap_or((link, ""));
    let is_there = if let Some(item) = page.strip_prefix("https://docs.rs/") {
        let (name, item) = item.split_once('/').unwrap_or((item, ""));
        let package = published.iter().find(|package| package.name == name)?;
        let item = item.strip_prefix("latest/").unwrap_or(item);
        let module = package.name.replace('-', "_");
        let item = if item.is_empty() { format!("{module}/index.html") } else { item.into() };
        let text = std::fs::read_to_string(workspace.target_directory.join("doc").join(item));
        text.is_ok_and(|text| fragment.is_empty() || text.contains(&format!("id=\"{fragment}\"")))
    } else {
        let is_own =
            |package: &&Package| package.repository.as_ref().and_then(|repository| page.strip_prefix(repository.as_str()));
        let file = published.iter().find_map(is_own)?.strip_prefix("/blob/main/")?;
        workspace.workspace_root.join(file).is_file()
    };
    (!is_there).then(|| format!("{link} leads nowhere"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A README without a fault, before what a test adds.
    const EXAMPLE: &str = "```rust\nfn main() {}\n```\n\n";

    fn count(text: &str) -> usize {
        faults(&format!("{EXAMPLE}{text}"), |_| None).len()
    }

    #[test]
    fn a_link_is_defined_by_an_absolute_address() {
        assert_eq!(count("[`Vfs`] and [a page](https://a.example)\n\n[`Vfs`]: https://b.example\n"), 0);
        assert_eq!(count("[`Vfs`] and [`Vfs`](crate::Vfs)\n"), 2);
        assert_eq!(count("[a page](../docs/a.md)\n\n```sh\n[ -e file ]\n```\n"), 1);
    }

    #[test]
    fn an_example_is_there_and_hides_nothing() {
        assert_eq!(faults("Text.\n", |_| None).len(), 1);
        assert_eq!(count("```rust\n#[test]\nfn one() {}\n# hidden();\n```\n"), 1);
    }

    #[test]
    fn links_to_this_repository_are_followed() {
        let workspace = super::super::workspace().expect("the workspace");
        let published = super::super::published(&workspace);
        let broken = |link: &str| broken(link, &published, &workspace);
        assert_eq!(broken("https://a.example/none"), None);
        assert_eq!(broken("https://docs.rs/tokio"), None);
        let repository = workspace.workspace_packages()[0].repository.clone().expect("an address");
        assert_eq!(broken(&format!("{repository}/blob/main/docs/design.md#users")), None);
        assert!(broken(&format!("{repository}/blob/main/docs/none.md")).is_some());
        assert!(broken("https://docs.rs/pathwalk/latest/pathwalk/struct.None.html").is_some());
    }
}
