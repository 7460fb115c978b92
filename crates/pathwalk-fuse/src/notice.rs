//! Notices: what the kernel is told without having asked.
//!
//! The kernel takes the lock of a directory for a notice about a name, and waits for pages that are
//! being read for one about data. Both may be held by a caller that waits for an answer. So no
//! thread that serves requests sends one of those, and none is sent under a lock of this crate. A
//! notice about attributes takes no lock of the kernel's, and one about the listing of a directory
//! waits for the copy of an entry alone.

use rustix::io;
use zerocopy::{Immutable, IntoBytes};

use crate::abi::{
    EPOCH_MINOR, EXPIRE_ONLY, InitFlags, NoticeCode, NotifyDelete, NotifyInvalEntry, NotifyInvalInode, NotifyPrune, OutHeader,
    PRUNE_MINOR,
};
use crate::device::Device;
use crate::nodes::Nodes;

/// What the kernel on the other side can.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Abilities {
    /// The minor version of the protocol that both sides speak.
    pub(crate) minor: u32,
    /// The flags on which both sides agreed.
    pub(crate) flags: InitFlags,
}

impl Abilities {
    /// Returns whether all names can be told to be asked for again.
    pub(crate) fn has_epochs(self) -> bool {
        self.minor >= EPOCH_MINOR
    }

    /// Returns whether files and directories can be opened without a message.
    pub(crate) fn opens_untold(self) -> bool {
        self.flags.contains(InitFlags::NO_OPEN_SUPPORT.union(InitFlags::NO_OPENDIR_SUPPORT))
    }

    /// Returns whether nodes can be told to be forgotten.
    pub(crate) fn prunes(self) -> bool {
        self.minor >= PRUNE_MINOR
    }
}

/// A notice, with nodes by their numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Notice {
    /// A name is to be asked for again.
    Name { parent: u64, name: Box<[u8]> },
    /// A name of a node was removed.
    Removed { parent: u64, name: Box<[u8]>, child: u64 },
    /// The attributes of a node are to be asked for again.
    Attributes(u64),
    /// The data of a node is to be read again, and its attributes to be asked for.
    Data(u64),
    /// All names are to be asked for again.
    Names,
    /// These nodes are to be forgotten if they are not in use.
    Forget(Vec<u64>),
}

impl Notice {
    /// Returns the notices by which the kernel asks for everything again.
    pub(crate) fn all(nodes: &Nodes) -> Vec<Notice> {
        [Notice::Names].into_iter().chain(nodes.all().into_iter().map(Notice::Data)).collect()
    }

    /// Sends it. An error is none if the kernel has nothing of what it is about, and if nothing is
    /// mounted any more.
    pub(crate) fn send(&self, device: &Device, to: Abilities) {
        // It finds that something is in the way, such as a file in a directory that was removed and
        // made again.
        if let (Notice::Removed { parent, name, .. }, Err(error)) = (self, self.deliver(device, to))
            && error != io::Errno::NOENT
        {
            let _ = Notice::Name { parent: *parent, name: name.clone() }.deliver(device, to);
        }
    }

    fn deliver(&self, device: &Device, to: Abilities) -> io::Result<()> {
        let text = |name: &[u8]| [name, b"\0"].concat();
        let inode = |ino, off| message(NoticeCode::InvalInode, &NotifyInvalInode { ino, off, len: 0 }, &[]);
        device.send(&match self {
            Notice::Name { parent, name } => {
                let flags = if to.flags.contains(InitFlags::HAS_EXPIRE_ONLY) { EXPIRE_ONLY } else { 0 };
                let head = NotifyInvalEntry { parent: *parent, namelen: name.len() as u32, flags };
                message(NoticeCode::InvalEntry, &head, &text(name))
            }
            Notice::Removed { parent, name, child } => {
                let head = NotifyDelete { parent: *parent, child: *child, namelen: name.len() as u32, padding: 0 };
                message(NoticeCode::Delete, &head, &text(name))
            }
            // A negative offset: no data.
            Notice::Attributes(node) => inode(*node, -1),
            Notice::Data(node) => inode(*node, 0),
            Notice::Names if !to.has_epochs() => return Ok(()),
            Notice::Names => message(NoticeCode::IncEpoch, &[0_u8; 0], &[]),
            Notice::Forget(_) if !to.prunes() => return Ok(()),
            Notice::Forget(nodes) => {
                let head = NotifyPrune { count: nodes.len() as u32, ..NotifyPrune::default() };
                message(NoticeCode::Prune, &head, nodes.as_bytes())
            }
        })
    }
}

fn message(code: NoticeCode, head: &(impl IntoBytes + Immutable), rest: &[u8]) -> Vec<u8> {
    let length = size_of::<OutHeader>() + size_of_val(head) + rest.len();
    let header = OutHeader { len: length as u32, error: code as i32, unique: 0 };
    [header.as_bytes(), head.as_bytes(), rest].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_length_and_code() {
        let message = message(NoticeCode::Prune, &NotifyPrune { count: 1, ..NotifyPrune::default() }, 7_u64.as_bytes());
        assert_eq!((message.len(), &message[..8]), (40, [40_u32, 9].as_bytes()));
    }
}
