//! Tests that memory grows with the number of distinct lookups, not with repeats.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Write as _;
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use pathwalk_recording::{Options, Recording};

/// An allocator that counts the bytes that are held, and their maximum.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: All calls are passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let held = HELD.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(held, Relaxed);
        // SAFETY: The caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Relaxed);
        // SAFETY: The caller keeps the contract.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A text repeated many times, without being held in memory that often.
struct Repeated<'a> {
    text: &'a [u8],
    at: usize,
    left: usize,
}

impl Read for Repeated<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let read = (&self.text[self.at..]).read(room)?;
        self.at += read;
        if self.at == self.text.len() {
            (self.at, self.left) = (0, self.left - 1);
        }
        Ok(read)
    }
}

/// Returns a thousand lines: processes start and end, calls are interrupted, directories are
/// entered.
fn thousand_lines() -> String {
    let mut text = String::new();
    for child in 0..50 {
        let pid = 1000 + child;
        writeln!(
            text,
            "7  vfork( <unfinished ...>\n{pid} chdir(\"/w{child}\") = 0\n{pid} execve(\"/p\", [\"p\"], NULL <unfinished ...>"
        )
        .unwrap();
        writeln!(text, "7  <... vfork resumed>) = {pid}\n{pid} <... execve resumed>) = 0").unwrap();
        for file in 0..4 {
            writeln!(text, "{pid} openat(AT_FDCWD, \"dir{file}\", O_RDONLY|O_CLOEXEC|O_DIRECTORY) = 3").unwrap();
            writeln!(
                text,
                "{pid} newfstatat(3, \"a\\303\\251\", 0x1, 0) = -1 ENOENT (No such file or directory)\n{pid} close(3) = 0"
            )
            .unwrap();
        }
        writeln!(text, "{pid} mkdir(\"/x\", 0777) = 0\n{pid} exit_group(0) = ?\n{pid} +++ exited with 0 +++").unwrap();
    }
    assert_eq!(text.lines().count(), 1000);
    text
}

#[test]
fn memory_does_not_grow_with_repeats() {
    let text = thousand_lines();
    let most = |repeats| {
        let before = HELD.load(Relaxed);
        MOST.store(before, Relaxed);
        let source = Repeated { text: text.as_bytes(), at: 0, left: repeats };
        let recording = Recording::read(source, Options::default()).unwrap();
        assert_eq!(recording.tally.lines, 1000 * repeats as u64);
        assert_eq!((recording.tally.unreadable, recording.tally.left_out.len()), (0, 0));
        assert!(recording.sequence.len() <= 1 << 16);
        MOST.load(Relaxed) - before
    };
    // The counts are ten thousand lines and two hundred thousand. Only the sample of the order may
    // still grow.
    let (few, many) = (most(10), most(200));
    let sample = 4 * (1 << 17) + 4 * (1 << 16);
    assert!(many <= few + sample, "{few} bytes for 10,000 lines, {many} for 200,000");
    let more = most(800);
    // What two threads each hold for a moment, they may hold at the same moment.
    assert!(more <= many + 4096, "{many} bytes for 200,000 lines, {more} for 800,000");
}
