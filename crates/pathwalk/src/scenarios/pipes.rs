//! Named pipes: openers, readers and writers beside others that come and go. What is lost shows as
//! a deadlock, or as data that is missing.

use super::fs::ROOT;
use super::world::{Hash, World};
use super::{explore, interrupt, thread};
use crate::attr::FileType;
use crate::{Cancellation, Errno, File, OpenFlags};

const READ: OpenFlags = OpenFlags::READ;
const WRITE: OpenFlags = OpenFlags::WRITE;
const NONBLOCK: OpenFlags = OpenFlags::NONBLOCK;

fn with_pipe(hash: Hash) -> World {
    World::new(hash, |fs| _ = fs.add(ROOT, "pipe", FileType::Fifo, 0o666))
}

fn open(world: &World, flags: OpenFlags) -> Result<File, Errno> {
    world.user().open("/pipe", flags)
}

fn read_all(file: &File) -> Vec<u8> {
    let (mut all, mut buffer) = (Vec::new(), [0; 3]);
    while let Ok(length @ 1..) = file.read(&mut buffer) {
        all.extend_from_slice(&buffer[..length]);
    }
    all
}

/// Two openers meet. The reader gets all that the writer writes, and the end.
#[test]
fn openers_meet() {
    explore(|hash| {
        let world = with_pipe(hash);
        let reader = world.spawn(|world| read_all(&open(world, READ).unwrap()));
        let writer = world.spawn(|world| {
            let file = open(world, WRITE).unwrap();
            file.write(b"hello").unwrap();
        });
        writer.join().unwrap();
        assert_eq!(reader.join().unwrap(), b"hello");
        world.end();
    });
}

/// A partner that opens and closes at once releases the opener that waits, and the opener releases
/// it.
#[test]
fn a_partner_that_closes_again_counts() {
    explore(|hash| {
        for (waiting, partner) in [(READ, WRITE), (WRITE, READ)] {
            let world = with_pipe(hash);
            let opener = world.spawn(move |world| drop(open(world, waiting).unwrap()));
            drop(open(&world, partner).unwrap());
            opener.join().unwrap();
            world.end();
        }
    });
}

/// A reader beside the close of the last writer.
#[test]
fn the_last_writer_goes() {
    explore(|hash| {
        let world = with_pipe(hash);
        let both = open(&world, READ | WRITE).unwrap();
        let reader = open(&world, READ).unwrap();
        let reader = thread::spawn(move || read_all(&reader));
        let writer = open(&world, WRITE).unwrap();
        let writer = thread::spawn(move || writer.write(b"abc"));
        drop(both);
        assert_eq!(writer.join().unwrap(), Ok(3));
        assert_eq!(reader.join().unwrap(), b"abc");
        world.end();
    });
}

/// A writer that waits for room beside the close of the last reader.
#[test]
fn the_last_reader_goes() {
    explore(|hash| {
        let world = with_pipe(hash);
        let reader = open(&world, READ | NONBLOCK).unwrap();
        let writer = open(&world, WRITE).unwrap();
        let writer = thread::spawn(move || writer.write(&[0; 16 * 4096 + 1]));
        drop(reader);
        assert!(matches!(writer.join().unwrap(), Ok(65_536) | Err(Errno::EPIPE)));
        world.end();
    });
}

/// Two writers, each with messages that fit only if the reader makes room: no message is mixed with
/// another.
#[test]
fn messages_come_whole() {
    explore(|hash| {
        let world = with_pipe(hash);
        let both = open(&world, READ | WRITE).unwrap();
        // Room for one page is left.
        assert_eq!(both.write(&[9; 15 * 4096]), Ok(15 * 4096));
        let writers = [1, 2].map(|number: u8| {
            let file = open(&world, WRITE).unwrap();
            thread::spawn(move || {
                for _ in 0..2 {
                    assert_eq!(file.write(&[number; 3000]), Ok(3000));
                }
            })
        });
        let mut all = vec![0; 15 * 4096 + 4 * 3000];
        let mut length = 0;
        while length < all.len() {
            length += both.read(&mut all[length..]).unwrap();
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        let mut messages: Vec<u8> = all[15 * 4096..].chunks(3000).map(|message| message[0]).collect();
        assert!(all[15 * 4096..].chunks(3000).all(|message| message.iter().all(|byte| *byte == message[0])));
        messages.sort_unstable();
        assert_eq!(messages, [1, 1, 2, 2]);
        drop(both);
        world.end();
    });
}

/// A wait beside its cancellation, and beside the partner that would end it.
#[test]
fn a_wait_is_cancelled() {
    explore(|hash| {
        let world = with_pipe(hash);
        let cancellation = Cancellation::new();
        let under = cancellation.clone();
        let opener = world.spawn(move |world| under.during(|| open(world, READ).map(drop)));
        let partner = world.spawn(|world| match open(world, WRITE | NONBLOCK) {
            Ok(file) => drop(file),
            Err(errno) => assert_eq!(errno, Errno::ENXIO),
        });
        cancellation.cancel();
        assert!(matches!(opener.join().unwrap(), Ok(()) | Err(Errno::ECANCELED)));
        partner.join().unwrap();
        assert_eq!(open(&world, WRITE | NONBLOCK).unwrap_err(), Errno::ENXIO, "the opener has left");
        world.end();
    });
}

/// A cancellation alone, of an opener and of a reader: nothing else wakes them.
#[test]
fn a_cancellation_wakes() {
    interrupt(|hash| {
        let world = with_pipe(hash);
        let both = open(&world, READ | WRITE).unwrap();
        let reads = Cancellation::new();
        let reader = world.spawn({
            let reads = reads.clone();
            move |world| reads.during(|| open(world, READ).unwrap().read(&mut [0]))
        });
        reads.cancel();
        assert_eq!(reader.join().unwrap(), Err(Errno::ECANCELED));
        drop(both);
        let opens = Cancellation::new();
        let opener = world.spawn({
            let opens = opens.clone();
            move |world| opens.during(|| open(world, WRITE).map(drop))
        });
        opens.cancel();
        assert_eq!(opener.join().unwrap(), Err(Errno::ECANCELED));
        world.end();
    });
}

/// An opener that was cancelled does not count as a reader, beside files that keep the pipe.
#[test]
fn a_cancelled_opener_is_gone() {
    explore(|hash| {
        let world = with_pipe(hash);
        let reader = open(&world, READ | NONBLOCK).unwrap();
        let cancellation = Cancellation::new();
        let under = cancellation.clone();
        let opener = world.spawn(move |world| under.during(|| open(world, READ).map(drop)));
        cancellation.cancel();
        assert_eq!(opener.join().unwrap(), Err(Errno::ECANCELED));
        let writer = open(&world, WRITE).unwrap();
        drop(reader);
        assert_eq!(writer.write(&[1]), Err(Errno::EPIPE));
        drop(writer);
        world.end();
    });
}

/// Opens and closes of one pipe at once: it is there as long as one of them has it, and no longer.
#[test]
fn a_pipe_ends_with_its_last_file() {
    explore(|hash| {
        let world = with_pipe(hash);
        let threads = [1, 2].map(|number: u8| {
            world.spawn(move |world| {
                let file = open(world, READ | WRITE | NONBLOCK).unwrap();
                file.write(&[number]).unwrap();
                let mut byte = [0; 1];
                // The other thread may have read it, unless that had a pipe of its own.
                _ = file.read(&mut byte);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(world.vfs.world().special.pipes.count(), 0);
        world.end();
    });
}
