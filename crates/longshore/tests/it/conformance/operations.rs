//! Operations: every action, in steps that are done once whoever tries, dies or asks.

use std::collections::BTreeMap;
use std::time::Duration;

use longshore::operation::{
    Action, MAX_OPEN_OPERATIONS, NewOperation, OperationAsk, OperationId, OperationRow,
    OperationState, OperationStep,
};
use longshore::query::Filter;
use longshore::store::{Effort, Lead, Relation, Repeat, StoreError};
use longshore::{JobId, NewJob, State, Unique};

use super::token::client;
use crate::harness::*;

fn query(text: &str) -> Filter {
    text.parse().expect("a query")
}

impl Harness {
    async fn start(&self, action: Action, text: &str) -> OperationId {
        let new = NewOperation::new(action, query(text)).by("ada").why("because");
        let count = self.store.count(&query(text), Effort::Bounded).await.expect("a count");
        self.store.start_operation(&new, count).await.expect("it starts").id
    }

    /// Leads, with a lease that outlives the test.
    async fn leader(&self) -> Lead {
        let node = self.node().await;
        self.lead(&node, 24 * HOUR).await.expect("it leads")
    }

    async fn try_step(&self, lead: Lead, id: OperationId, most: u32) -> OperationRow {
        let step = OperationStep { id, most, skip: false };
        self.store.step_operation(lead, &step).await.expect("a step")
    }

    /// Steps to the end.
    async fn finish_operation(&self, lead: Lead, id: OperationId) -> OperationRow {
        for _ in 0..1_000 {
            let row = self.try_step(lead, id, 100).await;
            if row.state != OperationState::Running {
                return row;
            }
        }
        panic!("it does not end");
    }

    async fn operate(&self, action: Action, text: &str) -> OperationRow {
        let lead = self.leader().await;
        let id = self.start(action, text).await;
        self.finish_operation(lead, id).await
    }

    async fn operation(&self, id: OperationId) -> OperationRow {
        self.store.operation(id).await.expect("a look-up").expect("it is there")
    }
}

fn reasons<const N: usize>(of: [(&str, u64); N]) -> BTreeMap<String, u64> {
    of.map(|(reason, jobs)| (reason.to_owned(), jobs)).into()
}

