//! The table: every question about every path, by every asker, from every starting point, on both
//! sides.
//!
//! Each question goes to the kernel once, and to a face of the engine twice. The first time nothing
//! is cached, so that the locked walk calls the file system for everything. The second time follows
//! at once, so that the lock-free walk answers from the cache. All answers must be equal. The
//! second time, the caches must answer alone whatever they can keep.
//!
//! The faces of a question are a context and one other, drawn anew each time; or all of them, where
//! `PATHWALK_TABLE_FACES` is set.
//!
//! The asking thread has its own root, working directory and credentials; the process keeps its
//! own.

use std::ffi::CString;
use std::fmt::Write as _;
use std::sync::LazyLock;

use pathwalk::{At, Errno, Resolve, Vfs, internals};
use pathwalk_tests::told;
use xtask::face::Kind;

use crate::asker::Asker;
use crate::engine::Engine;
use crate::place::{Filesystem, Place};
use crate::question::{self, Answer, Ask};
use crate::stand::{Stand, Start};

/// The number of disagreements that are printed; there are often thousands, with one cause.
const SHOWN: usize = 40;

/// The questions, askers and starting points.
pub(crate) struct Table<'a> {
    pub(crate) place: &'a Place,
    pub(crate) vfs: &'a Vfs,
    pub(crate) askers: Vec<Asker>,
    pub(crate) starts: Vec<Start>,
    pub(crate) paths: Vec<Vec<u8>>,
}

/// The state of the caches when a face is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Warmth {
    /// The caches after an eviction of all entries.
    Cold,
    /// The caches after the same question to the same face.
    Warm,
}

/// An answer of a face, and whether it was ready when the face was first asked.
struct Answered {
    answer: Answer,
    is_at_once: bool,
}

/// The requirement that the caches answer a question that was just answered.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Caches {
    #[default]
    Know,
    MayKnow,
}

/// The results of the questions so far.
#[derive(Default)]
struct Found {
    caches: Caches,
    questions: u64,
    /// The number of answers that were ready at once, cold and warm, by face.
    at_once: [[u64; 2]; Kind::ALL.len()],
    faults: Vec<String>,
}

impl Found {
    /// Counts the answers of a face; returns what is wrong with them.
    fn fault(&mut self, kind: Kind, is_kept: bool, expected: &Answer, [cold, warm]: [&Answered; 2]) -> Option<String> {
        let counts = &mut self.at_once[kind as usize];
        counts[0] += u64::from(cold.is_at_once);
        counts[1] += u64::from(warm.is_at_once);
        if cold.answer != *expected || warm.answer != *expected {
            return Some(format!("cold {:?}, warm {:?}", cold.answer, warm.answer));
        }
        // A ring leaves some of its operations to a worker in any case.
        let late = is_kept && !warm.is_at_once && kind != Kind::Ring;
        late.then(|| "the caches do not answer what was answered just before".to_owned())
    }

    fn counts(&self) -> String {
        let counts = Kind::ALL.iter().zip(self.at_once).filter(|(kind, _)| **kind != Kind::Engine);
        counts.fold(format!("{} questions; of each face cold and warm at once:", self.questions), |text, (kind, [cold, warm])| {
            format!("{text} {} {cold} {warm}", kind.name())
        })
    }
}

/// The environment variable with which the memo of whole paths learns directories, and no whole
/// path.
const DIRECTORIES: &str = "PATHWALK_TABLE_DIRECTORIES";

/// The environment variable with the bytes of the memo of whole paths, in place of the default: 384
/// are room for two paths.
const MEMO: &str = "PATHWALK_TABLE_MEMO";

/// The environment variable with which each question goes to all faces.
const FACES: &str = "PATHWALK_TABLE_FACES";

/// Returns whether each question goes to all faces.
fn all_faces() -> bool {
    static SET: LazyLock<bool> = LazyLock::new(|| std::env::var_os(FACES).is_some());
    *SET
}

/// Returns a builder with a budget that a tree of the tests fits in, and little more, so that
/// evicting everything is cheap.
pub(crate) fn builder() -> pathwalk::VfsBuilder {
    let mut builder = Vfs::builder().budget(1 << 20);
    if let Ok(bytes) = std::env::var(MEMO) {
        builder = builder.whole_paths(bytes.parse().expect("a number of bytes"));
    }
    match std::env::var_os(DIRECTORIES) {
        Some(_) => internals::directories_learned_at_once(builder),
        None => internals::learning_at_once(builder),
    }
}

