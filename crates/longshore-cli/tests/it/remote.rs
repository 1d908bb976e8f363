//! Commands through a running server: the same as on its database, and what may go wrong on the way.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fake::{Fake, answer};
use crate::harness::{Place, Said, both};

mod retention;
mod tls;

both!(
    both_ways_say_the_same,
    changes_are_made_in_the_name_of_the_token,
    a_token_gives_what_it_gives,
    a_lost_reply_is_no_second_job,
    a_server_that_is_busy_is_asked_again,
    waits_and_logs_go_through_too,
);

/// Runs a command through this server.
fn through(place: &Place, url: &str, token: &str, args: &[&str]) -> Said {
    let mut command = place.command(&[args, &["--url", url]].concat());
    command.env("LONGSHORE_TOKEN", token);
    place.said_by(command)
}

fn token(place: &Place, role: &str) -> String {
    place.run(&["token", "create", role, "--role", role]).out.trim().to_owned()
}

/// The text without what passes while one looks: spans, and blanks that line columns up.
fn still(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_number = |word: &str| {
        let digits = word.trim_start_matches('(');
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    };
    let is_unit =
        |word: &str| ["ms", "s", "min", "h", "d"].contains(&word.trim_end_matches([',', ')', ':']));
    let mut kept = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let span = is_number(word) && words.get(at + 1).is_some_and(|next| is_unit(next));
        let unit = is_unit(word) && at > 0 && is_number(words[at - 1]);
        if !span && !unit {
            kept.push(*word);
        }
    }
    kept.join(" ")
}

/// The same of JSON: what a clock or a heartbeat moves is left out.
fn still_json(text: &str) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for moving in [
                    "expires_at",
                    "counted_ms_ago",
                    "oldest_ms",
                    "last_used_at",
                    "looked",
                    "lag_ms",
                    "took_ms",
                ] {
                    fields.remove(moving);
                }
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    strip(&mut value);
    value
}

