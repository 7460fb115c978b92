//! Reads that need not wait: they are answered in `submit`.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use pathwalk::{
    Attributes, Context, Credentials, Directory, Errno, File, FileSystem, FileType, Name, Node, NodeKey, OpenFile, OpenFlags,
    OpenFor, Vfs,
};
use pathwalk_ring::{AsyncContext, Entry, EntryFlags, Offset, Op, Pool, Ring, Value};

use crate::LINK;
use crate::common::{ECANCELED, all, results, submit};

const TEXT: &[u8] = b"01234567";

/// The value of the counter with which `try_read_at` panics.
const PANICS: usize = usize::MAX;

/// A file system with one file `/f`, of which so many bytes are at hand, two at a time.
struct PartlyCached(Arc<AtomicUsize>);

struct Open(Arc<AtomicUsize>);

impl FileSystem for PartlyCached {
    fn root(&self) -> Result<Node, Errno> {
        Ok(Node::new(NodeKey(1), Attributes::new(FileType::Directory, 0o755)))
    }

    fn lookup(&self, _: &Directory<'_>, name: Name<'_>) -> Result<Option<Node>, Errno> {
        let file = Attributes::new(FileType::Regular, 0o644).with_size(TEXT.len() as u64);
        Ok((name.bytes() == b"f").then(|| Node::new(NodeKey(2), file)))
    }

    fn attributes(&self, _: NodeKey) -> Result<Attributes, Errno> {
        Err(Errno::EIO)
    }

    fn open(&self, _: NodeKey, _: OpenFor) -> Result<Box<dyn OpenFile>, Errno> {
        Ok(Box::new(Open(self.0.clone())))
    }
}

impl OpenFile for Open {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let rest = &TEXT[TEXT.len().min(offset as usize)..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn try_read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let at_hand = self.0.load(SeqCst);
        assert_ne!(at_hand, PANICS, "as it was told to");
        let left = at_hand.saturating_sub(offset as usize);
        if left == 0 && at_hand < TEXT.len() {
            return Err(Errno::EAGAIN);
        }
        let length = buffer.len().min(left).min(2);
        self.read_at(&mut buffer[..length], offset)
    }
}

/// Returns the number of bytes at hand, the file, and a context that reads it.
fn world() -> (Arc<AtomicUsize>, Arc<File>, Context) {
    let at_hand = Arc::new(AtomicUsize::new(TEXT.len()));
    let vfs = Vfs::builder().budget(1 << 20).build(PartlyCached(at_hand.clone())).unwrap();
    let context = vfs.context(Credentials::root());
    let file = context.open("/f", OpenFlags::READ).unwrap();
    (at_hand, Arc::new(file), context)
}

fn read(file: &Arc<File>, length: usize, offset: u64) -> Op<'static> {
    Op::Read { file: file.clone(), buffer: vec![0; length], offset: Offset::At(offset) }
}

/// Creates a ring with a worker that is still there when the test looks for it.
fn ring(context: &Context) -> Ring {
    Ring::builder(context.clone()).pool(Pool::builder().workers(1).idle(Duration::from_secs(60)).build()).build()
}

/// Returns the data of a read.
fn answer(ring: &mut Ring, op: Op<'_>) -> Result<Vec<u8>, Errno> {
    submit(ring, [Entry::new(0, op)]);
    all(ring).remove(0).result.map(|value| match value {
        Value::Read(data) => data,
        other => panic!("{other:?}"),
    })
}

#[test]
fn what_is_at_hand_is_read_in_submit() {
    let (_, file, context) = world();
    let mut ring = ring(&context);
    for (length, offset, wanted) in [(8, 0, "01234567"), (3, 2, "234"), (9, 5, "567"), (4, 8, ""), (4, 9, ""), (0, 0, "")] {
        assert_eq!(answer(&mut ring, read(&file, length, offset)), Ok(wanted.into()), "{length} from {offset}");
    }
    assert_eq!(answer(&mut ring, read(&file, 1, u64::MAX)), Err(Errno::EINVAL));
    let dir = Arc::new(context.open("/", OpenFlags::READ).unwrap());
    assert_eq!(answer(&mut ring, read(&dir, 1, 0)), Err(Errno::EISDIR));
    assert_eq!(ring.pool().stats().workers, 0, "no thread was needed");
    submit(&mut ring, [Entry::new(0, read(&file, 4, 2)).with(EntryFlags::ASYNC)]);
    assert_eq!((results(&mut ring), ring.pool().stats().workers), (vec![(0, 4)], 1), "but where it is wanted");
}

/// Checks that the result is the same however much of it is at hand.
#[test]
fn the_rest_is_read_by_a_worker() {
    let (at_hand, file, context) = world();
    for cached in 0..TEXT.len() {
        at_hand.store(cached, SeqCst);
        let mut ring = ring(&context);
        assert_eq!(answer(&mut ring, read(&file, 8, 0)).as_deref(), Ok(TEXT));
        assert_eq!(ring.pool().stats().workers, 1);
    }
}

#[test]
fn at_the_position_a_worker_reads() {
    let (_, file, context) = world();
    let mut ring = ring(&context);
    let next = || Op::Read { file: file.clone(), buffer: vec![0; 5], offset: Offset::Current };
    assert_eq!([(); 3].map(|()| answer(&mut ring, next()).unwrap()), [b"01234".to_vec(), b"567".to_vec(), vec![]]);
    assert_eq!(ring.pool().stats().workers, 1);
}

#[test]
fn a_short_one_breaks_a_chain() {
    let (_, file, context) = world();
    let mut ring = ring(&context);
    submit(
        &mut ring,
        [Entry::new(0, read(&file, 8, 0)).with(LINK), Entry::new(1, read(&file, 8, 1)).with(LINK), Entry::new(2, Op::Nop)],
    );
    assert_eq!((results(&mut ring), ring.pool().stats().workers), (vec![(0, 8), (1, 7), (2, ECANCELED)], 0));
}

#[test]
fn a_panic_is_an_error() {
    let (at_hand, file, context) = world();
    at_hand.store(PANICS, SeqCst);
    assert_eq!(answer(&mut ring(&context), read(&file, 8, 0)), Err(Errno::EIO));
}

#[test]
fn a_future_is_ready_at_once() {
    let (at_hand, file, context) = world();
    let pool = Pool::builder().workers(1).idle(Duration::from_secs(60)).build();
    let context = AsyncContext::new(context, pool.clone());
    let read = || context.read(&file, vec![0; 8], Offset::At(0));
    let mut task = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::pin!(read()).as_mut().poll(&mut task).is_ready());
    assert_eq!(pool.stats().workers, 0, "no thread was needed");
    at_hand.store(3, SeqCst);
    // The result may be there by now all the same.
    _ = std::pin::pin!(read()).as_mut().poll(&mut task);
    assert_eq!(pool.stats().workers, 1);
}
