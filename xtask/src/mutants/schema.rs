//! Several mutants in one source text. Each has a number, and `crate::__mutant` returns whether the
//! mutant of that number is selected.
//!
//! # What always holds
//!
//! - If no mutant is selected, the text means what it meant before.
//! - A mutant that is selected means what its own change of the source means. Only one is selected,
//!   so its replacement is made of the source without the others.
//! - Text is only added: nothing of the source is removed.
//!
//! # What it does not do
//!
//! It does not say which texts compile. A switch is no constant, for example, so a mutant of a
//! `const fn` gives an error. [`Bundled::culprits`] returns the mutants that an error is about.

use std::ops::Range;

use anyhow::{Context, Result};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Arm, BinOp, Expr, ExprBinary, ExprMatch, ExprStruct, ExprUnary, Pat};

use super::sample::{Mutant, Position};

/// The name of the function, and its definition, for the crate whose `crate::__mutant` it is.
pub(super) const SWITCH: &str = r#"
/// Returns whether this mutant is selected.
#[doc(hidden)]
pub fn __mutant(number: usize) -> bool {
    static SELECTED: std::sync::LazyLock<Option<usize>> =
        std::sync::LazyLock::new(|| std::env::var("PATHWALK_MUTANT").ok()?.parse().ok());
    *SELECTED == Some(number)
}
"#;

/// The environment variable that has the number of the selected mutant.
pub(super) const SELECTED: &str = "PATHWALK_MUTANT";

/// A source with mutants.
#[derive(Debug)]
pub(super) struct Bundled {
    pub(super) text: String,
    switches: Vec<Switch>,
}

/// The text that is added for one mutant.
#[derive(Debug)]
struct Switch {
    number: usize,
    /// The part of the source that the text is put around.
    around: Range<usize>,
    /// The part of the source in which the compiler may report what is wrong with the mutant.
    scope: Range<usize>,
    before: String,
    after: &'static str,
}

impl Bundled {
    /// Puts mutants, each with its number, into a source. A mutant that has no place is left out.
    pub(super) fn new(source: &str, mutants: &[(usize, &Mutant)]) -> Result<Bundled> {
        let parsed = syn::parse_file(source).context("parse the source")?;
        let cuts = mutants.iter().map(|(number, mutant)| (*number, *mutant, cut(source, mutant))).collect();
        let mut places = Places { source, cuts, switches: Vec::new() };
        places.functions();
        places.visit_file(&parsed);
        let mut switches = places.switches;
        // An outer part comes before the parts in it.
        switches.sort_by_key(|switch| (switch.around.start, std::cmp::Reverse(switch.around.end)));
        let mut text = source.to_owned();
        for (at, added) in insertions(&switches).into_iter().rev() {
            text.insert_str(at, added);
        }
        Ok(Bundled { text, switches })
    }

    /// Returns the numbers of the mutants in the text.
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        self.switches.iter().map(|switch| switch.number)
    }

    /// Returns the mutants that an error at this part of the text is about: those whose own text it
    /// meets, else the innermost around it.
    pub(super) fn culprits(&self, error: &Range<usize>) -> Vec<usize> {
        let meets = |part: &Range<usize>| part.start < error.end && error.start < part.end;
        let own = |switch: &&Switch| {
            // The text before stands behind all that was put to its start by outer switches.
            let start = self.moved(switch.around.start, Some(switch));
            meets(&(start..start + switch.before.len()))
        };
        let met: Vec<usize> = self.switches.iter().filter(own).map(|switch| switch.number).collect();
        if !met.is_empty() {
            return met;
        }
        let scope = |switch: &&Switch| self.moved(switch.scope.start, None)..self.moved(switch.scope.end, None);
        let around = self.switches.iter().filter(|switch| meets(&scope(switch)));
        around.min_by_key(|switch| switch.scope.len()).map(|switch| switch.number).into_iter().collect()
    }

    /// Returns where a place of the source is in the text, behind what is put there: up to the text
    /// of `until`, or all of it.
    fn moved(&self, place: usize, until: Option<&Switch>) -> usize {
        let mut moved = place;
        for (at, added) in insertions(&self.switches) {
            if at > place || until.is_some_and(|switch| at == place && std::ptr::eq(added, switch.before.as_str())) {
                break;
            }
            moved += added.len();
        }
        moved
    }
}

/// Returns the texts to add, each with its place in the source, in the order of the text. The
/// switches are ordered from the outside to the inside.
fn insertions(switches: &[Switch]) -> Vec<(usize, &str)> {
    let ends = switches.iter().rev().map(|switch| (switch.around.end, false, switch.after));
    let starts = switches.iter().map(|switch| (switch.around.start, true, switch.before.as_str()));
    let mut all: Vec<(usize, bool, &str)> = ends.chain(starts).collect();
    // What ends at a place comes before what begins there.
    all.sort_by_key(|(at, begins, _)| (*at, *begins));
    all.into_iter().map(|(at, _, added)| (at, added)).collect()
}

/// Returns the source with the change of one mutant.
pub(super) fn changed(source: &str, mutant: &Mutant) -> String {
    let cut = cut(source, mutant);
    [&source[..cut.start], &mutant.replacement, &source[cut.end..]].concat()
}

