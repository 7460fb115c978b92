//! The engine's whole tree, read through handles, since its paths may be longer than `PATH_MAX`.

use std::collections::BTreeMap;

use pathwalk::permission::{Acl, AclKind};
use pathwalk::{At, AtFlags, Context, Errno, File, FileType, OpenFlags};

use super::convert::node;
use super::data::listing;
use super::xattr;

use crate::face;
use crate::outcome::{Answer, Contents, END, Leaf, Xattrs};

/// Returns the whole tree, by paths from the root of this context.
pub(super) fn look(context: &Context, contents: Contents) -> Result<BTreeMap<Vec<u8>, Leaf>, Errno> {
    let mut tree = BTreeMap::new();
    let root = context.open("/", OpenFlags::READ)?;
    let (xattrs, lists_of_root) = (xattr::all(context, At::Cwd, b"/")?, lists(context, &root, b".")?);
    let top = Leaf { node: node(&root.handle().attributes()?), content: Vec::new(), lists: lists_of_root, xattrs };
    tree.insert(b"/".to_vec(), top);
    let mut waiting = vec![(Vec::new(), root)];
    while let Some((path, dir)) = waiting.pop() {
        let listing = match listing(&dir, |each| face::list(&dir, each)) {
            // The directory was removed; a mount still shows it.
            Err(Errno::ENOENT) => continue,
            Ok(Answer::Listing(listing)) => listing,
            other => return Err(other.err().unwrap_or(Errno::EEXIST)),
        };
        for name in listing.keys().filter(|name| !matches!(name.as_slice(), b"." | b"..")) {
            let path = [&path, &b"/"[..], name].concat();
            let at = At::Handle(dir.handle());
            let found = match context.fstatat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
                // The directory's owner has no id in the map of its mount: not even root may search
                // it.
                Err(Errno::EACCES) => continue,
                found => found?,
            };
            let content = match found.kind {
                FileType::Directory => {
                    match context.openat(at, name, OpenFlags::READ) {
                        // This directory's own owner has no id in the map.
                        Err(Errno::EACCES) => {}
                        opened => waiting.push((path.clone(), opened?)),
                    }
                    Vec::new()
                }
                _ if contents == Contents::LeftOut => Vec::new(),
                FileType::Symlink => {
                    let mut body = vec![0; 4096];
                    let length = context.readlinkat(at, name, &mut body)?;
                    body.truncate(length);
                    body
                }
                FileType::Regular => ends(&context.openat(at, name, OpenFlags::READ)?, found.size)?,
                _ => Vec::new(),
            };
            let lists = lists(context, &dir, name)?;
            let xattrs = match contents {
                Contents::Ends => xattr::all(context, at, name)?,
                Contents::LeftOut => Xattrs::new(),
            };
            tree.insert(path, Leaf { node: node(&found), content, lists, xattrs });
        }
    }
    Ok(tree)
}

/// Returns the values of both lists of a node. A link is not followed, and has none.
fn lists(context: &Context, dir: &File, name: &[u8]) -> Result<[Vec<u8>; 2], Errno> {
    let list = |kind| match context.acl_at(dir.handle(), name, kind, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::EOPNOTSUPP) => Ok(Vec::new()),
        list => list.map(value),
    };
    Ok([list(AclKind::Access)?, list(AclKind::Default)?])
}

/// Returns the value of a list, which is empty if there is none.
pub(super) fn value(list: Option<Acl>) -> Vec<u8> {
    list.map(|list| list.to_xattr()).unwrap_or_default()
}

/// Returns the beginning and the end of a file.
fn ends(file: &File, size: u64) -> Result<Vec<u8>, Errno> {
    let mut data = vec![0; END as usize];
    let head = file.read_at(&mut data, 0)?;
    data.truncate(head);
    let from = size.saturating_sub(END);
    if from > 0 {
        let mut tail = vec![0; END as usize];
        let length = file.read_at(&mut tail, from)?;
        data.extend_from_slice(&tail[..length]);
    }
    Ok(data)
}
