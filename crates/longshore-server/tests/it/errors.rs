//! Whatever is wrong with a request is said in one form, with its place.

use std::io::Write;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use longshore::testing::TestStore;

use crate::harness::{Api, request};

#[longshore::test(both)]
async fn a_bad_body_is_refused_with_its_place(store: TestStore) {
    let api = Api::of(&store);
    for (body, expected) in [
        ("", (400, "bad_json", "EOF while parsing a value at line 1 column 0", "")),
        ("{", (400, "bad_json", "EOF while parsing an object at line 1 column 1", "")),
        (r#"{"kind": "k"} x"#, (400, "bad_json", "trailing characters at line 1 column 15", "")),
        ("[]", (422, "invalid", "this is to be a JSON object", "")),
        ("{}", (422, "invalid", "kind is missing; it picks the handler", "/kind")),
        (r#"{"kind": ""}"#, (422, "invalid", "kind", "/kind")),
        (
            r#"{"kind": 7}"#,
            (422, "invalid", "invalid type: integer `7`, expected a string", "/kind"),
        ),
        (r#"{"kind": "k", "kid": 1}"#, (422, "invalid", "unknown field `kid`", "/kid")),
        (
            r#"{"kind": "k", "priority": 10}"#,
            (422, "invalid", "priority is 10; it may be 0 to 9", "/priority"),
        ),
        (
            r#"{"kind": "k", "priority": -1}"#,
            (422, "invalid", "priority is -1; it may be 0 to 9", "/priority"),
        ),
        (
            r#"{"kind": "k", "priority": 1.5}"#,
            (
                422,
                "invalid",
                "invalid type: floating point `1.5`, expected a whole number",
                "/priority",
            ),
        ),
        (r#"{"kind": "k", "tags": ["a", 5]}"#, (422, "invalid", "invalid type", "/tags/1")),
        (r#"{"kind": "k", "tags": ["a\u0000"]}"#, (422, "invalid", "tags `a\\u{0}`", "/tags")),
        (r#"{"kind": "k", "run_at": "soon"}"#, (422, "invalid", "", "/run_at")),
        (r#"{"kind": "k", "run_in": "5"}"#, (422, "invalid", "`5` is no span of time", "/run_in")),
        (
            r#"{"kind": "k", "run_in": "5s", "run_at": "2026-01-01T00:00:00Z"}"#,
            (422, "invalid", "run_in and run_at", "/run_in"),
        ),
        (r#"{"kind": "k", "meta": [1]}"#, (422, "invalid", "meta is not a JSON object", "/meta")),
        (
            r#"{"kind": "k", "backoff": {"list": {"delays_ms": []}}}"#,
            (422, "invalid", "backoff is empty", "/backoff"),
        ),
        (
            r#"{"kind": "k", "payload": "\ud800"}"#,
            (422, "invalid", "payload has an unpaired surrogate at byte 1", "/payload"),
        ),
    ] {
        let (status, code, detail, place) = api.post("/api/v1/jobs", body).await.problem();
        assert_eq!(
            (status, code.as_str(), place.as_str()),
            (expected.0, expected.1, expected.3),
            "{body}: {detail}"
        );
        assert!(detail.contains(expected.2), "{body}: {detail}");
    }
    assert_eq!(api.get("/api/v1/jobs/count").await.json()["value"], 0);
}

#[longshore::test(both)]
async fn what_is_not_json_is_refused(store: TestStore) {
    let api = Api::of(&store);
    let mut plain = request("POST", "/api/v1/jobs", Some(r#"{"kind": "k"}"#));
    plain.headers_mut().insert("content-type", "text/plain".parse().unwrap());
    assert_eq!(api.send(plain).await.problem().0, 415);
    let mut bytes = request("POST", "/api/v1/jobs", Some(""));
    *bytes.body_mut() = Body::from(&b"{\"kind\": \"\xff\"}"[..]);
    let (status, code, detail, _) = api.send(bytes).await.problem();
    assert_eq!((status, code.as_str()), (400, "bad_json"));
    assert_eq!(detail, "the body is not UTF-8: a wrong byte at byte 10");
    let mut charset = request("POST", "/api/v1/jobs", Some(r#"{"kind": "k"}"#));
    charset
        .headers_mut()
        .insert("content-type", "application/json; charset=utf-8".parse().unwrap());
    assert_eq!(api.send(charset).await.status, 201);
}

#[longshore::test(both)]
async fn a_bad_address_is_refused(store: TestStore) {
    let api = Api::of(&store);
    let none = "/api/v1/jobs/019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";
    for (path, expected) in [
        ("/api/v1/nothing", (404, "not_found", "nothing is at this address", "")),
        ("/nothing", (404, "not_found", "nothing is at this address", "")),
        (none, (404, "not_found", "no job has id 019364bb", "")),
        ("/api/v1/jobs/7", (400, "bad_parameter", "`7` is no job's id", "id")),
        ("/api/v1/jobs/%3Cscript%3E", (400, "bad_parameter", "`<script>` is no job's id", "id")),
        ("/api/v1/jobs/%ff", (400, "bad_parameter", "", "")),
        ("/api/v1/jobs?limit=0", (400, "bad_parameter", "limit is 0; it may be 1 to 200", "limit")),
        (
            "/api/v1/jobs?limit=201",
            (400, "bad_parameter", "limit is 201; it may be 1 to 200", "limit"),
        ),
        ("/api/v1/jobs?limit=x", (400, "bad_parameter", "", "")),
        ("/api/v1/jobs?lmit=5", (400, "bad_parameter", "unknown field `lmit`", "")),
        ("/api/v1/jobs?after=x", (400, "bad_cursor", "`x` is no cursor", "")),
        ("/api/v1/jobs?after=a&before=b", (400, "bad_parameter", "exclude each other", "before")),
        ("/api/v1/jobs?q=stat:dead", (400, "bad_query", "did you mean `state`?", "q")),
        ("/api/v1/jobs/count?q=state:", (400, "bad_query", "a value is missing here", "q")),
        ("/api/v1/jobs/export?q=%22", (400, "bad_query", "", "q")),
        ("/api/v1/jobs/export?format=xml", (400, "bad_parameter", "", "")),
    ] {
        let (status, code, detail, place) = api.get(path).await.problem();
        assert_eq!(
            (status, code.as_str(), place.as_str()),
            (expected.0, expected.1, expected.3),
            "{path}: {detail}"
        );
        assert!(detail.contains(expected.2), "{path}: {detail}");
    }
    let (status, code, ..) = api.delete("/api/v1/jobs").await.problem();
    assert_eq!((status, code.as_str()), (405, "method_not_allowed"));
    let allowed = api.delete("/api/v1/jobs").await.headers["allow"].clone();
    assert!(allowed.to_str().unwrap().contains("POST"), "{allowed:?}");
    let query = api.get("/api/v1/jobs?q=a:1%20stat:dead").await.json();
    assert_eq!(query["errors"][0]["at"], 0, "{query}");
}

#[longshore::test(both)]
async fn an_action_on_a_missing_job_is_404_and_with_a_bad_body_422(store: TestStore) {
    let api = Api::of(&store);
    let none = "/api/v1/jobs/019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";
    for action in ["cancel", "retry", "rerun", "run-now"] {
        assert_eq!(api.ask(&format!("{none}/{action}")).await.problem().0, 404, "{action}");
    }
    assert_eq!(api.post(&format!("{none}/cancel"), " null ").await.problem().0, 404);
    let id = api.add(r#"{"kind": "k"}"#).await;
    let path = format!("/api/v1/jobs/{id}");
    assert_eq!(
        api.post(&format!("{path}/cancel"), r#"{"reason": "x"}"#).await.problem().3,
        "/reason"
    );
    let attempts = api.post(&format!("{path}/retry"), r#"{"attempts": 0}"#).await.problem();
    assert_eq!(attempts.2, "attempts is 0; it may be 1 to 1000000");
    assert_eq!(api.patch(&path, "{}").await.problem().2, "the body names nothing to change");
    assert_eq!(api.post(&format!("{path}/reschedule"), "{}").await.problem().0, 422);
    // A queued job is in no state to be retried.
    assert_eq!(api.ask(&format!("{path}/retry")).await.problem().0, 409);
    let mut wrong = request("PATCH", &path, Some(r#"{"priority": 1}"#));
    wrong.headers_mut().insert("if-match", "\"x\"".parse().unwrap());
    assert_eq!(api.send(wrong).await.problem().0, 400);
}

#[longshore::test(both)]
async fn the_caller_names_its_request_if_the_name_is_plain(store: TestStore) {
    let api = Api::of(&store);
    for (given, kept) in
        [("abc-1.2_X", true), ("a b", false), ("<b>", false), (&"x".repeat(65), false)]
    {
        let mut ask = request("GET", "/api/v1/nothing", None);
        ask.headers_mut().insert("x-request-id", given.parse().unwrap());
        let id = api.send(ask).await.headers["x-request-id"].clone();
        assert_eq!(id == given, kept, "{given}");
    }
}

/// What a test's own thread logs.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[longshore::test(both)]
async fn the_log_names_the_request_that_failed(store: TestStore) {
    let api = Api::of(&store);
    let heard = Heard::default();
    let writer = heard.clone();
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone());
    let _listening = tracing::subscriber::set_default(log.finish());
    store.client().close().await;

    let mut ask = request("GET", "/api/v1/jobs", None);
    ask.headers_mut().insert("x-request-id", "who-fails".parse().unwrap());
    let answer = api.send(ask).await;

    assert!(answer.status.is_server_error(), "{answer:?}");
    let log = String::from_utf8(heard.0.lock().unwrap().clone()).unwrap();
    let line = log.lines().find(|line| line.contains("request{id=\"who-fails\""));
    assert!(line.is_some(), "{log}");
}

#[longshore::test(both)]
async fn health_is_told_to_everybody(store: TestStore) {
    let api = Api::with(&store, longshore_server::ServerConfig::default());
    assert_eq!(api.get("/livez").await.text, "alive\n");
    let ready = api.get("/readyz").await;
    assert_eq!((ready.status.as_u16(), ready.json()["ready"].as_bool()), (200, Some(true)));
    assert_eq!(api.get("/startupz").await.status, 200);
    store.client().close().await;
    assert_eq!(api.get("/livez").await.status, 200);
    let ready = api.get("/readyz").await;
    assert_eq!((ready.status.as_u16(), ready.json()["ready"].as_bool()), (503, Some(false)));
}
