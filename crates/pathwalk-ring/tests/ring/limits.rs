//! The limit of bytes of one entry: that of one call of Linux.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use pathwalk::limits::RW_MAX;
use pathwalk::{
    Attributes, Context, Credentials, Directory, Errno, File, FileSystem, FileType, Name, Node, NodeKey, OpenFile, OpenFlags,
    OpenFor, Vfs, WriteAt, Written,
};
use pathwalk_ring::{Entry, Offset, Op, Ring};

use crate::common::{pool, results, submit};

/// The number of bytes that are at hand at once.
const PIECE: usize = 1 << 30;

/// Endless files, which touch no buffer and sum up the requested lengths.
struct Endless(Arc<AtomicUsize>);

impl FileSystem for Endless {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(1), Attributes::new(FileType::Directory, 0o755)))
    }

    fn lookup(&self, _: &Directory<'_>, _: Name<'_>) -> Result<Option<Node>, Errno> {
        Ok(Some(Node::new(NodeKey(2), Attributes::new(FileType::Regular, 0o644))))
    }

    fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
        Ok(Attributes::new(FileType::Regular, 0o644))
    }

    fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Endless(self.0.clone())))
    }
}

impl OpenFile for Endless {
    fn read_at(&self, buffer: &mut [u8], _: u64) -> Result<usize, Errno> {
        self.0.fetch_add(buffer.len(), SeqCst);
        Ok(buffer.len())
    }

    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let length = buffer.len().min(PIECE);
        self.read_at(&mut buffer[..length], offset)
    }

    fn write_at(&self, data: &[u8], _: WriteAt) -> Result<Written, Errno> {
        self.0.fetch_add(data.len(), SeqCst);
        Ok(Written { bytes: data.len(), end: data.len() as u64 })
    }
}

fn world() -> (Arc<AtomicUsize>, Arc<File>, Context) {
    let asked = Arc::new(AtomicUsize::new(0));
    let vfs = Vfs::builder().budget(1 << 20).build(Endless(asked.clone())).unwrap();
    let context = vfs.context(Credentials::root());
    let file = context.open("/f", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    (asked, Arc::new(file), context)
}

#[test]
fn an_entry_moves_as_much_as_a_call() {
    if usize::BITS < 64 {
        return;
    }
    let (asked, file, context) = world();
    let mut ring = Ring::builder(context).pool(pool(1)).build();
    // Nothing touches them, so they cost no memory.
    let long = || vec![0; (1 << 31) + 10];
    for offset in [Offset::At(0), Offset::Current] {
        for op in
            [Op::Read { file: file.clone(), buffer: long(), offset }, Op::Write { file: file.clone(), data: long(), offset }]
        {
            submit(&mut ring, [Entry::new(0, op)]);
            assert_eq!((results(&mut ring), asked.swap(0, SeqCst)), (vec![(0, RW_MAX as i32)], RW_MAX), "{offset:?}");
        }
    }
    let beyond = Offset::At(i64::MAX as u64 - RW_MAX as u64);
    submit(&mut ring, [Entry::new(0, Op::Read { file, buffer: long(), offset: beyond })]);
    assert_eq!((results(&mut ring), asked.load(SeqCst)), (vec![(0, -Errno::EINVAL.raw())], 0));
}
