//! The lengths of the examples: code without comments and blank lines, the demonstration included.
//! What an example says about the same program with other crates is counted, too.
//!
//! The examples themselves are run as tests: see `Cargo.toml`.

use std::fs;
use std::path::Path;

const MOST: [(&str, usize); 4] = [("sandbox", 45), ("zip_fs", 110), ("resolver", 25), ("axum_files", 30)];

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn lines(source: &str) -> usize {
    source.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")).count()
}

#[test]
fn the_examples_are_short() {
    for (name, most) in MOST {
        let lines = lines(&read(&format!("examples/{name}.rs")));
        println!("{name}: {lines} lines");
        assert!(lines <= most, "{name} has {lines} lines of code, more than {most}");
    }
}

#[test]
fn counterparts_have_as_many_lines_as_is_said() {
    let said: String = MOST.map(|(name, _)| read(&format!("examples/{name}.rs"))).concat();
    let mut counted = 0;
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("counterparts")).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        let wanted = format!("{} lines in `counterparts/{name}`", lines(&read(&format!("counterparts/{name}"))));
        assert!(said.contains(&wanted), "no example says: {wanted}");
        counted += 1;
    }
    assert_eq!(said.matches("lines in `counterparts/").count(), counted);
}
