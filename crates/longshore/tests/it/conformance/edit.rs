//! What a person does to one job: cancel, retry, edit, delete.

use longshore::job::AttemptFault;
use longshore::store::{Ack, AskCancel, StoreError};
use longshore::{Edit, JobId, State};

use crate::harness::*;

fn by_ann() -> AskCancel {
    AskCancel { by: Some("ann".into()), why: Some("wrong order".into()) }
}

pub async fn cancel_ends_a_waiting_job_at_once(t: Harness) {
    let scheduled = t.enqueue(job().run_in(HOUR)).await;
    let retrying = t.ended(job(), failed(HOUR)).await;
    let queued = t.enqueue(job()).await;

    for id in [scheduled, queued, retrying] {
        assert_eq!(t.store.cancel(id, &by_ann()).await.unwrap(), State::Cancelled);
        let row = t.get(id).await;
        let cancel = row.cancel.expect("it says who and why");
        assert_eq!((row.state, cancel.at), (State::Cancelled, t.now().await));
        assert_eq!(cancel.by.as_deref(), Some("ann"));
        assert_eq!(cancel.why.as_deref(), Some("wrong order"));
        assert_eq!(row.finished_at, Some(t.now().await));
    }
    assert_eq!((t.count("job").await, t.count("history").await), (0, 3));
    assert_eq!(t.get(retrying).await.errors.len(), 1, "errors stay");
}

pub async fn cancel_of_a_running_job_asks_its_node(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;

    assert_eq!(t.store.cancel(id, &by_ann()).await.unwrap(), State::Running);

    assert_eq!(t.state(id).await, State::Running);
    assert_eq!(t.store.cancels(run.node).await.unwrap(), [id]);
    assert_eq!(t.get(id).await.cancel.unwrap().by.as_deref(), Some("ann"));
    assert_eq!(t.finish(&run, done()).await, Ack::Recorded(State::Cancelled));
    assert_eq!(t.get(id).await.cancel.unwrap().why.as_deref(), Some("wrong order"));
    assert!(t.store.cancels(run.node).await.unwrap().is_empty());
}

pub async fn whatever_ends_a_run_asked_to_cancel_ends_it_cancelled(t: Harness) {
    for (name, ending) in every_ending() {
        let id = t.enqueue(job()).await;
        let run = t.claim_one().await;
        t.cancel(id).await;

        assert_eq!(t.finish(&run, ending).await, Ack::Recorded(State::Cancelled), "{name}");

        let row = t.get(id).await;
        assert_eq!((row.state, row.attempt), (State::Cancelled, 1), "{name}");
        t.advance(HOUR);
        assert!(t.claim(1).await.is_empty(), "{name}");
    }
    assert_eq!(t.count("job").await, 0);
}

pub async fn a_late_done_of_a_cancelled_job_leaves_its_output(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    t.cancel(id).await;

    t.finish(&run, done_with("{\"late\":true}")).await;

    let row = t.get(id).await;
    assert_eq!((row.state, row.output.as_deref()), (State::Cancelled, Some("{\"late\":true}")));
}

