//! The limits of what one client may take: time and memory, and connections in total.
//!
//! A connection holds at most some five pieces of [`AT_ONCE`](crate::answer::AT_ONCE) bytes,
//! whatever its client does: the answer is read no faster than the client takes it.
//!
//! What it does not do: prevent one address from taking all connections.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// The limits of a server. The default is 30 seconds for either and 1,024 connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The time that a client may take for the head of a request, from the beginning of the
    /// connection or from the end of the previous answer.
    pub head: Duration,
    /// The time that an answer may wait for a client to take 16 KiB more of it.
    pub stall: Duration,
    /// The number of connections that there may be at once, at least 1. Further ones wait until one
    /// ends.
    pub connections: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { head: Duration::from_secs(30), stall: Duration::from_secs(30), connections: 1024 }
    }
}

/// The number of bytes that a client has to take within the limit, unless the answer ends before.
/// Without this minimum, a client could take a byte at a time.
const PROGRESS: usize = 16 << 10;

/// A connection whose client has to take its answers. If it does not, writing fails with
/// `TimedOut`.
pub(crate) struct Taken {
    stream: TcpStream,
    stall: Duration,
    /// The timer that runs from the first write without room until the client has made progress.
    waiting: Option<Pin<Box<Sleep>>>,
    /// The number of bytes that were written while the timer runs.
    written: usize,
}

impl Taken {
    pub(crate) fn new(stream: TcpStream, stall: Duration) -> Taken {
        Taken { stream, stall, waiting: None, written: 0 }
    }

    /// Updates the timer from the result of a write.
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

    /// Flushes the stream and stops the timer. It is called when everything was written.
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
