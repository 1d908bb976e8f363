//! What servers say, and how it is taken.

use std::time::{Duration, Instant};

use longshore_kinds::{KindError, Mailer, SmtpConfig, SmtpSecurity};

use super::server::Server;
use super::{MESSAGE_ID, certificate, config, runtime, send, to};

/// A refusal: its words, and whether it is for good.
fn refused(config: SmtpConfig, recipient: &str) -> (String, bool) {
    let error = send(config, &to(recipient)).expect_err("it is not taken");
    assert!(matches!(error, KindError::Mail { .. }), "{error:?}");
    (error.to_string(), error.is_permanent())
}

#[test]
fn a_mail_is_taken_whole_and_the_answer_says_so() {
    let Some(mut server) = Server::start(&[]) else { return };
    let sent = send(config(server.port), &to("anna")).expect("it is taken");
    assert_eq!((sent.message_id.as_str(), sent.response.as_str()), (MESSAGE_ID, "250 2.0.0 taken"));
    let took = server.took();
    assert_eq!(took["from"], "shop@example.com");
    assert_eq!(took["to"], serde_json::json!(["anna@example.org"]));
    let message = took["message"].as_str().unwrap();
    for header in [
        "From: \"The Shop\" <shop@example.com>\r\n",
        "To: anna@example.org\r\n",
        "Subject: Your order\r\n",
        &format!("Message-ID: {MESSAGE_ID}\r\n"),
        "Date: ",
    ] {
        assert!(message.contains(header), "{header} is not in {message}");
    }
    assert!(message.ends_with("\r\n\r\nIt is on its way.\r\n.\r\nBye\r\n"), "{message}");
}

#[test]
fn what_a_server_never_takes_is_for_good_and_what_it_takes_later_is_not() {
    let Some(server) = Server::start(&[]) else { return };
    for (recipient, words, permanent) in [
        ("mail-554", "could not hand over the mail: 554 5.1.1 nobody here", true),
        ("mail-451", "could not hand over the mail: 451 4.2.0 come again", false),
        (
            "refuse-550",
            "could not name the recipients: 1 of 1 refused, so nobody gets it: `to[0]`: 550 5.1.1 nobody here",
            true,
        ),
        (
            "later-450",
            "could not name the recipients: 1 of 1 refused, so nobody gets it: `to[0]`: 450 4.2.0 come again",
            false,
        ),
    ] {
        let error = send(config(server.port), &to(recipient)).expect_err("refused");
        assert_eq!((error.to_string().as_str(), error.is_permanent()), (words, permanent));
    }
}

#[test]
fn with_one_recipient_refused_nobody_gets_it_and_each_refused_is_named() {
    let Some(mut server) = Server::start(&[]) else { return };
    let name = |name: &str| format!("{name}@example.org");
    let mut job = to("anna");
    job.cc = vec![name("later-450"), name("bert")];
    job.bcc = vec![name("refuse-550")];
    let error = send(config(server.port), &job).expect_err("refused");
    assert!(error.is_permanent(), "{error}");
    let words = "2 of 4 refused, so nobody gets it: `cc[0]`: 450 4.2.0 come again; `bcc[0]`: 550";
    assert!(error.to_string().contains(words), "{error}");
    // With the one who is never taken left out, it is worth another attempt.
    job.bcc.clear();
    assert!(!send(config(server.port), &job).expect_err("refused").is_permanent());
    // The next one that it took is another mail: of these it got none.
    send(config(server.port), &to("carl")).expect("it is taken");
    assert_eq!(server.took()["to"], serde_json::json!(["carl@example.org"]));
}

#[test]
fn silence_and_cut_connections_are_worth_another_attempt() {
    let Some(mut server) = Server::start(&[]) else { return };
    let short = SmtpConfig { timeout: Duration::from_millis(300), ..config(server.port) };
    let from = Instant::now();
    let (words, permanent) = refused(short.clone(), "slow");
    assert_eq!(words, "could not hand over the mail: the server did not answer within 3s");
    let (silent, _) = refused(short, "silent");
    assert_eq!(silent, "could not name the recipients: the server did not answer within 300ms");
    assert!(!permanent && from.elapsed() < Duration::from_secs(8), "{:?}", from.elapsed());
    for cut in ["cut", "cut-after"] {
        let (words, permanent) = refused(config(server.port), cut);
        assert!(words.starts_with("could not hand over the mail: ") && !permanent, "{words}");
    }
    // It had the second one; another attempt is the same mail by its id.
    let message = server.took()["message"].as_str().unwrap().to_owned();
    assert!(message.contains(MESSAGE_ID), "{message}");
    let nobody = refused(config(1), "anna");
    assert!(nobody.0.starts_with("could not connect: ") && !nobody.1, "{nobody:?}");
}

#[test]
fn what_a_server_says_is_bounded() {
    let Some(server) = Server::start(&[]) else { return };
    let (words, permanent) = refused(config(server.port), "endless");
    assert_eq!(words, "could not name the recipients: the server says too much");
    assert!(!permanent);
}

/// With a certificate, and told to become TLS.
fn secure(server: &Server) -> SmtpConfig {
    let ca_file = Some(certificate("ca.pem"));
    SmtpConfig { security: SmtpSecurity::StartTls, ca_file, ..config(server.port) }
}

fn with_certificate<'a>(certificate: &'a str, key: &'a str) -> Vec<&'a str> {
    vec!["--certificate", certificate, "--key", key]
}

