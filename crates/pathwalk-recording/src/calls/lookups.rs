//! Reads the question of a lookup from the call's arguments.

use pathwalk::Access;

use super::{Effect, Named, OnExec, Opened, What, field};
use crate::call_text::{Arguments, At, PathText, Problem};
use crate::flags::{AtFlags, OpenFlags, access_mode, at_flags, open_flags};
use crate::recording::{Call, Ids, Links, Question};

/// The meaning of an empty path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EmptyPath {
    Absent,
    /// The descriptor itself, with `AT_EMPTY_PATH`.
    Descriptor,
}

/// The meaning of the arguments besides the path.
struct Meaning {
    what: What,
    effect: Effect,
    empty: EmptyPath,
}

impl Meaning {
    fn asks(call: Call, question: Question) -> Meaning {
        What::Asks(call, question).into()
    }

    fn empty(self, flags: AtFlags) -> Meaning {
        let empty = if flags.contains(AtFlags::EMPTY_PATH) { EmptyPath::Descriptor } else { EmptyPath::Absent };
        Meaning { empty, ..self }
    }

    fn with(self, effect: Effect) -> Meaning {
        Meaning { effect, ..self }
    }
}

impl From<What> for Meaning {
    fn from(what: What) -> Meaning {
        Meaning { what, effect: Effect::None, empty: EmptyPath::Absent }
    }
}

/// Reads a lookup, in the order of its call's arguments.
pub(super) fn lookup<'a>(name: &'static str, call: Call, mut arguments: Arguments<'a>) -> Result<Named<'a>, Problem> {
    let at = match call {
        Call::Faccessat | Call::Faccessat2 | Call::Newfstatat | Call::Statx | Call::Readlinkat => arguments.at()?,
        Call::Openat | Call::Openat2 | Call::Execveat => arguments.at()?,
        _ => At::Cwd(None),
    };
    let path = arguments.path()?;
    let Meaning { mut what, effect, empty } = match call {
        Call::Access | Call::Faccessat => access(call, arguments.word()?, b"0"),
        Call::Faccessat2 => access(call, arguments.word()?, arguments.word()?),
        Call::Stat => Meaning::asks(call, Question::Stat { links: Links::Follow }),
        Call::Lstat => Meaning::asks(call, Question::Stat { links: Links::Stay }),
        Call::Newfstatat => {
            arguments.word()?;
            stat(call, arguments.word()?)
        }
        Call::Statx => stat(call, arguments.word()?),
        Call::Readlink => Meaning::asks(call, Question::Readlink),
        // `readlinkat` needs no flag to ask about a descriptor.
        Call::Readlinkat if matches!(at, At::Descriptor(..)) => {
            Meaning::asks(call, Question::Readlink).empty(AtFlags::EMPTY_PATH)
        }
        Call::Readlinkat => Meaning::asks(call, Question::Readlink),
        Call::Open | Call::Openat => open(call, arguments.word()?),
        Call::Openat2 => open_how(arguments.word()?),
        Call::Execve => execute(call, AtFlags::empty()),
        Call::Execveat => {
            let (_, _, flags) = (arguments.word()?, arguments.word()?, at_flags(arguments.word()?));
            flags.map_or(What::Other.into(), |flags| execute(call, flags)).with(Effect::Executes)
        }
        Call::Chdir => {
            let search = Question::Directory { want: Access::EXECUTE, links: Links::Follow };
            Meaning::asks(call, search).with(Effect::Moves)
        }
    };
    if empty == EmptyPath::Descriptor && matches!(path, PathText::Whole(b"") | PathText::Null) {
        what = What::NoName;
    }
    let path = if path == PathText::Null { PathText::Unknown } else { path };
    Ok(Named { name, what, at, path, outcome: arguments.outcome()?, effect })
}

fn access(call: Call, mode: &[u8], flags: &[u8]) -> Meaning {
    let (Some(want), Some(flags)) = (access_mode(mode), at_flags(flags)) else { return What::Other.into() };
    let ids = if flags.contains(AtFlags::EFFECTIVE) { Ids::Effective } else { Ids::Real };
    Meaning::asks(call, Question::Access { want, ids, links: links(flags) }).empty(flags)
}

fn stat(call: Call, flags: &[u8]) -> Meaning {
    let Some(flags) = at_flags(flags) else { return What::Other.into() };
    Meaning::asks(call, Question::Stat { links: links(flags) }).empty(flags)
}

fn execute(call: Call, flags: AtFlags) -> Meaning {
    let question = Question::Access { want: Access::EXECUTE, ids: Ids::Effective, links: links(flags) };
    Meaning::asks(call, question).with(Effect::Executes).empty(flags)
}

fn links(flags: AtFlags) -> Links {
    if flags.contains(AtFlags::NOFOLLOW) { Links::Stay } else { Links::Follow }
}

/// Reads an open, which is an access by its mode, unless it changes something.
fn open(call: Call, flags: &[u8]) -> Meaning {
    let Some(flags) = open_flags(flags) else {
        return Meaning::from(What::Other).with(Effect::Opens(OnExec::Close, Opened::Anything));
    };
    let mut want = Access::empty();
    want.set(Access::READ, flags.contains(OpenFlags::READ));
    want.set(Access::WRITE, flags.contains(OpenFlags::WRITE));
    // With O_PATH the kernel ignores all other flags but these: O_DIRECTORY, O_NOFOLLOW, O_CLOEXEC.
    let path_only = flags.contains(OpenFlags::PATH);
    if path_only {
        want = Access::empty();
    }
    let links = if flags.contains(OpenFlags::NOFOLLOW) { Links::Stay } else { Links::Follow };
    let what = match flags {
        flags if flags.contains(OpenFlags::CHANGE) && !path_only => What::Changes,
        flags if flags.contains(OpenFlags::DIRECTORY) => What::Asks(call, Question::Directory { want, links }),
        _ => What::Asks(call, Question::Access { want, ids: Ids::Effective, links }),
    };
    let on_exec = if flags.contains(OpenFlags::CLOEXEC) { OnExec::Close } else { OnExec::Keep };
    let opened = if flags.intersects(OpenFlags::DIRECTORY | OpenFlags::PATH) { Opened::Directory } else { Opened::Anything };
    Meaning::from(what).with(Effect::Opens(on_exec, opened))
}

/// Reads the flags of `openat2`, such as `{flags=O_RDONLY|O_CLOEXEC, resolve=RESOLVE_BENEATH}`.
fn open_how(how: &[u8]) -> Meaning {
    let meaning = open(Call::Openat2, field(how, b"flags=").unwrap_or_default());
    match field(how, b"resolve=") {
        None | Some(b"0") => meaning,
        Some(_) if matches!(meaning.what, What::Asks(..)) => Meaning { what: What::Resolves, ..meaning },
        Some(_) => meaning,
    }
}
