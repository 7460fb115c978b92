//! The input of a replay: a recording as strace wrote it, or a trace; from a file or from standard
//! input, plain or packed.
//!
//! A trace becomes a recording of calls of `access(2)`, so that both are evaluated alike.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use pathwalk_bench::machine::escaped;
use pathwalk_recording::{
    Answers, Call, Ids, Input, Kind, Links, Lookup, Options, Question, ReadError, Recorded, Recording, Start,
};
use pathwalk_trace::trace::Trace;

use crate::output::{self, Progress};

/// The kind of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SourceKind {
    /// A trace: lines of `path TAB mode`.
    Trace,
    /// The output of strace.
    Recording,
}

impl SourceKind {
    /// Returns the name for tables and JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            SourceKind::Trace => "trace",
            SourceKind::Recording => "recording",
        }
    }
}

/// The input of a replay.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) kind: SourceKind,
    pub(crate) recording: Recording,
}

impl Source {
    /// Returns the notes that a reader of the figures needs. They depend on whether the types of
    /// file systems are known.
    pub(crate) fn notes(&self, knows_file_systems: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(problem) = &self.recording.tally.cut_short {
            notes.push(format!("the packed file ends early ({problem}); all that came before counts"));
        }
        if !knows_file_systems {
            notes.push(
                "/proc/self/mountinfo cannot be read, so lookups on procfs, sysfs and the like are not recognised and not left out"
                    .into(),
            );
        }
        notes
    }
}

/// Reads a file, or standard input if the path is `-`. Without a path, returns the built-in trace.
///
/// `cwd` is the absolute path of the directory in which the recorded program started.
pub(crate) fn read(path: Option<&Path>, cwd: Option<&Path>) -> anyhow::Result<Source> {
    let Some(path) = path else { return Ok(traced(&Trace::gcc(), cwd)) };
    let is_stdin = path == Path::new("-");
    let shown = if is_stdin { "standard input".to_owned() } else { format!("\"{}\"", escaped(path)) };
    let (source, bytes): (Box<dyn Read>, _) = if is_stdin {
        (Box::new(io::stdin().lock()), None)
    } else {
        let file = File::open(path).with_context(|| format!("cannot read {shown}"))?;
        let bytes = file.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
        (Box::new(file), bytes)
    };
    let bar = output::bytes_progress(bytes, "reading");
    let source = read_from(source, cwd, &bar);
    bar.finish();
    source.with_context(|| format!("cannot replay {shown}"))
}

fn read_from(source: impl Read, cwd: Option<&Path>, bar: &Progress) -> anyhow::Result<Source> {
    let ended = Cell::new(false);
    let input = Input::new(Watched { source, bar, ended: &ended })?;
    match input.kind() {
        Kind::Strace => recorded(input, cwd),
        Kind::Trace => Ok(traced(&Trace::parse(&input.into_bytes()?)?, cwd)),
        // If the input is a trace in which every mode is wrong, the trace's error says which mode
        // is.
        Kind::Neither => {
            let problem = input.not_readable();
            ended.set(true);
            match input.into_bytes().map(|bytes| (has_a_tab(&bytes), Trace::parse(&bytes))) {
                Ok((true, Err(error))) => Err(error.into()),
                _ => Err(problem.into()),
            }
        }
        Kind::Empty => Err(ReadError::Empty.into()),
    }
}

fn has_a_tab(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').next().is_some_and(|line| line.contains(&b'\t'))
}

fn recorded<R: Read>(input: Input<R>, cwd: Option<&Path>) -> anyhow::Result<Source> {
    let options = Options { cwd: cwd.map(Path::to_owned), progress: None };
    let recording = Recording::read_input(input, options)?;
    if recording.lookups.is_empty() && recording.tally.left_out.is_empty() {
        bail!(
            "there is no lookup in it, among {} lines; record again with `-e trace=%file,%process,fchdir,close,dup,dup2,dup3,fcntl`",
            recording.tally.lines
        );
    }
    Ok(Source { kind: SourceKind::Recording, recording })
}

fn traced(trace: &Trace, cwd: Option<&Path>) -> Source {
    Source { kind: SourceKind::Trace, recording: recording_of(trace, cwd) }
}

