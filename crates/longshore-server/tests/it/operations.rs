//! Operations over HTTP: looked at before, started, followed, steered; each action with its right.

use axum::http::StatusCode;
use longshore::access::NewToken;
use longshore::audit::AuditQuery;
use longshore::testing::TestStore;
use longshore_server::ServerConfig;
use serde_json::{Value, json};

use crate::harness::{Answer, Api, request};

const ALL: &str = "/api/v1/operations";

async fn some_jobs(api: &Api, count: usize) {
    for _ in 0..count {
        api.add(r#"{"kind": "k", "run_in": "1h"}"#).await;
    }
}

/// Does its steps here, to the end.
async fn ended(store: &TestStore, api: &Api, path: &str) -> Value {
    let helper = store.client().help_with_operations();
    let shown = loop {
        let shown = api.get(path).await.json();
        if shown["state"] != "running" {
            break shown;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    };
    helper.end().await;
    shown
}

fn place(answer: &Answer) -> String {
    assert_eq!(answer.status, StatusCode::ACCEPTED, "{answer:?}");
    answer.headers["location"].to_str().unwrap().to_owned()
}

#[longshore::test(both)]
async fn an_operation_is_looked_at_started_and_followed(store: TestStore) {
    let api = Api::of(&store);
    some_jobs(&api, 12).await;
    api.add(r#"{"kind": "other"}"#).await;
    let body = json!({
        "action": "priority", "arguments": {"priority": 1}, "query": "kind:k", "why": "a test",
    });
    let mut dry = body.clone();
    dry["dry_run"] = true.into();
    let answer = api.post(ALL, &dry.to_string()).await;
    assert_eq!(answer.status, 200);
    let dry = answer.json();
    assert_eq!((&dry["total"]["value"], &dry["total"]["relation"]), (&json!(12), &json!("exact")));
    assert_eq!(dry["examples"].as_array().unwrap().len(), 10);
    assert_eq!(api.get(ALL).await.json(), json!({"operations": [], "next": null}));

    let path = place(&api.post(ALL, &body.to_string()).await);
    let shown = ended(&store, &api, &path).await;
    assert_eq!((&shown["state"], &shown["done"]), (&json!("succeeded"), &json!(12)));
    assert_eq!(shown["total"], json!({"value": 12, "relation": "exact"}));
    assert_eq!(
        (&shown["action"], &shown["arguments"]),
        (&json!("priority"), &json!({"priority": 1}))
    );
    assert_eq!((&shown["by"], &shown["why"]), (&json!("anybody"), &json!("a test")));
    assert_eq!(api.get("/api/v1/jobs/count?q=priority:1").await.json()["value"], 12);

    // A start leaves its reason and how many it was about.
    let query = AuditQuery { action: Some("operations.start".into()), ..AuditQuery::default() };
    let entries = store.client().audit(query).await.unwrap().entries;
    let last = entries.first().unwrap();
    assert_eq!(
        (last.status, last.count, last.why.as_deref()),
        (Some(202), Some(12), Some("a test"))
    );

    for _ in 0..2 {
        place(&api.post(ALL, &body.to_string()).await);
    }
    let first = api.get(&format!("{ALL}?limit=2")).await.json();
    let next = first["next"].as_str().unwrap();
    let rest = api.get(&format!("{ALL}?limit=2&after={next}")).await.json();
    assert_eq!(
        (rest["operations"][0]["id"].clone(), &rest["next"]),
        (shown["id"].clone(), &Value::Null)
    );
}

#[longshore::test(both)]
async fn an_operation_is_paused_resumed_and_cancelled(store: TestStore) {
    let api = Api::of(&store);
    some_jobs(&api, 3).await;
    let path = place(&api.post(ALL, r#"{"action": "delete", "query": "kind:k"}"#).await);
    for (ask, state) in [("pause", "paused"), ("pause", "paused"), ("resume", "running")] {
        let answer = api.ask(&format!("{path}/{ask}")).await;
        assert_eq!((answer.status.as_u16(), &answer.json()["state"]), (200, &json!(state)));
    }
    let answer = api.ask(&format!("{path}/cancel")).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["state"]), (200, &json!("cancelled")));
    let (status, code, detail, _) = api.ask(&format!("{path}/resume")).await.problem();
    assert_eq!((status, &*code), (409, "refused"));
    assert!(detail.ends_with("is cancelled, so it cannot be resumed"), "{detail}");
    let gone = format!("{ALL}/019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10");
    assert_eq!(api.get(&gone).await.problem().1, "not_found");
    assert_eq!(api.ask(&format!("{gone}/pause")).await.problem().1, "not_found");
    let (status, code, detail, _) = api.get(&format!("{ALL}/x")).await.problem();
    assert_eq!((status, &*code, &*detail), (400, "bad_parameter", "`x` is no id of an operation"));
    assert_eq!(api.get("/api/v1/jobs/count").await.json()["value"], 3);
}

#[longshore::test(both)]
async fn what_cannot_be_meant_is_refused_with_its_place(store: TestStore) {
    let api = Api::of(&store);
    some_jobs(&api, 1).await;
    for (body, pointer, words) in [
        (
            r#"{"action": "fly", "query": "kind:k"}"#,
            "/action",
            "`fly` is no action; there are retry, cancel",
        ),
        (r#"{"action": "delete"}"#, "/query", "query is empty, which means every job there is"),
        (
            r#"{"action": "priority", "query": "kind:k"}"#,
            "/arguments/priority",
            "priority is missing",
        ),
        (
            r#"{"action": "priority", "arguments": {"priority": 300}, "query": "kind:k"}"#,
            "/arguments/priority",
            "arguments.priority is 300; it may be 0 to 9",
        ),
        (
            r#"{"action": "cancel", "arguments": {"queue": "a"}, "query": "kind:k"}"#,
            "/arguments/queue",
            "queue belongs to the action `move`",
        ),
        (
            r#"{"action": "move", "arguments": {"queue": ".."}, "query": "kind:k"}"#,
            "/queue",
            "queue `..`",
        ),
        (
            r#"{"action": "reschedule", "query": "kind:k"}"#,
            "/arguments/run_at",
            "run_at is missing",
        ),
    ] {
        let (status, code, detail, place) = api.post(ALL, body).await.problem();
        assert_eq!((status, &*code, &*place), (422, "invalid", pointer), "{body}");
        assert!(detail.starts_with(words), "{detail}");
    }
    let bad = api.post(ALL, r#"{"action": "delete", "query": "colour:red"}"#).await.problem();
    assert_eq!(bad.1, "bad_query");
    assert_eq!(api.get(ALL).await.json()["operations"], json!([]));
    let all = r#"{"action": "delete", "everything": true}"#;
    let path = place(&api.post(ALL, all).await);
    assert_eq!(ended(&store, &api, &path).await["done"], 1);
}

#[longshore::test(both)]
async fn an_action_on_many_needs_its_own_right_too(store: TestStore) {
    let client = store.client();
    let api = Api::with(&store, ServerConfig::default());
    some_jobs(&Api::of(&store), 1).await;
    let actions = [
        ("jobs:retry", json!({"action": "retry"})),
        ("jobs:cancel", json!({"action": "cancel"})),
        ("jobs:delete", json!({"action": "delete"})),
        ("jobs:edit", json!({"action": "move", "arguments": {"queue": "q"}})),
    ];
    for rights in [vec!["jobs:bulk"], vec!["jobs:delete"], vec!["jobs:bulk", "jobs:delete"]] {
        let token =
            rights.iter().fold(NewToken::new("ada", "test"), |token, right| token.right(*right));
        let secret = client.create_token(token).await.unwrap().secret;
        for (right, body) in &actions {
            for dry_run in [true, false] {
                let mut body = body.clone();
                body["query"] = "kind:k".into();
                body["dry_run"] = dry_run.into();
                let mut asked = request("POST", ALL, Some(&body.to_string()));
                let bearer = format!("Bearer {}", secret.reveal()).parse().unwrap();
                asked.headers_mut().insert("authorization", bearer);
                let answer = api.send(asked).await;
                let may = rights.contains(&"jobs:bulk") && rights.contains(right);
                let expected = if !may {
                    403
                } else if dry_run {
                    200
                } else {
                    202
                };
                assert_eq!(answer.status.as_u16(), expected, "{rights:?} {body}: {answer:?}");
            }
        }
    }
}
