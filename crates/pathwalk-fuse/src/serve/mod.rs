//! What is answered: one method of [`Call`] for each kind of request.
//!
//! What always holds: the kernel has exactly the lookups and open files that it was told of. If an
//! answer cannot be delivered, because the request was given up, what it gave is taken back.
//!
//! What it does not do: check permissions, or hold locks of files. The kernel does both.

use std::sync::Arc;

use pathwalk::{AtFlags, Attributes, Context, Device, Errno, Handle};

use crate::abi::{Attr, EntryOut, InHeader, InterruptIn, Opcode};
use crate::askers::{Askers, SetId};
use crate::covered::Covered;
use crate::flights::Flights;
use crate::late::LateWrites;
use crate::nodes::Nodes;
use crate::notice::Notice;
use crate::opened::OpenFiles;
use crate::reads::Reads;
use crate::reply::Reply;
use crate::request::{Body, Request};
use crate::times::Times;
use crate::untold::Untold;
use crate::{ExtendedAttributes, Ids, Opens, Options, Writes};

mod attributes;
mod data;
mod listing;
mod lists;
mod names;
mod xattr;

/// The path of a node to its handle.
const ITSELF: AtFlags = AtFlags::EMPTY_PATH.union(AtFlags::SYMLINK_NOFOLLOW);

/// What all threads share.
pub(crate) struct Server {
    pub(crate) context: Context,
    pub(crate) nodes: Nodes,
    pub(crate) files: OpenFiles,
    pub(crate) untold: Arc<Untold>,
    pub(crate) opens: Opens,
    writes: Writes,
    /// The late writes that are under way; `None` where the kernel writes through. Without `Back`,
    /// only what is written through a mapping is late, and the kernel tells no time.
    late_writes: Option<LateWrites>,
    extended_attributes: ExtendedAttributes,
    ids: Ids,
    pub(crate) times: Times,
    pub(crate) covered: Arc<Covered>,
    /// What was read; `None` where reads move no time of access.
    reads: Option<Reads>,
    /// The generation of all nodes: other than that of an earlier mount, whose numbers were others.
    generation: u64,
    root_device: Device,
}

impl Server {
    /// Begins to serve the root of a context.
    pub(crate) fn new(context: &Context, options: &Options, generation: u32) -> Result<Server, Errno> {
        Ok(Server {
            context: context.clone(),
            nodes: Nodes::new(context.root()),
            files: OpenFiles::new(),
            untold: Arc::default(),
            opens: options.opens,
            writes: options.writes,
            late_writes: (options.writes == Writes::Back).then(LateWrites::default),
            extended_attributes: options.extended_attributes,
            ids: options.ids,
            times: Times::new(options),
            covered: Arc::new(Covered::new(&options.covered)),
            reads: (!options.read_only).then(Reads::default),
            generation: u64::from(generation),
            root_device: context.root().attributes()?.device,
        })
    }

    /// Returns an inode number that no node of another mounted file system has: its upper 16 bits
    /// tell the devices apart, if the file systems leave them zero.
    fn ino(&self, device: Device, ino: u64) -> u64 {
        let tag = |of: Device| u64::from(of.major.wrapping_mul(31).wrapping_add(of.minor) & 0xffff) << 48;
        ino ^ tag(device) ^ tag(self.root_device)
    }

    /// Takes back so many lookups of a node. What is open of a node that is forgotten is closed.
    pub(crate) fn forget(&self, node: u64, lookups: u64) {
        if self.nodes.forget(node, lookups) {
            self.untold.forget(node);
            self.reads.iter().for_each(|reads| reads.forget(node));
        }
    }

    fn attr(&self, of: &Attributes) -> Attr {
        Attr {
            ino: self.ino(of.device, of.ino),
            size: of.size,
            blocks: of.blocks,
            atime: of.atime.seconds as u64,
            mtime: of.mtime.seconds as u64,
            ctime: of.ctime.seconds as u64,
            atimensec: of.atime.nanoseconds,
            mtimensec: of.mtime.nanoseconds,
            ctimensec: of.ctime.nanoseconds,
            mode: of.st_mode(),
            nlink: of.nlink,
            uid: of.uid,
            gid: of.gid,
            rdev: encoded(of.device_node),
            blksize: of.block_size,
            flags: 0,
        }
    }

