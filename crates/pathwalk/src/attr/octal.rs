//! Modes in octal, as they are written and read, in what is printed for debugging.

use std::fmt::{Debug, Formatter, Result};

use super::Attributes;

/// A mode that is printed as `0o644`.
#[derive(Clone, Copy)]
pub(crate) struct Octal(pub(crate) u16);

impl Debug for Octal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{:#05o}", self.0)
    }
}

impl Debug for Attributes {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        // Without `..`, so that none is forgotten.
        let Attributes {
            kind,
            mode,
            nlink,
            uid,
            gid,
            ino,
            size,
            blocks,
            block_size,
            device,
            device_node,
            atime,
            mtime,
            ctime,
            btime,
            flags,
            flags_mask,
            acl,
        } = self;
        f.debug_struct("Attributes")
            .field("kind", kind)
            .field("mode", &Octal(*mode))
            .field("nlink", nlink)
            .field("uid", uid)
            .field("gid", gid)
            .field("ino", ino)
            .field("size", size)
            .field("blocks", blocks)
            .field("block_size", block_size)
            .field("device", device)
            .field("device_node", device_node)
            .field("atime", atime)
            .field("mtime", mtime)
            .field("ctime", ctime)
            .field("btime", btime)
            .field("flags", flags)
            .field("flags_mask", flags_mask)
            .field("acl", acl)
            .finish()
    }
}
