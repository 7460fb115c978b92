//! The writer: a file after another, in the order of their paths.

use std::io::{Read as _, Write};

use pathwalk::{Context, FileType};
use pathwalk_branch::Change;
use sha1::Digest as _;

use super::names::quoted;
use super::{Id, Mode, TEXT_MAX, binary, hunks, id_of, id_of_size, is_text};
use crate::data::{PART, Reader};
use crate::error::Error;
use crate::files::Files;
use crate::path::PathBytes;
use crate::plan::Plan;
use crate::similarity::Pieces;
use crate::tree::Tree;

/// Writes changes between two trees as a patch.
///
/// [`patch`](crate::patch) has an example.
pub fn write(changes: &[Change], old: &Context, new: &Context, out: impl Write) -> Result<(), Error> {
    let (old, new) = (Tree::of(old)?, Tree::of(new)?);
    let plan = Plan::of(changes, &old, &new)?;
    let files = Files::of(&plan, &old, &new)?;
    let mut writer = Writer { old: &old, new: &new, out };
    // A removal comes before what comes in its place.
    let removed = files.removed.keys().map(|path| (path, 0, Some(path), None));
    let kept = files.kept.iter().map(|(path, (was, _))| (path, 1, Some(was), Some(path)));
    let added = files.added.keys().map(|path| (path, 2, None, Some(path)));
    let mut all: Vec<_> = removed.chain(kept).chain(added).collect();
    all.sort();
    for (_, _, was, path) in all {
        writer.file(was, path)?;
    }
    writer.out.flush().map_err(Error::Output)
}

/// A side of a file's change.
struct Side<'t> {
    tree: &'t Tree,
    path: PathBytes,
    mode: Mode,
    /// The content, if it is text, or the body of a link.
    text: Option<Vec<u8>>,
    size: u64,
    id: Id,
}

impl<'t> Side<'t> {
    /// Reads a side; `None` for what git does not know.
    fn read(tree: &'t Tree, path: &PathBytes) -> Result<Option<Side<'t>>, Error> {
        let of = tree.attributes(path)?;
        let Some(mode) = Mode::of(of.kind, of.mode) else { return Ok(None) };
        let content = match mode {
            Mode::Link => Some(tree.body(path)?),
            _ if of.size <= TEXT_MAX => Some(Reader::open(tree, path)?.whole()?),
            _ => None,
        };
        let (size, id) = match &content {
            Some(content) => (content.len() as u64, id_of(content)),
            None => long_id(tree, path)?,
        };
        let text = content.filter(|content| is_text(content));
        Ok(Some(Side { tree, path: path.clone(), mode, text, size, id }))
    }

    /// Returns what the path is below the root.
    fn name(&self) -> &[u8] {
        &self.path[1..]
    }
}

/// Returns the size and the id of a file that is read a part at a time.
fn long_id(tree: &Tree, path: &[u8]) -> Result<(u64, Id), Error> {
    let mut reader = Reader::open(tree, path)?;
    let (size, mut buffer) = (reader.size(), vec![0; PART]);
    let mut id = id_of_size(size);
    loop {
        match reader.read(&mut buffer).map_err(|error| reader.failed(&error))? {
            0 => return Ok((size, id.finalize().into())),
            length => id.update(&buffer[..length]),
        }
    }
}

fn shown(id: Option<&Id>) -> String {
    id.unwrap_or(&[0; 20]).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns how similar two files are, in percent.
fn similarity(old: &Side<'_>, new: &Side<'_>) -> Result<u8, Error> {
    if old.id == new.id {
        return Ok(100);
    }
    if let (Some(old), Some(new)) = (&old.text, &new.text) {
        return Ok(Pieces::of(old).similarity(&Pieces::of(new)));
    }
    // The parts that are the same at the same place.
    let (mut one, mut other) = (Reader::open(old.tree, &old.path)?, Reader::open(new.tree, &new.path)?);
    let (mut equal, mut buffers) = (0, [vec![0; PART], vec![0; PART]]);
    loop {
        let mut lengths = [0; 2];
        for (at, reader) in [&mut one, &mut other].into_iter().enumerate() {
            while lengths[at] < PART {
                match reader.read(&mut buffers[at][lengths[at]..]).map_err(|error| reader.failed(&error))? {
                    0 => break,
                    more => lengths[at] += more,
                }
            }
        }
        if lengths.contains(&0) {
            return Ok((equal * 100 / old.size.max(new.size).max(1)).min(99) as u8);
        }
        if buffers[0][..lengths[0]] == buffers[1][..lengths[1]] {
            equal += lengths[0] as u64;
        }
    }
}

struct Writer<'t, W> {
    old: &'t Tree,
    new: &'t Tree,
    out: W,
}

impl<W: Write> Writer<'_, W> {
    /// Writes what became of a file.
    fn file(&mut self, was: Option<&PathBytes>, path: Option<&PathBytes>) -> Result<(), Error> {
        let read = |tree, path: Option<&PathBytes>| path.map_or(Ok(None), |path| Side::read(tree, path));
        let (old, new) = (read(self.old, was)?, read(self.new, path)?);
        let (Some(first), Some(second)) = (old.as_ref().or(new.as_ref()), new.as_ref().or(old.as_ref())) else { return Ok(()) };
        let is_at_home = first.path == second.path;
        if let (Some(old), Some(new), true) = (&old, &new, is_at_home)
            && (old.mode, old.id) == (new.mode, new.id)
        {
            return Ok(());
        }
        let mut head = [b"diff --git ", &quoted("a/", first.name())[..], b" ", &quoted("b/", second.name()), b"\n"].concat();
        match (&old, &new) {
            (Some(old), None) => head.extend(format!("deleted file mode {}\n", old.mode.shown()).into_bytes()),
            (None, Some(new)) => head.extend(format!("new file mode {}\n", new.mode.shown()).into_bytes()),
            (Some(old), Some(new)) => {
                if old.mode != new.mode {
                    head.extend(format!("old mode {}\nnew mode {}\n", old.mode.shown(), new.mode.shown()).into_bytes());
                }
                if old.path != new.path {
                    head.extend(format!("similarity index {}%\nrename from ", similarity(old, new)?).into_bytes());
                    head.extend([&quoted("", old.name())[..], b"\nrename to ", &quoted("", new.name()), b"\n"].concat());
                }
            }
            (None, None) => {}
        }
        let ids = (old.as_ref().map(|side| &side.id), new.as_ref().map(|side| &side.id));
        // git looks at the modes that are written, before it looks at the tree: a renamed link in
        // whose place a directory comes is otherwise a link to it, beyond which it writes nothing.
        let is_renamed_link = first.mode == Mode::Link && !is_at_home;
        if ids.0 != ids.1 || is_renamed_link {
            let mode =
                if old.as_ref().map(|side| side.mode) == new.as_ref().map(|side| side.mode) { Some(first.mode) } else { None };
            let mode = mode.map_or(String::new(), |mode| format!(" {}", mode.shown()));
            head.extend(format!("index {}..{}{mode}\n", shown(ids.0), shown(ids.1)).into_bytes());
        }
        self.out.write_all(&head).map_err(Error::Output)?;
        if ids.0 == ids.1 { Ok(()) } else { self.content(old.as_ref(), new.as_ref()) }
    }

