//! Mounts and `RESOLVE_*` as a table: rows with the answers of a running kernel, which every face
//! of the engine has to give.
//!
//! [`rows`] reads the file `rows.txt`, which describes its format at its top. [`op`] has the
//! operations of scenes and rows. [`stage`] lays a scene out and converts answers to labels.
//! [`kernel`] and [`engine`] are the systems.
//!
//! What always holds: each row runs on a scene of its own, on a face with nothing cached and on one
//! with the row's nodes cached; and on the kernel again, where a namespace can be created. All
//! answers are those of the file. With `CACHED`, a face may refuse at once where the kernel leaves
//! its caches; then the refusal is the one that the kernel gives without `CACHED`.
//!
//! What it does not do: it compares the nodes and mounts of the rows, not all of `mountinfo`;
//! random operations on mounts are in `mounts`. Operations with rules other than `openat2` are done
//! as [`kernel`] describes.
//!
//! To take the kernel's answers, as root:
//!
//! ```sh
//! PATHWALK_WRITE_ROWS=1 cargo test -p pathwalk-tests --test kernel_rows the_running_kernel
//! ```

mod engine;
mod kernel;
mod op;
mod rows;
mod stage;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use pathwalk::UmountFlags;
use pathwalk_tests::place::{Filesystem, Place, Users, in_a_place};
use pathwalk_tests::{skipped, told};
use xtask::face;

use engine::Engine;
use kernel::Kernel;
use op::{Kind, Layer, Op};
use rows::{AGAIN, AGAIN_THEN, Row, Rows, Scene};
use stage::Stage;

/// The environment variable that is set to write the answers to the file.
const WRITE: &str = "PATHWALK_WRITE_ROWS";

/// The least number of rows: with fewer, the file was not read completely.
const LEAST: usize = 400;

fn file() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel_rows/rows.txt"))
}

fn read() -> Rows {
    let text = std::fs::read_to_string(file()).expect("rows.txt can be read");
    Rows::read(&text).unwrap_or_else(|error| panic!("{error:#}"))
}

fn each(rows: &Rows) -> impl Iterator<Item = (&Scene, &Row)> {
    rows.scenes.iter().flat_map(|scene| scene.rows.iter().map(move |row| (scene, row)))
}

/// Fails with the rows that differ from the file.
fn check(by: &str, count: usize, differing: &[String]) {
    let text = differing.join("\n");
    assert!(differing.is_empty(), "{} of {count} rows differ, by {by}:\n{text}", differing.len());
}

fn line(scene: &Scene, row: &Row, answer: &str, when: &str) -> String {
    format!("rows.txt:{} ({}): {} => {}\n    {when}: {answer}", row.line, scene.name, row.question(), row.answer)
}

fn differing(scene: &Scene, row: &Row, answer: &str, when: &str) -> Option<String> {
    (answer != row.answer).then(|| line(scene, row, answer, when))
}

/// The answers of a face with nothing cached, and with all nodes of the row cached.
struct Answers {
    cold: String,
    warm: String,
}

impl Answers {
    /// Returns the answer that differs from the file. Cold caches may answer `EAGAIN`.
    fn wrong(&self, scene: &Scene, row: &Row) -> Option<String> {
        let expected = scene.expected(row);
        if self.cold != expected && !(row.asks_caches() && self.cold == AGAIN) {
            return Some(line(scene, row, &self.cold, "cold"));
        }
        (self.warm != expected).then(|| line(scene, row, &self.warm, "warm"))
    }
}

/// Asks a face a row with nothing cached, and with all its nodes cached; each time this long after
/// the scene was laid out.
fn asked(kind: face::Kind, scene: &Scene, row: &Row, after: Duration) -> Result<Answers> {
    let mut engine = Engine::new(kind);
    let mut stage = Stage::lay_out(&mut engine, scene)?;
    std::thread::sleep(after);
    engine.forget();
    let cold = stage.ask(&mut engine, row)?;
    if row.op.kind() == Kind::Question {
        stage::warm(&mut engine, row)?;
        let warm = stage.ask(&mut engine, row)?;
        return Ok(Answers { cold, warm });
    }
    let mut engine = Engine::new(kind);
    let mut stage = Stage::lay_out(&mut engine, scene)?;
    std::thread::sleep(after);
    // A look at a mount is a use of it.
    if !matches!(row.op, Op::Umount(flags, _) if flags.contains(UmountFlags::EXPIRE)) {
        engine.look(&row.from, &row.op);
    }
    stage::warm(&mut engine, row)?;
    Ok(Answers { cold, warm: stage.ask(&mut engine, row)? })
}

