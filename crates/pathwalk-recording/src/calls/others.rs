//! Reads calls that are not lookups, but report or change where a process is or what its
//! descriptors lead to.

use super::names::Shape;
use super::{Effect, Event, Named, OnExec, Opened, What};
use crate::call_text::{Arguments, At, Outcome, PathText, Problem};
use crate::flags::{CloneFlags, clone_flags};

pub(super) fn creat<'a>(name: &'static str, mut arguments: Arguments<'a>) -> Result<Named<'a>, Problem> {
    let path = arguments.path()?;
    let effect = Effect::Opens(OnExec::Keep, Opened::Anything);
    Ok(Named { name, what: What::Changes, at: At::Cwd(None), path, outcome: arguments.outcome()?, effect })
}

/// Reads the first argument if it is a descriptor or `AT_FDCWD`. Fails if the call's text is not
/// whole.
pub(super) fn some_at(mut arguments: Arguments<'_>) -> Result<Option<At<'_>>, Problem> {
    let at = arguments.at().ok();
    arguments.outcome().map(|_| at)
}

pub(super) fn getcwd(mut arguments: Arguments<'_>) -> Result<PathText<'_>, Problem> {
    let path = arguments.path()?;
    let absolute = matches!((path, arguments.outcome()?), (PathText::Whole([b'/', ..]), Outcome::Done(..)));
    Ok(if absolute { path } else { PathText::Unknown })
}

pub(super) fn setns(mut arguments: Arguments<'_>) -> Result<Event<'_>, Problem> {
    arguments.word()?;
    // Without flags the namespace may be of any kind, depending on the descriptor.
    let flags = match arguments.word()? {
        b"0" => CloneFlags::NEW_MOUNTS,
        flags => clone_flags(flags),
    };
    let outcome = arguments.outcome()?;
    Ok(if flags.contains(CloneFlags::NEW_MOUNTS) { Event::NewRoot { name: "setns", outcome } } else { Event::Nothing })
}

pub(super) fn close_range(mut arguments: Arguments<'_>) -> Result<Event<'_>, Problem> {
    // The last descriptor is mostly UINT_MAX, printed as a number or as a name.
    let descriptor = |word: &[u8]| crate::line::number(word).map_or(u32::MAX, |(fd, _)| fd);
    let (first, last, flags) = (descriptor(arguments.word()?), descriptor(arguments.word()?), arguments.word()?);
    let has = |name: &[u8]| memchr::memmem::find(flags, name).is_some();
    let (on_exec_only, unshares) = (has(b"CLOSE_RANGE_CLOEXEC"), has(b"CLOSE_RANGE_UNSHARE"));
    Ok(match arguments.outcome()? {
        Outcome::Done(..) => Event::CloseRange { first, last, on_exec_only, unshares },
        _ => Event::Nothing,
    })
}

pub(super) fn dup(shape: Shape, mut arguments: Arguments<'_>) -> Result<Event<'_>, Problem> {
    let At::Descriptor(from, _) = arguments.at()? else { return Ok(Event::Nothing) };
    let mut on_exec = OnExec::Keep;
    if shape != Shape::Dup {
        arguments.word()?;
    }
    if shape == Shape::Dup3 && arguments.word()? == b"O_CLOEXEC" {
        on_exec = OnExec::Close;
    }
    Ok(Event::Dup { from, outcome: arguments.outcome()?, on_exec })
}

pub(super) fn fcntl(mut arguments: Arguments<'_>) -> Result<Event<'_>, Problem> {
    let At::Descriptor(fd, _) = arguments.at()? else { return Ok(Event::Nothing) };
    let command = arguments.word()?;
    let argument = arguments;
    let outcome = arguments.outcome()?;
    Ok(match command {
        b"F_DUPFD" => Event::Dup { from: fd, outcome, on_exec: OnExec::Keep },
        b"F_DUPFD_CLOEXEC" => Event::Dup { from: fd, outcome, on_exec: OnExec::Close },
        b"F_SETFD" => {
            let closes = { argument }.word()?.starts_with(b"FD_CLOEXEC");
            Event::SetOnExec { fd, on_exec: if closes { OnExec::Close } else { OnExec::Keep } }
        }
        _ => Event::Nothing,
    })
}
