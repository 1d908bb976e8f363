//! `#[derive(Job)]`: what it writes is what one would write by hand.

use std::time::Duration;

use longshore::job::{BoxError, Fields};
use longshore::{Backoff, Failure, Job, JobId, NewJob, OnConflict, Unique};
use serde::{Deserialize, Serialize};

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

/// A derived job, and the same options by hand.
fn same(derived: &impl Job, options: impl Fn(NewJob) -> NewJob) {
    let id = JobId::new();
    let by_hand = options(NewJob::new(kind(derived)).json(derived)).with_id(id);
    assert_eq!(format!("{:?}", derived.new_job().with_id(id)), format!("{by_hand:?}"));
}

fn kind<J: Job>(_: &J) -> &'static str {
    J::KIND
}

#[derive(Serialize, Deserialize, Job)]
#[job(kind = "plain")]
struct Plain;

#[derive(Serialize, Deserialize)]
struct MessageId(u64);

fn own_backoff(failure: &Failure<'_>) -> Option<Duration> {
    (failure.attempt > 1).then_some(SECOND)
}

#[derive(Serialize, Deserialize, Job)]
#[job(
    kind = "email.send",
    alias = ["mailer", "email"],
    output = MessageId,
    queue = "mail",
    priority = 2,
    run_in = "1m 30s",
    max_attempts = 8,
    backoff = exponential("5s", max = "1h"),
    backoff_with = own_backoff,
    timeout = "30s",
    retain = "7d",
    tags = ["mail", "user"],
    meta(team = "mail \"ä\"\n", tier = -2, loud = true, r#type = "x"),
    unique(by = [to, template], within = "10m", on_conflict = "replace", same_payload),
)]
struct SendEmail {
    to: String,
    template: String,
    reset_token: Option<String>,
}

fn email() -> SendEmail {
    let reset_token = Some("secret".to_owned());
    SendEmail { to: "ada@example.org".to_owned(), template: "welcome".to_owned(), reset_token }
}

#[test]
fn every_option_is_the_call_on_the_builder() {
    same(&Plain, |job| job);
    assert_eq!((Plain::ALIASES.len(), SendEmail::ALIASES), (0, &["mailer", "email"][..]));
    let _: <SendEmail as Job>::Output = MessageId(7);
    let _: <Plain as Job>::Output = ();
    same(&email(), |job| {
        let key = Fields::new().and("template", &"welcome").and("to", &"ada@example.org");
        job.queue("mail")
            .priority(2)
            .run_in(90 * SECOND)
            .max_attempts(8)
            .backoff(Backoff::Exponential { base_ms: 5_000, factor: 3, max_ms: 3_600_000 })
            .timeout(30 * SECOND)
            .retain(7 * DAY)
            .tag("mail")
            .tag("user")
            .meta("{\"team\":\"mail \\\"ä\\\"\\u000a\",\"tier\":-2,\"loud\":true,\"type\":\"x\"}")
            .unique(
                Unique::value(&key)
                    .within(600 * SECOND)
                    .on_conflict(OnConflict::Replace)
                    .same_payload(),
            )
    });
}

