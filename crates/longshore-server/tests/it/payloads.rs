//! Payloads go through byte for byte, or are refused with their size and limit.

use longshore::testing::TestStore;
use longshore::{Outcome, Worker};

use crate::harness::Api;

#[longshore::test(both)]
async fn numbers_keys_and_blanks_come_back_as_they_were(store: TestStore) {
    let api = Api::of(&store);
    for payload in [
        r#"{"n": 1234567890123456789, "d": 0.1, "e": 1e400}"#,
        r#"{"b":1,"a":2,"b":3}"#,
        r#"{"\u0000": "a\u0000b", "x": ["\u0000"]}"#,
        r#"[ 1.0,  -0, 1E5 ]"#,
        "\"\u{1f600}ä\"",
        "null",
    ] {
        let id = api.add(&format!(r#"{{"kind": "echo", "payload": {payload}}}"#)).await;
        let path = format!("/api/v1/jobs/{id}");
        let shown = api.get(&path).await.text;
        assert!(shown.contains(&format!("\"payload\":{payload},")), "{shown}");

        store
            .drain(
                Worker::new(store.client())
                    .handle("echo", |run| async move { Outcome::Done(Some(run.payload().into())) }),
            )
            .await;
        assert_eq!(api.get(&format!("{path}/output")).await.text, payload);
        let export = api.get(&format!("/api/v1/jobs/export?q=id:{id}")).await.text;
        assert!(export.contains(&format!("\"payload\":{payload},")), "{export}");
    }
}

#[longshore::test(both)]
async fn a_payload_at_its_limit_is_kept_and_one_above_is_refused(store: TestStore) {
    let api = Api::of(&store);
    let sized = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let body = |payload: &str| format!(r#"{{"kind": "k", "payload": {payload}}}"#);
    let limit = 1 << 20;
    let id = api.add(&body(&sized(limit))).await;
    let shown = api.get(&format!("/api/v1/jobs/{id}")).await.text;
    assert!(shown.contains(&sized(limit)));
    let list = api.get("/api/v1/jobs").await.text;
    assert!(list.len() < 2_000, "a list has no whole payloads: {}", list.len());

    let (status, code, detail, place) =
        api.post("/api/v1/jobs", &body(&sized(limit + 1))).await.problem();
    assert_eq!((status, code.as_str(), place.as_str()), (413, "too_large", "/payload"));
    assert_eq!(detail, "payload has 1048577 bytes; the limit is 1048576");

    let batch = format!(r#"{{"jobs": [{}, {}]}}"#, body("1"), body(&sized(limit + 1)));
    let (status, _, detail, place) = api.post("/api/v1/jobs/batch", &batch).await.problem();
    assert_eq!((status, place.as_str()), (413, "/jobs/1/payload"));
    assert_eq!(detail, "job 1: payload has 1048577 bytes; the limit is 1048576");
    assert_eq!(api.get("/api/v1/jobs/count").await.json()["value"], 1);

    // Far beyond: not even read.
    let (status, code, ..) = api.post("/api/v1/jobs", &body(&sized(3 << 20))).await.problem();
    assert_eq!((status, code.as_str()), (413, "too_large"));
}

/// Where people are shown the job that lies at `path`.
fn shown_at(path: &str) -> [String; 5] {
    [
        path.to_owned(),
        format!("{path}/wait?timeout=0s"),
        "/api/v1/jobs".to_owned(),
        "/api/v1/jobs/export".to_owned(),
        "/api/v1/jobs/export?format=csv".to_owned(),
    ]
}

#[longshore::test(both)]
async fn hidden_fields_are_shown_to_who_may_see_them(store: TestStore) {
    let api = Api::of(&store);
    let body = r#"{"kind": "k", "payload": {"pin": 1234, "n": 1}, "redacted": ["pin"]}"#;
    let id = api.add(body).await;
    let path = format!("/api/v1/jobs/{id}");
    for path in shown_at(&path) {
        let text = api.get(&path).await.text;
        assert!(!text.contains("1234") && text.contains("[redacted]"), "{path}: {text}");
    }
    assert!(api.get(&format!("{path}/reveal")).await.text.contains(r#""pin": 1234"#));
    let rerun = api.ask(&format!("{path}/rerun")).await.json()["id"].as_str().unwrap().to_owned();
    let text = api.get(&format!("/api/v1/jobs/{rerun}")).await.text;
    assert!(!text.contains("1234"), "{text}");
    assert!(api.get(&format!("/api/v1/jobs/{rerun}/reveal")).await.text.contains("1234"));
}

#[longshore::test(both)]
async fn what_is_called_like_a_secret_is_shown_nowhere(store: TestStore) {
    let api = Api::of(&store);
    let body = r#"{"kind": "k", "payload": {
        "password": "s3cret-1", "to": [{"API-Key": {"k": "s3cret-2"}, "n": 7}],
        "http": {"Authorization": "s3cret-3", "db": {"auth_token": ["s3cret-4"]}}}}"#;
    let id = api.add(body).await;
    let path = format!("/api/v1/jobs/{id}");
    for path in shown_at(&path) {
        let text = api.get(&path).await.text;
        assert!(!text.contains("s3cret") && text.contains("[redacted]"), "{path}: {text}");
    }
    let text = api.get(&format!("{path}/reveal")).await.text;
    assert_eq!(text.matches("s3cret").count(), 4, "{text}");
}

#[longshore::test(both)]
async fn names_may_be_anything_that_can_be_seen(store: TestStore) {
    let api = Api::of(&store);
    let long = "n".repeat(255);
    for name in ["a/b", "a#b?c", "a b", "ä/😀", "%2F", "<script>", long.as_str()] {
        let text = serde_json::to_string(name).unwrap();
        let id = api
            .add(&format!(
                r#"{{"kind": {text}, "queue": {text}, "tags": [{text}], "unique_key": {text}}}"#
            ))
            .await;
        let quoted = format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
        let q = format!("kind:{quoted} queue:{quoted} tag:{quoted} key:{quoted}");
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("q", &q);
        let page = api.get(&format!("/api/v1/jobs?{}", query.finish())).await;
        let json = page.json();
        let found: Vec<&str> = json["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["id"].as_str().unwrap())
            .collect();
        assert_eq!(found, [id.as_str()], "{name}: {page:?}");
        assert_eq!(json["jobs"][0]["queue"], name);
    }
    for name in ["..", "", " a", "a\\u0000", "\\u202e"] {
        let body = format!(r#"{{"kind": "k", "queue": "{name}"}}"#);
        assert_eq!(api.post("/api/v1/jobs", &body).await.problem().3, "/queue", "{name}");
    }
}
