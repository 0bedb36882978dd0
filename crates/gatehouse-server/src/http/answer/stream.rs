//! Answers that are made while they go out: of any length, and never more than a few pieces in memory.
//!
//! A handler gives a [`Producer`], which writes into a [`Sink`] on a task of its own. It is held up when its
//! client reads slowly, and holds no slot and no transaction meanwhile; it ends when the client goes away.
//! When it fails, the connection breaks off before the body's end, so that nobody takes a part for the whole.

use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::FutureExt;
use tokio::sync::mpsc::{Sender, channel};

use super::answer_body::{AnswerBody, Piece};
use super::error_chain::chain;
use super::json::Json;
use crate::app::Error;
use crate::metrics::StreamEnd;

/// Bytes that are gathered into a piece, before compression: each is handed to another thread, which costs as much as
/// making some of them.
pub(in crate::http) const PIECE_BYTES: usize = 128 << 10;

/// What may come on top of a piece before it is seen that it is one: an access with the longest of all names.
const PIECE_BYTES_OVER: usize = 4 << 10;

/// Pieces that may wait for the client.
const PIECES_MAX: usize = 2;

/// How long a client may let a piece wait before it takes any more. As long as for any other answer.
const STALL_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes the body of an answer.
pub(crate) type Producer = Box<dyn FnOnce(Sink) -> Making + Send>;

type Making = Pin<Box<dyn Future<Output = Result<Finished, Cut>> + Send>>;

/// Says that a body is whole. Only [`Sink::finish`] gives it.
pub(crate) struct Finished(());

/// Why a body ended early.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The client has gone away, or doesn't read.
    Unread,
    /// What it was made of could not be had; the cause is for the log.
    Failed(Box<str>),
}

impl From<Error> for Cut {
    fn from(error: Error) -> Self {
        Self::Failed(match error {
            Error::Storage(error) => chain(&error),
            Error::Vault(error) => chain(&error),
            error => error.to_string().into_boxed_str(),
        })
    }
}

impl From<gatehouse_store::StoreError> for Cut {
    fn from(error: gatehouse_store::StoreError) -> Self {
        Error::Storage(error).into()
    }
}

/// Where a producer writes.
pub(crate) struct Sink {
    pieces: Sender<Piece>,
    /// What will be the next piece.
    gathered: Json,
    /// Pieces that go out when there is time to wait.
    ready: Vec<Bytes>,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

impl Sink {
    fn new(pieces: Sender<Piece>, is_compressed: bool) -> Self {
        let gzip = is_compressed.then(|| GzEncoder::new(Vec::new(), Compression::fast()));
        Self { pieces, gathered: Json::default(), ready: Vec::new(), gzip }
    }

    /// Adds to the body; waits when the client is behind.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), Cut> {
        for part in bytes.chunks(PIECE_BYTES) {
            self.gathered.bytes(part);
            self.pass_on().await?;
        }
        Ok(())
    }

    /// Where JSON is added that is written bit by bit. Who has added a little lets it be [cut](Self::cut), and who has
    /// added some pieces has them [passed on](Self::pass_on): until then nobody who reads slowly holds anything up.
    pub(crate) fn json(&mut self) -> &mut Json {
        if self.gathered.n_bytes() == 0 {
            // All that will come, so that it is never copied to where there is more room.
            self.gathered.reserve(PIECE_BYTES + PIECE_BYTES_OVER);
        }
        &mut self.gathered
    }

    /// Makes a piece of what was written, if that is long enough. It goes out when it is [passed on](Self::pass_on).
    pub(crate) fn cut(&mut self) {
        if self.gathered.n_bytes() >= PIECE_BYTES {
            self.close_piece();
        }
    }

    /// Lets the client have all whole pieces; waits when the client is behind.
    pub(crate) async fn pass_on(&mut self) -> Result<(), Cut> {
        self.cut();
        for piece in std::mem::take(&mut self.ready) {
            self.send(Piece::Data(piece)).await?;
        }
        Ok(())
    }

    /// Adds bytes that are there for good. Where nothing is compressed they are not copied.
    pub(crate) async fn send_static(&mut self, bytes: &'static [u8]) -> Result<(), Cut> {
        if self.gzip.is_some() {
            return self.write(bytes).await;
        }
        self.flush().await?;
        self.send(Piece::Data(Bytes::from_static(bytes))).await
    }

    /// Lets the client have what was written so far: before waiting for something else, say.
    pub(crate) async fn flush(&mut self) -> Result<(), Cut> {
        self.close_piece();
        self.pass_on().await
    }

    fn close_piece(&mut self) {
        if self.gathered.n_bytes() == 0 {
            return;
        }
        self.ready.push(match &mut self.gzip {
            None => std::mem::take(&mut self.gathered).finish(),
            Some(gzip) => {
                let compressed =
                    gzip.write_all(self.gathered.written()).and_then(|()| gzip.flush());
                compressed.expect(INTO_MEMORY);
                self.gathered.clear();
                std::mem::take(gzip.get_mut()).into()
            }
        });
    }

    /// Ends the body.
    pub(crate) async fn finish(mut self) -> Result<Finished, Cut> {
        self.flush().await?;
        if let Some(gzip) = self.gzip.take() {
            let rest: Bytes = gzip.finish().expect(INTO_MEMORY).into();
            self.send(Piece::Data(rest)).await?;
        }
        self.send(Piece::End).await?;
        Ok(Finished(()))
    }

    async fn send(&self, piece: Piece) -> Result<(), Cut> {
        let sent = tokio::time::timeout(STALL_TIMEOUT, self.pieces.send(piece)).await;
        sent.ok().and_then(Result::ok).ok_or(Cut::Unread)
    }
}

const INTO_MEMORY: &str = "writing into memory doesn't fail";

/// Has a producer hold a place for as long as it works.
pub(in crate::http) fn with_place<P: Send + 'static>(producer: Producer, place: P) -> Producer {
    Box::new(move |sink| {
        Box::pin(async move {
            let _place = place;
            producer(sink).await
        })
    })
}

/// A body, and what makes it, which has to be run beside.
pub(in crate::http) fn begin(
    producer: Producer,
    is_compressed: bool,
) -> (impl Future<Output = Result<Finished, Cut>> + Send, AnswerBody) {
    let (sender, receiver) = channel(PIECES_MAX);
    (produce(producer, sender, is_compressed), AnswerBody::streamed(receiver))
}

/// Makes a body to its end, or until nobody wants it.
async fn produce(
    producer: Producer,
    pieces: Sender<Piece>,
    is_compressed: bool,
) -> Result<Finished, Cut> {
    let made = producer(Sink::new(pieces.clone(), is_compressed));
    let made = AssertUnwindSafe(made).catch_unwind();
    tokio::select! {
        made = made => made.unwrap_or_else(|_| Err(Cut::Failed("it panicked".into()))),
        () = pieces.closed() => Err(Cut::Unread),
    }
}

impl StreamEnd {
    /// How the making of a body ended, for the figures.
    pub(in crate::http) fn of(made: &Result<Finished, Cut>) -> Self {
        match made {
            Ok(_) => Self::Whole,
            Err(Cut::Unread) => Self::Unread,
            Err(Cut::Failed(_)) => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests;