    fn content(&mut self, old: Option<&Side<'_>>, new: Option<&Side<'_>>) -> Result<(), Error> {
        let text = |side: Option<&Side<'_>>| side.map_or(Some(Vec::new()), |side| side.text.clone());
        let (Some(before), Some(after)) = (text(old), text(new)) else {
            self.out.write_all(b"GIT binary patch\n").map_err(Error::Output)?;
            self.literal(new)?;
            return self.literal(old);
        };
        if before.is_empty() && after.is_empty() {
            return Ok(());
        }
        // A tab ends a name with blanks.
        let line = |sign: &[u8], prefix: &str, side: Option<&Side<'_>>| {
            let name = side.map_or(b"/dev/null".to_vec(), |side| quoted(prefix, side.name()));
            let end: &[u8] = if name.contains(&b' ') && !name.starts_with(b"\"") { b"\t\n" } else { b"\n" };
            [sign, &name, end].concat()
        };
        let names = [line(b"--- ", "a/", old), line(b"+++ ", "b/", new)].concat();
        let written = self.out.write_all(&names).and_then(|()| hunks::write(&before, &after, &mut self.out));
        written.map_err(Error::Output)
    }

    /// Writes the content of a side as it is.
    fn literal(&mut self, side: Option<&Side<'_>>) -> Result<(), Error> {
        let size = side.map_or(0, |side| side.size);
        writeln!(self.out, "literal {size}").map_err(Error::Output)?;
        match side {
            Some(side) if side.mode.kind() == FileType::Symlink => {
                binary::write(&side.tree.body(&side.path)?[..], &mut self.out).map_err(Error::Output)
            }
            Some(side) => binary::write(Reader::open(side.tree, &side.path)?, &mut self.out).map_err(Error::Output),
            None => binary::write(&b""[..], &mut self.out).map_err(Error::Output),
        }
    }
}