pub async fn cancel_after_the_end_is_refused(t: Harness) {
    for (ending, ended) in
        [(done(), State::Succeeded), (dead(), State::Dead), (cancelled(), State::Cancelled)]
    {
        let id = t.ended(job(), ending).await;
        let before = format!("{:?}", t.get(id).await);

        match t.store.cancel(id, &by_ann()).await {
            Err(StoreError::Refused { id: which, state, .. }) => {
                assert_eq!((which, state), (id, ended));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(format!("{:?}", t.get(id).await), before);
    }
}

pub async fn asking_again_changes_nothing(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;
    t.store.cancel(id, &by_ann()).await.unwrap();
    let before = format!("{:?}", t.get(id).await);
    t.advance(SECOND);

    let bob = AskCancel { by: Some("bob".into()), why: None };
    assert_eq!(t.store.cancel(id, &bob).await.unwrap(), State::Running);

    assert_eq!(format!("{:?}", t.get(id).await), before, "the first to ask stays on record");
    assert_eq!(t.store.cancels(run.node).await.unwrap(), [id]);
}

pub async fn who_and_why_are_cut(t: Harness) {
    let long = AskCancel { by: Some("ä".repeat(1_000)), why: Some("x\0".repeat(50_000)) };
    let id = t.enqueue(job()).await;

    t.store.cancel(id, &long).await.unwrap();

    let cancel = t.get(id).await.cancel.unwrap();
    let (by, why) = (cancel.by.unwrap(), cancel.why.unwrap());
    assert!(by.len() <= 255 && by.starts_with("ää"), "{} bytes", by.len());
    assert!(why.len() <= 8 * 1024 && !why.contains('\0'), "{} bytes", why.len());
}

pub async fn a_cancelled_job_that_keeps_nothing_is_gone(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(5_000));
    let new = || job().payload(&*large).retain(std::time::Duration::ZERO);
    let waiting = t.enqueue(new()).await;
    assert_eq!(t.cancel(waiting).await, State::Cancelled);
    let running = t.enqueue(new()).await;
    t.claim_one().await;
    t.cancel(running).await;
    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;

    for id in [waiting, running] {
        assert!(t.find(id).await.is_none());
    }
    assert_eq!((t.count("job").await, t.count("payload").await), (0, 0));
}

pub async fn retry_of_a_dead_job_adds_attempts_and_numbers_rise(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(5_000));
    let id = t.enqueue(job().max_attempts(2).payload(&*large)).await;
    let run = t.claim_one().await;
    t.finish(&run, failed(SECOND)).await;
    t.advance(SECOND);
    let run = t.claim_one().await;
    t.finish(&run, dead()).await;

    t.store.retry(id, 1, &Edit::new()).await.unwrap();

    let row = t.get(id).await;
    assert_eq!((row.state, row.attempt, row.max_attempts), (State::Queued, 2, 3));
    assert_eq!((row.run_at, row.finished_at), (Some(t.now().await), None));
    assert_eq!(row.errors.len(), 2, "errors stay");
    let run = t.claim_one().await;
    assert_eq!((run.attempt, run.max_attempts, run.payload.len()), (3, 3, 5_002));
    t.finish(&run, dead()).await;
    t.store.retry(id, 4, &Edit::new()).await.unwrap();
    assert_eq!(t.get(id).await.max_attempts, 7);
}

pub async fn retry_of_a_cancelled_job_takes_it_from_history(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(5_000));
    for payload in ["[7]", &large] {
        let id = t.ended(job().payload(payload).tag("x").meta("{}"), cancelled()).await;

        t.retry(id).await;

        let row = t.get(id).await;
        assert_eq!((row.state, row.attempt), (State::Queued, 1));
        assert!(row.cancel.is_none() && row.finished_at.is_none() && row.node.is_none());
        assert_eq!(row.tags, ["x"]);
        let run = t.claim_one().await;
        assert_eq!((run.id, run.attempt, &*run.payload), (id, 2, payload));
        t.finish(&run, done()).await;
        assert_eq!(t.state(id).await, State::Succeeded);
    }
}

pub async fn retry_of_a_waiting_job_runs_it_now(t: Harness) {
    let scheduled = t.enqueue(job().run_in(HOUR).max_attempts(1)).await;
    let retrying = t.ended(job().max_attempts(2), failed(HOUR)).await;

    for id in [scheduled, retrying] {
        t.retry(id).await;
        assert_eq!(t.state(id).await, State::Queued);
    }
    assert_eq!(t.get(scheduled).await.max_attempts, 1, "one was left");
    assert_eq!(t.get(retrying).await.max_attempts, 2, "one was left");
    t.enqueue(job().run_in(HOUR)).await;
    assert_eq!(t.claim(9).await.len(), 2);
}

