use std::net::TcpListener;

use super::*;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nX-Total-Count: 12\r\ncontent-length: 4\r\n\r\n[{}]";

#[test]
fn a_head_is_parsed_once_it_is_complete() {
    let head =
        Head { status: 200, total: Some(12), event_number: None, content_length: 4, n_bytes: 57 };
    assert_eq!(read_head(ANSWER).unwrap(), Some(head));
    assert_eq!(read_head(&ANSWER[..56]).unwrap(), None);
    assert!(read_head(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").is_err());
}

#[test]
fn a_response_may_be_longer_than_the_initial_buffer() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let body = vec![b'x'; 5 * ANSWER_BYTES];
    let n_bytes = body.len();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {n_bytes}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body).unwrap();
    });
    let mut client = Client::connect(&address).unwrap();
    assert_eq!(client.receive().unwrap().body.len(), n_bytes);
    server.join().unwrap();
}

#[test]
fn two_requests_share_a_connection_with_any_packets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let request = get("/bench/access", "secret");
    let n_request_bytes = request.len();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        for cut in [20, ANSWER.len() - 2] {
            stream.read_exact(&mut vec![0; n_request_bytes]).unwrap();
            stream.write_all(&ANSWER[..cut]).unwrap();
            stream.write_all(&ANSWER[cut..]).unwrap();
        }
    });
    let mut client = Client::connect(&address).unwrap();
    for _ in 0..2 {
        let answer = client.call(&request).unwrap();
        assert_eq!((answer.status, answer.total, answer.body), (200, Some(12), &b"[{}]"[..]));
    }
    server.join().unwrap();
}

#[test]
fn chunks_are_joined_with_any_packets() {
    let body = b"5\r\nhello\r\n1a\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n";
    for n in [1, 2, 3, 7, body.len()] {
        let mut chunks = Chunks::default();
        for piece in body.chunks(n) {
            chunks.take(piece).unwrap();
        }
        assert_eq!(chunks.body, b"helloabcdefghijklmnopqrstuvwxyz", "pieces of {n}");
        assert!(chunks.is_over);
    }
    assert!(Chunks::default().take(b"hello\r\n").is_err());
}

#[test]
fn a_header_is_added_after_the_others() {
    let request = with_header(&get("/bench/access", "secret"), "Accept-Encoding: gzip");
    let expected = "GET /bench/access HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer secret\r\n\
                    Accept-Encoding: gzip\r\n\r\n";
    assert_eq!(String::from_utf8(request).unwrap(), expected);
}