pub async fn an_operation_is_read_back_as_it_was_started(t: Harness) {
    t.enqueue_all(&jobs(3)).await;
    let client = client(&t).await;
    let action = Action::Move { queue: "ö'\"".into() };
    let new = NewOperation::new(action, query("kind:k  state:queued")).by("ada").why("a\0b");
    let row = client.start_operation(new.clone()).await.unwrap();
    assert_eq!((&*row.action, &*row.arguments), ("move", r#"{"queue":"ö'\""}"#));
    assert_eq!(row.query, "state:queued kind:k");
    assert_eq!((row.by.as_deref(), row.why.as_deref()), (Some("ada"), Some("a\u{fffd}b")));
    assert_eq!((row.state, row.total, row.relation), (OperationState::Running, 3, Relation::Exact));
    assert_eq!((row.done, row.skipped, row.ended_at, row.runner), (0, 0, None, None));
    assert_eq!((row.created_at, row.updated_at), (t.now().await, t.now().await));
    // A repeat is the same operation.
    t.advance(SECOND);
    assert_eq!(client.start_operation(new).await.unwrap(), row);
    assert_eq!(client.operation(row.id).await.unwrap(), row);

    for _ in 0..4 {
        client.start_operation(NewOperation::new(Action::Delete, query("kind:x"))).await.unwrap();
    }
    let (first, more) = client.operations(None, 3).await.unwrap();
    assert!(more && first.is_sorted_by(|a, b| a.id > b.id) && first.len() == 3);
    let (rest, more) = client.operations(Some(first[2].id), 3).await.unwrap();
    assert!(!more && rest.len() == 2 && rest[1] == row);

    let gone = "019364bb-3f3c-7c6e-8f6a-3d2f1b7c9e10".parse().unwrap();
    assert!(matches!(client.operation(gone).await, Err(StoreError::NoOperation(id)) if id == gone));
    let asked = client.pause_operation(gone).await;
    assert!(matches!(asked, Err(StoreError::NoOperation(_))), "{asked:?}");
    client.close().await;
}

pub async fn everything_must_be_meant(t: Harness) {
    t.enqueue_all(&jobs(12)).await;
    let client = client(&t).await;
    let new = NewOperation::new(Action::Delete, Filter::all());
    let refused = client.start_operation(new.clone()).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "query is empty, which means every job there is; say that everything is meant, or which jobs"
    );
    assert!(client.try_operation(&new).await.is_err());
    let dry = client.try_operation(&new.clone().everything()).await.unwrap();
    assert_eq!((dry.count.value, dry.count.relation), (12, Relation::Exact));
    assert_eq!(dry.examples.len(), 10);
    assert_eq!(t.count("operation").await, 0, "a dry run starts nothing");
    let row = client.start_operation(new.everything()).await.unwrap();
    let row = t.finish_operation(t.leader().await, row.id).await;
    assert_eq!((row.done, t.count("job").await), (12, 0));
    client.close().await;
}

pub async fn a_retry_takes_dead_and_cancelled_jobs_and_skips_the_rest(t: Harness) {
    let dead = t.ended(job().max_attempts(1), dead()).await;
    let cancelled = t.ended(job(), cancelled()).await;
    let done = t.ended(job(), done()).await;
    let other = t.ended(NewJob::new(KIND).tag("other"), super::super::harness::dead()).await;
    let later = t.enqueue(job().run_in(HOUR)).await;
    let queued = t.enqueue(job()).await;

    let row = t.operate(Action::Retry { attempts: 3 }, "-tag:other").await;

    assert_eq!((row.state, row.total), (OperationState::Succeeded, 5));
    assert_eq!((row.done, row.skipped), (3, 2));
    assert_eq!(row.reasons, reasons([("queued", 1), ("succeeded", 1)]));
    assert!(row.ended_at.is_some() && row.runner.is_some());
    for id in [dead, cancelled, later, queued] {
        assert_eq!(t.state(id).await, State::Queued);
    }
    assert_eq!((t.state(done).await, t.state(other).await), (State::Succeeded, State::Dead));
    let job = t.get(dead).await;
    assert_eq!((job.attempt, job.max_attempts, job.errors.len()), (1, 4, 1));
    assert_eq!(t.claim(10).await.len(), 4);
}

pub async fn a_cancel_ends_waiting_jobs_and_asks_running_ones(t: Harness) {
    let running = t.enqueue(job()).await;
    let run = t.claim_one().await;
    let (queued, later) = (t.enqueue(job()).await, t.enqueue(job().run_in(HOUR)).await);
    let forgotten = t.enqueue(job().retain(Duration::ZERO)).await;

    let row = t.operate(Action::Cancel, "kind:k").await;

    assert_eq!((row.done, row.skipped), (4, 0));
    for id in [queued, later] {
        let job = t.get(id).await;
        assert_eq!(job.state, State::Cancelled);
        let cancel = job.cancel.expect("who cancelled it");
        assert_eq!((cancel.by.as_deref(), cancel.why.as_deref()), (Some("ada"), Some("because")));
    }
    assert!(t.find(forgotten).await.is_none(), "it keeps nothing");
    assert_eq!(t.state(running).await, State::Running);
    assert_eq!(t.store.cancels(run.node).await.unwrap(), [running]);
    t.finish(&run, done()).await;
    assert_eq!(t.state(running).await, State::Cancelled);
}

pub async fn a_delete_leaves_nothing_and_spares_what_runs(t: Harness) {
    t.ended(job().unique(Unique::key("a").within(HOUR)), done()).await;
    t.ended(job().unique(Unique::key("b")), dead()).await;
    t.ended(job().payload(format!("\"{}\"", "x".repeat(5_000))), dead()).await;
    let running = t.enqueue(job()).await;
    let _run = t.claim_one().await;
    t.enqueue(job().run_in(HOUR).unique(Unique::key("c"))).await;

    let row = t.operate(Action::Delete, "kind:k").await;

    assert_eq!((row.done, row.skipped), (4, 1));
    assert_eq!(row.reasons, reasons([("running", 1)]));
    assert_eq!(t.state(running).await, State::Running);
    let left = [("job", 1), ("history", 0), ("payload", 0), ("unique_key", 0)];
    for (table, rows) in left {
        assert_eq!(t.count(table).await, rows, "{table}");
    }
}

pub async fn waiting_jobs_are_rescheduled_moved_and_given_another_priority(t: Harness) {
    let dead = t.ended(job().priority(0), dead()).await;
    let id = t.enqueue(job()).await;
    let lead = t.leader().await;
    let at = t.now().await.plus(HOUR);
    for action in [
        Action::Reschedule { run_at: at },
        Action::Priority { priority: 9 },
        Action::Move { queue: "slow".into() },
    ] {
        let started = t.start(action, "kind:k").await;
        let row = t.finish_operation(lead, started).await;
        assert_eq!((row.done, row.reasons), (1, reasons([("dead", 1)])));
    }
    let job = t.get(id).await;
    assert_eq!(
        (job.state, job.run_at, job.priority, &*job.queue),
        (State::Scheduled, Some(at), 9, "slow")
    );
    assert_eq!(job.version, 3);
    assert_eq!((t.get(dead).await.priority, &*t.get(dead).await.queue), (0, "default"));
}

pub async fn a_step_is_bounded_and_the_next_goes_on(t: Harness) {
    t.enqueue_all(&jobs(25)).await;
    let lead = t.leader().await;
    let id = t.start(Action::Priority { priority: 1 }, "kind:k").await;
    for done in [10, 20, 25] {
        assert_eq!(t.try_step(lead, id, 10).await.done, done);
    }
    assert_eq!(t.operation(id).await.state, OperationState::Succeeded);
    let again = t.try_step(lead, id, 10).await;
    assert_eq!((again.done, again.state), (25, OperationState::Succeeded));
    // From the oldest on.
    let id = t.start(Action::Priority { priority: 2 }, "kind:k").await;
    t.try_step(lead, id, 10).await;
    let rows = t.store.list(&Default::default()).await.unwrap().jobs;
    let changed: Vec<u8> = rows.iter().map(|job| job.priority).collect();
    assert_eq!(changed, [[1; 15].as_slice(), &[2; 10]].concat());
}

pub async fn jobs_that_come_later_are_not_met(t: Harness) {
    t.enqueue_all(&jobs(10)).await;
    let lead = t.leader().await;
    let id = t.start(Action::Priority { priority: 1 }, "kind:k").await;
    let mut steps = 0;
    loop {
        t.advance(MILLI);
        // Also one whose id lies before all others.
        let early: JobId = format!("00000000-0000-7000-8000-{steps:012}").parse().unwrap();
        let late = "ffffffff-ffff-7fff-8fff-ffffffffffff".parse().unwrap();
        let mut more = jobs(5);
        more.extend([job().with_id(early), job().with_id(late)]);
        t.store.enqueue(&more, Repeat::Yes).await.unwrap();
        steps += 1;
        if t.try_step(lead, id, 3).await.state != OperationState::Running {
            break;
        }
        assert!(steps < 20, "it does not end");
    }
    let row = t.operation(id).await;
    assert_eq!((row.state, row.done), (OperationState::Succeeded, 10));
    assert_eq!(t.store.count(&query("priority:1"), Effort::Bounded).await.unwrap().value, 10);
}

pub async fn a_job_that_matches_again_is_not_met_again(t: Harness) {
    for _ in 0..6 {
        t.ended(job().max_attempts(1), dead()).await;
    }
    let lead = t.leader().await;
    let id = t.start(Action::Retry { attempts: 1 }, "state:dead").await;
    let node = t.node().await;
    let mut row = t.try_step(lead, id, 2).await;
    while row.state == OperationState::Running {
        for run in node.claim(10).await {
            t.finish(&run, dead()).await;
        }
        row = t.try_step(lead, id, 2).await;
    }
    assert_eq!((row.done, row.skipped), (6, 0));
}

pub async fn times_are_those_of_the_start_and_states_those_of_the_step(t: Harness) {
    let fresh = t.enqueue(job().run_in(MINUTE)).await;
    let lead = t.leader().await;
    let young = t.start(Action::Priority { priority: 1 }, "created:>-1h").await;
    let waiting = t.start(Action::Move { queue: "x".into() }, "state:scheduled").await;
    t.advance(3 * HOUR);
    assert_eq!(t.finish_operation(lead, young).await.done, 1);
    assert_eq!(t.finish_operation(lead, waiting).await.done, 0, "it is queued by now");
    assert_eq!((t.get(fresh).await.priority, &*t.get(fresh).await.queue), (1, "default"));
}

pub async fn an_operation_is_paused_resumed_and_cancelled_in_the_middle(t: Harness) {
    t.enqueue_all(&jobs(30)).await;
    let lead = t.leader().await;
    let id = t.start(Action::Delete, "kind:k").await;
    assert_eq!(t.store.next_operation().await.unwrap(), Some(id));
    assert!(t.store.count_queues(lead).await.unwrap().operates, "whoever counts sees it, too");
    t.try_step(lead, id, 5).await;
    for _ in 0..2 {
        let row = t.store.ask_operation(id, OperationAsk::Pause).await.unwrap();
        assert_eq!((row.state, row.ended_at), (OperationState::Paused, None));
        assert_eq!(t.try_step(lead, id, 5).await.done, 5, "nothing more is done");
    }
    assert_eq!(t.store.next_operation().await.unwrap(), None);
    assert!(!t.store.count_queues(lead).await.unwrap().operates);
    t.store.ask_operation(id, OperationAsk::Resume).await.unwrap();
    assert_eq!(t.try_step(lead, id, 5).await.done, 10);
    let row = t.store.ask_operation(id, OperationAsk::Cancel).await.unwrap();
    assert_eq!((row.state, row.ended_at), (OperationState::Cancelled, Some(t.now().await)));
    assert_eq!(t.try_step(lead, id, 5).await.done, 10);
    assert_eq!(t.count("job").await, 20);
    let refused = t.store.ask_operation(id, OperationAsk::Resume).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("operation {id} is cancelled, so it cannot be resumed")
    );
    t.store.ask_operation(id, OperationAsk::Cancel).await.expect("once more changes nothing");
}

