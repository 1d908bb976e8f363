//! Finish: every ending, and who may write one.

use longshore::job::AttemptFault;
use longshore::store::{Ack, Ending, Held, MAX_THROTTLES, NodeId};
use longshore::{JobId, State};

use crate::harness::*;

pub async fn a_done_job_goes_to_history_with_its_output(t: Harness) {
    let id = t.enqueue(job().payload("[1]").tag("x").meta("{\"a\":1}")).await;
    let run = t.claim_one().await;
    t.advance(SECOND);

    assert_eq!(t.finish(&run, done_with("{\"sum\":3}")).await, Ack::Recorded(State::Succeeded));

    let row = t.get(id).await;
    assert_eq!((row.state, row.attempt), (State::Succeeded, 1));
    assert_eq!(row.output.as_deref(), Some("{\"sum\":3}"));
    assert_eq!((&*row.payload, row.meta.as_deref()), ("[1]", Some("{\"a\":1}")));
    assert_eq!(row.tags, ["x"]);
    assert_eq!((row.node, row.lease), (Some(run.node.0), Some(run.lease)));
    assert_eq!(row.finished_at, Some(t.now().await));
    assert_eq!(row.leased_at, Some(t.now().await.minus(SECOND)));
    assert_eq!((t.count("job").await, t.count("history").await), (0, 1));
}

pub async fn an_output_is_kept_byte_for_byte(t: Harness) {
    let large = format!("\"{}\"", "ä".repeat(500_000));
    for output in ["{\"b\":1e400, \"a\":\"\\u0000\",\"a\":2}", "null", &large] {
        let id = t.ended(job(), done_with(output)).await;
        assert_eq!(t.get(id).await.output.as_deref(), Some(output));
    }
}

pub async fn retain_zero_keeps_nothing(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(5_000));
    for payload in ["1", &large] {
        for ending in [done(), cancelled()] {
            let new = job().payload(payload).retain(std::time::Duration::ZERO);
            let id = t.ended(new, ending).await;
            assert!(t.find(id).await.is_none());
        }
    }
    for table in ["job", "history", "payload"] {
        assert_eq!(t.count(table).await, 0, "{table}");
    }
}

pub async fn a_failed_job_waits_and_keeps_its_error(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    let mut error = fault("no route to host");
    error.kind = AttemptFault::Timeout;
    error.node = run.node.0;

    let ack = t.finish(&run, Ending::Failed { error: error.clone(), delay: MINUTE }).await;

    assert_eq!(ack, Ack::Recorded(State::Retrying));
    let row = t.get(id).await;
    assert_eq!((row.state, row.attempt), (State::Retrying, 1));
    assert_eq!(row.run_at, Some(t.now().await.plus(MINUTE)));
    assert!(row.node.is_none() && row.leased_at.is_none() && row.finished_at.is_none());
    error.at = t.now().await;
    assert_eq!(row.errors, [error]);
    assert!(t.claim(1).await.is_empty());
    t.advance(MINUTE);
    assert_eq!(t.claim_one().await.attempt, 2);
}

pub async fn a_failure_waits_at_least_a_millisecond(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;

    let ack = t.finish(&run, failed(std::time::Duration::ZERO)).await;

    assert_eq!(ack, Ack::Recorded(State::Retrying));
    assert_eq!(t.state(id).await, State::Retrying);
    t.advance(MILLI);
    assert_eq!(t.claim_one().await.id, id);
}

pub async fn a_dead_job_has_no_time_and_waits_for_a_person(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;

    assert_eq!(t.finish(&run, dead()).await, Ack::Recorded(State::Dead));

    let row = t.get(id).await;
    assert_eq!((row.state, row.run_at, row.attempt), (State::Dead, None, 1));
    assert_eq!(row.finished_at, Some(t.now().await));
    assert_eq!(row.errors[0].message, "it is hopeless");
    t.advance(1_000 * HOUR);
    assert!(t.claim(1).await.is_empty());
    assert_eq!(t.state(id).await, State::Dead);
}