    /// Counts a lookup, and returns what the kernel gets for it.
    fn entry(&self, handle: Handle, attributes: &Attributes) -> EntryOut {
        let (entry, of_attributes) = (self.times.entry(&handle), self.times.attributes(&handle));
        EntryOut {
            nodeid: self.nodes.found(handle),
            generation: self.generation,
            entry_valid: entry.as_secs(),
            entry_valid_nsec: entry.subsec_nanos(),
            attr_valid: of_attributes.as_secs(),
            attr_valid_nsec: of_attributes.subsec_nanos(),
            attr: self.attr(attributes),
        }
    }
}

/// What the kernel has once it has the answer.
#[derive(Default)]
pub(crate) struct Given {
    /// Nodes, each for one lookup.
    lookups: Vec<u64>,
    /// An open file.
    opened: Option<u64>,
    /// What the kernel keeps and does not see that the request changed. It is told before it has
    /// the answer: of attributes, and of the listings of directories.
    outdated: Vec<Notice>,
}

impl Given {
    /// Takes all of it back.
    pub(crate) fn take_back(&mut self, server: &Server) {
        for node in self.lookups.drain(..) {
            server.forget(node, 1);
        }
        if let Some(file) = self.opened.take() {
            server.files.remove(file);
        }
    }

    /// Takes what the kernel is to be told.
    pub(crate) fn take_outdated(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.outdated)
    }

    /// Returns the nodes.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = u64> {
        self.lookups.iter().copied()
    }

    /// Leaves it to the kernel.
    pub(crate) fn leave(&mut self) {
        self.lookups.clear();
        self.opened = None;
    }
}

/// Whether a request is answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// It is, with this result.
    With(Result<(), Errno>),
    /// The kernel waits for none.
    None,
}

/// One request that is served.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Server,
    pub(crate) flights: &'a Flights,
    pub(crate) askers: &'a mut Askers,
    pub(crate) reply: &'a mut Reply,
    pub(crate) given: &'a mut Given,
    pub(crate) header: InHeader,
}