fn both_ways_say_the_same(place: Place) {
    let place = place.migrated();
    let admin = token(&place, "admin");
    let server = place.serve(&["--listen", "127.0.0.1:0", "--queue", "idle=1"]);
    let url = format!("http://{}", server.address());
    let there = |args: &[&str]| through(&place, &url, &admin, args);

    // The same command each way, on jobs of the same kind: what they print is compared as they are made.
    let payload = "{\"n\": 12345678901234567890123.00, \"text\": \"\u{202e}x\"}";
    let options = ["noop", "--payload", payload, "--tag", "a", "--priority", "2", "--in", "1h"];
    let id = place.enqueue(&options);
    let far = there(&[&["enqueue"], &options[..]].concat());
    assert_eq!((far.code, far.err.as_str()), (0, ""), "{far:?}");
    let far = far.out.trim().to_owned();
    for (args, word) in [
        (["jobs", "show", &id, "--json"], "payload"),
        (["jobs", "show", &far, "--json"], "payload"),
    ] {
        let said = there(&args);
        assert!(said.out.contains(payload), "byte for byte, {word}: {said:?}");
        assert_eq!(said.out, place.run(&args).out);
    }
    for null in ["null", "3", "\"x\"", "[]"] {
        there(&["enqueue", "noop", "--payload", null, "--queue", "later"]);
    }
    let secret =
        place.enqueue(&["noop", "--payload", "{\"card\": 4111, \"b\": 1}", "--redact", "card"]);
    let dead = place.enqueue(&["fail", "--max-attempts", "1", "--in", "1h"]);
    assert_eq!(place.run(&["jobs", "cancel", &dead, "--why", "not needed"]).code, 0);
    place.run(&["queues", "pause", "mail", "--why", "the relay is down", "--for", "1h"]);
    place.run(&["user", "create", "ann", "--role", "viewer", "--password-stdin"]);
    let start = ["operations", "start", "priority", "--priority", "1", "--matching", "queue:later"];
    assert_eq!(place.run(&start).code, 0);

    let absent = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";
    let looks: &[&[&str]] = &[
        &["jobs", "list"],
        &["jobs", "list", "state:queued", "--limit", "2"],
        &["jobs", "list", "stat:queued"],
        &["jobs", "list", "--after", "wrong"],
        &["jobs", "count"],
        &["jobs", "count", "queue:later priority:1"],
        &["jobs", "show", &id],
        &["jobs", "show", &secret],
        &["jobs", "show", &secret, "--reveal"],
        &["jobs", "show", &dead],
        &["jobs", "show", absent],
        &["jobs", "logs", &id],
        &["jobs", "logs", absent],
        &["jobs", "cancel", &dead],
        &["jobs", "cancel", absent],
        &["jobs", "retry", absent],
        &["jobs", "delete", absent],
        &["jobs", "run-now", &dead],
        &["jobs", "reschedule", absent, "--in", "5m"],
        &["jobs", "edit", &id, "--priority", "10"],
        &["jobs", "edit", &id, "--payload", "{"],
        &["jobs", "edit", &id, "--queue", " x"],
        &["jobs", "edit", &id, "--priority", "3", "--if-version", "9"],
        &["jobs", "retry", "--matching", "queue:later"],
        &["jobs", "delete", "--matching", "queue:later"],
        &["jobs", "cancel", "--matching", ""],
        &["operations", "start", "retry", "--matching", "queue:later", "--dry-run"],
        &["operations", "start", "retry", "--matching", "queue:later", "--priority", "3"],
        &["operations", "start", "move", "--matching", "queue:later"],
        &["operations", "list"],
        &["operations", "show", absent],
        &["operations", "pause", absent],
        &["queues", "list"],
        &["queues", "empty", "later"],
        &["queues", "resume", "nobody"],
        &["queues", "pause", " x"],
        &["kinds", "list"],
        &["kinds", "show", "noop"],
        &["kinds", "show", "nobody"],
        &["kinds", "resume", "noop"],
        &["nodes", "list"],
        &["nodes", "quiet", absent],
        &["retention", "list"],
        &["retention", "set", "forever", "--queue", "billing", "--state", "succeeded"],
        &["retention", "set", "36600d", "--kind", "noop"],
        &["retention", "set", "36601d"],
        &["retention", "set", "5"],
        &["retention", "set", "1d", "--queue", " x"],
        &["retention", "list"],
        &["retention", "remove", "--kind", "nobody"],
        &["retention", "remove", "--kind", ""],
        &["prune", "--dry-run"],
        &["prune", "--limit", "5"],
        &["token", "list"],
        &["token", "revoke", absent],
        &["token", "create", "x", "--role", "king"],
        &["user", "list"],
        &["user", "remove", "nobody"],
        &["user", "change", "nobody", "--disable"],
        &["enqueue", "noop", "--payload", "{"],
        &["enqueue", "noop", "--payload", "\"\\ud800\""],
        &["enqueue", " noop"],
        &["enqueue", "noop", "--priority", "-1"],
        &["enqueue", "noop", "--id", &id],
    ];
    for args in looks {
        let (here, there) = (place.run(args), there(args));
        assert_eq!(
            (here.code, still(&here.out)),
            (there.code, still(&there.out)),
            "{args:?}: {there:?}"
        );
        assert_eq!(still(&here.err), still(&there.err), "{args:?}");
        let args = [args, &["--json"][..]].concat();
        let (here, there) = (place.run(&args), through(&place, &url, &admin, &args));
        assert_eq!(here.code, there.code, "{args:?}: {here:?} {there:?}");
        if !here.out.is_empty() || !there.out.is_empty() {
            assert_eq!(still_json(&here.out), still_json(&there.out), "{args:?}");
        }
    }
    // What is written out is the same to the byte.
    for format in ["csv", "jsonl"] {
        let export = ["jobs", "export", "--format", format];
        let (here, there) = (place.run(&export), there(&export));
        assert_eq!((there.code, here.out), (0, there.out), "{format}");
        let file = format!("jobs.{format}");
        let to_file = [&export[..], &["--output", &file]].concat();
        let said = through(&place, &url, &admin, &to_file);
        assert_eq!((said.code, said.err.as_str()), (0, "8 jobs\n"), "{said:?}");
    }
}