pub async fn the_newest_ten_errors_are_kept(t: Harness) {
    let id = t.enqueue(job().max_attempts(100)).await;
    for n in 1..=13 {
        let run = t.claim_one().await;
        let mut error = fault(&format!("failure {n}"));
        error.attempt = run.attempt;
        t.finish(&run, Ending::Failed { error, delay: SECOND }).await;
        t.advance(SECOND);
    }

    let kept: Vec<u32> = t.get(id).await.errors.iter().map(|error| error.attempt).collect();
    assert_eq!(kept, (4..=13).collect::<Vec<_>>());
}

pub async fn a_snooze_does_not_count(t: Harness) {
    let id = t.enqueue(job().max_attempts(1)).await;
    for _ in 0..5 {
        let run = t.claim_one().await;
        assert_eq!(run.attempt, 1);
        assert_eq!(t.finish(&run, snoozed(MINUTE)).await, Ack::Recorded(State::Scheduled));
        let row = t.get(id).await;
        assert_eq!((row.state, row.attempt), (State::Scheduled, 0));
        assert_eq!(row.run_at, Some(t.now().await.plus(MINUTE)));
        assert!(row.errors.is_empty());
        t.advance(MINUTE);
    }
}

pub async fn a_snooze_after_a_failure_is_retrying(t: Harness) {
    let id = t.ended(job(), failed(SECOND)).await;
    t.advance(SECOND);
    let run = t.claim_one().await;

    assert_eq!(t.finish(&run, snoozed(MINUTE)).await, Ack::Recorded(State::Retrying));

    let row = t.get(id).await;
    assert_eq!((row.state, row.attempt, row.errors.len()), (State::Retrying, 1, 1));
}

pub async fn a_job_given_back_is_queued_as_it_was(t: Harness) {
    let due = t.now().await.minus(MINUTE);
    let id = t.enqueue(job().run_at(due).max_attempts(1)).await;
    let run = t.claim_one().await;
    let mut woken = t.store.wakes().subscribe();

    assert_eq!(t.finish(&run, Ending::GivenBack).await, Ack::Recorded(State::Queued));

    let row = t.get(id).await;
    assert_eq!((row.state, row.attempt, row.run_at), (State::Queued, 0, Some(due)));
    assert!(row.errors.is_empty() && row.node.is_none());
    t.until("who waits is woken from the start", || {
        let news = woken.take();
        async move { news.from_start }
    })
    .await;
    assert_eq!(t.claim_one().await.attempt, 1);
}

pub async fn a_handler_may_cancel(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;

    assert_eq!(t.finish(&run, cancelled()).await, Ack::Recorded(State::Cancelled));

    let row = t.get(id).await;
    assert_eq!((row.state, row.attempt), (State::Cancelled, 1));
    let cancel = row.cancel.expect("it says why");
    assert_eq!(cancel.by.as_deref(), Some("handler"));
    assert_eq!(cancel.why.as_deref(), Some("the handler said so"));
    assert_eq!(row.finished_at, Some(t.now().await));
}

pub async fn a_repeat_answers_as_the_first_did(t: Harness) {
    for (ending, state) in [(done_with("1"), State::Succeeded), (cancelled(), State::Cancelled)] {
        let id = t.enqueue(job()).await;
        let run = t.claim_one().await;
        assert_eq!(t.finish(&run, ending.clone()).await, Ack::Recorded(state));
        let before = format!("{:?}", t.get(id).await);
        t.advance(SECOND);

        assert_eq!(t.finish(&run, ending).await, Ack::Recorded(state));

        assert_eq!(format!("{:?}", t.get(id).await), before);
    }
    assert_eq!(t.count("history").await, 2);
}

pub async fn a_repeat_does_no_harm_to_a_later_run(t: Harness) {
    for (name, ending) in every_ending() {
        let id = t.enqueue(job().max_attempts(50)).await;
        let node = t.node().await;
        let run = node.claim_one().await;
        t.finish(&run, failed(SECOND)).await;
        t.advance(SECOND);
        let later = node.claim_one().await;
        assert_eq!((later.id, later.attempt), (id, 2));
        let before = format!("{:?}", t.get(id).await);

        assert_eq!(t.finish(&run, ending).await, Ack::LeaseLost, "{name}");

        assert_eq!(format!("{:?}", t.get(id).await), before, "{name}");
        assert_eq!(t.finish(&later, done()).await, Ack::Recorded(State::Succeeded), "{name}");
    }
}

