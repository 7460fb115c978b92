//! The recorded lookups, prepared to be asked of both sides alike.
//!
//! Both sides get the same bytes from the same start with the same flags. Some questions are asked
//! in another form than the program used:
//!
//! - The question whether a path is a directory becomes an access with a slash after the path.
//! - A lookup from a start directory for which there is no descriptor left uses the joined path.

use std::ffi::CString;

use pathwalk::limits::PATH_MAX;
use pathwalk::{Access, AtFlags};
use pathwalk_recording::{Call, Ids, Links, Lookup, Question, Start};
use pathwalk_trace::trace::mode_text;

/// The place where a lookup starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum From {
    /// The root, or the working directory of this process.
    Here,
    /// The start directory of this number.
    Directory(u32),
}

/// The form of a question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    /// The call `access(2)`: from here, by the real ids, links followed.
    PlainAccess(Access),
    /// The call `faccessat2(2)`.
    Access(Access, AtFlags),
    /// The call `fstatat(2)`.
    Stat(AtFlags),
    /// The call `statx(2)`, which is the same for the engine.
    Statx(AtFlags),
    /// The call `readlinkat(2)`.
    Readlink,
}

/// A question with its path, in the form that both sides take.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// The place where it starts.
    pub(crate) from: From,
    /// The question.
    pub(crate) ask: Ask,
    /// The path.
    pub(crate) path: CString,
}

impl Prepared {
    /// Prepares a lookup that starts where it was recorded, or in `joined` if the path is to be
    /// joined to that.
    ///
    /// A path is cut at a NUL, which no recording contains.
    pub(crate) fn new(lookup: &Lookup, joined: Option<&[u8]>) -> Prepared {
        let (mut path, mut from) = (lookup.path.to_vec(), From::Here);
        match (lookup.start, joined) {
            (Start::Directory(_), Some(start)) if !path.is_empty() => path = join(start, &path),
            (Start::Directory(number), None) => from = From::Directory(number),
            _ => {}
        }
        if matches!(lookup.question, Question::Directory { links: Links::Follow, .. }) && (1..PATH_MAX).contains(&path.len()) {
            path.push(b'/');
        }
        path.truncate(path.iter().position(|byte| *byte == 0).unwrap_or(path.len()));
        let path = CString::new(path).expect("it was cut at the first NUL");
        Prepared { from, ask: ask(lookup, from), path }
    }

    /// Returns the flags for walking the same way: whether the last link is followed.
    pub(crate) fn flags(&self) -> AtFlags {
        match self.ask {
            Ask::PlainAccess(_) => AtFlags::empty(),
            Ask::Access(_, flags) | Ask::Stat(flags) | Ask::Statx(flags) => flags & AtFlags::SYMLINK_NOFOLLOW,
            Ask::Readlink => AtFlags::SYMLINK_NOFOLLOW,
        }
    }

    /// Returns the path's bytes.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.path.to_bytes()
    }
}

fn ask(lookup: &Lookup, from: From) -> Ask {
    match lookup.question {
        Question::Access { want, ids: Ids::Real, links: Links::Follow } if from == From::Here => Ask::PlainAccess(want),
        Question::Access { want, ids, links } => {
            let ids = if ids == Ids::Effective { AtFlags::EACCESS } else { AtFlags::empty() };
            Ask::Access(want, ids | stay(links))
        }
        Question::Directory { want, links } => Ask::Access(want, AtFlags::EACCESS | stay(links)),
        Question::Stat { links } if lookup.call == Call::Statx => Ask::Statx(stay(links)),
        Question::Stat { links } => Ask::Stat(stay(links)),
        Question::Readlink => Ask::Readlink,
    }
}

fn stay(links: Links) -> AtFlags {
    if links == Links::Stay { AtFlags::SYMLINK_NOFOLLOW } else { AtFlags::empty() }
}

/// Joins a path to a directory, as text.
pub(crate) fn join(start: &[u8], path: &[u8]) -> Vec<u8> {
    match start {
        b"." => path.to_vec(),
        [.., b'/'] => [start, path].concat(),
        _ => [start, b"/", path].concat(),
    }
}

