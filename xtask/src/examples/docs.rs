//! The documentation of one item: its examples, and its links to other items.

use syn::{Attribute, Expr, Lit, Meta};

/// The words behind the fence of a block of Rust code that is compiled.
const COMPILED: [&str; 5] = ["rust", "no_run", "should_panic", "compile_fail", "edition2024"];

/// The documentation of one item, in Markdown.
#[derive(Clone, Default, Debug)]
pub(super) struct Docs {
    /// The text outside of blocks of code.
    prose: String,
    /// The blocks of Rust code.
    examples: String,
}

impl Docs {
    /// Reads the `doc` attributes of an item.
    pub(super) fn of(attributes: &[Attribute]) -> Docs {
        let mut docs = Docs::default();
        let mut block: Option<bool> = None;
        for line in attributes.iter().filter_map(line).flat_map(|text| text.lines().map(String::from).collect::<Vec<_>>()) {
            if let Some(info) = line.trim_start().strip_prefix("```") {
                block = if block.is_some() { None } else { Some(is_rust(info)) };
                continue;
            }
            let text = match block {
                None => &mut docs.prose,
                Some(true) => &mut docs.examples,
                Some(false) => continue,
            };
            text.push_str(&line);
            text.push('\n');
        }
        docs
    }

    /// Returns whether it has an example.
    pub(super) fn has_example(&self) -> bool {
        !self.examples.is_empty()
    }

    /// Returns whether an example has this word.
    pub(super) fn example_names(&self, name: &str) -> bool {
        self.examples.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(|word| word == name)
    }

    /// Returns the targets of its links, as they are written.
    pub(super) fn links(&self) -> impl Iterator<Item = &str> {
        self.prose.match_indices('[').filter_map(|(at, _)| {
            let (text, behind) = self.prose[at + 1..].split_once(']')?;
            let target = behind.strip_prefix('(').and_then(|behind| behind.split(')').next());
            Some(target.unwrap_or(text).trim_matches('`'))
        })
    }
}

/// Returns the text of a `doc` attribute.
fn line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(expression) = &pair.value else { return None };
    let Lit::Str(text) = &expression.lit else { return None };
    pair.path.is_ident("doc").then(|| text.value())
}

fn is_rust(info: &str) -> bool {
    info.split(',').map(str::trim).filter(|word| !word.is_empty()).all(|word| COMPILED.contains(&word))
}
