//! A patch in git's format, parsed.
//!
//! What always holds: each path leads down from the root, and what is told of a file twice (its
//! names, whether it is new) agrees. Text before the first file and between files is passed over,
//! unless it looks like a part of a patch.

use super::binary;
use super::head::{Head, Lines, bare, head};
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
