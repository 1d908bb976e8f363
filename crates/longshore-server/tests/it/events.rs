//! Events: that something has changed, to whoever listens.

use std::time::{Duration, Instant};

use axum::body::Body;
use http_body_util::BodyExt;
use longshore::NewJob;
use longshore::testing::TestStore;
use longshore_server::{Access, Role, Server, ServerConfig};
use tower::ServiceExt;

use crate::harness::{Api, request};

/// No test waits longer for an event.
const LONGEST: Duration = Duration::from_secs(20);

/// A stream as a browser reads it.
struct Stream {
    body: Body,
    text: String,
}

/// One event.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    name: String,
    id: String,
}

impl Stream {
    async fn open(api: &Api, topics: &str, last: Option<&str>) -> Stream {
        let mut listen = request("GET", &format!("/api/v1/events?topics={topics}"), None);
        if let Some(last) = last {
            listen.headers_mut().insert("last-event-id", last.parse().unwrap());
        }
        listen.headers_mut().insert("accept-encoding", "gzip".parse().unwrap());
        let response = api.open(listen).await;
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert!(
            !response.headers().contains_key("content-encoding"),
            "a compressor would hold it back"
        );
        Stream { body: response.into_body(), text: String::new() }
    }

    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<Said> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let field = |name: &str| {
                    let line = event.lines().find_map(|line| line.strip_prefix(name));
                    line.map(|value| value.trim().to_owned())
                };
                let said =
                    field("event:").map(|name| Said { name, id: field("id:").unwrap_or_default() });
                self.text = rest.to_owned();
                match said {
                    Some(said) => return Some(said),
                    // A comment.
                    None => continue,
                }
            }
            let frame =
                tokio::time::timeout(LONGEST, self.body.frame()).await.expect("an event in time");
            let frame = frame?.expect("a whole body");
            self.text += std::str::from_utf8(frame.data_ref().expect("data")).expect("text");
        }
    }

    async fn expect(&mut self, name: &str) -> Said {
        let said = self.next().await.expect("an event");
        assert_eq!(said.name, name);
        said
    }

    /// Skips what else is told.
    async fn until(&mut self, name: &str) -> Said {
        loop {
            let said = self.next().await.expect("an event");
            if said.name == name {
                return said;
            }
        }
    }
}

