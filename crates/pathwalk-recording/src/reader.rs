//! The conversion of lines to calls: joins calls that were interrupted, holds back lines whose
//! process is not known yet, and counts the lines that cannot be read. The effects of calls are in
//! [`effects`](crate::effects).

use crate::call_text::Problem;
use crate::calls::Names;
use crate::counter::Counter;
use crate::directories::{Directories, Place};
use crate::distinct;
use crate::forms::Forms;
use crate::input::{RawLine, shortened};
use crate::line::{self, Body, Who};
use crate::processes::{Arrival, Cwd, Part, Processes, Room, Waiting};
use crate::recording::{Recording, Tally, Unreadable};

/// The number of unreadable lines that are kept.
const KEPT: usize = 10;

pub(crate) struct Reader {
    pub(crate) names: Names,
    pub(crate) tally: Tally,
    pub(crate) processes: Processes,
    pub(crate) directories: Directories,
    pub(crate) counter: Counter,
    /// The knowledge about descriptors: followed if any was seen to be closed.
    pub(crate) descriptors: distinct::Descriptors,
    /// A buffer for unescaped paths.
    pub(crate) room: Vec<u8>,
    forms: Forms,
    waiting: Waiting,
    /// The beginning of a line that has a message of strace in its middle.
    broken: Vec<u8>,
}

/// A line that is being read: whole, or joined from several.
#[derive(Clone, Copy)]
struct Current<'a> {
    number: u64,
    text: &'a [u8],
}

impl Reader {
    /// Creates a reader, with the absolute path of the directory in which the first process starts,
    /// if it is known.
    pub(crate) fn new(cwd: Option<&[u8]>) -> Reader {
        let mut directories = Directories::default();
        let first = cwd.map_or(Cwd::Unknown, |cwd| Cwd::Known(Place::Certain(directories.number_of(cwd))));
        Reader {
            names: Names::new(),
            tally: Tally::default(),
            processes: Processes::new(first),
            directories,
            counter: Counter::default(),
            descriptors: distinct::Descriptors::NotFollowed,
            room: Vec::new(),
            forms: Forms::new(),
            waiting: Waiting::default(),
            broken: Vec::new(),
        }
    }

    pub(crate) fn line(&mut self, raw: RawLine<'_>) {
        self.tally.lines += 1;
        let number = self.tally.lines;
        match raw {
            RawLine::Whole(text) if self.broken.is_empty() => self.text(Current { number, text }),
            RawLine::Unended(text) if is_cut_off(text) => self.unreadable(Current { number, text }, "the last line is cut off"),
            RawLine::Whole(text) | RawLine::Unended(text) => {
                let mut whole = std::mem::take(&mut self.broken);
                whole.extend_from_slice(text);
                self.text(Current { number, text: &whole });
            }
            RawLine::TooLong(text) => self.unreadable(Current { number, text }, "the line is longer than a mebibyte"),
        }
        if !self.waiting.is_empty() {
            self.read_waiting();
        }
    }

    /// Reads what still waits, and returns the recording.
    pub(crate) fn finish(mut self, bytes: u64, cut_short: Option<String>) -> Recording {
        self.give_up_waiting();
        for pid in self.processes.numbers() {
            self.abandon(pid);
        }
        self.tally.bytes = bytes;
        self.tally.processes = self.processes.seen();
        self.tally.cut_short = cut_short;
        self.counter.finish(self.descriptors, &self.directories, self.tally)
    }

    fn text(&mut self, current: Current<'_>) {
        let line = line::parse(current.text);
        match line.body {
            Body::Call(call) => self.begins(current, line.who, |reader, pid| {
                let read = reader.read_call(pid, current.number, call);
                reader.report(current, read);
            }),
            Body::Unfinished(call) | Body::PidChanged { text: call, .. } => self.begins(current, line.who, |reader, pid| {
                reader.begin(pid, current.number, call);
                if let Body::PidChanged { to, .. } = line.body {
                    reader.processes.becomes(pid, to);
                }
            }),
            Body::Resumed { name, text } => self.resumes(current, line.who, name, text),
            Body::Exited => self.exited(current, line.who),
            Body::Became(from) => {
                if let Some(pid) = self.processes.number(line.who, Part::GoesOn).filter(|_| self.processes.knows(from)) {
                    self.processes.becomes(from, pid);
                }
            }
            Body::Broken { message } => {
                let text = current.text.strip_suffix(b"\r").unwrap_or(current.text);
                self.broken.clear();
                self.broken.extend_from_slice(&text[..text.len() - message]);
            }
            Body::Note => {}
            Body::Garbage => self.unreadable(current, "this is no line of strace"),
        }
    }

