//! A program carried out by the kernel: this test's program again for each process, with a socket
//! as its standard input, over which it gets calls and sends answers.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use pathwalk::LockKind;

use crate::program::{Answer, Call, FILES, Family, Holder, PROCESSES, SLOTS, Wait};

/// The variable that names the directory of the files to a child.
const PLACE: &str = "PATHWALK_LOCKS_PLACE";

/// A message: a call, or its answer.
type Words = [i64; 7];

pub(crate) struct Kernel {
    workers: Vec<Worker>,
    /// The processes whose call has not returned, and whether it may wait.
    pending: BTreeMap<usize, bool>,
    _place: tempfile::TempDir,
}

struct Worker {
    child: Child,
    socket: UnixStream,
    thread: i32,
    /// Shows in which system call the thread is.
    call: String,
    /// Shows whether it sleeps.
    state: String,
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Without its socket it ends, also if a test panics while it waits.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Kernel {
    pub(crate) fn new() -> Kernel {
        let place = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a directory for the files");
        (0..FILES).for_each(|file| std::fs::write(place.path().join(file.to_string()), "0123456789").expect("a file"));
        let workers = (0..PROCESSES).map(|_| Worker::start(place.path())).collect();
        Kernel { workers, pending: BTreeMap::new(), _place: place }
    }

    pub(crate) fn begin(&mut self, process: usize, call: &Call) {
        let worker = &mut self.workers[process];
        if *call == Call::Interrupt {
            let (child, thread) = (worker.child.id() as i32, worker.thread);
            // SAFETY: the call takes numbers. The child was not waited for, so its number is its
            // own.
            let sent = unsafe { libc::syscall(libc::SYS_tgkill, child, thread, libc::SIGUSR1) };
            assert_eq!(sent, 0, "the child runs");
            return;
        }
        worker.send(&words(call));
        self.pending.insert(process, call.waits());
    }

    /// Returns the answers of all calls that do not wait.
    ///
    /// A call that releases a lock wakes the others before it returns, and a process that sleeps in
    /// a call for locks was not woken. So all is settled once all were seen asleep twice, and none
    /// did anything in between.
    pub(crate) fn settle(&mut self) -> BTreeMap<usize, Answer> {
        let mut answers = BTreeMap::new();
        let mut quiet = 0;
        while quiet < 2 && !self.pending.is_empty() {
            quiet += 1;
            let pending: Vec<(usize, bool)> = self.pending.iter().map(|(process, waits)| (*process, *waits)).collect();
            for (process, waits) in pending {
                let worker = &mut self.workers[process];
                let answered = if waits { worker.try_receive() } else { Some(worker.receive()) };
                if let Some(words) = answered {
                    self.pending.remove(&process);
                    answers.insert(process, self.answer(&words));
                    quiet = 0;
                } else if !worker.sleeps() {
                    quiet = 0;
                }
            }
        }
        answers
    }

    fn answer(&self, words: &Words) -> Answer {
        let [errno, has_lock, kind, start, len, pid, lease] = *words;
        let process = self.workers.iter().position(|worker| i64::from(worker.child.id()) == pid);
        let holder = process.map_or(Holder::File, Holder::Process);
        let lease = (lease != 0).then(|| KINDS[lease as usize - 1]);
        Answer { errno: errno as i32, lock: (has_lock != 0).then(|| lock(kind, start, len, holder)), lease }
    }

    /// Interrupts each call that waits, until none does.
    pub(crate) fn interrupt_all(&mut self) {
        while let Some(process) = self.pending.keys().next().copied() {
            self.begin(process, &Call::Interrupt);
            self.settle();
        }
    }

    /// Closes all files. No call waits.
    pub(crate) fn reset(&mut self) {
        for worker in &mut self.workers {
            worker.send(&[RESET, 0, 0, 0, 0, 0, 0]);
        }
        self.workers.iter_mut().for_each(|worker| _ = worker.receive());
    }
}

/// Returns a lock that was found. Where there is none, range and holder mean nothing.
fn lock(kind: i64, start: i64, len: i64, holder: Holder) -> (LockKind, i64, i64, Holder) {
    match KINDS[kind as usize] {
        LockKind::Unlock => (LockKind::Unlock, 0, 0, Holder::File),
        kind => (kind, start, len, holder),
    }
}

impl Worker {
    fn start(place: &Path) -> Worker {
        let (mut socket, theirs) = UnixStream::pair().expect("a pair of sockets");
        let mut program = Command::new(std::env::current_exe().expect("this program has a path"));
        program.args(["--exact", "kernel::worker", "--nocapture", "--ignored"]).env(PLACE, place);
        let child = program.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).spawn().expect("this program can be started");
        let mut thread = [0; 8];
        socket.read_exact(&mut thread).expect("it tells the number of its thread");
        let thread = i64::from_ne_bytes(thread) as i32;
        let [call, state] = ["syscall", "stat"].map(|of| format!("/proc/{}/task/{thread}/{of}", child.id()));
        Worker { child, socket, thread, call, state }
    }

