//! `examples/sandbox.rs` with `std::fs`, in a directory of the host.

use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result, Write, empty};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Component, Path};

fn unpack(jail: &Path, path: &str, contents: &str) -> Result<()> {
    if !Path::new(path).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    let file = jail.join(path);
    if let Some(directory) = file.parent() {
        fs::create_dir_all(directory)?;
        if !directory.canonicalize()?.starts_with(jail.canonicalize()?) || file.is_symlink() {
            return Err(ErrorKind::PermissionDenied.into());
        }
    }
    fs::write(file, contents)
}

fn pack(jail: &Path, path: &Path, tar: &mut tar::Builder<impl Write>) -> Result<()> {
    for entry in fs::read_dir(jail.join(path))? {
        let entry = entry?;
        let path = path.join(entry.file_name());
        let (of, mut header) = (entry.metadata()?, tar::Header::new_gnu());
        header.set_mode(of.mode() & 0o7777);
        header.set_size(if of.is_file() { of.len() } else { 0 });
        if of.is_dir() {
            header.set_entry_type(tar::EntryType::Directory);
            tar.append_data(&mut header, &path, empty())?;
            pack(jail, &path, tar)?;
        } else if of.is_symlink() {
            header.set_entry_type(tar::EntryType::Symlink);
            tar.append_link(&mut header, &path, fs::read_link(entry.path())?)?;
        } else {
            tar.append_data(&mut header, &path, File::open(entry.path())?)?;
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let host = tempfile::tempdir()?;
    let jail = host.path().join("jail");
    fs::write(host.path().join("secret"), "of the host")?;
    fs::create_dir(&jail)?;
    symlink("../secret", jail.join("link"))?;
    unpack(&jail, "notes/today", "untrusted")?;
    for path in ["../../etc/passwd", "/etc/motd", "link"] {
        assert_eq!(unpack(&jail, path, "untrusted").map_err(|error: Error| error.kind()), Err(ErrorKind::PermissionDenied));
    }
    let mut tar = tar::Builder::new(Vec::new());
    pack(&jail, ".".as_ref(), &mut tar)?;
    assert_eq!(tar::Archive::new(&tar.into_inner()?[..]).entries()?.count(), 3);
    Ok(())
}
