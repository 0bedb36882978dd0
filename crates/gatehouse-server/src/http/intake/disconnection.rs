//! Detects clients that disconnect before their response: their queued slow hashes are cancelled.

use std::pin::Pin;
use std::sync::Arc;

use gatehouse_vault::Disconnection;
use tokio_util::sync::CancellationToken;

/// Signals that the client of one request has disconnected.
///
/// Two signals are needed. In HTTP/2 a client resets its stream, and hyper drops the request. In HTTP/1.1 hyper doesn't
/// read while it processes a request, so only the connection itself shows that the client has closed it.
#[derive(Clone)]
pub(crate) struct ClientDisconnection {
    /// Cancelled when hyper drops the request.
    dropped: CancellationToken,
    /// Signals that the client has closed the request's connection.
    connection: Arc<dyn Disconnection>,
}

impl ClientDisconnection {
    /// Combines both signals; the caller cancels `dropped`.
    pub(in crate::http) fn new(
        dropped: CancellationToken,
        connection: Arc<dyn Disconnection>,
    ) -> Self {
        Self { dropped, connection }
    }
}

impl Disconnection for ClientDisconnection {
    fn wait(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            tokio::select! {
                () = self.dropped.cancelled() => {}
                () = self.connection.wait() => {}
            }
        })
    }
}
