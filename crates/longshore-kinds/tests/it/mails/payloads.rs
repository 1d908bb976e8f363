//! What a payload may say, and that nothing of it becomes a header or a command of its own.

use longshore_kinds::{Attachment, KindError, MAX_LINE_BYTES, SendEmail, SmtpConfig};

use super::server::Server;
use super::{config, send, to};

fn refusal(job: &SendEmail) -> String {
    let error = job.check(&config(25)).expect_err("it is refused");
    assert!(error.is_permanent(), "{error}");
    assert!(matches!(error, KindError::Payload { .. } | KindError::TooLarge { .. }), "{error:?}");
    error.to_string()
}

fn attachment(name: &str) -> Attachment {
    Attachment {
        name: name.to_owned(),
        content_type: "text/plain".to_owned(),
        content: "aGVs\r\nbG8K".to_owned(), // ends in a line end of Unix
    }
}

/// Whatever is one line is put here.
fn with_line(field: &str, line: &str) -> SendEmail {
    let (text, mut job) = (line.to_owned(), to("anna"));
    match field {
        "to" => job.to = vec![text],
        "cc" => job.cc = vec![text],
        "bcc" => job.bcc = vec![text],
        "from" => job.from = Some(text),
        "reply_to" => job.reply_to = Some(text),
        "subject" => job.subject = text,
        "headers" => job.headers = [("X-Shop".to_owned(), text)].into(),
        "attachments" => job.attachments = vec![attachment(line)],
        other => panic!("{other}"),
    }
    job
}

const LINES: [&str; 8] =
    ["to", "cc", "bcc", "from", "reply_to", "subject", "headers", "attachments"];

#[test]
fn no_line_can_become_two() {
    for field in LINES {
        for end in ["\r\n", "\n", "\r", "\0", "\u{85}", "\u{2028}", "\u{b}"] {
            let line = format!("anna@example.org{end}Bcc: everybody@example.org");
            let words = refusal(&with_line(field, &line));
            let expected = "has a line break or another control character";
            assert_eq!(words, format!("`{field}` {expected}"), "{end:?}");
        }
        let long = refusal(&with_line(field, &"x".repeat(MAX_LINE_BYTES + 1)));
        assert_eq!(long, format!("`{field}` is too large: 901 bytes, the limit is 900"));
    }
}

#[test]
fn addresses_are_whole_addresses() {
    for bad in [
        "",
        "anna",
        "@example.org",
        "anna@",
        "anna@example.org, bert@example.org",
        "anna@example.org bert@example.org",
        "Anna <anna@example.org",
        "Anna <anna@example.org> <bert@example.org>",
        "anna@example.org, Bert <bert@example.org>",
        "anna@example.org>",
        "<anna@example.org> SIZE=1",
        "\"a b\"@example.org",
        "\"a>b\"@example.org",
        "anna@exa mple.org",
        "anna@example.org\u{0}",
    ] {
        for field in ["to", "cc", "bcc", "reply_to"] {
            let words = with_line(field, bad).check(&config(25));
            let words = words.expect_err(bad).to_string();
            assert!(words.starts_with(&format!("`{field}` has ")), "{bad}: {words}");
        }
    }
    for good in ["anna@example.org", "Anna <anna+x@example.org>", "<anna@[127.0.0.1]>"] {
        with_line("to", good).check(&config(25)).unwrap_or_else(|error| panic!("{good}: {error}"));
    }
}

#[test]
fn only_allowed_senders_are_said_to_have_written() {
    let from = |from: &str, senders: &[&str]| {
        let senders = senders.iter().map(|&entry| entry.to_owned()).collect();
        let config = SmtpConfig { senders, ..config(25) };
        with_line("from", from).check(&config).map_err(|error| error.to_string())
    };
    assert_eq!(from("shop@EXAMPLE.com", &[]), Ok(()));
    let refused = Err("`from` is a sender that the operator did not allow".to_owned());
    assert_eq!(from("boss@example.com", &[]), refused);
    assert_eq!(from("Boss <boss@example.com>", &["boss@example.com"]), Ok(()));
    assert_eq!(from("any@News.example.com", &["@news.example.com"]), Ok(()));
    assert_eq!(from("any@x.news.example.com", &["@news.example.com"]), refused);
    let nobody = SmtpConfig { from: None, ..config(25) };
    let words = to("anna").check(&nobody).expect_err("nobody wrote it").to_string();
    assert_eq!(words, "`from` is missing, and the operator has set none");
}

#[test]
fn headers_of_mail_itself_are_not_for_payloads() {
    let named = |name: &str| SendEmail {
        headers: [(name.to_owned(), "x".to_owned())].into(),
        ..to("anna")
    };
    for name in ["From", "BCC", "message-id", "Content-Type", "Resent-To", "Received", "Sender"] {
        let expected = format!("`headers` has `{name}`, which is not for payloads to set");
        assert_eq!(refusal(&named(name)), expected);
    }
    for name in ["", "X Y", "X:", "Ü", "X\r\nBcc", &"x".repeat(65)] {
        assert!(refusal(&named(name)).contains("which is no name of a header"), "{name:?}");
    }
    let twice = [("X-a".to_owned(), String::new()), ("x-A".to_owned(), String::new())];
    assert!(refusal(&SendEmail { headers: twice.into(), ..to("anna") }).contains("there twice"));
}