pub async fn retry_is_refused_where_the_table_says_so(t: Harness) {
    let succeeded = t.ended(job(), done()).await;
    let running = t.enqueue(job()).await;
    t.claim_one().await;
    let queued = t.enqueue(job()).await;

    for (id, expected) in
        [(succeeded, State::Succeeded), (running, State::Running), (queued, State::Queued)]
    {
        match t.store.retry(id, 1, &Edit::new()).await {
            Err(StoreError::Refused { state, .. }) => assert_eq!(state, expected),
            other => panic!("{expected}: {other:?}"),
        }
    }
}

pub async fn a_retry_may_mend_the_payload(t: Harness) {
    let large = format!("\"{}\"", "x".repeat(5_000));
    for ending in [dead(), cancelled()] {
        for (before, after) in [("[1]", "[2]"), ("[1]", &large), (&*large, "[2]")] {
            let id = t.ended(job().payload(before), ending.clone()).await;
            let mend = || Edit::new().payload(after).queue("mended").tags(["by hand"]);

            match t.store.retry(id, 1, &mend().if_version(99)).await {
                Err(StoreError::VersionChanged { expected: 99, .. }) => {}
                other => panic!("{other:?}"),
            }
            let row = t.get(id).await;
            assert!(row.state.is_end() && *row.payload == *before, "all or nothing");

            let version = row.version;
            t.store.retry(id, 3, &mend().if_version(version)).await.expect("a mended job");

            let row = t.get(id).await;
            assert_eq!(
                (row.state, &*row.queue, row.tags.join(" ")),
                (State::Queued, "mended", "by hand".into())
            );
            assert_eq!((&*row.payload, row.attempt, row.max_attempts >= 4), (after, 1, true));
            t.store.delete(id).await.expect("it goes");
            assert_eq!(t.count("payload").await, 0, "nothing is left aside");
        }
    }
    let running = t.enqueue(job()).await;
    t.claim_one().await;
    let refused = t.store.retry(running, 1, &Edit::new().payload("[2]")).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    assert_eq!(t.get(running).await.version, 0);
}

pub async fn retry_with_absurd_attempts_stays_in_range(t: Harness) {
    let id = t.ended(job(), dead()).await;

    t.store.retry(id, u32::MAX, &Edit::new()).await.expect("as many as there may be");

    let run = t.claim_one().await;
    assert_eq!((run.id, run.attempt), (id, 2));
    assert!(t.get(id).await.max_attempts >= 1_000_000_000);
}

pub async fn an_unknown_job_is_not_found(t: Harness) {
    let id = JobId::new();
    assert!(t.find(id).await.is_none());
    assert!(
        matches!(t.store.retry(id, 1, &Edit::new()).await, Err(StoreError::NotFound(which)) if which == id)
    );
    let cancel = t.store.cancel(id, &AskCancel::default()).await;
    assert!(matches!(cancel, Err(StoreError::NotFound(which)) if which == id));
}

pub async fn a_cancel_racing_a_finish_has_one_winner(t: Harness) {
    for _ in 0..40 {
        let id = t.enqueue(job()).await;
        let run = t.claim_one().await;
        let (canceller, finisher) = (t.store.clone(), t.clone());

        let (cancel, ack) = tokio::join!(
            tokio::spawn(async move { canceller.cancel(id, &AskCancel::default()).await }),
            tokio::spawn(async move { finisher.finish(&run, done()).await })
        );

        match (cancel.unwrap(), ack.unwrap(), t.state(id).await) {
            (Ok(State::Running), Ack::Recorded(State::Cancelled), State::Cancelled) => {}
            (
                Err(StoreError::Refused { state: State::Succeeded, .. }),
                Ack::Recorded(State::Succeeded),
                State::Succeeded,
            ) => {}
            other => panic!("{other:?}"),
        }
    }
}

pub async fn cancels_lists_only_this_nodes_jobs(t: Harness) {
    t.enqueue_all(&jobs(4)).await;
    let (one, other) = (t.node().await, t.node().await);
    let (mine, theirs) = (one.claim(2).await, other.claim(2).await);
    t.cancel(mine[1].id).await;
    t.cancel(theirs[0].id).await;

    assert_eq!(t.store.cancels(one.id).await.unwrap(), [mine[1].id]);
    assert_eq!(t.store.cancels(other.id).await.unwrap(), [theirs[0].id]);
}