fn changes_are_made_in_the_name_of_the_token(place: Place) {
    let place = place.migrated();
    let admin = token(&place, "admin");
    let server = place.serve(&["--listen", "127.0.0.1:0", "--queue", "idle=1"]);
    let url = format!("http://{}", server.address());
    let there = |args: &[&str]| {
        let said = through(&place, &url, &admin, args);
        assert_eq!(said.code, 0, "{args:?}: {said:?}");
        said
    };
    let job = || there(&["enqueue", "noop", "--in", "1h"]).out.trim().to_owned();
    let (one, two, three) = (job(), job(), job());
    assert_eq!(there(&["jobs", "run-now", &one]).out, format!("{one} is queued\n"));
    there(&["jobs", "reschedule", &one, "--at", "2100-01-01T00:00:00Z"]);
    let edit = ["jobs", "edit", &one, "--payload", "[1.0, 2]", "--no-tags", "--queue", "q"];
    assert_eq!(there(&edit).out, format!("{one} is changed; it is at version 3\n"));
    let shown = place.run(&["jobs", "show", &one, "--json"]).out;
    assert!(shown.contains("[1.0, 2]") && shown.contains("2100-01-01T00:00:00.000000Z"), "{shown}");
    assert_eq!(
        there(&["jobs", "cancel", &one, "--why", "no"]).out,
        format!("{one} is cancelled\n")
    );
    assert_eq!(place.json(&["jobs", "show", &one])["cancel"]["by"], "admin");
    there(&["jobs", "retry", &one, "--attempts", "3", "--payload", "{\"again\": 1.50}"]);
    assert!(place.run(&["jobs", "show", &one]).out.contains("{\"again\": 1.50}"));
    there(&["jobs", "delete", &one, &two]);
    assert_eq!(there(&["jobs", "delete", "--matching", "kind:noop", "--yes"]).out, "1 deleted\n");
    assert_eq!(place.run(&["jobs", "show", &three]).code, 3);

    there(&["queues", "pause", "mail", "--why", "x"]);
    assert_eq!(there(&["queues", "resume", "mail"]).out, "queue mail goes on\n");
    assert_eq!(there(&["queues", "resume", "mail"]).out, "queue mail was not paused\n");
    there(&["kinds", "pause", "noop", "--for", "1h"]);
    assert_eq!(there(&["kinds", "resume", "noop"]).out, "kind noop goes on\n");
    there(&["enqueue", "noop", "--queue", "full"]);
    assert_eq!(there(&["queues", "empty", "full", "--yes"]).out, "1 jobs are gone\n");

    let made = there(&["token", "create", "ci", "--right", "jobs:read"]).out;
    assert_eq!(through(&place, &url, made.trim(), &["jobs", "list"]).code, 0);
    let id = place.json(&["token", "list"])["tokens"][0]["id"].as_str().unwrap().to_owned();
    there(&["token", "revoke", &id]);
    let with_password = |args: &[&str]| {
        let args = [args, &["--password-stdin", "--url", &url, "--token", &admin]].concat();
        place.run_with(&args, b"correct horse battery\n")
    };
    let said = with_password(&["user", "create", "Bob", "--role", "operator"]);
    assert_eq!((said.code, said.out.as_str()), (0, "bob is added\n"), "{said:?}");
    let said = with_password(&["user", "create", "bob", "--role", "viewer"]);
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.err.contains("there is a user of the name bob"), "{said:?}");
    there(&["user", "change", "bob", "--disable"]);
    assert_eq!(there(&["user", "remove", "bob"]).out, "bob is removed\n");

    let node = place.json(&["nodes", "list"])["nodes"][0]["id"].as_str().unwrap().to_owned();
    there(&["nodes", "quiet", &node]);
    there(&["nodes", "resume", &node]);

    // The server has noted who it was; nothing is noted as the command line's.
    let log = place.run(&["audit", "tail", "-n", "100", "--json"]).out;
    let entries: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let by_token = |action: &str| {
        entries.iter().any(|entry| entry["action"] == action && entry["actor_kind"] == "token")
    };
    for action in ["jobs.cancel", "jobs.delete", "operations.start", "queues.empty", "users.create"]
    {
        assert!(by_token(action), "{action}: {log}");
    }
    let of_cli = entries.iter().filter(|entry| entry["actor_kind"] == "cli");
    assert!(of_cli.clone().all(|entry| entry["action"] == "tokens.create"), "{log}");
    let tail = there(&["audit", "tail", "-n", "3"]).out;
    assert_eq!(tail, place.run(&["audit", "tail", "-n", "3"]).out);
    assert!(!server.log().contains(&admin[10..]));
}

