//! One event.

use crate::attr::FileType;

/// A change below the directory of a [`Subscription`](crate::Subscription), which has an example.
///
/// Paths are bytes, and lead from that directory to what changed, without a slash before them, as
/// they were at the change. Changes of a node come with the name through which the change was made.
/// So a change through a name elsewhere makes no event, and neither does one through a file that is
/// open and has lost its name.
///
/// | event | operations | of `inotify(7)` |
/// |---|---|---|
/// | `Created` | a node is made, or gets one more name | `IN_CREATE` |
/// | `Removed` | a name is removed; not one that a rename replaces | `IN_DELETE` |
/// | `Renamed` | a rename; an exchange makes two | `IN_MOVED_FROM`, `IN_MOVED_TO` |
/// | `Attributes` | mode, owner, both times, lists, extended attributes | `IN_ATTRIB` |
/// | `Content` | data is written, or the size is set; the time of the data is set alone | `IN_MODIFY` |
/// | `Invalidated` | a report that something changed without the `Vfs` | |
/// | `Overflow` | events were lost here | `IN_Q_OVERFLOW` |
///
/// There are no events for opens, reads and closes, for data in a pipe, for the directory itself,
/// and for what is in file systems that are mounted below.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A name was made.
    Created {
        /// The name.
        path: Box<[u8]>,
        /// The type of its node.
        kind: FileType,
    },
    /// A name was removed.
    Removed {
        /// The name.
        path: Box<[u8]>,
        /// The type of its node.
        kind: FileType,
    },
    /// A name was moved.
    Renamed {
        /// The old name; `None` if it was not below the directory.
        from: Option<Box<[u8]>>,
        /// The new name; `None` if it is not below the directory.
        to: Option<Box<[u8]>>,
        /// The type of its node.
        kind: FileType,
        /// The number of this move, which another move has only after 2³² of them.
        cookie: u32,
    },
    /// Attributes of a node were set.
    Attributes {
        /// The name by which they were set.
        path: Box<[u8]>,
        /// The type of the node.
        kind: FileType,
    },
    /// The data or size of a file was changed.
    Content {
        /// The name by which it was changed.
        path: Box<[u8]>,
    },
    /// Something was reported to have changed without the `Vfs`.
    Invalidated {
        /// The place; empty for the directory itself.
        path: Box<[u8]>,
        /// The part that may have changed.
        what: Invalidated,
    },
    /// Events were lost in this place, because the queue was full.
    Overflow,
}

/// The part that may have changed without the `Vfs`.
///
/// [`Subscription`](crate::Subscription) has an example.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Invalidated {
    /// The name: what it leads to, or whether it is there.
    Name,
    /// The attributes or the data of the node.
    Node,
    /// The names in the directory, but nothing below them.
    Names,
    /// Anything below the directory.
    Below,
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = |path: &[u8]| format!("\"{}\"", path.escape_ascii());
        match self {
            Event::Created { path: at, kind } => write!(f, "Created({}, {kind:?})", path(at)),
            Event::Removed { path: at, kind } => write!(f, "Removed({}, {kind:?})", path(at)),
            Event::Renamed { from, to, kind, cookie } => {
                let [from, to] = [from, to].map(|end| end.as_ref().map_or("elsewhere".into(), |end| path(end)));
                write!(f, "Renamed({from}, {to}, {kind:?}, {cookie})")
            }
            Event::Attributes { path: at, kind } => write!(f, "Attributes({}, {kind:?})", path(at)),
            Event::Content { path: at } => write!(f, "Content({})", path(at)),
            Event::Invalidated { path: at, what } => write!(f, "Invalidated({}, {what:?})", path(at)),
            Event::Overflow => f.write_str("Overflow"),
        }
    }
}