impl Table<'_> {
    /// Asks all questions. Panics with the disagreements if there are any.
    pub(crate) fn check(&self) {
        self.check_all(&question::all(), Caches::Know);
    }

    /// Asks all questions on a file system whose promises do not allow the caches to answer all of
    /// them.
    pub(crate) fn check_promising_less(&self) {
        self.check_all(&question::all(), Caches::MayKnow);
    }

    /// Asks all questions with rules for the resolution of paths.
    pub(crate) fn check_resolved(&self) {
        self.check_all(&question::resolved(), Caches::Know);
    }

    fn check_all(&self, asks: &[Ask], caches: Caches) {
        let mut found = Found { caches, ..Found::default() };
        for asker in &self.askers {
            for start in &self.starts {
                // A thread cannot be used again once it has taken another asker's credentials.
                let asked = std::thread::scope(|scope| scope.spawn(|| self.ask_as(asker, start, asks, &mut found)).join());
                asked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        }
        told(&found.counts());
        let shown = found.faults.iter().take(SHOWN).fold(String::new(), |text, line| text + "\n  " + line);
        assert!(found.faults.is_empty(), "{} disagreements with the kernel, among them:{shown}", found.faults.len());
    }

    fn ask_as(&self, asker: &Asker, start: &Start, asks: &[Ask], found: &mut Found) {
        let mut stand = Stand::take(self.place, self.vfs, asker, start);
        let at = stand.handle.as_ref().map_or(At::Cwd, At::Handle);
        for path in &self.paths {
            let c_path = CString::new(path.as_slice()).expect("paths of the table have no NUL");
            for ask in asks.iter().copied() {
                let expected = self.comparable(stand.kernel.ask(ask, stand.fd, &c_path));
                let is_kept = found.caches == Caches::Know && is_kept(start, ask, path, &expected);
                found.questions += 1;
                let other = fastrand::choice(&Kind::ALL[1..]);
                let is_asked = |kind| all_faces() || kind == Kind::Engine || Some(&kind) == other;
                for engine in stand.engines.iter_mut().filter(|engine| is_asked(engine.kind)) {
                    internals::evict_all(self.vfs);
                    let [cold, warm] = [Warmth::Cold, Warmth::Warm].map(|warmth| self.ask(engine, ask, at, path, warmth));
                    if let Some(fault) = found.fault(engine.kind, is_kept, &expected, [&cold, &warm]) {
                        let question = describe(asker, start, path, ask);
                        found.faults.push(format!("{question}: kernel {expected:?}, {}: {fault}", engine.kind.name()));
                    }
                }
            }
        }
    }

    fn ask(&self, engine: &mut Engine, ask: Ask, at: At<'_>, path: &[u8], warmth: Warmth) -> Answered {
        let late = engine.late();
        let answer = engine.ask(ask, at, path);
        let is_at_once = engine.late() == late;
        if warmth == Warmth::Warm {
            engine.check_rules(ask, at, path, &answer);
        }
        Answered { answer: self.comparable(answer), is_at_once }
    }

    fn comparable(&self, answer: Answer) -> Answer {
        match self.place.filesystem {
            Filesystem::OwnTmpfs => answer,
            Filesystem::Host => answer.without_directory_links(),
        }
    }
}

/// Returns whether the caches keep all that an answer depends on.
///
/// They do not keep that a name is too long, since only the file system decides that. They keep no
/// negative dentries in a removed directory. With `NO_XDEV`, only the locked walk tracks whether
/// there was a `..` before an absolute link.
fn is_kept(start: &Start, ask: Ask, path: &[u8], answer: &Answer) -> bool {
    let by_locked_walk = matches!(ask, Ask::Resolved(Resolve::NO_XDEV, _)) && !path.starts_with(b"/");
    !by_locked_walk && !start.is_removed() && *answer != Answer::Refused(Errno::ENAMETOOLONG)
}

fn describe(asker: &Asker, start: &Start, path: &[u8], ask: Ask) -> String {
    let mut line = format!("{ask:?} of ");
    let _ = match path {
        [first @ .., _] if path.len() > 100 => write!(line, "\"{}\"… ({} bytes)", first[..60].escape_ascii(), path.len()),
        _ => write!(line, "\"{}\"", path.escape_ascii()),
    };
    let _ = write!(line, " by {} from {start:?}", asker.name);
    line
}
