//! The page for Prometheus: who may read it, what is on it, and that what is built on it names nothing else.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use longshore::observe::Shape;
use longshore::testing::TestStore;
use longshore::{Metrics, Run, Worker};
use longshore_server::{Access, Role, ServerConfig};
use serde_json::Value;

use crate::harness::Api;

/// A file of the tree, by its path from the workspace's root.
fn file(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every word of the text that could be a metric of ours.
fn named(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("longshore_")).collect()
}

/// The names under which samples of the catalogue's metrics stand on a page.
fn samples() -> BTreeSet<String> {
    let families = Metrics::families().iter();
    families
        .flat_map(|family| match family.shape {
            Shape::Histogram => ["_bucket", "_sum", "_count"]
                .map(|suffix| format!("{}{suffix}", family.name))
                .to_vec(),
            Shape::Counter | Shape::Gauge => vec![family.name.to_owned()],
        })
        .collect()
}

#[longshore::test(both)]
async fn only_who_may_read_metrics_sees_them(store: TestStore) {
    let closed = Api::with(&store, ServerConfig::default());
    assert_eq!(closed.get("/metrics").await.status, 401);
    assert_eq!(Api::open_to(&store, Role::Viewer).get("/metrics").await.status, 200);

    let config = ServerConfig { metrics_open: true, ..ServerConfig::default() };
    let open = Api::with(&store, config);
    let answer = open.get("/metrics").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
    assert_eq!(open.get("/api/v1/jobs").await.status, 401, "it opens nothing else");
}

#[longshore::test(both)]
async fn answers_are_counted_by_pattern_and_never_by_path(store: TestStore) {
    let config = ServerConfig { access: Access::Open(Role::Admin), ..ServerConfig::default() };
    let api = Api::with(&store, config);
    let id = api.add(r#"{"kind": "k"}"#).await;
    for path in [format!("/api/v1/jobs/{id}"), "/api/v1/jobs/nonsense".into(), "/nowhere".into()] {
        api.get(&path).await;
    }
    let page = api.get("/metrics").await.text;
    for labels in [
        "route=\"/api/v1/jobs\",method=\"POST\",status=\"2xx\"",
        "route=\"/api/v1/jobs/{id}\",method=\"GET\",status=\"2xx\"",
        "route=\"/api/v1/jobs/{id}\",method=\"GET\",status=\"4xx\"",
    ] {
        let line = format!("longshore_http_request_seconds_count{{{labels}}} 1\n");
        assert!(page.contains(&line), "{line}{page}");
    }
    assert!(!page.contains(&id) && !page.contains("nonsense") && !page.contains("nowhere"));
    // Nobody here knows the kind, so it is no label.
    assert!(page.contains("longshore_jobs_enqueued_total{kind=\"other\",queue=\"other\"} 1\n"));
}

/// The page of a process that serves and has counted.
async fn page(store: &TestStore) -> String {
    let client = store.client();
    let worker = Worker::new(client.clone())
        .queue("default", 1)
        .handle("k", async |_: Run| {})
        .start()
        .expect("a worker");
    let api = Api::of(store);
    api.get("/api/v1/nodes").await; // a page does not count itself
    let give_up = std::time::Instant::now() + std::time::Duration::from_secs(20);
    loop {
        let page = api.get("/metrics").await.text;
        let led = page.contains("longshore_queue_depth{") && page.contains("prune_lag_seconds ");
        if led || std::time::Instant::now() > give_up {
            worker.stop().await;
            return page;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

#[longshore::test(both)]
async fn the_page_has_every_metric_of_the_catalogue_and_no_other(store: TestStore) {
    let page = page(&store).await;
    let on_page: BTreeSet<String> = page
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next().map(str::to_owned))
        .collect();
    let mut expected = samples();
    if !page.contains("pool=\"writer\"") {
        expected.remove("longshore_side_file_bytes"); // PostgreSQL has none
    } else if !on_page.contains("longshore_side_file_bytes") {
        expected.remove("longshore_side_file_bytes"); // not looked at yet
    }
    assert_eq!(on_page, expected);
    for family in Metrics::families().iter().filter(|family| on_page.contains(family.name)) {
        let head = format!("# TYPE {} {}\n", family.name, family.shape);
        assert_eq!(page.matches(&head).count(), 1, "{head}{page}");
    }
}

#[test]
fn the_guide_has_every_metric_with_its_type_and_labels() {
    let guide = file("docs/guide/metrics.md");
    for family in Metrics::families() {
        let labels: Vec<String> = family.labels.iter().map(|label| format!("`{label}`")).collect();
        let labels = if labels.is_empty() { "–".to_owned() } else { labels.join(", ") };
        let row =
            format!("| `{}` | {} | {labels} | {} |\n", family.name, family.shape, family.help);
        assert!(guide.contains(&row), "docs/guide/metrics.md should have this row:\n{row}");
    }
    for name in named(&guide) {
        let known = samples().contains(name)
            || Metrics::families().iter().any(|family| family.name == name);
        assert!(known, "docs/guide/metrics.md names {name}, which is no metric");
    }
}

#[test]
fn the_dashboard_and_the_alerts_name_only_metrics_that_are_there() {
    let dashboard: Value =
        serde_json::from_str(&file("deploy/grafana/longshore.json")).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    assert!(panels.len() >= 12, "{} panels", panels.len());
    let mut asked = 0;
    for panel in panels {
        let title = panel["title"].as_str().expect("a title");
        for target in panel["targets"].as_array().expect("targets") {
            let expression = target["expr"].as_str().expect("an expression");
            let names = named(expression);
            assert!(!names.is_empty(), "{title}: {expression}");
            for name in names {
                assert!(samples().contains(name), "{title}: no sample is called {name}");
                asked += 1;
            }
        }
    }
    assert!(asked >= 12, "{asked}");
    let alerts = file("deploy/prometheus/alerts.yml");
    let expressions = alerts.lines().filter(|line| line.trim_start().starts_with("expr:"));
    let mut rules = 0;
    for line in expressions {
        rules += 1;
        for name in named(line) {
            assert!(samples().contains(name), "alerts.yml: no sample is called {name}: {line}");
        }
    }
    assert!(rules >= 8, "{rules} rules");
    assert_eq!(rules, alerts.matches("- alert:").count());
    assert_eq!(rules, alerts.matches("summary:").count(), "each says what it means");
}

/// Gives `page` to Prometheus's own tool, which has to be content, if it is here.
fn promtool(what: &[&str], page: &str) {
    let mut command = Command::new("promtool");
    command.args(what).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        assert!(std::env::var("CI").is_err(), "promtool is missing: run scripts/setup-tests");
        return println!("left out: promtool (run scripts/setup-tests)");
    };
    // It reads all of it, or none.
    let _ = child.stdin.take().expect("piped").write_all(page.as_bytes());
    let said = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let words = text(&said.stdout) + &text(&said.stderr);
    assert!(said.status.success(), "promtool {what:?}: {words}");
}

#[longshore::test(both)]
async fn prometheus_has_nothing_to_say_against_the_page(store: TestStore) {
    promtool(&["check", "metrics"], &page(&store).await);
}

#[test]
fn prometheus_has_nothing_to_say_against_the_rules() {
    let rules = format!("{}/../../deploy/prometheus/alerts.yml", env!("CARGO_MANIFEST_DIR"));
    promtool(&["check", "rules", &rules], "");
}
