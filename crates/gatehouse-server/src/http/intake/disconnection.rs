//! Clients that disconnect before they are answered: their queued slow hashes are given up.

use std::pin::Pin;
use std::sync::Arc;

use gatehouse_vault::Disconnection;
use tokio_util::sync::CancellationToken;

/// Tells when the client of one request disconnects.
///
/// Two signals are needed. In HTTP/2 a client resets its stream, and hyper drops the request. In HTTP/1.1 hyper doesn't
/// read while a request is under way, so only the connection itself tells that the client has closed it.
#[derive(Clone)]
pub(crate) struct ClientDisconnection {
    /// Cancelled when hyper drops the request.
    dropped: CancellationToken,
    /// Tells when the client closes the request's connection.
    connection: Arc<dyn Disconnection>,
}

impl ClientDisconnection {
    /// Combines both signals: `dropped` is cancelled by the caller, `connection` tells when the client closes it.
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
