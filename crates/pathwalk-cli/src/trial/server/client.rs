//! One client: lines are read, and what they ask for is done.
//!
//! What always holds: requests are done in their order, but commands run beside what comes behind
//! them. Each reply is one line, written as a whole.

use std::io::{BufRead, Read as _, Write};
use std::sync::Arc;
use std::thread;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::message::{Action, Failure, Kind, reply, request};
use super::session::{Events, Session};

/// The longest request, in bytes.
const LONGEST: u64 = 16 << 20;

/// A client.
pub(super) struct Client<W> {
    session: Arc<Session>,
    output: Mutex<W>,
}

/// The events of one request.
struct Told<'a, W> {
    client: &'a Client<W>,
    id: &'a Value,
}

impl<W: Write + Send> Events for Told<'_, W> {
    fn tell(&self, event: &str, mut members: Value) {
        members["id"] = self.id.clone();
        members["event"] = json!(event);
        self.client.write(&members);
    }
}

/// A line of the input.
pub(in crate::trial) enum Line {
    Read(Vec<u8>),
    /// It was longer than any request.
    TooLong,
    End,
}

/// Reads a line without its end. A longer one than a request may be is skipped.
pub(in crate::trial) fn read_line(input: &mut impl BufRead) -> Line {
    let mut line = Vec::new();
    match input.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
        Ok(1..) => {}
        _ => return Line::End,
    }
    if line.last() != Some(&b'\n') && line.len() as u64 == LONGEST {
        return skip(input);
    }
    while matches!(line.last(), Some(b'\n' | b'\r')) {
        line.pop();
    }
    Line::Read(line)
}

/// Reads the rest of a line, a part at a time.
fn skip(input: &mut impl BufRead) -> Line {
    loop {
        let mut part = Vec::new();
        match input.by_ref().take(64 << 10).read_until(b'\n', &mut part) {
            Ok(1..) if part.last() != Some(&b'\n') => {}
            _ => return Line::TooLong,
        }
    }
}

impl<W: Write + Send> Client<W> {
    pub(super) fn new(session: &Arc<Session>, output: W) -> Client<W> {
        Client { session: Arc::clone(session), output: Mutex::new(output) }
    }

    /// Does what is asked for, until the end of the input. Then commands that run are waited for.
    pub(super) fn serve(&self, mut input: impl BufRead) {
        self.write(&self.session.greeting());
        thread::scope(|scope| {
            loop {
                let (id, action) = match read_line(&mut input) {
                    Line::Read(line) if line.is_empty() => continue,
                    Line::Read(line) => request(&line),
                    Line::TooLong => {
                        let why = format!("a request has {LONGEST} bytes at most");
                        (Value::Null, Err(Failure::new(Kind::Malformed, why)))
                    }
                    Line::End => break,
                };
                let result = match action {
                    Ok(Action::Run(run)) => match self.session.begin_run(&run) {
                        Ok(begun) => {
                            scope.spawn(move || self.answer(&id, self.session.run(&run, begun, &Told { client: self, id: &id })));
                            continue;
                        }
                        Err(failure) => Err(failure),
                    },
                    Ok(action) => self.session.handle(&action),
                    Err(failure) => Err(failure),
                };
                self.answer(&id, result);
            }
        });
    }

    fn answer(&self, id: &Value, result: Result<Value, Failure>) {
        self.write(&reply(id, result));
    }

    /// Writes a line. A client that is gone misses it.
    fn write(&self, line: &Value) {
        let mut output = self.output.lock();
        let _ = writeln!(output, "{line}").and_then(|()| output.flush());
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    #[test]
    fn a_line_that_is_too_long_is_skipped() {
        let text = [vec![b'x'; LONGEST as usize + 100_000], b"\nnext\r\nlast".to_vec()].concat();
        let mut input = BufReader::new(&text[..]);
        assert!(matches!(read_line(&mut input), Line::TooLong));
        assert!(matches!(read_line(&mut input), Line::Read(line) if line == b"next"));
        assert!(matches!(read_line(&mut input), Line::Read(line) if line == b"last"));
        assert!(matches!(read_line(&mut input), Line::End));
    }
}