pub async fn another_nodes_run_cannot_be_finished(t: Harness) {
    for (name, ending) in every_ending() {
        let id = t.enqueue(job()).await;
        let run = t.claim_one().await;
        let thief = Run { node: t.node().await.id, job: run.job.clone() };

        assert_eq!(t.finish(&thief, ending).await, Ack::LeaseLost, "{name}");

        assert_eq!(t.state(id).await, State::Running, "{name}");
        assert_eq!(t.finish(&run, done()).await, Ack::Recorded(State::Succeeded), "{name}");
    }
}

pub async fn an_older_lease_of_the_same_node_finishes_nothing(t: Harness) {
    let node = t.node().await;
    for (name, ending) in every_ending() {
        let id = t.enqueue(job()).await;
        let old = node.claim_one().await;
        t.finish(&old, Ending::GivenBack).await;
        let other = t.enqueue(job()).await;
        let now = node.claim(2).await;
        assert_eq!(ids(&now), [id, other]);

        // In one call with a run of the newer claim: its lease must not speak for the older one's.
        let call = [(old.held(), ending), (now[1].held(), done())];
        let acks = t.finish_all(node.id, &call).await;

        assert_eq!(acks, [Ack::LeaseLost, Ack::Recorded(State::Succeeded)], "{name}");
        assert_eq!(t.state(id).await, State::Running, "{name}");
        assert_eq!(t.finish(&now[0], done()).await, Ack::Recorded(State::Succeeded), "{name}");
    }
}

pub async fn answers_come_in_the_order_given(t: Harness) {
    t.enqueue_all(&jobs(4)).await;
    let node = t.node().await;
    let runs = node.claim(4).await;
    let nobody = Held { id: JobId::new(), lease: 1 };

    let acks = t
        .finish_all(
            node.id,
            &[
                (runs[2].held(), dead()),
                (nobody, done()),
                (runs[0].held(), done()),
                (runs[3].held(), Ending::GivenBack),
                (runs[1].held(), failed(SECOND)),
            ],
        )
        .await;

    let recorded = Ack::Recorded;
    assert_eq!(
        acks,
        [
            recorded(State::Dead),
            Ack::LeaseLost,
            recorded(State::Succeeded),
            recorded(State::Queued),
            recorded(State::Retrying)
        ]
    );
    assert!(t.finish_all(node.id, &[]).await.is_empty());
}

pub async fn an_unknown_job_is_a_lost_lease(t: Harness) {
    let node = t.node().await;
    for (name, ending) in every_ending() {
        let acks = t.finish_all(node.id, &[(Held { id: JobId::new(), lease: 1 }, ending)]).await;
        assert_eq!(acks, [Ack::LeaseLost], "{name}");
    }
    let acks = t
        .store
        .finish(NodeId::new(), &[(Held { id: JobId::new(), lease: i64::MAX }, done())])
        .await
        .unwrap();
    assert_eq!(acks, [Ack::LeaseLost]);
}

pub async fn a_mixed_batch_is_written_whole(t: Harness) {
    t.enqueue_all(&jobs(300)).await;
    let node = t.node().await;
    let runs = node.claim(300).await;
    let endings = every_ending();
    let call: Vec<(Held, Ending)> = runs
        .iter()
        .enumerate()
        .map(|(n, run)| (run.held(), endings[n % endings.len()].1.clone()))
        .collect();

    let acks = t.finish_all(node.id, &call).await;

    use State::*;
    let states = [Succeeded, Retrying, Dead, Scheduled, Queued, Cancelled];
    for (n, (run, ack)) in runs.iter().zip(acks).enumerate() {
        assert_eq!(ack, Ack::Recorded(states[n % states.len()]));
        assert_eq!(t.state(run.id).await, states[n % states.len()]);
    }
    assert_eq!((t.count("job").await, t.count("history").await), (200, 100));
}

