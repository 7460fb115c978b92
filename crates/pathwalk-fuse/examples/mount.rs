//! Mounts an empty tree in memory, or a directory of the host, until it is unmounted.
//!
//! ```sh
//! cargo run -p pathwalk-fuse --example mount -- mem /mnt
//! cargo run -p pathwalk-fuse --example mount -- /srv/www /mnt
//! umount /mnt
//! ```

use std::error::Error;

use pathwalk::{Context, Credentials, Vfs};
use pathwalk_fuse::{CacheTimes, Options, mount};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(source), Some(at)) = (arguments.next(), arguments.next()) else {
        return Err("usage: mount SOURCE MOUNTPOINT, with `mem` or a directory as the source".into());
    };
    let mut options = Options::default();
    options.source = source.to_string_lossy().into();
    options.times = CacheTimes::FOREVER;
    (options.dev, options.suid) = (true, true);
    let mounted = mount(&tree(&source)?, &at, &options)?;
    println!("mounted on {}", mounted.at().display());
    mounted.wait();
    Ok(())
}

/// Returns the context of a tree that changes through the mount only.
fn tree(source: &std::ffi::OsStr) -> Result<Context, Box<dyn Error>> {
    if source == "mem" {
        return Ok(Vfs::builder().build(MemFs::new())?.context(Credentials::root()));
    }
    let fs = HostFs::open_writable(source.as_ref())?.with_coherence(Coherence::Exclusive);
    Ok(Vfs::builder().build(fs)?.context(pathwalk_hostfs::credentials()?))
}
