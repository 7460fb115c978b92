//! `study save`: the walks of a recording in a small file.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args as ClapArgs;
use pathwalk_output::{exits, print};
use pathwalk_recording::{Input, Kind, Recording};
use pathwalk_study::file::Writer;
use pathwalk_study::recorded::{self, Tree};

use crate::CODES;
use crate::files::read_recording;

const EXAMPLES: &str = "\
The file has the walks alone: every path without links, `.` and `..`, whether it
was there, and the links that the walk went through. It is packed with gzip.

Example:
  study save build.strace build.walks.gz --cwd .";

/// Save the walks of a recording, which are all that a cache sees of it, in a small file
#[derive(ClapArgs, Debug)]
#[command(after_help = exits::short(CODES), after_long_help = exits::long(EXAMPLES, CODES))]
pub(crate) struct SaveArgs {
    /// Recording of strace, plain or packed with gzip
    #[arg(value_name = "RECORDING")]
    recording: PathBuf,
    /// File for the walks; it is replaced if it is there
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Directory in which the recorded program started
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
}

/// Reads the recording, and saves its walks.
pub(crate) fn run(args: &SaveArgs) -> anyhow::Result<()> {
    let (path, file) = (args.recording.display(), args.file.display());
    let (recording, tree) = read(args).with_context(|| format!("reading walks from {path}"))?;
    save_walks(&recording, &tree, &args.file).with_context(|| format!("saving the walks to {file}"))?;
    print(&format!("the walks are in {file}\n"))
}

fn read(args: &SaveArgs) -> anyhow::Result<(Recording, Tree)> {
    let input = Input::new(File::open(&args.recording)?)?;
    if input.kind() != Kind::Strace {
        return Err(input.not_readable().into());
    }
    read_recording(&args.recording, input, args.cwd.as_deref())
}

fn save_walks(recording: &Recording, tree: &Tree, path: &Path) -> anyhow::Result<()> {
    let mut writer = Writer::packed(BufWriter::new(File::create(path)?))?;
    let mut outcome = Ok(());
    recorded::tell(recording, tree, |line| {
        if outcome.is_ok() {
            outcome = writer.line(line);
        }
    });
    outcome?;
    writer.finish()?.flush()?;
    Ok(())
}
