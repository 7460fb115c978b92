//! A file that is saved atomically on the host, and a directory that is swapped: an operation by
//! name finds what has the name now, without being told.

use std::error::Error;
use std::fs;

use pathwalk::{Context, Credentials, Errno, OpenFlags, Vfs};
use pathwalk_hostfs::{Coherence, HostFs};

fn world() -> Result<(tempfile::TempDir, Context), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    fs::create_dir(dir.path().join("www"))?;
    fs::write(dir.path().join("www/index.html"), "old")?;
    let context = Vfs::builder().build(HostFs::open(dir.path())?.with_coherence(Coherence::Frozen))?.context(Credentials::root());
    Ok((dir, context))
}

#[test]
fn an_atomic_save_is_opened_by_name() -> Result<(), Box<dyn Error>> {
    let (dir, context) = world()?;
    let www = dir.path().join("www");
    for n in 0..3 {
        let before = context.lookup("/www/index.html")?;
        context.open("/www/index.html", OpenFlags::READ)?;
        fs::write(www.join("t"), format!("new {n}"))?;
        fs::rename(www.join("t"), www.join("index.html"))?;
        assert_eq!(context.read_to_string("/www/index.html")?, format!("new {n}"));
        // A handle stays on the node that is gone.
        assert_eq!(context.vfs().refresh(&before), Err(Errno::ESTALE));
    }
    Ok(())
}

#[test]
fn refresh_of_what_is_gone_heals_the_name() -> Result<(), Box<dyn Error>> {
    let (dir, context) = world()?;
    let index = context.lookup("/www/index.html")?;
    fs::write(dir.path().join("www/t"), "a longer text")?;
    fs::rename(dir.path().join("www/t"), dir.path().join("www/index.html"))?;
    assert_eq!(context.stat("/www/index.html")?.size, 3, "nothing was told, and nothing asked");
    assert_eq!(context.vfs().refresh(&index), Err(Errno::ESTALE));
    assert_eq!(context.stat("/www/index.html")?.size, 13);
    Ok(())
}

#[test]
fn a_directory_on_the_way_that_is_another_one_by_now() -> Result<(), Box<dyn Error>> {
    let (dir, context) = world()?;
    context.open("/www/index.html", OpenFlags::READ)?;
    fs::rename(dir.path().join("www"), dir.path().join("before"))?;
    fs::create_dir(dir.path().join("www"))?;
    fs::write(dir.path().join("www/index.html"), "of the new one")?;
    assert_eq!(context.read_to_string("/www/index.html")?, "of the new one");
    fs::remove_dir_all(dir.path().join("www"))?;
    assert_eq!(context.open("/www/index.html", OpenFlags::READ).unwrap_err(), Errno::ENOENT);
    Ok(())
}