pub async fn a_retry_wakes_from_the_start_and_a_cancel_its_node(t: Harness) {
    let id = t.ended(job(), dead()).await;
    let mut woken = t.store.wakes().subscribe();
    t.retry(id).await;
    t.until("the retry wakes", || {
        let news = woken.take();
        async move { news.from_start }
    })
    .await;
    t.claim_one().await;
    t.cancel(id).await;
    t.until("the cancel wakes", || {
        let news = woken.take();
        async move { news.cancels }
    })
    .await;
    // What a crash leaves of an attempt stays told in the same words.
    t.advance(LEASE_FOR + SECOND);
    t.rescue().await;
    assert!(t.get(id).await.errors.iter().all(|error| error.kind != AttemptFault::Panic));
}

pub async fn an_edit_changes_what_it_names_and_nothing_else(t: Harness) {
    let new = job().payload("[1]").queue("mail").priority(7).tag("a").run_in(HOUR).max_attempts(3);
    let id = t.enqueue(new).await;
    let before = t.get(id).await;

    assert_eq!(t.store.edit(id, &Edit::new().priority(1).tags(["x", "y"])).await.unwrap(), 1);

    let after = t.get(id).await;
    assert_eq!((after.priority, after.version), (1, 1));
    assert_eq!(after.tags, ["x", "y"]);
    assert_eq!((&after.queue, &after.payload), (&before.queue, &before.payload));
    assert_eq!((after.run_at, after.state), (before.run_at, State::Scheduled));

    t.store.edit(id, &Edit::new().queue("post").tags(Vec::<String>::new())).await.unwrap();
    let after = t.get(id).await;
    assert_eq!((after.queue.as_str(), after.tags.len(), after.version), ("post", 0, 2));
    assert!(t.claim(5).await.is_empty(), "it is not due, and elsewhere");
    t.advance(HOUR);
    assert_eq!(t.node().await.claim_from(&[ask("post", 5)], &[KIND]).await[0].id, id);
}

pub async fn an_edit_of_the_payload_keeps_one_copy(t: Harness) {
    let large = |letter: &str| format!("\"{}\"", letter.repeat(5_000));
    let id = t.enqueue(job().payload("1")).await;
    for (payload, aside) in
        [(large("a"), 1), (large("b"), 1), ("[2]".to_owned(), 0), (large("c"), 1)]
    {
        t.store.edit(id, &Edit::new().payload(payload.clone())).await.unwrap();

        assert_eq!(*t.get(id).await.payload, payload);
        assert_eq!(t.count("payload").await, aside);
    }
    assert_eq!(*t.claim_one().await.payload, large("c"));
}

pub async fn an_edit_names_the_version_it_knows(t: Harness) {
    let id = t.enqueue(job()).await;
    assert_eq!(t.store.edit(id, &Edit::new().priority(1).if_version(0)).await.unwrap(), 1);

    match t.store.edit(id, &Edit::new().priority(2).if_version(0)).await {
        Err(StoreError::VersionChanged { id: which, found: 1, expected: 0 }) => {
            assert_eq!(which, id);
        }
        other => panic!("{other:?}"),
    }

    assert_eq!((t.get(id).await.priority, t.get(id).await.version), (1, 1));
    assert_eq!(t.store.edit(id, &Edit::new().priority(2).if_version(1)).await.unwrap(), 2);
}

