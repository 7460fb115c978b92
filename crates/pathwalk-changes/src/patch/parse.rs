//! A patch in git's format, parsed.
//!
//! What always holds: each path leads down from the root, and what is told of a file twice (its
//! names, whether it is new) agrees. Text before the first file and between files is passed over,
//! unless it looks like a part of a patch.

use super::binary;
use super::hunks::{Hunk, Sign};
use super::{Id, Mode, names};
use crate::error::{Error, Position};
use crate::path::{PathBytes, checked};

/// What a patch does to a file.
#[derive(Debug)]
pub(super) struct FilePatch<'a> {
    /// The line in which it begins.
    pub(super) line: u64,
    /// The path that it had; `None` for a new file.
    pub(super) old: Option<PathBytes>,
    /// The path that it gets; `None` for one that is removed.
    pub(super) new: Option<PathBytes>,
    /// Whether the old file stays.
    pub(super) is_copy: bool,
    pub(super) old_mode: Option<Mode>,
    pub(super) new_mode: Option<Mode>,
    /// The ids of the old content and the new one, if they are whole.
    pub(super) ids: Option<(Id, Id)>,
    pub(super) content: Content<'a>,
}

/// What a patch does to the content of a file.
#[derive(Debug)]
pub(super) enum Content<'a> {
    Same,
    Text(Vec<Hunk<'a>>),
    /// All of the new content.
    Literal(Packed),
    /// Differences of bytes.
    Delta(Packed),
}

/// Content that is packed.
#[derive(Debug)]
pub(super) struct Packed {
    pub(super) size: u64,
    pub(super) bytes: Vec<u8>,
}

/// The lines of a patch.
struct Lines<'a> {
    rest: &'a [u8],
    /// The number of the line that comes next.
    number: u64,
}

impl<'a> Lines<'a> {
    /// Returns the next line with its end.
    fn peek(&self) -> Option<&'a [u8]> {
        self.rest.split_inclusive(|byte| *byte == b'\n').next()
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.peek()?;
        self.rest = &self.rest[line.len()..];
        self.number += 1;
        Some(line)
    }

    /// Returns what is behind a prefix on the next line, without its end, and passes over it.
    fn after(&mut self, prefix: &[u8]) -> Option<&'a [u8]> {
        let rest = bare(self.peek()?).strip_prefix(prefix)?;
        self.next();
        Some(rest)
    }

    /// Returns an error at the line that was read last.
    fn malformed(&self, what: &str) -> Error {
        Error::malformed(Position::Line((self.number - 1).max(1)), what)
    }
}

/// Returns a line without its end.
fn bare(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Parses a patch.
pub(super) fn parse(patch: &[u8]) -> Result<Vec<FilePatch<'_>>, Error> {
    let (mut lines, mut files) = (Lines { rest: patch, number: 1 }, Vec::new());
    while let Some(line) = lines.peek() {
        if line.starts_with(b"diff --git ") {
            files.push(file(&mut lines)?);
            continue;
        }
        lines.next();
        let is_part = [&b"@@ -"[..], b"--- a/", b"+++ b/", b"GIT binary patch", b"rename from ", b"literal ", b"delta "];
        if is_part.iter().any(|part| line.starts_with(part)) {
            return Err(lines.malformed("a part of a patch without the line \"diff --git\" that begins it"));
        }
    }
    if files.is_empty() && !patch.iter().all(u8::is_ascii_whitespace) {
        return Err(lines.malformed("no patch of git's, which begins with \"diff --git\""));
    }
    Ok(files)
}

/// What the lines before the content say.
#[derive(Default)]
struct Head {
    from: Option<Vec<u8>>,
    to: Option<Vec<u8>>,
    is_new: bool,
    is_removed: bool,
    is_copy: bool,
    /// Whether the lines tell of two names.
    is_renamed_or_copied: bool,
    old_mode: Option<Mode>,
    new_mode: Option<Mode>,
    ids: Option<(Id, Id)>,
}

fn file<'a>(lines: &mut Lines<'a>) -> Result<FilePatch<'a>, Error> {
    let line = lines.number;
    let both = lines.after(b"diff --git ").and_then(names::pair);
    let mut head = head(lines)?;
    let content = content(lines, &mut head)?;
    let place = Position::Line(line);
    let no_name = || Error::malformed(place, "the names of the file are missing, or differ");
    let (old, new) = match (head.from, head.to, both) {
        (Some(from), Some(to), _) => (from, to),
        (from, to, both) => {
            let (old, new) = both
                .or_else(|| from.clone().zip(to.clone()))
                .or_else(|| {
                    let one = from.clone().or(to.clone())?;
                    Some((one.clone(), one))
                })
                .ok_or_else(no_name)?;
            (from.unwrap_or(old), to.unwrap_or(new))
        }
    };
    if !head.is_renamed_or_copied && old != new {
        return Err(no_name());
    }
    if head.is_new && (head.is_removed || head.new_mode.is_none()) {
        return Err(Error::malformed(place, "the file is new and removed at once, or has no mode"));
    }
    Ok(FilePatch {
        line,
        old: if head.is_new { None } else { Some(checked(&old, place)?) },
        new: if head.is_removed { None } else { Some(checked(&new, place)?) },
        is_copy: head.is_copy,
        old_mode: head.old_mode,
        new_mode: head.new_mode,
        ids: head.ids,
        content,
    })
}

