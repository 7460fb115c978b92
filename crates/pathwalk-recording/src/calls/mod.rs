//! The conversion of a call's text to an [`Event`]: its question, and its effect on the process
//! that makes it.
//!
//! The order of arguments is that of each call's man page. The changes to the model of processes
//! are not decided here.

mod lookups;
mod names;
mod others;
#[cfg(test)]
mod tests;

use hashbrown::HashMap;
use rapidhash::fast::RandomState;

use crate::call_text::{Arguments, At, Outcome, PathText, Problem};
use crate::flags::{CloneFlags, clone_flags};
use crate::recording::{Call, Question};
use names::{NAMES, Shape};

/// The shapes of calls, by the calls' names.
#[derive(Default)]
pub(crate) struct Names(HashMap<&'static [u8], (&'static str, Shape), RandomState>);

/// The fate of a descriptor when the process executes a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnExec {
    Keep,
    Close,
}

/// The role of a call in the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A lookup.
    Asks(Call, Question),
    /// A change of something.
    Changes,
    /// A call with an empty path, which stands for the descriptor itself.
    NoName,
    /// A call of `openat2` with resolve flags.
    Resolves,
    /// A lookup of another kind, or with flags that are not known.
    Other,
}

/// The further effect of a call with a path, if it succeeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    None,
    /// A new descriptor of the node that the path leads to, as the result.
    Opens(OnExec, Opened),
    /// The execution of another program.
    Executes,
    /// A change of the working directory.
    Moves,
}

/// The type of the opened node as far as the call shows it: whether `fchdir` can lead to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Opened {
    Directory,
    Anything,
}

/// A call on a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Named<'a> {
    pub(crate) name: &'static str,
    pub(crate) what: What,
    pub(crate) at: At<'a>,
    pub(crate) path: PathText<'a>,
    pub(crate) outcome: Outcome<'a>,
    pub(crate) effect: Effect,
}

/// A call, as far as it matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event<'a> {
    /// A call on a path.
    Named(Named<'a>),
    /// A change of something, of which only the call's name counts.
    Change {
        name: &'static str,
        at: Option<At<'a>>,
    },
    /// A lookup that is not understood any further.
    Other {
        name: &'static str,
        at: Option<At<'a>>,
    },
    /// A change of the process' root, or of its mounts.
    NewRoot {
        name: &'static str,
        outcome: Outcome<'a>,
    },
    /// A report of the working directory to the process.
    Cwd {
        path: PathText<'a>,
    },
    Close {
        fd: i32,
    },
    CloseRange {
        first: u32,
        last: u32,
        on_exec_only: bool,
        unshares: bool,
    },
    /// A copy of a descriptor, which is the result.
    Dup {
        from: i32,
        outcome: Outcome<'a>,
        on_exec: OnExec,
    },
    /// The command `F_SETFD` of `fcntl`.
    SetOnExec {
        fd: i32,
        on_exec: OnExec,
    },
    Fchdir {
        at: At<'a>,
        outcome: Outcome<'a>,
    },
    /// The creation of a process or thread. The flags are `None` if it is not known what is shared.
    Clone {
        flags: Option<CloneFlags>,
        outcome: Outcome<'a>,
    },
    Unshare {
        flags: CloneFlags,
        outcome: Outcome<'a>,
    },
    Exit,
    /// A call that does not matter.
    Nothing,
}

impl Names {
    pub(crate) fn new() -> Names {
        Names(NAMES.iter().map(|(name, shape)| (name.as_bytes(), (*name, *shape))).collect())
    }

    /// Reads the text of a whole call.
    pub(crate) fn read<'a>(&self, text: &'a [u8]) -> Result<Event<'a>, Problem> {
        let (name, arguments) = Arguments::of(text)?;
        match self.0.get(name) {
            Some((name, shape)) => event(name, *shape, arguments, text),
            None if crate::line::ends_like_a_call(text) => Ok(Event::Nothing),
            None => Err("the call has no result"),
        }
    }

    /// Returns what a new process shares with its maker, from the beginning of a call's text:
    /// `None` if the call makes no process, `Some(None)` if the flags are not known.
    pub(crate) fn makes_process(&self, text: &[u8]) -> Option<Option<CloneFlags>> {
        // Most calls are skipped here.
        if !matches!(text.first(), Some(b'c' | b'f' | b'v')) {
            return None;
        }
        let (name, _) = Arguments::of(text).ok()?;
        match self.0.get(name)?.1 {
            Shape::Fork => Some(Some(CloneFlags::empty())),
            Shape::Clone => Some(flags_of_clone(text)),
            _ => None,
        }
    }
}

/// Reads the arguments of a call whose shape is known.
fn event<'a>(name: &'static str, shape: Shape, mut arguments: Arguments<'a>, text: &'a [u8]) -> Result<Event<'a>, Problem> {
    Ok(match shape {
        Shape::Lookup(call) => Event::Named(lookups::lookup(name, call, arguments)?),
        Shape::Creat => Event::Named(others::creat(name, arguments)?),
        Shape::Change => Event::Change { name, at: others::some_at(arguments)? },
        Shape::Other => Event::Other { name, at: others::some_at(arguments)? },
        Shape::NewRoot => Event::NewRoot { name, outcome: arguments.outcome()? },
        Shape::Getcwd => Event::Cwd { path: others::getcwd(arguments)? },
        Shape::Close => match (arguments.at()?, arguments.outcome()?) {
            (At::Descriptor(fd, _), _) => Event::Close { fd },
            _ => Event::Nothing,
        },
        Shape::CloseRange => others::close_range(arguments)?,
        Shape::Dup | Shape::Dup2 | Shape::Dup3 => others::dup(shape, arguments)?,
        Shape::Fcntl => others::fcntl(arguments)?,
        Shape::Fchdir => Event::Fchdir { at: arguments.at()?, outcome: arguments.outcome()? },
        Shape::Fork => Event::Clone { flags: Some(CloneFlags::empty()), outcome: arguments.outcome()? },
        Shape::Clone => Event::Clone { flags: flags_of_clone(text), outcome: arguments.outcome()? },
        Shape::Unshare => Event::Unshare { flags: clone_flags(arguments.word()?), outcome: arguments.outcome()? },
        Shape::Setns => others::setns(arguments)?,
        Shape::Exit => Event::Exit,
    })
}

/// Returns the value of a field in braces or among arguments with names.
fn field<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = &text[memchr::memmem::find(text, name)? + name.len()..];
    let end = value.iter().position(|byte| matches!(byte, b',' | b'}' | b')' | b' ')).unwrap_or(value.len());
    Some(&value[..end])
}

/// Returns what a clone shares, as far as the text shows it.
fn flags_of_clone(text: &[u8]) -> Option<CloneFlags> {
    field(text, b"flags=").map(clone_flags)
}
