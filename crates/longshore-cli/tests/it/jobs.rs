//! `jobs`: list, show, cancel, retry, edit, delete.

use crate::harness::{Place, both};

both!(
    cancel_and_retry;
    behind a server, too:
    pages_and_filters,
    a_stored_text_cannot_drive_the_terminal,
    a_waiting_job_is_changed,
    a_payload_is_edited_in_an_editor,
    jobs_are_deleted,
    all_that_match_are_retried_and_deleted,
    a_dead_job_is_retried_with_its_payload_mended,
    what_a_run_says_is_shown_and_followed,
);

fn what_a_run_says_is_shown_and_followed(place: Place) {
    let place = place.migrated();
    let quiet = place.enqueue(&["noop"]);
    let id = place.enqueue(&["sleep", "--payload", "{\"seconds\": 3}"]);
    let shown = place.json(&["jobs", "show", &id]);
    assert!(shown["progress"].is_null() && shown["payload"]["seconds"] == 3, "{shown}");
    let server = place.serve(&[]);

    // To its end, with the lines that come meanwhile.
    let followed = place.run(&["jobs", "logs", &id, "-f"]);
    assert_eq!(followed.code, 0, "{followed:?}");
    assert!(followed.out.contains("#1  info   sleep: asleep for 3s"), "{followed:?}");
    let shown = place.json(&["jobs", "show", &id]);
    assert_eq!(shown["state"], "succeeded");
    assert_eq!(
        (&shown["progress"]["fraction"], &shown["progress"]["text"]),
        (&1.0.into(), &"awake".into())
    );
    assert!(place.run(&["jobs", "show", &id]).out.contains("100 %, awake (attempt 1)"));

    let lines = place.run(&["jobs", "logs", &id, "--attempt", "1", "--json"]).out;
    let line: serde_json::Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&line["attempt"], &line["line"], &line["level"]),
        (&1.into(), &1.into(), &"info".into())
    );
    let none = place.run(&["jobs", "logs", &id, "--level", "error"]);
    assert_eq!((none.code, none.out.as_str(), none.err.as_str()), (0, "", "no lines\n"));
    assert_eq!(place.run(&["jobs", "logs", &quiet]).err, "no lines\n");
    let wrong = place.run(&["jobs", "logs", &id, "--level", "loud"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("error, warn, info, debug or trace"), "{wrong:?}");
    let missing = place.run(&["jobs", "logs", "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10"]);
    assert_eq!(
        missing.code,
        place.run(&["jobs", "show", "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10"]).code
    );

    // Who waits or watches sees how far it is.
    let waited = place.run(&["enqueue", "sleep", "--payload", "{\"seconds\": 4}", "--wait"]);
    assert_eq!(waited.code, 0, "{waited:?}");
    assert!(waited.err.contains(" s left (attempt 1)"), "{waited:?}");
    let id = place.enqueue(&["sleep", "--payload", "{\"seconds\": 2}"]);
    let watched = place.run(&["jobs", "watch", &id]).out;
    assert!(watched.contains("progress   ") && watched.contains("s left"), "{watched}");
    drop(server);
}