/// The times to wait until workers have released their contexts: first none.
const PAUSES: [Duration; 4] = [Duration::ZERO, Duration::from_millis(10), Duration::from_millis(100), Duration::from_secs(1)];

/// Asks a face a row, and again if workers may be late: they release the context of an operation a
/// moment after its completion, and the namespace that a scene has left ends with the last context
/// in it.
fn asked_in_time(kind: face::Kind, scene: &Scene, row: &Row) -> Result<Answers> {
    let has_workers = matches!(kind, face::Kind::Ring | face::Kind::Async);
    let leaves = scene.steps.iter().any(|step| matches!(step.op, Op::Unshare));
    let mut answers = asked(kind, scene, row, PAUSES[0])?;
    for pause in PAUSES.into_iter().skip(1).filter(|_| has_workers && leaves) {
        if answers.wrong(scene, row).is_none() {
            break;
        }
        answers = asked(kind, scene, row, pause)?;
    }
    Ok(answers)
}

fn face_answers_as_the_kernel(kind: face::Kind) {
    let rows = read();
    let mut wrong = Vec::new();
    let mut count = 0;
    for (scene, row) in each(&rows) {
        count += 1;
        assert!(!row.answer.is_empty(), "rows.txt:{} has no answer: run this as root with {WRITE}=1", row.line);
        let answers = asked_in_time(kind, scene, row).unwrap_or_else(|error| panic!("{error:#}"));
        wrong.extend(answers.wrong(scene, row));
    }
    check(kind.name(), count, &wrong);
    assert!(count >= LEAST, "{count} rows");
}

#[test]
fn a_context_answers_as_the_kernel() {
    face_answers_as_the_kernel(face::Kind::Engine);
}

#[test]
fn the_caches_answer_as_the_kernel() {
    face_answers_as_the_kernel(face::Kind::Cached);
}

#[test]
fn a_ring_answers_as_the_kernel() {
    face_answers_as_the_kernel(face::Kind::Ring);
}

#[test]
fn futures_answer_as_the_kernel() {
    face_answers_as_the_kernel(face::Kind::Async);
}

/// Returns the version of Linux in which a recent operation came, and its name.
fn since(op: &Op) -> Option<((u32, u32), &'static str)> {
    match op {
        Op::Move(Layer::Beneath, ..) => Some(((6, 5), "MOVE_MOUNT_BENEATH")),
        Op::Set(..) | Op::Clear(..) => Some(((5, 14), "mount_setattr and MOUNT_ATTR_NOSYMFOLLOW")),
        _ => None,
    }
}

/// Returns what the kernel of this version lacks for a row, if anything.
fn lacking(version: (u32, u32), scene: &Scene, row: &Row) -> Option<&'static str> {
    let ops = scene.steps.iter().map(|step| &step.op).chain([&row.op]);
    ops.filter_map(since).find(|(since, _)| version < *since).map(|(_, what)| what)
}

fn version(release: &str) -> Result<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next().context("a release has two numbers")?.context("a release begins with numbers");
    Ok((next()?, next()?))
}

/// Asks the kernel. If its caches answer `EAGAIN`, asks it again without `CACHED`.
fn kernel_says(place: &Place, scene: &Scene, row: &Row) -> Result<String> {
    let answer = kernel_says_once(place, scene, row)?;
    if !row.asks_caches() || answer != AGAIN {
        return Ok(answer);
    }
    Ok(format!("{AGAIN_THEN}{}", kernel_says_once(place, scene, &row.may_wait())?))
}