#[test]
fn what_is_too_much_or_nothing_is_refused_with_its_limit() {
    let nobody = SendEmail { to: Vec::new(), ..to("anna") };
    assert_eq!(refusal(&nobody), "`to` names nobody, and neither do `cc` and `bcc`");
    let empty = SendEmail { text: None, ..to("anna") };
    assert_eq!(refusal(&empty), "`text` is missing, and so are `html` and `attachments`");
    let many = SendEmail { cc: vec!["bert@example.org".to_owned(); 50], ..to("anna") };
    assert_eq!(refusal(&many), "`cc` is too large: 51 recipients, the limit is 50");
    let long = SendEmail { text: Some("x".repeat(11 << 20)), ..to("anna") };
    assert!(refusal(&long).starts_with("`payload` is too large: "), "{}", refusal(&long).len());
    let files = SendEmail { attachments: vec![attachment("a"); 33], ..to("anna") };
    assert_eq!(refusal(&files), "`attachments` is too large: 33 files, the limit is 32");
    let nul = SendEmail { html: Some("a\0b".to_owned()), ..to("anna") };
    assert_eq!(refusal(&nul), "`html` has a NUL, which no mail can have");
    let one = |file: Attachment| SendEmail { attachments: vec![file], ..to("anna") };
    for name in ["", "../a", "a\\b"] {
        assert!(refusal(&one(attachment(name))).contains("which is no name of a file"));
    }
    for kind in ["", "text", "multipart/mixed", "Message/rfc822", "text/plain; x=\"", "text/ä"] {
        let file = Attachment { content_type: kind.to_owned(), ..attachment("a") };
        assert!(refusal(&one(file)).contains("whose `content_type`"), "{kind}");
    }
    let file = Attachment { content: "a".to_owned(), ..attachment("a") };
    assert!(refusal(&one(file)).contains("whose `content` is not base64"));
}

#[test]
fn everything_a_mail_may_have_arrives() {
    let Some(mut server) = Server::start(&[]) else { return };
    let job = SendEmail {
        to: vec!["\"Müller, Anna\" <anna@example.org>".to_owned()],
        cc: vec!["bert@example.org".to_owned()],
        bcc: vec!["secret@example.org".to_owned()],
        reply_to: Some("help@example.com".to_owned()),
        subject: "Grüße 猫".to_owned(),
        text: Some("Zeile\r.\rEnde: ä\r\n".to_owned()),
        html: Some("<p>ä</p>".to_owned()),
        attachments: vec![attachment("Rechnung Müller.txt"), attachment("b.txt")],
        headers: [("List-Unsubscribe".to_owned(), "<https://example.com/u?x=1>".to_owned())].into(),
        ..to("anna")
    };
    send(config(server.port), &job).expect("it is taken");
    let took = server.took();
    let all = serde_json::json!(["anna@example.org", "bert@example.org", "secret@example.org"]);
    assert_eq!(took["to"], all);
    let message = took["message"].as_str().unwrap();
    assert!(message.is_ascii() && !message.contains("secret@"), "{message}");
    let read = read(message);
    assert_eq!(read["subject"], "Grüße 猫");
    assert_eq!(read["to"], "Müller, Anna <anna@example.org>");
    assert_eq!(read["unsubscribe"], "<https://example.com/u?x=1>");
    assert_eq!(read["text"], "Zeile\n.\nEnde: ä\n");
    assert_eq!(read["html"], "<p>ä</p>");
    let files = serde_json::json!([["Rechnung Müller.txt", "hello\n"], ["b.txt", "hello\n"]]);
    assert_eq!(read["files"], files);
    // The message itself is what it was before it was dotted for the way.
    assert!(!message.contains("\r\n.."), "{message}");
}

/// As Python reads it: somebody else's eyes.
fn read(message: &str) -> serde_json::Value {
    use std::io::Write;
    use std::process::{Command, Stdio};
    const SCRIPT: &str = r#"
import email, email.policy, json, sys
m = email.message_from_bytes(sys.stdin.buffer.read(), policy=email.policy.default)
a = m["To"].addresses[0]
print(json.dumps({
    "subject": m["Subject"],
    "to": f"{a.display_name} <{a.addr_spec}>",
    "unsubscribe": m["List-Unsubscribe"],
    "text": m.get_body(("plain",)).get_content().replace("\r\n", "\n"),
    "html": m.get_body(("html",)).get_content().strip(),
    "files": [[p.get_filename(), p.get_payload(decode=True).decode()] for p in m.iter_attachments()],
}))
"#;
    let mut python = Command::new("python3")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python runs");
    python.stdin.take().expect("piped").write_all(message.as_bytes()).expect("it reads");
    let said = python.wait_with_output().expect("it ends").stdout;
    serde_json::from_slice(&said).expect("JSON")
}
