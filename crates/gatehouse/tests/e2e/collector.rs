//! A trace collector: accepts OTLP over HTTP, and stores the requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

pub(crate) struct Collector {
    pub(crate) endpoint: String,
    bodies: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&bodies);
        // Ends with the test.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || collect(stream, &kept));
            }
        });
        Self { endpoint, bodies }
    }

    /// Every request body, as it came.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.bodies.lock().unwrap().concat()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let bodies = self.bodies.lock().unwrap();
        let requests = bodies.iter().map(|it| ExportTraceServiceRequest::decode(&it[..]).unwrap());
        let resources = requests.flat_map(|it| it.resource_spans);
        resources.flat_map(|it| it.scope_spans).flat_map(|it| it.spans).collect()
    }

    /// The service name of the spans.
    pub(crate) fn service_name(&self) -> Option<String> {
        let bodies = self.bodies.lock().unwrap();
        let request = ExportTraceServiceRequest::decode(&bodies.first()?[..]).unwrap();
        let resource = request.resource_spans.first()?.resource.clone()?;
        let name = resource.attributes.into_iter().find(|it| it.key == "service.name")?;
        text(name.value?.value?)
    }
}

pub(crate) fn attribute(span: &Span, name: &str) -> Option<String> {
    let found = span.attributes.iter().find(|it| it.key == name)?;
    text(found.value.clone()?.value?)
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::StringValue(text) => Some(text),
        Value::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

fn collect(stream: TcpStream, kept: &Mutex<Vec<Vec<u8>>>) {
    let mut answers = stream.try_clone().unwrap();
    let mut requests = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if requests.read_line(&mut line).unwrap_or_default() == 0 {
            return;
        }
        assert_eq!(line, "POST /v1/traces HTTP/1.1\r\n");
        let mut length = 0;
        while line != "\r\n" {
            line.clear();
            requests.read_line(&mut line).unwrap();
            let line = line.to_ascii_lowercase();
            if let Some(value) = line.strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if let Some(value) = line.strip_prefix("content-type:") {
                assert_eq!(value.trim(), "application/x-protobuf");
            }
        }
        let mut body = vec![0; length];
        requests.read_exact(&mut body).unwrap();
        kept.lock().unwrap().push(body);
        answers.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    }
}
