//! Payloads of several versions in one rollout, and what nobody is shown of them.

use std::collections::BTreeSet;
use std::sync::Mutex;

use longshore::job::BoxError;
use longshore::store::{Detail, ListQuery};
use longshore::{Filter, Fit, Job, JobError, Outcome, Run};
use serde::{Deserialize, Serialize};

use super::*;

/// What the old program knows.
#[derive(Serialize, Deserialize)]
struct First {
    name: String,
}

impl Job for First {
    const KIND: &'static str = "greet";
    type Output = ();
}

/// What the new one knows: another shape, and a secret.
#[derive(Serialize, Deserialize)]
struct Second {
    names: Vec<String>,
    pin: u32,
}

impl Job for Second {
    const KIND: &'static str = "greet";
    const VERSION: u32 = 2;
    const REDACTED: &'static [&'static str] = &["pin"];
    type Output = String;

    fn upgrade(from: u32, payload: Box<str>) -> Result<Box<str>, BoxError> {
        assert_eq!(from, 1);
        let First { name } = serde_json::from_str(&payload)?;
        if name.is_empty() {
            return Err("nobody is greeted".into());
        }
        Ok(serde_json::to_string(&Second { names: vec![name], pin: 0 })?.into())
    }
}

/// The handler of the new program.
async fn second(job: Second, run: Run) -> String {
    format!("{} by version {}", job.names.join("+"), run.payload_version())
}

fn first(name: &str) -> NewJob {
    First { name: name.to_owned() }.new_job()
}

fn pair() -> NewJob {
    Second { names: vec!["Ada".into(), "Bob".into()], pin: 4711 }.new_job()
}

