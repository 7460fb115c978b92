//! A module resolver on pathwalk beside `oxc_resolver`, on a directory of real modules.
//!
//! The questions are those that the modules ask themselves: each specifier of a `require`, `import`
//! or `export` in a file, in the file's directory. Both resolvers have the rules of `require`.
//!
//! - First runs: each with a resolver, and the caches below it, that were just made. What the host
//!   has cached is the same for both. They take turns.
//! - Warm: all questions again, in alternating rounds.
//! - After a change of one file: how many answers were found anew.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use oxc_resolver::{ResolveOptions, Resolver as Peer};
use parking_lot::Mutex;
use pathwalk::Vfs;
use pathwalk_examples::node_modules::{Counts, Resolver, Rules};
use pathwalk_hostfs::{Coherence, HostFs, credentials};

use crate::rounds::{Pace, Quartiles, Race};
use crate::work::Asking;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The directory with the modules.
    pub directory: PathBuf,
    /// The number of files whose specifiers are taken.
    pub files: usize,
    /// The number of first runs of each resolver.
    pub first_runs: usize,
    /// The pace of the warm rounds.
    pub pace: Pace,
}

/// A figure of both resolvers, and the peer's in relation to ours, round by round.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// Of the resolver on pathwalk, in ns a question.
    pub ours: Quartiles,
    /// Of `oxc_resolver`, in ns a question.
    pub peer: Quartiles,
    /// The times that the peer takes longer.
    pub times: Quartiles,
}

/// The results.
#[derive(Clone, Debug)]
pub struct Report {
    /// The number of files whose specifiers were taken.
    pub files: usize,
    /// The number of distinct questions.
    pub questions: usize,
    /// The number of questions to which both gave a file.
    pub resolved: usize,
    /// The number of questions that were answered in different ways.
    pub differ: usize,
    /// The first runs.
    pub first: Beside,
    /// The warm rounds.
    pub warm: Beside,
    /// What our resolver did for all questions after a report that one file changed.
    pub after_change: Counts,
}

/// A directory, and a specifier in one of its files.
type Question = (PathBuf, String);

/// Runs the measurement. `tick` is called after each turn.
pub fn run(plan: &Plan, tick: &mut dyn FnMut()) -> io::Result<Report> {
    let directory = plan.directory.canonicalize()?;
    let (files, questions) = questions_in(&directory, plan.files)?;
    if questions.is_empty() {
        return Err(io::Error::other(format!("no module in {} asks for another", directory.display())));
    }
    let all: Vec<Question> = questions.into_iter().collect();
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..plan.first_runs {
        let (ours, peer) = (ours()?, peer());
        times[0].push(time(&all, &mut |(directory, specifier)| ours.lock().resolve(directory, specifier).is_ok()));
        times[1].push(time(&all, &mut |(directory, specifier)| peer.resolve(directory, specifier).is_ok()));
        tick();
    }
    let ratios = times[0].iter().zip(&times[1]).map(|(ours, peer)| peer / ours).collect();
    let [first_ours, first_peer] = times.map(Quartiles::of);
    let first = Beside { ours: first_ours, peer: first_peer, times: Quartiles::of(ratios) };

    let (ours, peer) = (ours()?, peer());
    let asking = Asking {
        questions: all.clone(),
        ask: |(directory, specifier): &Question| ours.lock().resolve(directory, specifier).is_ok(),
    };
    let of_peer =
        Asking { questions: all.clone(), ask: |(directory, specifier): &Question| peer.resolve(directory, specifier).is_ok() };
    let mut race = Race::new(plan.pace);
    let lanes = [race.enter(&asking, 1), race.enter(&of_peer, 1)];
    race.warm_up();
    let results = race.run(tick);
    let [lane, other] = lanes;
    let warm = Beside { ours: results.nanoseconds(lane), peer: results.nanoseconds(other), times: results.ratio(lane, other) };

    let (mut resolved, mut differ) = (0, 0);
    let mut changed = None;
    for (directory, specifier) in &all {
        let found = ours.lock().resolve(directory, specifier).ok();
        let told = peer.resolve(directory, specifier).ok().map(|found| found.full_path());
        resolved += usize::from(found.is_some() && told.is_some());
        differ += usize::from(found.as_deref() != told.as_deref());
        changed = changed.or(found);
    }
    let after_change = match changed {
        Some(file) => after_write(&ours, &all, &file)?,
        None => Counts::default(),
    };
    Ok(Report { files, questions: all.len(), resolved, differ, first, warm, after_change })
}

