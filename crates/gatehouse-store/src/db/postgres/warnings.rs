//! Warnings that PostgreSQL sends beside the response to a statement.
//!
//! One warning changes the meaning of a COMMIT's response. A COMMIT that waits for a synchronous standby can be cancelled, by
//! `statement_timeout` or `pg_cancel_backend`. The server then responds that the transaction is committed, and only a
//! warning tells that no standby may have it. A failover to that standby would lose the transaction.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Connection};

/// The connection's latest warning, until [`Warnings::take`] returns it.
#[derive(Clone, Default)]
pub(super) struct Warnings(Arc<Mutex<Option<String>>>);

impl Warnings {
    /// Takes the last warning, so that the next call returns only a newer one.
    pub(super) fn take(&self) -> Option<String> {
        self.0.lock().take()
    }
}

/// Drives a connection and stores its warnings, which the driver would only log.
pub(super) struct Warned<S, T> {
    connection: Connection<S, T>,
    warnings: Warnings,
}

impl<S, T> Warned<S, T> {
    pub(super) fn new(connection: Connection<S, T>) -> (Self, Warnings) {
        let warnings = Warnings::default();
        (Self { connection, warnings: warnings.clone() }, warnings)
    }
}

impl<S, T> Future for Warned<S, T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    type Output = Result<(), tokio_postgres::Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        while let Some(message) = ready!(self.connection.poll_message(cx)?) {
            if let AsyncMessage::Notice(notice) = message
                && notice.parsed_severity() == Some(Severity::Warning)
            {
                tracing::warn!(warning = notice.message(), "a warning of the database");
                *self.warnings.0.lock() = Some(notice.message().to_owned());
            }
        }
        Poll::Ready(Ok(()))
    }
}
