//! The lines of a patch, and those that tell of a file before its content.

use super::{Id, Mode, names};
use crate::error::{Error, Position};

/// The lines of a patch.
pub(super) struct Lines<'a> {
    pub(super) rest: &'a [u8],
    /// The number of the line that comes next.
    pub(super) number: u64,
}

impl<'a> Lines<'a> {
    /// Returns the next line with its end.
    pub(super) fn peek(&self) -> Option<&'a [u8]> {
        self.rest.split_inclusive(|byte| *byte == b'\n').next()
    }

    pub(super) fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.peek()?;
        self.rest = &self.rest[line.len()..];
        self.number += 1;
        Some(line)
    }

    /// Returns what is behind a prefix on the next line, without its end, and passes over it.
    pub(super) fn after(&mut self, prefix: &[u8]) -> Option<&'a [u8]> {
        let rest = bare(self.peek()?).strip_prefix(prefix)?;
        self.next();
        Some(rest)
    }

    /// Returns an error at the line that was read last.
    pub(super) fn malformed(&self, what: &str) -> Error {
        Error::malformed(Position::Line((self.number - 1).max(1)), what)
    }
}

/// Returns a line without its end.
pub(super) fn bare(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// What the lines before the content say.
#[derive(Default)]
pub(super) struct Head {
    pub(super) from: Option<Vec<u8>>,
    pub(super) to: Option<Vec<u8>>,
    pub(super) is_new: bool,
    pub(super) is_removed: bool,
    pub(super) is_copy: bool,
    /// Whether the lines tell of two names.
    pub(super) is_renamed_or_copied: bool,
    pub(super) old_mode: Option<Mode>,
    pub(super) new_mode: Option<Mode>,
    pub(super) ids: Option<(Id, Id)>,
}

/// Parses the lines before the content.
pub(super) fn head(lines: &mut Lines<'_>) -> Result<Head, Error> {
    let mut head = Head::default();
    let rooted = |name: Option<Vec<u8>>| name.map(|name| [b"/", &name[..]].concat());
    loop {
        let sound = if let Some(mode) = lines.after(b"old mode ") {
            head.old_mode = Mode::parse(mode);
            head.old_mode.is_some()
        } else if let Some(mode) = lines.after(b"new mode ") {
            head.new_mode = Mode::parse(mode);
            head.new_mode.is_some()
        } else if let Some(mode) = lines.after(b"deleted file mode ") {
            (head.is_removed, head.old_mode) = (true, Mode::parse(mode));
            head.old_mode.is_some()
        } else if let Some(mode) = lines.after(b"new file mode ") {
            (head.is_new, head.new_mode) = (true, Mode::parse(mode));
            head.new_mode.is_some()
        } else if let Some(name) = lines.after(b"rename from ") {
            head.from = rooted(names::single(name));
            head.from.is_some()
        } else if let Some(name) = lines.after(b"rename to ") {
            head.to = rooted(names::single(name));
            head.to.is_some()
        } else if let Some(name) = lines.after(b"copy from ") {
            (head.is_copy, head.from) = (true, rooted(names::single(name)));
            head.from.is_some()
        } else if let Some(name) = lines.after(b"copy to ") {
            (head.is_copy, head.to) = (true, rooted(names::single(name)));
            head.to.is_some()
        } else if let Some(ids) = lines.after(b"index ") {
            index(ids, &mut head).is_some()
        } else if lines.after(b"similarity index ").or_else(|| lines.after(b"dissimilarity index ")).is_some() {
            true
        } else {
            return Ok(head);
        };
        if !sound {
            return Err(lines.malformed("a mode, name or id that is none, or a mode that git does not know"));
        }
    }
}

/// Parses ids, and the mode behind them.
fn index(text: &[u8], head: &mut Head) -> Option<()> {
    let text = std::str::from_utf8(text).ok()?;
    let (ids, mode) = text.split_once(' ').map_or((text, None), |(ids, mode)| (ids, Some(mode)));
    let (old, new) = ids.split_once("..")?;
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id(old) || !is_id(new) {
        return None;
    }
    let whole = |id: &str| {
        let bytes = id.as_bytes().chunks(2).map(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        Id::try_from(bytes.collect::<Option<Vec<u8>>>()?).ok()
    };
    head.ids = whole(old).zip(whole(new));
    if let Some(mode) = mode {
        let mode = Mode::parse(mode.as_bytes())?;
        head.old_mode = head.old_mode.or(Some(mode));
    }
    Some(())
}
