//! Typed jobs: a Rust type for each kind, async functions that take what they need.

use std::convert::Infallible;
use std::sync::Mutex;
use std::task::{Context, Poll};

use longshore::extract::{Attempt, Cancelled, Deadline, FromRun, Meta, State as Shared, Trace};
use longshore::handler::Handler;
use longshore::job::AttemptFault;
use longshore::{Job, JobError, Outcome, OutputError, Run};
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Greet {
    name: String,
}

impl Job for Greet {
    const KIND: &'static str = "greet";
    const ALIASES: &'static [&'static str] = &["hail"];
    type Output = String;

    fn options(&self, job: NewJob) -> NewJob {
        job.queue("default").max_attempts(3).tag("polite")
    }
}

fn greet(name: &str) -> Greet {
    Greet { name: name.to_owned() }
}

#[derive(Clone)]
struct Word(&'static str);

struct Tenant(String);

impl FromRun for Tenant {
    async fn from_run(run: &Run) -> Result<Tenant, JobError> {
        let Meta(meta) = Meta::from_run(run).await?;
        let meta: serde_json::Value = serde_json::from_str(&meta)?;
        let tenant = meta["tenant"].as_str().ok_or_else(|| JobError::dead("no tenant"))?;
        Ok(Tenant(tenant.to_owned()))
    }
}

#[allow(clippy::too_many_arguments, reason = "a handler may take as many")]
async fn politely(
    job: Greet,
    Shared(word): Shared<Word>,
    attempt: Attempt,
    id: JobId,
    deadline: Deadline,
    tenant: Tenant,
    client: Client,
    trace: Trace,
) -> Result<String, JobError> {
    let row = client.get(id).await?;
    assert!(deadline.left().is_some_and(|left| left < HOUR) && !attempt.is_last());
    Ok(format!("{} {} {} {:?} {}", word.0, job.name, tenant.0, trace.parent, row.tags.join(" ")))
}

pub async fn a_handler_takes_what_it_needs(d: Arc<Desk>) {
    let worker = d.worker().state(Word("hello")).job(politely).start().expect("a worker");
    let notes = r#"{"tenant": "acme", "traceparent": "00-1"}"#;
    let id = d.enqueue(greet("Ada").new_job().meta(notes)).await;
    let old = d.enqueue(NewJob::new("hail").payload(r#"{"name": "Bob"}"#).meta(notes)).await;

    let row = d.comes_to(id, State::Succeeded).await;
    let older = d.comes_to(old, State::Succeeded).await;

    assert_eq!(row.max_attempts, 3);
    assert_eq!(row.output.as_deref(), Some(r#""hello Ada acme Some(\"00-1\") polite""#));
    assert_eq!(older.output.as_deref(), Some(r#""hello Bob acme Some(\"00-1\") ""#));
    worker.stop().await;
}

pub async fn what_cannot_be_taken_ends_the_attempt_as_it_says(d: Arc<Desk>) {
    let worker = d.worker().state(Word("hello")).job(politely).start().expect("a worker");
    let without_tenant = d.enqueue(greet("Ada").into()).await;
    let no_greet = d.enqueue(NewJob::new("greet").payload(r#"{"nom": "Ada"}"#)).await;

    let row = d.comes_to(without_tenant, State::Dead).await;
    assert_eq!((row.attempt, &*row.errors[0].message), (1, "no tenant"));
    let row = d.comes_to(no_greet, State::Dead).await;
    let says = &row.errors[0].message;
    assert!(says.contains("Greet") && says.contains("missing field `name`"), "{says}");
    worker.stop().await;
}

pub async fn what_a_handler_lacks_is_said_at_the_start(d: Arc<Desk>) {
    let other = async |_: Greet| String::new();
    let refused = d.worker().job(politely).job(other).start().expect_err("it lacks a word");
    let says = refused.to_string();
    assert!(
        says.contains("`greet`") && says.contains("Word") && says.contains("`Worker::state`"),
        "{says}"
    );
    assert!(says.contains("kind `greet` has two handlers"), "{says}");
}

#[derive(Serialize, Deserialize)]
struct Judge {
    how: String,
}

impl Job for Judge {
    const KIND: &'static str = "judge";
    type Output = ();

    fn options(&self, job: NewJob) -> NewJob {
        job.max_attempts(2)
    }

    fn backoff(failure: &longshore::Failure<'_>) -> Option<Duration> {
        (failure.error.message() == "retry").then_some(HOUR)
    }
}

async fn judge(job: Judge) -> anyhow::Result<()> {
    use anyhow::Context as _;
    let error = match &*job.how {
        "retry" => JobError::new("retry"),
        "dead" => JobError::dead("dead"),
        "snooze" => JobError::snooze(HOUR),
        "throttled" => JobError::throttled(HOUR),
        "cancelled" => JobError::cancelled("cancelled"),
        "interrupted" => JobError::interrupted(),
        "anyhow" => return Err(anyhow::anyhow!("any").context("how")),
        _ => return Ok(()),
    };
    Err(error.into_error()).context("while judging")
}

pub async fn an_error_says_what_it_means(d: Arc<Desk>) {
    let worker = d.worker().job(judge).start().expect("a worker");
    let judged = async |how: &str, state: State| {
        let id = d.enqueue(Judge { how: how.to_owned() }.into()).await;
        d.comes_to(id, state).await
    };

    let row = judged("retry", State::Retrying).await;
    assert_eq!((row.attempt, row.errors.len()), (1, 1));
    assert_eq!(row.errors[0].message, "while judging");
    assert_eq!(row.errors[0].chain, ["retry"]);
    let row = judged("dead", State::Dead).await;
    assert_eq!((row.attempt, &*row.errors[0].message), (1, "while judging"));
    for how in ["snooze", "throttled"] {
        let row = judged(how, State::Scheduled).await;
        assert_eq!((row.attempt, row.errors.len()), (0, 0), "{how}");
    }
    let row = judged("cancelled", State::Cancelled).await;
    assert!(row.cancel.is_some_and(|cancel| cancel.why.as_deref() == Some("while judging")));
    let row = judged("interrupted", State::Scheduled).await;
    assert_eq!((row.attempt, row.errors.len()), (0, 0));
    let row = judged("anyhow", State::Retrying).await;
    assert_eq!((&*row.errors[0].message, &*row.errors[0].chain), ("how", &["any".to_owned()][..]));
    let row = judged("well", State::Succeeded).await;
    assert_eq!(row.output, None);
    worker.stop().await;
}

pub async fn a_kinds_own_backoff_comes_with_its_type(d: Arc<Desk>) {
    let fails = async |job: Judge| Err::<(), _>(JobError::new(job.how));
    let worker = d.worker().job(fails).start().expect("a worker");
    let before = Timestamp::now();
    let id = d.enqueue(Judge { how: "retry".into() }.into()).await;
    let row = d.comes_to(id, State::Retrying).await;
    assert!(row.run_at.expect("a time").since(before) >= HOUR, "{row:?}");
    worker.stop().await;
}

pub async fn a_handler_that_heeds_a_stop_loses_no_attempt(d: Arc<Desk>) {
    let begun = Tally::default();
    let worker = d
        .worker()
        .config(WorkerConfig { drain_for: 100 * MILLI, ..short() })
        .state(begun.clone())
        .job(
            async |_: Judge,
                   Shared(begun): Shared<Tally>,
                   stop: Cancelled|
                   -> Result<(), JobError> {
                begun.add();
                stop.requested().await;
                Err(JobError::interrupted())
            },
        )
        .start()
        .expect("a worker");
    let id = d.enqueue(Judge { how: String::new() }.into()).await;
    until("it runs", async || begun.get() == 1).await;

    worker.stop().await;

    let row = d.get(id).await;
    assert_eq!((row.state, row.attempt, row.errors.len()), (State::Queued, 0, 0));
}

pub async fn a_function_that_blocks_is_a_handler_too(d: Arc<Desk>) {
    fn slowly(
        job: Greet,
        Shared(word): Shared<Word>,
        attempt: Attempt,
    ) -> Result<String, JobError> {
        std::thread::sleep(20 * MILLI);
        if attempt.number == 1 {
            panic!("at first")
        }
        Ok(format!("{} {}", word.0, job.name))
    }
    let worker = d.worker().state(Word("hello")).job_blocking(slowly).start().expect("a worker");
    let id =
        d.enqueue(greet("Ada").new_job().backoff(longshore::Backoff::Fixed { delay_ms: 1 })).await;
    let row = d.comes_to(id, State::Succeeded).await;
    assert_eq!((row.attempt, row.output.as_deref()), (2, Some(r#""hello Ada""#)));
    assert_eq!(row.errors[0].kind, AttemptFault::Panic);
    worker.stop().await;
}

pub async fn an_output_comes_back_as_its_type(d: Arc<Desk>) {
    let answers = async |job: Greet| match &*job.name {
        "nobody" => Err(JobError::dead("nobody is there")),
        name => Ok(name.to_uppercase()),
    };
    let worker = d.worker().job(answers).start().expect("a worker");
    let limit = Some(LONGEST_WAIT);

    let id = d.enqueue(greet("Ada").into()).await;
    assert_eq!(d.client.output::<Greet>(id, limit).await.expect("an output"), "ADA");
    let refused = d.client.output::<Judge>(id, limit).await.expect_err("another type");
    assert!(matches!(refused, OutputError::Unfit { .. }), "{refused}");

    let id = d.enqueue(greet("nobody").into()).await;
    let refused = d.client.output::<Greet>(id, limit).await.expect_err("it is dead");
    assert_eq!(refused.to_string(), format!("job {id} is dead: nobody is there"));

    let id = d.enqueue(greet("later").new_job().run_in(HOUR)).await;
    let refused = d.client.output::<Greet>(id, Some(10 * MILLI)).await.expect_err("too early");
    assert_eq!(refused.to_string(), format!("job {id} is still scheduled"));
    worker.stop().await;
}

/// A layer that writes down when runs pass it.
#[derive(Clone)]
struct Noting(&'static str, Arc<Mutex<Vec<&'static str>>>);

#[derive(Clone)]
struct Noted<S>(S, Noting);

impl<S> tower_layer::Layer<S> for Noting {
    type Service = Noted<S>;

    fn layer(&self, inner: S) -> Noted<S> {
        Noted(inner, self.clone())
    }
}

impl<S> tower_service::Service<Run> for Noted<S>
where
    S: tower_service::Service<Run, Response = Outcome, Error = Infallible>,
{
    type Response = Outcome;
    type Error = Infallible;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, run: Run) -> S::Future {
        self.1.1.lock().expect("no panic").push(self.1.0);
        self.0.call(run)
    }
}

pub async fn layers_lie_around_one_handler_and_around_all(d: Arc<Desk>) {
    let notes = Arc::<Mutex<Vec<&'static str>>>::default();
    let noting = |name| Noting(name, Arc::clone(&notes));
    async fn shout(job: Greet) -> String {
        job.name.to_uppercase()
    }
    let worker = d
        .worker()
        .layer(noting("all"))
        .job(shout.layer(noting("one")))
        .job_blocking(|_: Judge| {})
        .layer(noting("outermost"))
        .start()
        .expect("a worker");

    let id = d.enqueue(greet("Ada").into()).await;
    d.comes_to(id, State::Succeeded).await;
    let id = d.enqueue(Judge { how: String::new() }.into()).await;
    d.comes_to(id, State::Succeeded).await;

    let expected = ["outermost", "all", "one", "outermost", "all"];
    assert_eq!(*notes.lock().expect("no panic"), expected);
    worker.stop().await;
}

pub async fn a_limit_in_a_layer_is_shared_by_all_runs(d: Arc<Desk>) {
    let (now, most) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
    let (in_it, seen) = (Arc::clone(&now), Arc::clone(&most));
    let busy = move |_: Judge| {
        let (in_it, seen) = (Arc::clone(&in_it), Arc::clone(&seen));
        async move {
            seen.fetch_max(in_it.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(20 * MILLI).await;
            in_it.fetch_sub(1, Ordering::SeqCst);
        }
    };
    let limit = tower::limit::ConcurrencyLimitLayer::new(2);
    let worker = d.worker().job(busy.layer(limit)).start().expect("a worker");
    let jobs = (0..10).map(|n| Judge { how: n.to_string() }.new_job()).collect();
    for id in d.enqueue_many(jobs).await {
        d.comes_to(id, State::Succeeded).await;
    }
    assert_eq!(most.load(Ordering::SeqCst), 2);
    worker.stop().await;
}

pub async fn an_error_of_a_layer_fails_the_attempt(d: Arc<Desk>) {
    let slow = async |_: Judge| tokio::time::sleep(HOUR).await;
    let layer = tower::timeout::TimeoutLayer::new(50 * MILLI);
    let worker = d.worker().job(slow.layer(layer)).start().expect("a worker");
    let id = d.enqueue(Judge { how: String::new() }.new_job().max_attempts(1)).await;
    let row = d.comes_to(id, State::Dead).await;
    assert!(row.errors[0].message.contains("timed out"), "{row:?}");
    worker.stop().await;
}
