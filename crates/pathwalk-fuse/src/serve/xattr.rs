//! Extended attributes, access control lists among them, and the flags of inodes.

use pathwalk::{Errno, InodeFlags, XattrFlags, copy_xattr};

use super::{Call, ITSELF};
use crate::abi::{FsXattr, GetXattrIn, GetXattrOut, IoctlIn, IoctlOut, SETXATTR_ACL_KILL_SGID, SetXattrIn};
use crate::askers::{self, SetId};
use crate::notice::Notice;
use crate::request::Body;

/// The request `FS_IOC_GETFLAGS`: `_IOR('f', 1, long)`, and for programs of 32 bits.
const GET_FLAGS: [u32; 2] = [0x8008_6601, 0x8004_6601];
/// The request `FS_IOC_SETFLAGS`: `_IOW('f', 2, long)`, and for programs of 32 bits.
const SET_FLAGS: [u32; 2] = [0x4008_6602, 0x4004_6602];

/// The request `FS_IOC_FSGETXATTR`: `_IOR('X', 31, struct fsxattr)`. The kernel asks so for the
/// flags before it sets any.
const GET_ALL: u32 = 0x801c_581f;
/// The request `FS_IOC_FSSETXATTR`: `_IOW('X', 32, struct fsxattr)`.
const SET_ALL: u32 = 0x401c_5820;

/// The flags of inodes that `struct fsxattr` has, too, with their bits there (`FS_XFLAG_*`).
const SHARED: [(InodeFlags, u32); 7] = [
    (InodeFlags::IMMUTABLE, 0x8),
    (InodeFlags::APPEND, 0x10),
    (InodeFlags::SYNC, 0x20),
    (InodeFlags::NOATIME, 0x40),
    (InodeFlags::NODUMP, 0x80),
    (InodeFlags::PROJECT_INHERIT, 0x200),
    (InodeFlags::DAX, 0x8000),
];

/// Returns whether only a caller with `CAP_SYS_ADMIN` sees this attribute: `xattr(7)`. The kernel
/// checks that for each call but for lists.
fn is_trusted(name: &[u8]) -> bool {
    name.starts_with(b"trusted.")
}

impl Call<'_> {
    pub(super) fn getxattr(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let GetXattrIn { size, .. } = body.take()?;
        let (handle, name) = (self.node()?, body.text()?);
        let value = self.context(SetId::Kept).getxattrat(&handle, "", name, ITSELF)?;
        self.put_value(&self.server.ids.shown(name, value)?, size)
    }

    pub(super) fn listxattr(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let GetXattrIn { size, .. } = body.take()?;
        let handle = self.node()?;
        let list = self.context(SetId::Kept).listxattrat(&handle, "", ITSELF)?;
        if !list.iter().any(is_trusted) || askers::is_administrator(self.header.uid, self.header.pid) {
            return self.put_value(list.as_bytes(), size);
        }
        let shown: Vec<&[u8]> = list.as_bytes().split_inclusive(|byte| *byte == 0).filter(|name| !is_trusted(name)).collect();
        self.put_value(&shown.concat(), size)
    }

    /// Puts a value, or its size for a request that asks for that.
    fn put_value(&mut self, value: &[u8], size: u32) -> Result<(), Errno> {
        match size {
            0 => self.reply.put(&GetXattrOut { size: value.len() as u32, padding: 0 }),
            _ if value.len() > size as usize => Err(Errno::ERANGE),
            _ => self.reply.put_with(size as usize, |place| copy_xattr(value, place)),
        }
    }

    pub(super) fn setxattr(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let set: SetXattrIn = body.take()?;
        let (handle, name, value) = (self.node()?, body.text()?, body.bytes(set.size)?);
        let how = XattrFlags::from_bits(set.flags).ok_or(Errno::EINVAL)?;
        let set_id = SetId::killed_if(set.setxattr_flags & SETXATTR_ACL_KILL_SGID != 0);
        let ids = self.server.ids;
        let context = self.context(set_id);
        ids.check_replaced(name, || context.getxattrat(&handle, "", name, ITSELF))?;
        context.setxattrat(&handle, "", name, value, how, ITSELF)
    }

    pub(super) fn removexattr(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let (handle, name) = (self.node()?, body.text()?);
        let ids = self.server.ids;
        let context = self.context(SetId::Kept);
        ids.check_replaced(name, || context.getxattrat(&handle, "", name, ITSELF))?;
        context.removexattrat(&handle, "", name, ITSELF)
    }

    /// Serves requests about the flags of an inode; `ENOTTY` for any other.
    pub(super) fn ioctl(&mut self, body: &mut Body<'_>) -> Result<(), Errno> {
        let IoctlIn { cmd, .. } = body.take()?;
        let handle = self.node()?;
        let context = self.askers.get(self.header.uid, self.header.gid, SetId::Kept);
        let flags = || context.inode_flags_at(&handle, "", ITSELF);
        let (node, given) = (self.header.nodeid, &mut *self.given);
        let mut set = |to| {
            // The kernel does not see that an `ioctl` changes a time.
            given.outdated.push(Notice::Attributes(node));
            context.set_inode_flags_at(&handle, "", to, ITSELF)
        };
        match cmd {
            _ if GET_FLAGS.contains(&cmd) => {
                let flags = flags()?.bits();
                self.reply.put(&IoctlOut::default())?;
                self.reply.put(&flags)
            }
            _ if SET_FLAGS.contains(&cmd) => {
                set(InodeFlags::from_bits_retain(body.take()?))?;
                self.reply.put(&IoctlOut::default())
            }
            GET_ALL => {
                let all = FsXattr { xflags: shared_of(flags()?), ..FsXattr::default() };
                self.reply.put(&IoctlOut::default())?;
                self.reply.put(&all)
            }
            SET_ALL => {
                set(with_shared(flags()?, body.take()?)?)?;
                self.reply.put(&IoctlOut::default())
            }
            _ => Err(Errno::ENOTTY),
        }
    }
}

/// Returns the bits of `struct fsxattr` for the flags of an inode.
fn shared_of(flags: InodeFlags) -> u32 {
    SHARED.iter().filter(|(flag, _)| flags.contains(*flag)).map(|(_, bit)| bit).sum()
}

/// Returns the flags of an inode that result from a `struct fsxattr`. `EOPNOTSUPP` for what is not
/// kept: a project, and hints for extents.
fn with_shared(mut flags: InodeFlags, set: FsXattr) -> Result<InodeFlags, Errno> {
    let known = SHARED.iter().map(|(_, bit)| bit).sum::<u32>();
    if set.projid != 0 || set.extsize != 0 || set.cowextsize != 0 || set.xflags & !known != 0 {
        return Err(Errno::EOPNOTSUPP);
    }
    for (flag, bit) in SHARED {
        flags.set(flag, set.xflags & bit != 0);
    }
    Ok(flags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_their_bits_in_both_structures() {
        let flags = InodeFlags::IMMUTABLE | InodeFlags::NODUMP;
        assert_eq!(shared_of(flags), 0x88);
        let set = FsXattr { xflags: 0x10, ..FsXattr::default() };
        assert_eq!(with_shared(flags | InodeFlags::CASEFOLD, set), Ok(InodeFlags::APPEND | InodeFlags::CASEFOLD));
        assert_eq!(with_shared(flags, FsXattr { projid: 5, ..set }), Err(Errno::EOPNOTSUPP));
    }
}
