//! A generator of static sites: pages of text become HTML in a template, the rest is copied, and an
//! index links all pages.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use pathwalk::{Context, File, OpenOptions};

/// Builds the site in `from` anew in `to`, and adds a line to the log beside it. Returns the number
/// of pages.
pub fn build(fs: &Context, from: &Path, to: &Path) -> io::Result<usize> {
    if fs.exists(to)? {
        fs.remove_dir_all(to)?;
    }
    fs.create_dir_all(to)?;
    let template = fs.read_to_string(from.join("template.html"))?;
    let mut pages = Vec::new();
    build_below(fs, &from.join("pages"), to, &template, &mut pages)?;
    pages.sort();
    let mut index = BufWriter::new(File::create(fs, to.join("index.html"))?);
    for page in &pages {
        writeln!(index, "<a href=\"{page}\">{page}</a>")?;
    }
    index.flush()?;
    let mut log = OpenOptions::new().append(true).create(true).open(fs, to.with_extension("log"))?;
    writeln!(log, "{} pages", pages.len())?;
    Ok(pages.len())
}

fn build_below(fs: &Context, from: &Path, to: &Path, template: &str, pages: &mut Vec<String>) -> io::Result<()> {
    for entry in fs.read_dir(from)? {
        let entry = entry?;
        let (source, name) = (entry.path(), entry.file_name());
        let target = to.join(&name);
        if entry.file_type()?.is_dir() {
            fs.create_dir(&target)?;
            build_below(fs, &source, &target, template, pages)?;
        } else if source.extension().is_some_and(|extension| extension == "txt") {
            let page = target.with_extension("html");
            let text = fs.read_to_string(&source)?;
            let title = text.lines().next().unwrap_or_default();
            let body: String = text.split("\n\n").skip(1).map(|part| format!("<p>{}</p>\n", part.trim())).collect();
            fs.write(&page, template.replace("{title}", title).replace("{body}", &body))?;
            pages.push(page.file_name().unwrap_or_default().to_string_lossy().into_owned());
        } else {
            fs.copy(&source, &target)?;
        }
    }
    Ok(())
}
