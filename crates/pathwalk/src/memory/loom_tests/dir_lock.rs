//! Writers are alone, readers see whole writes, and nobody sleeps for ever: a wake-up that is lost is a deadlock here.

use loom::thread;

use super::words;
use crate::memory::dir_lock::{exclusive, shared};
use crate::sync::{Arc, AtomicU32, Ordering::Relaxed};

#[test]
fn a_reader_and_two_writers() {
    loom::model(|| {
        let lock = Arc::new(AtomicU32::new(0));
        let data = words::<2>();
        let write = {
            let (lock, data) = (lock.clone(), data.clone());
            move || {
                let _held = exclusive(&lock);
                data.iter().for_each(|word| word.store(word.load(Relaxed) + 1, Relaxed));
            }
        };
        let writers = [thread::spawn(write.clone()), thread::spawn(write)];
        {
            let _held = shared(&lock);
            assert_eq!(data[0].load(Relaxed), data[1].load(Relaxed));
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        assert_eq!((data[0].load(Relaxed), lock.load(Relaxed)), (2, 0));
    });
}

#[test]
fn two_readers_and_a_writer() {
    loom::model(|| {
        let lock = Arc::new(AtomicU32::new(0));
        let data = words::<2>();
        let read = {
            let (lock, data) = (lock.clone(), data.clone());
            move || {
                let _held = shared(&lock);
                assert_eq!(data[0].load(Relaxed), data[1].load(Relaxed));
            }
        };
        let readers = [thread::spawn(read.clone()), thread::spawn(read)];
        {
            let _held = exclusive(&lock);
            data.iter().for_each(|word| word.store(1, Relaxed));
        }
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert_eq!(lock.load(Relaxed), 0);
    });
}
