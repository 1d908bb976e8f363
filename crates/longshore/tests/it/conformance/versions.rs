//! Versions of payloads: who gets which; and that a version, and the names of redacted fields, stay with their job.

use longshore::store::{Edit, ListQuery, Repeat};
use longshore::{JobRow, NewJob, OnConflict, State, Unique};

use crate::harness::*;

const FIELDS: [&str; 2] = ["pin", "ä\"b"];

fn third() -> NewJob {
    job().payload_version(3).redact(FIELDS[0]).redact(FIELDS[1])
}

/// Small, and so large that it lies aside.
fn payloads() -> [String; 2] {
    [r#"{"pin":17}"#.to_owned(), format!("{{\"pin\":\"{}\"}}", "7".repeat(2_500))]
}

fn is_third(row: &JobRow, when: &str) {
    assert_eq!(
        (row.payload_version, &row.redacted[..]),
        (3, &FIELDS.map(String::from)[..]),
        "{when}"
    );
}

pub async fn a_job_that_says_nothing_is_of_the_first_version(t: Harness) {
    let id = t.enqueue(job()).await;
    let row = t.get(id).await;
    assert_eq!((row.payload_version, row.redacted.len()), (1, 0));
    let run = t.claim_one().await;
    assert_eq!((run.payload_version, run.redacted.len()), (1, 0));
}

pub async fn a_version_stays_with_its_job_however_that_ends(t: Harness) {
    for payload in payloads() {
        for (how, ending) in every_ending() {
            let id = t.enqueue(third().payload(payload.as_str())).await;
            let run = t.claim_one().await;
            assert_eq!((run.id, run.payload_version), (id, 3));
            assert_eq!(run.redacted, FIELDS);
            t.finish(&run, ending).await;
            is_third(&t.get(id).await, how);
            if matches!(t.state(id).await, State::Dead | State::Cancelled) {
                t.retry(id).await;
                let again = t.claim_one().await;
                assert_eq!((again.id, again.payload_version), (id, 3), "after {how}");
                assert_eq!(
                    (&again.redacted[..], &*again.payload),
                    (&FIELDS.map(String::from)[..], &*payload)
                );
            } else if !t.state(id).await.is_end() {
                t.cancel(id).await;
            }
        }
        // A waiting one that is cancelled, and comes back.
        let id = t.enqueue(third().payload(payload.as_str())).await;
        t.cancel(id).await;
        is_third(&t.get(id).await, "cancelled while it waited");
        t.retry(id).await;
        is_third(&t.get(id).await, "queued again");
        // A running one that is asked to cancel, and then fails.
        let run = t.claim_one().await;
        t.cancel(id).await;
        t.finish(&run, failed(SECOND)).await;
        assert_eq!(t.state(id).await, State::Cancelled);
        is_third(&t.get(id).await, "cancelled while it ran");
    }
}

pub async fn a_version_outlives_the_node_that_is_lost(t: Harness) {
    let more = t.enqueue(third().max_attempts(2)).await;
    let last = t.enqueue(third().max_attempts(1)).await;
    let stopped = t.enqueue(third()).await;
    let node = t.node().await;
    assert_eq!(node.claim(3).await.len(), 3);
    let recalled = t.store.recall(node.id, 1).await.expect("its jobs");
    assert!(recalled.iter().all(|job| job.payload_version == 3 && job.redacted == FIELDS));
    t.cancel(stopped).await;
    t.advance(LEASE_FOR + SECOND);

    t.rescue().await;

    for (id, state) in [(more, State::Queued), (last, State::Dead), (stopped, State::Cancelled)] {
        let row = t.get(id).await;
        assert_eq!(row.state, state);
        is_third(&row, "after a rescue");
    }
}

pub async fn lists_and_large_calls_know_versions(t: Harness) {
    let ended = t.ended(third(), done()).await;
    let mut part = jobs(150);
    part.push(third());
    let (send, parts) = tokio::sync::mpsc::channel(2);
    let (waiting, store) = (part[150].id(), t.store.clone());
    let call = tokio::spawn(async move { store.enqueue_parts(parts).await });
    send.send(longshore::store::Part::Jobs(part)).await.expect("it is taken");
    send.send(longshore::store::Part::End).await.expect("it is taken");
    call.await.expect("no panic").expect("an enqueue");
    t.repeat(&third()).await;

    let page =
        t.store.list(&ListQuery { limit: 200, ..ListQuery::default() }).await.expect("a list");

    for row in page.jobs {
        match row.payload_version {
            1 => assert!(row.redacted.is_empty()),
            _ => is_third(&row, "listed"),
        }
    }
    is_third(&t.get(waiting).await, "of a large call");
    is_third(&t.get(ended).await, "ended");
}

pub async fn a_newer_version_waits_for_a_node_that_knows_it(t: Harness) {
    let newest = t.enqueue(job().priority(0).payload_version(3)).await;
    let newer = t.enqueue(job().priority(0).payload_version(2)).await;
    let first = t.enqueue(job()).await;
    let (old, new) = (t.node().await, t.node().await);
    let queues = [ask("default", 10)];
    let claim = async |node: &Node, version| {
        let claimed = node.look_for(&queues, &[(KIND, version)]).await;
        (claimed.jobs.iter().map(|job| job.id).collect::<Vec<_>>(), claimed.picked)
    };

    // It waits unharmed, and in nobody's way.
    assert_eq!(claim(&old, 1).await, (vec![first], 1));
    assert_eq!(claim(&old, 1).await, (vec![], 0));
    let row = t.get(newest).await;
    assert_eq!((row.state, row.attempt), (State::Queued, 0));

    assert_eq!(claim(&new, 2).await, (vec![newer], 1));
    assert_eq!(claim(&new, 3).await, (vec![newest], 1));
}

pub async fn each_kind_has_its_own_versions(t: Harness) {
    let names = ["a\"b\\", "k", "ä'x", "[1]", "z"];
    let mut known = Vec::new();
    for (name, version) in names.into_iter().zip(1..) {
        let of = |version| NewJob::new(name).payload_version(version);
        known.push(t.enqueue(of(version)).await);
        t.enqueue(of(version + 1)).await;
        t.enqueue(of(i32::MAX as u32)).await;
    }
    let kinds: Vec<(&str, u32)> = names.into_iter().zip(1..).collect();
    let node = t.node().await;

    let claimed = node.look_for(&[ask("default", 100)], &kinds).await;

    let ids: Vec<_> = claimed.jobs.iter().map(|job| job.id).collect();
    assert_eq!(ids, known);
    // Who takes payloads as they are takes them all.
    assert_eq!(node.claim_from(&[ask("default", 100)], &names).await.len(), 10);
}

pub async fn a_replacement_has_the_version_of_its_payload(t: Harness) {
    let unique = || Unique::key("x").on_conflict(OnConflict::Replace);
    for [old, new] in [payloads(), {
        let [a, b] = payloads();
        [b, a]
    }] {
        let id = t.enqueue(third().payload(old.as_str()).unique(unique())).await;
        let by = job().payload(new.as_str()).payload_version(4).redact("n").unique(unique());
        let answer = t.enqueue_all(&[by]).await[0];
        assert_eq!((answer.id, answer.is_replaced()), (id, true));
        let row = t.get(id).await;
        assert_eq!(
            (row.payload_version, &row.redacted[..], &*row.payload),
            (4, &["n".to_owned()][..], &*new)
        );
        let answer = t.enqueue_all(&[job().payload("1").unique(unique())]).await[0];
        assert!(answer.is_replaced());
        let row = t.get(id).await;
        assert_eq!((row.payload_version, row.redacted.len()), (1, 0));
        t.cancel(id).await;
    }
}

pub async fn an_edit_may_say_another_version(t: Harness) {
    let id = t.enqueue(third()).await;
    t.store.edit(id, &Edit::new().payload("[4]").payload_version(4)).await.expect("an edit");
    let row = t.get(id).await;
    assert_eq!((row.payload_version, &*row.payload), (4, "[4]"));
    assert_eq!(row.redacted, FIELDS, "what is hidden stays hidden");
    t.store.edit(id, &Edit::new().priority(1)).await.expect("an edit");
    assert_eq!(t.get(id).await.payload_version, 4);
}

pub async fn a_repeat_changes_no_version(t: Harness) {
    let id = t.enqueue(third()).await;
    let repeat = [job().with_id(id).payload_version(5)];
    assert!(t.store.enqueue(&repeat, Repeat::Yes).await.expect("a repeat")[0].is_duplicate());
    is_third(&t.get(id).await, "after a repeat");
}
