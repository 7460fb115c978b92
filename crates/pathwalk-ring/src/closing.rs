//! The files, handles and leases that an entry was the last to hold. They go to a worker, because
//! closing a file may block.
//!
//! Always: an owner's call (`submit`, `cancel`, the drop of a ring or a future) closes nothing
//! itself, unless no thread can be started at all. What others hold too is released in place.

use std::sync::Arc;

use pathwalk::{Errno, File, Handle, Lease, Subscription, Vfs};

use crate::foreign::Foreign;
use crate::punt::{Cut, Ids, NO_OWNER, Punted, Tag, Which, Work};
use crate::{Completion, Op, Value};

/// A value that nothing else holds. It is never read, and exists to be dropped.
enum Last {
    File {
        _file: File,
    },
    /// A subscription, whose handle may be the last of a mount.
    Subscription {
        _subscription: Subscription,
    },
    /// A lease, whose end may drop what its holder has left to be called.
    Lease {
        _lease: Lease,
    },
    /// A handle of another `Vfs` than the entries'. It may be the last of that.
    Handle {
        _handle: Handle,
    },
}

/// Values that a worker has to drop.
#[must_use = "a worker is to close it"]
#[derive(Default)]
pub(crate) struct Closing(Vec<Foreign<Last>>);

impl Closing {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Turns this into work for the pool. Its entries were about this `Vfs`, which is dropped after
    /// all of them, if it is dropped.
    pub(crate) fn into_work(self, vfs: &Vfs) -> Punted {
        let work = Closes { tag: Tag::new(NO_OWNER, Ids::One(0)), _last: self, _vfs: Foreign::new(vfs.clone()) };
        Punted { work: Box::new(work), missing: None }
    }

    /// Adds what an operation holds. Its context is of this `Vfs`.
    pub(crate) fn op(&mut self, op: Op<'_>, vfs: &Vfs) {
        match op {
            Op::Getdents { file, .. }
            | Op::Readdirplus { file, .. }
            | Op::Read { file, .. }
            | Op::Write { file, .. }
            | Op::ReadWith { file, .. }
            | Op::WriteWith { file, .. }
            | Op::Lease { file, .. }
            | Op::Fsync { file, .. }
            | Op::Lock { file, .. }
            | Op::Fallocate { file, .. }
            | Op::SyncFileRange { file, .. }
            | Op::Close { file } => self.file(file),
            Op::PollEvents { subscription } => {
                let last = Arc::into_inner(subscription).map(|last| Last::Subscription { _subscription: last });
                self.0.extend(last.map(Foreign::new));
            }
            Op::Renameat { from, to, .. } | Op::Linkat { from, to, .. } => {
                [from, to].into_iter().filter_map(crate::Place::into_start).for_each(|start| self.handle(start, vfs));
            }
            Op::Openat2 { place, .. }
            | Op::Statx { place, .. }
            | Op::Access { place, .. }
            | Op::Readlink { place, .. }
            | Op::Lookup { place, .. }
            | Op::GetAcl { place, .. }
            | Op::SetAcl { place, .. }
            | Op::Mkdirat { place, .. }
            | Op::Getxattrat { place, .. }
            | Op::Setxattrat { place, .. }
            | Op::InodeFlagsAt { place, .. }
            | Op::SetInodeFlagsAt { place, .. }
            | Op::Details { place, .. }
            | Op::GenerationAt { place, .. }
            | Op::NameToHandleAt { place, .. }
            | Op::Listxattrat { place, .. }
            | Op::Removexattrat { place, .. }
            | Op::Unlinkat { place, .. } => place.into_start().into_iter().for_each(|start| self.handle(start, vfs)),
            Op::Symlinkat { body, place } => {
                [body, place].into_iter().filter_map(crate::Place::into_start).for_each(|start| self.handle(start, vfs));
            }
            Op::LookupByHandle { mount, .. } | Op::OpenByHandleAt { mount, .. } => self.handle(mount, vfs),
            Op::SetLease { lease, .. } | Op::LeaseBreak { lease } => self.lease(lease),
            Op::Nop | Op::Timeout { .. } | Op::LinkTimeout { .. } | Op::Cancel { .. } => {}
        }
    }

    /// Adds what several operations hold.
    pub(crate) fn ops(&mut self, ops: impl IntoIterator<Item = Foreign<Op<'static>>>, vfs: &Vfs) {
        ops.into_iter().for_each(|op| self.op(op.into_inner(), vfs));
    }

    /// Adds a result that nothing will read. A handle in it is of the context's `Vfs`.
    pub(crate) fn answer(&mut self, answer: Result<Value, Errno>) {
        match answer {
            Ok(Value::File(file)) => self.file(file),
            Ok(Value::Lease(lease)) => self.lease(lease),
            _ => {}
        }
    }

    /// Adds the results of several completions that nothing will read.
    pub(crate) fn completions(&mut self, completions: impl IntoIterator<Item = Completion>) {
        completions.into_iter().for_each(|completion| self.answer(completion.result));
    }

    fn file(&mut self, file: Arc<File>) {
        self.0.extend(Arc::into_inner(file).map(|file| Foreign::new(Last::File { _file: file })));
    }

    fn lease(&mut self, lease: Lease) {
        self.0.push(Foreign::new(Last::Lease { _lease: lease }));
    }

    /// Adds a handle of another `Vfs`. A handle of the context's `Vfs` is never the last of it, so
    /// its drop never blocks.
    fn handle(&mut self, handle: Handle, vfs: &Vfs) {
        if !vfs.owns(&handle) {
            self.0.push(Foreign::new(Last::Handle { _handle: handle }));
        }
    }
}

/// The work of closing. Its fields are dropped in order, each by itself: so a file and its file
/// system may both panic.
struct Closes {
    tag: Tag,
    _last: Closing,
    _vfs: Foreign<Vfs>,
}

impl Work for Closes {
    fn tag(&self) -> &Tag {
        &self.tag
    }

    /// Returns nothing: there is no owner that could cancel it.
    fn cut(&mut self, _which: Which) -> Cut {
        Cut::Nothing
    }

    fn into_ops(self: Box<Self>) -> Vec<Foreign<Op<'static>>> {
        Vec::new()
    }

    /// Returns the work itself: it misses no name, so it never waits for one.
    fn retry(self: Box<Self>) -> Option<Punted> {
        Some(Punted { work: self, missing: None })
    }

    fn run(self: Box<Self>) -> Option<Box<dyn Work>> {
        None
    }

    fn fail(self: Box<Self>, _errno: Errno) {}
}
