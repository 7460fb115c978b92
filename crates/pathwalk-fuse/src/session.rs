//! A mount: its start, its threads, and its end.
//!
//! Each thread takes one request at a time, serves it and answers it. When the last waiting thread
//! takes one, another thread is started, so that a request that has to wait stops no other. Threads
//! beyond `KEPT` end when they have nothing to do.
//!
//! What always holds: a panic while a request is served is answered with `EIO`, and the other
//! requests go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use pathwalk::Errno;
use rustix::io;
use zerocopy::IntoBytes;

use crate::abi::{InitFlags, InitIn, InitOut, LEAST_MINOR, MAJOR, MINOR, Opcode, OutHeader};
use crate::askers::Askers;
use crate::counts::{Counts, Share};
use crate::device::Device;
use crate::reply::Reply;
use crate::request::Request;
use crate::serve::{Answer, Call, Given, Server};

/// The most bytes of data in a request or an answer.
const MOST_DATA: usize = 1 << 20;

/// The most bytes before the data of a request.
const MOST_BEFORE: usize = 4096;

/// Threads that stay, if they are there, when there is nothing to do.
const KEPT: usize = 8;

/// The most threads of a mount.
const MOST_THREADS: usize = 64;

/// The most requests that the kernel sends without a caller that waits for each (reading ahead).
const MOST_IN_BACKGROUND: u16 = 64;

/// What is asked of the kernel, where it can do it.
const WANTED: InitFlags = InitFlags::ASYNC_READ
    .union(InitFlags::ATOMIC_O_TRUNC)
    .union(InitFlags::EXPORT_SUPPORT)
    .union(InitFlags::BIG_WRITES)
    .union(InitFlags::DONT_MASK)
    .union(InitFlags::DO_READDIRPLUS)
    .union(InitFlags::READDIRPLUS_AUTO)
    .union(InitFlags::ASYNC_DIO)
    .union(InitFlags::PARALLEL_DIROPS)
    .union(InitFlags::POSIX_ACL)
    .union(InitFlags::MAX_PAGES)
    .union(InitFlags::CACHE_SYMLINKS)
    .union(InitFlags::HANDLE_KILLPRIV_V2)
    .union(InitFlags::SETXATTR_EXT)
    .union(InitFlags::INIT_EXT);

/// Answers the kernel's first request, which tells what both sides can.
///
/// `EPROTO` for anything else, and for a kernel before Linux 5.14, which is told so.
pub(crate) fn begin(device: &Device, checks_times: bool) -> io::Result<()> {
    let mut buffer = vec![0; MOST_BEFORE + MOST_DATA];
    let length = device.receive(&mut buffer)?.ok_or(io::Errno::NOTCONN)?;
    let Request { header, mut body } = Request::parse(&buffer[..length]).ok_or(io::Errno::PROTO)?;
    // Kernels before 5.17 leave out what is behind the first word of flags.
    let init: InitIn = body.take_padded();
    if header.opcode != Opcode::Init as u32 || init.major != MAJOR || init.minor < LEAST_MINOR {
        let refused = OutHeader { len: size_of::<OutHeader>() as u32, error: -Errno::EPROTO.raw(), unique: header.unique };
        device.send(refused.as_bytes())?;
        return Err(io::Errno::PROTO);
    }
    let offered = InitFlags::from_bits_retain(u64::from(init.flags) | (u64::from(init.flags2) << 32));
    let wanted = if checks_times { WANTED | InitFlags::AUTO_INVAL_DATA } else { WANTED };
    let flags = (wanted & offered).bits();
    let answer = InitOut {
        major: MAJOR,
        minor: MINOR.min(init.minor),
        max_readahead: init.max_readahead,
        flags: flags as u32,
        flags2: (flags >> 32) as u32,
        max_background: MOST_IN_BACKGROUND,
        congestion_threshold: MOST_IN_BACKGROUND / 4 * 3,
        max_write: MOST_DATA as u32,
        time_gran: 1,
        max_pages: (MOST_DATA / 4096) as u16,
        ..InitOut::default()
    };
    let length = size_of::<OutHeader>() + size_of::<InitOut>();
    let head = OutHeader { len: length as u32, error: 0, unique: header.unique };
    device.send(&[head.as_bytes(), answer.as_bytes()].concat())
}