/// A pause that was answered is obeyed: no step is committed after it.
pub async fn a_pause_beside_steps_is_obeyed(t: Harness) {
    t.enqueue_all(&jobs(400)).await;
    let lead = t.leader().await;
    let id = t.start(Action::Priority { priority: 1 }, "kind:k").await;
    let (store, beside) = (t.store.clone(), t.beside().await);
    let steps = tokio::spawn(async move {
        for _ in 0..200 {
            let step = OperationStep { id, most: 5, skip: false };
            store.step_operation(lead, &step).await.expect("a step");
        }
    });
    let mut done = 0;
    for _ in 0..8 {
        let paused = beside.ask_operation(id, OperationAsk::Pause).await.unwrap();
        if paused.state != OperationState::Paused {
            break;
        }
        let changed = || beside.count(query_ref(), Effort::Unbounded);
        let before = changed().await.unwrap().value;
        assert_eq!(paused.done, before, "what is said to be done is done");
        tokio::time::sleep(5 * MILLI).await;
        assert_eq!(changed().await.unwrap().value, before, "and nothing more");
        assert!(before >= done);
        done = before;
        beside.ask_operation(id, OperationAsk::Resume).await.unwrap();
        tokio::time::sleep(3 * MILLI).await;
    }
    steps.await.expect("no error");
    let row = t.finish_operation(lead, id).await;
    assert_eq!(row.done, 400);
    beside.close().await;
}

