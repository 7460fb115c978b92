//! A counter of the lines in a tree, by the extension of the file.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use pathwalk::{Context, File};

/// Counts the lines of all files below `directory`; links are not followed.
pub fn count_lines(fs: &Context, directory: &Path) -> io::Result<BTreeMap<String, u64>> {
    let mut counts = BTreeMap::new();
    count_below(fs, directory, &mut counts)?;
    Ok(counts)
}

fn count_below(fs: &Context, directory: &Path, counts: &mut BTreeMap<String, u64>) -> io::Result<()> {
    for entry in fs.read_dir(directory)? {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            count_below(fs, &path, counts)?;
        } else if entry.file_type()?.is_file() && entry.metadata(fs)?.len() > 0 {
            let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
            let lines = BufReader::new(File::open(fs, &path)?).split(b'\n');
            *counts.entry(extension).or_default() += lines.count() as u64;
        }
    }
    Ok(())
}
