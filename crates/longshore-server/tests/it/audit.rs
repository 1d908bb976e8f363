//! Changes leave a trace, and none is made without.

use longshore::NewJob;
use longshore::access::NewToken;
use longshore::audit::{AuditQuery, Entry};
use longshore::testing::TestStore;
use longshore_server::{ServerConfig, document};
use serde_json::{Value, json};

use crate::harness::{Api, request};

async fn entries(store: &TestStore, action: Option<&str>) -> Vec<Entry> {
    let query = AuditQuery { action: action.map(str::to_owned), limit: 200, ..Default::default() };
    store.client().audit(query).await.unwrap().entries
}

/// Method, path, id and whether it says that it leaves a trace, of every operation.
fn operations() -> Vec<(String, String, String, bool)> {
    let document = serde_json::to_value(document()).unwrap();
    let mut all = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            all.push((
                method.to_uppercase(),
                path.replace("{id}", "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10")
                    .replace("{name}", "019364bb"),
                operation["operationId"].as_str().unwrap().to_owned(),
                operation["x-longshore"]["audited"] == true,
            ));
        }
    }
    all
}

/// Jobs say themselves who added them; attempts to sign in have entries of their own.
const PLAIN: [&str; 6] =
    ["jobs.enqueue", "sessions.create", "work.lease", "work.heartbeat", "work.end", "work.say"];

/// A new route cannot be forgotten: what is no GET leaves an entry, or stands here.
#[longshore::test(both)]
async fn every_change_leaves_one_entry_and_says_so_in_the_document(store: TestStore) {
    let client = store.client();
    let token = client.create_token(NewToken::new("ada", "test").role("admin")).await.unwrap();
    let api = Api::with(&store, ServerConfig::default());
    for (method, path, id, audited) in operations() {
        let expected = (method != "GET" && !PLAIN.contains(&&*id)) || id == "jobs.reveal";
        assert_eq!(audited, expected, "{method} {path}");
        let before = entries(&store, None).await.len();
        let mut asked = request(&method, &path, None);
        let bearer = format!("Bearer {}", token.secret.reveal()).parse().unwrap();
        asked.headers_mut().insert("authorization", bearer);
        let answer = api.send(asked).await;
        let after = entries(&store, None).await;
        assert_eq!(after.len() - before, usize::from(audited), "{method} {path}");
        if audited {
            let entry = &after[0];
            assert_eq!((&*entry.action, &*entry.actor, &*entry.actor_kind), (&*id, "ada", "token"));
            assert_eq!(entry.actor_id, Some(token.id.to_string()));
            assert_eq!(entry.status, Some(answer.status.as_u16()));
            let request = answer.headers["x-request-id"].to_str().unwrap();
            assert_eq!(entry.request_id.as_deref(), Some(request));
            assert_eq!(
                entry.target.is_some(),
                path.contains("019364bb") || path.contains("{name}"),
                "{path}"
            );
        }
    }
    let all = format!("{:?}", entries(&store, None).await);
    assert!(!all.contains(&token.secret.reveal()[10..]), "an entry has the secret");
}

#[longshore::test(both)]
async fn an_entry_says_what_was_before_and_after_but_no_payload(store: TestStore) {
    let api = Api::of(&store);
    let id = api.add(r#"{"kind": "k", "payload": {"pin": "hunter2"}, "redacted": ["pin"]}"#).await;
    let path = format!("/api/v1/jobs/{id}");
    assert_eq!(entries(&store, None).await.len(), 0, "a plain enqueue leaves none");
    let edit = r#"{"payload": {"pin": "hunter33"}, "priority": 1, "queue": "q2"}"#;
    assert_eq!(api.patch(&path, edit).await.status, 200);
    assert_eq!(api.get(&format!("{path}/reveal")).await.status, 200);
    let cancel = api.post(&format!("{path}/cancel"), r#"{"why": "not needed"}"#).await;
    assert_eq!(cancel.status, 200);
    assert_eq!(api.delete(&path).await.status, 204);

    let all = entries(&store, None).await;
    let actions: Vec<&str> = all.iter().map(|entry| &*entry.action).collect();
    assert_eq!(actions, ["jobs.delete", "jobs.cancel", "jobs.reveal", "jobs.edit"]);
    assert!(all.iter().all(|entry| entry.target.as_ref() == Some(&id)));
    let detail =
        |n: usize| -> Value { serde_json::from_str(all[n].detail.as_ref().unwrap()).unwrap() };
    let edited = detail(3);
    assert_eq!(edited["before"]["queue"], "default");
    assert_eq!(
        (&edited["after"]["queue"], &edited["after"]["priority"]),
        (&json!("q2"), &json!(1))
    );
    assert!(edited["after"].get("state").is_none(), "what stays is left out: {edited}");
    assert_eq!(
        (&detail(1)["after"]["state"], all[1].why.as_deref()),
        (&json!("cancelled"), Some("not needed"))
    );
    assert_eq!(
        (&detail(0)["before"]["state"], &detail(0)["after"]),
        (&json!("cancelled"), &Value::Null)
    );
    assert_eq!(all[2].detail, None);
    assert!(!format!("{all:?}").contains("hunter"));

    let page = api.get("/api/v1/audit?action=jobs.cancel").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.json()["entries"][0]["detail"]["after"]["state"], "cancelled");
    assert_eq!(page.json()["entries"].as_array().unwrap().len(), 1);
}

#[longshore::test(both)]
async fn a_batch_says_how_many(store: TestStore) {
    let api = Api::of(&store);
    let body = r#"{"jobs": [{"kind": "a"}, {"kind": "b"}, {"kind": "c"}]}"#;
    assert_eq!(api.post("/api/v1/jobs/batch", body).await.status, 201);
    assert_eq!(entries(&store, Some("jobs.enqueue_many")).await[0].count, Some(3));
}

#[longshore::test(both)]
async fn without_its_entry_nothing_is_changed(store: TestStore) {
    let api = Api::of(&store);
    let job = store.client().enqueue(NewJob::new("k")).await.unwrap();
    store.faults().refuse_next(1);

    let answer = api.ask(&format!("/api/v1/jobs/{}/cancel", job.id)).await;

    assert_eq!(answer.status, 503);
    assert!(answer.problem().2.contains("the audit log cannot be written"), "{answer:?}");
    assert_eq!(answer.headers["retry-after"], "1");
    let state = store.client().get(job.id).await.unwrap().state;
    assert_eq!(state, longshore::State::Queued);
    assert_eq!(entries(&store, None).await.len(), 0);
}

#[longshore::test(both)]
async fn pages_of_the_log_go_on_and_bad_parameters_are_named(store: TestStore) {
    let api = Api::of(&store);
    for _ in 0..5 {
        api.ask("/api/v1/jobs/019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10/retry").await;
    }
    let first = api.get("/api/v1/audit?limit=3").await.json();
    assert_eq!(first["entries"].as_array().unwrap().len(), 3);
    let next = first["next"].as_str().unwrap();
    let second = api.get(&format!("/api/v1/audit?limit=3&after={next}")).await.json();
    assert_eq!((second["entries"].as_array().unwrap().len(), &second["next"]), (2, &Value::Null));
    for (query, place) in [("limit=0", "limit"), ("limit=201", "limit"), ("after=x", "after")] {
        let answer = api.get(&format!("/api/v1/audit?{query}")).await;
        assert_eq!((answer.status.as_u16(), &*answer.problem().3), (400, place));
    }
}
