//! Commands under `pathwalk try`, with both engines, beside a plain directory, the kernel's
//! overlayfs and fuse-overlayfs: a table of times in Markdown.
//!
//! ```sh
//! cargo build --release -p pathwalk-cli
//! cargo build --release -p pathwalk-bench --example tried
//! target/release/examples/tried DIRECTORY [SIZE [ROUNDS [WORK...]]]
//! ```
//!
//! It runs as root, needs `tar`, `git`, `grep`, `make`, a C compiler and cargo, and leaves
//! fuse-overlayfs out where it is not installed. The directory is on the ext4 that is measured, and
//! not below `/tmp`, which a tried command does not see. With a `SIZE` of 1, all is as large as the
//! table says; 0.05 is for a trial. Each work is done by one subject after the other, in `ROUNDS`
//! rounds that begin with another one each, and times are medians. The works are those of
//! [`works::ALL`].
//!
//! A command measures itself: that is the first figure of a `try`. The second one has all of it,
//! from the start of the program to its end, with the summary and the commit onto the base.

use std::error::Error;
use std::path::{Path, PathBuf};

use crate::material::{Material, Size};
use crate::subjects::{Subject, Times};
use crate::works::Work;

#[allow(dead_code, reason = "the other program has works for all of it")]
#[path = "../mounted/material.rs"]
mod material;
mod subjects;
mod table;
mod works;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The argument by which this program runs itself as the command.
const INSIDE: &str = "--inside";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match &arguments[..] {
        [inside, work, made, share] if inside == INSIDE => {
            let size = Size::share(share.parse()?);
            subjects::inside(works::find(work)?, &Material::in_directory(Path::new(made), size))
        }
        [directory, rest @ ..] => {
            let size = rest.first().map_or(Ok(1.0), |text| text.parse::<f64>())?;
            let rounds = rest.get(1).map_or(Ok(5), |text| text.parse::<usize>())?;
            let named = rest.get(2..).unwrap_or_default();
            let works: Vec<&Work> = match named {
                [] => works::ALL.iter().collect(),
                named => named.iter().map(|name| works::find(name)).collect::<Result<_>>()?,
            };
            let base = PathBuf::from(directory).canonicalize()?.join("tried-bench");
            std::fs::create_dir(&base)?;
            let done = run(&base, (1.0 / size).round().max(1.0) as usize, rounds, &works);
            std::fs::remove_dir_all(&base)?;
            done
        }
        [] => Err("usage: tried DIRECTORY [SIZE [ROUNDS [WORK...]]]".into()),
    }
}

fn run(base: &Path, share: usize, rounds: usize, works: &[&Work]) -> Result<()> {
    let material = Material::make(base, Size::share(share))?;
    let subjects = Subject::all(base, share)?;
    table::head(&subjects);
    for work in works {
        let mut measured: Vec<Vec<Times>> = subjects.iter().map(|_| Vec::new()).collect();
        for round in 0..rounds {
            for turn in 0..subjects.len() {
                let which = (turn + round) % subjects.len();
                measured[which].push(subjects[which].measure(work, &material)?);
            }
        }
        table::row(work, &mut measured);
        // The directory stays, since the branches in the store are those of it.
        for subject in &subjects {
            for entry in std::fs::read_dir(subject.plain())? {
                works::remove(&entry?.path())?;
            }
        }
    }
    Ok(())
}
