use super::*;
use crate::http::tests::stream::{GO_ON, gatehouse};
use tokio::sync::oneshot;

async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut read = Vec::new();
    while !read.ends_with(end.as_bytes()) {
        let mut buffer = [0; 4096];
        let n = stream.read(&mut buffer).await.unwrap();
        read.extend_from_slice(&buffer[..n]);
        assert!(n > 0, "it ended: {}", String::from_utf8_lossy(&read));
    }
    String::from_utf8(read).unwrap()
}

/// A connection that has sent half of a head.
async fn half(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /-/live HT").await.unwrap();
    stream
}

#[tokio::test]
async fn a_streamed_response_keeps_its_connection_and_completes_when_the_server_stops() {
    let gatehouse = gatehouse(crate::Config::default()).await;
    let socket = listen(([127, 0, 0, 1], 0).into()).unwrap();
    let setup = Setup {
        api: gatehouse.gate.clone(),
        clock: gatehouse.clock.clone(),
        listener: ListenerKind::Main,
        capacity: 2,
        limits: Limits::default(),
        tls: None,
    };
    let listener = Listener::new(socket, setup);
    let address = listener.address().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(listener.serve(async {
        let _ = stopped.await;
    }));

    let mut reader = TcpStream::connect(address).await.unwrap();
    let token = &gatehouse.token;
    let head = format!(
        "GET /acme/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\nx-how: hold\r\n\r\n"
    );
    reader.write_all(head.as_bytes()).await.unwrap();
    let begun = read_until(&mut reader, "first part\r\n").await;
    assert!(begun.contains("transfer-encoding: chunked"), "{begun}");

    // The limit is two connections: the idle one is evicted, not the one that reads.
    let mut idle = half(address).await;
    let mut other = half(address).await;
    assert_eq!(idle.read(&mut [0; 64]).await.unwrap(), 0);

    stop.send(()).unwrap();
    // The time for incomplete heads is over when this one is closed.
    let mut last = Vec::new();
    other.read_to_end(&mut last).await.unwrap();
    assert!(!serving.is_finished());
    GO_ON.notify_one();
    let rest = read_until(&mut reader, "\r\n0\r\n\r\n").await;
    assert!(rest.contains("and last part"), "{rest}");
    serving.await.unwrap();
}
