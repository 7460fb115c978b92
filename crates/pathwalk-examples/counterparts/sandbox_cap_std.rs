//! `examples/sandbox.rs` with `cap-std`, in a directory of the host.

use std::io::{Error, ErrorKind, Result, Write, empty};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt};

fn unpack(jail: &Dir, path: &str, contents: &str) -> Result<()> {
    if let Some(directory) = Path::new(path).parent() {
        jail.create_dir_all(directory)?;
    }
    jail.write(path, contents)
}

fn pack(jail: &Dir, path: &Path, tar: &mut tar::Builder<impl Write>) -> Result<()> {
    for entry in jail.read_dir(path)? {
        let path = path.join(entry?.file_name());
        let (of, mut header) = (jail.symlink_metadata(&path)?, tar::Header::new_gnu());
        header.set_mode(of.mode() & 0o7777);
        header.set_size(if of.is_file() { of.len() } else { 0 });
        if of.is_dir() {
            header.set_entry_type(tar::EntryType::Directory);
            tar.append_data(&mut header, &path, empty())?;
            pack(jail, &path, tar)?;
        } else if of.is_symlink() {
            header.set_entry_type(tar::EntryType::Symlink);
            tar.append_link(&mut header, &path, jail.read_link_contents(&path)?)?;
        } else {
            tar.append_data(&mut header, &path, jail.open(&path)?)?;
        }
    }
    Ok(())
}

fn main() -> Result<()> {
    let host = tempfile::tempdir()?;
    std::fs::write(host.path().join("secret"), "of the host")?;
    std::fs::create_dir(host.path().join("jail"))?;
    std::os::unix::fs::symlink("../secret", host.path().join("jail/link"))?;
    let jail = Dir::open_ambient_dir(host.path().join("jail"), ambient_authority())?;
    unpack(&jail, "notes/today", "untrusted")?;
    for path in ["../../etc/passwd", "/etc/motd", "link"] {
        assert_eq!(unpack(&jail, path, "untrusted").map_err(|error: Error| error.kind()), Err(ErrorKind::PermissionDenied));
    }
    let mut tar = tar::Builder::new(Vec::new());
    pack(&jail, ".".as_ref(), &mut tar)?;
    assert_eq!(tar::Archive::new(&tar.into_inner()?[..]).entries()?.count(), 3);
    Ok(())
}
