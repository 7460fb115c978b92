//! The listener: a task for each connection.

use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;

use crate::Served;
use crate::answer::answer;

/// How long to wait when no connection can be taken, for want of descriptors.
const BREATH: Duration = Duration::from_millis(20);

/// Serves for ever.
pub async fn serve(listener: TcpListener, served: Served) {
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                eprintln!("taking a connection: {error}");
                tokio::time::sleep(BREATH).await;
                continue;
            }
        };
        // Answers are short; without it the last segment of one waits for the other side.
        _ = stream.set_nodelay(true);
        let served = served.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| answer(&served, request));
            // That the other side goes away, or speaks no HTTP, is its own affair.
            _ = http1::Builder::new().timer(TokioTimer::new()).serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
