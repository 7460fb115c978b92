//! The comparison of all answers about a name space with those of the kernel.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use pathwalk::{Context, Errno};
use rustix::fs::{AtFlags, CWD, StatxFlags, readlink, statx};

use crate::Watched;
use crate::common::time;

/// The names at each level, and the number of levels.
pub(crate) const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
pub(crate) const LEVELS: usize = 3;

/// Returns all paths of the name space, without a slash before them.
pub(crate) fn paths() -> Vec<String> {
    let (mut all, mut last) = (Vec::new(), vec![String::new()]);
    for _ in 0..LEVELS {
        let below = |above: &String| NAMES.map(|name| if above.is_empty() { name.into() } else { format!("{above}/{name}") });
        last = last.iter().flat_map(below).collect();
        all.extend_from_slice(&last);
    }
    all
}

/// Returns what is compared of a node, as text.
pub(crate) fn ours(context: &Context, path: &str) -> Result<String, Errno> {
    let of = context.lstat(path)?;
    let mut body = vec![0; 100];
    let body = context.readlink(path, &mut body).map(|length| body[..length].to_vec()).unwrap_or_default();
    Ok(format!(
        "mode {:o} ino {} nlink {} ids {}:{} size {} mtime {:?} ctime {:?} body {}",
        of.st_mode(),
        of.ino,
        of.nlink,
        of.uid,
        of.gid,
        of.size,
        of.mtime,
        of.ctime,
        body.escape_ascii()
    ))
}

/// Returns the same from the kernel.
pub(crate) fn kernels(path: &Path) -> Result<String, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    let of = statx(CWD, path, flags, StatxFlags::BASIC_STATS).map_err(|errno| Errno::from_raw(errno.raw_os_error()))?;
    let body = readlink(path, Vec::new()).map(|body| body.into_bytes()).unwrap_or_default();
    Ok(format!(
        "mode {:o} ino {} nlink {} ids {}:{} size {} mtime {:?} ctime {:?} body {}",
        of.stx_mode,
        of.stx_ino,
        of.stx_nlink,
        of.stx_uid,
        of.stx_gid,
        of.stx_size,
        time(&of.stx_mtime),
        time(&of.stx_ctime),
        body.escape_ascii()
    ))
}

/// Asserts that each answer is the kernel's.
pub(crate) fn assert_same(root: &Path, watched: &Watched, paths: &[String], case: &str) {
    for path in paths {
        let (kernel, ours) = (kernels(&root.join(path)), ours(&watched.context, &format!("/{path}")));
        if ours != kernel {
            let path = format!("/{path}");
            let (cached, again) = (watched.context.cached().lstat(&path), self::ours(&watched.context, &path));
            let state = watched.state();
            panic!("{path}, {case}:\nours   {ours:?}\nkernel {kernel:?}\nagain  {again:?}\ncached {cached:?}\n{state}");
        }
    }
}

/// Asserts that each directory lists the kernel's names.
pub(crate) fn assert_lists(root: &Path, context: &Context, paths: &[String], case: &str) {
    for path in paths.iter().map(String::as_str).chain([""]) {
        let Ok(kernels) = std::fs::read_dir(root.join(path)) else { continue };
        let mut kernels: Vec<Vec<u8>> = kernels.map(|entry| entry.unwrap().file_name().as_bytes().into()).collect();
        let ours = context.read_dir(format!("/{path}")).unwrap_or_else(|error| panic!("{path}, {case}: {error}"));
        let mut ours: Vec<Vec<u8>> = ours.map(|entry| entry.unwrap().name().into()).collect();
        kernels.sort();
        ours.sort();
        assert_eq!(ours, kernels, "{path}, {case}");
    }
}
