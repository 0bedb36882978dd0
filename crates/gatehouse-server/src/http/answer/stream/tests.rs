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

/// Lines that are different, and many.
fn lines(n: usize) -> String {
    (0..n).map(|n| format!("line {n} of many\n")).collect()
}

#[tokio::test]
async fn a_body_goes_out_whole_whatever_the_sizes_of_its_parts() {
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
            let (made, body) = begin(producer, is_compressed);
            let (made, body) = tokio::join!(made, body.collect());
            assert!(made.is_ok());
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
async fn pieces_that_were_cut_go_out_in_order_and_of_their_size() {
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
    let (made, mut body) = begin(producer, false);
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
    let (made, read) = tokio::join!(made, read);
    assert!(made.is_ok() && read == text.as_bytes());
}

#[tokio::test]
async fn an_empty_body_is_whole_too() {
    let (made, body) = begin(producer(async |sink: Sink| sink.finish().await), false);
    let (made, body) = tokio::join!(made, body.collect());
    assert!(made.is_ok());
    assert_eq!(body.unwrap().to_bytes(), "");
}

#[tokio::test]
async fn what_is_flushed_can_be_read_before_the_rest_is_made() {
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
        let (made, mut body) = begin(producer, is_compressed);
        let read = async {
            let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
            let mut seen = [0; 5];
            match is_compressed {
                true => GzDecoder::new(&first[..]).read_exact(&mut seen).unwrap(),
                false => seen.copy_from_slice(&first),
            }
            assert_eq!(&seen, b"first");
            go_on.notify_one();
            body.collect().await.unwrap();
        };
        assert!(tokio::join!(made, read).0.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn who_does_not_read_holds_few_pieces_and_not_for_ever() {
    let n_written = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&n_written);
    let producer = producer(async move |mut sink: Sink| {
        loop {
            sink.write(&[b'x'; 1000]).await?;
            counted.fetch_add(1000, Ordering::Relaxed);
        }
    });
    let (made, mut body) = begin(producer, false);
    // Time passes by itself when nothing else can be done.
    assert_eq!(made.await.err(), Some(StreamError::Unread));
    let most = (CHUNKS_MAX + 1) * (CHUNK_BYTES + 1000);
    assert!(n_written.load(Ordering::Relaxed) <= most);
    for _ in 0..CHUNKS_MAX {
        assert!(body.frame().await.unwrap().is_ok());
    }
    assert!(body.frame().await.unwrap().is_err(), "what broke off can't be taken for whole");
    assert!(body.frame().await.is_none());
}

#[tokio::test]
async fn a_producer_ends_when_nobody_reads_any_more() {
    let (made, body) = begin(producer(async |_| std::future::pending().await), true);
    drop(body);
    assert_eq!(made.await.err(), Some(StreamError::Unread));
}

#[tokio::test]
async fn a_producer_that_fails_or_panics_breaks_the_body_off() {
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
        let (made, body) = begin(producer, false);
        let (made, body) = tokio::join!(made, body.collect());
        assert!(matches!(made.err(), Some(StreamError::Failed(_))));
        assert!(body.is_err());
    }
}
