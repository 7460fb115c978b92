//! Tests that `docs/eviction.md` and `recordings/README.md` have the figures that the program
//! prints.

use std::collections::HashMap;
use std::process::{Command, Stdio};

use pathwalk_study::recordings::RECORDED;

/// The columns of a page's or an output's row.
type Cells = Vec<String>;

/// A table of a page, by the names of its rows, and the words before it.
struct Table {
    intro: String,
    header: Cells,
    rows: Vec<Cells>,
}

fn page(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the tables of a page.
fn tables(page: &str) -> Vec<Table> {
    let mut tables: Vec<Table> = Vec::new();
    let (mut intro, mut is_table) = (String::new(), false);
    for line in page.lines() {
        let Some(row) = line.strip_prefix('|').and_then(|line| line.strip_suffix('|')) else {
            if std::mem::take(&mut is_table) {
                intro.clear();
            }
            intro += &format!("{line} ");
            continue;
        };
        let cells = row.split('|').map(|cell| cell.trim().trim_matches('*').replace('−', "-")).collect();
        match tables.last_mut().filter(|_| is_table) {
            Some(_) if line.starts_with("|---") => {}
            Some(table) => table.rows.push(cells),
            None => tables.push(Table { intro: intro.clone(), header: cells, rows: Vec::new() }),
        }
        is_table = true;
    }
    tables
}

/// Returns the tables of a page that stand behind these words, up to the next table.
fn table<'a>(tables: &'a [Table], words: &str) -> &'a Table {
    tables.iter().find(|table| table.intro.contains(words)).unwrap_or_else(|| panic!("no table behind {words:?}"))
}

/// The text of a run, and its rows by the table's and the row's name.
struct Printed {
    text: String,
    rows: HashMap<(String, String), Cells>,
}

impl Printed {
    /// Runs the program.
    fn by(args: &[&str]) -> Printed {
        let mut command = Command::new(env!("CARGO_BIN_EXE_study"));
        command.arg("-q").args(args).env("COLUMNS", "1000").stdin(Stdio::null()).current_dir(env!("CARGO_MANIFEST_DIR"));
        let output = command.output().expect("the program starts");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        let (mut rows, mut name) = (HashMap::new(), "");
        for line in text.lines() {
            let cells: Cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(str::to_owned).collect();
            match line.split_once(": ") {
                Some((of, _)) if !line.starts_with(' ') => name = of,
                _ if cells.len() > 1 => drop(rows.insert((name.to_owned(), cells[0].clone()), cells[1..].to_vec())),
                _ => {}
            }
        }
        Printed { text, rows }
    }

    fn row(&self, table: &str, name: &str) -> &[String] {
        self.rows.get(&(table.into(), name.into())).unwrap_or_else(|| panic!("no row {name} of {table}:\n{}", self.text))
    }
}

#[test]
fn hits() {
    let page = tables(&page("../docs/eviction.md"));
    let printed = Printed::by(&["policies"]);
    let mut faults = Vec::new();
    for recorded in RECORDED {
        let table = table(&page, &format!("`{}`: ", recorded.name));
        let walks = table.intro.rsplit_once("; ").expect("walks stand before the table").1.trim();
        let (walks, names) = walks.split_once(" walks to ").expect("walks and names");
        let told = format!("{}: hits in percent of {walks} walks to {names}\n", recorded.name);
        assert!(printed.text.contains(&told), "{told}{}", printed.text);
        for row in &table.rows {
            let hits = &printed.row(recorded.name, &row[0])[..6];
            if row[1..] != *hits {
                faults.push(format!("{}: {} is {}", recorded.name, row.join(" | "), hits.join(" | ")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn what_is_saved() {
    let page = tables(&page("../docs/eviction.md"));
    let printed = Printed::by(&["policies"]);
    let all = table(&page, "study/Cargo.toml -- policies");
    assert_eq!(all.rows.len(), pathwalk_study::ENTRANTS.len());
    for row in &all.rows {
        let looks = |name: &str| printed.row(name, &row[0])[6].parse::<f64>().expect("a number");
        let most = RECORDED.iter().map(|recorded| looks(recorded.name)).fold(0.0, f64::max);
        assert_eq!(row[1], printed.row("make", &row[0])[7], "{}", row[0]);
        assert_eq!(row[2..5], *printed.row("all", &row[0]), "{}", row[0]);
        assert!(row[5].is_empty() || row[5] == format!("{most:.1}"), "{}: {most}", row[0]);
    }
    let files = ["gcc", "g++", "python3", "git", "cargo"].map(|name| format!("../traces/{name}.strace.gz"));
    let args: Vec<&str> = ["policies", "--cwd", "/home/user"].into_iter().chain(files.iter().map(String::as_str)).collect();
    let printed = Printed::by(&args);
    for row in &table(&page, "policies traces/{gcc,g++,python3,git,cargo}.strace.gz").rows {
        assert_eq!(row[1..], *printed.row("all", &row[0]), "{}", row[0]);
    }
}

#[test]
fn whole_paths() {
    let page = tables(&page("../docs/eviction.md"));
    let printed = Printed::by(&["whole-paths"]);
    let table = table(&page, "study/Cargo.toml -- whole-paths");
    for row in &table.rows {
        let name = if row[0] == "used, 1 in 4" { "used, 1 in 4 (the engine's)" } else { &row[0] };
        assert_eq!(row[1..], *printed.row("all", name), "{name}");
    }
    assert_eq!(table.rows.len(), pathwalk_study::whole_paths::POLICIES.len());
}

#[test]
#[ignore = "ten million names take minutes without optimization"]
fn storms() {
    let page = tables(&page("../docs/eviction.md"));
    let printed = Printed::by(&["storm", "10000000"]);
    let table = table(&page, "study/Cargo.toml -- storm 10000000");
    assert_eq!(table.rows.len(), pathwalk_study::ENTRANTS.len() + 1);
    for row in &table.rows {
        assert_eq!(row[1..], *printed.row("storm", &row[0]), "{}", row[0]);
    }
}

#[test]
fn the_picture() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("hits.svg");
    let policies = "lru,clock-unmarked,sieve,s3-fifo,rounds,hands-share";
    Printed::by(&["policies", "--policy", policies, "--svg", file.to_str().expect("temporary files have names in UTF-8")]);
    assert!(page("../docs/eviction.md").contains(&format!("--policy {policies} --svg docs/eviction-hits.svg")));
    assert!(std::fs::read(file).unwrap() == std::fs::read("../docs/eviction-hits.svg").unwrap());
}

#[test]
fn the_recordings() {
    let page = tables(&page("recordings/README.md"));
    let table = &page[0];
    assert_eq!(table.header, ["file", "made by", "walks", "names", "of them absent"]);
    for recorded in RECORDED {
        let name = format!("`{}.walks.gz`", recorded.name);
        let row = table.rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no row {name}"));
        let walks = recorded.walks();
        let counts = [walks.len(), walks.entries(), walks.absent_entries()];
        assert_eq!(row[2..], counts.map(|count| pathwalk_output::grouped(count as i64)), "{name}");
    }
}