/// Parses the lines before the content.
fn head(lines: &mut Lines<'_>) -> Result<Head, Error> {
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

fn content<'a>(lines: &mut Lines<'a>, head: &mut Head) -> Result<Content<'a>, Error> {
    head.is_renamed_or_copied = head.from.is_some() || head.to.is_some();
    match lines.peek() {
        Some(line) if line.starts_with(b"--- ") => text(lines, head),
        Some(b"GIT binary patch\n") => {
            lines.next();
            let forward = packed(lines)?.ok_or_else(|| lines.malformed("the binary content is missing"))?;
            // The way back.
            packed(lines)?;
            Ok(forward)
        }
        Some(line) if line.starts_with(b"Binary files ") => {
            lines.next();
            Err(lines.malformed("the binary content was left out; have git write it by --binary"))
        }
        _ => Ok(Content::Same),
    }
}

fn text<'a>(lines: &mut Lines<'a>, head: &mut Head) -> Result<Content<'a>, Error> {
    for (prefix, is_old) in [(&b"--- "[..], true), (b"+++ ", false)] {
        let line = lines.after(prefix);
        let name = line.and_then(names::single).ok_or_else(|| lines.malformed("a name is missing or none"))?;
        if name == b"/dev/null" {
            if is_old {
                head.is_new = true
            } else {
                head.is_removed = true
            }
            continue;
        }
        let name = names::without_prefix(&name).ok_or_else(|| lines.malformed("a name without a prefix"))?;
        let told = if is_old { &mut head.from } else { &mut head.to };
        if told.as_ref().is_some_and(|told| *told != name) {
            return Err(lines.malformed("a name differs from the one above"));
        }
        *told = Some(name);
    }
    let mut hunks = Vec::new();
    while lines.peek().is_some_and(|line| line.starts_with(b"@@ -")) {
        hunks.push(hunk(lines)?);
    }
    if hunks.is_empty() { Err(lines.malformed("the text has no hunk")) } else { Ok(Content::Text(hunks)) }
}

/// Parses the first number and the count of a range.
fn range(text: &str) -> Option<(u64, u64)> {
    let (start, length) = text.split_once(',').unwrap_or((text, "1"));
    Some((start.parse().ok()?, length.parse().ok()?))
}

fn hunk<'a>(lines: &mut Lines<'a>) -> Result<Hunk<'a>, Error> {
    let line = lines.number;
    let ranges = lines.after(b"@@ -").and_then(|text| {
        let end = text.windows(3).position(|end| end == b" @@")?;
        let (old, new) = std::str::from_utf8(&text[..end]).ok()?.split_once(" +")?;
        Some((range(old)?, range(new)?))
    });
    let ((start, mut old), (_, mut new)) = ranges.ok_or_else(|| lines.malformed("the ranges of a hunk are none"))?;
    let mut found = Vec::new();
    while old > 0 || new > 0 {
        let text = lines.next().ok_or_else(|| Error::malformed(Position::Line(line), "the hunk is cut off"))?;
        let (sign, text) = match text {
            [b' ', text @ ..] => (Sign::Kept, text),
            // Some programs take the blank away.
            b"\n" => (Sign::Kept, text),
            [b'-', text @ ..] => (Sign::Removed, text),
            [b'+', text @ ..] => (Sign::Added, text),
            _ => return Err(lines.malformed("no line of a hunk")),
        };
        let of_old = u64::from(sign != Sign::Added);
        let of_new = u64::from(sign != Sign::Removed);
        (old, new) = match (old.checked_sub(of_old), new.checked_sub(of_new)) {
            (Some(old), Some(new)) => (old, new),
            _ => return Err(lines.malformed("the hunk has other lines than it says")),
        };
        let has_end = !lines.peek().is_some_and(|line| line.starts_with(b"\\ "));
        if !has_end {
            lines.next();
        }
        if !text.ends_with(b"\n") {
            return Err(lines.malformed("the hunk is cut off"));
        }
        found.push((sign, if has_end { text } else { bare(text) }));
    }
    Ok(Hunk { line, start, lines: found })
}

/// Parses packed content, if there is any.
fn packed<'a>(lines: &mut Lines<'a>) -> Result<Option<Content<'a>>, Error> {
    let (size, is_delta) = match lines.after(b"literal ") {
        Some(size) => (size, false),
        None => match lines.after(b"delta ") {
            Some(size) => (size, true),
            None => return Ok(None),
        },
    };
    let size = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok());
    let size = size.ok_or_else(|| lines.malformed("the size is none"))?;
    let mut bytes = Vec::new();
    loop {
        match lines.next() {
            Some(b"\n") => break,
            Some(line) if line.ends_with(b"\n") => {
                binary::decode(bare(line), &mut bytes).ok_or_else(|| lines.malformed("no line of binary content"))?;
            }
            _ => return Err(lines.malformed("the binary content is cut off")),
        }
    }
    let packed = Packed { size, bytes };
    Ok(Some(if is_delta { Content::Delta(packed) } else { Content::Literal(packed) }))
}
