//! The parts of a source that are built for users of this system.
//!
//! `cargo-mutants` knows `#[cfg(test)]` alone. It lists mutants of code that is built for models,
//! for scenarios or for other systems only, as well; no test can notice those.

use anyhow::{Context, Result};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, ImplItemFn, ItemFn, ItemImpl, ItemMod, Lit, Meta, Token};

/// What a build for users has none of.
const LEFT_OUT: [&str; 4] = ["test", "loom", "shuttle", "miri"];

/// The lines of a source that are left out of a build for users.
#[derive(Default)]
pub(super) struct LeftOut {
    /// The first and the last line of each part.
    parts: Vec<(usize, usize)>,
}

impl LeftOut {
    pub(super) fn of(source: &str) -> Result<LeftOut> {
        let mut left_out = LeftOut::default();
        left_out.visit_file(&syn::parse_file(source).context("parse the source")?);
        Ok(left_out)
    }

    pub(super) fn has(&self, line: usize) -> bool {
        self.parts.iter().any(|(first, last)| (*first..=*last).contains(&line))
    }

    /// Adds an item if its attributes leave it out. Returns whether they do not.
    fn keeps(&mut self, attributes: &[Attribute], item: &impl Spanned) -> bool {
        let is_kept = attributes.iter().all(is_built);
        if !is_kept {
            let span = item.span();
            self.parts.push((span.start().line, span.end().line));
        }
        is_kept
    }
}

impl<'ast> Visit<'ast> for LeftOut {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if self.keeps(&item.attrs, item) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_impl(&mut self, item: &'ast ItemImpl) {
        if self.keeps(&item.attrs, item) {
            visit::visit_item_impl(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if self.keeps(&item.attrs, item) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if self.keeps(&item.attrs, item) {
            visit::visit_impl_item_fn(self, item);
        }
    }
}

fn is_built(attribute: &Attribute) -> bool {
    !attribute.path().is_ident("cfg") || attribute.parse_args::<Meta>().is_ok_and(|condition| can_be(&condition, true))
}

/// Returns whether a condition can have this value in a build for users.
fn can_be(condition: &Meta, value: bool) -> bool {
    let Meta::List(list) = condition else { return known(condition).is_none_or(|known| known == value) };
    let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default();
    let mut can = parts.iter().map(|part| can_be(part, value != list.path.is_ident("not")));
    match () {
        // One part decides, or all have to agree.
        () if list.path.is_ident("any") == value => can.any(|can| can),
        () => can.all(|can| can),
    }
}

/// Returns the value that a condition without parts has in every build for users of this system, if
/// it is known.
fn known(condition: &Meta) -> Option<bool> {
    let is = |name: &&str| condition.path().is_ident(name);
    match condition {
        Meta::NameValue(pair) if is(&"target_os") => match &pair.value {
            Expr::Lit(ExprLit { lit: Lit::Str(name), .. }) => Some(name.value() == std::env::consts::OS),
            _ => None,
        },
        _ if is(&"unix") => Some(cfg!(unix)),
        _ if is(&"windows") => Some(cfg!(windows)),
        _ => LEFT_OUT.iter().any(is).then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_models_and_tests_is_left_out() {
        let source = r#"
            fn built() {}
            #[cfg(all(test, not(any(loom, shuttle))))]
            fn of_tests() {}
            #[cfg(loom)]
            mod of_models {
                fn inside() {}
            }
            struct Built;
            impl Built {
                #[cfg(not(any(loom, shuttle)))]
                fn built() {}
                #[cfg(any(loom, shuttle))]
                fn of_models() {
                }
            }
            #[cfg(unix)]
            #[cfg(not(debug_assertions))]
            fn also_built() {}
            #[cfg(not(any(unix, target_os = "no-such-system")))]
            fn elsewhere() {}
            #[cfg(all(feature = "some", target_os = "no-such-system"))]
            fn there() {}
        "#;
        let left_out = LeftOut::of(source).unwrap();
        let lines = (1..=source.lines().count()).filter(|line| left_out.has(*line)).collect::<Vec<_>>();
        assert_eq!(lines, [3, 4, 5, 6, 7, 8, 13, 14, 15, 20, 21, 22, 23]);
    }
}
