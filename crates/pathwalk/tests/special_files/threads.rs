//! Pipes between threads: whole messages, and waits that are cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use pathwalk::limits::PIPE_BUF;
use pathwalk::{Cancellation, Errno, OpenFlags, WaitObserver};

use crate::side::{Call, Engine, Side};

/// Writers, each with messages of its own byte and length, and readers that open and close: each
/// byte comes once, and no message of up to `PIPE_BUF` bytes is mixed with another.
#[test]
fn messages_come_whole() {
    const WRITERS: u8 = 4;
    const MESSAGES: usize = if cfg!(miri) { 20 } else { 2000 };
    let Engine(context) = Engine::new();
    // Begun together, by an open of both ends that stays until all writers are there.
    let gate = context.open("/pipe", OpenFlags::READ | OpenFlags::WRITE).unwrap();
    let writers: Vec<_> = (1..=WRITERS)
        .map(|number| {
            let writer = context.open("/other", OpenFlags::WRITE).unwrap();
            std::thread::spawn(move || {
                let mut rng = fastrand::Rng::with_seed(number.into());
                for _ in 0..MESSAGES {
                    // A message: the writer, the length, and so many bytes.
                    let length = rng.usize(3..=PIPE_BUF);
                    let mut message = vec![number; length];
                    message[1..3].copy_from_slice(&(length as u16).to_le_bytes());
                    assert_eq!(writer.write(&message), Ok(length));
                }
            })
        })
        .collect();
    let reader = context.open("/link", OpenFlags::READ).unwrap();
    drop(gate);
    let mut all = Vec::new();
    let mut buffer = [0; 9000];
    while let Ok(length @ 1..) = reader.read(&mut buffer) {
        all.extend_from_slice(&buffer[..length]);
    }
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let (mut rest, mut messages) = (&all[..], 0);
    while let [number, low, high, ..] = *rest {
        let (message, behind) = rest.split_at(usize::from(u16::from_le_bytes([low, high])));
        assert!(message[3..].iter().all(|byte| *byte == number), "message {messages} is mixed");
        (rest, messages) = (behind, messages + 1);
    }
    assert_eq!(messages, MESSAGES * usize::from(WRITERS));
}

/// Openers of both kinds that meet, again and again.
#[test]
fn openers_meet() {
    let Engine(context) = Engine::new();
    let meetings = if cfg!(miri) { 10 } else { 1000 };
    let other = context.clone();
    let writer = std::thread::spawn(move || {
        for _ in 0..meetings {
            let file = other.open("/pipe", OpenFlags::WRITE).unwrap();
            // The reader may have gone already.
            _ = file.write(b"hello");
        }
    });
    let mut met = 0;
    while !writer.is_finished() {
        // Both, so that neither waits for a thread that has ended.
        drop(context.open("/pipe", OpenFlags::READ | OpenFlags::NONBLOCK).unwrap());
        met += 1;
        std::thread::yield_now();
    }
    writer.join().unwrap();
    assert!(met > 0);
}

#[derive(Default)]
struct Waits {
    began: AtomicUsize,
    ended: AtomicUsize,
}

impl WaitObserver for Waits {
    fn wait_begins(&self) {
        self.began.fetch_add(1, Ordering::SeqCst);
    }

    fn wait_ends(&self) {
        self.ended.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
#[cfg_attr(miri, ignore = "looks at the states of threads")]
fn a_cancellation_ends_each_kind_of_wait() {
    let (waits, Engine(context)) = (Arc::new(Waits::default()), Engine::new());
    let cancellation = Cancellation::observed(waits.clone());
    let open = |flags| {
        let (context, cancellation) = (context.clone(), cancellation.clone());
        Call::new(move || cancellation.during(|| context.open("/pipe", flags).map(drop)))
    };
    let opens = [open(OpenFlags::READ), open(OpenFlags::READ)];
    assert!(opens.iter().all(Call::waits));
    cancellation.cancel();
    opens.into_iter().for_each(|open| assert_eq!(open.end(), Err(Errno::ECANCELED)));
    assert_eq!(context.open("/pipe", OpenFlags::WRITE | OpenFlags::NONBLOCK).unwrap_err(), Errno::ENXIO, "they have left");
    assert_eq!(cancellation.during(|| context.open("/pipe", OpenFlags::WRITE).map(drop)), Err(Errno::ECANCELED));

    let cancellation = Cancellation::observed(waits.clone());
    let both = Arc::new(context.open("/pipe", OpenFlags::READ | OpenFlags::WRITE).unwrap());
    let (file, of_read) = (both.clone(), cancellation.clone());
    let read = Call::new(move || of_read.during(|| file.read(&mut [0; 9])));
    assert!(read.waits());
    cancellation.cancel();
    assert_eq!(read.end(), Err(Errno::ECANCELED));

    let cancellation = Cancellation::observed(waits.clone());
    let (file, of_write) = (both.clone(), cancellation.clone());
    let write = Call::new(move || of_write.during(|| file.write(&vec![0; 100_000])));
    assert!(write.waits());
    cancellation.cancel();
    assert_eq!(write.end(), Ok(65_536), "what was written");
    assert_eq!(cancellation.during(|| both.write(b"x")), Err(Errno::ECANCELED));
    assert_eq!(cancellation.during(|| both.read(&mut [0; 9])), Ok(9), "it need not wait");
    assert_eq!((waits.began.load(Ordering::SeqCst), waits.ended.load(Ordering::SeqCst)), (4, 4));
}
