//! Workers over HTTP: what they say and hear. Who gets which job, and when, is tested where it is decided.

use std::time::{Duration, Instant};

use longshore::store::AskCancel;
use longshore::testing::TestStore;
use longshore::{JobId, NewJob, State};
use longshore_server::{Access, Role, Server, ServerConfig};
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::harness::{Answer, Api, request};

const JOIN: &str = r#"{"queues": [{"queue": "default", "slots": 10}], "kinds": [{"kind": "k"}], "lease_ms": 5000}"#;

/// A worker that has joined: the address of its node.
async fn joined(api: &Api) -> String {
    let answer = api.post("/api/v1/work/nodes", JOIN).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    let id = answer.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(answer.headers["location"], format!("/api/v1/work/nodes/{id}"));
    assert_eq!(answer.json(), json!({"id": id, "lease_ms": 5000, "heartbeat_ms": 1666}));
    format!("/api/v1/work/nodes/{id}")
}

async fn lease(api: &Api, node: &str, body: Value) -> Answer {
    let answer = api.post(&format!("{node}/lease"), &body.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

/// One job that a worker leases: id and lease.
async fn one(api: &Api, node: &str) -> (Value, Value) {
    let job = lease(api, node, json!({"holds": []})).await.json()["jobs"][0].clone();
    (job["id"].clone(), job["lease"].clone())
}

async fn state(store: &TestStore, id: &Value) -> State {
    let id: JobId = id.as_str().expect("an id").parse().expect("an id");
    store.get(id).await.expect("the job").state
}

#[longshore::test(both)]
async fn a_worker_joins_works_and_leaves(store: TestStore) {
    let api = Api::open_to(&store, Role::Operator);
    let node = joined(&api).await;
    let payload = r#"{"n": 12345678901234567890123,  "x": 1.50, "x": 1e30}"#;
    let meta = r#"{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}"#;
    let id = api
        .add(&format!(r#"{{"kind": "k", "payload": {payload}, "meta": {meta}, "timeout": "5m"}}"#))
        .await;

    let leased = lease(&api, &node, json!({"holds": [], "limit": 100})).await;
    assert!(leased.text.contains(payload), "byte for byte: {}", leased.text);
    let job = &leased.json()["jobs"][0];
    let number = job["lease"].as_u64().expect("a whole number");
    assert!(number > 0 && number < 1 << 53, "{number}");
    let expected = json!({
        "id": id, "kind": "k", "queue": "default", "priority": 5, "attempt": 1, "max_attempts": 10,
        "timeout_ms": 300_000, "payload_version": 1, "again": false,
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    });
    for (field, value) in expected.as_object().expect("fields") {
        assert_eq!(&job[field], value, "{field}");
    }
    assert_eq!(leased.json()["wish"], Value::Null);
    let nodes = api.get("/api/v1/nodes").await.json();
    assert_eq!(
        (&nodes["nodes"][0]["remote"], &nodes["nodes"][0]["running"], &nodes["nodes"][0]["name"]),
        (&json!(true), &json!(1), &json!("anybody"))
    );

    // That answer was lost.
    let again = lease(&api, &node, json!({"holds": []})).await.json();
    assert_eq!(
        (&again["jobs"][0]["lease"], &again["jobs"][0]["again"]),
        (&job["lease"], &json!(true))
    );
    let beaten = api.ask(&format!("{node}/heartbeat")).await;
    assert_eq!(beaten.json(), json!({"cancel": [], "wish": null, "lease_ms": 5000}));
    let says = json!({"says": [{"job": id, "lease": number, "first": 0,
        "progress": {"fraction": 0.5, "text": "half"},
        "lines": [{"message": "hello", "fields": {"n": 1}}]}]});
    let said = api.post(&format!("{node}/say"), &says.to_string()).await;
    assert_eq!(said.json(), json!({"answers": [{"job": id, "lost": false}]}));
    let logs = api.get(&format!("/api/v1/jobs/{id}/logs")).await.json();
    assert_eq!(logs["lines"][0]["message"], "hello");

    let end = format!(
        r#"{{"ends": [{{"job": "{id}", "lease": {number}, "end": "complete", "output": {payload}}}]}}"#
    );
    for _ in 0..2 {
        let ended = api.post(&format!("{node}/end"), &end).await;
        assert_eq!(ended.json(), json!({"answers": [{"job": id, "state": "succeeded"}]}));
    }
    assert_eq!(api.get(&format!("/api/v1/jobs/{id}/output")).await.text, payload);
    assert_eq!(api.delete(&node).await.status, 204);
    assert_eq!(api.delete(&node).await.problem().1, "node_lost");
    assert_eq!(api.get("/api/v1/nodes").await.json(), json!({"nodes": []}));
}

#[longshore::test(both)]
async fn each_end_says_what_it_is(store: TestStore) {
    let api = Api::of(&store);
    let node = joined(&api).await;
    let error = json!({"message": "it broke", "chain": ["since it was old"]});
    for (end, state) in [
        (json!({"end": "complete"}), "succeeded"),
        (json!({"end": "complete", "output": null}), "succeeded"),
        (json!({"end": "fail", "error": error}), "retrying"),
        (json!({"end": "fail", "error": error, "retry_in_ms": 3_600_000}), "retrying"),
        (json!({"end": "fail", "error": error, "dead": true}), "dead"),
        (json!({"end": "fail", "error": error, "dead": false}), "retrying"),
        (json!({"end": "snooze", "delay_ms": 3_600_000}), "scheduled"),
        (json!({"end": "throttle", "delay_ms": 3_600_000}), "scheduled"),
        (json!({"end": "cancel", "reason": "not needed"}), "cancelled"),
        (json!({"end": "cancel"}), "cancelled"),
        (json!({"end": "give_back"}), "queued"),
    ] {
        store.client().enqueue(NewJob::new("k").priority(0)).await.expect("a job");
        let (job, lease) = one(&api, &node).await;
        let mut end = end;
        end["job"] = job.clone();
        end["lease"] = lease;
        let ended = api.post(&format!("{node}/end"), &json!({"ends": [end]}).to_string()).await;
        assert_eq!(ended.json(), json!({"answers": [{"job": job, "state": state}]}), "{end}");
    }
}

#[longshore::test(both)]
async fn many_ends_are_answered_each_in_order(store: TestStore) {
    let api = Api::of(&store);
    let node = joined(&api).await;
    for _ in 0..3 {
        store.client().enqueue(NewJob::new("k")).await.expect("a job");
    }
    let jobs = lease(&api, &node, json!({"holds": [], "limit": 3})).await.json();
    let of = |at: usize, end: &str| {
        let job = &jobs["jobs"][at];
        let mut one = json!({"job": job["id"], "lease": job["lease"], "end": end});
        if end == "fail" {
            one["error"] = json!({"message": "it broke"});
        }
        one
    };
    let mut lost = of(1, "complete");
    lost["lease"] = json!(7);
    let body = json!({"ends": [of(2, "fail"), lost, of(0, "complete")]});
    let ended = api.post(&format!("{node}/end"), &body.to_string()).await.json();
    let id = |at: usize| jobs["jobs"][at]["id"].clone();
    let expected = json!({"answers": [
        {"job": id(2), "state": "retrying"},
        {"job": id(1), "lost": true},
        {"job": id(0), "state": "succeeded"},
    ]});
    assert_eq!(ended, expected);
    assert_eq!(state(&store, &id(1)).await, State::Running, "nothing was written for it");
}

#[longshore::test(both)]
async fn what_is_refused_is_named_with_its_place_and_limit(store: TestStore) {
    let api = Api::of(&store);
    let node = joined(&api).await;
    let join = |change: fn(&mut Value)| {
        let mut body: Value = serde_json::from_str(JOIN).expect("JSON");
        change(&mut body);
        ("".to_owned(), body)
    };
    let id = JobId::new().to_string();
    let end = |more: Value| {
        let mut end = json!({"job": id, "lease": 1});
        end.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        (
            "/end".to_owned(),
            json!({"ends": [{"job": JobId::new(), "lease": 1, "end": "give_back"}, end]}),
        )
    };
    let say = |more: Value| {
        let mut say = json!({"job": id, "lease": 1});
        say.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("/say".to_owned(), json!({"says": [say]}))
    };
    let ask = |body: Value| ("/lease".to_owned(), body);
    let cases = [
        (
            join(|body| body["queues"] = json!([])),
            "/queues",
            "queues has 0 entries; it may have 1 to 100",
        ),
        (
            join(|body| body["queues"][0]["slots"] = json!(0)),
            "/queues/0/slots",
            "slots is 0; it may be 1 to 1000",
        ),
        (join(|body| body["queues"][0]["slots"] = json!(1001)), "/queues/0/slots", "slots is 1001"),
        (
            join(|body| body["queues"] = json!([{"queue": "a"}])),
            "/queues/0/slots",
            "slots is missing",
        ),
        (
            join(|body| body["queues"] = json!([["a", 1]])),
            "/queues/0",
            "this is to be a JSON object",
        ),
        (
            join(|body| body["queues"] = json!([{"queue": "", "slots": 1}])),
            "/queues/0/queue",
            "is empty",
        ),
        (
            join(|body| {
                body["queues"] = json!([{"queue": "a", "slots": 600}, {"queue": "b", "slots": 600}])
            }),
            "/queues",
            "the queues have 1200 slots; a worker has at most 1000",
        ),
        (
            join(|body| {
                body["queues"] = json!([{"queue": "a", "slots": 6}, {"queue": "a", "slots": 6}])
            }),
            "/queues/1/queue",
            "queue `a` comes twice",
        ),
        (join(|body| body["kinds"] = json!([])), "/kinds", "kinds has 0 entries"),
        (
            join(|body| body["kinds"] = json!([{"kind": "k"}, {"kind": "a\u{0}b"}])),
            "/kinds/1/kind",
            "U+0000",
        ),
        (
            join(|body| body["kinds"][0]["version"] = json!(0)),
            "/kinds/0/version",
            "version is 0; it may be 1 to 2147483647",
        ),
        (
            join(|body| body["kinds"][0]["schema"] = json!({"title": "x".repeat(70_000)})),
            "/kinds/0/schema",
            "the limit is 65536",
        ),
        (
            join(|body| body["kinds"][0]["schema"] = json!([null])),
            "/kinds/0/schema",
            "schema is not a JSON object",
        ),
        (
            join(|body| body["kinds"][0]["description"] = json!("x".repeat(2_000))),
            "/kinds/0/description",
            "the limit is 1024",
        ),
        (
            join(|body| body["kinds"][0]["colour"] = json!(1)),
            "/kinds/0/colour",
            "unknown field `colour`",
        ),
        (
            join(|body| body["lease_ms"] = json!(4_999)),
            "/lease_ms",
            "lease_ms is 4999; it may be 5000 to 600000",
        ),
        (join(|body| body["lease_ms"] = json!(1e20)), "/lease_ms", "it may be 5000 to 600000"),
        (join(|body| body["name"] = json!("x".repeat(256))), "/name", "has 256 bytes"),
        (
            join(|body| body["version"] = json!("x".repeat(256))),
            "/version",
            "version may have 255 bytes",
        ),
        (ask(json!({})), "", "missing field `holds`"),
        (ask(json!({"holds": [], "limit": 0})), "/limit", "limit is 0; it may be 1 to 100"),
        (ask(json!({"holds": [], "limit": 101})), "/limit", "limit is 101"),
        (
            ask(json!({"holds": [], "wait_ms": 30_001})),
            "/wait_ms",
            "wait_ms is 30001; it may be 0 to 30000",
        ),
        (ask(json!({"holds": ["x"]})), "/holds/0", ""),
        (
            ask(json!({"holds": vec![id.clone(); 2_001]})),
            "/holds",
            "holds has 2001 entries; it may have 0 to 2000",
        ),
        (
            ask(json!({"holds": [], "queues": [{"queue": "elsewhere", "limit": 1}]})),
            "/queues/0/queue",
            "queue `elsewhere` is none that this worker joined with",
        ),
        (
            ask(json!({"holds": [], "queues": [{"queue": "default", "limit": 0}]})),
            "/queues/0/limit",
            "limit is 0; it may be 1 to 1000",
        ),
        (
            ("/heartbeat".to_owned(), json!({"state": "asleep"})),
            "/state",
            "unknown variant `asleep`",
        ),
        (("/heartbeat".to_owned(), json!({"wait_ms": -1})), "/wait_ms", "wait_ms is -1"),
        (
            ("/end".to_owned(), json!({"ends": []})),
            "/ends",
            "ends has 0 entries; it may have 1 to 100",
        ),
        (end(json!({"end": "vanish"})), "/ends/1/end", "unknown variant `vanish`"),
        (end(json!({"end": "fail"})), "/ends/1/error", "error is missing"),
        (
            end(json!({"end": "fail", "error": {"chain": []}})),
            "/ends/1/error",
            "missing field `message`",
        ),
        (
            end(json!({"end": "fail", "error": "it broke"})),
            "/ends/1/error",
            "this is to be a JSON object",
        ),
        (
            end(json!({"end": "snooze"})),
            "/ends/1/delay_ms",
            "delay_ms is missing; it may be 0 to 31536000000",
        ),
        (end(json!({"end": "snooze", "delay_ms": -5})), "/ends/1/delay_ms", "delay_ms is -5"),
        (
            end(json!({"end": "complete", "delay_ms": 5})),
            "/ends/1/delay_ms",
            "delay_ms does not belong to this end",
        ),
        (end(json!({"end": "give_back", "output": 1})), "/ends/1/output", "output does not belong"),
        (
            end(json!({"end": "fail", "error": {"message": "x"}, "dead": true, "retry_in_ms": 1})),
            "/ends/1/retry_in_ms",
            "with dead there is no next attempt",
        ),
        (
            say(json!({"progress": {"fraction": 1.5}})),
            "/says/0/progress/fraction",
            "is 1.5; it may be 0 to 1",
        ),
        (
            say(json!({"lines": [{"message": "x"}, {"level": "loud", "message": "x"}]})),
            "/says/0/lines/1/level",
            "unknown variant `loud`",
        ),
        (
            say(json!({"lines": vec![json!({"message": "x"}); 1_001]})),
            "/says",
            "the call has 1001 lines; it may have at most 1000",
        ),
        (say(json!({"first": 1_u64 << 53})), "/says/0/first", "it may be 0 to 9007199254740991"),
    ];
    for ((path, body), place, words) in cases {
        let base = if path.is_empty() { "/api/v1/work/nodes" } else { &*node };
        let answer = api.post(&format!("{base}{path}"), &body.to_string()).await;
        let (status, code, detail, pointer) = answer.problem();
        assert_eq!(
            (status, code.as_str(), pointer.as_str()),
            (422, "invalid", place),
            "{path}: {detail}"
        );
        assert!(detail.contains(words), "{place}: {detail}");
    }
    let twice = json!({"ends": [{"job": id, "lease": 1, "end": "give_back"}, {"job": id, "lease": 2, "end": "give_back"}]});
    let (_, _, detail, pointer) =
        api.post(&format!("{node}/end"), &twice.to_string()).await.problem();
    assert_eq!(
        (pointer.as_str(), detail.contains("it may come once")),
        ("/ends/1/job", true),
        "{detail}"
    );
    for body in ["", "[]", "{", "\"x\"", "{\"holds\": [}", "\u{feff}{}"] {
        let status = api.post(&format!("{node}/lease"), body).await.status;
        assert!(status == 400 || status == 422, "{body}: {status}");
    }
    assert_eq!(api.get("/api/v1/nodes").await.json()["nodes"].as_array().map(Vec::len), Some(1));
}

#[longshore::test(both)]
async fn a_node_that_is_not_there_is_told_so_at_every_call(store: TestStore) {
    let api = Api::of(&store);
    let node = joined(&api).await;
    store.client().enqueue(NewJob::new("k")).await.expect("a job");
    let (job, number) = one(&api, &node).await;
    let other = joined(&api).await;
    assert_eq!(api.delete(&node).await.status, 204, "it leaves, and still holds a job");
    assert_eq!(one(&api, &other).await.0, job, "which others run at once");

    let end = json!({"ends": [{"job": job, "lease": number, "end": "complete"}]}).to_string();
    let say = json!({"says": [{"job": job, "lease": number, "lines": []}]}).to_string();
    for (path, body) in
        [("/lease", r#"{"holds": []}"#), ("/heartbeat", "{}"), ("/end", &end), ("/say", &say)]
    {
        for node in [node.clone(), format!("/api/v1/work/nodes/{}", JobId::new())] {
            let (status, code, detail, _) =
                api.post(&format!("{node}{path}"), body).await.problem();
            assert_eq!((status, code.as_str()), (404, "node_lost"), "{path}: {detail}");
            assert!(detail.contains("join anew"), "{detail}");
        }
    }
    assert_eq!(state(&store, &job).await, State::Running);
}

#[longshore::test(both)]
async fn a_wait_is_not_cut_by_the_servers_own_limit(store: TestStore) {
    let config = ServerConfig {
        access: Access::Open(Role::Admin),
        timeout: Duration::from_millis(200),
        ..ServerConfig::default()
    };
    let api = Api::with(&store, config);
    let node = joined(&api).await;
    let began = Instant::now();
    let leased = lease(&api, &node, json!({"holds": [], "wait_ms": 700})).await;
    assert_eq!(leased.json(), json!({"jobs": [], "wish": null}));
    let beaten = api.post(&format!("{node}/heartbeat"), r#"{"wait_ms": 700}"#).await;
    assert_eq!(beaten.status, 200, "{beaten:?}");
    assert!(began.elapsed() >= Duration::from_millis(1_400), "{:?}", began.elapsed());
}

#[longshore::test(both)]
async fn a_server_that_is_stopped_lets_nobody_wait(store: TestStore) {
    let config = ServerConfig { access: Access::Open(Role::Admin), ..ServerConfig::default() };
    let api = Api::with(&store, config.clone());
    let node = joined(&api).await;
    let server = Server::new(store.client()).config(config);
    let readiness = server.readiness();
    let router = server.site();
    let send = |path: &str, body: &str| {
        let sent = request("POST", &format!("{node}{path}"), Some(body));
        tokio::spawn(router.clone().oneshot(sent))
    };
    let leases = send("/lease", r#"{"holds": [], "wait_ms": 30000}"#);
    let beats = send("/heartbeat", r#"{"wait_ms": 30000}"#);
    tokio::time::sleep(Duration::from_millis(200)).await;
    let began = Instant::now();
    readiness.drain();
    let leased = leases.await.expect("no panic").expect("an answer");
    assert_eq!(
        (leased.status().as_u16(), &leased.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    assert_eq!(beats.await.expect("no panic").expect("an answer").status(), 200);
    assert!(began.elapsed() < Duration::from_millis(1_000), "{:?}", began.elapsed());
    // The other server on this database goes on.
    store.client().enqueue(NewJob::new("k")).await.expect("a job");
    one(&api, &node).await;
}

#[longshore::test(both)]
async fn runs_are_counted_like_those_of_the_process(store: TestStore) {
    let api = Api::of(&store);
    let node = joined(&api).await;
    store.client().enqueue(NewJob::new("k")).await.expect("a job");
    store.clock().advance(Duration::from_secs(7));
    let (job, number) = one(&api, &node).await;
    store.clock().advance(Duration::from_secs(20));
    let end = json!({"ends": [{"job": job, "lease": number, "end": "complete"}]}).to_string();
    for _ in 0..2 {
        assert_eq!(api.post(&format!("{node}/end"), &end).await.status, 200);
    }
    let late = json!({"ends": [{"job": job, "lease": 7, "end": "give_back"}]}).to_string();
    api.post(&format!("{node}/end"), &late).await;
    let page = api.get("/metrics").await.text;
    for line in [
        r#"longshore_jobs_claimed_total{kind="k",queue="default"} 1"#,
        r#"longshore_jobs_finished_total{kind="k",queue="default",outcome="succeeded"} 1"#,
        r#"longshore_job_wait_seconds_sum{kind="k",queue="default"} 7"#,
        r#"longshore_job_run_seconds_sum{kind="k",queue="default"} 20"#,
        "longshore_lost_leases_total 1",
    ] {
        assert!(page.lines().any(|one| one == line), "{line} in {page}");
    }
}

#[longshore::test(both)]
async fn kinds_are_described_and_a_newer_payload_waits(store: TestStore) {
    let api = Api::of(&store);
    let join = json!({
        "name": "mailer", "version": "2.1", "queues": [{"queue": "default", "slots": 1}],
        "kinds": [
            {"kind": "k", "version": 2, "description": "Sends.", "schema": {"type": "object"}},
            {"kind": "any", "description": "Anything."},
        ],
    });
    let id = api.post("/api/v1/work/nodes", &join.to_string()).await.json()["id"].clone();
    let node = format!("/api/v1/work/nodes/{}", id.as_str().expect("an id"));
    let kinds = api.get("/api/v1/kinds").await.json();
    let of = |at: usize| (&kinds["kinds"][at]["version"], &kinds["kinds"][at]["schema"]);
    assert_eq!(of(0), (&Value::Null, &json!({"description": "Anything."})));
    assert_eq!(of(1), (&json!(2), &json!({"type": "object", "description": "Sends."})));

    api.add(r#"{"kind": "k", "payload_version": 3}"#).await;
    let old = api.add(r#"{"kind": "k", "payload_version": 2, "priority": 9}"#).await;
    let leased = lease(&api, &node, json!({"holds": [], "limit": 9})).await.json();
    let ids: Vec<_> = leased["jobs"].as_array().unwrap().iter().map(|job| &job["id"]).collect();
    assert_eq!(ids, [&json!(old)]);
}

#[longshore::test(both)]
async fn a_cancel_is_told_and_the_run_ends_cancelled(store: TestStore) {
    let api = Api::of(&store);
    let node = joined(&api).await;
    store.client().enqueue(NewJob::new("k")).await.expect("a job");
    let (job, number) = one(&api, &node).await;
    let id: JobId = job.as_str().unwrap().parse().unwrap();
    store.client().cancel(id, AskCancel::default()).await.expect("a cancel");
    let beaten = api.post(&format!("{node}/heartbeat"), r#"{"wait_ms": 30000}"#).await.json();
    assert_eq!(beaten["cancel"], json!([job]));
    let end = json!({"ends": [{"job": job, "lease": number, "end": "complete", "output": 1}]});
    let ended = api.post(&format!("{node}/end"), &end.to_string()).await.json();
    assert_eq!(ended["answers"][0]["state"], "cancelled");
}

/// A command's words as a shell takes them: enough for what the page shows.
fn words(command: &str, known: &[(&str, String)]) -> Vec<String> {
    let (mut words, mut rest) = (vec![String::new()], command);
    while let Some(c) = rest.chars().next() {
        let word = words.last_mut().expect("there is one");
        match c {
            '\'' => {
                let (quoted, after) = rest[1..].split_once('\'').expect("a closing quote");
                *word += quoted;
                rest = after;
            }
            '$' => {
                let (name, value) = known
                    .iter()
                    .find(|(name, _)| rest[1..].starts_with(name))
                    .unwrap_or_else(|| panic!("not known yet: {rest}"));
                *word += value;
                rest = &rest[1 + name.len()..];
            }
            ' ' => {
                words.push(String::new());
                rest = &rest[1..];
            }
            c => {
                word.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    words
}

/// All fields with the kinds of their values; of the walk's own payload and output the values, too.
fn form(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), form(value))).collect()
        }
        Value::Array(all) => all.iter().map(form).collect(),
        Value::String(text) if text.len() == 36 || text.ends_with('Z') => json!("text"),
        Value::Number(number) if number.as_u64() > Some(1 << 32) => json!("number"),
        other => other.clone(),
    }
}

/// The walk of the guide as it is shown: each command is sent, and answered as the page says.
#[longshore::test(both)]
async fn the_walk_of_the_guide_goes_as_it_is_shown(store: TestStore) {
    let page = format!("{}/../../docs/guide/work-over-http.md", env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(page).expect("the page");
    let api = Api::of(&store);
    let mut known = vec![("api", "/api/v1".to_owned())];
    let mut steps = 0;
    for block in page.split("```text\n").skip(1) {
        let block = block.split("```").next().expect("its end").trim();
        let (command, shown) = block.split_once('\n').unwrap_or((block, ""));
        let words = words(command.strip_prefix("$ curl ").expect("a command"), &known);
        let after = |flag: &str| {
            words.iter().position(|word| word == flag).map(|at| words[at + 1].as_str())
        };
        let (method, body) = (after("-X").unwrap_or("POST"), after("-d"));
        let path = words.iter().find(|word| word.starts_with("/api/")).expect("an address");
        let answer = api.send(request(method, path, body)).await;
        assert!(answer.status.is_success(), "{command}: {answer:?}");
        steps += 1;
        if shown.is_empty() {
            assert_eq!((answer.status.as_u16(), answer.text.as_str()), (204, ""), "{command}");
            continue;
        }
        let (shown, said): (Value, _) = (serde_json::from_str(shown).expect(shown), answer.json());
        assert_eq!(form(&said), form(&shown), "{command}");
        match path.rsplit('/').next() {
            Some("jobs") => known.push(("job", said["id"].as_str().expect("an id").to_owned())),
            Some("nodes") => known.push(("node", said["id"].as_str().expect("an id").to_owned())),
            Some("lease") => known.push(("lease", said["jobs"][0]["lease"].to_string())),
            _ => {}
        }
    }
    assert_eq!(steps, 7);
}
