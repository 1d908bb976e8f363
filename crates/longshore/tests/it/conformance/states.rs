//! The table of moves, walked for real: a job is put into each state, each event is done to it, and
//! where it ends is what `next` says.

use std::time::Duration;

use longshore::job::state::next;
use longshore::job::{Event, State};
use longshore::store::{Ack, AskCancel, Ending, ListQuery, StoreError};
use longshore::{Edit, JobId, NewJob};

use crate::harness::*;

/// Far enough ahead that nothing falls due by itself.
const AHEAD: Duration = Duration::from_secs(86_400);

/// A job in `state`, and the run that holds it, or held it last.
async fn put(t: &Harness, state: State, new: NewJob) -> (JobId, Option<Run>) {
    if state == State::Scheduled {
        return (t.enqueue(new.run_in(AHEAD)).await, None);
    }
    let id = t.enqueue(new).await;
    match state {
        State::Blocked => {
            let table = t.table("job");
            let which = t.literal(id.as_uuid());
            t.execute(format!("UPDATE {table} SET blocked_on = 1 WHERE id = {which}")).await;
        }
        State::Queued => return (id, None),
        _ => {}
    }
    if state == State::Blocked {
        return (id, None);
    }
    let run = t.claim_one().await;
    assert_eq!(run.id, id);
    let ending = match state {
        State::Running => return (id, Some(run)),
        State::Retrying => failed(AHEAD),
        State::Succeeded => done(),
        State::Dead => dead(),
        State::Cancelled => cancelled(),
        State::Scheduled | State::Queued | State::Blocked => unreachable!("returned above"),
    };
    assert!(matches!(t.finish(&run, ending).await, Ack::Recorded(_)));
    (id, Some(run))
}

pub async fn every_state_can_be_reached_and_is_told_the_same_way(t: Harness) {
    for state in State::ALL {
        let (id, _) = put(&t, state, job()).await;
        assert_eq!(t.state(id).await, state, "as a look-up says");
        let filter = longshore::Filter::all().state(state);
        let query = ListQuery { filter, ..ListQuery::default() };
        let listed = t.store.list(&query).await.unwrap().jobs;
        assert!(listed.iter().any(|job| job.id == id && job.state == state), "as a list says");
        t.cancel_if_waiting(id).await;
    }
}

pub async fn every_move_is_the_one_of_the_table(t: Harness) {
    for from in State::ALL {
        for event in Event::ALL {
            // One attempt in all makes every failure the last; a snooze after another attempt needs two.
            let attempts = match event {
                Event::Fail { last: true } | Event::Rescue { last: true } => 1,
                _ => 5,
            };
            let first = !matches!(event, Event::Snooze { first: false });
            let (id, run) = put_for(&t, from, job().max_attempts(attempts), first).await;
            assert_eq!(t.state(id).await, from, "before {event:?}");

            if !happens(&t, id, run.as_ref(), from, event).await {
                t.cancel_if_waiting(id).await;
                continue;
            }

            let expected = next(from, event).unwrap_or(from);
            assert_eq!(t.state(id).await, expected, "{from} and then {event:?}");
            t.cancel_if_waiting(id).await;
        }
    }
}

/// The same, but running in its second attempt where an attempt must have been counted.
async fn put_for(t: &Harness, state: State, new: NewJob, first: bool) -> (JobId, Option<Run>) {
    if first || state != State::Running {
        return put(t, state, new).await;
    }
    let (id, run) = put(t, State::Running, new).await;
    t.finish(&run.expect("it runs"), failed(SECOND)).await;
    t.advance(SECOND);
    (id, Some(t.claim_one().await))
}

/// Does the event, if the store has a call for it; false where nothing can be tried.
async fn happens(t: &Harness, id: JobId, run: Option<&Run>, from: State, event: Event) -> bool {
    let ending = match event {
        Event::FallDue => {
            if !matches!(from, State::Scheduled | State::Retrying) {
                return false; // Time passes for the others too, but means nothing to them.
            }
            t.advance(AHEAD);
            return true;
        }
        Event::RunNow => {
            let edited = t.store.edit(id, &Edit::new().run_now()).await;
            expect_refusal(next(from, event), edited.err(), from);
            return true;
        }
        Event::Edit => {
            let edited = t.store.edit(id, &Edit::new().payload("[1]")).await;
            expect_refusal(next(from, event), edited.err(), from);
            return true;
        }
        Event::Delete => {
            if from != State::Running {
                return false; // No state follows; tests of deleting have it.
            }
            expect_refusal(None, t.store.delete(id).await.err(), from);
            return true;
        }
        Event::Supersede => {
            if from != State::Running {
                return false; // Only a run can lose its key to a newer job.
            }
            let newer = t.literal(JobId::new().as_uuid());
            let which = t.literal(id.as_uuid());
            let table = t.table("job");
            t.execute(format!("UPDATE {table} SET superseded_by = {newer} WHERE id = {which}"))
                .await;
            failed(AHEAD)
        }
        Event::Retry => {
            expect_refusal(next(from, event), t.store.retry(id, 1, &Edit::new()).await.err(), from);
            return true;
        }
        Event::Claim => {
            let runs = t.claim(1).await;
            assert_eq!(runs.iter().any(|run| run.id == id), from == State::Queued, "{from}");
            return true;
        }
        Event::AskCancel | Event::Cancel => {
            let asked = t.store.cancel(id, &AskCancel::default()).await;
            let expected = next(from, Event::AskCancel).or(next(from, Event::Cancel));
            if let Ok(state) = &asked {
                assert_eq!(Some(*state), expected, "{from}");
            }
            expect_refusal(expected, asked.err(), from);
            // Of a running job `Cancel` means the wish; of a waiting one `AskCancel` means the end.
            return next(from, event).is_some() || expected.is_none();
        }
        Event::Rescue { .. } => {
            t.advance(LEASE_FOR + SECOND);
            t.rescue().await;
            return true;
        }
        Event::EndAfterCancel => {
            if from == State::Running {
                t.cancel(id).await;
            }
            done()
        }
        Event::Succeed => done(),
        Event::Snooze { .. } => snoozed(AHEAD),
        Event::Fail { last: false } => failed(AHEAD),
        // Who finishes counts attempts: the last failure is written as an end.
        Event::Fail { last: true } | Event::Bury => dead(),
        Event::GiveBack => Ending::GivenBack,
    };
    let Some(run) = run else { return false };
    let ack = t.finish(run, ending).await;
    match next(from, event) {
        Some(state) => assert_eq!(ack, Ack::Recorded(state), "{from} and then {event:?}"),
        // A run that ended is not ended again: its first answer is repeated, or its lease is gone.
        None => assert!(
            matches!(ack, Ack::LeaseLost | Ack::Recorded(_)) && ack != Ack::Recorded(State::Queued)
        ),
    }
    true
}

fn expect_refusal(allowed: Option<State>, error: Option<StoreError>, from: State) {
    match (allowed, error) {
        (Some(_), None) => {}
        (None, Some(StoreError::Refused { state, .. })) => assert_eq!(state, from),
        (allowed, error) => panic!("{from}: the table says {allowed:?}, the store {error:?}"),
    }
}

impl Harness {
    /// Clears the way for the next pair.
    async fn cancel_if_waiting(&self, id: JobId) {
        let row = self.get(id).await;
        match row.state {
            State::Running => {
                self.advance(LEASE_FOR + SECOND);
                self.cancel(id).await;
                self.rescue().await;
            }
            State::Succeeded | State::Dead | State::Cancelled => {}
            _ => {
                self.cancel(id).await;
            }
        }
    }
}
