//! A sandbox: files from an untrusted source are written into a confined directory, and what came
//! of it is packed with the crate `tar`. No path and no link leads out of the directory.
//!
//! ```sh
//! cargo run -p pathwalk-examples --example sandbox
//! ```
//!
//! A [`pathwalk::File`] is a `Read`, so it goes into the archive as it is. The same program with
//! other crates:
//!
//! - 44 lines in `counterparts/sandbox_cap_std.rs`, with `cap-std`: it refuses a path that leads
//!   out, where this one takes it as a process with that root does. It is bound to a directory of
//!   the host, without users, limits and other file systems. It has no walk.
//! - 52 lines in `counterparts/sandbox_std.rs`, with `std::fs`: between the check of a path and its
//!   use, another process may put a link there.

use std::io::{Result, empty};
use std::path::Path;

use pathwalk::{Context, Credentials, Errno, File, FileType, Vfs};
use pathwalk_memfs::MemFs;
use tar::{Archive, Builder, EntryType, Header};

/// Packs all that is in the sandbox.
fn pack(jail: &Context) -> Result<Vec<u8>> {
    let mut tar = Builder::new(Vec::new());
    for entry in jail.walk(".")? {
        let entry = entry?;
        let (path, of, mut header) = (entry.path(), entry.metadata(jail)?, Header::new_gnu());
        header.set_mode(of.mode.into());
        header.set_size(if of.is_file() { of.len() } else { 0 });
        match of.kind {
            FileType::Directory => {
                header.set_entry_type(EntryType::Directory);
                tar.append_data(&mut header, path, empty())?;
            }
            FileType::Symlink => {
                header.set_entry_type(EntryType::Symlink);
                tar.append_link(&mut header, &path, jail.read_link(&path)?)?;
            }
            _ => tar.append_data(&mut header, &path, File::open(jail, &path)?)?,
        }
    }
    tar.into_inner()
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let host = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
    host.write("/secret", "of the host")?;
    host.create_dir("/jail")?;
    host.symlink("../secret", "/jail/link")?;
    let jail = host.confined(&host.lookup("/jail")?)?;
    for path in ["notes/today", "../../etc/passwd", "/etc/motd", "link"] {
        jail.create_dir_all(Path::new(path).parent().unwrap_or("/".as_ref()))?;
        jail.write(path, "untrusted")?;
    }
    assert_eq!((host.read_to_string("/secret")?.as_str(), host.stat("/etc")), ("of the host", Err(Errno::ENOENT)));
    let packed = pack(&jail)?;
    let paths = Archive::new(&packed[..]).entries()?.map(|entry| Ok(entry?.path()?.into_owned())).collect::<Result<Vec<_>>>()?;
    println!("{paths:?}");
    assert!(["etc/passwd", "etc/motd", "link", "secret"].iter().all(|path| paths.contains(&path.into())));
    Ok(())
}
