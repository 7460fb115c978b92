//! The target `path`: bytes become a question about one path, asked in every way. The engine
//! answers cold, warm and half cold, and each answer has to be the model's.
//!
//! The first bytes select the settings of the file system, the asker, its root, working directory
//! and start, the flags, the access, and how much is evicted before the last time. The other bytes
//! are the path (see `tree::path`).

use std::cell::RefCell;
use std::collections::HashMap;

use pathwalk::internals::evict;
use pathwalk::{Access, AtFlags, Attributes, Errno, FileType, Step, Steps, What};
use pathwalk_model::{Id, Model, Status};

use crate::tree;
use crate::world::{Asker, Settings, Stand, World, model_flags};

/// The number of bytes before the path.
const HEAD: usize = 8;

/// The size of a buffer that is longer than any link's body.
const BUFFER: usize = 5000;

thread_local! {
    static WORLDS: RefCell<HashMap<Settings, World>> = RefCell::default();
}

/// Asks the question that these bytes stand for. Too few bytes stand for no question.
///
/// # Panics
///
/// If engine and model differ, or if a pin is lost.
pub fn check(bytes: &[u8]) {
    let Some((&[settings, user, root, cwd, at, flags, want, forget], path)) = bytes.split_first_chunk::<HEAD>() else { return };
    let settings = Settings::from_bits_truncate(settings);
    let stand = Stand::of([root, cwd, at]);
    let asked = Asked { path: &tree::path(path), flags: at_flags(flags), want: Access::from_bits_truncate(want) };
    WORLDS.with_borrow_mut(|worlds| {
        let world = worlds.entry(settings).or_insert_with(|| World::new(settings));
        for way in Way::ALL {
            let answers = answers(world, user, stand, way, &asked, forget);
            compare(world, &answers, &format_args!("{way:?} of {asked:?} by user {user}, {stand:?}, {settings:?}"));
        }
        world.check_pins();
    });
}

/// The subject of a question.
struct Asked<'a> {
    path: &'a [u8],
    flags: AtFlags,
    want: Access,
}

impl std::fmt::Debug for Asked<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\" with {:?} for {:?}", self.path.escape_ascii(), self.flags, self.want)
    }
}

fn at_flags(byte: u8) -> AtFlags {
    let bits = [AtFlags::SYMLINK_NOFOLLOW, AtFlags::EMPTY_PATH, AtFlags::EACCESS];
    let set = bits.into_iter().enumerate().filter(|(bit, _)| byte & (1 << bit) != 0);
    set.fold(AtFlags::empty(), |all, (_, flag)| all | flag)
}

/// The way in which a question is asked.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// With the flags as they are.
    Stat,
    /// With the opposite treatment of a last link.
    OtherStat,
    Readlink,
    ReadlinkShort,
    /// By the real ids, with no flags.
    Access,
    /// With the flags as they are, by the real ids.
    AccessAt,
    /// By the effective ids.
    AccessEffective,
    Lookup,
    Steps,
}

impl Way {
    const ALL: [Way; 9] = [
        Way::Stat,
        Way::OtherStat,
        Way::Readlink,
        Way::ReadlinkShort,
        Way::Access,
        Way::AccessAt,
        Way::AccessEffective,
        Way::Lookup,
        Way::Steps,
    ];
}

/// The answer of either side, for comparison. `N` is the name of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Answer<N> {
    Node(N, Node),
    Bytes(Vec<u8>),
    Granted,
}

/// The attributes, without times and without those that differ between file systems.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Node {
    mode: u32,
    nlink: u32,
    uid: u32,
    gid: u32,
    /// The size, 0 for directories.
    size: u64,
}

/// The model's answer, and the engine's: cold, warm, and after some entries were evicted.
struct Answers {
    model: Result<Answer<Id>, Errno>,
    engine: [Result<Answer<u64>, Errno>; 3],
}

fn answers(world: &mut World, user: u8, stand: Stand, way: Way, asked: &Asked<'_>, forget: u8) -> Answers {
    let (vfs, model) = (world.vfs.clone(), world.model());
    let mut asker = world.asker(user, stand);
    let right = ask_model(&model, &mut asker, way, asked);
    let engine = [usize::MAX, 0, forget.into()].map(|forgotten| {
        evict(&vfs, forgotten);
        ask_engine(&asker, way, asked)
    });
    Answers { model: right, engine }
}

