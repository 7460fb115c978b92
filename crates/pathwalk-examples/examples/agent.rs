//! An agent that works in steps: each runs on a fork of the last good state, its changes are
//! judged, and the fork is committed or dropped. Marks make it possible to go back to any step.
//!
//! ```sh
//! cargo run -p pathwalk-examples --example agent
//! ```
//!
//! A step sees a whole tree and may do anything to it. The base is a directory of the host, and is
//! as it was at the end, whatever the steps did.

use std::error::Error;
use std::fs;

use pathwalk::{Context, Vfs};
use pathwalk_branch::{Branches, Change};
use pathwalk_hostfs::{HostFs, credentials};

/// A step: its note, and what it does.
type Step = (&'static str, fn(&Context) -> Result<(), pathwalk::Error>);

/// What some model wants to do.
const STEPS: [Step; 4] = [
    ("write a program", |tree| {
        tree.create_dir_all("/src")?;
        tree.write("/src/main.c", "int main(void) { return 1; }\n")
    }),
    // The working directory is not the one that the agent took it for.
    ("clean up", |tree| tree.remove_dir_all("/docs")),
    ("mend the program", |tree| {
        let text = tree.read_to_string("/src/main.c")?;
        tree.write("/src/main.c", text.replace("return 1", "return 0"))
    }),
    ("rename the readme", |tree| tree.rename("/README", "/README.md")),
];

/// Returns why changes are not to be kept.
fn judge(changes: &[Change]) -> Option<String> {
    changes.iter().find_map(|change| match change {
        Change::Removed { path, .. } => Some(format!("it removes {}", path.escape_ascii())),
        _ => None,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let project = tempfile::tempdir()?;
    fs::write(project.path().join("README"), "A project.\n")?;
    fs::create_dir(project.path().join("docs"))?;
    fs::write(project.path().join("docs/plan"), "Be careful.\n")?;

    let base = Vfs::builder().build(HostFs::open(project.path())?)?.context(credentials()?);
    let branches = Branches::new(base)?;
    let shown = |branch| Ok::<_, Box<dyn Error>>(Vfs::builder().build(branch)?.context(credentials()?));
    let work = shown(branches.fork(None, "work")?)?;

    for (number, (note, run)) in STEPS.into_iter().enumerate() {
        // A mark costs a reference count; so does the fork in which the step runs.
        branches.fork(Some("work"), &format!("before step {number}"))?;
        let step = shown(branches.fork(Some("work"), "step")?)?;
        branches.set_note("step", note)?;
        let result = run(&step);
        let changes = branches.diff("step")?;
        let refused = result.err().map(|error| error.to_string()).or_else(|| judge(&changes));
        match &refused {
            Some(why) => branches.drop("step").map(|()| println!("{note}: dropped, since {why}"))?,
            None => branches.commit("step").map(|()| println!("{note}: {} changes committed", changes.len()))?,
        }
    }

    assert_eq!(work.read_to_string("/src/main.c")?, "int main(void) { return 0; }\n");
    assert!(work.exists("/README.md")? && work.exists("/docs/plan")?);
    // Back to where the program was wrong.
    let past = shown(branches.fork(Some("before step 2"), "another way")?)?;
    assert_eq!(past.read_to_string("/src/main.c")?, "int main(void) { return 1; }\n");
    assert!(past.exists("/README")? && !past.exists("/README.md")?);
    assert_eq!(fs::read_dir(project.path())?.count(), 2, "the host has what it had");
    Ok(())
}
