use super::*;
use flate2::read::GzDecoder;
use http_body_util::BodyExt;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Notify;

fn producer<BodyFuture>(produce: impl FnOnce(Sink) -> BodyFuture + Send + 'static) -> Producer
where
    BodyFuture: Future<Output = Result<Finished, StreamError>> + Send + 'static,
{
    Box::new(move |sink| Box::pin(produce(sink)))
}

/// Many different lines.
fn lines(n: usize) -> String {
    (0..n).map(|n| format!("line {n} of many\n")).collect()
}

#[tokio::test]
async fn a_body_arrives_whole_for_every_size_of_write() {
    let text = lines(20_000);
    for part_bytes in [1, 100, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, text.len()] {
        for is_compressed in [false, true] {
            let written = text.clone();
            let producer = producer(async move |mut sink: Sink| {
                for part in written.as_bytes().chunks(part_bytes) {
                    sink.write(part).await?;
                }
                sink.finish().await
            });
            let (produced, body) = begin(producer, is_compressed);
            let (produced, body) = tokio::join!(produced, body.collect());
            assert!(produced.is_ok());
            let body = body.unwrap().to_bytes();
            let mut read = String::new();
            if is_compressed {
                assert!(body.len() < text.len() / 3, "{}", body.len());
                GzDecoder::new(&body[..]).read_to_string(&mut read).unwrap();
            } else {
                (&body[..]).read_to_string(&mut read).unwrap();
            }
            assert!(read == text, "parts of {part_bytes} bytes, compressed: {is_compressed}");
        }
    }
}

#[tokio::test]
async fn chunks_arrive_in_order_and_within_their_size() {
    let text = lines(40_000);
    let written = text.clone();
    let producer = producer(async move |mut sink: Sink| {
        for (nth, line) in written.split_inclusive('\n').enumerate() {
            sink.json().raw(line);
            sink.cut();
            if nth % 25_000 == 24_999 {
                sink.send_ready().await?;
            }
        }
        sink.finish().await
    });
    let (produced, mut body) = begin(producer, false);
    let read = async {
        let (mut read, mut longest) = (Vec::new(), 0);
        while let Some(frame) = body.frame().await {
            let chunk = frame.unwrap().into_data().unwrap();
            longest = longest.max(chunk.len());
            read.extend_from_slice(&chunk);
        }
        assert!(longest < CHUNK_BYTES + 100, "{longest}");
        read
    };
    let (produced, read) = tokio::join!(produced, read);
    assert!(produced.is_ok() && read == text.as_bytes());
}

#[tokio::test]
async fn an_empty_body_is_whole_too() {
    let (produced, body) = begin(producer(async |sink: Sink| sink.finish().await), false);
    let (produced, body) = tokio::join!(produced, body.collect());
    assert!(produced.is_ok());
    assert_eq!(body.unwrap().to_bytes(), "");
}

#[tokio::test]
async fn flushed_bytes_arrive_before_the_rest_is_produced() {
    for is_compressed in [false, true] {
        let go_on = Arc::new(Notify::new());
        let waits = Arc::clone(&go_on);
        let producer = producer(async move |mut sink: Sink| {
            sink.write(b"first").await?;
            sink.flush().await?;
            waits.notified().await;
            sink.write(b" and last").await?;
            sink.finish().await
        });
        let (produced, mut body) = begin(producer, is_compressed);
        let read = async {
            let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
            let mut start = [0; 5];
            match is_compressed {
                true => GzDecoder::new(&first[..]).read_exact(&mut start).unwrap(),
                false => start.copy_from_slice(&first),
            }
            assert_eq!(&start, b"first");
            go_on.notify_one();
            body.collect().await.unwrap();
        };
        assert!(tokio::join!(produced, read).0.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_holds_few_chunks_until_a_timeout() {
    let n_written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&n_written);
    let producer = producer(async move |mut sink: Sink| {
        loop {
            sink.write(&[b'x'; 1000]).await?;
            counted.fetch_add(1000, Ordering::Relaxed);
        }
    });
    let (produced, mut body) = begin(producer, false);
    // The paused clock advances when all tasks wait.
    assert_eq!(produced.await.err(), Some(StreamError::Unread));
    let most = (CHUNKS_MAX + 1) * (CHUNK_BYTES + 1000);
    assert!(n_written.load(Ordering::Relaxed) <= most);
    for _ in 0..CHUNKS_MAX {
        assert!(body.frame().await.unwrap().is_ok());
    }
    assert!(body.frame().await.unwrap().is_err(), "a truncated body ends with an error");
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_producer_is_cancelled_when_the_client_disconnects() {
    let (produced, body) = begin(producer(async |_| std::future::pending().await), true);
    drop(body);
    assert_eq!(produced.await.err(), Some(StreamError::Unread));
}

#[tokio::test]
async fn a_producer_that_fails_or_panics_truncates_the_body() {
    let fails = producer(async |mut sink: Sink| {
        sink.write(b"a part").await?;
        sink.flush().await?;
        Err(gatehouse_store::StoreError::TooSlow.into())
    });
    let panics = producer(async |_| panic!("a defect"));
    let gives_up = producer(async |mut sink: Sink| {
        sink.write(b"a part").await?;
        Err(StreamError::Failed("no more".into()))
    });
    for producer in [fails, panics, gives_up] {
        let (produced, body) = begin(producer, false);
        let (produced, body) = tokio::join!(produced, body.collect());
        assert!(matches!(produced.err(), Some(StreamError::Failed(_))));
        assert!(body.is_err());
    }
}