fn query_ref() -> &'static Filter {
    static ONE: std::sync::LazyLock<Filter> = std::sync::LazyLock::new(|| query("priority:1"));
    &ONE
}

/// The version counts the changes of a job, from 0: each was changed once.
async fn each_was_changed_once(t: &Harness, jobs: i64) {
    let table = t.table("job");
    let all = t.number(format!("SELECT count(*) FROM {table} WHERE version = 1")).await;
    assert_eq!(all, jobs);
}

pub async fn two_leaders_at_once_do_no_step_twice(t: Harness) {
    t.enqueue_all(&jobs(300)).await;
    let lead = t.leader().await;
    let id = t.start(Action::Priority { priority: 1 }, "kind:k").await;
    let mut both = Vec::new();
    for store in [t.store.clone(), t.beside().await, t.beside().await] {
        both.push(tokio::spawn(async move {
            loop {
                let step = OperationStep { id, most: 7, skip: false };
                let row = store.step_operation(lead, &step).await.expect("a step");
                if row.state != OperationState::Running {
                    return row.done;
                }
            }
        }));
    }
    for done in both {
        assert_eq!(done.await.expect("no error"), 300);
    }
    each_was_changed_once(&t, 300).await;
}

pub async fn a_leader_of_yesterday_does_no_step(t: Harness) {
    t.enqueue_all(&jobs(10)).await;
    let old = t.node().await;
    let old = t.lead(&old, LEASE_FOR).await.expect("it leads");
    let id = t.start(Action::Delete, "kind:k").await;
    t.try_step(old, id, 2).await;
    t.advance(2 * LEASE_FOR);
    let new = t.leader().await;
    let step = OperationStep { id, most: 2, skip: false };
    let refused = t.store.step_operation(old, &step).await;
    assert!(matches!(refused, Err(StoreError::NotLeader)), "{refused:?}");
    let refused = t.store.fail_operation(old, id, "x").await;
    assert!(matches!(refused, Err(StoreError::NotLeader)), "{refused:?}");
    let refused = t.store.prune_operations(old, Duration::ZERO).await;
    assert!(matches!(refused, Err(StoreError::NotLeader)), "{refused:?}");
    assert_eq!(t.count("job").await, 8);
    let row = t.finish_operation(new, id).await;
    assert_eq!((row.done, row.runner), (10, Some((new.node, new.term))));
}

