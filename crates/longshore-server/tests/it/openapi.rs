//! The document: committed, whole, and explained.

use longshore::testing::TestStore;
use longshore_server::document;
use longshore_server::problem::Code;
use serde_json::Value;

use crate::harness::Api;

const COMMITTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/openapi.json");

/// `UPDATE=1` writes it anew.
#[test]
fn the_committed_document_is_that_of_the_code() {
    let now = document().to_pretty_json().unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(COMMITTED, &now).unwrap();
    }
    let committed = std::fs::read_to_string(COMMITTED).unwrap_or_default();
    // As values: extensions of an operation stand in no order.
    let value = |text: &str| serde_json::from_str::<Value>(text).ok();
    assert!(
        value(&committed) == value(&now),
        "docs/reference/openapi.json is not that of the code; UPDATE=1 writes it anew"
    );
}

#[test]
fn every_reference_leads_somewhere_and_every_operation_is_named_once() {
    let document = serde_json::to_value(document()).unwrap();
    let mut references = Vec::new();
    collect(&document, &mut references);
    for reference in references {
        let place = reference.trim_start_matches('#');
        assert!(document.pointer(place).is_some(), "{reference} leads nowhere");
    }
    let mut names = Vec::new();
    for methods in document["paths"].as_object().unwrap().values() {
        for operation in methods.as_object().unwrap().values() {
            let name = operation["operationId"].as_str().unwrap();
            assert!(operation["summary"].is_string(), "{name} has no summary");
            assert!(operation["responses"]["default"].is_object(), "{name}");
            names.push(name.to_owned());
        }
    }
    let all = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all);
    assert_eq!(document["openapi"], "3.1.0");
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            references.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
            map.values().for_each(|value| collect(value, references));
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, references)),
        _ => {}
    }
}

#[longshore::test]
async fn every_problem_is_explained_where_its_type_leads(store: TestStore) {
    let api = Api::of(&store);
    let page = api.get("/api/docs").await.text;
    for code in Code::ALL {
        let (path, anchor) =
            code.explained_at().split_once('#').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        assert_eq!(path, "/api/docs");
        assert!(page.contains(&format!("id=\"{anchor}\"")), "{anchor}");
    }
    assert!(page.contains("header <code>Allow</code> names") && !page.contains('`'), "{page}");
    let served: Value = serde_json::from_str(&api.get("/api/openapi.json").await.text).unwrap();
    assert_eq!(served, serde_json::to_value(document()).unwrap());
    for path in ["/api/docs/reference.js", "/api/docs/reference.css"] {
        assert_eq!(api.get(path).await.status, 200);
    }
}