fn a_token_gives_what_it_gives(place: Place) {
    let place = place.migrated();
    let viewer = token(&place, "viewer");
    let server = place.serve(&["--listen", "127.0.0.1:0", "--queue", "idle=1"]);
    let url = format!("http://{}", server.address());
    let id = place.enqueue(&["noop"]);

    let said = through(&place, &url, &viewer, &["jobs", "delete", &id]);
    assert_eq!(said.code, 5, "{said:?}");
    assert!(said.err.contains("jobs:delete") && said.err.contains("request "), "{said:?}");
    assert_eq!(place.state(&id), "queued");

    let wrong = format!("lsh_{}", "a".repeat(64));
    for (given, words) in
        [(wrong.as_str(), "does not take the token"), ("", "wants a token: LONGSHORE_TOKEN")]
    {
        let said = through(&place, &url, given, &["jobs", "list"]);
        assert_eq!(said.code, 5, "{said:?}");
        assert!(said.err.contains(words), "{said:?}");
        assert!(!said.err.contains("aaaa"), "{said:?}");
    }
    // From the file, as every setting; and what cannot be a token is not repeated.
    place.write("longshore.toml", format!("url = '{url}'\ntoken = '{viewer}'\n"));
    let mut bare = place.command(&["jobs", "list"]);
    bare.env_remove("LONGSHORE_DATABASE");
    assert!(place.said_by(bare).out.contains(&id));
    let said = through(&place, &url, "secret token", &["jobs", "list"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(!said.err.contains("secret token"), "{said:?}");
    let mut loud = place.command(&["jobs", "list", "--url", &url, "--log-level", "trace"]);
    loud.env("LONGSHORE_TOKEN", &viewer);
    let said = place.said_by(loud);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!said.err.contains(&viewer[10..]), "the log has the secret");
}

fn a_lost_reply_is_no_second_job(place: Place) {
    let place = place.migrated();
    let operator = token(&place, "operator");
    let server = place.serve(&["--listen", "127.0.0.1:0", "--queue", "idle=1"]);
    // Each request arrives, and every second answer is cut in its middle.
    let cut = |number: usize, passed: crate::fake::Passed| {
        let mut whole = passed.on();
        if number.is_multiple_of(2) {
            whole.truncate(whole.len() / 2);
        }
        whole
    };
    let between = Fake::before(server.address(), cut);
    let said = through(&place, &between.url(), &operator, &["enqueue", "noop"]);
    assert_eq!(said.code, 0, "{said:?}");
    let listed = place.json(&["jobs", "list"]);
    assert_eq!(listed["jobs"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(listed["jobs"][0]["id"], said.out.trim());

    // So with many; the lines are those that were sent.
    let between = Fake::before(server.address(), cut);
    let lines: String = (0..2_500).map(|n| format!("{{\"payload\": {n}}}\n")).collect();
    let enqueue =
        ["enqueue", "many", "--lines", "-", "--url", &between.url(), "--token", &operator];
    let said = place.run_with(&enqueue, lines.as_bytes());
    assert_eq!(said.out, "2500 added, 0 duplicates, 0 replaced\n", "{said:?}");
    assert_eq!(place.json(&["jobs", "count", "kind:many"])["count"], 2_500);

    // The line that is wrong has its number, and what was added before is said.
    let lines = format!("{}{{\"priority\": 10}}\n", "{}\n".repeat(1_004));
    let said = place.run_with(&enqueue, lines.as_bytes());
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("line 1005: priority is 10; it may be 0 to 9"), "{said:?}");
    assert!(said.err.contains("1000 lines are done; go on with --from-line 1001"), "{said:?}");
    let refused = ["--unique-key", "k", "--on-conflict", "refuse"];
    let said = place.run_with(&[&enqueue[..], &refused].concat(), b"{}\n");
    assert_eq!(said.code, 0, "{said:?}");
    let said = place.run_with(&[&enqueue[..], &refused].concat(), b"{\"kind\": \"x\"}\n{}\n");
    assert_eq!(said.code, 4, "{said:?}");
    assert!(said.err.starts_with("error: line 2: unique key `k` is held by job "), "{said:?}");
}

fn a_server_that_is_busy_is_asked_again(place: Place) {
    let place = place.migrated();
    let operator = token(&place, "operator");
    let server = place.serve(&["--listen", "127.0.0.1:0", "--queue", "idle=1"]);
    for (status, problem) in
        [("429 Too Many Requests", "too_many_requests"), ("503 Service Unavailable", "unavailable")]
    {
        let between = Fake::before(server.address(), move |number, passed| {
            if number > 0 {
                return passed.on();
            }
            let body = format!("{{\"code\": \"{problem}\", \"detail\": \"later\"}}");
            let headers = "retry-after: 1\r\ncontent-type: application/problem+json\r\n";
            answer(status, headers, &body).into_bytes()
        });
        let began = Instant::now();
        let said = through(&place, &between.url(), &operator, &["enqueue", "noop"]);
        assert_eq!(said.code, 0, "{said:?}");
        assert!(began.elapsed() >= Duration::from_secs(1), "it waits as long as it is told");
    }
    assert_eq!(place.json(&["jobs", "count", "kind:noop"])["count"], 2);
    // What must not be done twice is not tried again on a "perhaps".
    let body =
        "{\"code\": \"unavailable\", \"detail\": \"the database is away\", \"request_id\": \"r7\"}";
    let away = answer("503 Service Unavailable", "retry-after: 1\r\n", body);
    let away = Fake::that_says(away);
    let id = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";
    let said = through(&place, &away.url(), &operator, &["jobs", "retry", id]);
    assert_eq!(said.code, 6, "{said:?}");
    assert_eq!(said.err, "error: the database is away\nrequest r7, in the server's log\n");
    assert_eq!(away.heard().len(), 1);
}

fn waits_and_logs_go_through_too(place: Place) {
    let place = place.migrated();
    let operator = token(&place, "operator");
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    let url = format!("http://{}", server.address());
    let there = |args: &[&str]| through(&place, &url, &operator, args);
    let said = there(&["enqueue", "sleep", "--payload", "{\"seconds\": 4}", "--wait"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(
        said.err.contains("s left (attempt 1)") && said.err.contains("succeeded after"),
        "{said:?}"
    );
    let said = there(&["enqueue", "fail", "--max-attempts", "1", "--wait", "--json"]);
    assert_eq!((said.code, still_json(&said.out)["state"].clone()), (8, "dead".into()), "{said:?}");
    let lone = ["enqueue", "nobodys", "--wait", "--timeout-wait", "3s"];
    let said = there(&lone);
    assert_eq!(said.code, 7, "{said:?}");
    assert!(said.err.contains("no live node runs kind `nobodys`"), "{said:?}");

    let id = there(&["enqueue", "sleep", "--payload", "{\"seconds\": 3}"]).out.trim().to_owned();
    let said = there(&["jobs", "logs", &id, "-f"]);
    assert!(said.code == 0 && said.out.contains("#1  info   sleep: asleep for 3s"), "{said:?}");
    assert_eq!(said.out, place.run(&["jobs", "logs", &id]).out);
    let said = there(&["jobs", "watch", &id]);
    assert_eq!((said.code, said.out.contains("succeeded")), (0, true), "{said:?}");
}

fn command_to(place: &Place, url: &str, args: &[&str]) -> Command {
    place.command(&[args, &["--url", url, "--token", "lsh_notsaid"]].concat())
}

#[test]
fn what_is_no_server_of_ours_is_told_as_such() {
    let place = Place::empty();
    let html =
        answer("200 OK", "content-type: text/html; charset=utf-8\r\n", "<html>Welcome</html>");
    let gone = answer("404 Not Found", "content-type: text/html\r\n", "<html>nothing</html>");
    let proxy = answer("502 Bad Gateway", "content-type: text/html\r\n", "<html>down</html>");
    let other = answer("200 OK", "content-type: application/json\r\n", "{\"jobs\": 3}");
    let half = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{"
        .to_owned();
    for (says, code, words) in [
        (html, 1, "answers 200 with text/html, as no Longshore server does"),
        (gone, 1, "answers 404 with text/html"),
        (proxy, 1, "answers 502 with text/html"),
        (other, 1, "cannot be read: "),
        ("SSH-2.0-OpenSSH_9.6\r\n".to_owned(), 1, "answers with what is no HTTP"),
        (half, 6, "broke off"),
        (String::new(), 6, "broke off before it answered"),
    ] {
        let fake = Fake::that_says(says);
        let said = place.said_by(command_to(&place, &fake.url(), &["jobs", "cancel", ID]));
        let list = place.said_by(command_to(&place, &fake.url(), &["jobs", "list"]));
        for said in [said, list] {
            assert_eq!(said.code, code, "{said:?}");
            assert!(
                said.err.contains(words) && said.err.contains(&fake.url()),
                "{words}: {said:?}"
            );
            assert!(!said.err.contains("notsaid"), "{said:?}");
        }
    }
}

const ID: &str = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10";

#[test]
fn a_token_is_not_carried_elsewhere() {
    let place = Place::empty();
    let second = Fake::that_says(answer("200 OK", "content-type: application/json\r\n", "{}"));
    let place_of = format!("location: {}/api/v1/jobs\r\n", second.url());
    for status in
        ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"]
    {
        let first = Fake::that_says(answer(status, &place_of, ""));
        let said = place.said_by(command_to(&place, &first.url(), &["jobs", "list"]));
        assert_eq!(said.code, 2, "{said:?}");
        assert!(
            said.err.contains("leads on to") && said.err.contains("is not carried there"),
            "{said:?}"
        );
        let heard = first.heard().concat();
        assert!(heard.contains("authorization: Bearer lsh_notsaid"), "{heard}");
    }
    assert!(second.heard().is_empty());
    // Nor through a proxy that somebody's environment names.
    let mut command = command_to(&place, "http://127.0.0.1:9", &["jobs", "list"]);
    for name in ["http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"] {
        command.env(name, second.url());
    }
    assert_eq!(place.said_by(command).code, 6);
    assert!(second.heard().is_empty());
}

#[test]
fn a_server_that_is_away_or_silent_is_given_up() {
    let place = Place::empty();
    let began = Instant::now();
    let said = place.said_by(command_to(&place, "http://127.0.0.1:9", &["jobs", "list"]));
    assert_eq!(said.code, 6, "{said:?}");
    assert!(said.err.contains("http://127.0.0.1:9 cannot be reached"), "{said:?}");
    assert!(began.elapsed() < Duration::from_secs(10), "at once");

    let silent = Fake::that_is_silent();
    let mut command = command_to(&place, &silent.url(), &["jobs", "cancel", ID]);
    command.env("LONGSHORE_REMOTE__TIMEOUT", "300ms");
    let said = place.said_by(command);
    assert_eq!(said.code, 6, "{said:?}");
    assert!(
        said.err.contains("did not answer within 300ms; what was asked for may be done"),
        "{said:?}"
    );
}

#[test]
fn a_command_works_in_one_place() {
    let place = Place::empty().migrated();
    let said =
        place.run(&["jobs", "list", "--url", "http://127.0.0.1:9", "-d", "sqlite:longshore.db"]);
    assert_eq!(said.code, 2, "{said:?}");
    let said =
        place.run(&["-d", "sqlite:longshore.db", "jobs", "list", "--url", "http://127.0.0.1:9"]);
    assert_eq!(said.code, 2, "{said:?}");

    // What is nearer counts: 6 is the server that is not there, 0 the database that is.
    let with = |file: &str, env: &[(&str, &str)], args: &[&str]| {
        place.write("longshore.toml", file);
        let mut command = place.command(&[&["jobs", "list"], args].concat());
        command.envs(env.iter().copied());
        place.said_by(command).code
    };
    let (database, url) = ("sqlite:longshore.db", "http://127.0.0.1:9");
    let file = format!("database = '{database}'\nurl = '{url}'\n");
    assert_eq!(with(&file, &[], &[]), 6);
    assert_eq!(with(&file, &[], &["-d", database]), 0);
    assert_eq!(with(&file, &[("LONGSHORE_DATABASE", database)], &[]), 0);
    assert_eq!(with(&file, &[("DATABASE_URL", database)], &[]), 0);
    assert_eq!(with(&file, &[("DATABASE_URL", database), ("LONGSHORE_URL", url)], &[]), 6);
    assert_eq!(with("", &[("DATABASE_URL", database)], &["--url", url]), 6);
    assert_eq!(with("", &[("LONGSHORE_URL", "")], &[]), 0);
    place.write("longshore.toml", "");

    // What works on a database alone says why, and takes the database if one is named.
    for (args, words) in [
        (&["migrate", "status"][..], "a server does not change its own schema"),
        (&["doctor"], "it looks at the database itself"),
        (&["serve"], "it is the server"),
        (&["dev", "--once"], "a server of its own"),
        (&["check-deploy"], "it decodes payloads whole"),
        (&["bench"], "it measures a database"),
    ] {
        let said = place.run(&[args, &["--url", url]].concat());
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains(words) && said.err.contains("--database"), "{said:?}");
        let mut command = place.command(args);
        command.env("LONGSHORE_URL", url);
        assert_eq!(place.said_by(command).code, 2, "nobody has named a database");
    }
    let mut command = place.command(&["migrate", "status"]);
    command.env("LONGSHORE_URL", url).env("LONGSHORE_DATABASE", database);
    assert_eq!(place.said_by(command).code, 0);

    // Options that have no counterpart.
    for args in [
        &["jobs", "count", "--exact"][..],
        &["jobs", "export", "--format", "csv", "--reveal"],
        &["jobs", "cancel", ID, "--by", "ann"],
        &["queues", "pause", "mail", "--by", "ann"],
    ] {
        let said = place.run(&[args, &["--url", url]].concat());
        assert_eq!(said.code, 2, "{said:?}");
        assert!(said.err.contains("does not work through a server"), "{said:?}");
    }
}

#[test]
fn plain_http_to_others_is_warned_of() {
    let place = Place::empty();
    let fake =
        Fake::that_says(answer("200 OK", "content-type: application/json\r\n", "{\"nodes\": []}"));
    let said = place.said_by(command_to(&place, &fake.url(), &["nodes", "list"]));
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    // This machine by a name that is not its loopback's.
    let open = format!("http://0.0.0.0:{}", fake.address.port());
    let said = place.said_by(command_to(&place, &open, &["nodes", "list"]));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.err.starts_with(&format!("warning: {open} is plain HTTP")), "{said:?}");
    for wrong in ["jobs.example", "ftp://x", "http://ann:pw4711@h"] {
        let said = place.said_by(command_to(&place, wrong, &["nodes", "list"]));
        assert_eq!(said.code, 2, "{said:?}");
        assert!(!said.err.contains("pw4711"), "{said:?}");
    }
}
