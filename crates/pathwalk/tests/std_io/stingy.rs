//! A file system with one file, that reads and writes less than it is asked for, or else than it
//! says.

use std::sync::{Arc, Mutex};

use pathwalk::{Attributes, Directory, Errno, FileSystem, FileType, Name, Node, NodeKey, OpenFile, OpenFor, WriteAt, Written};

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Manner {
    /// Reads three bytes and writes five; every third call is interrupted.
    #[default]
    Stingy,
    Generous,
    /// Says one byte more than it was given.
    Lying,
    /// Writes nothing and says so.
    Taking0,
}

#[derive(Default)]
struct State {
    data: Vec<u8>,
    calls: u64,
    manner: Manner,
}

impl State {
    /// Returns the number of bytes that a call reads or writes, or `EINTR`.
    fn done(&mut self, given: usize, stingy: usize) -> Result<usize, Errno> {
        self.calls += 1;
        match self.manner {
            Manner::Stingy if self.calls.is_multiple_of(3) => Err(Errno::EINTR),
            Manner::Stingy => Ok(given.min(stingy)),
            Manner::Generous | Manner::Lying => Ok(given),
            Manner::Taking0 => Ok(0),
        }
    }
}

/// The file is `/f`.
#[derive(Clone, Default)]
pub(crate) struct Stingy(Arc<Mutex<State>>);

impl Stingy {
    pub(crate) fn data(&self) -> Vec<u8> {
        self.0.lock().unwrap().data.clone()
    }

    /// Reads and writes so far.
    pub(crate) fn calls(&self) -> u64 {
        self.0.lock().unwrap().calls
    }

    pub(crate) fn be_stingy(&self) {
        self.0.lock().unwrap().manner = Manner::Stingy;
    }

    pub(crate) fn be_generous(&self) {
        self.0.lock().unwrap().manner = Manner::Generous;
    }

    pub(crate) fn lie(&self) {
        self.0.lock().unwrap().manner = Manner::Lying;
    }

    pub(crate) fn take_nothing(&self) {
        self.0.lock().unwrap().manner = Manner::Taking0;
    }
}

impl FileSystem for Stingy {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(1), self.attributes(NodeKey(1))?))
    }

    fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let node = || Ok(Node::new(NodeKey(2), self.attributes(NodeKey(2))?));
        (name.bytes() == b"f").then(node).transpose()
    }

    fn attributes(&self, node: NodeKey) -> Result<Attributes, Errno> {
        let kind = if node.0 == 1 { FileType::Directory } else { FileType::Regular };
        Ok(Attributes::new(kind, 0o755).with_size(self.data().len() as u64))
    }

    fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(self.clone()))
    }
}

impl OpenFile for Stingy {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let mut state = self.0.lock().unwrap();
        let most = state.done(buffer.len(), 3)?;
        if state.manner == Manner::Lying {
            return Ok(most + 1);
        }
        let rest = state.data.get(offset as usize..).unwrap_or_default();
        let length = most.min(rest.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.read_at(buffer, offset)
    }

    fn write_at(&self, data: &[u8], at: WriteAt) -> Result<Written, Errno> {
        let mut state = self.0.lock().unwrap();
        let bytes = state.done(data.len(), 5)?;
        let begin = match at {
            WriteAt::Offset(offset) => offset as usize,
            WriteAt::End => state.data.len(),
        };
        let end = begin + bytes;
        if state.data.len() < end {
            state.data.resize(end, 0);
        }
        state.data[begin..end].copy_from_slice(&data[..bytes]);
        let lie = usize::from(state.manner == Manner::Lying);
        Ok(Written { bytes: bytes + lie, end: (end + lie) as u64 })
    }
}