/// Returns the part of the source that the mutant replaces, in bytes.
fn cut(source: &str, mutant: &Mutant) -> Range<usize> {
    let offset = |position: Position| {
        let start: usize = source.split_inclusive('\n').take(position.line - 1).map(str::len).sum();
        let line = &source[start..];
        start + line.char_indices().nth(position.column - 1).map_or(line.len(), |(at, _)| at)
    };
    offset(mutant.start)..offset(mutant.end)
}

/// The search for the places of mutants.
struct Places<'a> {
    source: &'a str,
    cuts: Vec<(usize, &'a Mutant, Range<usize>)>,
    switches: Vec<Switch>,
}

impl Places<'_> {
    /// Makes functions return early.
    fn functions(&mut self) {
        for (number, mutant, body) in self.cuts.iter().filter(|(_, mutant, _)| mutant.genre == "FnValue") {
            let before = format!("if crate::__mutant({number}) {{ return {}; }} ", mutant.replacement);
            self.switches.push(Switch { number: *number, around: body.clone(), scope: body.clone(), before, after: "" });
        }
    }

    /// Puts an alternative beside `whole` for each mutant of this kind whose change begins at
    /// `start`.
    fn alternatives(&mut self, genre: &str, start: usize, whole: &Range<usize>) {
        for (number, mutant, cut) in self.cuts.iter().filter(|(_, mutant, cut)| mutant.genre == genre && cut.start == start) {
            let (left, right) = (&self.source[whole.start..cut.start], &self.source[cut.end..whole.end]);
            let before = format!("(if crate::__mutant({number}) {{ ({left}{}{right}) }} else {{ ", mutant.replacement);
            let (around, scope) = (whole.clone(), whole.clone());
            self.switches.push(Switch { number: *number, around, scope, before, after: " })" });
        }
    }

    /// Looks at a chain of operators without parentheses. Another operator may group the whole
    /// chain anew, so the alternative is one to the chain. A chain with `let` is no expression and
    /// has none.
    fn chain(&mut self, expr: &ExprBinary, outer: Option<&Range<usize>>, in_let_chain: bool) {
        let in_let_chain = in_let_chain || has_let(expr);
        let own = expr.span().byte_range();
        let whole = outer.or((!has_let(expr)).then_some(&own));
        let groups_lets = in_let_chain && matches!(expr.op, BinOp::And(_) | BinOp::Or(_));
        if let Some(whole) = whole.filter(|_| !groups_lets) {
            self.alternatives("BinaryOperator", expr.op.span().byte_range().start, whole);
        }
        for operand in [&*expr.left, &*expr.right] {
            match operand {
                Expr::Binary(operand) => self.chain(operand, whole, in_let_chain),
                operand => self.visit_expr(operand),
            }
        }
    }

    /// Guards the arm against the mutant that deletes it, and the guard against its mutants.
    fn arm(&mut self, arm: &Arm, scope: &Range<usize>) {
        let guarded = if let Pat::Guard(pat) = &arm.pat { Some(&*pat.guard) } else { None };
        let guard = guarded.map(|guard| guard.span().byte_range());
        for (number, mutant, cut) in &self.cuts {
            let deletes = mutant.genre == "MatchArm" && cut.start == arm.span().byte_range().start;
            let of_guard = mutant.genre == "MatchArmGuard" && guard.as_ref() == Some(cut);
            let (around, before, after) = match &guard {
                _ if guarded.is_some_and(is_let) || !deletes && !of_guard => continue,
                None => {
                    let end = arm.pat.span().byte_range().end;
                    (end..end, format!(" if !crate::__mutant({number})"), "")
                }
                Some(guard) if of_guard && mutant.replacement == "true" => {
                    (guard.clone(), format!("(crate::__mutant({number}) || ("), "))")
                }
                Some(guard) => (guard.clone(), format!("(!crate::__mutant({number}) && ("), "))"),
            };
            self.switches.push(Switch { number: *number, around, scope: scope.clone(), before, after });
        }
    }
}

impl<'ast> Visit<'ast> for Places<'_> {
    fn visit_expr_binary(&mut self, expr: &'ast ExprBinary) {
        self.chain(expr, None, false);
    }

    fn visit_expr_unary(&mut self, expr: &'ast ExprUnary) {
        self.alternatives("UnaryOperator", expr.op.span().byte_range().start, &expr.span().byte_range());
        visit::visit_expr_unary(self, expr);
    }

    fn visit_expr_match(&mut self, expr: &'ast ExprMatch) {
        expr.arms.iter().for_each(|arm| self.arm(arm, &expr.span().byte_range()));
        visit::visit_expr_match(self, expr);
    }

    fn visit_expr_struct(&mut self, expr: &'ast ExprStruct) {
        for field in &expr.fields {
            self.alternatives("StructField", field.span().byte_range().start, &expr.span().byte_range());
        }
        visit::visit_expr_struct(self, expr);
    }
}

fn has_let(expr: &ExprBinary) -> bool {
    is_let(&expr.left) || is_let(&expr.right)
}

fn is_let(expr: &Expr) -> bool {
    match expr {
        Expr::Let(_) => true,
        Expr::Binary(expr) => has_let(expr),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
