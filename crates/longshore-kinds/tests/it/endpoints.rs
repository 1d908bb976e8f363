//! Summaries by a model, and what takes their place when it has none.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use longshore_kinds::{Endpoint, EndpointConfig, KindError, SummarizeText, Summary, summarize_by};
use serde_json::{Value, json};

const TEXT: &str = "Rain fell on the roof. The roof let the rain in. He ate.";
const KEY: &str = "sk-98765 x";

/// A server that gives each connection the next of some answers, and the port that it listens on.
fn server(answers: Vec<Vec<u8>>) -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it listens").port();
    let (tell, asked) = channel();
    std::thread::spawn(move || {
        for answer in answers {
            let (mut client, _) = listener.accept().expect("a client");
            let _ = tell.send(request(&mut client));
            if answer.is_empty() {
                std::thread::sleep(Duration::from_secs(5));
            }
            let _ = client.write_all(&answer);
        }
    });
    (port, asked)
}

fn request(client: &mut TcpStream) -> String {
    let (mut text, mut piece) = (String::new(), [0; 4_096]);
    loop {
        let read = client.read(&mut piece).expect("a request");
        text.push_str(std::str::from_utf8(&piece[..read]).expect("text"));
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.to_lowercase().lines().find_map(|line| {
            line.strip_prefix("content-length: ").map(|length| length.parse::<usize>().unwrap())
        });
        if body.len() >= length.unwrap_or(0) {
            return text;
        }
    }
}

fn http(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
        .into()
}

fn says(content: Value) -> Vec<u8> {
    http("200 OK", &json!({"choices": [{"message": {"content": content}}]}).to_string())
}

fn config(port: u16) -> EndpointConfig {
    EndpointConfig {
        url: format!("http://127.0.0.1:{port}/v1/"),
        key: KEY.into(),
        model: "small".to_owned(),
        timeout: Duration::from_secs(5),
    }
}

fn asked(config: EndpointConfig, max_words: u32, is_last: bool) -> Result<Summary, KindError> {
    let endpoint = Endpoint::new(config).expect("good settings");
    assert!(!format!("{endpoint:?}").contains("98765"));
    let job = SummarizeText { text: TEXT.to_owned(), max_words };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let ended = runtime.block_on(summarize_by(&endpoint, job, is_last));
    runtime.shutdown_background();
    ended
}

#[test]
fn the_model_is_asked_and_its_words_are_the_summary() {
    let (port, requests) = server(vec![says(json!(" It rained in.\nHe ate all the same. "))]);
    let summary = asked(config(port), 10, false).expect("a summary");
    assert_eq!(summary.summary, "It rained in. He ate all the same.");
    assert_eq!((summary.words, summary.sentences, summary.of_sentences), (8, 2, 3));
    assert_eq!((summary.method.as_str(), summary.model.as_deref()), ("endpoint", Some("small")));
    assert_eq!(summary.fallback, None);
    let request = requests.recv().unwrap();
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("authorization: Bearer {KEY}\r\n")), "{request}");
    let (_, body) = request.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["model"], &body["messages"][1]["content"]), (&"small".into(), &TEXT.into()));
    assert!(body["messages"][0]["content"].as_str().unwrap().contains("at most 10 words"));
}

#[test]
fn only_sentences_that_fit_are_taken() {
    let (port, _requests) = server(vec![says(json!("One two three. Four five six. Seven."))]);
    let summary = asked(config(port), 5, false).expect("a summary");
    assert_eq!((summary.summary.as_str(), summary.method.as_str()), ("One two three.", "endpoint"));
}

/// The reason why a summary is extractive.
fn fallback(answer: Vec<u8>, is_last: bool) -> String {
    let (port, _requests) = server(vec![answer]);
    let summary = asked(config(port), 6, is_last).expect("a summary all the same");
    assert_eq!((summary.method.as_str(), summary.model), ("extractive", None));
    assert_eq!(summary.summary, "The roof let the rain in.");
    let why = summary.fallback.expect("a reason");
    why.strip_prefix("the model's endpoint ").expect("it is named").to_owned()
}

#[test]
fn nonsense_and_refusals_for_good_give_way_to_the_texts_own_sentences() {
    let refusal = r#"{"error": {"message": "no such key: sk-98765 x\n"}}"#;
    let elsewhere =
        b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    let endless = format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(2 << 20));
    for (answer, why) in [
        (http("200 OK", "<html>"), "answers with something that is no completion"),
        (http("200 OK", "{}"), "answers with something that is no completion"),
        (http("200 OK", r#"{"choices": []}"#), "answers with no words"),
        (says(Value::Null), "answers with no words"),
        (says(json!(" ... ")), "answers with no words"),
        (says(json!("a b c d e f g")), "answers with a first sentence of over 6 words"),
        (http("401 Unauthorized", refusal), "answers 401: no such key: ***"),
        (http("404 Not Found", ""), "answers 404"),
        (elsewhere.to_vec(), "answers 302"),
        (endless.into_bytes(), "answers with more than 1048576 bytes"),
    ] {
        assert_eq!(fallback(answer, false), why);
    }
}

#[test]
fn what_passes_is_tried_again_and_at_the_last_attempt_gives_way() {
    for (answer, why) in [
        (http("500 Oh", ""), "answers 500"),
        (http("429 Slow", r#"{"error": {"message": "later"}}"#), "answers 429: later"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nx".to_vec(), "breaks off its answer"),
        (b"nonsense\r\n\r\n".to_vec(), "does not answer: invalid HTTP version parsed"),
    ] {
        let (port, _requests) = server(vec![answer.clone()]);
        let error = asked(config(port), 6, false).expect_err("another attempt may help");
        assert_eq!(error.to_string(), format!("the model's endpoint {why}"));
        assert!(!error.is_permanent());
        assert_eq!(fallback(answer, true), why);
    }
    let away = asked(config(1), 6, false).expect_err("nobody is there").to_string();
    assert!(away.starts_with("the model's endpoint cannot be reached: "), "{away}");
    let (port, _requests) = server(vec![Vec::new()]);
    let slow = EndpointConfig { timeout: Duration::from_millis(200), ..config(port) };
    let from = Instant::now();
    let error = asked(slow, 6, false).expect_err("it is slow").to_string();
    assert_eq!(error, "the model's endpoint does not answer within 200ms");
    assert!(from.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_payload_is_refused_before_anybody_is_asked() {
    let endpoint = Endpoint::new(config(1)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (text, max_words) in [("", 10), ("...", 10), ("a", 0)] {
        let job = SummarizeText { text: text.to_owned(), max_words };
        let error = runtime.block_on(summarize_by(&endpoint, job, false)).expect_err(text);
        assert!(matches!(error, KindError::Payload { .. }), "{error}");
    }
}

#[test]
fn settings_that_make_no_sense_are_refused_by_name() {
    for url in ["", "x", "ftp://x/v1", "http://", "http://a:b@x/v1", "http://x/v1?a=b"] {
        let config = EndpointConfig { url: url.to_owned(), ..config(1) };
        assert!(Endpoint::new(config).expect_err(url).starts_with("summary_url is "), "{url}");
    }
    let nobody = EndpointConfig { model: String::new(), ..config(1) };
    assert!(Endpoint::new(nobody).unwrap_err().starts_with("summary_model is empty"));
    let odd = EndpointConfig { key: "a\nb98765".into(), ..config(1) };
    let words = Endpoint::new(odd).unwrap_err();
    assert!(words.starts_with("summary_key has") && !words.contains("98765"), "{words}");
}
