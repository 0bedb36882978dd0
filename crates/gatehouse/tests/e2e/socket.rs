//! A client that controls every byte.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::process::{Server, WAIT_LIMIT};

/// Silence that counts as nothing for now.
const SILENCE: Duration = Duration::from_millis(20);

/// Longest wait for data.
const READ_TIMEOUT: Duration = WAIT_LIMIT;

pub(crate) struct Socket(TcpStream);

impl Socket {
    pub(crate) fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        Self(stream)
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn offer(&mut self, text: &str) {
        let _ = self.0.write_all(text.as_bytes());
    }

    /// Sends one byte and reads for a moment; returns everything received once the server has closed.
    pub(crate) fn dribble(&mut self, answer: &mut Vec<u8>) -> Option<String> {
        // A server that has sent its response may have stopped reading.
        let _ = self.0.write_all(b"x");
        self.0.set_read_timeout(Some(SILENCE)).unwrap();
        let mut buffer = [0; 4096];
        let read = self.0.read(&mut buffer);
        self.0.set_read_timeout(Some(READ_TIMEOUT)).unwrap();
        match read {
            Ok(0) => return Some(String::from_utf8(std::mem::take(answer)).unwrap()),
            Ok(n) => answer.extend_from_slice(&buffer[..n]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // The server has closed, after its whole response.
            Err(_) => return Some(String::from_utf8(std::mem::take(answer)).unwrap()),
        }
        None
    }

    /// Everything until the server closes.
    pub(crate) fn rest(self) -> String {
        String::from_utf8(self.rest_of_bytes()).unwrap()
    }

    pub(crate) fn rest_of_bytes(mut self) -> Vec<u8> {
        let mut answer = Vec::new();
        match self.0.read_to_end(&mut answer) {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
            _ => answer,
        }
    }

    /// Reads a head, and the body that it announces.
    pub(crate) fn answer(&mut self) -> String {
        let mut answer = Vec::new();
        let mut byte = [0];
        let mut wanted = usize::MAX;
        while answer.len() < wanted {
            assert_eq!(self.0.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&answer));
            answer.push(byte[0]);
            if answer.ends_with(b"\r\n\r\n") && wanted == usize::MAX {
                let head = std::str::from_utf8(&answer).unwrap().to_ascii_lowercase();
                let length = head.split("content-length: ").nth(1);
                let length = length.map_or("0", |it| it.split("\r\n").next().unwrap());
                wanted = answer.len() + length.parse::<usize>().unwrap();
            }
        }
        String::from_utf8(answer).unwrap()
    }

    /// Sends a small request; whether it was accepted.
    pub(crate) fn is_accepted(&mut self) -> bool {
        let sent = self.0.write_all(b"GET /-/live HTTP/1.1\r\nhost: x\r\n\r\n");
        let mut begin = [0; 13];
        sent.is_ok() && self.0.read_exact(&mut begin).is_ok() && &begin == b"HTTP/1.1 200 "
    }

    /// Sends a small request and keeps the connection.
    pub(crate) fn ask_live(&mut self) {
        self.send("GET /-/live HTTP/1.1\r\nhost: x\r\n\r\n");
        let answer = self.answer();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }

    /// Sends a creation, without waiting for the response.
    pub(crate) fn create(&mut self, server: &Server) {
        let body = r#"{"contractId": "payg"}"#;
        self.send(&format!(
            "POST /acme/access HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            server.token,
            body.len()
        ));
    }

    /// Begins a creation, whose body the server waits for when this returns; returns the rest of it.
    pub(crate) fn begin(&mut self, server: &Server) -> &'static str {
        let (first, rest) = (r#"{"contractId":"#, r#""payg"}"#);
        self.send(&format!(
            "POST /acme/access HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nexpect: 100-continue\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            server.token,
            first.len() + rest.len()
        ));
        let go_on = self.answer();
        assert!(go_on.starts_with("HTTP/1.1 100 "), "{go_on}");
        self.send(first);
        rest
    }
}