impl Call<'_> {
    /// Serves the request.
    pub(crate) fn serve(&mut self, mut request: Request<'_>) -> Answer {
        let opcode = match request.opcode() {
            Ok(opcode) => opcode,
            Err(errno) => return Answer::With(Err(errno)),
        };
        let body = &mut request.body;
        match opcode {
            Opcode::Forget => self.forget(body),
            Opcode::BatchForget => self.batch_forget(body),
            // The kernel waits for the answer of the interrupted request all the same.
            Opcode::Interrupt => return self.interrupt(body),
            Opcode::Destroy => {}
            _ => return Answer::With(self.answer(opcode, body)),
        }
        Answer::None
    }

    /// Interrupts a request. One that another thread has read and not begun to serve comes again:
    /// the kernel sends the interrupt once more after `EAGAIN`, if an answer is still to come.
    fn interrupt(&mut self, body: &mut Body<'_>) -> Answer {
        match body.take() {
            Ok(InterruptIn { unique }) if !self.flights.interrupt(unique) => Answer::With(Err(Errno::EAGAIN)),
            _ => Answer::None,
        }
    }

    fn answer(&mut self, opcode: Opcode, body: &mut Body<'_>) -> Result<(), Errno> {
        match opcode {
            // The kernel does without them from then on.
            Opcode::Open | Opcode::OpenDir if self.server.opens == Opens::Untold => Err(Errno::ENOSYS),
            Opcode::GetXattr | Opcode::SetXattr | Opcode::ListXattr | Opcode::RemoveXattr
                if self.server.extended_attributes == ExtendedAttributes::Absent =>
            {
                Err(Errno::ENOSYS)
            }
            Opcode::Access | Opcode::Flush => Err(Errno::ENOSYS),
            // The file system does not have the data yet, and would report holes in its place.
            Opcode::Lseek if self.server.writes == Writes::Back => Err(Errno::ENOSYS),
            Opcode::Lookup => self.look_up(body),
            Opcode::Create => self.create(body),
            Opcode::TmpFile => self.tmpfile(body),
            Opcode::Mknod => self.mknod(body),
            Opcode::Mkdir => self.mkdir(body),
            Opcode::Symlink => self.symlink(body),
            Opcode::Link => self.link(body),
            Opcode::Unlink => self.unlink(body),
            Opcode::Rmdir => self.rmdir(body),
            Opcode::Rename => self.rename(body),
            Opcode::Rename2 => self.rename2(body),
            Opcode::GetAttr => self.getattr(body),
            Opcode::SetAttr => self.setattr(body),
            Opcode::Statx => self.statx(body),
            Opcode::StatFs => self.statfs(),
            Opcode::ReadLink => self.readlink(),
            Opcode::Open => self.open(body),
            Opcode::OpenDir => self.opendir(body),
            Opcode::Release | Opcode::ReleaseDir => self.release(body),
            Opcode::Read => self.read(body),
            Opcode::Write => self.write(body),
            Opcode::Fsync | Opcode::FsyncDir => self.fsync(body),
            Opcode::SyncFs => self.syncfs(),
            Opcode::Fallocate => self.fallocate(body),
            Opcode::Lseek => self.lseek(body),
            Opcode::CopyFileRange => self.copy_file_range(body),
            Opcode::CopyFileRange64 => self.copy_file_range_64(body),
            Opcode::ReadDir => self.readdir(body),
            Opcode::ReadDirPlus => self.readdirplus(body),
            Opcode::GetXattr => self.getxattr(body),
            Opcode::SetXattr => self.setxattr(body),
            Opcode::ListXattr => self.listxattr(body),
            Opcode::RemoveXattr => self.removexattr(body),
            Opcode::Ioctl => self.ioctl(body),
            Opcode::Init | Opcode::Forget | Opcode::BatchForget | Opcode::Interrupt | Opcode::Destroy => Err(Errno::EINVAL),
        }
    }

    /// Returns the handle of the request's node.
    fn node(&self) -> Result<Handle, Errno> {
        self.server.nodes.handle(self.header.nodeid)
    }

    /// Returns the context of the request's user.
    fn context(&mut self, set_id: SetId) -> &Context {
        self.askers.get(self.header.uid, self.header.gid, set_id)
    }

    /// Returns the context of the request's user for a change of a node's data or owner. A sgid bit
    /// without a right to execute stays for members of the node's group, and the request does not
    /// tell the groups of its caller: so these are looked up where that matters.
    fn changer(&mut self, of: &Handle, set_id: SetId) -> Result<&Context, Errno> {
        const SGID: u16 = 0o2000;
        const SGID_AND_EXECUTE: u16 = 0o2010;
        if set_id == SetId::Killed && of.attributes()?.mode & SGID_AND_EXECUTE == SGID {
            return Ok(self.askers.get_with_groups(self.header.uid, self.header.gid, self.header.pid));
        }
        Ok(self.context(set_id))
    }

    /// Returns the context of the request's user for making a node. The umask is the request's.
    fn maker(&mut self, umask: u32) -> Context {
        let mut context = self.context(SetId::Kept).clone();
        context.umask(umask as u16 & 0o777);
        context
    }

    /// Puts the answer to a lookup.
    fn put_entry(&mut self, handle: Handle, attributes: &Attributes) -> Result<(), Errno> {
        let entry = self.server.entry(handle, attributes);
        self.given.lookups.push(entry.nodeid);
        self.reply.put(&entry)
    }
}

/// Returns a device's number as the protocol has it: `new_encode_dev` of the kernel.
fn encoded(device: Device) -> u32 {
    (device.minor & 0xff) | (device.major << 8) | ((device.minor & !0xff) << 12)
}

/// Returns the device with a number.
fn decoded(number: u32) -> Device {
    Device { major: (number >> 8) & 0xfff, minor: (number & 0xff) | ((number >> 12) & 0xfff00) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_survive() {
        for device in [(0, 0), (8, 1), (4095, 255), (259, 0x12345), (4095, 0xfffff)] {
            let device = Device { major: device.0, minor: device.1 };
            assert_eq!(decoded(encoded(device)), device);
        }
        assert_eq!(encoded(Device { major: 8, minor: 1 }), 0x801);
    }
}
