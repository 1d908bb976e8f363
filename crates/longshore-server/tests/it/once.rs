//! `Idempotency-Key`: what is sent again is carried out once.

use longshore::access::NewToken;
use longshore::testing::TestStore;
use longshore_server::ServerConfig;

use crate::harness::{Answer, Api, request};

async fn sent(api: &Api, path: &str, key: &str, body: &str) -> Answer {
    let mut request = request("POST", path, Some(body));
    request.headers_mut().insert("idempotency-key", key.parse().unwrap());
    api.send(request).await
}

fn is_replayed(answer: &Answer) -> bool {
    answer.headers.get("idempotency-replayed").is_some_and(|value| value == "true")
}

async fn jobs(api: &Api) -> i64 {
    api.get("/api/v1/jobs/count").await.json()["value"].as_i64().unwrap()
}

#[longshore::test(both)]
async fn a_request_that_is_sent_again_is_answered_as_before(store: TestStore) {
    let api = Api::of(&store);
    let body = r#"{"kind": "k", "payload": {"n": 1}}"#;
    let first = sent(&api, "/api/v1/jobs", "\"one\"", body).await;
    assert!(first.status == 201 && !is_replayed(&first), "{first:?}");
    // With quotes or without, through another server, after the job's end.
    let id = first.json()["id"].as_str().unwrap().to_owned();
    api.ask(&format!("/api/v1/jobs/{id}/cancel")).await;
    let again = sent(&Api::of(&store), "/api/v1/jobs", "one", body).await;
    assert!(again.status == 201 && is_replayed(&again), "{again:?}");
    assert_eq!(
        (again.text, again.headers["location"].clone()),
        (first.text, first.headers["location"].clone())
    );
    let rerun = format!("/api/v1/jobs/{id}/rerun");
    let (first, again) =
        (sent(&api, &rerun, "two", "{}").await, sent(&api, &rerun, "two", "{}").await);
    assert_eq!((first.status.as_u16(), is_replayed(&again), &first.text), (201, true, &again.text));
    let batch = r#"{"jobs": [{"kind": "a"}, {"kind": "b"}]}"#;
    let path = "/api/v1/jobs/batch";
    let (first, again) =
        (sent(&api, path, "three", batch).await, sent(&api, path, "three", batch).await);
    assert_eq!((first.status.as_u16(), is_replayed(&again), &first.text), (201, true, &again.text));
    assert_eq!(jobs(&api).await, 4);
}

#[longshore::test(both)]
async fn a_key_belongs_to_one_request_of_one_caller(store: TestStore) {
    let api = Api::of(&store);
    assert_eq!(sent(&api, "/api/v1/jobs", "a", r#"{"kind": "k"}"#).await.status, 201);
    let other = sent(&api, "/api/v1/jobs", "a", r#"{"kind": "other"}"#).await.problem();
    assert_eq!((other.0, &*other.1), (422, "key_reused"));
    let path = "/api/v1/jobs/batch";
    assert_eq!(sent(&api, path, "a", r#"{"jobs": [{"kind": "k"}]}"#).await.status, 422);
    let partial = sent(&api, path, "b", r#"{"jobs": [{"kind": "k"}], "partial": true}"#).await;
    assert_eq!(partial.problem().3, "/partial");
    // Two tokens of the same name are two callers.
    let client = store.client();
    let closed = Api::with(&store, ServerConfig::default());
    for _ in 0..2 {
        let token = client.create_token(NewToken::new("ci", "t").role("operator")).await.unwrap();
        let mut asked = request("POST", "/api/v1/jobs", Some(r#"{"kind": "k"}"#));
        asked.headers_mut().insert("idempotency-key", "a".parse().unwrap());
        let bearer = format!("Bearer {}", token.secret.reveal()).parse().unwrap();
        asked.headers_mut().insert("authorization", bearer);
        assert!(!is_replayed(&closed.send(asked).await));
    }
    assert_eq!(jobs(&api).await, 3);
}

#[longshore::test(both)]
async fn a_key_that_cannot_be_is_refused_and_a_refusal_is_not_kept(store: TestStore) {
    let api = Api::of(&store);
    for key in ["", "\"a", &"x".repeat(256)] {
        let refused = sent(&api, "/api/v1/jobs", key, r#"{"kind": "k"}"#).await.problem();
        assert_eq!((refused.0, &*refused.3), (400, "Idempotency-Key"), "{key}");
    }
    assert_eq!(sent(&api, "/api/v1/jobs", "a", r#"{"kind": ""}"#).await.status, 422);
    assert_eq!(sent(&api, "/api/v1/jobs", "a", r#"{"kind": "k"}"#).await.status, 201);
    assert_eq!(jobs(&api).await, 1);
}
