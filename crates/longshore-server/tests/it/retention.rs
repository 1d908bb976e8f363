//! How long ended jobs are kept: the rules, and a prune that is asked for.

use std::time::Duration;

use longshore::testing::TestStore;
use longshore_server::{Access, Role, ServerConfig};
use serde_json::{Value, json};

use crate::harness::{Answer, Api, request};

const RULES: &str = "/api/v1/retention";

async fn set(api: &Api, body: &str) -> Answer {
    api.send(request("PUT", RULES, Some(body))).await
}

/// Jobs that were cancelled.
async fn ended(api: &Api, jobs: usize) {
    for _ in 0..jobs {
        let id = api.add(r#"{"kind": "k"}"#).await;
        assert_eq!(api.ask(&format!("/api/v1/jobs/{id}/cancel")).await.status, 200);
    }
}

/// The newest entries of the audit log about `action`.
async fn entries(api: &Api, action: &str) -> Vec<Value> {
    let page = api.get(&format!("/api/v1/audit?action={action}")).await.json();
    page["entries"].as_array().unwrap().clone()
}

#[longshore::test(both)]
async fn rules_are_set_listed_and_removed_and_the_log_says_what_was_before(store: TestStore) {
    let api = Api::of(&store);
    assert_eq!(api.get(RULES).await.json(), json!({ "rules": [] }));
    let one = set(&api, r#"{"queue": "a/b", "state": "dead", "keep": "90d"}"#).await;
    let rule = json!({"state": "dead", "queue": "a/b", "kind": null, "keep_ms": 7_776_000_000_u64});
    assert_eq!((one.status.as_u16(), one.json()), (200, rule));
    assert_eq!(set(&api, r#"{"kind": "k", "keep": "1m"}"#).await.status, 200);
    let anew = set(&api, r#"{"kind": "k", "state": null, "keep": "forever"}"#).await;
    assert_eq!((anew.status.as_u16(), &anew.json()["keep_ms"]), (200, &Value::Null));
    let rules = api.get(RULES).await.json()["rules"].clone();
    let kinds: Vec<&Value> = rules.as_array().unwrap().iter().map(|rule| &rule["kind"]).collect();
    assert_eq!(kinds, [&json!("k"), &Value::Null], "the most particular first");

    let sets = entries(&api, "retention.set").await;
    let detail = json!({"state": null, "queue": null, "kind": "k",
        "before": {"keep_ms": 60_000}, "after": {"keep_ms": null}});
    assert_eq!(sets[0]["detail"], detail);
    assert_eq!(sets[1]["detail"]["before"], Value::Null, "there was none");

    assert_eq!(api.delete(&format!("{RULES}?queue=a%2Fb&state=dead")).await.status, 204);
    let gone = api.delete(&format!("{RULES}?queue=a%2Fb&state=dead")).await.problem();
    assert_eq!((gone.0, gone.1.as_str()), (404, "not_found"));
    // Without parameters it is the rule for all jobs, and no other.
    assert_eq!(api.delete(RULES).await.status, 404);
    let removed = &entries(&api, "retention.remove").await[2];
    let ends = (&removed["detail"]["before"]["keep_ms"], &removed["detail"]["after"]);
    assert_eq!(ends, (&json!(7_776_000_000_u64), &Value::Null));
    assert_eq!(api.get(RULES).await.json()["rules"].as_array().unwrap().len(), 1);
}

#[longshore::test(both)]
async fn what_no_rule_can_be_is_named_with_its_place_and_limit(store: TestStore) {
    let api = Api::of(&store);
    let long = format!(r#"{{"queue": "{}", "keep": "1d"}}"#, "x".repeat(256));
    for (body, place, words) in [
        (r#"{"keep": "36601d"}"#, "/keep", "it may be 0 to 3162240000000"),
        (r#"{"keep": "5"}"#, "/keep", "`5` is no span of time"),
        (r#"{"keep": null}"#, "/keep", "expected a string"),
        (r#"{"state": "running", "keep": "1d"}"#, "/state", "running"),
        (r#"{"state": "ended", "keep": "1d"}"#, "/state", "unknown variant `ended`"),
        (r#"{"kind": " k", "keep": "1d"}"#, "/kind", "white space"),
        (&long, "/queue", "has 256 bytes; a name has 1 to 255"),
        (r#"{"kind": "k"}"#, "", "missing field `keep`"),
        (r#"{"kinds": "k", "keep": "1d"}"#, "/kinds", "unknown field `kinds`"),
    ] {
        let (status, code, detail, at) = set(&api, body).await.problem();
        assert_eq!(
            (status, code.as_str(), at.as_str()),
            (422, "invalid", place),
            "{body}: {detail}"
        );
        assert!(detail.contains(words), "{body}: {detail}");
    }
    for n in 0..200 {
        let body = format!(r#"{{"kind": "k{n}", "keep": "1d"}}"#);
        assert_eq!(set(&api, &body).await.status, 200);
    }
    let (status, _, detail, _) = set(&api, r#"{"keep": "1d"}"#).await.problem();
    assert!(status == 422 && detail.contains("200"), "{detail}");
    assert_eq!(set(&api, r#"{"kind": "k7", "keep": "2d"}"#).await.status, 200, "it is no more");

    for query in ["state=ended", "queues=mail"] {
        let answer = api.delete(&format!("{RULES}?{query}")).await;
        assert_eq!(answer.problem().1, "bad_parameter", "{answer:?}");
    }
    assert_eq!(api.delete(&format!("{RULES}?state=queued")).await.problem().3, "/state");
    for (body, place) in [
        (r#"{"limit": 0}"#, "/limit"),
        (r#"{"limit": 9223372036854775808}"#, "/limit"),
        (r#"{"dry": true}"#, "/dry"),
    ] {
        let (status, _, _, at) = api.post("/api/v1/prune", body).await.problem();
        assert_eq!((status, at.as_str()), (422, place));
    }
}

#[longshore::test(both)]
async fn a_prune_counts_or_removes_what_is_past_its_time(store: TestStore) {
    let api = Api::of(&store);
    ended(&api, 3).await;
    let stays = api.add(r#"{"kind": "k"}"#).await;
    let early = api.ask("/api/v1/prune").await.json();
    assert_eq!((&early["removed"]["cancelled"], &early["more"]), (&json!(0), &json!(false)));
    assert_eq!(set(&api, r#"{"keep": "0s"}"#).await.status, 200);

    for _ in 0..2 {
        let counted = api.post("/api/v1/prune", r#"{"dry_run": true}"#).await.json();
        assert_eq!(
            (&counted["removed"]["cancelled"], &counted["dry_run"]),
            (&json!(3), &json!(true))
        );
    }
    let pruned = api.ask("/api/v1/prune").await;
    assert_eq!(pruned.status, 200, "{pruned:?}");
    let removed = json!({"succeeded": 0, "cancelled": 3, "dead": 0});
    assert_eq!((&pruned.json()["removed"], &pruned.json()["more"]), (&removed, &json!(false)));
    assert_eq!(api.get("/api/v1/jobs/count").await.json()["value"], 1);
    assert_eq!(api.get(&format!("/api/v1/jobs/{stays}")).await.status, 200);

    let entries = entries(&api, "jobs.prune").await;
    assert_eq!((entries.len(), &entries[0]["count"]), (4, &json!(3)));
    assert_eq!(entries[1]["detail"]["dry_run"], true);
}

/// The time of a request is bounded; whoever asks again goes on.
#[longshore::test(both)]
async fn a_prune_without_time_says_that_there_is_more(store: TestStore) {
    let api = Api::of(&store);
    ended(&api, 3).await;
    assert_eq!(set(&api, r#"{"keep": "0s"}"#).await.status, 200);
    let hurried = longshore::PruneOptions {
        within: Some(Duration::ZERO),
        ..longshore::PruneOptions::default()
    };
    let first = store.client().prune(hurried.clone()).await.unwrap();
    assert_eq!((first.removed.cancelled, first.more), (3, true));
    let second = store.client().prune(hurried).await.unwrap();
    assert_eq!((second.removed.cancelled, second.more), (0, false));
}

#[longshore::test]
async fn rules_are_for_admins_and_read_by_viewers(store: TestStore) {
    for (role, reads, changes) in
        [(Role::Viewer, 200, 403), (Role::Operator, 200, 403), (Role::Admin, 200, 200)]
    {
        let config = ServerConfig { access: Access::Open(role), ..ServerConfig::default() };
        let api = Api::with(&store, config);
        assert_eq!(api.get(RULES).await.status, reads, "{role}");
        assert_eq!(set(&api, r#"{"kind": "k", "keep": "1d"}"#).await.status, changes, "{role}");
        assert_eq!(api.post("/api/v1/prune", "{}").await.status, changes, "{role}");
    }
}
