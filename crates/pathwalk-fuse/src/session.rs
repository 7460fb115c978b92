//! A mount: its start, its threads, and its end.
//!
//! Each thread takes one request at a time, serves it and answers it. When the last waiting thread
//! takes one, another thread is started, so that a request that has to wait stops no other. Threads
//! beyond `KEPT` end when they have nothing to do. One more thread sends
//! [notices](crate::notifier), and ends when all others have.
//!
//! What always holds: a panic while a request is served is answered with `EIO`, and the other
//! requests go on. When the mount has ended, nothing is held any more for the kernel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use pathwalk::Errno;

use crate::Opens;
use crate::abi::{InHeader, Opcode};
use crate::askers::Askers;
use crate::counts::{Counts, Share};
use crate::device::Device;
use crate::flights::{Flights, Place};
use crate::mounted::Pinned;
use crate::notice::Notice;
use crate::notifier::{Notifier, Round};
use crate::reply::Reply;
use crate::request::Request;
use crate::serve::{Answer, Call, Given, Server};
use crate::untold::Untold;

/// The most bytes of data in a request or an answer.
pub(crate) const MOST_DATA: usize = 1 << 20;

/// The most bytes before the data of a request.
pub(crate) const MOST_BEFORE: usize = 4096;

/// Threads that stay, if they are there, when there is nothing to do.
const KEPT: usize = 8;

/// The most threads of a mount.
const MOST_THREADS: usize = 64;

/// What the threads of a mount share.
pub(crate) struct Session {
    pub(crate) server: Server,
    pub(crate) counts: Counts,
    pub(crate) notifier: Notifier,
    flights: Flights,
    /// The descriptor from which those of the threads are made, and by which notices are sent.
    device: Device,
    /// The threads that wait for a request. A thread counts itself off when it takes one, and on
    /// again behind its answer. Both tell whether another thread is needed, and order nothing.
    waiting: AtomicUsize,
    threads: Arc<Threads>,
}

/// The threads of a mount, of which each leaves the session before it is counted off: once all
/// have ended, nothing but its owner has what is served.
#[derive(Default)]
struct Threads {
    running: Mutex<Running>,
    /// Told when the last thread ended.
    ended: Condvar,
}

/// The threads that run.
#[derive(Default)]
struct Running {
    /// Those that serve requests.
    serving: usize,
    /// All that have the session: those, the one that sends notices, and those that end.
    all: usize,
}

impl Threads {
    /// Counts off a thread that has left the session.
    fn left(&self) {
        let mut running = self.running.lock();
        running.all -= 1;
        if running.all == 0 {
            self.ended.notify_all();
        }
    }
}

impl Session {
    /// Starts the first thread, and the one that sends notices.
    pub(crate) fn start(device: Device, server: Server, notifier: Notifier) -> std::io::Result<Arc<Session>> {
        let session = Arc::new(Session {
            server,
            counts: Counts::new(),
            notifier,
            flights: Flights::default(),
            device,
            waiting: AtomicUsize::new(0),
            threads: Arc::default(),
        });
        if session.server.opens == Opens::Untold {
            Untold::start(&session.server.untold)?;
        }
        Session::add_notifier(&session).inspect_err(|_| session.server.untold.clear())?;
        Session::add_thread(&session).inspect_err(|_| session.notifier.end())?;
        Ok(session)
    }

    /// Returns whether the mount has ended, and all its threads have.
    pub(crate) fn has_ended(&self) -> bool {
        self.threads.running.lock().all == 0
    }

    /// Returns what the kernel holds.
    pub(crate) fn pinned(&self) -> Pinned {
        let Session { server, notifier, .. } = self;
        let (nodes, lookups) = server.nodes.counts();
        let (bound, asked_to_forget) = (notifier.bound(), notifier.asked());
        Pinned { nodes, lookups, open_files: server.files.count() + server.untold.count(), bound, asked_to_forget }
    }

    /// Waits until the mount has ended, and all its threads have.
    pub(crate) fn wait(&self) {
        let mut running = self.threads.running.lock();
        while running.all > 0 {
            self.threads.ended.wait(&mut running);
        }
    }

    /// Waits as long, and returns whether the mount has ended.
    pub(crate) fn wait_for(&self, most: Duration) -> bool {
        let mut running = self.threads.running.lock();
        !self.threads.ended.wait_while_for(&mut running, |running| running.all > 0, most).timed_out()
    }

