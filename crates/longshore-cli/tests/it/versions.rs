//! Versions of payloads, redacted fields, and `check-deploy` of an application of its own.

use std::process::Command;

use crate::harness::{Place, Said, both};

both!(
    a_deploy_is_checked_before_it_happens,
    an_old_receipt_runs_in_the_new_program,
    a_redacted_field_is_shown_when_asked_for,
    lines_have_versions_too,
);

/// The example `shop`, as an application would be built.
fn shop(place: &Place, args: &[&str]) -> Command {
    let like = place.command(args);
    let beside = std::path::Path::new(like.get_program()).parent().expect("a folder");
    let program = beside.join("examples").join(format!("shop{}", std::env::consts::EXE_SUFFIX));
    assert!(program.exists(), "build it: cargo build -p longshore-cli --example shop");
    let mut command = Command::new(program);
    command.current_dir(place.path()).args(args);
    for (name, value) in like.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
}

fn ask_shop(place: &Place, args: &[&str]) -> Said {
    place.said_by(shop(place, args))
}

const FIRST: &str = r#"{"order":7,"card":"4111-17"}"#;
const SECOND: &str = r#"{"order":7,"language":"de","card":"4111-17"}"#;

fn a_deploy_is_checked_before_it_happens(place: Place) {
    let place = place.migrated();
    assert_eq!(ask_shop(&place, &["check-deploy"]).code, 0, "nothing waits");
    place.enqueue(&["send_receipt", "--payload", FIRST]);
    place.enqueue(&["send_receipt", "--payload", SECOND, "--payload-version", "2", "--in", "1h"]);
    place.enqueue(&["note", "--payload", "[1]"]);
    let said = ask_shop(&place, &["check-deploy"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.starts_with("KIND ") && said.out.contains("send_receipt"), "{said:?}");

    let newer = place.enqueue(&["send_receipt", "--payload", "1", "--payload-version", "3"]);
    let unknown = place.enqueue(&["send_invoice"]);
    let wrong = r#"{"order":"4111-17","card":"4111-17"}"#;
    let faulty = place.enqueue(&["send_receipt", "--payload", wrong, "--in", "1h"]);
    let said = ask_shop(&place, &["check-deploy", "--json"]);
    assert_eq!(said.code, 1, "{said:?}");
    let answer: serde_json::Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(answer["ok"], false);
    let kinds = answer["kinds"].as_array().expect("kinds");
    let of = |name: &str| kinds.iter().find(|kind| kind["kind"] == name).expect("the kind");
    let receipts = of("send_receipt");
    for (field, number) in [("jobs", 4), ("decodes", 2), ("newer", 1), ("newest", 3), ("faulty", 1)]
    {
        assert_eq!(receipts[field], number, "{field} of {receipts}");
    }
    assert_eq!(receipts["faults"][0]["id"], *faulty);
    let error = receipts["faults"][0]["error"].as_str().expect("words");
    assert!(error.contains("version 1") && error.contains("to 2"), "{error}");
    assert!(!error.contains("4111-17"), "{error}");
    assert_eq!((&of("note")["unchecked"], &of("send_invoice")["unknown"]), (&1.into(), &1.into()));
    let said = ask_shop(&place, &["check-deploy"]);
    assert!(
        said.code == 1 && said.out.contains(&faulty) && !said.out.contains("4111-17"),
        "{said:?}"
    );

    // A database that several applications share is asked about one's own kinds.
    for id in [&newer, &faulty] {
        assert_eq!(place.run(&["jobs", "delete", id]).code, 0);
    }
    assert_eq!(ask_shop(&place, &["check-deploy"]).code, 1);
    assert_eq!(ask_shop(&place, &["check-deploy", "--", "-kind:send_invoice"]).code, 0);
    assert_eq!(place.run(&["jobs", "delete", &unknown]).code, 0);
    // Nothing was run, and nothing changed.
    assert_eq!(place.json(&["jobs", "count", "--state", "queued"])["count"], 2);
}

fn an_old_receipt_runs_in_the_new_program(place: Place) {
    let place = place.migrated();
    let old = place.enqueue(&["send_receipt", "--payload", FIRST]);
    let newer = place.enqueue(&["send_receipt", "--payload", "1", "--payload-version", "3"]);
    let wrong = place.enqueue(&["send_receipt", "--payload", r#"{"order":"4111-17"}"#]);
    let server = crate::harness::Server::start(shop(&place, &["serve"]));
    place.until("it succeeds", || place.state(&old) == "succeeded");
    place.until("it is dead", || place.state(&wrong) == "dead");
    assert_eq!(place.state(&newer), "queued");
    let shown = place.run(&["jobs", "show", &wrong]).out;
    assert!(shown.contains("could not be upgraded to 2"), "{shown}");
    drop(server);

    let dead = ask_shop(&place, &["check-deploy", "--dead", "--state", "dead"]);
    assert!(dead.code == 1 && dead.out.contains(&wrong), "{dead:?}");
    assert_eq!(ask_shop(&place, &["check-deploy", "--state", "dead"]).code, 0, "it runs no more");
}

fn a_redacted_field_is_shown_when_asked_for(place: Place) {
    let place = place.migrated();
    let payload = ["--payload", SECOND, "--payload-version", "2", "--redact", "card"];
    let id = place.enqueue(&[&["send_receipt", "--in", "1h"][..], &payload].concat());
    let secret = "4111-17";

    for args in [
        &["jobs", "show", &id][..],
        &["jobs", "show", &id, "--json"],
        &["jobs", "list", "--json"],
        &["jobs", "export", "--format", "jsonl"],
        &["jobs", "export", "--format", "csv"],
    ] {
        let said = place.run(args);
        assert!(said.code == 0 && !said.out.contains(secret), "{args:?}: {said:?}");
        assert!(args[1] == "list" || said.out.contains("[redacted]"), "{args:?}: {said:?}");
    }
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!(
        (&job["payload"]["card"], &job["payload"]["language"]),
        (&"[redacted]".into(), &"de".into())
    );
    assert_eq!(
        (&job["payload_version"], &job["redacted"]),
        (&2.into(), &serde_json::json!(["card"]))
    );
    for args in [
        &["jobs", "show", &id, "--reveal"][..],
        &["jobs", "export", "--format", "jsonl", "--reveal"],
    ] {
        let said = place.run(args);
        assert!(said.out.contains(secret), "{args:?}: {said:?}");
    }

    // An editor must not write the words over what they stand for.
    let edit = |reveal: &[&str]| {
        let mut command = place.command(&[&["jobs", "edit", &id], reveal].concat());
        command.env_remove("VISUAL").env("EDITOR", "sed -i s/:7,/:8,/");
        place.said_by(command)
    };
    let refused = edit(&[]);
    assert!(refused.code == 2 && refused.err.contains("redacted fields"), "{refused:?}");
    assert_eq!(edit(&["--reveal"]).code, 0);
    let shown = place.run(&["jobs", "show", &id, "--reveal"]).out;
    assert!(shown.contains(secret) && shown.contains("\"order\":8"), "{shown}");
    assert_eq!(
        place.run(&["jobs", "edit", &id, "--payload", "{}", "--payload-version", "3"]).code,
        0
    );
    assert_eq!(place.json(&["jobs", "show", &id])["payload_version"], 3);
}

fn lines_have_versions_too(place: Place) {
    let place = place.migrated();
    let line = r#"{"payload":{"a":1,"b":2},"payload_version":4,"redacted":["a"]}"#;
    let said = place
        .run_with(&["enqueue", "k", "--lines", "-", "--ids", "--redact", "b"], line.as_bytes());
    assert_eq!(said.code, 0, "{said:?}");
    let job = place.json(&["jobs", "show", said.out.trim()]);
    assert_eq!(job["payload"], serde_json::json!({"a": "[redacted]", "b": "[redacted]"}));
    assert_eq!(job["payload_version"], 4);
    let wrong = place.run(&["enqueue", "k", "--payload-version", "0"]);
    assert!(
        wrong.code == 2 && wrong.err.contains("payload_version is 0; it may be 1 to"),
        "{wrong:?}"
    );
}