    /// Reads a line with which a call begins, or holds it back if its process is not known yet.
    fn begins(&mut self, current: Current<'_>, who: Who, read: impl FnOnce(&mut Reader, u32)) {
        let Some(pid) = self.processes.number(who, Part::Begins) else {
            return self.unreadable(current, "no process is named, as on the other lines");
        };
        match self.processes.arrive(pid, &self.waiting) {
            Arrival::Ready => {
                self.abandon(pid);
                read(self, pid);
            }
            Arrival::Waits => self.wait(pid, current),
        }
    }

    /// Stores the beginning of a call whose end comes on another line.
    fn begin(&mut self, pid: u32, number: u64, text: &[u8]) {
        if let Some(flags) = self.names.makes_process(text) {
            self.processes.clone_begins(pid, flags);
        }
        if let Some(unfinished) = self.processes.unfinished(pid) {
            unfinished.text.clear();
            unfinished.text.extend_from_slice(text);
            unfinished.line = number;
        }
    }

    fn resumes(&mut self, current: Current<'_>, who: Who, name: &[u8], rest: &[u8]) {
        const NO_BEGINNING: Problem = "the call's beginning is not in the recording";
        let Some(pid) = self.processes.number(who, Part::GoesOn) else { return self.unreadable(current, NO_BEGINNING) };
        if self.waiting.has(pid) {
            return self.wait(pid, current);
        }
        let begun = self.processes.unfinished(pid).filter(|unfinished| unfinished.is_of(name));
        let Some(begun) = begun.map(std::mem::take) else { return self.unreadable(current, NO_BEGINNING) };
        let mut text = begun.text;
        text.extend_from_slice(rest);
        let read = self.read_call(pid, begun.line, &text);
        self.report(current, read);
        // The buffer is kept for the next call.
        if let Some(unfinished) = self.processes.unfinished(pid) {
            text.clear();
            unfinished.text = text;
        }
    }

    fn exited(&mut self, current: Current<'_>, who: Who) {
        let Some(pid) = self.processes.number(who, Part::GoesOn) else { return };
        if self.waiting.has(pid) {
            return self.wait(pid, current);
        }
        self.abandon(pid);
        self.processes.gone(pid);
    }

    /// Ends a call that was begun and will not return. Its question counts, if the beginning
    /// contains it.
    fn abandon(&mut self, pid: u32) {
        let Some(unfinished) = self.processes.unfinished(pid).filter(|unfinished| !unfinished.text.is_empty()) else { return };
        let mut begun = std::mem::take(unfinished);
        let beginning = begun.text.len();
        begun.text.extend_from_slice(b") = ?");
        let read = self.read_call(pid, begun.line, &begun.text);
        let current = Current { number: begun.line, text: &begun.text[..beginning] };
        self.report(current, read.map_err(|_| "the call never returned, and its first half does not contain what it asked"));
    }

    fn read_call(&mut self, pid: u32, number: u64, text: &[u8]) -> Result<(), Problem> {
        let event = self.forms.read(&self.names, text)?;
        self.apply(pid, number, event)
    }

    fn report(&mut self, current: Current<'_>, read: Result<(), Problem>) {
        if let Err(problem) = read {
            self.unreadable(current, problem);
        }
    }

    fn unreadable(&mut self, current: Current<'_>, problem: Problem) {
        self.tally.unreadable += 1;
        if self.tally.first_unreadable.len() < KEPT {
            let text = shortened(current.text);
            self.tally.first_unreadable.push(Unreadable { line: current.number, text, problem });
        }
    }

    fn wait(&mut self, pid: u32, current: Current<'_>) {
        if self.waiting.add(pid, current.number, current.text) == Room::Exhausted {
            self.give_up_waiting();
        }
    }

    /// Reads the lines of those processes whose maker is known by now.
    fn read_waiting(&mut self) {
        loop {
            let processes = &mut self.processes;
            let maker_known = |waiting: &Waiting, pid| processes.runs(pid) || processes.try_adopt(pid, waiting) == Arrival::Ready;
            let Some(waiter) = self.waiting.take(maker_known) else { return };
            for (number, text) in &waiter.lines {
                self.text(Current { number: *number, text });
            }
        }
    }

    /// Makes strangers of the processes that still wait, and reads their lines.
    fn give_up_waiting(&mut self) {
        while let Some(waiter) = self.waiting.take(|_, _| true) {
            if !self.processes.runs(waiter.pid) {
                self.processes.insert_stranger(waiter.pid);
            }
            for (number, text) in &waiter.lines {
                self.text(Current { number: *number, text });
            }
        }
    }
}

/// Returns whether a last line without an end is cut off. Such a line may still be whole. An error
/// without its closing bracket is not.
fn is_cut_off(text: &[u8]) -> bool {
    let error = memchr::memmem::rfind(text, b" = -1").is_some();
    error && !matches!(text.last(), Some(b')' | b'>'))
}
