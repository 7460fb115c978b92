//! A recursive copy with permissions, times and links.

use std::io;
use std::path::Path;

use pathwalk::{Context, File};

/// Copies what is at `from` to `to`, which must not exist. Returns the number of bytes in files.
pub fn copy_tree(fs: &Context, from: &Path, to: &Path) -> io::Result<u64> {
    let metadata = fs.symlink_metadata(from)?;
    let mut bytes = 0;
    if metadata.is_symlink() {
        fs.symlink(fs.read_link(from)?, to)?;
        return Ok(0);
    } else if metadata.is_dir() {
        fs.create_dir(to)?;
        for entry in fs.read_dir(from)? {
            let entry = entry?;
            bytes += copy_tree(fs, &entry.path(), &to.join(entry.file_name()))?;
        }
        fs.set_permissions(to, metadata.permissions())?;
    } else {
        bytes += fs.copy(from, to)?;
    }
    File::open(fs, to)?.set_modified(metadata.modified()?)?;
    Ok(bytes)
}
