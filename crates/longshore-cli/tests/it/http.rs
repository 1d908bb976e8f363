//! `serve --listen`: the API of the built executable, over a socket.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::harness::{Place, Server, both};

both!(
    a_job_that_comes_over_http_runs,
    nobody_is_let_in_by_default,
    metrics_are_open_only_where_somebody_said_so,
    a_server_that_stops_is_not_ready_and_still_answers,
);

/// The address that it listens on.
pub fn address(server: &Server) -> String {
    let log = server.log();
    let (_, rest) = log.split_once("serving the API on http://").expect("said before it joined");
    rest.chars().take_while(|c| c.is_ascii_digit() || matches!(c, '.' | ':')).collect()
}

/// The status and the body.
fn ask(address: &str, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{kind}content-length: {length}\r\n\r\n{body}"
    )
    .expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
    (
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status"),
        body.to_owned(),
    )
}

fn a_job_that_comes_over_http_runs(place: Place) {
    place.write("longshore.toml", "[http]\nanonymous = 'operator'");
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    let address = address(&server);
    let (status, body) = ask(
        &address,
        "POST",
        "/api/v1/jobs",
        r#"{"kind": "noop", "payload": {"n": 12345678901234567890123.00}}"#,
    );
    assert_eq!(status, 201, "{body}");
    let id = serde_json::from_str::<Value>(&body).unwrap()["id"].as_str().unwrap().to_owned();
    let (status, body) = ask(&address, "GET", &format!("/api/v1/jobs/{id}/wait?timeout=30s"), "");
    assert_eq!(status, 200, "{body}");
    assert!(
        body.contains(r#""state":"succeeded""#)
            && body.contains(r#"{"n": 12345678901234567890123.00}"#),
        "{body}"
    );
    assert_eq!(place.state(&id), "succeeded");
    // An operator removes nothing.
    assert_eq!(ask(&address, "DELETE", &format!("/api/v1/jobs/{id}"), "").0, 403);
}

fn nobody_is_let_in_by_default(place: Place) {
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    let address = address(&server);
    assert_eq!(ask(&address, "GET", "/livez", "").0, 200);
    assert_eq!(ask(&address, "GET", "/readyz", "").0, 200);
    assert_eq!(ask(&address, "GET", "/api/v1/jobs", "").0, 401);

    place.write("longshore.toml", "[http]\nanonymous = 'viewer'\nlisten = '0.0.0.0:0'");
    let said = place.run(&["serve"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("http.anonymous is for loopback addresses alone"), "{said:?}");
    for (listen, words) in
        [("here", "http.listen is `here`"), ("192.0.2.1:1", "could not listen on 192.0.2.1:1")]
    {
        // Open metrics, or it would ask for a token before it listens.
        place.write("longshore.toml", "[http]\nmetrics_open = true");
        let said = place.run(&["serve", "--listen", listen]);
        assert!(said.code != 0 && said.err.contains(words), "{said:?}");
    }
}

fn metrics_are_open_only_where_somebody_said_so(place: Place) {
    let closed = place.serve(&["--listen", "127.0.0.1:0"]);
    assert_eq!(ask(&address(&closed), "GET", "/metrics", "").0, 401);
    closed.signal("TERM");
    assert_eq!(closed.ended(), Some(0));

    // A variable holds a text, a file a value.
    for (variable, file) in [("true", ""), ("", "[http]\nmetrics_open = true")] {
        place.write("longshore.toml", file);
        let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.env("LONGSHORE_HTTP__METRICS_OPEN", variable);
        let server = Server::start(command);
        server.until_log("joined");
        let address = address(&server);
        let (status, page) = ask(&address, "GET", "/metrics", "");
        assert_eq!(status, 200, "{page}");
        assert!(page.contains("longshore_slots{queue=\"default\"} 10\n"), "{page}");
        assert_eq!(ask(&address, "GET", "/api/v1/jobs", "").0, 401, "it opens nothing else");
    }

    // Without a token nobody could come in; but this they may see.
    place.write("longshore.toml", "[http]\nlisten = '0.0.0.0:0'");
    let said = place.run(&["serve"]);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("make a token or a user first"), "{said:?}");
    place.write("longshore.toml", "[http]\nlisten = '0.0.0.0:0'\nmetrics_open = true");
    let server = place.serve(&[]);
    let here = address(&server).replace("0.0.0.0", "127.0.0.1");
    assert_eq!(ask(&here, "GET", "/metrics", "").0, 200);
    assert_eq!(ask(&here, "GET", "/api/v1/jobs", "").0, 401);

    place.write("longshore.toml", "");
    let mut wrong = place.command(&["migrate", "up"]);
    wrong.env("LONGSHORE_HTTP__METRICS_OPEN", "perhaps");
    let said = place.said_by(wrong);
    assert_eq!(said.code, 2, "{said:?}");
    assert!(said.err.contains("http.metrics_open: `perhaps`"), "{said:?}");
}

fn a_server_that_stops_is_not_ready_and_still_answers(place: Place) {
    let server = place.serve(&["--listen", "127.0.0.1:0"]);
    let address = address(&server);
    let id = place.enqueue(&["sleep", "--payload", r#"{"seconds": 3}"#]);
    place.until("it runs", || place.state(&id) == "running");
    server.signal("TERM");
    server.until_log("SIGTERM: stopping");
    assert_eq!(ask(&address, "GET", "/readyz", "").0, 503);
    assert_eq!(ask(&address, "GET", "/livez", "").0, 200);
    assert_eq!(server.ended(), Some(0));
    assert_eq!(place.state(&id), "succeeded");
}
