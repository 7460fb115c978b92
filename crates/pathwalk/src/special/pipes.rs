//! The pipes of the nodes that are open, and the open files of pipes.
//!
//! What always holds: a node is in the table from the first open of its pipe, which may still wait,
//! to the last close. Its data goes with it. Walks do not look here.

use std::collections::HashMap;

use super::pipe::Pipe;
use super::words::{Patience, SpecialNode};
use crate::Errno;
use crate::fs_api::{OpenFile, OpenFor, Seeking, SyncWhat, WriteAt, Written};
use std::sync::Arc;

use crate::sync::Mutex;

/// The pipes that are open. Linux: `i_pipe`.
#[derive(Default)]
pub(crate) struct Pipes {
    /// Above nothing: held to find, enter or remove a pipe.
    open: Mutex<HashMap<SpecialNode, Counted>>,
}

/// A pipe, and the number of its open files.
struct Counted {
    pipe: Arc<Pipe>,
    files: usize,
}

impl Pipes {
    /// Opens a node's pipe, as `fifo(7)` says. The caller has a pin on the node for as long as the
    /// file is open. `ENXIO`, `EAGAIN`, `ECANCELED`.
    pub(crate) fn open(
        pipes: &Arc<Pipes>,
        node: SpecialNode,
        what_for: OpenFor,
        patience: Patience,
    ) -> Result<Box<dyn OpenFile>, Errno> {
        let held = Held::new(pipes, node);
        held.pipe.open(what_for, patience)?;
        let patience = if patience == Patience::OpensAtOnce { Patience::Waits } else { patience };
        Ok(Box::new(End { held, what_for, patience }))
    }
}

#[cfg(all(test, not(loom)))]
impl Pipes {
    /// Returns the number of pipes that are open.
    pub(crate) fn count(&self) -> usize {
        self.open.lock().len()
    }
}

/// A pipe that is counted as open.
struct Held {
    pipes: Arc<Pipes>,
    node: SpecialNode,
    pipe: Arc<Pipe>,
}

impl Held {
    fn new(pipes: &Arc<Pipes>, node: SpecialNode) -> Held {
        let pipe = {
            let mut open = pipes.open.lock();
            let counted = open.entry(node).or_insert_with(|| Counted { pipe: Arc::new(Pipe::new()), files: 0 });
            counted.files += 1;
            counted.pipe.clone()
        };
        Held { pipes: pipes.clone(), node, pipe }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut open = self.pipes.open.lock();
        let Some(counted) = open.get_mut(&self.node) else { return };
        counted.files -= 1;
        if counted.files == 0 {
            open.remove(&self.node);
        }
    }
}

/// An open pipe.
struct End {
    held: Held,
    what_for: OpenFor,
    patience: Patience,
}

impl OpenFile for End {
    fn seeking(&self) -> Seeking {
        Seeking::Stream
    }

    fn read_at(&self, buffer: &mut [u8], _offset: u64) -> Result<usize, Errno> {
        self.held.pipe.read(buffer, self.patience)
    }

    fn try_read_at(&self, buffer: &mut [u8], _offset: u64) -> Result<usize, Errno> {
        self.held.pipe.read(buffer, Patience::Nonblocking)
    }

    fn write_at(&self, data: &[u8], _at: WriteAt) -> Result<Written, Errno> {
        self.held.pipe.write(data, self.patience).map(|bytes| Written { bytes, end: 0 })
    }

    fn sync(&self, _what: SyncWhat) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.held.pipe.close(self.what_for);
    }
}