pub async fn concurrent_finishes_of_one_run_end_it_once(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;

    let calls: Vec<_> = (0..6)
        .map(|n| {
            let (t, run) = (t.clone(), run.clone());
            let ending = if n % 2 == 0 { done_with("1") } else { failed(HOUR) };
            tokio::spawn(async move { t.finish(&run, ending).await })
        })
        .collect();
    let mut acks = Vec::new();
    for call in calls {
        acks.push(call.await.unwrap());
    }

    let row = t.get(id).await;
    assert!(matches!(row.state, State::Succeeded | State::Retrying), "{}", row.state);
    assert_eq!(row.attempt, 1);
    assert!(row.errors.len() <= 1);
    assert!(acks.contains(&Ack::Recorded(row.state)));
    assert_eq!(t.count("job").await + t.count("history").await, 1);
}

pub async fn a_late_worker_cannot_finish_a_rescued_job(t: Harness) {
    let id = t.enqueue(job().max_attempts(3)).await;
    let late = t.claim_one().await;

    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;
    let current = t.claim_one().await;

    assert_eq!(t.finish(&late, done()).await, Ack::LeaseLost);
    assert_eq!(t.finish(&current, done()).await, Ack::Recorded(State::Succeeded));
    assert_eq!(t.state(id).await, State::Succeeded);
}

pub async fn every_ending_of_a_lost_lease_writes_nothing(t: Harness) {
    for (name, ending) in every_ending() {
        let id = t.enqueue(job()).await;
        let late = t.claim_one().await;
        t.advance(LEASE_FOR + SECOND);
        t.rescue().await;
        let before = format!("{:?}", t.get(id).await);

        assert_eq!(t.finish(&late, ending).await, Ack::LeaseLost, "{name}");

        assert_eq!(format!("{:?}", t.get(id).await), before, "{name}");
        let current = t.claim_one().await;
        assert_eq!((current.id, current.attempt), (id, 2));
        t.finish(&current, done()).await;
    }
}

pub async fn a_payload_aside_goes_with_its_job(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(5_000));
    let forgotten = job().payload(&*large).retain(std::time::Duration::ZERO);
    t.enqueue_all(&[forgotten, job().payload(&*large)]).await;
    assert_eq!(t.count("payload").await, 2);
    let node = t.node().await;
    for run in node.claim(2).await {
        assert_eq!(run.payload.len(), 5_002);
        t.finish(&run, done()).await;
    }

    assert_eq!(t.count("payload").await, 1, "only what history still names");
}

fn throttled(delay: std::time::Duration) -> Ending {
    Ending::Throttled { delay, error: fault("told to come later too often") }
}

pub async fn a_throttled_job_waits_and_its_attempt_does_not_count(t: Harness) {
    let id = t.ended(job(), throttled(MINUTE)).await;

    let row = t.get(id).await;
    assert_eq!((row.state, row.attempt, row.errors.len()), (State::Scheduled, 0, 0));
    assert_eq!(row.run_at, Some(t.now().await.plus(MINUTE)));
    t.advance(MINUTE);
    assert_eq!(t.claim_one().await.attempt, 1);
}

pub async fn too_many_throttles_in_a_row_are_a_failure(t: Harness) {
    let id = t.enqueue(job()).await;
    let node = t.node().await;
    for round in 1..=MAX_THROTTLES {
        let run = node.claim_one().await;
        assert_eq!(run.attempt, 1, "round {round}");
        t.finish(&run, throttled(SECOND)).await;
        t.advance(SECOND);
        node.beat().await;
    }

    let row = t.get(id).await;
    assert_eq!((row.attempt, row.errors.len()), (1, 1));
    assert_eq!(row.errors[0].message, "told to come later too often");
    // And the count starts anew.
    t.finish(&node.claim_one().await, throttled(SECOND)).await;
    assert_eq!((t.get(id).await.attempt, t.get(id).await.errors.len()), (1, 1));
}

pub async fn a_last_attempt_throttled_too_often_is_dead(t: Harness) {
    let id = t.enqueue(job().max_attempts(1)).await;
    let table = t.table("job");
    t.execute(format!("UPDATE {table} SET throttles = {}", MAX_THROTTLES - 1)).await;

    let run = t.claim_one().await;
    assert_eq!(t.finish(&run, throttled(SECOND)).await, Ack::Recorded(State::Dead));

    assert_eq!((t.state(id).await, t.get(id).await.errors.len()), (State::Dead, 1));
}
