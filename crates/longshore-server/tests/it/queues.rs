//! Queues, kinds, nodes and the numbers of now.

use longshore::testing::TestStore;
use longshore::{Job, JobError, Worker, Working};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::harness::Api;

async fn queue(api: &Api, name: &str) -> Value {
    let answer = api.get(&format!("/api/v1/queues/{name}")).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

#[longshore::test(both)]
async fn a_queue_is_paused_shown_resumed_and_emptied(store: TestStore) {
    let api = Api::of(&store);
    let id = api.add(r#"{"kind": "k", "queue": "a/b"}"#).await;
    api.add(r#"{"kind": "k", "queue": "a/b", "run_in": "1h"}"#).await;
    let body = r#"{"why": "the provider is down", "for": "30m"}"#;
    let paused = api.post("/api/v1/queues/a%2Fb/pause", body).await;
    assert_eq!(paused.status, 200, "{paused:?}");
    let pause = &paused.json()["paused"];
    assert_eq!((&pause["by"], &pause["why"]), (&json!("anybody"), &json!("the provider is down")));
    assert!(pause["until"].is_string() && pause["since"].is_string());

    let list = api.get("/api/v1/queues").await.json();
    assert_eq!(list["queues"].as_array().unwrap().len(), 1, "{list}");
    let shown = queue(&api, "a%2Fb").await;
    assert_eq!((&shown["name"], &shown["depth"]), (&json!("a/b"), &json!(1)));
    assert_eq!(
        (&shown["running"], &shown["slots"], &shown["nodes"]),
        (&json!(0), &json!(0), &json!(0))
    );

    let until = r#"{"until": "9999-01-01T00:00:00Z"}"#;
    let anew = api.post("/api/v1/queues/a%2Fb/pause", until).await.json();
    assert_eq!(anew["paused"]["since"], pause["since"], "it is the same pause");
    assert!(anew["paused"]["why"].is_null());
    let resumed = api.ask("/api/v1/queues/a%2Fb/resume").await;
    assert_eq!((resumed.status.as_u16(), &resumed.json()["paused"]), (200, &Value::Null));
    assert_eq!(resumed.json()["was_paused"], true);
    let again = api.ask("/api/v1/queues/a%2Fb/resume").await;
    assert_eq!(again.status, 200, "a repeat does no harm");
    assert_eq!(again.json()["was_paused"], false);

    let emptied = api.ask("/api/v1/queues/a%2Fb/empty").await;
    assert_eq!((emptied.status.as_u16(), emptied.json()), (200, json!({ "removed": 2 })));
    assert_eq!(api.get(&format!("/api/v1/jobs/{id}")).await.status, 404);

    let entries = api.get("/api/v1/audit").await.json();
    let entries = entries["entries"].as_array().unwrap();
    let told: Vec<_> =
        entries.iter().map(|entry| (entry["action"].as_str().unwrap(), &entry["count"])).collect();
    assert_eq!(told[0], ("queues.empty", &json!(2)));
    assert_eq!(told.last().unwrap().0, "queues.pause");
    assert_eq!(entries.last().unwrap()["why"], "the provider is down");
}

#[longshore::test(both)]
async fn what_cannot_be_paused_is_said(store: TestStore) {
    let api = Api::of(&store);
    let long = "x".repeat(256);
    for (path, body, code, words) in [
        (format!("queues/{long}/pause"), "{}", "invalid", "has 256 bytes; a name has 1 to 255"),
        ("queues/a%00b/pause".into(), "{}", "invalid", "U+0000"),
        ("kinds/%20a/pause".into(), "{}", "invalid", "white space"),
        (
            "queues/q/pause".into(),
            r#"{"for": "1m", "until": "9999-01-01T00:00:00Z"}"#,
            "invalid",
            "for and until say it twice",
        ),
        (
            "queues/q/pause".into(),
            r#"{"until": "1999-01-01T00:00:00Z"}"#,
            "invalid",
            "which is over",
        ),
        ("queues/q/pause".into(), r#"{"for": "soon"}"#, "invalid", "`soon` is no span of time"),
        ("queues/q/pause".into(), r#"{"whom": 1}"#, "invalid", "unknown field `whom`"),
        (format!("queues/{long}/empty"), "{}", "invalid", "1 to 255"),
    ] {
        let answer = api.post(&format!("/api/v1/{path}"), body).await;
        let (status, said, detail, _) = answer.problem();
        assert_eq!((status, said.as_str()), (422, code), "{path} {body}: {answer:?}");
        assert!(detail.contains(words), "{detail}");
    }
    assert_eq!(api.get("/api/v1/queues/nowhere").await.problem().0, 404);
    assert_eq!(api.get("/api/v1/kinds/nothing").await.problem().0, 404);
}

#[derive(Serialize, Deserialize)]
struct Greet {
    name: String,
}

impl Job for Greet {
    const KIND: &'static str = "greet";
    const VERSION: u32 = 2;
    type Output = ();

    fn schema() -> Option<String> {
        Some(r#"{"type":"object","required":["name"]}"#.to_owned())
    }
}

async fn greet(_: Greet) -> Result<(), JobError> {
    Ok(())
}

fn worker(store: &TestStore) -> Working {
    Worker::new(store.client()).queue("default", 3).job(greet).start().expect("a worker")
}

/// What is at `path`, once `come` is true of it.
async fn until(api: &Api, path: &str, come: impl Fn(&Value) -> bool) -> Value {
    for _ in 0..2_000 {
        let now = api.get(path).await.json();
        if come(&now) {
            return now;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("waited in vain at {path}")
}

#[longshore::test(both)]
async fn a_kind_is_told_with_its_schema_and_paused(store: TestStore) {
    let api = Api::of(&store);
    let working = worker(&store);
    // Its kinds are there a moment before the node is.
    let there = |kinds: &Value| kinds["kinds"][0]["nodes"] == 1;
    let kinds = until(&api, "/api/v1/kinds", there).await;
    let kind = &kinds["kinds"][0];
    assert_eq!(
        (&kind["name"], &kind["version"], &kind["nodes"]),
        (&json!("greet"), &json!(2), &json!(1))
    );
    assert_eq!(api.get("/api/v1/kinds/greet").await.json()["schema"]["required"], json!(["name"]));
    let paused = api.post("/api/v1/kinds/greet/pause", r#"{"why": "rude"}"#).await;
    assert_eq!((paused.status.as_u16(), &paused.json()["why"]), (200, &json!("rude")));
    assert_eq!(api.get("/api/v1/kinds/greet").await.json()["paused"]["why"], "rude");
    for was_paused in [true, false] {
        let resumed = api.ask("/api/v1/kinds/greet/resume").await;
        assert_eq!(
            (resumed.status.as_u16(), resumed.json()),
            (200, json!({ "was_paused": was_paused }))
        );
    }
    assert!(api.get("/api/v1/kinds/greet").await.json()["paused"].is_null());
    working.stop().await;
}

#[longshore::test(both)]
async fn a_node_is_made_quiet_goes_on_and_is_stopped(store: TestStore) {
    let api = Api::of(&store);
    let mut working = worker(&store);
    let nodes = until(&api, "/api/v1/nodes", |nodes| nodes["nodes"][0]["id"].is_string()).await;
    let id = nodes["nodes"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(nodes["nodes"][0]["state"], "serving");
    let node = format!("/api/v1/nodes/{id}");
    for (wish, state) in [("quiet", "quiet"), ("resume", "serving")] {
        assert_eq!(api.ask(&format!("{node}/{wish}")).await.status, 202);
        until(&api, "/api/v1/nodes", |nodes| nodes["nodes"][0]["state"] == state).await;
    }
    assert_eq!(api.ask(&format!("{node}/stop")).await.status, 202);
    working.stopped().await;
    let gone = api.ask(&format!("{node}/stop")).await.problem();
    assert_eq!((gone.0, gone.1.as_str()), (404, "not_found"));
    assert!(gone.2.contains(&id), "{gone:?}");
    assert_eq!(api.ask("/api/v1/nodes/one/stop").await.problem().0, 400);
}

#[longshore::test(both)]
async fn the_numbers_of_now(store: TestStore) {
    let api = Api::of(&store);
    for body in [
        r#"{"kind": "k"}"#,
        r#"{"kind": "k", "queue": "mail"}"#,
        r#"{"kind": "k", "run_in": "1h"}"#,
    ] {
        api.add(body).await;
    }
    let now = api.get("/api/v1/stats/now").await;
    assert_eq!(now.status, 200, "{now:?}");
    let now = now.json();
    let count = |state: &str| now["states"][state]["value"].as_u64();
    assert_eq!((count("queued"), count("scheduled"), count("dead")), (Some(2), Some(1), Some(0)));
    assert_eq!(now["queues"].as_array().unwrap().len(), 2);
    assert_eq!((&now["nodes"], &now["running"]), (&json!(0), &json!(0)));
    assert!(now["oldest_ms"].is_number(), "{now}");
}