#[test]
fn backoffs_are_their_variants() {
    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", backoff = fixed("5s"), timeout = "none", alias = "old")]
    struct Fixed;
    same(&Fixed, |job| job.backoff(Backoff::fixed(5 * SECOND)).no_timeout());
    assert_eq!(Fixed::ALIASES, ["old"]);

    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", backoff = exponential("2h", factor = 2))]
    struct Exponential;
    let longest = Backoff::Exponential { base_ms: 7_200_000, factor: 2, max_ms: 7_200_000 };
    same(&Exponential, |job| job.backoff(longest.clone()));

    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", backoff = polynomial("500ms", max = "1m", exponent = 2))]
    struct Polynomial;
    let polynomial = Backoff::Polynomial { base_ms: 500, exponent: 2, max_ms: 60_000 };
    same(&Polynomial, |job| job.backoff(polynomial.clone()));

    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", backoff = list(["1s", "10s", "1m"]))]
    struct List;
    let list = Backoff::List { delays_ms: vec![1_000, 10_000, 60_000] };
    same(&List, |job| job.backoff(list.clone()));

    // What is left out is as the library has it.
    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", backoff = exponential("1s"))]
    struct Default;
    same(&Default, |job| job.backoff(Backoff::default()));
    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", backoff = polynomial("1s"))]
    struct Fourth;
    let read: Backoff =
        serde_json::from_str(r#"{"polynomial":{"base_ms":1000,"max_ms":3600000}}"#).unwrap();
    same(&Fourth, |job| job.backoff(read.clone()));
}

#[test]
fn a_job_is_unique_by_what_it_says() {
    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", unique)]
    enum ByPayload {
        A,
        B(u8),
    }
    same(&ByPayload::A, |job| job.unique(Unique::payload()));
    same(&ByPayload::B(1), |job| job.unique(Unique::payload()));

    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", unique(key = "nightly", for_good, on_conflict = "refuse"))]
    struct ByKey;
    let key = Unique::key("nightly").for_good().on_conflict(OnConflict::Refuse);
    same(&ByKey, |job| job.unique(key.clone()));

    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", unique(by = [1], on_conflict = "keep"))]
    struct Tuple(u8, String);
    same(&Tuple(7, "x".to_owned()), |job| job.unique(Unique::key(r#"{"1":"x"}"#)));
}

#[test]
fn a_key_of_fields_does_not_depend_on_how_they_are_listed() {
    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k")]
    #[job(unique(by = [r#type, to]))]
    struct One {
        to: String,
        r#type: std::collections::HashMap<String, u8>,
    }
    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", unique(by = [to, r#type]))]
    struct Other {
        // The payload's name may change; the key's is that of the field.
        #[serde(rename = "kind")]
        r#type: std::collections::BTreeMap<String, u8>,
        to: String,
    }
    let counts = || (0..9).map(|n| (format!("n{n}"), n));
    let one = One { to: "ada".to_owned(), r#type: counts().collect() };
    let other = Other { to: "ada".to_owned(), r#type: counts().collect() };
    let key =
        r#"{"to":"ada","type":{"n0":0,"n1":1,"n2":2,"n3":3,"n4":4,"n5":5,"n6":6,"n7":7,"n8":8}}"#;
    same(&one, |job| job.unique(Unique::key(key)));
    same(&other, |job| job.unique(Unique::key(key)));
}

#[test]
fn the_crate_may_have_another_name() {
    mod elsewhere {
        pub use longshore as jobs;
    }
    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", crate = elsewhere::jobs, queue = "q")]
    struct Renamed;
    same(&Renamed, |job| job.queue("q"));
}

#[test]
fn payloads_have_versions_and_hidden_fields() {
    fn grown(from: u32, payload: Box<str>) -> Result<Box<str>, BoxError> {
        Ok(format!("[{from},{payload}]").into())
    }
    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", version = 2, upgrade = grown, redact = ["inner", "resetToken"])]
    #[serde(rename_all = "camelCase", bound(serialize = ""))]
    struct Login {
        to: String,
        #[job(redact)]
        reset_token: String,
        #[job(redact)]
        #[serde(rename(serialize = "pin-code"), default, skip_serializing_if = "String::is_empty")]
        pin: String,
        #[serde(flatten)]
        more: std::collections::BTreeMap<String, String>,
    }
    assert_eq!((Login::VERSION, Plain::VERSION, Plain::REDACTED.len()), (2, 1, 0));
    assert_eq!(Login::REDACTED, ["resetToken", "pin-code", "inner"]);
    assert_eq!(Login::upgrade(1, "7".into()).unwrap(), "[1,7]".into());
    let login = Login {
        to: "ada".to_owned(),
        reset_token: "secret-1".to_owned(),
        pin: "secret-2".to_owned(),
        more: [("inner".to_owned(), "secret-3".to_owned())].into(),
    };
    let shown = format!("{:?}", login.new_job());
    assert!(shown.contains("ada") && !shown.contains("secret"), "{shown}");
}

#[test]
fn a_key_of_a_hidden_field_is_not_read_in_it() {
    #[derive(Serialize, Deserialize, Job)]
    #[job(kind = "k", unique(by = [to, token]))]
    struct Login {
        to: String,
        #[job(redact)]
        token: String,
    }
    let login = Login { to: "ada".to_owned(), token: "secret".to_owned() };
    let shown = format!("{:?}", login.new_job());
    assert!(shown.contains("sha256:") && !shown.contains("secret"), "{shown}");
}

#[cfg(feature = "schema")]
#[test]
fn a_schema_is_that_of_the_type() {
    #[derive(Serialize, Deserialize, schemars::JsonSchema, Job)]
    #[job(kind = "k", schema)]
    struct Resize {
        /// In pixels.
        width: u32,
    }
    let schema: serde_json::Value = serde_json::from_str(&Resize::schema().unwrap()).unwrap();
    assert_eq!(schema["properties"]["width"]["description"], "In pixels.");
    assert_eq!(schema["required"], serde_json::json!(["width"]));
    assert_eq!(Plain::schema(), None);
}

longshore::distinct_kinds!(Plain, SendEmail);