/// Returns the question in words.
pub(crate) fn question_text(question: Question) -> String {
    let stays = |links| if links == Links::Stay { ", link itself" } else { "" };
    match question {
        Question::Access { want, ids, links } => {
            let ids = if ids == Ids::Effective { ", effective ids" } else { "" };
            format!("{}{ids}{}", mode_text(want), stays(links))
        }
        Question::Directory { want, links } => format!("directory, {}{}", mode_text(want), stays(links)),
        Question::Stat { links } => format!("attributes{}", stays(links)),
        Question::Readlink => "link".into(),
    }
}

/// Returns the call's name.
pub(crate) fn call_name(call: Call) -> String {
    format!("{call:?}").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(call: Call, question: Question, start: Start, path: &[u8]) -> Lookup {
        Lookup { call, question, start, path: path.into() }
    }

    #[test]
    fn calls_are_asked_as_they_were_made() {
        let read = |ids, links| Question::Access { want: Access::READ, ids, links };
        let plain = read(Ids::Real, Links::Follow);
        let asked = |call, question, start| Prepared::new(&lookup(call, question, start, b"a"), None).ask;
        assert_eq!(asked(Call::Access, plain, Start::Root), Ask::PlainAccess(Access::READ));
        assert_eq!(asked(Call::Access, plain, Start::Directory(0)), Ask::Access(Access::READ, AtFlags::empty()));
        let both = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
        assert_eq!(asked(Call::Open, read(Ids::Effective, Links::Stay), Start::Root), Ask::Access(Access::READ, both));
        let stat = |links| Question::Stat { links };
        assert_eq!(asked(Call::Stat, stat(Links::Follow), Start::Root), Ask::Stat(AtFlags::empty()));
        assert_eq!(asked(Call::Statx, stat(Links::Stay), Start::Root), Ask::Statx(AtFlags::SYMLINK_NOFOLLOW));
        assert_eq!(asked(Call::Readlink, Question::Readlink, Start::Root), Ask::Readlink);
    }

    #[test]
    fn a_directory_is_asked_with_a_slash() {
        let prepared = |path: &[u8], links| {
            let question = Question::Directory { want: Access::EXECUTE, links };
            Prepared::new(&lookup(Call::Chdir, question, Start::Root, path), None)
        };
        let followed = prepared(b"/a", Links::Follow);
        assert_eq!((followed.bytes(), followed.ask), (&b"/a/"[..], Ask::Access(Access::EXECUTE, AtFlags::EACCESS)));
        assert_eq!(
            (prepared(b"/a", Links::Stay).bytes(), prepared(b"/a", Links::Stay).flags()),
            (&b"/a"[..], AtFlags::SYMLINK_NOFOLLOW)
        );
        assert_eq!(prepared(b"", Links::Follow).bytes(), b"");
        assert_eq!(prepared(&[b'/'; 4094], Links::Follow).bytes().len(), 4095);
        assert_eq!(prepared(&[b'/'; 4095], Links::Follow).bytes().len(), 4095, "one more would be too long");
    }

    #[test]
    fn paths_are_joined_as_text() {
        let question = Question::Stat { links: Links::Follow };
        let at = |path: &[u8], joined| Prepared::new(&lookup(Call::Stat, question, Start::Directory(3), path), joined);
        let (apart, joined) = (at(b"x", None), at(b"x", Some(b"/d")));
        assert_eq!((apart.from, apart.bytes()), (From::Directory(3), &b"x"[..]));
        assert_eq!((joined.from, joined.bytes()), (From::Here, &b"/d/x"[..]));
        assert_eq!(at(b"", Some(b"/d")).bytes(), b"", "an empty path is no name, wherever it starts");
        assert_eq!((&join(b"/", b"x")[..], &join(b".", b"x")[..]), (&b"/x"[..], &b"x"[..]));
    }

    #[test]
    fn questions_are_told_in_words() {
        let access = Question::Access { want: Access::empty(), ids: Ids::Real, links: Links::Follow };
        assert_eq!(question_text(access), "F_OK");
        assert_eq!(question_text(Question::Stat { links: Links::Stay }), "attributes, link itself");
        let directory = Question::Directory { want: Access::EXECUTE, links: Links::Follow };
        assert_eq!(question_text(directory), "directory, X_OK");
        assert_eq!(call_name(Call::Newfstatat), "newfstatat");
    }
}
