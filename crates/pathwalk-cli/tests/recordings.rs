//! Tests with real recordings, each on its tree: a compiler, an interpreter, a repository with many
//! files, a build tool. `traces/record` made them.

use std::path::PathBuf;

use pathwalk_tests::{skipped, tree::Tree};
use serde_json::json;

use crate::common::{json_enclosed, pathwalk, place_for_all};

/// A recording and its expected figures.
struct Known {
    name: &'static str,
    /// The directory in which the program started.
    cwd: &'static str,
    lookups: u64,
    /// The lookups that are absent on the tree.
    absent: u64,
    /// The lookups that are not answered.
    left_out: u64,
}

const HELLO: &str = "/home/user/hello";

const RECORDINGS: [Known; 6] = [
    Known { name: "gcc", cwd: HELLO, lookups: 943, absent: 310, left_out: 0 },
    Known { name: "g++", cwd: HELLO, lookups: 4929, absent: 1158, left_out: 0 },
    Known { name: "python3", cwd: HELLO, lookups: 536, absent: 52, left_out: 0 },
    Known { name: "git", cwd: "/home/user/many", lookups: 6231, absent: 94, left_out: 0 },
    Known { name: "cargo", cwd: "/home/user/greet", lookups: 3021, absent: 1494, left_out: 11 },
    Known { name: "node", cwd: HELLO, lookups: 19, absent: 9, left_out: 0 },
];

fn file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../traces")).join(name)
}

#[test]
fn recordings_agree_with_the_kernel_on_their_trees() {
    for Known { name, cwd, lookups, absent, left_out } in RECORDINGS {
        let Some(root) = place_for_all() else {
            return skipped("recordings", "no directory for temporary files is open to everyone");
        };
        let tree = std::fs::read(file(&format!("{name}.tree"))).unwrap();
        Tree::parse(&tree).unwrap().lay_beneath(root.path()).unwrap();
        let mut command = pathwalk();
        command.args(["replay", "--json", "--rounds", "1", "--cwd", cwd, "--root"]).arg(root.path());
        let Some(value) = json_enclosed(command.arg(file(&format!("{name}.strace.gz"))), "recordings") else { return };
        assert_eq!((&value["disagreements"], &value["changed"]), (&json!(0), &json!(0)), "{name}: {value:#}");
        let counts = ["lookups", "absent", "answered", "unreadable", "outside"].map(|key| value[key].as_u64());
        assert_eq!(counts, [lookups, absent, lookups - left_out, 0, 0].map(Some), "{name}: {value:#}");
        assert!(value["answered_share"].as_f64() >= Some(0.99), "{name}: {value:#}");
        assert_eq!(value["fast_share"], 1.0, "{name}: {}", value["hand_overs"]);
    }
}
