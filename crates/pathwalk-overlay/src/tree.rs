//! What is asked of a tree, by handles.
//!
//! What always holds: no link is followed, and a path leads down from the root of its context. So
//! paths may be longer than the kernel's.

use pathwalk::limits::PATH_MAX;
use pathwalk::{AtFlags, Context, Errno, File, FileType, Handle, InodeFlags, Listed, OpenFlags, StatxFlags, UnlinkFlags};
use pathwalk_branch::Branch;

use crate::error::Error;

/// Returns nothing in the place of what a file system does not have.
pub(crate) fn if_supported<T: Default>(found: Result<T, Errno>) -> Result<T, Errno> {
    match found {
        Err(Errno::EOPNOTSUPP | Errno::ENOTTY | Errno::ENODATA) => Ok(T::default()),
        found => found,
    }
}

/// Returns the path of a name in a directory.
pub(crate) fn join(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let dir = if dir == b"/" { &[] } else { dir };
    [dir, b"/", name].concat()
}

/// Returns the directory that a path from the root is in, and its name there.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
    (&path[..slash], path.get(slash + 1..).unwrap_or_default())
}

/// Returns the node of a name in a directory, if there is one.
pub(crate) fn child(context: &Context, dir: &Handle, name: &[u8]) -> Result<Option<Handle>, Errno> {
    match context.lookup_at(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(node) => Ok(Some(node)),
        Err(Errno::ENOENT | Errno::ENOTDIR) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Returns the node at a path, if there is one, and no link on the way.
pub(crate) fn find(context: &Context, path: &[u8]) -> Result<Option<Handle>, Errno> {
    let mut at = context.root().clone();
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        let Some(next) = child(context, &at, name)? else { return Ok(None) };
        at = next;
    }
    Ok(Some(at))
}

/// Opens a file or directory to be read, without a trace in its time of access where that is
/// allowed.
pub(crate) fn open(context: &Context, node: &Handle) -> Result<File, Errno> {
    match context.reopen(node, OpenFlags::READ | OpenFlags::NOATIME) {
        Err(Errno::EPERM) => context.reopen(node, OpenFlags::READ),
        opened => opened,
    }
}

/// Returns the entries of a directory.
pub(crate) fn list(context: &Context, dir: &Handle) -> Result<Vec<Listed>, Errno> {
    const BATCH: usize = 1024;
    let (file, mut all) = (open(context, dir)?, Vec::new());
    loop {
        let batch = file.getdents(BATCH)?;
        if batch.is_empty() {
            return Ok(all);
        }
        all.extend(batch.into_iter().filter(|entry| !matches!(&*entry.name, b"." | b"..")));
    }
}

/// Returns the body of a link.
pub(crate) fn body(context: &Context, link: &Handle) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; PATH_MAX];
    let length = context.readlinkat(link, "", &mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

/// Returns the flags of a node that users set.
pub(crate) fn flags(context: &Context, node: &Handle) -> Result<InodeFlags, Errno> {
    match node.kind() {
        FileType::Regular | FileType::Directory => if_supported(context.inode_flags_at(node, "", AtFlags::EMPTY_PATH)),
        _ => Ok(InodeFlags::empty()),
    }
}

/// Lets a node be changed.
pub(crate) fn allow_changes(context: &Context, node: &Handle) -> Result<(), Errno> {
    if !node.attributes()?.flags.intersects(StatxFlags::IMMUTABLE | StatxFlags::APPEND) {
        return Ok(());
    }
    let allowed = flags(context, node)? - (InodeFlags::IMMUTABLE | InodeFlags::APPEND);
    context.set_inode_flags_at(node, "", allowed, AtFlags::EMPTY_PATH)
}

/// Removes a name; of a directory, with all that is in it, as deep as that is. The directory of the
/// name may be changed. The branch of the context removes what it can by itself.
pub(crate) fn remove(context: &Context, branch: Option<&Branch>, dir: &Handle, name: &[u8], path: &[u8]) -> Result<(), Error> {
    let failed = |path: &[u8]| Error::tree("remove", path);
    let at_once = |dir: &Handle, name: &[u8]| {
        let removed = branch.map(|branch| branch.remove_untouched(dir.attributes()?.ino, name));
        match removed {
            Some(Err(Errno::ENOENT)) => Ok(true),
            removed => removed.unwrap_or(Ok(false)),
        }
    };
    if at_once(dir, name).map_err(failed(path))? {
        return Ok(());
    }
    let Some(node) = child(context, dir, name).map_err(failed(path))? else { return Ok(()) };
    allow_changes(context, &node).map_err(failed(path))?;
    if node.kind() != FileType::Directory {
        return context.unlinkat(dir, name, UnlinkFlags::empty()).map_err(failed(path));
    }
    // Where each directory is: the one above, its name, itself, its path, and whether it is empty.
    let mut open = vec![(dir.clone(), Box::<[u8]>::from(name), node, path.to_vec(), false)];
    while let Some((above, name, dir, path, is_empty)) = open.pop() {
        if is_empty {
            context.unlinkat(&above, &name[..], UnlinkFlags::REMOVEDIR).map_err(failed(&path))?;
            continue;
        }
        let entries = list(context, &dir).map_err(failed(&path))?;
        open.push((above, name, dir.clone(), path.clone(), true));
        for Listed { name, .. } in entries {
            let path = join(&path, &name);
            if at_once(&dir, &name).map_err(failed(&path))? {
                continue;
            }
            let Some(node) = child(context, &dir, &name).map_err(failed(&path))? else { continue };
            allow_changes(context, &node).map_err(failed(&path))?;
            match node.kind() {
                FileType::Directory => open.push((dir.clone(), name, node, path, false)),
                _ => context.unlinkat(&dir, &name[..], UnlinkFlags::empty()).map_err(failed(&path))?,
            }
        }
    }
    Ok(())
}
