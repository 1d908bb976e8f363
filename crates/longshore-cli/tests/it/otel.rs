//! Spans, as a collector receives them: of a program's own, and of the built executable.

mod collector;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use longshore::{
    Backoff, Client, JobError, NewJob, Run, State, Trace, TraceMode, Worker, WorkerConfig,
};
use longshore_cli::Telemetry;
use longshore_server::{Access, Role, Server as Api, ServerConfig};
use tokio::runtime::Runtime;
use tracing::Instrument;
use tracing_subscriber::prelude::*;

use crate::harness::{Place, Said, Server, both};
use crate::http::address;
use collector::{Collector, Span};

both!(a_node_sends_its_spans_before_it_ends, a_collector_that_is_away_holds_up_nothing);

const CALLER: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLERS_SPAN: &str = "00f067aa0ba902b7";
/// Kinds of spans, as OTLP numbers them.
const SERVER: i32 = 2;
const CLIENT: i32 = 3;
const PRODUCER: i32 = 4;
const CONSUMER: i32 = 5;

/// This process's own exporter, and what it has logged.
struct Traced {
    runtime: Runtime,
    telemetry: Telemetry,
    collector: Collector,
    log: Lines,
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics here").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn traced() -> &'static Traced {
    static TRACED: OnceLock<Traced> = OnceLock::new();
    TRACED.get_or_init(|| {
        let runtime = Runtime::new().expect("a runtime");
        let collector = Collector::start();
        let endpoint = format!("http://{}/v1/traces", collector.address);
        let telemetry =
            Telemetry::to(&endpoint, "shop", "1.2.3", runtime.handle()).expect("it is one");
        let log = Lines::default();
        let lines = log.clone();
        let json = tracing_subscriber::fmt::layer().json().with_writer(move || lines.clone());
        tracing_subscriber::registry().with(json).with(telemetry.layer()).init();
        Traced { runtime, telemetry, collector, log }
    })
}

impl Traced {
    /// The span of that name that belongs to the job, or to the trace.
    fn span(&self, name: &str, of: &str) -> Span {
        self.telemetry.flush();
        self.collector.until(&format!("{name} of {of}"), |span| {
            let belongs = span.trace == of || span.attributes.values().any(|value| value == of);
            span.name == name && belongs
        })
    }
}

/// Somebody whom a handler calls: what `traceparent` came.
fn callee() -> (SocketAddr, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (send, receive) = mpsc::channel();
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            // To the end, which may come in a packet of its own: whoever closes before is not heard out.
            let head = BufReader::new(&stream).lines().map_while(Result::ok);
            let head: Vec<String> = head.take_while(|line| !line.is_empty()).collect();
            let parent = head.iter().find_map(|line| line.strip_prefix("traceparent: "));
            let _ = send.send(parent.unwrap_or("none").to_owned());
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
        }
    });
    (address, receive)
}

/// Asks with a `traceparent`; the whole answer.
fn ask(address: &str, method: &str, path: &str, parent: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ntraceparent: {parent}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    text
}

fn id_in(answer: &str) -> String {
    let (_, rest) = answer.split_once("\"id\":\"").unwrap_or_else(|| panic!("{answer}"));
    rest.chars().take_while(|c| *c != '"').collect()
}

fn has(span: &Span, attributes: &[(&str, &str)]) {
    for (key, value) in attributes {
        assert_eq!(
            span.attributes.get(*key).map(String::as_str),
            Some(*value),
            "{key} of {span:#?}"
        );
    }
}

async fn database() -> Client {
    let client = Client::open("sqlite::memory:").await.expect("a database");
    client.migrate().await.expect("a schema");
    client
}

fn worker(client: &Client, trace: TraceMode) -> Worker {
    let config = WorkerConfig { trace, ..WorkerConfig::default() };
    Worker::new(client.clone()).config(config).queue("default", 10)
}

