//! What each call asks, and what it does to the process that makes it: from its text to an [`Event`].
//!
//! The order of arguments is that of the man page of each call. What a call does to the model of processes is not decided here.

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

/// Finds the shape of a call by its name.
#[derive(Default)]
pub(crate) struct Names(HashMap<&'static [u8], (&'static str, Shape), RandomState>);

/// What becomes of a descriptor when the process executes a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OnExec {
    Keep,
    Close,
}

/// What a call is to the report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A lookup.
    Asks(Call, Question),
    /// It changes something.
    Changes,
    /// An empty path stands for the descriptor itself.
    NoName,
    /// `openat2` with resolve flags.
    Resolves,
    /// A lookup of another kind, or with flags that are not known.
    Other,
}

/// What else a call with a path does if it succeeds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    None,
    /// Its result is a descriptor of what the path leads to.
    Opens(OnExec, Opened),
    /// It executes another program.
    Executes,
    /// It changes the working directory.
    Moves,
}

/// Can `fchdir` lead to what was opened, as far as the call tells?
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
    /// It is made on a path.
    Named(Named<'a>),
    /// It changes something, and is told by its name alone.
    Change {
        name: &'static str,
        at: Option<At<'a>>,
    },
    /// A lookup that is not understood any further.
    Other {
        name: &'static str,
        at: Option<At<'a>>,
    },
    /// It succeeded in changing what the process sees as root, or its mounts.
    NewRoot {
        name: &'static str,
        outcome: Outcome<'a>,
    },
    /// The process learnt its working directory.
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
    /// The result is a copy of a descriptor.
    Dup {
        from: i32,
        outcome: Outcome<'a>,
        on_exec: OnExec,
    },
    /// `F_SETFD`
    SetOnExec {
        fd: i32,
        on_exec: OnExec,
    },
    Fchdir {
        at: At<'a>,
        outcome: Outcome<'a>,
    },
    /// A process or thread was made; `None` if it is not known what it shares.
    Clone {
        flags: Option<CloneFlags>,
        outcome: Outcome<'a>,
    },
    Unshare {
        flags: CloneFlags,
        outcome: Outcome<'a>,
    },
    Exit,
    /// Nothing that matters.
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

    /// What a call that makes a process shares with it, from the beginning of its text. `None` if it is no such call.
    pub(crate) fn makes_process(&self, text: &[u8]) -> Option<Option<CloneFlags>> {
        // Most calls are others.
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

/// The value of a field in braces or among arguments with names.
fn field<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let value = &text[memchr::memmem::find(text, name)? + name.len()..];
    let end = value.iter().position(|byte| matches!(byte, b',' | b'}' | b')' | b' ')).unwrap_or(value.len());
    Some(&value[..end])
}

/// What a clone shares, as far as the text goes.
fn flags_of_clone(text: &[u8]) -> Option<CloneFlags> {
    field(text, b"flags=").map(clone_flags)
}
