//! A collector: takes spans by OTLP over HTTP, as protobuf, and keeps them.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::Span as Sent;
use prost::Message;

/// A span as it came, with what a test asks for.
#[derive(Clone, Debug)]
pub struct Span {
    pub name: String,
    /// 2 server, 3 client, 4 producer, 5 consumer.
    pub kind: i32,
    pub trace: String,
    pub id: String,
    pub parent: String,
    /// Trace and span of each.
    pub links: Vec<(String, String)>,
    /// 0 unset, 1 well, 2 an error; and its words.
    pub status: (i32, String),
    pub attributes: BTreeMap<String, String>,
    /// The program's, such as `service.name`.
    pub resource: BTreeMap<String, String>,
}

pub struct Collector {
    pub address: SocketAddr,
    spans: Arc<Mutex<Vec<Span>>>,
}

impl Collector {
    pub fn start() -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let spans = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&spans);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || {
                    serve(stream, |body| {
                        kept.lock().expect("nobody panics here").extend(read(body));
                    })
                });
            }
        });
        Collector { address, spans }
    }

    pub fn spans(&self) -> Vec<Span> {
        self.spans.lock().expect("nobody panics here").clone()
    }

    /// The spans of this job that have come, once one of them passes.
    pub fn until(&self, what: &str, mut holds: impl FnMut(&Span) -> bool) -> Span {
        let give_up = Instant::now() + Duration::from_secs(30);
        loop {
            if let Some(span) = self.spans().into_iter().find(&mut holds) {
                return span;
            }
            assert!(Instant::now() < give_up, "never came: {what}; came: {:#?}", self.spans());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Answers each request of a connection, and hands on its body.
fn serve(stream: TcpStream, take: impl Fn(&[u8])) {
    let mut answer = stream.try_clone().expect("a second handle");
    let mut lines = BufReader::new(stream);
    loop {
        let (mut length, mut head, mut protobuf) = (0, String::new(), false);
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let lower = line.trim().to_ascii_lowercase();
            if let Some(number) = lower.strip_prefix("content-length: ") {
                length = number.parse().expect("a number");
            }
            protobuf |= lower == "content-type: application/x-protobuf";
            if lower.is_empty() {
                break;
            }
            head.push_str(&line);
        }
        assert!(head.starts_with("POST /v1/traces ") && protobuf, "{head}");
        let mut body = vec![0; length];
        lines.read_exact(&mut body).expect("the body");
        take(&body);
        let _ = answer.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    }
}

fn read(body: &[u8]) -> Vec<Span> {
    let request = ExportTraceServiceRequest::decode(body).expect("OTLP");
    let mut spans = Vec::new();
    for group in request.resource_spans {
        let resource = texts(&group.resource.map(|of| of.attributes).unwrap_or_default());
        for span in group.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            spans.push(one(span, resource.clone()));
        }
    }
    spans
}

fn one(span: Sent, resource: BTreeMap<String, String>) -> Span {
    let links = span.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id)));
    Span {
        kind: span.kind,
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        links: links.collect(),
        status: span.status.map(|status| (status.code, status.message)).unwrap_or_default(),
        attributes: texts(&span.attributes),
        resource,
        name: span.name,
    }
}

fn texts(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |one: &KeyValue| match one.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        other => Some(format!("{other:?}")),
    };
    attributes.iter().filter_map(|one| Some((one.key.clone(), text(one)?))).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