    fn send(&mut self, words: &Words) {
        self.socket.write_all(&bytes(words)).expect("the child reads");
    }

    fn receive(&mut self) -> Words {
        let mut bytes = [0; size_of::<Words>()];
        self.socket.read_exact(&mut bytes).expect("the child answers");
        from_bytes(&bytes)
    }

    fn try_receive(&mut self) -> Option<Words> {
        self.socket.set_nonblocking(true).expect("a socket can be set so");
        let first = self.peek();
        self.socket.set_nonblocking(false).expect("a socket can be set so");
        match first {
            Ok(()) => Some(self.receive()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(error) => panic!("the child answers: {error}"),
        }
    }

    fn peek(&self) -> std::io::Result<()> {
        let mut byte = 0_u8;
        // SAFETY: the buffer has the one byte that the length says, and lives during the call.
        let count = unsafe { libc::recv(self.socket.as_raw_fd(), (&raw mut byte).cast(), 1, libc::MSG_PEEK) };
        if count == 1 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    /// Returns whether it sleeps in a call that waits for locks or leases.
    ///
    /// The call is shown also of a thread that was woken, until its processor has heard of that.
    /// The state of such a thread is not that of one that sleeps.
    fn sleeps(&self) -> bool {
        let shown = |file: &str| std::fs::read_to_string(file).expect("the child runs");
        let (call, state) = (shown(&self.call), shown(&self.state));
        let call = call.split_whitespace().next().and_then(|number| number.parse().ok());
        // The state stands behind the program's name, which is in parentheses.
        let asleep = state.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('S'));
        asleep && call.is_some_and(|number: i64| SLEEPING.contains(&number))
    }
}

/// The calls in which a process waits for another.
const SLEEPING: [i64; 4] = [libc::SYS_fcntl, libc::SYS_flock, libc::SYS_openat, libc::SYS_truncate];

const RESET: i64 = 6;
const KINDS: [LockKind; 3] = [LockKind::Shared, LockKind::Exclusive, LockKind::Unlock];

fn words(call: &Call) -> Words {
    let number = |kind: LockKind| KINDS.iter().position(|known| *known == kind).expect("a kind") as i64;
    let of_file = |family: Family| i64::from(family == Family::File);
    let waits = |wait: Wait| i64::from(wait == Wait::Waits);
    match *call {
        Call::Open { slot, file, access, wait } => [0, slot as i64, file as i64, access as i64, 0, 0, waits(wait)],
        Call::Close { slot } => [1, slot as i64, 0, 0, 0, 0, 0],
        Call::CloseDuplicate { slot } => [2, slot as i64, 0, 0, 0, 0, 0],
        Call::Set { slot, family, kind, start, len, wait } => {
            [3, slot as i64, of_file(family), number(kind), start, len, waits(wait)]
        }
        Call::Get { slot, family, kind, start, len } => [4, slot as i64, of_file(family), number(kind), start, len, 0],
        Call::Flock { slot, kind, wait } => [5, slot as i64, 0, number(kind), 0, 0, waits(wait)],
        Call::Lease { slot, kind } => [7, slot as i64, 0, number(kind), 0, 0, 0],
        Call::GetLease { slot } => [8, slot as i64, 0, 0, 0, 0, 0],
        Call::Truncate { file } => [9, 0, file as i64, 0, 0, 0, 0],
        Call::Interrupt | Call::Expire => unreachable!("it is no call"),
    }
}

fn bytes(words: &Words) -> [u8; size_of::<Words>()] {
    let mut bytes = [0; size_of::<Words>()];
    bytes.chunks_exact_mut(8).zip(words).for_each(|(chunk, word)| chunk.copy_from_slice(&word.to_ne_bytes()));
    bytes
}

fn from_bytes(bytes: &[u8; size_of::<Words>()]) -> Words {
    let mut words = Words::default();
    let chunks = bytes.as_chunks::<8>().0;
    words.iter_mut().zip(chunks).for_each(|(word, chunk)| *word = i64::from_ne_bytes(*chunk));
    words
}

extern "C" fn interrupted(_: libc::c_int) {}

/// The program of a child. It ends when its socket does.
#[test]
#[ignore = "the other tests start it"]
fn worker() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().expect("its socket");
    let mut socket = UnixStream::from(stdin);
    // SAFETY: zeroes are an action without flags and mask. The handler does nothing, so it may run
    // at any time.
    let installed = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = interrupted as *const () as usize;
        let installed = libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
        // What tells the holder of a lease of its break would end the process.
        action.sa_sigaction = libc::SIG_IGN;
        [installed, libc::sigaction(libc::SIGIO, &action, std::ptr::null_mut())]
    };
    assert_eq!(installed, [0, 0]);
    let thread = i64::from(rustix::thread::gettid().as_raw_nonzero().get());
    socket.write_all(&thread.to_ne_bytes()).expect("the parent reads");
    let mut slots: [Option<File>; SLOTS] = Default::default();
    let mut message = [0; size_of::<Words>()];
    while socket.read_exact(&mut message).is_ok() {
        let answer = perform(&mut slots, Path::new(&place), &from_bytes(&message));
        socket.write_all(&bytes(&answer)).expect("the parent reads");
    }
    std::process::exit(0);
}

