//! Deliveries to a receiver that does what a test says.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::http::Network;
use crate::http::testing::{Made, Receiver, open};

const MESSAGE: &str = r#"{"n": 12345678901234567890.10}"#;

fn job(url: &str) -> WebhookDelivery {
    WebhookDelivery::new(url, RawValue::from_string(MESSAGE.to_owned()).unwrap())
}

async fn deliver(http: &Http, job: &WebhookDelivery) -> Result<Delivered, KindError> {
    let message = Message { id: "the-job", now: UNIX_EPOCH + Duration::from_secs(1_614_265_330) };
    job.deliver(http, &message).await
}

async fn failure(http: &Http, job: &WebhookDelivery) -> (String, bool) {
    let error = deliver(http, job).await.expect_err("not taken");
    (error.to_string(), error.is_permanent())
}

#[test]
fn a_signature_is_that_of_standard_webhooks() {
    let body = RawValue::from_string(r#"{"test": 2432232314}"#.to_owned()).unwrap();
    let mut job = WebhookDelivery::new("https://example.com/", body);
    job.secret = Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned());
    let now = UNIX_EPOCH + Duration::from_secs(1_614_265_330);
    let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    let request = job.request(&Message { id, now }).unwrap();
    let signature = &request.headers()["webhook-signature"];
    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    for secret in ["", "whsec_", "whsec_MfKQ", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_~~~~"] {
        job.secret = Some(secret.to_owned());
        let error = job.check().unwrap_err().to_string();
        assert_eq!(error, "`secret` must be `whsec_` and 16 to 128 bytes in base64");
    }
}

#[tokio::test]
async fn a_message_is_sent_byte_for_byte_with_its_id() {
    let receiver = Receiver::of(&["HTTP/1.1 204 No Content\r\n\r\n"]).await;
    let mut job = job(&receiver.url());
    job.headers = [("X-Shop".to_owned(), "7".to_owned())].into();
    assert_eq!(deliver(&open(), &job).await.unwrap(), Delivered { status: 204 });
    assert_eq!(deliver(&open(), &job).await.unwrap(), Delivered { status: 204 });
    let heard = receiver.heard();
    let said = &heard[0];
    assert!(said.starts_with("POST /hook HTTP/1.1\r\n") && said.ends_with(MESSAGE), "{said}");
    for line in [
        "idempotency-key: the-job",
        "webhook-id: the-job",
        "x-shop: 7",
        "content-type: application/json",
    ] {
        assert!(said.contains(&format!("\r\n{line}\r\n")), "{line}: {said}");
    }
    assert!(!said.contains("webhook-signature"), "{said}");
    assert_eq!(heard[0], heard[1], "a repeat can be known");
}

#[tokio::test]
async fn what_the_receiver_says_decides() {
    let said = |answer: &'static str| async move {
        let receiver = Receiver::of(&[answer]).await;
        deliver(&open(), &job(&receiver.url())).await.expect_err("not taken")
    };
    for (answer, status, permanent) in [
        ("HTTP/1.1 500 Oh\r\ncontent-length: 6\r\n\r\ns3cret", 500, false),
        ("HTTP/1.1 404 No\r\ncontent-length: 0\r\n\r\n", 404, false),
        ("HTTP/1.1 429 Slow\r\ncontent-length: 0\r\n\r\n", 429, false),
        ("HTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n", 410, true),
        (
            "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1/\r\ncontent-length: 0\r\n\r\n",
            302,
            true,
        ),
    ] {
        let error = said(answer).await;
        assert_eq!(error.to_string(), format!("`url` answers {status}"));
        assert_eq!(error.is_permanent(), permanent, "{status}");
    }
    for (answer, seconds) in [
        ("HTTP/1.1 429 Slow\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n", 7),
        ("HTTP/1.1 503 Busy\r\nretry-after: 99999999\r\ncontent-length: 0\r\n\r\n", 86_400),
    ] {
        match said(answer).await {
            KindError::ComeLater { wait, .. } => {
                assert_eq!(wait, Duration::from_secs(seconds), "{answer}");
            }
            error => panic!("{answer}: {error}"),
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_too_long_or_none_is_a_failure_that_tells_nothing() {
    let long = "x".repeat(100_000);
    let long = format!("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{long}");
    let receiver = Receiver::of(&[long.as_str(), "220 smtp.internal ESMTP\r\n", ""]).await;
    let job = job(&receiver.url());
    let long = failure(&open(), &job).await;
    assert_eq!(long, ("`url` answers with more than 65536 bytes".to_owned(), false));
    for _ in 0..2 {
        assert_eq!(failure(&open(), &job).await, ("`url` gave no whole answer".to_owned(), false));
    }
}

#[tokio::test]
async fn addresses_around_this_machine_are_refused_however_they_are_written() {
    let receiver = Receiver::of(&["HTTP/1.1 204 No Content\r\n\r\n"]).await;
    let http = Http::new(Vec::new());
    let port = receiver.address.port();
    for (host, rule) in [
        ("127.0.0.1", "loopback"),
        ("2130706433", "loopback"),
        ("0x7f000001", "loopback"),
        ("0177.0.0.1", "loopback"),
        ("127.1", "loopback"),
        ("localhost", "loopback"),
        ("[::ffff:127.0.0.1]", "loopback"),
        ("[::1]", "this machine"),
        ("0.0.0.0", "this network"),
        ("10.0.0.1", "private"),
        ("169.254.169.254", "link-local"),
        ("[fd00::1]", "unique local"),
        ("[64:ff9b::7f00:1]", "loopback"),
    ] {
        let (words, permanent) = failure(&http, &job(&format!("http://{host}:{port}/"))).await;
        let either = host == "localhost" && words.contains("this machine");
        assert!(
            either || words == format!("`url` leads to an address that is not allowed ({rule})"),
            "{host}: {words}"
        );
        assert!(permanent, "{host}");
    }
    assert!(receiver.heard().is_empty(), "nobody was spoken to");
}

#[tokio::test]
async fn a_name_that_leads_elsewhere_the_second_time_is_refused_then() {
    let receiver = Receiver::of(&["HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n"]).await;
    let network = Made::of(&[&["8.8.8.8"], &["127.0.0.1"], &["8.8.4.4"]], receiver.address);
    let http = Http::with(Vec::new(), Arc::clone(&network) as Arc<dyn Network>);
    let job = job("http://rebind.example/");
    let failed = ("`url` answers 500".to_owned(), false);
    let refused = ("`url` leads to an address that is not allowed (loopback)".to_owned(), true);
    assert_eq!(failure(&http, &job).await, failed);
    assert_eq!(failure(&http, &job).await, refused);
    assert_eq!(failure(&http, &job).await, failed);
    // Looked up once for each connection, and that address is the one that is spoken to.
    assert_eq!(network.reached(), ["8.8.8.8", "8.8.4.4"]);
    let nowhere = ("`url` has a name that leads to no address".to_owned(), false);
    assert_eq!(failure(&http, &job).await, nowhere);
}

#[tokio::test]
async fn one_address_of_several_that_is_refused_is_enough() {
    let receiver = Receiver::of(&["HTTP/1.1 204 No Content\r\n\r\n"]).await;
    let network = Made::of(&[&["8.8.8.8", "10.0.0.1"]], receiver.address);
    let http = Http::with(Vec::new(), Arc::clone(&network) as Arc<dyn Network>);
    let (words, _) = failure(&http, &job("http://x.example/")).await;
    assert_eq!(words, "`url` leads to an address that is not allowed (private)");
    assert!(network.reached().is_empty());
}
