//! A tester that reads the OpenAPI document and asks for whatever it allows, and for what it does not.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::harness::{Place, both};
use crate::http::address;

both!(the_api_keeps_what_its_document_says);

/// `scripts/setup-tests` puts it here.
fn tool() -> Option<std::path::PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the root");
    Some(root.join("target/tools/bin/schemathesis")).filter(|tool| tool.exists())
}

fn the_api_keeps_what_its_document_says(place: Place) {
    let Some(tool) = tool() else {
        assert!(std::env::var("CI").is_err(), "schemathesis is missing: run scripts/setup-tests");
        return println!("left out: schemathesis (run scripts/setup-tests)");
    };
    place.write("longshore.toml", "[http]\nanonymous = 'admin'");
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", address(&server));
    place.write("openapi.json", open_document());
    let said = Command::new(tool)
        .current_dir(place.path())
        .args(["run", "openapi.json", "--url", &url])
        .args(["--no-color", "--seed", "1", "--max-examples", "10"])
        // A long poll of half a minute for each job that does not end; a stream without end; and the node that may
        // be stopped is this server's.
        .args(["--exclude-path-regex", "/wait$|/events$|/stop$"])
        // Names, queries and times obey rules that no schema can say, so good data may be refused.
        .args(["--checks", "all", "--exclude-checks", "positive_data_acceptance"])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let out = String::from_utf8_lossy(&said.stdout);
    println!("{out}");
    assert!(said.status.success(), "{out}{}", String::from_utf8_lossy(&said.stderr));
    assert!(
        out.contains("Test Phases") && !out.contains("0 generated"),
        "it tested nothing: {out}"
    );
}

/// The document without credentials, as the address is open here. Who may do what has tests of its own.
fn open_document() -> String {
    let mut document = serde_json::to_value(longshore_server::document()).expect("a document");
    for methods in document["paths"].as_object_mut().expect("paths").values_mut() {
        for operation in methods.as_object_mut().expect("methods").values_mut() {
            operation.as_object_mut().expect("an operation").remove("security");
        }
    }
    // It waits for no answer as long as these may be waited for.
    for body in ["HeartbeatBody", "LeaseBody"] {
        let fields = &mut document["components"]["schemas"][body]["properties"];
        let fields = fields.as_object_mut().expect("the body's fields");
        fields.remove("wait_ms").expect("a wait");
    }
    document.to_string()
}