fn ask_engine(asker: &Asker<'_>, way: Way, asked: &Asked<'_>) -> Result<Answer<u64>, Errno> {
    let (context, at, path, flags) = (&asker.context, asker.at(), asked.path, asked.flags);
    let readlink = |size| {
        let mut buffer = vec![0; size];
        let length = context.readlinkat(at, path, &mut buffer)?;
        buffer.truncate(length);
        Ok(Answer::Bytes(buffer))
    };
    let granted = |answer: Result<(), Errno>| answer.map(|()| Answer::Granted);
    match way {
        Way::Stat => context.fstatat(at, path, flags).map(|found| node(&found)),
        Way::OtherStat => context.fstatat(at, path, other(flags)).map(|found| node(&found)),
        Way::Readlink => readlink(BUFFER),
        Way::ReadlinkShort => readlink(asked.want.bits().into()),
        Way::Access => granted(context.access(path, asked.want)),
        Way::AccessAt => granted(context.faccessat(at, path, asked.want, flags - AtFlags::EACCESS)),
        Way::AccessEffective => granted(context.faccessat(at, path, asked.want, flags | AtFlags::EACCESS)),
        Way::Lookup => context.lookup_at(at, path, flags)?.attributes().map(|found| node(&found)),
        Way::Steps => {
            let told = context.steps_at(at, path, flags);
            check_end(&told);
            told.answer?.attributes().map(|found| node(&found))
        }
    }
}

fn ask_model(model: &Model, asker: &mut Asker<'_>, way: Way, asked: &Asked<'_>) -> Result<Answer<Id>, Errno> {
    let (path, flags, at) = (asked.path, asked.flags, asker.descriptor);
    let process = &mut *asker.process;
    let want = pathwalk_model::Access::from_bits_retain(asked.want.bits().into());
    let granted = |answer: pathwalk_model::Result<()>| answer.map(|()| Answer::Granted);
    let answer = match way {
        Way::Stat | Way::Lookup | Way::Steps => model.stat(process, at, path, model_flags(flags)).map(|found| status(&found)),
        Way::OtherStat => model.stat(process, at, path, model_flags(other(flags))).map(|found| status(&found)),
        Way::Readlink => model.readlink(process, at, path, BUFFER as i32).map(Answer::Bytes),
        Way::ReadlinkShort => model.readlink(process, at, path, asked.want.bits().into()).map(Answer::Bytes),
        Way::Access => granted(model.access(process, pathwalk_model::AT_FDCWD, path, want, model_flags(AtFlags::empty()))),
        Way::AccessAt => granted(model.access(process, at, path, want, model_flags(flags - AtFlags::EACCESS))),
        Way::AccessEffective => granted(model.access(process, at, path, want, model_flags(flags | AtFlags::EACCESS))),
    };
    answer.map_err(|errno| Errno::from_raw(errno.0))
}

fn other(flags: AtFlags) -> AtFlags {
    flags ^ AtFlags::SYMLINK_NOFOLLOW
}

/// Checks that the last step agrees with the answer.
fn check_end(told: &Steps) {
    // There are no steps for a refusal before the walk, nor for an empty path.
    let Some(Step { what, .. }) = told.steps.last() else { return };
    let ends_so = match (what, &told.answer) {
        (What::Absent { .. }, answer) => matches!(answer, Err(errno) if *errno == Errno::ENOENT),
        (What::Refused { errno: why, .. }, answer) => matches!(answer, Err(errno) if errno == why),
        (_, answer) => answer.is_ok(),
    };
    assert!(ends_so, "the last step is {what:?}, the answer {:?}", told.answer);
}

fn node(of: &Attributes) -> Answer<u64> {
    let size = if of.kind == FileType::Directory { 0 } else { of.size };
    Answer::Node(of.ino, Node { mode: of.st_mode(), nlink: of.nlink, uid: of.uid, gid: of.gid, size })
}

fn status(of: &Status) -> Answer<Id> {
    let size = if FileType::from_mode(of.mode) == Some(FileType::Directory) { 0 } else { of.size };
    Answer::Node(of.node, Node { mode: of.mode, nlink: of.nlink, uid: of.uid, gid: of.gid, size })
}

fn compare(world: &mut World, answers: &Answers, what: &dyn std::fmt::Display) {
    for (engine, when) in answers.engine.iter().zip(["cold", "warm", "half cold"]) {
        let same = match (&answers.model, engine) {
            (Ok(Answer::Node(id, left)), Ok(Answer::Node(ino, right))) => left == right && world.is_same(*id, *ino),
            (Ok(Answer::Bytes(left)), Ok(Answer::Bytes(right))) => left == right,
            (Ok(Answer::Granted), Ok(Answer::Granted)) => true,
            (Err(left), Err(right)) => left == right,
            _ => false,
        };
        assert!(same, "{what}\n  model: {:?}\n  engine, {when}: {engine:?}", answers.model);
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    /// Asks about each single byte as a path, from each place, as every user.
    #[test]
    fn short_paths_are_answered_alike() {
        for byte in 1..=u8::MAX {
            for who in 0..18 {
                check(&[byte, who, who / 5, byte / 7, byte.wrapping_mul(3), byte, who, byte, b'/', byte]);
                check(&[byte.reverse_bits(), who, 0, who, 0, byte, who, byte, byte]);
            }
        }
    }
}
