//! Jobs that send mails, from the command line to a mail server.

use std::time::{Duration, Instant};

use crate::harness::{Place, both};

#[path = "../../../longshore-kinds/tests/it/mails/server.rs"]
mod server;
use server::Server;

both!(
    a_mail_that_is_refused_once_comes_again_under_its_id,
    a_mail_that_is_never_taken_ends_its_job_at_once,
    a_job_that_is_told_to_stop_ends_within_a_second,
);

/// A node that hands its mails to a server which does what their recipients' names say.
fn with_server(place: &Place) -> Option<Server> {
    let server = Server::start(&[])?;
    place.write(
        "longshore.toml",
        format!(
            "[kinds]\nsmtp_server = '127.0.0.1:{}'\nsmtp_security = 'none'\n\
             smtp_from = 'Shop <shop@example.com>'\n",
            server.port
        ),
    );
    Some(server)
}

fn payload(recipient: &str) -> String {
    format!(r#"{{"to": ["{recipient}@example.org"], "subject": "Hello", "text": "Hello!"}}"#)
}

fn a_mail_that_is_refused_once_comes_again_under_its_id(place: Place) {
    let place = place.migrated();
    let Some(mut server) = with_server(&place) else { return };
    let _node = place.serve(&[]);
    let id = place.enqueue(&[
        "send_email",
        "--payload",
        &payload("once-451"),
        "--backoff",
        "fixed:100ms",
    ]);
    place.until("it is sent", || place.state(&id) == "succeeded");
    let job = place.json(&["jobs", "show", &id]);
    let message_id = format!("<{id}@example.com>");
    assert_eq!(job["attempt"], 2, "{job}");
    assert_eq!(job["output"]["message_id"], *message_id, "{job}");
    assert_eq!(job["output"]["response"], "250 2.0.0 taken", "{job}");
    assert!(job["errors"][0]["message"].as_str().unwrap().contains("451 4.2.0 come again"));
    for attempt in [server.took(), server.took()] {
        assert!(attempt["message"].as_str().unwrap().contains(&message_id), "{attempt}");
    }
}

fn a_mail_that_is_never_taken_ends_its_job_at_once(place: Place) {
    let place = place.migrated();
    let Some(_server) = with_server(&place) else { return };
    let _node = place.serve(&[]);
    let refused =
        |payload: &str| place.run(&["enqueue", "send_email", "--payload", payload, "--wait"]);
    let dead = refused(&payload("refuse-550"));
    assert_eq!(dead.code, 8, "{dead:?}");
    assert!(dead.err.contains("`to[0]`: 550 5.1.1 nobody here"), "{dead:?}");
    let injected =
        refused(r#"{"to": ["a@example.org"], "subject": "x\r\nBcc: b@example.org", "text": ""}"#);
    assert_eq!(injected.code, 8, "{injected:?}");
    assert!(injected.err.contains("`subject` has a line break"), "{injected:?}");
}

fn a_job_that_is_told_to_stop_ends_within_a_second(place: Place) {
    let place = place.migrated();
    let Some(server) = with_server(&place) else { return };
    let _node = place.serve(&[]);
    let silent = payload("silent");
    let id = place.enqueue(&["send_email", "--payload", &silent]);
    place.until("it is on its way", || server.connections() == 1);
    let from = Instant::now();
    assert_eq!(place.run(&["jobs", "cancel", &id]).code, 0);
    // The cancel is read every half second where nobody is told of it.
    place.until("it is left", || server.connections() == 0);
    assert!(from.elapsed() < Duration::from_secs(3), "{:?}", from.elapsed());
    place.until("it is cancelled", || place.state(&id) == "cancelled");

    let args = ["--timeout", "300ms", "--max-attempts", "1", "--wait"];
    let from = Instant::now();
    let late = place.run(&[&["enqueue", "send_email", "--payload", &silent][..], &args].concat());
    assert_eq!(late.code, 8, "{late:?}");
    assert!(from.elapsed() < Duration::from_secs(5), "{:?}", from.elapsed());
}

#[test]
fn settings_of_mail_are_refused_by_their_names() {
    let place = Place::empty().migrated();
    let said = |toml: &str| {
        place.write(
            "longshore.toml",
            format!("[kinds]\nsmtp_server = 'mail.example.org:587'\n{toml}"),
        );
        let said = place.run(&["serve"]);
        assert_ne!(said.code, 0, "{said:?}");
        assert!(!said.err.contains("hush"), "{said:?}");
        said.err
    };
    for (toml, sentence) in [
        ("smtp_security = 'ssl'", "kinds.smtp_security: it is one of starttls, tls and none"),
        ("smtp_from = 'shop'", "kinds.smtp_from: `shop` is no address"),
        ("smtp_user = 'shop'", "kinds.smtp_user and smtp_password belong together"),
        (
            "smtp_user = 'shop'\nsmtp_password = 'hush hush'\nsmtp_security = 'none'",
            "kinds.smtp_security = \"none\" would show the password",
        ),
        (
            "smtp_password = 'hush hush'\nsmtp_password_file = 'p'",
            "kinds.smtp_password and kinds.smtp_password_file are both set",
        ),
        ("smtp_password_file = 'nowhere'", "kinds.smtp_password_file is nowhere: "),
        ("smtp_password = ['hush']", "text, in quotes"),
        ("smtp_senders = 'shop'", "kinds.smtp_senders has `shop`"),
        ("smtp_timeout = '0x'", "`0x` is no span of time"),
    ] {
        let err = said(toml);
        assert!(err.contains(sentence), "{toml}: {err}");
    }
}
