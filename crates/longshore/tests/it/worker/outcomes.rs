//! However a handler ends, the job says so and the slot comes back.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use longshore::job::AttemptFault;
use longshore::{Backoff, JobError, Outcome, Run, State, StopReason};

use super::*;

pub async fn a_panic_costs_an_attempt_and_no_slot(d: Arc<Desk>) {
    let worker = Worker::new(d.client.clone())
        .config(short())
        .queue("default", 1)
        .handle("static", async |_: Run| -> () { panic!("a static text") })
        .handle("formatted", async |run: Run| -> () { panic!("attempt {}", run.attempt()) })
        .handle("other", async |_: Run| -> () { std::panic::panic_any(7_u8) })
        .handle_blocking("blocking", |_: Run| -> () { panic!("on its own thread") })
        .handle("k", async |_: Run| {})
        .start()
        .expect("a worker");
    for (kind, says) in [
        ("static", "a static text"),
        ("formatted", "attempt 1"),
        ("other", "not text"),
        ("blocking", "on its own thread"),
    ] {
        let id = d.enqueue(NewJob::new(kind).max_attempts(1)).await;

        let row = d.comes_to(id, State::Dead).await;

        assert_eq!(row.attempt, 1);
        assert_eq!(row.errors.len(), 1, "{kind}");
        assert_eq!(row.errors[0].kind, AttemptFault::Panic, "{kind}");
        assert!(row.errors[0].message.contains(says), "{kind}: {}", row.errors[0].message);
    }
    let id = d.enqueue(job()).await;
    d.comes_to(id, State::Succeeded).await;
    worker.stop().await;
}

#[derive(Debug)]
struct Outer(std::num::ParseIntError);

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the order is not a number")
    }
}