#[longshore::test(both)]
async fn a_change_is_told_by_its_topic(store: TestStore) {
    let api = Api::of(&store);
    let mut jobs = Stream::open(&api, "jobs", None).await;
    let mut queues = Stream::open(&api, "queues,nodes", None).await;
    jobs.expect("hello").await;
    queues.expect("hello").await;
    api.add(r#"{"kind": "k"}"#).await;
    jobs.expect("jobs").await;
    api.ask("/api/v1/queues/mail/pause").await;
    queues.until("queues").await;
}

#[longshore::test]
async fn many_changes_are_two_events_a_second_at_most(store: TestStore) {
    let api = Api::of(&store);
    let mut stream = Stream::open(&api, "jobs,stats", None).await;
    stream.expect("hello").await;
    let client = store.client();
    let busy = tokio::spawn(async move {
        loop {
            client.enqueue(NewJob::new("k")).await.expect("a job");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let (mut told, began) = (0, Instant::now());
    while began.elapsed() < Duration::from_secs(4) {
        told += u32::from(stream.next().await.expect("an event").name == "jobs");
    }
    busy.abort();
    assert!((4..=9).contains(&told), "{told} in 4 s");
}

#[longshore::test(both)]
async fn who_comes_back_is_told_what_was_missed(store: TestStore) {
    let api = Api::of(&store);
    let mut first = Stream::open(&api, "jobs,queues", None).await;
    let hello = first.expect("hello").await;
    // Somebody listens on, so that the next one's is not the first.
    let mut other = Stream::open(&api, "jobs", None).await;
    other.expect("hello").await;
    drop(first);
    api.add(r#"{"kind": "k"}"#).await;
    other.expect("jobs").await;
    // All that is to be found has been found.
    tokio::time::sleep(Duration::from_secs(3)).await;

    let mut again = Stream::open(&api, "jobs,queues", Some(&hello.id)).await;
    again.expect("hello").await;
    let missed = again.expect("jobs").await;
    let mut third = Stream::open(&api, "jobs,queues", Some(&missed.id)).await;
    let hello = third.expect("hello").await;
    assert_eq!(hello.id, missed.id, "nothing was missed");

    // An id of another start, or of nobody.
    for odd in ["1-2-3-4-5", "nonsense", "-"] {
        let mut stream = Stream::open(&api, "jobs", Some(odd)).await;
        stream.expect("reset").await;
    }
}

#[longshore::test]
async fn a_stop_says_goodbye(store: TestStore) {
    let server = Server::new(store.client())
        .config(ServerConfig { access: Access::Open(Role::Viewer), ..ServerConfig::default() });
    let readiness = server.readiness();
    let site = server.site();
    let listen = request("GET", "/api/v1/events?topics=jobs", None);
    let response = site.oneshot(listen).await.expect("an answer");
    let mut stream = Stream { body: response.into_body(), text: String::new() };
    stream.expect("hello").await;
    readiness.drain();
    stream.until("bye").await;
    assert_eq!(stream.next().await, None, "it is over");
}

/// Nobody reads the first one: it holds no more than what it is to say next.
#[longshore::test]
async fn a_slow_reader_is_told_the_latest_once(store: TestStore) {
    let api = Api::of(&store);
    let mut slow = Stream::open(&api, "jobs", None).await;
    let mut quick = Stream::open(&api, "jobs", None).await;
    quick.expect("hello").await;
    let mut last = String::new();
    for _ in 0..4 {
        api.add(r#"{"kind": "k"}"#).await;
        last = quick.expect("jobs").await.id;
    }
    slow.expect("hello").await;
    let changes = |id: &str| u32::from_str_radix(id.split('-').nth(1).unwrap(), 16).unwrap();
    let told = slow.expect("jobs").await.id;
    assert!(changes(&told) >= changes(&last), "one event for all that came: {told}, {last}");
}

#[longshore::test]
async fn there_is_room_for_so_many_streams(store: TestStore) {
    let config =
        ServerConfig { access: Access::Open(Role::Viewer), streams: 2, ..ServerConfig::default() };
    let api = Api::with(&store, config);
    let first = Stream::open(&api, "jobs", None).await;
    let _second = Stream::open(&api, "jobs", None).await;
    let (status, code, detail, _) = api.get("/api/v1/events?topics=jobs").await.problem();
    assert_eq!((status, code.as_str()), (429, "too_many_streams"));
    assert!(detail.contains("2 event streams open"), "{detail}");
    drop(first);
    Stream::open(&api, "jobs", None).await.expect("hello").await;
}

#[longshore::test]
async fn each_topic_needs_its_own_right(store: TestStore) {
    let client = store.client();
    let token = longshore::access::NewToken::new("queues", "a test");
    let token = token.right("events:read").right("queues:read");
    let secret = client.create_token(token).await.expect("a token").secret;
    let api = Api::with(&store, ServerConfig::default());
    let ask = async |topics: &str| {
        let mut listen = request("GET", &format!("/api/v1/events?topics={topics}"), None);
        let bearer = format!("Bearer {}", secret.reveal());
        listen.headers_mut().insert("authorization", bearer.parse().unwrap());
        api.open(listen).await.status()
    };
    assert_eq!(ask("queues").await, 200);
    assert_eq!(ask("queues,jobs").await, 403);
    assert_eq!(ask("stats").await, 403);
    assert_eq!(ask("weather").await, 400);
    assert_eq!(ask("").await, 400);
}