fn ours() -> io::Result<Mutex<Resolver>> {
    let fs = HostFs::open("/".as_ref()).map_err(io::Error::other)?.with_coherence(Coherence::Watch);
    let context = Vfs::builder().one_by_one().build(fs).map_err(io::Error::other)?.context(credentials()?);
    Ok(Mutex::new(Resolver::new(context, Rules::require(), MOST_ANSWERS)?))
}

fn peer() -> Peer {
    let rules = Rules::require();
    let main_fields = vec!["main".to_owned()];
    Peer::new(ResolveOptions {
        extensions: rules.extensions,
        condition_names: rules.conditions,
        main_fields,
        ..ResolveOptions::default()
    })
}

/// Returns the nanoseconds a question.
fn time(all: &[Question], ask: &mut dyn FnMut(&Question) -> bool) -> f64 {
    let begin = Instant::now();
    let found = all.iter().filter(|question| ask(question)).count();
    std::hint::black_box(found);
    begin.elapsed().as_secs_f64() * 1e9 / all.len() as f64
}

/// Reports that a file changed, asks all questions again, and returns what was done for that.
fn after_write(ours: &Mutex<Resolver>, all: &[Question], file: &Path) -> io::Result<Counts> {
    let mut ours = ours.lock();
    let before = ours.counts();
    let (directory, name) = (file.parent().unwrap_or(file), file.file_name().unwrap_or_default());
    let vfs = ours.context().vfs();
    let directory = ours.context().lookup(directory)?;
    vfs.invalidate(&directory, pathwalk::Name::new(name.as_encoded_bytes())?)?;
    for (directory, specifier) in all {
        _ = ours.resolve(directory, specifier);
    }
    Ok(ours.counts().since(before))
}

/// Returns the questions that the modules below a directory ask, of at most so many files, and the
/// number of files.
fn questions_in(directory: &Path, most: usize) -> io::Result<(usize, BTreeSet<Question>)> {
    let (mut files, mut questions) = (0, BTreeSet::new());
    let mut left = vec![directory.to_owned()];
    while let Some(directory) = left.pop() {
        let mut entries = fs::read_dir(&directory)?.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type()?);
            if kind.is_dir() {
                left.push(path);
            } else if kind.is_file() && files < most && is_module(&path) {
                files += 1;
                let text = fs::read(&path)?;
                let text = String::from_utf8_lossy(&text);
                questions.extend(specifiers(&text).map(|specifier| (directory.clone(), specifier.to_owned())));
            }
        }
    }
    Ok((files, questions))
}

fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|extension| ["js", "cjs", "mjs"].iter().any(|known| extension == *known))
}

/// Returns the texts in quotation marks after `require(`, `from` and `import`.
fn specifiers(text: &str) -> impl Iterator<Item = &str> {
    let after = move |word: &'static str| text.match_indices(word).map(move |(at, _)| text[at + word.len()..].trim_start());
    let all = ["require(", "from", "import"].into_iter().flat_map(after);
    all.filter_map(|rest| {
        let quote = rest.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
        let specifier = rest[1..].split(quote).next()?;
        let is_one = !specifier.is_empty() && specifier.len() < 200 && !specifier.contains([' ', '\n', ':', '$', '\\', '?', '*']);
        is_one.then_some(specifier)
    })
}

/// The number of answers that our resolver may remember.
const MOST_ANSWERS: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_answer_alike_and_one_answer_is_forgotten() {
        let dir = tempfile::tempdir().unwrap();
        let package = dir.path().join("node_modules/pad");
        fs::create_dir_all(&package).unwrap();
        fs::write(package.join("package.json"), r#"{"main": "lib.js"}"#).unwrap();
        fs::write(package.join("lib.js"), "import x from './other'; import './gone'").unwrap();
        fs::write(package.join("other.js"), "const pad = require('pad')").unwrap();
        let pace = Pace { rounds: 1, turn: std::time::Duration::from_millis(1) };
        let plan = Plan { directory: dir.path().to_owned(), files: 10, first_runs: 1, pace };
        let report = run(&plan, &mut || ()).unwrap();
        assert_eq!((report.files, report.questions, report.resolved, report.differ), (2, 3, 2, 0));
        assert_eq!((report.after_change.found, report.after_change.checked), (1, 2));
        let empty = tempfile::tempdir().unwrap();
        assert!(run(&Plan { directory: empty.path().to_owned(), ..plan }, &mut || ()).is_err());
    }
}