impl Error for Outer {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

pub async fn an_error_is_kept_with_its_causes(d: Arc<Desk>) {
    let worker = d
        .worker()
        .handle("k", async |_: Run| "x".parse::<u8>().map(drop).map_err(Outer))
        .start()
        .expect("a worker");
    let fast = Backoff::fixed(MILLI);
    let id = d.enqueue(job().max_attempts(3).backoff(fast)).await;

    let row = d.comes_to(id, State::Dead).await;

    assert_eq!(row.attempt, 3);
    assert_eq!(row.errors.iter().map(|error| error.attempt).collect::<Vec<_>>(), [1, 2, 3]);
    for error in row.errors {
        assert_eq!(error.kind, AttemptFault::Error);
        assert_eq!(error.message, "the order is not a number");
        assert_eq!(error.chain, ["invalid digit found in string"]);
    }
    worker.stop().await;
}

pub async fn a_handler_that_waits_for_ever_is_cut_off_in_time(d: Arc<Desk>) {
    let worker = Worker::new(d.client.clone())
        .config(short())
        .queue("default", 1)
        .handle("hangs", async |_: Run| std::future::pending::<()>().await)
        .handle("k", async |_: Run| {})
        .start()
        .expect("a worker");
    let hangs = d.enqueue(NewJob::new("hangs").timeout(100 * MILLI).max_attempts(1)).await;
    let next = d.enqueue(job()).await;

    let row = d.comes_to(hangs, State::Dead).await;

    assert_eq!(row.errors[0].kind, AttemptFault::Timeout);
    assert!(row.errors[0].message.contains("100ms"), "{}", row.errors[0].message);
    d.comes_to(next, State::Succeeded).await;
    until("nothing is stuck", async || worker.health().stuck == 0).await;
    worker.stop().await;
}

pub async fn a_handler_that_spins_is_cut_off_and_counted_as_stuck(d: Arc<Desk>) {
    let (gate, held) = (Gate::default(), Gate::default());
    let (release, seen) = (gate.clone(), held.clone());
    let worker = Worker::new(d.client.clone())
        .config(short())
        .queue("default", 1)
        .handle("spins", move |run: Run| {
            let (gate, held) = (gate.clone(), held.clone());
            async move {
                while !gate.is_open() {
                    if run.stop_reason() == Some(StopReason::Timeout) {
                        held.open();
                    }
                    std::thread::sleep(MILLI);
                }
            }
        })
        .handle("k", async |_: Run| {})
        .start()
        .expect("a worker");
    let spins = d.enqueue(NewJob::new("spins").timeout(100 * MILLI).max_attempts(1)).await;

    let row = d.comes_to(spins, State::Dead).await;
    assert_eq!(row.errors[0].kind, AttemptFault::Timeout);
    until("the handler was told", async || seen.is_open()).await;
    assert_eq!(worker.health().stuck, 1);
    let next = d.enqueue(job()).await;
    d.comes_to(next, State::Succeeded).await;

    release.open();
    until("nothing is stuck", async || worker.health().stuck == 0).await;
    assert_eq!(d.t.state(spins).await, State::Dead, "its late end changes nothing");
    worker.stop().await;
}

pub async fn a_blocking_handler_that_hangs_is_cut_off_and_counted_as_stuck(d: Arc<Desk>) {
    let gate = Gate::default();
    let release = gate.clone();
    let worker = Worker::new(d.client.clone())
        .config(short())
        .queue("default", 1)
        .handle_blocking("hangs", move |_: Run| {
            while !gate.is_open() {
                std::thread::sleep(MILLI);
            }
        })
        .handle_blocking("k", |_: Run| {})
        .start()
        .expect("a worker");
    let hangs = d.enqueue(NewJob::new("hangs").timeout(100 * MILLI).max_attempts(1)).await;

    let row = d.comes_to(hangs, State::Dead).await;

    assert_eq!(row.errors[0].kind, AttemptFault::Timeout);
    until("one is stuck", async || worker.health().stuck == 1).await;
    let next = d.enqueue(job()).await;
    d.comes_to(next, State::Succeeded).await;
    release.open();
    until("nothing is stuck", async || worker.health().stuck == 0).await;
    worker.stop().await;
}

pub async fn a_hundred_bad_ends_leave_nobody_busy(d: Arc<Desk>) {
    let worker = d
        .worker()
        .handle("fails", async |_: Run| Err::<(), _>(JobError::new("no")))
        .handle("panics", async |_: Run| -> () { panic!("no") })
        .handle("hangs", async |_: Run| std::future::pending::<()>().await)
        .handle("spins", async |_: Run| std::thread::sleep(30 * MILLI))
        .handle("k", async |_: Run| {})
        .start()
        .expect("a worker");
    let kinds = ["fails", "panics", "hangs", "spins", "k"];
    let many = (0..100).map(|n| NewJob::new(kinds[n % 5]).timeout(20 * MILLI).max_attempts(1));
    let ids = d.enqueue_many(many.collect()).await;

    for id in &ids {
        until("it ended", async || d.t.state(*id).await.is_end()).await;
    }

    until("the node is at rest", async || {
        let health = worker.health();
        (health.running, health.waiting, health.unwritten, health.stuck) == (0, 0, 0, 0)
    })
    .await;
    assert_eq!(worker.health().started_total, 100, "each was started once");
    assert_eq!(d.running().await, 0, "and the database says the same");
    worker.stop().await;
}

pub async fn a_snooze_costs_no_attempt(d: Arc<Desk>) {
    let starts = Tally::default();
    let seen = starts.clone();
    let worker = d
        .worker()
        .handle("k", move |run: Run| {
            let starts = starts.clone();
            async move {
                assert_eq!(run.attempt(), 1);
                if starts.add() < 3 { Outcome::Snooze(10 * MILLI) } else { Outcome::Done(None) }
            }
        })
        .start()
        .expect("a worker");
    let id = d.enqueue(job().max_attempts(1)).await;

    let row = d.comes_to(id, State::Succeeded).await;

    assert_eq!((row.attempt, seen.get()), (1, 3));
    assert!(row.errors.is_empty());
    worker.stop().await;
}

pub async fn a_handler_may_end_its_job_for_good(d: Arc<Desk>) {
    let worker = d
        .worker()
        .handle("dead", async |_: Run| Outcome::dead(JobError::new("hopeless")))
        .handle("cancel", async |_: Run| Outcome::Cancel("no longer wanted".into()))
        .start()
        .expect("a worker");
    let dead = d.enqueue(NewJob::new("dead").max_attempts(9)).await;
    let cancel = d.enqueue(NewJob::new("cancel").max_attempts(9)).await;

    let row = d.comes_to(dead, State::Dead).await;
    assert_eq!((row.attempt, &*row.errors[0].message), (1, "hopeless"));

    let row = d.comes_to(cancel, State::Cancelled).await;
    let why = row.cancel.and_then(|cancel| cancel.why);
    assert_eq!(why.as_deref(), Some("no longer wanted"));
    worker.stop().await;
}

pub async fn a_payload_that_does_not_fit_is_dead_at_once(d: Arc<Desk>) {
    let worker = d
        .worker()
        .handle("k", async |run: Run| match run.decode_or_dead::<Vec<u8>>() {
            Ok(_) => Outcome::Done(None),
            Err(dead) => dead,
        })
        .start()
        .expect("a worker");
    let id = d.enqueue(job().payload(r#"{"a": 1}"#).max_attempts(20)).await;

    let row = d.comes_to(id, State::Dead).await;

    assert_eq!(row.attempt, 1);
    assert!(row.errors[0].message.contains("payload does not fit"), "{:?}", row.errors);
    worker.stop().await;
}

pub async fn an_output_that_cannot_be_kept_is_told_apart(d: Arc<Desk>) {
    let worker = d
        .worker()
        .handle("k", async |run: Run| {
            let text = match run.payload() {
                "1" => "NaN".to_owned(),
                "2" => "\"\0\"".to_owned(),
                "3" => format!("\"{}\"", "x".repeat(2 << 20)),
                _ => r#"{"big": 12345678901234567890}"#.to_owned(),
            };
            Outcome::Done(Some(text.into()))
        })
        .start()
        .expect("a worker");
    for bad in ["1", "2", "3"] {
        let id = d.enqueue(job().payload(bad)).await;
        let row = d.comes_to(id, State::Succeeded).await;
        let output = row.output.expect("a marker");
        assert!(output.contains("output dropped"), "{bad}: {output}");
    }
    let id = d.enqueue(job().payload("4")).await;
    let row = d.comes_to(id, State::Succeeded).await;
    assert_eq!(row.output.as_deref(), Some(r#"{"big": 12345678901234567890}"#));
    worker.stop().await;
}

pub async fn an_unknown_kind_waits_for_a_node_that_knows_it(d: Arc<Desk>) {
    let old = d.worker().handle("k", async |_: Run| {}).start().expect("a worker");
    let new_kind = d.enqueue(NewJob::new("new").max_attempts(1)).await;
    let after = d.enqueue(job()).await;
    d.comes_to(after, State::Succeeded).await;

    let row = d.get(new_kind).await;
    assert_eq!((row.state, row.attempt), (State::Queued, 0));

    let new = d.worker().handle("new", async |_: Run| {}).start().expect("a worker");
    assert_eq!(d.comes_to(new_kind, State::Succeeded).await.attempt, 1);
    old.stop().await;
    new.stop().await;
}

/// What no call of ours does: the database refuses to keep how one kind ended.
async fn refuse_in_history(d: &Desk) {
    let sql = if d.t.is_sqlite() {
        "CREATE TRIGGER refuse BEFORE INSERT ON longshore_history WHEN new.kind = 'odd'
         BEGIN SELECT RAISE(ABORT, 'refused by hand'); END"
    } else {
        "ALTER TABLE longshore.history ADD CONSTRAINT refuse CHECK (kind <> 'odd')"
    };
    d.t.execute(sql.into()).await;
}

pub async fn a_result_that_cannot_be_stored_fails_alone(d: Arc<Desk>) {
    refuse_in_history(&d).await;
    let mut batch: Vec<NewJob> = (0..40).map(|_| job()).collect();
    batch.insert(20, NewJob::new("odd").max_attempts(1));
    let ids = d.enqueue_many(batch).await;
    let worker = d
        .worker()
        .handle("odd", async |_: Run| {})
        .handle("k", async |_: Run| {})
        .start()
        .expect("a worker");

    for (at, id) in ids.iter().enumerate() {
        let ended = if at == 20 { State::Dead } else { State::Succeeded };
        d.comes_to(*id, ended).await;
    }
    let row = d.get(ids[20]).await;
    assert!(row.errors[0].message.contains("could not be stored"), "{:?}", row.errors);
    assert_eq!(worker.health().started_total, 41, "nothing ran twice");
    worker.stop().await;
}

pub async fn a_kind_may_say_itself_how_long_it_waits(d: Arc<Desk>) {
    let asked = Tally::default();
    let (seen, slow) = (asked.clone(), Backoff::fixed(HOUR));
    let worker = d
        .worker()
        .handle("k", async |run: Run| match run.attempt() {
            1 => Err::<(), _>(JobError::new("retry after 20")),
            2 => panic!("retry after 30"),
            _ => Err(JobError::new("no idea")),
        })
        .backoff("k", move |failure| {
            asked.add();
            let (_, ms) = failure.error.message().split_once("after ")?;
            ms.parse().ok().map(Duration::from_millis)
        })
        .start()
        .expect("a worker");
    let id = d.enqueue(job().max_attempts(4).backoff(slow.clone())).await;

    until("it waits by its own policy", async || {
        let row = d.get(id).await;
        row.state == State::Retrying && row.attempt == 3
    })
    .await;

    let row = d.get(id).await;
    assert!(row.run_at.expect("a time") > Timestamp::now().plus(HOUR / 2), "{row:?}");
    assert_eq!(row.errors.iter().filter(|error| error.kind == AttemptFault::Panic).count(), 1);
    d.client.retry(id, 1).await.expect("a retry");
    d.comes_to(id, State::Dead).await;
    assert_eq!(seen.get(), 3, "after the last attempt nobody is asked");
    worker.stop().await;
}

pub async fn a_kinds_backoff_that_panics_leaves_it_to_the_policy(d: Arc<Desk>) {
    let worker = d
        .worker()
        .handle("k", async |_: Run| Err::<(), _>(JobError::new("no")))
        .backoff("k", |_| panic!("not even that"))
        .start()
        .expect("a worker");
    let list = Backoff::List { delays_ms: vec![1, 5] };
    let id = d.enqueue(job().max_attempts(4).backoff(list)).await;

    let row = d.comes_to(id, State::Dead).await;

    assert_eq!((row.attempt, row.errors.len()), (4, 4));
    worker.stop().await;
}