/// A step is cut off at any point, again and again, as if its process died there.
pub async fn a_step_that_is_cut_off_is_repeated_or_was_done(t: Harness) {
    t.enqueue_all(&jobs(200)).await;
    let lead = t.leader().await;
    let id = t.start(Action::Priority { priority: 1 }, "kind:k").await;
    let (mut cut, mut tries) = (0, 0);
    while t.operation(id).await.state == OperationState::Running {
        let step = OperationStep { id, most: 5, skip: false };
        let span = Duration::from_micros(fastrand::u64(0..4_000 + 200 * tries));
        let stepped = tokio::time::timeout(span, t.store.step_operation(lead, &step)).await;
        cut += usize::from(stepped.is_err());
        tries += 1;
    }
    assert!(cut > 0, "none of {tries} was cut off");
    let row = t.operation(id).await;
    assert_eq!((row.state, row.done), (OperationState::Succeeded, 200));
    each_was_changed_once(&t, 200).await;
}

/// Lets the database refuse every change of one job.
async fn refuse_changes(t: &Harness, id: JobId) {
    let literal = t.literal(id.as_uuid());
    t.execute(if t.is_sqlite() {
        format!(
            "CREATE TRIGGER refuse BEFORE UPDATE ON longshore_job WHEN old.id = {literal}
             BEGIN SELECT RAISE(ABORT, 'not this one'); END"
        )
    } else {
        format!(
            "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN IF old.id = {literal} THEN RAISE 'not this one'; END IF; RETURN new; END $$;
             CREATE TRIGGER refuse BEFORE UPDATE ON longshore.job FOR EACH ROW EXECUTE FUNCTION public.refuse()"
        )
    })
    .await;
}

