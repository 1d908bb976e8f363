//! Pauses: what is paused is not taken, by nobody, and everything else goes on.

use std::time::Duration;

use longshore::store::{MAX_PAUSES, NewPause, Pause, PauseScope, SetPause};
use longshore::{Client, NewJob, StoreError, Unique};

use crate::harness::*;

use PauseScope::{Kind, Queue};

fn of(scope: PauseScope, name: &str) -> SetPause {
    SetPause { scope, name: name.into(), by: None, why: None, until: None }
}

async fn pause(t: &Harness, scope: PauseScope, name: &str) -> Pause {
    t.store.pause(&of(scope, name)).await.expect("a pause")
}

async fn resume(t: &Harness, scope: PauseScope, name: &str) -> bool {
    t.store.resume(scope, name).await.expect("a resume")
}

async fn names(t: &Harness) -> Vec<String> {
    let pauses = t.store.pauses().await.expect("what is paused");
    pauses.iter().map(|pause| format!("{} {}", pause.scope, pause.name)).collect()
}

pub async fn nothing_of_a_paused_queue_is_taken_by_nobody(t: Harness) {
    let (ours, theirs) = (t.node().await, t.beside().await);
    let other = Node { store: theirs.clone(), ..t.node().await };
    t.enqueue(job()).await;
    let free = t.enqueue(job().queue("free")).await;

    pause(&t, Queue, "default").await;

    assert_eq!(ours.claim(10).await.len(), 0);
    assert_eq!(other.claim(10).await.len(), 0, "another process obeys as well");
    assert_eq!(t.claim(10).await.len(), 0, "and so does a node that starts meanwhile");
    let both = [ask("default", 10), ask("free", 10)];
    assert_eq!(ids(&ours.claim_from(&both, &[KIND]).await), [free], "a queue beside it is served");
    assert!(resume(&t, Queue, "default").await);
    assert_eq!(other.claim(10).await.len(), 1);
    theirs.close().await;
}

pub async fn a_pause_of_a_kind_leaves_other_kinds_alone(t: Harness) {
    let node = t.node().await;
    t.enqueue(job()).await;
    let other = t.enqueue(NewJob::new("other")).await;
    pause(&t, Kind, KIND).await;

    let taken = node.claim_from(&[ask("default", 10)], &[KIND, "other"]).await;

    assert_eq!(ids(&taken), [other]);
    assert_eq!(node.claim(10).await.len(), 0, "nor where it is the only kind asked for");
    resume(&t, Kind, KIND).await;
    assert_eq!(node.claim(10).await.len(), 1);
}

pub async fn a_kind_and_its_queue_are_paused_each_by_itself(t: Harness) {
    let node = t.node().await;
    t.enqueue(job()).await;
    pause(&t, Queue, "default").await;
    pause(&t, Kind, KIND).await;
    // A queue of the kind's name is something else.
    pause(&t, Queue, KIND).await;

    assert_eq!(names(&t).await, ["queue default", "queue k", "kind k"]);
    assert!(resume(&t, Queue, "default").await);
    assert_eq!(node.claim(1).await.len(), 0, "its kind is still paused");
    assert!(resume(&t, Kind, KIND).await);
    assert_eq!(node.claim(1).await.len(), 1);
    assert!(!resume(&t, Kind, KIND).await, "it was not paused any more");
}

pub async fn what_runs_goes_on_while_its_queue_is_paused(t: Harness) {
    let id = t.enqueue(job().max_attempts(3)).await;
    let run = t.claim_one().await;
    pause(&t, Queue, "default").await;
    pause(&t, Kind, KIND).await;

    assert!(matches!(t.finish(&run, failed(MILLI)).await, longshore::store::Ack::Recorded(_)));
    t.advance(SECOND);
    assert_eq!(t.claim(1).await.len(), 0, "its next attempt waits");
    resume(&t, Queue, "default").await;
    resume(&t, Kind, KIND).await;
    let again = t.claim_one().await;
    assert_eq!((again.id, again.attempt), (id, 2));
}

pub async fn all_else_works_as_ever_while_paused(t: Harness) {
    pause(&t, Queue, "default").await;
    let first = t.enqueue(job().unique(Unique::key("one"))).await;
    let second = t.enqueue_all(&[job().unique(Unique::key("one"))]).await;
    assert_eq!(second[0].id, first, "the key is held");
    t.store.edit(first, &longshore::Edit::new().priority(0)).await.expect("an edit");
    assert_eq!(t.cancel(first).await, longshore::State::Cancelled);
    t.retry(first).await;
    assert_eq!(t.state(first).await, longshore::State::Queued);
    let moved = t.enqueue(job()).await;
    t.store.edit(moved, &longshore::Edit::new().queue("free")).await.expect("an edit");
    assert_eq!(ids(&t.node().await.claim_from(&[ask("free", 9)], &[KIND]).await), [moved]);
    t.store.delete(first).await.expect("a delete");
    assert!(t.find(first).await.is_none());
}

