//! The last component of a path, as a table: each operation on all forms of a path's end. `cargo
//! xtask table` took the expected answers from a kernel. So this test needs neither root nor
//! Linux's mounts: it compares the answers of the engine on the reference file system.

const ROWS: &str = include_str!("rows.txt");
const EXPECTED: &str = include_str!("expected.txt");

#[test]
fn the_last_component_is_taken_as_the_kernel_takes_it() {
    let answers = xtask::engine_answers(ROWS).expect("the table can be asked");
    let expected: Vec<&str> = EXPECTED.lines().filter(|line| !line.starts_with('#')).collect();
    let answers: Vec<&str> = answers.lines().collect();
    assert_eq!(answers.len(), expected.len(), "rows.txt was changed: run `cargo xtask table` as root");
    assert!(answers.len() >= 120, "{} rows", answers.len());
    let different: Vec<String> = expected
        .iter()
        .zip(&answers)
        .filter(|(left, right)| left != right)
        .map(|(left, right)| format!("{left}\n    engine: {right}"))
        .collect();
    assert!(different.is_empty(), "{} rows of {} differ:\n{}", different.len(), answers.len(), different.join("\n"));
}