fn pages_and_filters(place: Place) {
    let place = place.migrated();
    let ids: Vec<String> = (0..5).map(|_| place.enqueue(&["noop"])).collect();
    let other = place.enqueue(&["sleep", "--in", "1h", "--queue", "slow"]);

    let mut seen = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let mut args = vec!["jobs", "list", "--kind", "noop", "--limit", "2"];
        args.extend(after.as_deref().map(|cursor| ["--after", cursor]).iter().flatten());
        let page = place.json(&args);
        seen.extend(
            page["jobs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|job| job["id"].as_str().unwrap().to_owned()),
        );
        match page["next"].as_str() {
            Some(next) => after = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, ids.into_iter().rev().collect::<Vec<_>>());

    for filter in [["--state", "scheduled"], ["--queue", "slow"], ["--kind", "sleep"]] {
        let page = place.json(&[&["jobs", "list"][..], &filter[..]].concat());
        assert_eq!(page["jobs"].as_array().unwrap().len(), 1, "{filter:?}");
        assert_eq!(page["jobs"][0]["id"], *other);
    }
    let table = place.run(&["jobs", "list"]).out;
    assert!(
        table.starts_with("ID ") && table.contains(" scheduled ") && table.contains("in 59 min"),
        "{table}"
    );
    let wrong = place.run(&["jobs", "list", "--state", "done"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

fn cancel_and_retry(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["noop", "--in", "1h"]);
    let cancel = ["jobs", "cancel", &id, "--why", "not needed", "--by", "ann"];
    assert_eq!(place.json(&cancel)["state"], "cancelled");
    assert_eq!(place.json(&["jobs", "show", &id])["cancel"]["by"], "ann");
    let again = place.run(&["jobs", "cancel", &id]);
    assert_eq!(again.code, 4, "{again:?}");

    assert_eq!(place.json(&["jobs", "retry", &id, "--attempts", "3"])["jobs"][0]["done"], true);
    assert_eq!(place.state(&id), "queued");

    let absent = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";
    let both = place.run(&["jobs", "retry", absent, &id]);
    assert_eq!(both.code, 3, "{both:?}");
    assert!(both.err.contains(&format!("no job has id {absent}")), "{both:?}");
    assert_eq!(place.run(&["jobs", "show", absent]).code, 3);
}

fn a_stored_text_cannot_drive_the_terminal(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["k", "--payload", "\"\u{202e}\u{9b}31m\"", "--in", "1h"]);
    let why = "\u{1b}[2J";
    assert_eq!(place.run(&["jobs", "cancel", &id, "--why", why]).code, 0);
    let shown = place.run(&["jobs", "show", &id]).out;
    assert!(shown.contains("\\u{202e}\\u{9b}31m") && shown.contains("\\u{1b}[2J"), "{shown}");
    assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}");
}

fn a_waiting_job_is_changed(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["noop", "--in", "1h", "--tag", "a"]);
    let edit = [
        "jobs",
        "edit",
        &id,
        "--payload",
        "{\"n\": 12345678901234567890123}",
        "--priority",
        "1",
        "--queue",
        "q",
    ];
    assert_eq!(place.json(&[&edit[..], &["--no-tags"]].concat())["version"], 1);
    let shown = place.run(&["jobs", "show", &id, "--json"]).out;
    assert!(shown.contains("{\"n\": 12345678901234567890123}"), "{shown}");
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!((&job["queue"], &job["priority"]), (&"q".into(), &1.into()));
    assert_eq!(job["tags"], serde_json::json!([]));

    let late = place.run(&["jobs", "edit", &id, "--priority", "2", "--if-version", "0"]);
    assert_eq!(late.code, 4, "{late:?}");
    assert!(late.err.contains("is at version 1, not 0"), "{late:?}");
    let wrong = place.run(&["jobs", "edit", &id, "--priority", "10"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
    assert!(wrong.err.contains("priority is 10; it may be 0 to 9"), "{wrong:?}");

    let at = ["jobs", "reschedule", &id, "--at", "2100-01-01T00:00:00Z"];
    assert_eq!(place.json(&at)["jobs"][0]["done"], true);
    assert_eq!(place.json(&["jobs", "show", &id])["run_at"], "2100-01-01T00:00:00.000000Z");
    assert_eq!(place.run(&["jobs", "reschedule", &id]).code, 2);
    assert_eq!(place.run(&["jobs", "run-now", &id]).code, 0);
    assert_eq!(place.state(&id), "queued");
    assert_eq!(place.run(&["jobs", "cancel", &id]).code, 0);
    let over = place.run(&["jobs", "run-now", &id]);
    assert_eq!(over.code, 4, "{over:?}");
    assert!(over.err.contains("is cancelled, so it cannot be run now"), "{over:?}");
}

fn a_payload_is_edited_in_an_editor(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["noop", "--in", "1h", "--payload", "{\"a\":1}"]);
    let edit = |editor: &str| {
        let mut command = place.command(&["jobs", "edit", &id]);
        command.env_remove("VISUAL").env("EDITOR", editor);
        command.output().expect("it runs").status.code()
    };
    assert_eq!(edit("sed -i s/1/2/"), Some(0));
    assert_eq!(place.json(&["jobs", "show", &id])["payload"]["a"], 2);
    assert_eq!(edit("true"), Some(0), "nothing changed");
    assert_eq!(edit("false"), Some(1));
    assert_eq!(edit("sed -i s/}//"), Some(2), "what is no JSON is refused");
    assert_eq!(edit(""), Some(2));
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!((&job["payload"]["a"], &job["version"]), (&2.into(), &1.into()));
}

fn jobs_are_deleted(place: Place) {
    let place = place.migrated();
    let one = place.enqueue(&["noop", "--in", "1h"]);
    let two = place.enqueue(&["noop"]);
    let both = place.run(&["jobs", "delete", &one, &two]);
    assert_eq!(both.code, 0, "{both:?}");
    assert_eq!(place.run(&["jobs", "show", &one]).code, 3);
    assert_eq!(place.run(&["jobs", "delete", &one]).code, 3);
}

fn all_that_match_are_retried_and_deleted(place: Place) {
    let place = place.migrated();
    let ids: Vec<String> = (0..3).map(|_| place.enqueue(&["noop", "--in", "1h"])).collect();
    for id in &ids[..2] {
        assert_eq!(place.run(&["jobs", "cancel", id]).code, 0);
    }
    let query = "state:cancelled kind:noop";
    let asked = place.run(&["jobs", "retry", "--matching", query]);
    assert_eq!(
        (asked.code, asked.out.lines().next()),
        (0, Some("2 match; with --yes they are queued"))
    );
    assert!(ids[..2].iter().all(|id| asked.out.contains(id)), "it shows some: {asked:?}");
    assert_eq!(place.state(&ids[0]), "cancelled");

    let done = place.json(&["jobs", "retry", "--matching", query, "--yes"]);
    assert_eq!((&done["done"], &done["skipped"]), (&2.into(), &0.into()));
    assert_eq!((place.state(&ids[0]), place.state(&ids[2])), ("queued".into(), "scheduled".into()));

    let gone = place.run(&["jobs", "delete", "--matching", "kind:noop", "--yes"]);
    assert_eq!((gone.code, gone.out.trim()), (0, "3 deleted"));
    for wrong in
        [&["--yes"][..], &["--matching", "colour:red"], &["--matching", "kind:a", &ids[0]], &[]]
    {
        assert_eq!(place.run(&[&["jobs", "delete"], wrong].concat()).code, 2, "{wrong:?}");
    }
}

fn a_dead_job_is_retried_with_its_payload_mended(place: Place) {
    let place = place.migrated();
    let id = place.enqueue(&["noop", "--payload", "[1]", "--in", "1h"]);
    assert_eq!(place.run(&["jobs", "cancel", &id]).code, 0);
    assert_eq!(place.run(&["jobs", "retry", &id, "--payload", "[2"]).code, 2);
    assert_eq!(place.run(&["jobs", "retry", &id, "--payload", "[2]"]).code, 0);
    let job = place.json(&["jobs", "show", &id]);
    assert_eq!((&job["state"], &job["payload"][0]), (&"queued".into(), &2.into()));
}
