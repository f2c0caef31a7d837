//! Accepts connections, and limits their number and the time of requests. When the server is asked to stop, requests
//! in progress may finish.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower_service::Service;

use crate::http::Peer;

/// Longest time until the head of a request (its first line and its headers) must have arrived. A connection without
/// a request is also closed after this time.
const HEAD: Duration = Duration::from_secs(15);

/// Largest memory of what a connection has received but not yet passed on, in bytes. It is not reserved, so it is small.
const BUFFER: usize = 64 << 10;

/// Longest time that requests in progress may continue after the server is asked to stop.
const STOP: Duration = Duration::from_secs(20);

/// Response to a connection that exceeds the limit on open connections.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// Accepts connections until the future `stop` completes. At most `most` connections are open at the same time.
/// `stopping` is called when the server begins to stop.
pub(crate) async fn serve(
    listener: TcpListener,
    app: Router,
    most: usize,
    stop: impl Future<Output = ()>,
    stopping: impl FnOnce(),
) {
    let graceful = GracefulShutdown::new();
    let free = Arc::new(Semaphore::new(most));
    tokio::pin!(stop);
    loop {
        let accepted = tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // For example, too many files may be open. Then other connections have to end first.
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&free).try_acquire_owned() else {
            refuse(&stream);
            continue;
        };
        // Small responses are sent at once, without waiting for further data.
        let _ = stream.set_nodelay(true);
        let app = app.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            let mut app = app.clone();
            async move { app.call(request.map(Body::new)).await }
        });
        let mut builder = http1::Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // An error means that the client closed the connection or left it idle.
            let _ = connection.await;
            drop(permit);
        });
    }
    drop(listener);
    stopping();
    if tokio::time::timeout(STOP, graceful.shutdown()).await.is_err() {
        tracing::warn!("connections were left open");
    }
}

/// Sends the response [`FULL`] to a connection that exceeds the limit.
fn refuse(stream: &TcpStream) {
    // The client sees a closed connection if these few bytes cannot be written at once.
    let _ = stream.try_write(FULL);
}
