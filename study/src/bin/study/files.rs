//! The recordings that are named on the command line, or those that are built in.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args as ClapArgs;
use pathwalk_recording::{Input, Kind, Options, Recording};
use pathwalk_study::file;
use pathwalk_study::recorded::{self, Tree};
use pathwalk_study::recordings::RECORDED;
use pathwalk_study::trace::{Builder, Walks};

// The arguments that name recordings. A comment of the documentation would replace the help of the
// commands that have them.
#[derive(ClapArgs, Debug)]
pub(crate) struct Files {
    /// Recordings of strace, or saved walks [default: the built-in walks]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Directory in which the recorded program started
    #[arg(long, value_name = "DIR", requires = "files")]
    pub(crate) cwd: Option<PathBuf>,
}

/// Walks with their name, and with a note on them if there is one.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) walks: Walks,
    pub(crate) note: Option<String>,
}

impl Files {
    /// Returns the walks of all files, or the built-in walks if there is no file.
    pub(crate) fn read_all(&self) -> anyhow::Result<Vec<Named>> {
        if self.files.is_empty() {
            let built_in =
                RECORDED.iter().map(|recorded| Named { name: recorded.name.into(), walks: recorded.walks(), note: None });
            return Ok(built_in.collect());
        }
        let read =
            |path: &PathBuf| read(path, self.cwd.as_deref()).with_context(|| format!("reading walks from {}", path.display()));
        self.files.iter().map(read).collect()
    }
}

fn read(path: &Path, cwd: Option<&Path>) -> anyhow::Result<Named> {
    let name = stem(path);
    let input = Input::new(File::open(path)?)?;
    if input.kind() != Kind::Strace {
        return Ok(Named { name, walks: file::parse(&input.into_bytes()?)?, note: None });
    }
    let (recording, tree) = read_recording(path, input, cwd)?;
    let mut builder = Builder::default();
    recorded::tell(&recording, &tree, |line| line.add_to(&mut builder));
    let walks = builder.finish();
    if walks.is_empty() {
        bail!("no lookup of the recording can be walked: without --cwd, those in unknown directories cannot");
    }
    let note = format!("a sample: every {}th walk of a long recording, so that repeats seem farther apart", recording.stride);
    Ok(Named { name, walks, note: (recording.stride > 1).then_some(note) })
}

/// Reads a recording of strace, and the links from the `.tree` beside it if there is one.
pub(crate) fn read_recording(path: &Path, input: Input<impl Read>, cwd: Option<&Path>) -> anyhow::Result<(Recording, Tree)> {
    let cwd = cwd.map(std::path::absolute).transpose().context("finding the directory of --cwd")?;
    let recording = Recording::read_input(input, Options { cwd, progress: None })?;
    let tree = path.with_file_name(format!("{}.tree", stem(path)));
    let tree = match std::fs::read(&tree) {
        Ok(bytes) => Tree::parse(&bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Tree::default(),
        Err(error) => return Err(error).with_context(|| format!("reading the links from {}", tree.display())),
    };
    Ok((recording, tree))
}

/// Returns a file's name without `.gz` and without the extension before it.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_lose_what_is_behind_the_dot() {
        let of = |path: &str| stem(Path::new(path));
        assert_eq!([of("a/g++.strace.gz"), of("b.walks"), of("c")], ["g++", "b", "c"]);
    }
}
