//! The files that are written beside the report. They are opened before another root is entered,
//! because they could not be reached from there.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pathwalk_bench::machine::escaped;

use super::source::Source;
use super::survey::Survey;
use super::svg;
use super::tree::Tree;
use super::verdict::Interview;
use crate::args::ReplayArgs;

/// The requested files.
pub(crate) struct Outputs {
    title: String,
    svg: Option<Output>,
    tree: Option<Output>,
}

struct Output {
    path: PathBuf,
    file: File,
}

impl Outputs {
    /// Creates the requested files. Existing contents are removed.
    pub(crate) fn open(args: &ReplayArgs) -> anyhow::Result<Outputs> {
        let title = match args.trace.as_deref() {
            None => "a compiler's lookups".into(),
            Some(path) if path == Path::new("-") => "lookups from standard input".into(),
            Some(path) => escaped(path.file_name().map_or(path, Path::new)).to_string(),
        };
        let open = |path: &Option<PathBuf>| path.as_deref().map(Output::create).transpose();
        Ok(Outputs { title, svg: open(&args.svg)?, tree: open(&args.tree)? })
    }

    /// Returns whether a tree was requested.
    pub(crate) fn wants_tree(&self) -> bool {
        self.tree.is_some()
    }

    /// Writes the files. Returns notes about them for the user.
    pub(crate) fn write(
        self,
        source: &Source,
        survey: &Survey,
        interview: &Interview<'_>,
        tree: Option<&Tree>,
    ) -> anyhow::Result<Vec<String>> {
        let mut notes = Vec::new();
        if let Some(output) = self.svg {
            let picture = svg::picture(&self.title, survey, interview, |i| source.recording.lookups[i].answers.total());
            output.write(&mut |out| out.write_all(picture.as_bytes()))?;
            notes.push(format!("the picture is in \"{}\"; open it in a browser", escaped(&output.path)));
        }
        if let Some((output, tree)) = self.tree.zip(tree) {
            output.write(&mut |out| tree.write(out))?;
            notes.push(format!("{} directories, files and links are in \"{}\"", tree.len(), escaped(&output.path)));
            if tree.unwritable() > 0 {
                notes.push(format!(
                    "{} names with a TAB or a line's end in them, or in what they lead to, are not",
                    tree.unwritable()
                ));
            }
        }
        Ok(notes)
    }
}

impl Output {
    fn create(path: &Path) -> anyhow::Result<Output> {
        let file = File::create(path)
            .with_context(|| format!("cannot create \"{}\"; name a file in a directory that you may write to", escaped(path)))?;
        Ok(Output { path: path.to_owned(), file })
    }

    fn write(&self, content: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>) -> anyhow::Result<()> {
        let mut out = BufWriter::new(&self.file);
        content(&mut out).and_then(|()| out.flush()).with_context(|| format!("writing \"{}\"", escaped(&self.path)))
    }
}