pub async fn a_pause_says_who_and_why_and_keeps_its_beginning(t: Harness) {
    let first = SetPause {
        by: Some("ada".into()),
        why: Some("the provider is down".into()),
        ..of(Queue, "default")
    };
    let since = t.now().await;
    let set = t.store.pause(&first).await.expect("a pause");
    assert_eq!((set.since, set.until), (since, None));
    t.advance(MINUTE);
    let until = t.now().await.plus(HOUR);
    let anew = SetPause { by: Some("bob".into()), until: Some(until), ..first };

    let set = t.store.pause(&anew).await.expect("a pause");

    assert_eq!((set.since, set.until), (since, Some(until)));
    assert_eq!(t.store.pauses().await.expect("pauses"), std::slice::from_ref(&set));
    assert_eq!(set.by.as_deref(), Some("bob"));
    t.advance(HOUR);
    let set = t.store.pause(&of(Queue, "default")).await.expect("a pause");
    assert_eq!(set.since, t.now().await, "the one before was over");
}

pub async fn a_pause_ends_by_itself_by_the_stores_clock(t: Harness) {
    let node = t.node().await;
    t.enqueue(job()).await;
    let until = t.now().await.plus(MINUTE);
    t.store.pause(&SetPause { until: Some(until), ..of(Queue, "default") }).await.expect("a pause");

    let look = node.look(&[ask("default", 1)], &[KIND]).await;
    assert_eq!((look.jobs.len(), look.pauses.next_end), (0, Some(until)));
    t.advance(MINUTE - MILLI);
    assert_eq!(node.claim(1).await.len(), 0);
    t.advance(MILLI);
    assert_eq!(names(&t).await, Vec::<String>::new());
    assert!(!resume(&t, Queue, "default").await, "it is over");
    assert_eq!(node.claim(1).await.len(), 1);
}

/// A failover to a server whose clock is behind brings a pause back, as it should: it is not over yet.
pub async fn a_clock_that_jumps_is_believed(t: Harness) {
    let node = t.node().await;
    t.enqueue(job()).await;
    let until = t.now().await.plus(MINUTE);
    t.store.pause(&SetPause { until: Some(until), ..of(Queue, "default") }).await.expect("a pause");
    let seen = node.look(&[ask("default", 1)], &[KIND]).await.pauses;
    t.advance(HOUR);
    let over = node.look(&[ask("other", 1)], &[KIND]).await.pauses;
    assert_eq!((over.mark, over.next_end), (0, None));
    // Another server, whose clock is behind.
    let behind = longshore::Clock::manual(until.minus(SECOND));
    let options = t.database.options(behind);
    let store = longshore::store::open(&t.database.url(), options).await.expect("it opens");
    let node = Node { store: store.clone(), ..node };

    let back = node.look(&[ask("default", 1)], &[KIND]).await;

    assert_eq!((back.jobs.len(), back.pauses), (0, seen));
    store.close().await;
}

pub async fn a_claim_tells_one_set_of_pauses_from_another(t: Harness) {
    let node = t.node().await;
    let mut marks = Vec::new();
    let mark = async || node.look(&[ask("default", 1)], &[KIND]).await.pauses.mark;
    marks.push(mark().await);
    for (scope, name) in [(Queue, "a"), (Kind, "a"), (Queue, "a")] {
        pause(&t, scope, name).await;
        marks.push(mark().await);
    }
    resume(&t, Kind, "a").await;
    marks.push(mark().await);

    assert_eq!(marks[0], 0);
    let mut told = marks.clone();
    told.sort();
    told.dedup();
    assert_eq!(told.len(), marks.len(), "{marks:?}");
}

pub async fn a_resume_wakes_from_the_start(t: Harness) {
    let mut woken = t.store.wakes().subscribe();
    pause(&t, Queue, "default").await;
    resume(&t, Queue, "default").await;
    assert!(woken.take().from_start);
}

