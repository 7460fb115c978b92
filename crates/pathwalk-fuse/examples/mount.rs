//! Mounts a tree until it is unmounted: an empty one in memory, a directory of the host, an empty
//! one with a directory of the host on `/host` within, a branch of a directory, which is gone with
//! the mount, or one of many files that are computed. With `told`, the program is told of each
//! open.
//!
//! ```sh
//! cargo run -p pathwalk-fuse --example mount -- mem /mnt
//! cargo run -p pathwalk-fuse --example mount -- mem /mnt told
//! cargo run -p pathwalk-fuse --example mount -- /srv/www /mnt
//! cargo run -p pathwalk-fuse --example mount -- both /mnt /srv/www
//! cargo run -p pathwalk-fuse --example mount -- branch /mnt /srv/www told
//! cargo run -p pathwalk-fuse --example mount -- files /mnt 10000000
//! umount /mnt
//! ```

use std::error::Error;
use std::ffi::{OsStr, OsString};

use pathwalk::{Context, Credentials, MountFlags, Vfs};
use pathwalk_branch::Branches;
use pathwalk_fuse::{CacheTimes, Opens, Options, mount};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_memfs::MemFs;
use pathwalk_synthfs::{Shape, SynthFs};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [source, at, rest @ ..] = &arguments[..] else {
        return Err("usage: mount SOURCE MOUNTPOINT, with `mem`, a directory, `both`, `branch` or `files` as the source".into());
    };
    let mut options = Options::default();
    options.source = source.to_string_lossy().into();
    options.times = CacheTimes::FOREVER;
    // Of two file systems, each may refuse to be written to.
    let is_told = source == "both" || rest.iter().any(|word| word == "told");
    options.opens = if is_told { Opens::Told } else { Opens::Untold };
    (options.dev, options.suid) = (true, true);
    let mounted = mount(&tree(source, rest.first())?, at, &options)?;
    println!("mounted on {}", mounted.at().display());
    while !mounted.wait_for(std::time::Duration::from_secs(10)) {
        println!("{:?}", mounted.pinned());
    }
    Ok(())
}

/// Returns the context of a tree that changes by its `Vfs` only.
fn tree(source: &OsStr, argument: Option<&OsString>) -> Result<Context, Box<dyn Error>> {
    let given = || argument.ok_or("`both` and `branch` need a directory behind the mount point, and `files` a number");
    Ok(match source.as_encoded_bytes() {
        b"mem" => Vfs::builder().mount_flags(MountFlags::NOATIME).build(memory())?.context(Credentials::root()),
        b"both" => {
            let context = Vfs::builder().build(MemFs::new())?.context(Credentials::root());
            context.create_dir("/host")?;
            context.mount(host(given()?)?, "/host", MountFlags::empty())?;
            context
        }
        b"branch" => {
            let base = Vfs::builder().build(host(given()?)?)?.context(Credentials::root());
            let branches =
                Branches::with(base, pathwalk_branch::Options::default().clock(|| std::time::SystemTime::now().into()))?;
            let branch = branches.fork(None, "mounted")?;
            Vfs::builder().mount_flags(MountFlags::NOATIME).build(branch)?.context(Credentials::root())
        }
        b"files" => {
            let files: u32 = given()?.to_str().and_then(|text| text.parse().ok()).ok_or("no number of files")?;
            let shape = Shape::new(files.div_ceil(100_000), 1_000, 100)?;
            Vfs::builder().budget(128 << 20).build(SynthFs::new(shape))?.context(Credentials::root())
        }
        _ => Vfs::builder().build(host(source)?)?.context(pathwalk_hostfs::credentials()?),
    })
}

/// Returns a tree in memory, with times as fine as those of the kernel.
fn memory() -> MemFs {
    MemFs::with(pathwalk_memfs::Options::default().clock(|| std::time::SystemTime::now().into()))
}

fn host(dir: &OsStr) -> Result<HostFs, Box<dyn Error>> {
    Ok(HostFs::open_writable(dir.as_ref())?.with_coherence(Coherence::Exclusive))
}