/// Converts a trace to a recording. Relative paths start in `cwd`, or in this process' working
/// directory.
pub(crate) fn recording_of(trace: &Trace, cwd: Option<&Path>) -> Recording {
    let start = cwd.unwrap_or(Path::new(".")).as_os_str().as_encoded_bytes();
    let mut recording = Recording { starts: vec![start.into()], stride: 1, ..Recording::default() };
    let mut numbers = HashMap::new();
    for question in trace.questions() {
        let start = if question.path.starts_with(b"/") { Start::Root } else { Start::Directory(0) };
        let number = *numbers.entry((&question.path, question.want)).or_insert_with(|| {
            let asked = Question::Access { want: question.want, ids: Ids::Real, links: Links::Follow };
            let lookup = Lookup { call: Call::Access, question: asked, start, path: question.path.clone() };
            recording.lookups.push(Recorded { lookup, line: question.line as u64, answers: Answers::default() });
            recording.lookups.len() - 1
        });
        recording.lookups[number].answers.unknown += 1;
        recording.sequence.push(number as u32);
    }
    recording
}

/// Returns the directory in which the recorded program started, as an absolute path. With another
/// root, it has to be given as an absolute path.
pub(crate) fn absolute_cwd(cwd: &Path, root: &Path) -> anyhow::Result<PathBuf> {
    if !cwd.is_absolute() && root != Path::new("/") {
        bail!("--cwd \"{}\" has to be absolute where --root is given: it is looked up within that root", escaped(cwd));
    }
    // For an existing directory this is the kernel's spelling, which strace shows, too.
    match cwd.canonicalize() {
        Ok(canonical) if root == Path::new("/") => Ok(canonical),
        _ => std::path::absolute(cwd).with_context(|| format!("cannot use --cwd \"{}\"", escaped(cwd))),
    }
}

/// A reader that reports what was read to a progress bar, and ends early on request.
struct Watched<'a, R> {
    source: R,
    bar: &'a Progress,
    ended: &'a Cell<bool>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ended.get() {
            return Ok(0);
        }
        let length = self.source.read(buffer)?;
        self.bar.inc(length as u64);
        Ok(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Result<Source, String> {
        read_from(bytes, None, &Progress::hidden()).map_err(|error| pathwalk_output::program::chain(&error))
    }

    #[test]
    fn a_trace_becomes_a_recording() {
        let source = of(b"/a\tR_OK\nb\tF_OK\n/a\tR_OK\n/a\tW_OK\n").unwrap();
        let recording = source.recording;
        assert_eq!((source.kind, &recording.sequence[..]), (SourceKind::Trace, &[0, 1, 0, 2][..]));
        let told: Vec<_> = recording.lookups.iter().map(|it| (it.line, it.answers.total(), it.lookup.start)).collect();
        assert_eq!(told, [(1, 2, Start::Root), (2, 1, Start::Directory(0)), (4, 1, Start::Root)]);
        assert_eq!(*recording.starts[0], *b".");
        let below = recording_of(&Trace::gcc(), Some(Path::new("/srv")));
        assert_eq!((&*below.starts[0], below.sequence.len()), (&b"/srv"[..], 205));
    }

    #[test]
    fn what_is_neither_is_refused_in_words() {
        for (bytes, says) in [
            (&b""[..], "empty"),
            (b"\0\x01\x02", "NUL"),
            (b"hello\n", "hello"),
            (b"/\tREAD\n", "line 1: unknown mode"),
            (b"12 close(3) = 0\n", "no lookup"),
        ] {
            let error = of(bytes).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_recording_starts_at_an_absolute_path() {
        let root = Path::new("/");
        assert_eq!(absolute_cwd(Path::new("/no/such/dir"), root).unwrap(), Path::new("/no/such/dir"));
        assert_eq!(absolute_cwd(Path::new("."), root).unwrap(), std::env::current_dir().unwrap().canonicalize().unwrap());
        assert_eq!(absolute_cwd(Path::new("/x/../y"), Path::new("/srv")).unwrap(), Path::new("/x/../y"));
        assert!(absolute_cwd(Path::new("y"), Path::new("/srv")).unwrap_err().to_string().contains("absolute"));
    }
}
