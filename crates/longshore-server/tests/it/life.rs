//! The life of a job, from its enqueue to its end and beyond.

use axum::http::StatusCode;
use longshore::testing::TestStore;
use longshore::{JobError, Outcome, Worker};
use serde_json::json;

use crate::harness::{Api, request};

fn worker(store: &TestStore) -> Worker {
    Worker::new(store.client())
        .handle("add", |run| async move {
            let numbers: Vec<u64> = run.decode().expect("numbers");
            Outcome::done_with(&json!({ "sum": numbers.iter().sum::<u64>() }))
        })
        .handle("fail", |_| async { Outcome::Failed(JobError::new("it cannot be")) })
}

#[longshore::test(both)]
async fn a_job_is_added_runs_and_is_looked_at(store: TestStore) {
    let api = Api::of(&store);
    let answer =
        api.post("/api/v1/jobs", r#"{"kind": "add", "payload": [1, 2], "tags": ["t"]}"#).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/jobs/{id}");
    assert_eq!(answer.headers["location"], path);
    assert_eq!(answer.json()["duplicate"], false);

    let job = api.get(&path).await.json();
    assert_eq!(
        (&job["state"], &job["payload"], &job["tags"]),
        (&json!("queued"), &json!([1, 2]), &json!(["t"]))
    );
    assert_eq!(api.get(&format!("{path}/output")).await.problem().0, 404);
    let waited = api.get(&format!("{path}/wait?timeout=0s")).await;
    assert_eq!((waited.status, &waited.json()["state"]), (StatusCode::ACCEPTED, &json!("queued")));

    store.drain(worker(&store)).await;
    let waited = api.get(&format!("{path}/wait?timeout=5s")).await;
    assert_eq!((waited.status, &waited.json()["state"]), (StatusCode::OK, &json!("succeeded")));
    assert_eq!(api.get(&format!("{path}/output")).await.text, r#"{"sum":3}"#);
    assert_eq!(api.get(&format!("{path}/attempts")).await.json()["attempt"], 1);
}

#[longshore::test(both)]
async fn a_job_is_cancelled_once_and_retried(store: TestStore) {
    let api = Api::of(&store);
    let id = api.add(r#"{"kind": "add", "payload": [1], "run_in": "1h"}"#).await;
    let path = format!("/api/v1/jobs/{id}");
    let cancelled = api.post(&format!("{path}/cancel"), r#"{"why": "not needed"}"#).await;
    assert_eq!(
        (cancelled.status, &cancelled.json()["state"]),
        (StatusCode::OK, &json!("cancelled"))
    );
    assert_eq!(cancelled.json()["cancel"]["why"], "not needed");
    assert_eq!(cancelled.json()["cancel"]["by"], "anybody");

    let again = api.ask(&format!("{path}/cancel")).await;
    assert_eq!(again.problem().0, 409);
    assert_eq!(again.problem().1, "refused");

    let retried = api.ask(&format!("{path}/retry")).await;
    assert_eq!((retried.status, &retried.json()["state"]), (StatusCode::OK, &json!("queued")));
}

#[longshore::test(both)]
async fn a_dead_job_is_retried_with_another_payload(store: TestStore) {
    let api = Api::of(&store);
    let id = api.add(r#"{"kind": "fail", "max_attempts": 1}"#).await;
    store.drain(worker(&store)).await;
    let path = format!("/api/v1/jobs/{id}");
    let attempts = api.get(&format!("{path}/attempts")).await.json();
    assert_eq!(attempts["errors"][0]["message"], "it cannot be");

    let retried =
        api.post(&format!("{path}/retry"), r#"{"attempts": 2, "payload": {"n": 1}}"#).await;
    let job = retried.json();
    assert_eq!(
        (&job["state"], &job["max_attempts"], &job["payload"]),
        (&json!("queued"), &json!(3), &json!({"n": 1}))
    );
    assert_eq!(job["errors"].as_array().unwrap().len(), 1);
}

#[longshore::test(both)]
async fn a_rerun_is_a_new_job_that_names_the_old_one(store: TestStore) {
    let api = Api::of(&store);
    let body = r#"{"kind": "add", "payload": [1e400], "queue": "q", "priority": 2, "meta": {"n": 1e400},
                   "timeout": "none", "unique_key": "k", "tags": ["t"], "retain": "1d"}"#;
    let old = api.add(body).await;
    let answer = api.ask(&format!("/api/v1/jobs/{old}/rerun")).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{answer:?}");
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert_ne!(id, old);
    let text = api.get(&format!("/api/v1/jobs/{id}")).await.text;
    assert!(text.contains(&format!(r#""meta":{{"n":1e400,"rerun_of":"{old}"}}"#)), "{text}");
    assert!(
        text.contains(r#""payload":[1e400]"#) && text.contains(r#""timeout_ms":null"#),
        "{text}"
    );
    assert!(text.contains(r#""priority":2"#) && text.contains(r#""unique_key":null"#), "{text}");
    assert!(text.contains(r#""retain_ms":86400000"#), "{text}");

    let other =
        api.post(&format!("/api/v1/jobs/{old}/rerun"), r#"{"payload": [5], "queue": "r"}"#).await;
    let id = other.json()["id"].as_str().unwrap().to_owned();
    let text = api.get(&format!("/api/v1/jobs/{id}")).await.text;
    assert!(text.contains(r#""payload":[5]"#) && text.contains(r#""queue":"r""#), "{text}");
}

#[longshore::test(both)]
async fn a_waiting_job_is_changed_by_who_knows_its_version(store: TestStore) {
    let api = Api::of(&store);
    let id = api.add(r#"{"kind": "add", "run_in": "1h"}"#).await;
    let path = format!("/api/v1/jobs/{id}");
    let tag = api.get(&path).await.headers["etag"].to_str().unwrap().to_owned();

    let matching = |tag: &str, body: &str| {
        let mut request = request("PATCH", &path, Some(body));
        request.headers_mut().insert("if-match", tag.parse().unwrap());
        request
    };
    let changed =
        api.send(matching(&tag, r#"{"priority": 1, "tags": ["a"], "payload": null}"#)).await;
    assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
    assert_eq!(changed.json()["priority"], 1);
    assert_ne!(changed.headers["etag"], tag.as_str());
    let stale = api.send(matching(&tag, r#"{"priority": 2}"#)).await;
    assert_eq!((stale.problem().0, stale.problem().1.as_str()), (412, "changed"));

    let run = api.ask(&format!("{path}/run-now")).await;
    assert_eq!((run.status, &run.json()["state"]), (StatusCode::OK, &json!("queued")));
    let later = api.post(&format!("{path}/reschedule"), r#"{"run_in": "2h"}"#).await;
    assert_eq!(later.json()["state"], "scheduled");
    assert_eq!(api.delete(&path).await.status, StatusCode::NO_CONTENT);
    assert_eq!(api.delete(&path).await.problem().0, 404);
}

#[longshore::test(both)]
async fn who_knows_a_job_is_told_only_of_news(store: TestStore) {
    let api = Api::of(&store);
    let id = api.add(r#"{"kind": "add", "payload": [1]}"#).await;
    let path = format!("/api/v1/jobs/{id}");
    let tag = api.get(&path).await.headers["etag"].clone();
    let ask = || {
        let mut request = request("GET", &path, None);
        request.headers_mut().insert("if-none-match", tag.clone());
        request
    };
    let same = api.send(ask()).await;
    assert_eq!((same.status, same.text.as_str()), (StatusCode::NOT_MODIFIED, ""));
    store.drain(worker(&store)).await;
    assert_eq!(api.send(ask()).await.status, StatusCode::OK);
}

#[longshore::test(both)]
async fn what_a_run_says_is_read_line_by_line(store: TestStore) {
    let api = Api::of(&store);
    let talker = || {
        Worker::new(store.client()).handle("talk", |run| async move {
            run.progress().set(0.5, "half");
            for n in 1..=3 {
                run.log().info(format!("step {n}"));
            }
            Outcome::Done(None)
        })
    };
    let id = api.add(r#"{"kind": "talk"}"#).await;
    let path = format!("/api/v1/jobs/{id}");
    assert_eq!(api.get(&path).await.json()["progress"], json!(null));
    assert_eq!(api.get(&format!("{path}/logs")).await.json()["lines"], json!([]));
    store.drain(talker()).await;
    let progress = api.get(&path).await.json()["progress"].clone();
    assert_eq!((&progress["fraction"], &progress["text"]), (&json!(0.5), &json!("half")));

    let mut said = Vec::new();
    let mut after = String::new();
    for _ in 0..3 {
        let page = api.get(&format!("{path}/logs?limit=1{after}")).await.json();
        assert_eq!(page["lines"].as_array().map(Vec::len), Some(1), "{page}");
        said.push(page["lines"][0]["message"].as_str().unwrap().to_owned());
        after = format!("&after={}", page["next"].as_str().unwrap());
    }
    assert_eq!(said, ["step 1", "step 2", "step 3"]);
    let end = api.get(&format!("{path}/logs?limit=1{after}")).await.json();
    assert_eq!((&end["lines"], &end["more"]), (&json!([]), &json!(false)));
    let grave = api.get(&format!("{path}/logs?level=warn")).await.json();
    assert_eq!(grave["lines"], json!([]));
    for (query, place) in
        [("limit=0", "limit"), ("attempt=0", "attempt"), ("after=x", "after"), ("level=loud", "")]
    {
        let (status, _, _, parameter) = api.get(&format!("{path}/logs?{query}")).await.problem();
        assert_eq!((status, parameter.as_str()), (400, place), "{query}");
    }
}

#[longshore::test(both)]
async fn a_unique_job_is_added_once(store: TestStore) {
    let api = Api::of(&store);
    let body = |rule: &str| {
        format!(r#"{{"kind": "add", "unique_key": "k", "on_conflict": "{rule}", "payload": [7]}}"#)
    };
    let id = api.add(&body("keep")).await;
    let again = api.post("/api/v1/jobs", &body("keep")).await;
    assert_eq!((again.status, &again.json()["duplicate"]), (StatusCode::OK, &json!(true)));
    assert_eq!(again.json()["id"], id);
    let replaced = api.post("/api/v1/jobs", &body("replace")).await;
    assert_eq!((replaced.status, &replaced.json()["replaced"]), (StatusCode::OK, &json!(true)));
    let (status, code, detail, place) = api.post("/api/v1/jobs", &body("refuse")).await.problem();
    assert_eq!((status, code.as_str(), place.as_str()), (409, "key_held", "/unique_key"));
    assert!(detail.contains(&id), "{detail}");
}

#[longshore::test(both)]
async fn an_enqueue_can_wait_for_the_end(store: TestStore) {
    let api = Api::of(&store);
    let mut ask = request("POST", "/api/v1/jobs", Some(r#"{"kind": "add", "payload": [1]}"#));
    ask.headers_mut().insert("prefer", "wait=0".parse().unwrap());
    let answer = api.send(ask).await;
    assert_eq!(answer.status, StatusCode::CREATED);
    assert_eq!(answer.headers["preference-applied"], "wait=0");
    assert_eq!(answer.json()["state"], "queued");
}

#[longshore::test(both)]
async fn a_trace_is_kept_with_the_job(store: TestStore) {
    let api = Api::of(&store);
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let add = async |parent: &str, body: &str| {
        let mut ask = request("POST", "/api/v1/jobs", Some(body));
        ask.headers_mut().insert("traceparent", parent.parse().unwrap());
        ask.headers_mut().insert("tracestate", "a=1".parse().unwrap());
        let id = api.send(ask).await.json()["id"].as_str().unwrap().to_owned();
        api.get(&format!("/api/v1/jobs/{id}")).await.json()["meta"].clone()
    };
    let both = json!({"traceparent": parent, "tracestate": "a=1"});
    assert_eq!(add(parent, r#"{"kind": "add"}"#).await, both);
    for bad in [
        "nonsense",
        &parent.replace("00-", "ff-"),
        &parent.replace("00f067aa0ba902b7", "0000000000000000"),
    ] {
        assert_eq!(add(bad, r#"{"kind": "add"}"#).await, json!(null), "{bad}");
    }
    let later = parent.replacen("00", "01", 1) + "-more";
    assert_eq!(add(&later, r#"{"kind": "add"}"#).await, both, "a version to come");
    let own = json!({"traceparent": "mine"});
    assert_eq!(add(parent, r#"{"kind": "add", "meta": {"traceparent": "mine"}}"#).await, own);
}
