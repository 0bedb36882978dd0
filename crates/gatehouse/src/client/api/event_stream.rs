//! A stream of server-sent events, as a client reads it.

use reqwest::Response;
use reqwest::header::{CONTENT_TYPE, HeaderName};
use serde_json::Value;

use super::server::Server;
use super::tenant_server::TenantServer;
use crate::failure::Failure;

const MEDIA_TYPE: &str = "text/event-stream";

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// Most bytes of a line. An event has a few thousand.
const LINE_BYTES_MAX: usize = 1 << 20;

/// A stream that is read block by block.
pub(crate) struct EventStream<'s> {
    server: &'s Server,
    response: Response,
    lines: Lines,
}

/// A block: an event, or a number without one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Block {
    /// The number to go on behind after a lost connection.
    pub(crate) id: Option<u64>,
    pub(crate) data: Option<Value>,
}

impl TenantServer {
    /// Opens a stream; behind the number `seen_to`, if there is one.
    pub(crate) async fn follow(
        &self,
        segments: &[&str],
        query: &str,
        seen_to: Option<u64>,
    ) -> Result<EventStream<'_>, Failure> {
        let mut request = self.get(segments).query(query).strictly().accept(MEDIA_TYPE);
        if let Some(seen_to) = seen_to {
            request = request.header(LAST_EVENT_ID, seen_to.to_string());
        }
        let response = request.stream().await?;
        let media_type = response.headers().get(CONTENT_TYPE);
        let media_type = media_type.and_then(|it| it.to_str().ok()).unwrap_or_default();
        if !media_type.starts_with(MEDIA_TYPE) {
            return Err(self.server.not_understood());
        }
        Ok(EventStream { server: &self.server, response, lines: Lines::default() })
    }
}

impl EventStream<'_> {
    /// The next block; `None` when the server has ended the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<Block>, Failure> {
        loop {
            match self.lines.next_block() {
                Ok(Some(block)) => return Ok(Some(block)),
                Ok(None) => {}
                Err(NotUnderstood) => return Err(self.server.not_understood()),
            }
            let chunk = self.response.chunk().await;
            match chunk.map_err(|error| self.server.broke_off(&error))? {
                Some(bytes) => self.lines.unread.extend_from_slice(&bytes),
                // Without its end, a block may be cut.
                None => return Ok(None),
            }
        }
    }
}

/// The lines that have arrived.
#[derive(Default)]
struct Lines {
    unread: Vec<u8>,
    /// The block whose end hasn't arrived.
    block: Block,
}

#[derive(Debug, PartialEq, Eq)]
struct NotUnderstood;

impl Lines {
    fn next_block(&mut self) -> Result<Option<Block>, NotUnderstood> {
        let mut n_read = 0;
        let mut whole = None;
        while let Some(length) = self.unread[n_read..].iter().position(|byte| *byte == b'\n') {
            let line = &self.unread[n_read..n_read + length];
            n_read += length + 1;
            let line = std::str::from_utf8(line).map_err(|_| NotUnderstood)?;
            let line = line.strip_suffix('\r').unwrap_or(line);
            if !line.is_empty() {
                read_line(&mut self.block, line)?;
            } else if self.block != Block::default() {
                whole = Some(std::mem::take(&mut self.block));
                break;
            }
        }
        self.unread.drain(..n_read);
        if whole.is_none() && self.unread.len() > LINE_BYTES_MAX {
            return Err(NotUnderstood);
        }
        Ok(whole)
    }
}

/// Reads a line of a block. The type of an event is in its data, too, and a line without a name is a comment.
fn read_line(block: &mut Block, line: &str) -> Result<(), NotUnderstood> {
    let (name, value) = line.split_once(':').unwrap_or((line, ""));
    let value = value.strip_prefix(' ').unwrap_or(value);
    match name {
        "id" => block.id = Some(value.parse().map_err(|_| NotUnderstood)?),
        "data" => block.data = Some(serde_json::from_str(value).map_err(|_| NotUnderstood)?),
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(chunks: &[&str]) -> Result<Vec<Block>, NotUnderstood> {
        let mut lines = Lines::default();
        let mut blocks = Vec::new();
        for chunk in chunks {
            lines.unread.extend_from_slice(chunk.as_bytes());
            while let Some(block) = lines.next_block()? {
                blocks.push(block);
            }
        }
        Ok(blocks)
    }

    #[test]
    fn blocks_are_read_wherever_their_bytes_are_divided() {
        let text = "id: 3\n\n: heartbeat\n\nid: 4\nevent: AccessCreateEvent\ndata: {\"a\": \"ä\"}\n\nid:5\r\n\r\nid: 6\n";
        let expected = [
            Block { id: Some(3), data: None },
            Block { id: Some(4), data: Some(json!({"a": "ä"})) },
            Block { id: Some(5), data: None },
        ];
        for (at, _) in text.char_indices() {
            assert_eq!(read(&[&text[..at], &text[at..]]).unwrap(), expected, "at {at}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["id: x\n\n", "data: <html>\n\n", &"x".repeat(LINE_BYTES_MAX + 1)] {
            assert_eq!(read(&[text]), Err(NotUnderstood));
        }
    }
}
