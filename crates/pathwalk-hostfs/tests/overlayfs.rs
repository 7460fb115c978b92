//! A directory on overlayfs: a file keeps its node when it is copied to the upper layer, and the
//! errors are the kernel's.

use std::error::Error;
use std::fs;
use std::os::fd::AsRawFd as _;

use pathwalk::{Credentials, Errno, OpenFlags, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};
use pathwalk_tests::mounts::new_overlay;
use pathwalk_tests::skipped;

#[test]
fn a_node_stays_the_same_when_it_is_copied_up() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let layers = ["lower", "upper", "work"].map(|name| dir.path().join(name));
    layers.iter().try_for_each(fs::create_dir)?;
    fs::create_dir(layers[0].join("below"))?;
    let mount = match new_overlay([&layers[0], &layers[1], &layers[2]], &[("redirect_dir", "off")]) {
        Err(error) => {
            skipped("directories on overlayfs", &format!("it cannot be mounted: {error}"));
            return Ok(());
        }
        Ok(mount) => mount,
    };
    let at = format!("/proc/self/fd/{}/.", mount.as_raw_fd());
    for (round, coherence) in
        [Coherence::Frozen, Coherence::Exclusive, Coherence::Watch, Coherence::Strict].into_iter().enumerate()
    {
        for is_writable in [false, true] {
            let name = format!("{round}-{is_writable}");
            // An overlay whose lower layer changes is undefined for names that were looked for.
            fs::write(layers[0].join(&name), "old")?;
            let host = if is_writable { HostFs::open_writable(at.as_ref())? } else { HostFs::open(at.as_ref())? };
            let context = Vfs::builder().build(host.with_coherence(coherence))?.context(Credentials::root());
            let before = context.lookup(&name)?;
            match is_writable {
                true => context.open(&name, OpenFlags::WRITE)?.write_at(b"new", 0).map(drop)?,
                false => fs::write(format!("{at}/{name}"), "new")?,
            }
            context.vfs().refresh(&before)?;
            assert_eq!(context.read(&name)?, b"new", "{coherence:?}");
            assert_eq!(context.lookup(&name)?.node_id(), before.node_id(), "{coherence:?}, {is_writable}");
        }
    }
    let host = HostFs::open_writable(at.as_ref())?;
    let context = Vfs::builder().build(host)?.context(Credentials::root());
    assert_eq!(fs::rename(format!("{at}/below"), format!("{at}/new")).map_err(|error| error.raw_os_error()), Err(Some(18)));
    assert_eq!(context.rename("below", "new").map_err(Errno::from), Err(Errno::EXDEV));
    Ok(())
}