pub async fn odd_names_are_paused_byte_by_byte_and_hostile_ones_refused(t: Harness) {
    let node = t.node().await;
    for queue in ["mail", "Mail", "a b/%'\"\\"] {
        t.enqueue(job().queue(queue)).await;
    }
    pause(&t, Queue, "Mail").await;
    pause(&t, Queue, "a b/%'\"\\").await;
    let asks = ["mail", "Mail", "a b/%'\"\\"].map(|queue| ask(queue, 9));
    let taken = node.claim_from(&asks, &[KIND]).await;
    assert_eq!(taken.iter().map(|run| run.queue.as_str()).collect::<Vec<_>>(), ["mail"]);

    let client = Client::open(&t.database.url()).await.expect("a client");
    let said = async |pause: NewPause| match client.pause(pause).await {
        Err(error @ StoreError::Invalid(_)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let long = "x".repeat(256);
    assert!(said(NewPause::queue(&long)).await.ends_with("has 256 bytes; a name has 1 to 255"));
    assert!(said(NewPause::kind("a\0b")).await.starts_with("kind `a\\u{0}b` has the character"));
    assert!(said(NewPause::queue("")).await.starts_with("queue `` is empty"));
    let past = longshore::Timestamp::from_micros(0);
    assert!(said(NewPause::queue("q").until(past)).await.starts_with("until is 1970-01-01"));
    assert!(said(NewPause::queue("q").lasting(Duration::ZERO)).await.contains("which is over"));
    client.close().await;
}

pub async fn there_are_only_so_many_pauses(t: Harness) {
    let until = Some(t.now().await.plus(MINUTE));
    for n in 0..MAX_PAUSES {
        let name = format!("q{n}");
        let pause = SetPause { until: until.filter(|_| n > 0), ..of(Queue, &name) };
        t.store.pause(&pause).await.expect("a pause");
    }

    let answer = t.store.pause(&of(Queue, "one more")).await;

    assert!(matches!(answer, Err(StoreError::Invalid(_))), "{answer:?}");
    pause(&t, Queue, "q7").await;
    t.advance(MINUTE);
    pause(&t, Queue, "one more").await;
    assert_eq!(names(&t).await, ["queue one more", "queue q0", "queue q7"]);
    assert_eq!(t.count("pause").await, 3, "those that were over are forgotten");
}

pub async fn a_queue_is_emptied_of_what_waits(t: Harness) {
    let node = t.node().await;
    let queue =
        |job: NewJob| job.queue("full").unique(Unique::key(uuid::Uuid::now_v7().to_string()));
    let full = [ask("full", 1)];
    let dead_one = t.enqueue(queue(job())).await;
    let run = node.claim_from(&full, &[KIND]).await.pop().expect("a job");
    t.finish(&run, dead()).await;
    let retrying = t.enqueue(queue(job())).await;
    let run = node.claim_from(&full, &[KIND]).await.pop().expect("a job");
    t.finish(&run, failed(HOUR)).await;
    let running = t.enqueue(queue(job())).await;
    let run = node.claim_from(&full, &[KIND]).await.pop().expect("a job");
    let queued = t.enqueue(queue(job()).payload(format!("\"{}\"", "x".repeat(5_000)))).await;
    let later = t.enqueue(queue(job()).run_in(HOUR).priority(9)).await;
    let elsewhere = t.enqueue(job()).await;
    let came_by = t.now().await;
    t.advance(MILLI);
    let young = t.enqueue(queue(job())).await;

    let step = t.store.empty_queue("full", came_by).await.expect("a step");

    assert_eq!((step.removed, step.more), (3, false));
    for gone in [retrying, queued, later] {
        assert!(t.find(gone).await.is_none());
    }
    for stays in [dead_one, running, elsewhere, young] {
        assert!(t.find(stays).await.is_some());
    }
    assert_eq!(t.count("payload").await, 0);
    assert_eq!(t.count("unique_key").await, 2, "of the one that runs, and of the young one");
    assert!(matches!(t.finish(&run, done()).await, longshore::store::Ack::Recorded(_)));
}

pub async fn a_large_queue_is_emptied_in_steps(t: Harness) {
    for _ in 0..3 {
        let many: Vec<_> = jobs(1_000).into_iter().map(|job| job.queue("full")).collect();
        t.enqueue_all(&many).await;
    }
    t.enqueue(job().queue("full").priority(9)).await;
    let now = t.now().await;
    let first = t.store.empty_queue("full", now).await.expect("a step");
    assert!(first.more && first.removed == 1_000, "{first:?}");

    let client = Client::open(&t.database.url()).await.expect("a client");
    assert_eq!(client.empty_queue("full").await.expect("it empties"), 2_001);
    assert_eq!(t.count("job").await, 0);
    client.close().await;
}

pub async fn claims_beside_an_emptying_take_each_job_once_or_not_at_all(t: Harness) {
    for _ in 0..4 {
        t.enqueue_all(&jobs(1_000)).await;
    }
    let now = t.now().await;
    let claims = {
        let node = t.node().await;
        tokio::spawn(async move {
            let mut taken = 0;
            for _ in 0..10 {
                taken += node.claim(100).await.len();
            }
            taken
        })
    };
    let mut removed = 0;
    loop {
        let step = t.store.empty_queue("default", now).await.expect("a step");
        removed += step.removed as usize;
        if !step.more {
            break;
        }
    }
    let taken = claims.await.expect("no panic");
    assert_eq!(removed + taken, 4_000);
    assert_eq!(t.count("job").await as usize, taken, "what was taken runs");
}
