//! Many jobs in one request.

use longshore::testing::TestStore;

use crate::harness::Api;

const BATCH: &str = "/api/v1/jobs/batch";

#[longshore::test(both)]
async fn a_batch_is_added_whole_in_its_order(store: TestStore) {
    let api = Api::of(&store);
    let jobs: Vec<String> =
        (0..1_000).map(|n| format!(r#"{{"kind": "k{n}", "payload": {n}}}"#)).collect();
    let answer = api.post(BATCH, &format!(r#"{{"jobs": [{}]}}"#, jobs.join(","))).await;
    assert_eq!(answer.status, 201);
    let json = answer.json();
    assert_eq!(
        (json["added"].as_u64(), json["duplicates"].as_u64(), json["refused"].as_u64()),
        (Some(1_000), Some(0), Some(0))
    );
    let last = json["results"][999]["id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/api/v1/jobs/{last}")).await.json()["kind"], "k999");
}

#[longshore::test(both)]
async fn one_bad_job_keeps_all_out_and_is_pointed_at(store: TestStore) {
    let api = Api::of(&store);
    for (bad, place, words) in [
        (r#"{"kind": "k", "priority": 12}"#, "/jobs/1/priority", "job 1: priority is 12"),
        (r#"{"kind": "k", "prio": 1}"#, "/jobs/1/prio", "job 1: unknown field `prio`"),
        (r#"{"kind": "\u0007"}"#, "/jobs/1/kind", "job 1: kind"),
        (
            r#"{"kind": "k", "unique_key": "u", "on_conflict": "refuse"}"#,
            "/jobs/1/unique_key",
            "job 1: unique key `u` is held",
        ),
        ("7", "/jobs/1", "job 1: invalid type"),
    ] {
        api.post("/api/v1/jobs", r#"{"kind": "k", "unique_key": "u"}"#).await;
        let body = format!(r#"{{"jobs": [{{"kind": "a"}}, {bad}, {{"kind": "a"}}]}}"#);
        let (_, _, detail, pointer) = api.post(BATCH, &body).await.problem();
        assert_eq!(pointer, place, "{detail}");
        assert!(detail.starts_with(words), "{detail}");
    }
    assert_eq!(api.get("/api/v1/jobs/count?q=kind:a").await.json()["value"], 0);
}

#[longshore::test(both)]
async fn with_partial_the_good_ones_are_added(store: TestStore) {
    let api = Api::of(&store);
    let body = r#"{"partial": true, "jobs": [{"kind": "a"}, {"kind": "a", "priority": 12}, 7, {"kind": "a", "unique_key": "u"}]}"#;
    let answer = api.post(BATCH, body).await;
    assert_eq!(answer.status, 201);
    let json = answer.json();
    assert_eq!((json["added"].as_u64(), json["refused"].as_u64()), (Some(2), Some(2)));
    assert_eq!(json["results"][1]["problem"]["errors"][0]["pointer"], "/priority");
    assert_eq!(api.get("/api/v1/jobs/count?q=kind:a").await.json()["value"], 2);
    let none = api.post(BATCH, r#"{"partial": true, "jobs": [7]}"#).await;
    assert_eq!((none.status.as_u16(), none.json()["added"].as_u64()), (200, Some(0)));
}

#[longshore::test(both)]
async fn a_batch_has_a_size(store: TestStore) {
    let api = Api::of(&store);
    let of = |n: usize| format!(r#"{{"jobs": [{}]}}"#, vec![r#"{"kind": "k"}"#; n].join(","));
    for n in [0, 1_001] {
        let (status, _, detail, place) = api.post(BATCH, &of(n)).await.problem();
        assert_eq!((status, place.as_str()), (422, "/jobs"));
        assert_eq!(detail, format!("jobs has {n} entries; it may have 1 to 1000"));
    }
    // Above the limit of other bodies, below its own.
    let payload = "x".repeat(1_000_000);
    let jobs = vec![format!(r#"{{"kind": "k", "payload": "{payload}"}}"#); 4].join(",");
    assert_eq!(api.post(BATCH, &format!(r#"{{"jobs": [{jobs}]}}"#)).await.status, 201);
}
