//! A TCP stream that a connection reads and writes while its requests watch for the client's close.
//!
//! In HTTP/1.1 hyper reads nothing during a request, so it doesn't notice a client that has closed the connection. The
//! kernel does: it reports the end of the client's half to the runtime at once, also behind unread bytes and below TLS.
//! A [`CloseWatch`] waits for that report.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, ready};

use gatehouse_vault::Disconnection;
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// The event of a [`CloseWatch`]: the end of the client's half, not bytes that the client has sent ahead.
///
/// tokio reports the end to readers of ordinary and of urgent bytes; urgent bytes are never requested.
#[cfg(target_os = "linux")]
const CLOSED: Interest = Interest::PRIORITY;

/// On other systems, bytes that the client has sent ahead hide the end.
#[cfg(not(target_os = "linux"))]
const CLOSED: Interest = Interest::READABLE;

/// The server's end of a stream. Dropping it closes the stream once no request watches it.
pub(super) struct SharedStream(Arc<TcpStream>);

/// Notices when the client closes its half of the stream, or all of it.
///
/// The two look alike until a response is sent, so both count as a disconnection.
pub(super) struct CloseWatch(Weak<TcpStream>);

impl SharedStream {
    pub(super) fn new(stream: TcpStream) -> (Self, CloseWatch) {
        let stream = Arc::new(stream);
        let watch = CloseWatch(Arc::downgrade(&stream));
        (Self(stream), watch)
    }
}

impl Disconnection for CloseWatch {
    fn wait(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            // Upgraded only here: a request that outlives its connection doesn't keep the stream open.
            let Some(stream) = self.0.upgrade() else { return };
            match stream.ready(CLOSED).await {
                Ok(ready) if !ready.is_read_closed() => std::future::pending().await,
                Ok(_) | Err(_) => {}
            }
        })
    }
}

impl AsyncRead for SharedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let n_wanted = buffer.remaining();
        loop {
            ready!(self.0.poll_read_ready(cx))?;
            let mut has_read = false;
            let tried = self.0.try_io(Interest::READABLE, || {
                let n_bytes = self.0.try_read_buf(buffer)?;
                has_read = true;
                // Fewer bytes than requested mean that the kernel has no more. The error marks the stream as not
                // readable, which spares a system call before the next wait, as in tokio's own streams.
                let is_drained = (1..n_wanted).contains(&n_bytes);
                if is_drained { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
            });
            if has_read {
                return Poll::Ready(Ok(()));
            }
            if let Poll::Ready(read) = unless_blocked(tried) {
                return Poll::Ready(read);
            }
        }
    }
}

impl AsyncWrite for SharedStream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            if let Poll::Ready(written) = unless_blocked(self.0.try_write(bytes)) {
                return Poll::Ready(written);
            }
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            if let Poll::Ready(written) = unless_blocked(self.0.try_write_vectored(pieces)) {
                return Poll::Ready(written);
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    // Every write went to the kernel already.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match shutdown(&*self.0, Shutdown::Write) {
            // The client has reset the connection.
            Err(Errno::NOTCONN) => Poll::Ready(Ok(())),
            shut => Poll::Ready(shut.map_err(io::Error::from)),
        }
    }
}

/// The result of a system call, unless the stream wasn't ready for it after all.
fn unless_blocked<T>(result: io::Result<T>) -> Poll<io::Result<T>> {
    match result {
        Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
        result => Poll::Ready(result),
    }
}

#[cfg(test)]
mod tests;