/// The whole way: a caller with a trace of its own, the API, the enqueue, the claim, the run, and a call from there.
#[test]
fn one_job_is_one_trace_from_its_caller_to_whom_it_calls() {
    let t = traced();
    let (callee, called) = callee();
    let (id, meta) = t.runtime.block_on(async {
        let client = database().await;
        let handler = move |_: Run| {
            let span = tracing::info_span!("GET", otel.kind = "client");
            async move {
                tracing::info!("about to call");
                let parent = Trace::current().parent.expect("a span is open");
                ask(&callee.to_string(), "GET", "/", &parent, "");
            }
            .instrument(span)
        };
        let working =
            worker(&client, TraceMode::Continued).handle("call", handler).start().unwrap();
        let config = ServerConfig { access: Access::Open(Role::Admin), ..ServerConfig::default() };
        let site = Api::new(client.clone()).config(config).site();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address").to_string();
        let site = site.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, site).await });
        let parent = format!("00-{CALLER}-{CALLERS_SPAN}-01");
        let body = r#"{"kind": "call", "meta": {"n": 1e400}}"#;
        let asked = move || ask(&address, "POST", "/api/v1/jobs", &parent, body);
        let answer = tokio::task::spawn_blocking(asked).await.expect("an answer");
        let id = id_in(&answer);
        let job = client.wait(id.parse().expect("an id"), Some(Duration::from_secs(30))).await;
        let job = job.expect("it is there");
        assert_eq!(job.state, State::Succeeded, "{job:?}");
        working.stop().await;
        (id, job.meta.expect("notes"))
    });

    let request = t.span("POST /api/v1/jobs", CALLER);
    let send = t.span("send default", CALLER);
    let receive = t.span("receive default", &id);
    let process = t.span("process default", &id);
    let get = t.span("GET", CALLER);
    let path = [&request, &send, &receive, &process, &get];
    assert!(path.iter().all(|span| span.trace == CALLER), "one trace: {path:#?}");
    assert_eq!(path.map(|span| span.kind), [SERVER, PRODUCER, CLIENT, CONSUMER, CLIENT]);
    let parents = [CALLERS_SPAN, &request.id, &send.id, &receive.id, &process.id];
    assert_eq!(path.map(|span| span.parent.as_str()), parents);
    // What the job names is its enqueue, and its own notes keep their bytes.
    assert_eq!(*meta, *format!(r#"{{"traceparent":"00-{CALLER}-{}-01","n": 1e400}}"#, send.id));
    assert_eq!(called.recv().expect("it was called"), format!("00-{CALLER}-{}-01", get.id));

    for (span, operation) in [(&send, "send"), (&receive, "receive"), (&process, "process")] {
        has(
            span,
            &[
                ("messaging.system", "longshore"),
                ("messaging.operation.name", operation),
                ("messaging.operation.type", operation),
                ("messaging.destination.name", "default"),
                ("longshore.job.kind", "call"),
            ],
        );
        assert_eq!(span.status.0, 0, "{span:#?}");
    }
    has(&send, &[("messaging.message.id", &id)]);
    has(&process, &[("longshore.job.attempt", "1"), ("longshore.job.outcome", "done")]);
    has(&request, &[("http.route", "/api/v1/jobs"), ("http.response.status_code", "201")]);
    assert_eq!(process.resource["service.name"], "shop");
    assert_eq!(process.resource["service.version"], "1.2.3");
    for span in path {
        println!("{} <- {} {} {:?}", span.id, span.parent, span.name, span.attributes);
    }

    let log = String::from_utf8(t.log.0.lock().unwrap().clone()).expect("text");
    let line = log.lines().find(|line| line.contains("about to call")).expect("it was logged");
    assert!(line.contains(&format!("\"trace_id\":\"{CALLER}\"")), "{line}");
}

/// Each attempt has a trace of its own, which says how it went and where its job came from.
#[test]
fn attempts_are_linked_to_their_enqueue_and_say_how_they_went() {
    let t = traced();
    let ids = t.runtime.block_on(async {
        let client = database().await;
        let working = worker(&client, TraceMode::Linked)
            .handle("fails", async |_: Run| Err::<(), _>(JobError::new("no luck")))
            .handle("panics", async |run: Run| assert_eq!(run.attempt(), 0, "oh"))
            .handle("slow", async |_: Run| tokio::time::sleep(Duration::from_secs(60)).await)
            .start()
            .unwrap();
        let jobs = [
            NewJob::new("fails").max_attempts(2).backoff(Backoff::fixed(Duration::from_millis(1))),
            NewJob::new("panics").max_attempts(1),
            NewJob::new("slow").max_attempts(1).timeout(Duration::from_millis(100)),
        ];
        let mut ids = Vec::new();
        for job in jobs {
            let id = client.enqueue(job).await.expect("it is enqueued").id;
            let job = client.wait(id, Some(Duration::from_secs(30))).await.expect("it is there");
            assert_eq!(job.state, State::Dead, "{job:?}");
            ids.push(id.to_string());
        }
        working.stop().await;
        ids
    });
    for (id, error, words) in
        [(&ids[0], "error", "no luck"), (&ids[1], "panic", "oh"), (&ids[2], "timeout", "timeout")]
    {
        let process = t.span("process default", id);
        let send = t.span("send default", id);
        let receive = t.span("receive default", id);
        assert_eq!(process.status.0, 2, "{process:#?}");
        assert!(process.status.1.contains(words), "{process:#?}");
        has(&process, &[("error.type", error)]);
        let from = [(send.trace.clone(), send.id.clone())];
        assert_ne!(process.trace, send.trace);
        assert_eq!((&process.links[..], &receive.links[..]), (&from[..], &from[..]));
        assert_eq!((process.trace, process.parent), (receive.trace, receive.id));
    }
    let of_fails = |span: &Span| {
        span.name == "process default"
            && span.attributes.get("messaging.message.id") == Some(&ids[0])
    };
    let mut attempts: Vec<Span> = t.collector.spans().into_iter().filter(of_fails).collect();
    attempts.sort_by_key(|span| span.attributes["longshore.job.attempt"].clone());
    let number = |span: &Span| span.attributes["longshore.job.attempt"].clone();
    assert_eq!(attempts.iter().map(number).collect::<Vec<_>>(), ["1", "2"]);
    assert_ne!(attempts[0].trace, attempts[1].trace);
}

/// Of many jobs there is one span, and all of them name it.
#[test]
fn many_jobs_come_from_one_span_and_follow_ups_from_their_run() {
    let t = traced();
    let (first, metas) = t.runtime.block_on(async {
        let client = database().await;
        let span = tracing::info_span!("checkout");
        let many = (0..1_500).map(|_| NewJob::new("later").queue("many"));
        let added = client.enqueue_many(many).instrument(span).await.expect("they are added");
        let next = async |run: Run| run.client().enqueue(NewJob::new("later")).await.map(|_| ());
        let working = worker(&client, TraceMode::Continued).handle("first", next).start().unwrap();
        let first = client.enqueue(NewJob::new("first")).await.expect("it is added").id;
        client.wait(first, Some(Duration::from_secs(30))).await.expect("it ran");
        working.stop().await;
        let mut metas = Vec::new();
        for id in [added[0].id, added[1_499].id] {
            metas.push(client.get(id).await.expect("it is there").meta.expect("notes").to_string());
        }
        (first.to_string(), metas)
    });
    let process = t.span("process default", &first);
    let send = t.collector.until("the follow-up's", |span| span.parent == process.id);
    assert_eq!((&*send.name, &send.trace), ("send default", &process.trace));

    let checkout = t.collector.until("checkout", |span| span.name == "checkout");
    let many = t.collector.until("the batch", |span| span.name == "send many");
    assert_eq!((&many.trace, &many.parent), (&checkout.trace, &checkout.id));
    has(&many, &[("messaging.batch.message_count", "1500")]);
    for meta in metas {
        assert_eq!(meta, format!(r#"{{"traceparent":"00-{}-{}-01"}}"#, many.trace, many.id));
    }
}

fn exporting(place: &Place, args: &[&str], endpoint: &str) -> std::process::Command {
    let mut command = place.command(args);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("OTEL_")) {
        command.env_remove(name);
    }
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    command
}

fn a_node_sends_its_spans_before_it_ends(place: Place) {
    let collector = Collector::start();
    let endpoint = format!("http://{}", collector.address);
    place.write("longshore.toml", "[http]\nanonymous = 'operator'");
    let mut command = exporting(&place, &["serve", "--listen", "127.0.0.1:0"], &endpoint);
    // Nothing is sent before the end.
    command.env("OTEL_SERVICE_NAME", "harbour").env("OTEL_BSP_SCHEDULE_DELAY", "3600000");
    let server = Server::start(command);
    server.until_log("joined");
    let parent = format!("00-{CALLER}-{CALLERS_SPAN}-01");
    let address = address(&server);
    let id = id_in(&ask(&address, "POST", "/api/v1/jobs", &parent, r#"{"kind": "noop"}"#));
    ask(&address, "GET", "/livez", &parent, "");
    place.until("it ran", || place.state(&id) == "succeeded");
    assert_eq!(collector.spans().len(), 0);
    server.signal("TERM");
    assert_eq!(server.ended(), Some(0));

    let spans = collector.spans();
    let named = |name: &str| spans.iter().find(|span| span.name == name).expect(name);
    let (request, send) = (named("POST /api/v1/jobs"), named("send default"));
    let process = named("process default");
    assert_eq!((&*request.trace, &*request.parent), (CALLER, CALLERS_SPAN));
    assert_eq!((&*send.trace, &send.parent), (CALLER, &request.id));
    assert_eq!(process.links, [(send.trace.clone(), send.id.clone())]);
    assert_eq!(process.resource["service.name"], "harbour");
    has(process, &[("messaging.message.id", &id)]);
    assert!(!spans.iter().any(|span| span.name.contains("livez") || span.name == "request"));
}

fn a_collector_that_is_away_holds_up_nothing(place: Place) {
    // One that refuses, and one that takes a connection and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent = format!("http://{}", silent.local_addr().expect("its address"));
    for endpoint in ["http://127.0.0.1:1", &silent] {
        let mut command = exporting(&place, &["serve"], endpoint);
        command.env("OTEL_BSP_SCHEDULE_DELAY", "20").env("OTEL_EXPORTER_OTLP_TIMEOUT", "200");
        let server = Server::start(command);
        server.until_log("joined");
        let began = Instant::now();
        let ids: Vec<String> = (0..20).map(|_| place.enqueue(&["noop"])).collect();
        place.until("they ran", || place.state(&ids[19]) == "succeeded");
        server.until_log("spans could not be sent");
        std::thread::sleep(Duration::from_secs(1));
        let lines = server.log().matches("spans could not be sent").count();
        assert_eq!(lines, 1, "{}", server.log());
        let took = began.elapsed();
        let stopping = Instant::now();
        server.signal("TERM");
        assert_eq!(server.ended(), Some(0));
        assert!(stopping.elapsed() < Duration::from_secs(8), "{took:?}, {:?}", stopping.elapsed());
    }
}

#[test]
fn the_environment_decides_what_is_sent() {
    let place = Place::empty().migrated();
    let collector = Collector::start();
    let endpoint = format!("http://{}", collector.address);
    let enqueue = |variables: &[(&str, &str)]| -> Said {
        let mut command = exporting(&place, &["enqueue", "noop"], &endpoint);
        command.envs(variables.iter().copied());
        place.said_by(command)
    };
    for off in [
        ("OTEL_TRACES_SAMPLER", "always_off"),
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_EXPORTER", "none"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", ""),
    ] {
        assert_eq!(enqueue(&[off]).code, 0, "{off:?}");
        assert_eq!(collector.spans().len(), 0, "{off:?}");
    }
    assert_eq!(enqueue(&[]).code, 0);
    let span = collector.until("an enqueue", |span| span.name == "send default");
    assert_eq!(span.resource["service.name"], "longshore");

    let said = enqueue(&[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("OTEL_EXPORTER_OTLP_PROTOCOL is `grpc`"), "{said:?}");
}