pub async fn a_step_that_fails_changes_nothing(t: Harness) {
    let ids: Vec<JobId> = t.enqueue_all(&jobs(9)).await.iter().map(|job| job.id).collect();
    refuse_changes(&t, ids[5]).await;
    let lead = t.leader().await;
    let id = t.start(Action::Priority { priority: 1 }, "kind:k").await;
    t.try_step(lead, id, 3).await;
    let before = t.operation(id).await;
    let step = OperationStep { id, most: 6, skip: false };
    let failed = t.store.step_operation(lead, &step).await;
    assert!(matches!(failed, Err(StoreError::Bug { .. })), "{failed:?}");
    assert_eq!(t.operation(id).await, before);
    assert_eq!(t.store.count(query_ref(), Effort::Bounded).await.unwrap().value, 3);
    // Around it, and past it.
    assert_eq!(t.try_step(lead, id, 2).await.done, 5);
    let row =
        t.store.step_operation(lead, &OperationStep { id, most: 1, skip: true }).await.unwrap();
    assert_eq!((row.done, row.skipped), (5, 1));
    let row = t.finish_operation(lead, id).await;
    assert_eq!((row.done, row.reasons), (8, reasons([("error", 1)])));
    assert_eq!(t.get(ids[5]).await.priority, 5);
}

pub async fn a_job_that_the_database_refuses_stops_no_operation(t: Harness) {
    let ids: Vec<JobId> = t.enqueue_all(&jobs(700)).await.iter().map(|job| job.id).collect();
    refuse_changes(&t, ids[444]).await;
    let client = client(&t).await;
    let new = NewOperation::new(Action::Priority { priority: 1 }, query("kind:k"));
    let id = client.start_operation(new).await.unwrap().id;
    let helper = client.help_with_operations();
    t.until("the operation ends", || async { client.operation(id).await.unwrap().state.is_end() })
        .await;
    helper.end().await;
    let row = client.operation(id).await.unwrap();
    assert_eq!((row.state, row.done), (OperationState::Succeeded, 699));
    assert_eq!(row.reasons, reasons([("error", 1)]));
    each_was_changed_once(&t, 699).await;
    // It holds the lead no longer.
    let node = t.node().await;
    assert!(t.lead(&node, LEASE_FOR).await.is_some());
    client.close().await;
}

pub async fn a_retry_takes_keys_again_or_skips(t: Harness) {
    // Of two dead jobs with one key the first gets it; one whose key is held stays dead.
    let key = |key: &str| job().unique(Unique::key(key)).max_attempts(1);
    let first = t.ended(key("a"), dead()).await;
    let second = t.ended(key("a"), dead()).await;
    let held = t.ended(key("b"), dead()).await;
    let back = t.ended(key("c"), cancelled()).await;
    let held_back = t.ended(key("d"), cancelled()).await;
    let orphan = t.ended(key("e"), dead()).await;
    for name in ["b", "d", "e"] {
        let holder = t.enqueue(key(name).run_in(HOUR).tag("holder")).await;
        if name == "e" {
            // Its key is held by nobody.
            let (table, id) = (t.table("job"), t.literal(holder.as_uuid()));
            t.execute(format!("DELETE FROM {table} WHERE id = {id}")).await;
        }
    }
    let row = t.operate(Action::Retry { attempts: 1 }, "-tag:holder").await;
    assert_eq!((row.done, row.reasons), (3, reasons([("key_held", 3)])));
    for (id, state) in [
        (first, State::Queued),
        (second, State::Dead),
        (held, State::Dead),
        (back, State::Queued),
        (held_back, State::Cancelled),
        (orphan, State::Queued),
    ] {
        assert_eq!(t.state(id).await, state, "{id}");
    }
    for name in ["a", "c", "e"] {
        let answer = t.store.enqueue(&[key(name)], Repeat::No).await.unwrap()[0];
        assert!(answer.is_duplicate(), "{name} is held");
    }
}

