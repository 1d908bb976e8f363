//! A build without the feature `otel`, where the environment names a collector.

use crate::harness::{Place, Server};

const WORDS: &str = "built without the cargo feature `otel`";

/// What a short `dev` logs, with these variables.
fn logged(variables: &[(&str, &str)]) -> String {
    let place = Place::empty();
    let mut command = place.command(&["dev", "--once", "--no-http"]);
    command.envs(variables.iter().copied());
    place.said_by(command).err
}

#[test]
fn a_worker_says_once_that_it_sends_no_spans() {
    for variable in ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] {
        let log = logged(&[(variable, "http://ann:pw4711@127.0.0.1:4318")]);
        assert_eq!(log.matches(WORDS).count(), 1, "{log}");
        assert!(log.contains(variable) && !log.contains("pw4711"), "{log}");
    }
    let place = Place::empty();
    let mut command = place.command(&["serve", "--queue", "default=1"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    let server = Server::start(command);
    server.until_log(WORDS);
}

#[test]
fn it_says_nothing_where_nothing_is_asked_for_or_nobody_runs_jobs() {
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
    for variables in [
        &[][..],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", "")],
        &[endpoint, ("OTEL_SDK_DISABLED", "true")],
        &[endpoint, ("OTEL_TRACES_EXPORTER", "none")],
    ] {
        let log = logged(variables);
        assert!(!log.contains(WORDS), "{variables:?}: {log}");
    }
    let place = Place::empty().migrated();
    let mut command = place.command(&["enqueue", "noop"]);
    command.envs([endpoint]);
    assert_eq!(place.said_by(command).err, "");
}