fn perform(slots: &mut [Option<File>; SLOTS], place: &Path, words: &Words) -> Words {
    let [what, slot, a, b, start, len, waits] = *words;
    let slot = slot as usize;
    let mut answer = Words::default();
    match what {
        0 => {
            slots[slot] = None;
            let access = [libc::O_RDONLY, libc::O_WRONLY, libc::O_RDWR][b as usize];
            match open(&place.join(a.to_string()), access | if waits == 0 { libc::O_NONBLOCK } else { 0 }) {
                Ok(file) => slots[slot] = Some(file),
                Err(errno) => answer[0] = errno,
            }
        }
        9 => answer[0] = truncate(&place.join(a.to_string())),
        1 => answer[0] = if slots[slot].take().is_some() { 0 } else { libc::EBADF.into() },
        RESET => *slots = Default::default(),
        _ => match &slots[slot] {
            None => answer[0] = libc::EBADF.into(),
            Some(file) if what == 2 => drop(file.try_clone().expect("a duplicate")),
            Some(file) if what == 5 => answer[0] = flock(file, b, waits),
            Some(file) if what == 7 => answer[0] = lease(file, b),
            Some(file) if what == 8 => answer[6] = leased(file) + 1,
            Some(file) => answer = fcntl(file, (what, a, waits), (b, start, len)),
        },
    }
    answer
}

/// Opens a file. The standard library begins again after a signal.
fn open(path: &Path, flags: i32) -> Result<File, i64> {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).expect("a path without zeroes");
    // SAFETY: the path ends in a zero, and lives during the call.
    let opened = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) };
    if opened < 0 {
        return Err(failed(opened));
    }
    // SAFETY: the descriptor was just opened, and nothing else has it.
    Ok(unsafe { File::from_raw_fd(opened) })
}

fn truncate(path: &Path) -> i64 {
    let path = CString::new(path.as_os_str().as_encoded_bytes()).expect("a path without zeroes");
    // SAFETY: the path ends in a zero, and lives during the call.
    failed(unsafe { libc::truncate(path.as_ptr(), 10) })
}

/// The kinds of locks as `fcntl` has them, in the order of [`KINDS`].
const TYPES: [libc::c_int; 3] = [libc::F_RDLCK, libc::F_WRLCK, libc::F_UNLCK];

fn lease(file: &File, kind: i64) -> i64 {
    // SAFETY: the descriptor is open during the call, which takes numbers.
    failed(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, TYPES[kind as usize]) })
}

/// Returns the place of its lease's kind in [`KINDS`].
fn leased(file: &File) -> i64 {
    // SAFETY: the descriptor is open during the call, which takes numbers.
    let kind = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETLEASE) };
    TYPES.iter().position(|known| *known == kind).expect("a kind") as i64
}

fn flock(file: &File, kind: i64, waits: i64) -> i64 {
    let operation = [libc::LOCK_SH, libc::LOCK_EX, libc::LOCK_UN][kind as usize];
    let flag = if waits == 0 { libc::LOCK_NB } else { 0 };
    // SAFETY: the descriptor is open during the call.
    failed(unsafe { libc::flock(file.as_raw_fd(), operation | flag) })
}

fn fcntl(file: &File, (what, of_file, waits): (i64, i64, i64), (kind, start, len): (i64, i64, i64)) -> Words {
    let command = match (what, of_file, waits) {
        (3, 0, 0) => libc::F_SETLK,
        (3, 0, _) => libc::F_SETLKW,
        (3, _, 0) => libc::F_OFD_SETLK,
        (3, _, _) => libc::F_OFD_SETLKW,
        (_, 0, _) => libc::F_GETLK,
        (_, _, _) => libc::F_OFD_GETLK,
    };
    // SAFETY: zeroes are a valid value of this structure of numbers.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    (lock.l_type, lock.l_start, lock.l_len) = (TYPES[kind as usize] as i16, start, len);
    // SAFETY: the descriptor is open and the structure lives during the call.
    let errno = failed(unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) });
    let found = TYPES.iter().position(|known| *known == i32::from(lock.l_type)).expect("a kind") as i64;
    let has_lock = i64::from(what == 4 && errno == 0);
    [errno, has_lock, found, lock.l_start, lock.l_len, lock.l_pid.into(), 0]
}

/// Returns the errno of a call that failed, or 0.
fn failed(result: libc::c_int) -> i64 {
    if result == 0 { 0 } else { std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO).into() }
}