pub async fn a_job_that_changes_before_its_turn_is_judged_anew(t: Harness) {
    let ids: Vec<JobId> = t.enqueue_all(&jobs(4)).await.iter().map(|job| job.id).collect();
    let lead = t.leader().await;
    let id = t.start(Action::Delete, "queue:default").await;
    t.store.edit(ids[1], &longshore::Edit::new().queue("spared")).await.unwrap();
    t.store.delete(ids[2]).await.unwrap();
    let row = t.finish_operation(lead, id).await;
    assert_eq!((row.total, row.done, row.skipped), (4, 2, 0));
    assert_eq!(t.state(ids[1]).await, State::Queued);
}

/// The step has seen the jobs, waits for whoever changes them, and then looks again.
pub async fn a_job_that_changes_while_a_step_waits_for_it_is_left_alone(t: Harness) {
    t.enqueue_all(&jobs(4)).await;
    let lead = t.leader().await;
    let id = t.start(Action::Delete, "queue:default").await;
    let mut other = t.transaction().await;
    let change = match t.is_sqlite() {
        true => "UPDATE longshore_job SET queue = 'spared'",
        false => "update longshore.job set queue = 'spared'",
    };
    other.execute(change).await;
    let store = t.store.clone();
    let step = tokio::spawn(async move {
        store.step_operation(lead, &OperationStep { id, most: 10, skip: false }).await
    });
    tokio::time::sleep(300 * MILLI).await;
    assert!(!step.is_finished(), "it waits");
    other.commit().await;
    let row = step.await.expect("no panic").expect("a step");
    assert_eq!((row.state, row.done, row.skipped), (OperationState::Succeeded, 0, 0));
    assert_eq!(t.count("job").await, 4);
}

pub async fn an_operation_that_cannot_be_read_has_failed(t: Harness) {
    t.enqueue_all(&jobs(2)).await;
    let lead = t.leader().await;
    let table = t.table("operation");
    for (column, value, words) in [
        ("action", "fly", "this program does not know the action `fly`"),
        ("query", "moon:full", "this program cannot read the query"),
    ] {
        let id = t.start(Action::Delete, "kind:k").await;
        let literal = t.literal(id.to_string().parse().unwrap());
        t.execute(format!("UPDATE {table} SET {column} = '{value}' WHERE id = {literal}")).await;
        let row = t.try_step(lead, id, 10).await;
        assert_eq!((row.state, row.done), (OperationState::Failed, 0));
        assert!(row.error.as_deref().is_some_and(|error| error.starts_with(words)), "{row:?}");
    }
    assert_eq!(t.count("job").await, 2);
}

pub async fn there_are_only_so_many_open_operations(t: Harness) {
    let mut last = None;
    for _ in 0..MAX_OPEN_OPERATIONS {
        last = Some(t.start(Action::Delete, "kind:k").await);
    }
    let client = client(&t).await;
    let new = NewOperation::new(Action::Delete, query("kind:k"));
    let refused = client.start_operation(new.clone()).await.unwrap_err();
    assert_eq!(refused.to_string(), "operations has 101 entries; the limit is 100");
    client.cancel_operation(last.unwrap()).await.unwrap();
    client.start_operation(new).await.expect("there is room again");
    client.close().await;
}

pub async fn the_leader_prunes_operations_that_ended(t: Harness) {
    let lead = t.leader().await;
    let open = t.start(Action::Delete, "kind:k").await;
    let old = t.start(Action::Delete, "kind:k").await;
    t.store.ask_operation(old, OperationAsk::Cancel).await.unwrap();
    t.advance(2 * HOUR);
    let young = t.start(Action::Delete, "kind:k").await;
    t.store.ask_operation(young, OperationAsk::Cancel).await.unwrap();
    assert!(!t.store.prune_operations(lead, HOUR).await.unwrap());
    let left = t.store.operations(None, 10).await.unwrap();
    let left: Vec<_> = left.iter().map(|row| row.id).collect();
    assert_eq!(left, [young, open]);
}
