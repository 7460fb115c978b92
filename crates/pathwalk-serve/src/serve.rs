//! The listener: a task for each connection, up to a limit.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::set_socket_send_buffer_size;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::answer::{AT_ONCE, answer};
use crate::limits::Taken;
use crate::{Limits, Served};

/// The number of bytes that the kernel may buffer for a client. The kernel doubles the number for
/// its own overhead. A small buffer also shows sooner that the client takes something.
const SEND_BUFFER: usize = 256 << 10;

/// The wait when no connection can be accepted, for lack of descriptors.
const BREATH: Duration = Duration::from_millis(20);

/// Serves forever, within the limits.
pub async fn serve(listener: TcpListener, served: Served, limits: Limits) {
    // Connections inherit the listener's buffer size. A failure only costs memory.
    _ = set_socket_send_buffer_size(&listener, SEND_BUFFER);
    let places = Arc::new(Semaphore::new((limits.connections.max(1) as usize).min(Semaphore::MAX_PERMITS)));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(AT_ONCE as usize);
    loop {
        // Connections without a place wait in the listener's queue.
        let Ok(place) = places.clone().acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                eprintln!("taking a connection: {error}");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        // Answers are short. With Nagle's algorithm, the last segment of one would wait for the
        // client's acknowledgement.
        _ = stream.set_nodelay(true);
        let (served, http) = (served.clone(), http.clone());
        tokio::spawn(async move {
            let _place = place;
            let service = service_fn(|request| answer(&served, request));
            // A client that disconnects, or sends no valid HTTP, is not an error of the server.
            _ = http.serve_connection(TokioIo::new(Taken::new(stream, limits.stall)), service).await;
        });
    }
}