/// Asks the kernel, on a thread that ends together with its mounts.
fn kernel_says_once(place: &Place, scene: &Scene, row: &Row) -> Result<String> {
    let ask = || {
        let mut kernel = Kernel::new(place).context("enter a namespace of its own")?;
        let mut stage = Stage::lay_out(&mut kernel, scene)?;
        stage::warm(&mut kernel, row)?;
        stage.ask(&mut kernel, row)
    };
    std::thread::scope(|scope| scope.spawn(ask).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Asks the kernel all rows again; with `PATHWALK_WRITE_ROWS`, writes the answers to the file.
fn ask_kernel(place: &Place) -> Result<()> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").context("ask for the kernel's version")?;
    let release = release.trim();
    let version = version(release)?;
    let rows = read();
    let writes = std::env::var_os(WRITE).is_some();
    let (mut answers, mut wrong) = (Vec::new(), Vec::new());
    for (scene, row) in each(&rows) {
        if let Some(what) = lacking(version, scene, row) {
            skipped(&format!("rows.txt:{}", row.line), &format!("Linux {release} has no {what}"));
            answers.push(row.answer.clone());
            continue;
        }
        let answer = kernel_says(place, scene, row)?;
        wrong.extend(differing(scene, row, &answer, "now"));
        answers.push(answer);
    }
    if writes {
        let lacks = each(&rows).any(|(scene, row)| lacking(version, scene, row).is_some());
        ensure!(!lacks, "Linux {release} lacks what rows are about: take the answers of a later one");
        std::fs::write(file(), rows.written(release, &answers)).context("write rows.txt")?;
        told(&format!("{} rows, {} of them with another answer than before", answers.len(), wrong.len()));
        return Ok(());
    }
    told(&format!("{} rows asked of Linux {release}; their answers are of {}", answers.len(), rows.release()));
    check(&format!("Linux {release}"), answers.len(), &wrong);
    Ok(())
}

/// Compares the kernel's answers with the file. Needs root and mount namespaces.
#[test]
fn the_running_kernel_answers_as_it_did() {
    in_a_place("the_running_kernel_answers_as_it_did", |place| {
        if place.users == Users::OnlyRoot || place.filesystem != Filesystem::OwnTmpfs {
            assert!(std::env::var_os(WRITE).is_none(), "answers are taken as root, in a namespace of mounts");
            return skipped("the kernel's rows", "they take root and a namespace of mounts");
        }
        ask_kernel(place).unwrap_or_else(|error| panic!("{error:#}"));
    });
}

#[test]
fn a_bad_line_is_told_by_its_number() {
    let message = |text: &str| format!("{:#}", Rows::read(text).err().expect("an error"));
    for (text, says) in [
        ("/ - stat a =>", "rows.txt:1: `/ - stat a =>`: no scene was begun"),
        ("scene s", "rows.txt:1: `scene s`: a scene is written `scene NAME: why`"),
        ("scene s:\n\n/ - stat a", "rows.txt:3: `/ - stat a`: neither a step (`+`) nor a row (`=>`)"),
        ("scene s:\n/ - jump a =>", "rows.txt:2: `/ - jump a =>`: no operation is written `jump a`"),
        ("scene s:\n/ NO_WAY stat a =>", "rows.txt:2: `/ NO_WAY stat a =>`: no flag is called `NO_WAY`"),
        ("scene s:\n/ BENEATH umount - a =>", "the kernel has no rules for this operation"),
        ("scene s:\n/ BENEATH mkdir a/ =>", "the last component has to be a name"),
        (
            "scene s:\n/ - stat a =>\n/  -  stat  a  => ENOENT",
            "rows.txt:3: `/  -  stat  a  => ENOENT`: this scene has the same row",
        ),
    ] {
        assert!(message(text).contains(says), "{text:?}: {}", message(text));
    }
}

#[test]
fn what_is_written_is_read_again() {
    let text = "# Answers of Linux 1.0.\nscene s: why\n+ mkdir /a\n/ BENEATH stat a =>\n/ - open PATH /a => ENOENT\n";
    let rows = Rows::read(text).expect("rows");
    let written = rows.written("2.0", &["/a in root".to_owned(), "EPERM".to_owned()]);
    assert_eq!(
        written,
        "# Answers of Linux 2.0.\nscene s: why\n+ mkdir /a\n/ BENEATH stat a       => /a in root\n/ -       open PATH /a => EPERM\n"
    );
    assert_eq!(Rows::read(&written).expect("rows").scenes[0].rows[0].answer, "/a in root");
}