pub async fn an_edit_may_run_now_or_later(t: Harness) {
    let id = t.enqueue(job().run_in(HOUR)).await;
    t.store.edit(id, &Edit::new().run_now()).await.unwrap();
    assert_eq!((t.state(id).await, t.get(id).await.run_at), (State::Queued, Some(t.now().await)));

    t.store.edit(id, &Edit::new().run_in(HOUR)).await.unwrap();
    assert_eq!(t.state(id).await, State::Scheduled);
    let at = t.now().await.plus(2 * HOUR);
    t.store.edit(id, &Edit::new().run_at(at)).await.unwrap();
    assert_eq!(t.get(id).await.run_at, Some(at));

    let retrying = t.ended(job(), failed(HOUR)).await;
    t.store.edit(retrying, &Edit::new().run_in(MINUTE)).await.unwrap();
    assert_eq!((t.state(retrying).await, t.get(retrying).await.errors.len()), (State::Retrying, 1));
}

pub async fn an_edit_of_what_does_not_wait_is_refused(t: Harness) {
    let running = t.enqueue(job()).await;
    let run = t.claim_one().await;
    let mut fixed = vec![(running, State::Running)];
    for (ending, state) in
        [(done(), State::Succeeded), (dead(), State::Dead), (cancelled(), State::Cancelled)]
    {
        fixed.push((t.ended(job(), ending).await, state));
    }
    for (id, was) in fixed {
        for edit in [Edit::new().priority(1), Edit::new().run_now(), Edit::new().payload("[7]")] {
            match t.store.edit(id, &edit).await {
                Err(StoreError::Refused { state, .. }) => assert_eq!(state, was),
                other => panic!("{was}: {other:?}"),
            }
        }
        assert_eq!((t.state(id).await, &*t.get(id).await.payload), (was, "null"));
    }
    assert_eq!(t.finish(&run, done()).await, Ack::Recorded(State::Succeeded));
    let nobody = t.store.edit(JobId::new(), &Edit::new().priority(1)).await;
    assert!(matches!(nobody, Err(StoreError::NotFound(_))), "{nobody:?}");
}

pub async fn an_edit_wakes_from_the_start(t: Harness) {
    let id = t.enqueue(job().run_in(HOUR)).await;
    let mut woken = t.store.wakes().subscribe();

    t.store.edit(id, &Edit::new().run_now()).await.unwrap();

    t.until("the wake comes", || {
        let news = woken.take();
        async move { news.from_start }
    })
    .await;
}

pub async fn an_edit_racing_a_claim_has_one_order(t: Harness) {
    let node = t.node().await;
    for round in 0..20 {
        let id = t.enqueue(job().payload("\"old\"")).await;
        let edit = {
            let t = t.clone();
            tokio::spawn(async move { t.store.edit(id, &Edit::new().payload("\"new\"")).await })
        };
        let mut run = node.claim(1).await;
        let edited = edit.await.unwrap();
        if run.is_empty() {
            // The claim passed over a row that was just being edited.
            run = node.claim(1).await;
        }

        let expected = if edited.is_ok() { "\"new\"" } else { "\"old\"" };
        assert_eq!(&*run[0].payload, expected, "round {round}: {edited:?}");
        t.finish(&run[0], done()).await;
    }
}

pub async fn a_deleted_job_leaves_nothing(t: Harness) {
    let large = || job().payload(format!("\"{}\"", "x".repeat(5_000)));
    let mut all = vec![t.enqueue(large().run_in(HOUR)).await];
    for ending in [done(), dead(), cancelled(), failed(HOUR)] {
        all.push(t.ended(large(), ending).await);
    }
    all.push(t.enqueue(large()).await);
    for id in all {
        t.store.delete(id).await.unwrap();

        assert!(t.find(id).await.is_none());
        let again = t.store.delete(id).await;
        assert!(matches!(again, Err(StoreError::NotFound(_))), "{again:?}");
    }
    for table in ["job", "history", "payload"] {
        assert_eq!(t.count(table).await, 0, "{table}");
    }
}

pub async fn a_running_job_cannot_be_deleted(t: Harness) {
    let id = t.enqueue(job()).await;
    let run = t.claim_one().await;

    match t.store.delete(id).await {
        Err(StoreError::Refused { state: State::Running, .. }) => {}
        other => panic!("{other:?}"),
    }

    assert_eq!(t.finish(&run, done()).await, Ack::Recorded(State::Succeeded));
}