#[test]
fn what_must_be_tls_is_tls_or_nothing() {
    let (chain, key) = (certificate("server.pem"), certificate("server.key"));
    let args = with_certificate(chain.to_str().unwrap(), key.to_str().unwrap());
    let Some(mut server) = Server::start(&args) else { return };
    send(secure(&server), &to("anna")).expect("it is taken");
    assert_eq!(server.took()["tls"], true);

    // At an address that the certificate does not name; of an authority that nobody knows.
    let Some(other) = Server::start(&[&args[..], &["--address", "127.0.0.2"]].concat()) else {
        return;
    };
    let elsewhere = SmtpConfig { server: format!("127.0.0.2:{}", other.port), ..secure(&other) };
    let unknown = SmtpConfig { ca_file: None, ..secure(&server) };
    for config in [elsewhere, unknown] {
        let (words, permanent) = refused(config, "anna");
        assert!(words.starts_with("could not begin TLS: ") && !permanent, "{words}");
        assert!(words.contains("certificate"), "{words}");
    }

    let Some(plain) = Server::start(&[]) else { return };
    let (words, permanent) = refused(secure(&plain), "anna");
    let none =
        "could not begin TLS: the server offers no STARTTLS, and nothing is sent in the clear";
    assert_eq!((words.as_str(), permanent), (none, false));

    let Some(early) = Server::start(&[&args[..], &["--inject"]].concat()) else { return };
    let (words, _) = refused(secure(&early), "anna");
    assert_eq!(words, "could not begin TLS: the server said more before TLS than its answer");

    let Some(mut implicit) = Server::start(&[&args[..], &["--implicit"]].concat()) else { return };
    let tls = SmtpConfig { security: SmtpSecurity::Tls, ..secure(&implicit) };
    send(tls.clone(), &to("anna")).expect("it is taken");
    assert_eq!(implicit.took()["tls"], true);
    let unknown = SmtpConfig { ca_file: None, ..tls };
    assert!(refused(unknown, "anna").0.starts_with("could not connect: "));
}

#[test]
fn a_wrong_password_is_the_operators_affair_and_is_shown_to_nobody() {
    let (chain, key) = (certificate("server.pem"), certificate("server.key"));
    let mut args = with_certificate(chain.to_str().unwrap(), key.to_str().unwrap());
    args.extend(["--user", "shop", "--password", "right horse"]);
    let Some(mut server) = Server::start(&args) else { return };
    let as_shop = |password: &str| SmtpConfig {
        user: "shop".to_owned(),
        password: password.into(),
        ..secure(&server)
    };
    let (right, wrong) = (as_shop("right horse"), as_shop("wrong horse"));
    assert!(!format!("{:?}", Mailer::new(wrong.clone())).contains("horse"));
    // It repeats the password; we do not.
    let (words, permanent) = refused(wrong, "anna");
    assert!(words.starts_with("could not sign in: 535 ") && !permanent, "{words}");
    assert!(!words.contains("horse"), "{words}");
    let nobody = secure(&server);
    let (words, permanent) = refused(nobody, "anna");
    assert!(words.starts_with("could not name the sender: 530 ") && !permanent, "{words}");
    send(right, &to("anna")).expect("it is taken");
    assert_eq!(server.took()["user"], "shop");
}

#[test]
fn a_server_that_turns_us_away_at_the_door_is_tried_again() {
    let Some(server) = Server::start(&["--greeting", "554 5.3.2 closed"]) else { return };
    let (words, permanent) = refused(config(server.port), "anna");
    assert!(words.starts_with("could not be greeted: 554 5.3.2 closed") && !permanent, "{words}");
}

#[test]
fn a_mail_that_is_dropped_half_way_leaves_no_connection() {
    let Some(server) = Server::start(&[]) else { return };
    let mailer = Mailer::new(config(server.port)).expect("good settings");
    let from = Instant::now();
    runtime().block_on(async {
        let job = to("silent");
        let sending = mailer.send(&job, "dropped");
        assert!(tokio::time::timeout(Duration::from_millis(500), sending).await.is_err());
    });
    assert!(from.elapsed() < Duration::from_secs(1), "{:?}", from.elapsed());
    while server.connections() > 0 {
        assert!(from.elapsed() < Duration::from_secs(5), "it is still connected");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    let refused = |config: SmtpConfig| Mailer::new(config).expect_err("it makes no sense");
    let base = || SmtpConfig { server: "mail.example.org:587".to_owned(), ..SmtpConfig::default() };
    let named = |server: &str| SmtpConfig { server: server.to_owned(), ..base() };
    for server in ["", "mail.example.org", "mail.example.org:0", ":25", "a b:25", "x:99999"] {
        assert!(refused(named(server)).starts_with("smtp_server is"), "{server}");
    }
    Mailer::new(named("[::1]:25")).expect("an address of IPv6");
    let half = SmtpConfig { user: "shop".to_owned(), ..base() };
    assert!(refused(half).contains("belong together"));
    let open = SmtpConfig {
        user: "shop".to_owned(),
        password: "hush hush".into(),
        security: SmtpSecurity::None,
        ..base()
    };
    assert!(refused(open.clone()).starts_with("smtp_security = \"none\" would show the password"));
    Mailer::new(SmtpConfig { server: "localhost:25".to_owned(), ..open }).expect("nobody listens");
    let senders = SmtpConfig { senders: vec!["@".to_owned()], ..base() };
    assert!(refused(senders).starts_with("smtp_senders has `@`"));
    let missing = SmtpConfig { ca_file: Some("/nowhere/ca.pem".into()), ..base() };
    assert!(refused(missing).starts_with("smtp_ca_file is /nowhere/ca.pem: "));
    let empty = SmtpConfig { ca_file: Some("/dev/null".into()), ..base() };
    assert!(refused(empty).contains("there is no certificate in it"));
}