/// What the threads of a mount share.
pub(crate) struct Session {
    pub(crate) server: Server,
    pub(crate) counts: Counts,
    /// The descriptor from which those of the threads are made.
    device: Device,
    /// The threads that wait for a request. A thread counts itself off when it takes one, and on
    /// again behind its answer. Both tell whether another thread is needed, and order nothing.
    waiting: AtomicUsize,
    /// The threads that run.
    running: Mutex<usize>,
    /// Told when the last thread ended.
    ended: Condvar,
}

impl Session {
    /// Starts the first thread.
    pub(crate) fn start(device: Device, server: Server) -> std::io::Result<Arc<Session>> {
        let session = Arc::new(Session {
            server,
            counts: Counts::new(),
            device,
            waiting: AtomicUsize::new(0),
            running: Mutex::new(0),
            ended: Condvar::new(),
        });
        Session::add_thread(&session)?;
        Ok(session)
    }

    /// Returns whether the mount has ended, and all its threads have.
    pub(crate) fn has_ended(&self) -> bool {
        *self.running.lock() == 0
    }

    /// Waits until the mount has ended, and all its threads have.
    pub(crate) fn wait(&self) {
        let mut running = self.running.lock();
        while *running > 0 {
            self.ended.wait(&mut running);
        }
    }

    /// Starts one more thread, unless there are [`MOST_THREADS`].
    fn add_thread(session: &Arc<Session>) -> std::io::Result<()> {
        let mut running = session.running.lock();
        if *running == MOST_THREADS {
            return Ok(());
        }
        let device = session.device.again()?;
        let own = Arc::clone(session);
        session.waiting.fetch_add(1, Ordering::Relaxed);
        thread::Builder::new().name("pathwalk-fuse".into()).spawn(move || own.run(&device)).inspect_err(|_| {
            session.waiting.fetch_sub(1, Ordering::Relaxed);
        })?;
        *running += 1;
        Ok(())
    }

    fn run(self: Arc<Session>, device: &Device) {
        self.serve_all(device);
        let mut running = self.running.lock();
        *running -= 1;
        if *running == 0 {
            self.ended.notify_all();
        }
    }

    /// Serves until the mount ends, or enough other threads wait.
    fn serve_all(self: &Arc<Session>, device: &Device) {
        let mut buffer = vec![0; MOST_BEFORE + MOST_DATA].into_boxed_slice();
        let mut askers = Askers::new(&self.server.context);
        let mut reply = Reply::new(MOST_DATA + MOST_BEFORE);
        let share = self.counts.share();
        // Any other error leaves nothing to be read either: the kernel is told by the descriptor's
        // being closed.
        while let Ok(Some(length)) = device.receive(&mut buffer) {
            if self.waiting.fetch_sub(1, Ordering::Relaxed) == 1 {
                // Without one more thread the requests wait for this one.
                let _ = Session::add_thread(self);
            }
            if let Some(request) = Request::parse(&buffer[..length]) {
                self.serve_one(device, request, share, (&mut askers, &mut reply));
            }
            if self.waiting.fetch_add(1, Ordering::Relaxed) >= KEPT {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                return;
            }
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn serve_one(&self, device: &Device, request: Request<'_>, share: &Share, (askers, reply): (&mut Askers, &mut Reply)) {
        let (header, begun) = (request.header, Instant::now());
        reply.clear();
        let mut given = Given::default();
        let mut call = Call { server: &self.server, askers, reply, given: &mut given, header };
        // What is shared stays whole: locks are not poisoned, and the engine's changes are made by
        // calls that either happened or did not.
        let answer = catch_unwind(AssertUnwindSafe(|| call.serve(request)));
        let result = match answer {
            Ok(Answer::None) => return share.add(header.opcode, Ok(()), begun.elapsed()),
            Ok(Answer::With(result)) => result,
            Err(_) => Err(Errno::EIO),
        };
        share.add(header.opcode, result, begun.elapsed());
        // `ENOENT`: the request was given up. Other errors say that nothing is mounted any more.
        if device.send(reply.finish(header.unique, result)).is_err() || result.is_err() {
            given.take_back(&self.server);
        } else {
            given.leave();
        }
    }
}