pub async fn an_older_payload_is_upgraded_when_it_runs(d: Arc<Desk>) {
    let worker = d.worker().job(second).start().expect("a worker");
    let old = d.enqueue(first("Ada")).await;
    let new = d.enqueue(pair()).await;

    let row = d.comes_to(old, State::Succeeded).await;

    assert_eq!(row.output.as_deref(), Some("\"Ada by version 1\""));
    assert_eq!((&*row.payload, row.payload_version), (r#"{"name":"Ada"}"#, 1), "it stays");
    let row = d.comes_to(new, State::Succeeded).await;
    assert_eq!(row.output.as_deref(), Some("\"Ada+Bob by version 2\""));
    worker.stop().await;
}

pub async fn what_cannot_be_upgraded_is_dead_at_once(d: Arc<Desk>) {
    let worker = d.worker().job(second).start().expect("a worker");
    let nobody = d.enqueue(first("")).await;
    let other = d.enqueue(NewJob::new("greet").payload("[]")).await;

    let row = d.comes_to(nobody, State::Dead).await;

    let error = &row.errors[0];
    assert_eq!(row.attempt, 1);
    assert!(error.message.contains("version 1 could not be upgraded to 2"), "{error:?}");
    assert!(error.message.contains("Second"), "{error:?}");
    assert_eq!(error.chain, ["nobody is greeted"]);
    let error = &d.comes_to(other, State::Dead).await.errors[0];
    assert!(error.chain[0].starts_with("it does not fit at line 1"), "{error:?}");
    worker.stop().await;
}

pub async fn two_programs_share_the_work_of_a_rollout(d: Arc<Desk>) {
    let by_old: Arc<Mutex<BTreeSet<JobId>>> = Arc::default();
    let seen = by_old.clone();
    let old = move |_: First, id: JobId| {
        seen.lock().expect("no panic").insert(id);
        std::future::ready(())
    };
    let old = d.worker().job(old).start().expect("the old program");
    let mut news = d.enqueue_many((0..20).map(|_| pair()).collect()).await;
    let mut olds = d.enqueue_many((0..20).map(|_| first("Ada")).collect()).await;
    for id in &olds {
        d.comes_to(*id, State::Succeeded).await;
    }
    // Several polls later they wait unharmed.
    tokio::time::sleep(SECOND).await;
    assert_eq!(d.count(State::Queued).await, 20);
    assert_eq!(d.get(news[0]).await.attempt, 0);

    let beside = Worker::new(d.beside().await).config(short()).queue("default", 10);
    let new = beside.job(second).start().expect("the new program");
    for _ in 0..10 {
        news.extend(d.enqueue_many(vec![pair(), pair()]).await);
        olds.extend(d.enqueue_many(vec![first("Ada"), first("Bob")]).await);
        tokio::time::sleep(10 * MILLI).await;
    }
    for id in news.iter().chain(&olds) {
        d.comes_to(*id, State::Succeeded).await;
    }
    old.stop().await;
    let last = d.enqueue(first("Bob")).await;
    d.comes_to(last, State::Succeeded).await;
    new.stop().await;

    let by_old = by_old.lock().expect("no panic");
    assert!(news.iter().all(|id| !by_old.contains(id)), "the old program knows no second version");
}

pub async fn what_does_not_fit_is_not_quoted(d: Arc<Desk>) {
    let raw = async |run: Run| match run.decode_or_dead::<Second>() {
        Ok(_) => Outcome::Done(None),
        Err(end) => end,
    };
    let worker = d.worker().job(second).handle("raw", raw).start().expect("a worker");
    let wrong = r#"{"names":["Ada"],"pin":"hunter2"}"#;
    let typed = NewJob::new("greet").payload_version(2);
    let ids = [
        // The field is hidden by the kind, by the job, and on the way of an upgrade.
        d.enqueue(typed.clone().payload(wrong)).await,
        d.enqueue(NewJob::new("raw").payload(wrong).redact("pin")).await,
        d.enqueue(NewJob::new("greet").payload(r#"{"name":{"pin":"hunter2"}}"#)).await,
        d.enqueue(typed.payload(r#"{"names":"hunter2","pin":1}"#)).await,
    ];
    for id in ids {
        let row = d.comes_to(id, State::Dead).await;
        let words = format!("{:?}", row.errors);
        assert!(!words.contains("hunter2"), "{words}");
        assert!(words.contains("does not fit at line 1 column"), "{words}");
    }
    let open = d.enqueue(NewJob::new("raw").payload(wrong)).await;
    let words = &d.comes_to(open, State::Dead).await.errors[0].message;
    assert!(words.contains("hunter2"), "nothing is hidden there: {words}");
    worker.stop().await;
}

pub async fn people_are_shown_no_redacted_field(d: Arc<Desk>) {
    let id = d.enqueue(pair().run_in(HOUR)).await;
    let long = format!(r#"{{"pin":"{}","names":[]}}"#, "4711".repeat(100));
    let cut = d.enqueue(NewJob::new("greet").redact("pin").payload(long).run_in(HOUR)).await;
    let hidden = r#"{"names":["Ada","Bob"],"pin":"[redacted]"}"#;
    let whole = r#"{"names":["Ada","Bob"],"pin":4711}"#;

    let row = d.client.get(id).await.expect("the job");
    assert_eq!((&*row.payload, row.payload_is_cut), (hidden, false));
    assert_eq!(&*d.client.wait(id, Some(MILLI)).await.expect("the job").payload, hidden);
    for detail in [Detail::Preview, Detail::Whole] {
        let query = ListQuery { detail, ..ListQuery::default() };
        let page = d.client.list(query).await.expect("a list");
        assert_eq!(&*page.jobs[1].payload, hidden);
        let (long, is_cut) = (&page.jobs[0].payload, page.jobs[0].payload_is_cut);
        assert!(long.starts_with(r#"{"pin":"[redacted]""#) && !long.contains("4711"), "{long}");
        assert_eq!(is_cut, detail == Detail::Preview);
    }
    let mut export = d.client.export(Filter::all());
    assert_eq!(&*export.next().await.expect("a page").expect("jobs")[1].payload, hidden);

    let row = d.client.reveal(id).await.expect("the job");
    assert_eq!(&*row.payload, whole);
    let mut export = d.client.export(Filter::all()).reveal();
    assert_eq!(&*export.next().await.expect("a page").expect("jobs")[1].payload, whole);
    // Nor in logs.
    for debug in [format!("{row:?}"), format!("{:?}", pair()), format!("{:?}", d.get(cut).await)] {
        assert!(!debug.contains("4711") && debug.contains("[redacted]"), "{debug}");
    }
}

pub async fn a_program_can_be_asked_what_it_would_do(d: Arc<Desk>) {
    struct Never;
    impl Serialize for Never {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            to.serialize_unit()
        }
    }
    impl<'de> Deserialize<'de> for Never {
        fn deserialize<D: serde::Deserializer<'de>>(_: D) -> Result<Never, D::Error> {
            panic!("a bug of the application's")
        }
    }
    impl Job for Never {
        const KIND: &'static str = "never";
        type Output = ();
    }
    let decoders =
        d.worker().job(second).job(async |_: Never| {}).handle("raw", async |_: Run| {}).decoders();
    let fit = async |job: NewJob| {
        let id = d.enqueue(job.run_in(HOUR)).await;
        decoders.fit(&d.client.reveal(id).await.expect("the job"))
    };
    assert_eq!(fit(first("Ada")).await, Fit::Decodes);
    assert_eq!(fit(pair()).await, Fit::Decodes);
    assert_eq!(fit(pair().payload_version(3)).await, Fit::Newer { known: 2 });
    assert_eq!(fit(NewJob::new("raw").payload_version(9)).await, Fit::Unchecked);
    assert_eq!(fit(NewJob::new("other")).await, Fit::UnknownKind);
    let Fit::Faulty { error } = fit(first("")).await else { panic!("nobody is greeted") };
    assert!(error.ends_with(": nobody is greeted"), "{error}");
    let faulty = fit(pair().payload(r#"{"names":[],"pin":"hunter2"}"#)).await;
    let Fit::Faulty { error } = faulty else { panic!("the pin is a number") };
    assert!(error.contains("does not fit at line 1") && !error.contains("hunter2"), "{error}");
    let Fit::Faulty { error } = fit(NewJob::new("never")).await else { panic!("it panics") };
    assert!(error.contains("panicked"), "{error}");
}

pub async fn a_version_that_no_job_can_have_is_refused_at_the_start(d: Arc<Desk>) {
    #[derive(Serialize, Deserialize)]
    struct Zero;
    impl Job for Zero {
        const KIND: &'static str = "zero";
        const VERSION: u32 = 0;
        type Output = ();
    }
    let handler = async |_: Zero| Ok::<(), JobError>(());
    let refused = d.worker().job(handler).start().expect_err("there is no such version");
    assert!(refused.to_string().contains("kind `zero` has VERSION 0; it may be 1 to"), "{refused}");
}