    fn add_notifier(session: &Arc<Session>) -> std::io::Result<()> {
        let (own, threads) = (Arc::clone(session), Arc::clone(&session.threads));
        let notify = move || {
            own.notifier.run(&own.device, &own.server.nodes);
            // What the kernel had is gone with the mount.
            own.server.nodes.clear();
            own.server.files.clear();
            own.server.untold.clear();
            drop(own);
            threads.left();
        };
        session.threads.running.lock().all += 1;
        let started = thread::Builder::new().name("pathwalk-notice".into()).spawn(notify);
        started.map(drop).inspect_err(|_| session.threads.left())
    }

    /// Starts one more thread, unless there are [`MOST_THREADS`].
    fn add_thread(session: &Arc<Session>) -> std::io::Result<()> {
        let mut running = session.threads.running.lock();
        if running.serving == MOST_THREADS {
            return Ok(());
        }
        let device = session.device.again()?;
        let own = Arc::clone(session);
        session.waiting.fetch_add(1, Ordering::Relaxed);
        thread::Builder::new().name("pathwalk-fuse".into()).spawn(move || own.run(&device)).inspect_err(|_| {
            session.waiting.fetch_sub(1, Ordering::Relaxed);
        })?;
        running.serving += 1;
        running.all += 1;
        Ok(())
    }

    fn run(self: Arc<Session>, device: &Device) {
        let place = self.flights.enter();
        self.serve_all(device, &place);
        self.flights.leave(&place);
        let threads = Arc::clone(&self.threads);
        let mut running = threads.running.lock();
        running.serving -= 1;
        let is_last = running.serving == 0;
        drop(running);
        if is_last {
            self.notifier.end();
        }
        drop(self);
        threads.left();
    }

    /// Serves until the mount ends, or enough other threads wait.
    fn serve_all(self: &Arc<Session>, device: &Device, place: &Place) {
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
            self.serve_one(device, &buffer[..length], place, (&mut askers, &mut reply), share);
            if self.waiting.fetch_add(1, Ordering::Relaxed) >= KEPT {
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                return;
            }
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn serve_one(
        &self,
        device: &Device,
        message: &[u8],
        place: &Place,
        (askers, reply): (&mut Askers, &mut Reply),
        share: &Share,
    ) {
        let Some(request) = Request::parse(message) else { return };
        let (header, round, begun) = (request.header, self.notifier.round(), Instant::now());
        reply.clear();
        let mut given = Given::default();
        let mut call = Call { server: &self.server, flights: &self.flights, askers, reply, given: &mut given, header };
        // What changes by one number of a node is news for the others.
        let has_twins = self.server.nodes.has_twins();
        let serve = || if has_twins { call.serve(request) } else { self.notifier.unheard(|| call.serve(request)) };
        // What is shared stays whole: locks are not poisoned, and the engine's changes are made by
        // calls that either happened or did not.
        let answer = catch_unwind(AssertUnwindSafe(|| place.during(header.unique, serve)));
        let result = match answer {
            Ok((Answer::None, _)) => return share.add(header.opcode, Ok(()), begun.elapsed()),
            Ok((Answer::With(Err(Errno::ECANCELED)), true)) => Err(Errno::EINTR),
            Ok((Answer::With(result), _)) => result,
            Err(_) => Err(Errno::EIO),
        };
        share.add(header.opcode, result, begun.elapsed());
        given.take_outdated().iter().for_each(|notice| self.notifier.tell(device, notice));
        // `ENOENT`: the request was given up. Other errors say that nothing is mounted any more.
        if device.send(reply.finish(header.unique, result)).is_err() {
            given.take_back(&self.server);
        } else {
            self.overtaken(round, header, message, &given);
            match result {
                Ok(()) => given.leave(),
                Err(_) => given.take_back(&self.server),
            }
        }
        if !has_twins && self.server.nodes.has_twins() {
            // A node got its second number meanwhile, perhaps before this request changed it.
            self.notifier.again(Notice::all(&self.server.nodes));
        }
        self.notifier.look_at(&self.server.nodes);
    }

    /// Has notices sent about an answer that the kernel has, if others were sent since a round: the
    /// answer may be older than they are.
    fn overtaken(&self, since: Round, header: InHeader, message: &[u8], given: &Given) {
        if self.notifier.round() == since {
            return;
        }
        let (node, mut notices) = (header.nodeid, Vec::new());
        notices.push(match Opcode::from_number(header.opcode) {
            Some(Opcode::ReadDir | Opcode::ReadDirPlus) => Notice::Data(node),
            _ => Notice::Attributes(node),
        });
        notices.extend(given.nodes().map(Notice::Attributes));
        if header.opcode == Opcode::Lookup as u32
            && let Some(mut request) = Request::parse(message)
            && let Ok(name) = request.body.text()
        {
            notices.push(Notice::Name { parent: node, name: name.into() });
        }
        self.notifier.again(notices);
    }
}
