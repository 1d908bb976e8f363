//! Lists, counts and exports.

use longshore::testing::TestStore;

use crate::harness::Api;

#[longshore::test(both)]
async fn pages_join_in_both_directions(store: TestStore) {
    let api = Api::of(&store);
    let mut added = Vec::new();
    for n in 0..5 {
        added.push(api.add(&format!(r#"{{"kind": "k", "payload": {n}}}"#)).await);
    }
    added.reverse();
    let ids = |json: &serde_json::Value| -> Vec<String> {
        json["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let first = api.get("/api/v1/jobs?q=kind:k&limit=2").await;
    assert_eq!(ids(&first.json()), added[..2]);
    let link = first.headers["link"].to_str().unwrap().to_owned();
    let (path, relation) = link.split_once(">; ").unwrap();
    assert_eq!(relation, "rel=\"next\"");
    let second = api.get(path.trim_start_matches('<')).await;
    assert_eq!(ids(&second.json()), added[2..4]);
    let before = second.json()["prev"].as_str().unwrap().to_owned();
    let back = api.get(&format!("/api/v1/jobs?q=kind:k&limit=2&before={before}")).await;
    assert_eq!(ids(&back.json()), added[..2]);
    let other = api.get(&format!("/api/v1/jobs?q=kind:other&before={before}")).await.problem();
    assert_eq!((other.0, other.1.as_str()), (400, "bad_cursor"));
}

#[longshore::test(both)]
async fn a_count_is_exact_to_ten_thousand(store: TestStore) {
    let api = Api::of(&store);
    for n in 0..12 {
        let jobs = vec![r#"{"kind": "k"}"#; 1_000].join(",");
        assert_eq!(
            api.post("/api/v1/jobs/batch", &format!(r#"{{"jobs": [{jobs}]}}"#)).await.status,
            201
        );
        let count = api.get("/api/v1/jobs/count?q=kind:k").await.json();
        let expected = if n < 10 { ((n + 1) * 1_000, "exact") } else { (10_000, "at_least") };
        assert_eq!(
            (count["value"].as_u64(), count["relation"].as_str()),
            (Some(expected.0), Some(expected.1)),
            "{count}"
        );
    }
}

#[longshore::test(both)]
async fn an_export_has_every_job_that_matches(store: TestStore) {
    let api = Api::of(&store);
    for n in 0..450 {
        api.add(&format!(r#"{{"kind": "k{}", "payload": "a, \"b\" {n}"}}"#, n % 2)).await;
    }
    let lines = api.get("/api/v1/jobs/export?q=kind:k0").await;
    assert_eq!(lines.headers["content-type"], "application/jsonl");
    assert_eq!(lines.text.lines().count(), 225);
    for line in lines.text.lines() {
        assert_eq!(serde_json::from_str::<serde_json::Value>(line).unwrap()["kind"], "k0");
    }
    let table = api.get("/api/v1/jobs/export?q=kind:k1&format=csv").await;
    assert!(table.headers["content-type"].to_str().unwrap().starts_with("text/csv"));
    let mut reader = csv::Reader::from_reader(table.text.as_bytes());
    assert_eq!(&reader.headers().unwrap()[0], "id");
    assert_eq!(reader.records().map(|row| row.unwrap()).filter(|row| &row[1] == "k1").count(), 225);
    let none = api.get("/api/v1/jobs/export?q=kind:none&format=csv").await.text;
    assert_eq!(none.lines().count(), 1);
}

#[longshore::test(both)]
async fn nodes_are_listed(store: TestStore) {
    let api = Api::of(&store);
    assert_eq!(api.get("/api/v1/nodes").await.json()["nodes"].as_array().unwrap().len(), 0);
}
