use super::*;

/// Returns the mutant of this kind that has `replacement` in the place of `cut` in the source.
fn mutant(source: &str, genre: &str, cut: &str, replacement: &str) -> Mutant {
    let at = source.find(cut).expect("the source has it");
    let position = |at: usize| Position {
        line: source[..at].matches('\n').count() + 1,
        column: source[..at].chars().rev().take_while(|c| *c != '\n').count() + 1,
    };
    Mutant {
        genre: genre.to_owned(),
        replacement: replacement.to_owned(),
        start: position(at),
        end: position(at + cut.len()),
        ..Mutant::of_test("", "", "")
    }
}

/// Bundles mutants of a source, given by kind, removed text and new text; the numbers begin at 0.
fn bundled(source: &str, changes: &[(&str, &str, &str)]) -> Bundled {
    let mutants: Vec<Mutant> = changes.iter().map(|(genre, cut, new)| mutant(source, genre, cut, new)).collect();
    let bundled = Bundled::new(source, &mutants.iter().enumerate().collect::<Vec<_>>()).expect("it parses");
    syn::parse_file(&bundled.text).unwrap_or_else(|error| panic!("{error}: {}", bundled.text));
    bundled
}

fn text(source: &str, changes: &[(&str, &str, &str)]) -> String {
    bundled(source, changes).text
}

#[test]
fn a_function_returns_early() {
    assert_eq!(
        text("fn f() -> u8 {\n    let é = 1;\n    é\n}", &[("FnValue", "let é = 1;\n    é", "0")]),
        "fn f() -> u8 {\n    if crate::__mutant(0) { return 0; } let é = 1;\n    é\n}"
    );
}

#[test]
fn an_operator_has_an_alternative() {
    assert_eq!(
        text("fn f() { g(a < b, !c) }", &[("BinaryOperator", "<", "<="), ("UnaryOperator", "!", "")]),
        "fn f() { g((if crate::__mutant(0) { (a <= b) } else { a < b }), (if crate::__mutant(1) { (c) } else { !c })) }"
    );
}

#[test]
fn another_operator_groups_the_whole_chain_anew() {
    assert_eq!(
        text("fn f() { a && b && (c == d) }", &[("BinaryOperator", "&&", "||"), ("BinaryOperator", "==", "!=")]),
        "fn f() { (if crate::__mutant(0) { (a || b && (c == d)) } else { \
         a && b && ((if crate::__mutant(1) { (c != d) } else { c == d })) }) }"
    );
}

#[test]
fn mutants_of_one_place_stand_in_each_other() {
    let changes =
        [("BinaryOperator", "&", "|"), ("BinaryOperator", "&", "^"), ("FnValue", "a & b", "1"), ("FnValue", "a & b", "0")];
    assert_eq!(
        text("fn f() { a & b }", &changes),
        "fn f() { if crate::__mutant(2) { return 1; } if crate::__mutant(3) { return 0; } \
         (if crate::__mutant(0) { (a | b) } else { (if crate::__mutant(1) { (a ^ b) } else { a & b }) }) }"
    );
}

#[test]
fn a_chain_with_let_is_no_expression() {
    let source = "fn f() { if let Some(a) = b && c == d { } }";
    assert_eq!(bundled(source, &[("BinaryOperator", "&&", "||")]).numbers().count(), 0);
    assert_eq!(
        text(source, &[("BinaryOperator", "==", "!=")]),
        "fn f() { if let Some(a) = b && (if crate::__mutant(0) { (c != d) } else { c == d }) { } }"
    );
}

#[test]
fn one_mutant_alone_is_a_change() {
    let source = "fn f() { é(a < b) }";
    assert_eq!(changed(source, &mutant(source, "BinaryOperator", "<", ">=")), "fn f() { é(a >= b) }");
}

#[test]
fn arms_and_guards() {
    let source = "fn f() { match a { 1 => b, 2 if g() => d, _ => e, } }";
    assert_eq!(
        text(source, &[("MatchArm", "1 => b,", ""), ("MatchArmGuard", "g()", "true"), ("MatchArmGuard", "g()", "false")]),
        "fn f() { match a { 1 if !crate::__mutant(0) => b, \
         2 if (crate::__mutant(1) || ((!crate::__mutant(2) && (g())))) => d, _ => e, } }"
    );
}

#[test]
fn a_field_is_left_out() {
    assert_eq!(
        text("fn f() { S { a: 1, b, ..s } }", &[("StructField", "a: 1,", "")]),
        "fn f() { (if crate::__mutant(0) { (S {  b, ..s }) } else { S { a: 1, b, ..s } }) }"
    );
}

#[test]
fn an_error_is_about_the_mutant_whose_text_it_meets() {
    let source = "const fn f() { match a { 1 => b == c, _ => d } }";
    let bundled = bundled(source, &[("MatchArm", "1 => b == c,", ""), ("BinaryOperator", "==", "!=")]);
    let at = |text: &str| {
        let start = bundled.text.find(text).expect("the text has it");
        bundled.culprits(&(start..start + text.len()))
    };
    assert_eq!(at("crate::__mutant(0)"), [0]);
    assert_eq!(at("b != c"), [1]);
    assert_eq!(at("b == c"), [1]);
    assert_eq!(at("match a"), [0]);
    assert_eq!(at("const"), [] as [usize; 0]);
}
