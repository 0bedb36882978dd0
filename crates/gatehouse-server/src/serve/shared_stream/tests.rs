use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// A client, the server's end of its connection, and the watch on it.
async fn connection() -> (TcpStream, SharedStream, CloseWatch) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (stream, watch) = SharedStream::new(listener.accept().await.unwrap().0);
    (client, stream, watch)
}

#[tokio::test]
async fn a_client_that_sends_ahead_is_connected_until_it_closes() {
    let (mut client, stream, watch) = connection().await;
    let mut waiting = watch.wait();
    assert!((&mut waiting).now_or_never().is_none());
    client.write_all(b"the next request").await.unwrap();
    stream.0.readable().await.unwrap();
    assert!((&mut waiting).now_or_never().is_none(), "bytes are no close");
    assert!(watch.wait().now_or_never().is_none(), "nor are they for a new wait");
    drop(client);
    waiting.await;
    watch.wait().await;
}

#[tokio::test]
async fn a_closed_half_a_reset_and_a_dropped_stream_are_disconnections() {
    let (mut client, _stream, watch) = connection().await;
    client.shutdown().await.unwrap();
    watch.wait().await;

    let (client, _stream, watch) = connection().await;
    client.set_zero_linger().unwrap();
    drop(client);
    watch.wait().await;

    let (_client, stream, watch) = connection().await;
    drop(stream);
    watch.wait().await;
}

#[tokio::test]
async fn a_watch_does_not_keep_the_stream_open() {
    let (mut client, stream, watch) = connection().await;
    assert!(watch.wait().now_or_never().is_none());
    drop(stream);
    assert_eq!(client.read(&mut [0]).await.unwrap(), 0);
    drop(watch);
}

/// More bytes than the kernel buffers, so that both ends have to wait for each other.
#[tokio::test]
async fn all_bytes_arrive_in_order_both_ways() {
    let (client, stream, _watch) = connection().await;
    let sent: Vec<u8> = (0..8_000_000_u32).map(|n| (n % 251) as u8).collect();
    let (mut from_client, mut to_client) = tokio::io::split(stream);
    let (mut from_server, mut to_server) = tokio::io::split(client);
    let (mut at_client, mut at_server) = (Vec::new(), Vec::new());
    let send_to_client = async {
        let (first, rest) = sent.split_at(sent.len() / 2);
        to_client.write_all(first).await?;
        let mut n_sent = 0;
        while n_sent < rest.len() {
            let (one, other) = rest[n_sent..].split_at((rest.len() - n_sent) / 3);
            n_sent += to_client.write_vectored(&[IoSlice::new(one), IoSlice::new(other)]).await?;
        }
        to_client.shutdown().await
    };
    let send_to_server = async {
        to_server.write_all(&sent).await?;
        to_server.shutdown().await
    };
    let (server, client, to_server, to_client) = tokio::join!(
        from_client.read_to_end(&mut at_server),
        from_server.read_to_end(&mut at_client),
        send_to_server,
        send_to_client,
    );
    assert_eq!((server.unwrap(), client.unwrap()), (sent.len(), sent.len()));
    to_server.and(to_client).unwrap();
    assert!(at_server == sent && at_client == sent, "bytes were lost or changed places");
}
