//! What one client may take: time, memory, and connections of all of them.
//!
//! A connection keeps at most some five pieces of [`AT_ONCE`](crate::answer::AT_ONCE) bytes,
//! whatever its client does: the answer is read no faster than it is taken.
//!
//! What it does not do: keep one address from taking all the connections.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// Limits of a server. The default is 30 seconds for either and 1,024 connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// How long a client may take for the head of a request, from the connection's beginning or
    /// from the end of the answer before.
    pub head: Duration,
    /// How long an answer may wait for a client to take 16 KiB more of it.
    pub stall: Duration,
    /// How many connections there may be at once. The next ones wait until one ends. At least 1.
    pub connections: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { head: Duration::from_secs(30), stall: Duration::from_secs(30), connections: 1024 }
    }
}

/// What a client has to take within the limit, or all there is: else it could take a byte at a
/// time.
const PROGRESS: usize = 16 << 10;

/// A connection whose client has to take what it asked for: else writing fails with `TimedOut`.
pub(crate) struct Taken {
    stream: TcpStream,
    stall: Duration,
    /// Runs since a write found no room, until the client has made progress.
    waiting: Option<Pin<Box<Sleep>>>,
    /// Bytes that were written while it runs.
    written: usize,
}

impl Taken {
    pub(crate) fn new(stream: TcpStream, stall: Duration) -> Taken {
        Taken { stream, stall, waiting: None, written: 0 }
    }

    /// Notes what became of a write.
    fn note(&mut self, cx: &mut Context<'_>, wrote: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match wrote {
            Poll::Ready(Ok(bytes)) if self.waiting.is_some() => {
                self.written += bytes;
                if self.written >= PROGRESS {
                    self.waiting = None;
                }
            }
            Poll::Pending => {
                if self.waiting.is_none() {
                    (self.waiting, self.written) = (Some(Box::pin(tokio::time::sleep(self.stall))), 0);
                }
                if let Some(waiting) = &mut self.waiting {
                    ready!(waiting.as_mut().poll(cx));
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
            Poll::Ready(_) => {}
        }
        wrote
    }
}

impl AsyncWrite for Taken {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(cx, data);
        self.note(cx, wrote)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(cx, data);
        self.note(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Called when all was written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.waiting = None;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl AsyncRead for Taken {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}
