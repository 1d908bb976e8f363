//! One seeded random walk over both databases at once: every call is made to both, and every answer
//! must be the same, word for word.

use std::time::{SystemTime, UNIX_EPOCH};

use longshore::query::Test;
use longshore::store::{
    AskCancel, Beat, Claim, Ending, Held, KindAsk, Lead, ListQuery, NodeId, QueueAsk, Repeat,
};
use longshore::{Clock, Edit, Filter, JobId, NewJob, OnConflict, State, Timestamp, Unique};

use crate::conformance::stress::Dice;
use crate::harness::*;

const STEPS: usize = 500;
const QUEUES: [&str; 3] = ["a", "b", "c"];
const KINDS: [&str; 3] = ["k", "l", "never"];

/// What the walk knows; it follows from the answers, which are the same on both.
#[derive(Default)]
struct Known {
    jobs: Vec<NewJob>,
    nodes: Vec<(NodeId, i64)>,
    /// Runs that some node held once, late ones too.
    runs: Vec<(NodeId, Held)>,
    leads: Vec<Lead>,
}

#[test]
fn both_databases_answer_every_call_alike() {
    if !postgres::is_there() {
        return;
    }
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_nanos() as u64;
    let given = std::env::var("LONGSHORE_WALK_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = given.map_or_else(|| vec![1, 2, 3, fresh], |seed| vec![seed]);
    for seed in seeds {
        block_on(async {
            let clock = Clock::manual("2026-03-01T12:00:00Z".parse().expect("a time"));
            let one = Harness::with_clock(Flavour::Sqlite, clock.clone()).await.expect("SQLite");
            let two = Harness::with_clock(Flavour::Postgres, clock).await.expect("PostgreSQL");
            let walk = tokio::spawn(walk(seed, one.clone(), two.clone())).await;
            one.remove().await;
            two.remove().await;
            assert!(walk.is_ok(), "again: LONGSHORE_WALK_SEED={seed}");
        });
    }
}

async fn walk(seed: u64, one: Harness, two: Harness) {
    let mut dice = Dice::new(seed);
    let mut known = Known::default();
    for step in 0..STEPS {
        let call = Call::choose(&mut dice, &known, one.now().await);
        let (first, learnt) = call.make(&one).await;
        let (second, _) = call.make(&two).await;
        assert_eq!(
            first, second,
            "seed {seed}, step {step}: SQLite left, PostgreSQL right: {call:?}"
        );
        known.learn(call, learnt);
        if step % 25 == 0 {
            compare_all(&one, &two, &known, seed, step).await;
        }
    }
    compare_all(&one, &two, &known, seed, STEPS).await;
}

/// Every job and every list.
async fn compare_all(one: &Harness, two: &Harness, known: &Known, seed: u64, step: usize) {
    for job in &known.jobs {
        let (first, second) = (one.find(job.id()).await, two.find(job.id()).await);
        assert_eq!(format!("{first:#?}"), format!("{second:#?}"), "seed {seed}, step {step}");
    }
    let nodes = [one.store.nodes().await.unwrap(), two.store.nodes().await.unwrap()];
    assert_eq!(format!("{:#?}", nodes[0]), format!("{:#?}", nodes[1]), "seed {seed}, step {step}");
    for table in ["job", "history", "payload", "unique_key"] {
        assert_eq!(
            one.count(table).await,
            two.count(table).await,
            "seed {seed}, step {step}: {table}"
        );
    }
}

#[derive(Debug)]
enum Call {
    Enqueue(Vec<NewJob>, Repeat),
    Join(NodeId),
    Claim(NodeId, i64, Vec<QueueAsk>),
    Recall(NodeId, i64),
    Finish(NodeId, Vec<(Held, Ending)>),
    Cancel(JobId),
    Cancels(NodeId),
    Retry(JobId, u32),
    Edit(JobId, Edit),
    Delete(JobId),
    Rescue,
    Leave(NodeId),
    Beat(NodeId),
    Lead(NodeId),
    Sweep(Lead),
    Resign(Lead),
    List(ListQuery),
    /// Both harnesses share one clock; the second to be asked finds it moved.
    Move(u64),
}

/// What an answer taught beside its words.
#[derive(Default)]
struct Learnt {
    runs: Vec<(NodeId, Held)>,
    lead: Option<Lead>,
}

impl Call {
    fn choose(dice: &mut Dice, known: &Known, now: Timestamp) -> Call {
        let one_of = |dice: &mut Dice, len: usize| dice.roll(len.max(1) as u64) as usize;
        if known.nodes.is_empty() || dice.roll(40) == 0 {
            return Call::Join(NodeId::new());
        }
        if known.jobs.is_empty() {
            return Call::Enqueue(vec![new_job(dice, now)], Repeat::No);
        }
        let place = known.nodes.len() - 1 - one_of(dice, known.nodes.len().min(4));
        let (node, last_no) = known.nodes[place];
        let id = known.jobs[one_of(dice, known.jobs.len())].id();
        match dice.roll(100) {
            0..=14 => {
                let count = dice.roll(6) + 1;
                // Of several refusals in one call either database may name any.
                let refuses = count == 1;
                let mut jobs = Vec::new();
                for _ in 0..count {
                    let new = new_job(dice, now);
                    jobs.push(unique(dice, new, refuses));
                }
                Call::Enqueue(jobs, Repeat::No)
            }
            15..=19 => {
                let again = known.jobs[one_of(dice, known.jobs.len())].clone();
                Call::Enqueue(vec![again, new_job(dice, now)], Repeat::Yes)
            }
            20..=39 => {
                let asks = QUEUES.iter().map(|queue| ask(queue, dice.roll(4) as u32)).collect();
                Call::Claim(node, last_no + 1, asks)
            }
            // Never of a number to come: a recall says that its claim cannot come true any more.
            40..=42 => Call::Recall(node, dice.roll(last_no as u64 + 1) as i64),
            43..=64 if !known.runs.is_empty() => {
                // Mostly fresh runs, some of them late; all of one node, as a node would.
                let place = known.runs.len() - 1 - one_of(dice, known.runs.len().min(8));
                let node = known.runs[place].0;
                let mut call: Vec<(Held, Ending)> = Vec::new();
                for (whose, held) in known.runs.iter().rev().take(12) {
                    let twice = call.iter().any(|(other, _)| other.id == held.id);
                    if *whose == node && !twice && dice.roll(2) == 0 {
                        call.push((*held, ending(dice)));
                    }
                }
                Call::Finish(node, call)
            }
            65..=71 => Call::Cancel(id),
            72..=73 => Call::Cancels(node),
            74..=76 => Call::Retry(id, dice.roll(3) as u32),
            77 => Call::Delete(id),
            78..=79 => Call::Edit(id, edit(dice)),
            80..=83 => Call::Rescue,
            84 => Call::Leave(node),
            85..=87 => Call::Beat(node),
            88 => Call::Lead(node),
            89 if !known.leads.is_empty() => {
                Call::Sweep(known.leads[one_of(dice, known.leads.len())])
            }
            90 if !known.leads.is_empty() => {
                Call::Resign(known.leads[one_of(dice, known.leads.len())])
            }
            91..=93 => {
                let mut filter = Filter::all();
                filter = match dice.roll(3) {
                    0 => filter,
                    1 => filter.and(Test::State(vec![State::Queued, State::Succeeded])),
                    _ => filter.and_not(Test::State(vec![State::Dead, State::Retrying])),
                };
                if dice.roll(2) == 0 {
                    filter = filter.kind(KINDS[one_of(dice, 3)]);
                }
                if dice.roll(3) == 0 {
                    filter = filter.queue(QUEUES[one_of(dice, 3)]);
                }
                Call::List(ListQuery { filter, limit: dice.roll(20) as u32, ..Default::default() })
            }
            _ => Call::Move([1, 1_000, 1_000_000, 31_000_000, 3_700_000_000][one_of(dice, 5)]),
        }
    }

    async fn make(&self, t: &Harness) -> (String, Learnt) {
        let mut learnt = Learnt::default();
        let store = &t.store;
        let said = match self {
            Call::Enqueue(jobs, repeat) => said(store.enqueue(jobs, *repeat).await),
            Call::Join(node) => said(store.join(&new_node(*node)).await),
            Call::Claim(node, no, queues) => {
                let kinds = [("k", 1), ("l", 2)]
                    .map(|(kind, version)| KindAsk { kind: kind.into(), version });
                let claim = Claim { node: *node, no: *no, queues, kinds: &kinds, most: None };
                let claimed = store.claim(&claim).await;
                if let Ok(claimed) = &claimed {
                    let held =
                        |job: &longshore::store::ClaimedJob| Held { id: job.id, lease: job.lease };
                    learnt.runs.extend(claimed.jobs.iter().map(|job| (*node, held(job))));
                }
                said(claimed)
            }
            Call::Recall(node, no) => said(store.recall(*node, *no).await),
            Call::Finish(node, ended) => said(store.finish(*node, ended).await),
            Call::Cancel(id) => {
                let ask = AskCancel { by: Some("ann".into()), why: Some("a walk".into()) };
                said(store.cancel(*id, &ask).await)
            }
            Call::Cancels(node) => said(store.cancels(*node).await.map(|mut ids| {
                ids.sort();
                ids
            })),
            Call::Retry(id, attempts) => said(store.retry(*id, *attempts, &Edit::new()).await),
            Call::Edit(id, edit) => said(store.edit(*id, edit).await),
            Call::Delete(id) => said(store.delete(*id).await),
            Call::Rescue => said(store.rescue().await.map(sorted)),
            Call::Leave(node) => said(store.leave(*node).await),
            Call::Beat(node) => {
                let beat = Beat {
                    node: *node,
                    lease_for: LEASE_FOR,
                    over: vec![],
                    state: Default::default(),
                };
                said(store.beat(&beat).await)
            }
            Call::Lead(node) => {
                let term = store.lead(*node, LEASE_FOR).await;
                if let Ok(Some(term)) = &term {
                    learnt.lead = Some(Lead { node: *node, term: *term });
                }
                said(term)
            }
            Call::Sweep(lead) => said(store.sweep(*lead).await.map(sorted)),
            Call::Resign(lead) => said(store.resign(*lead).await),
            Call::List(query) => {
                // How many rows were looked at is each store's own.
                let page = store.list(query).await;
                said(page.map(|page| (page.jobs, page.next, page.prev)))
            }
            Call::Move(micros) => {
                if t.is_sqlite() {
                    t.advance(std::time::Duration::from_micros(*micros));
                }
                String::new()
            }
        };
        (said, learnt)
    }
}

impl Known {
    fn learn(&mut self, call: Call, learnt: Learnt) {
        match call {
            Call::Enqueue(jobs, Repeat::No) => self.jobs.extend(jobs),
            Call::Enqueue(mut jobs, Repeat::Yes) => self.jobs.extend(jobs.pop()),
            Call::Join(node) => self.nodes.push((node, 0)),
            Call::Claim(node, no, _) => {
                self.nodes
                    .iter_mut()
                    .filter(|(id, _)| *id == node)
                    .for_each(|(_, last)| *last = no);
            }
            _ => {}
        }
        self.runs.extend(learnt.runs);
        self.leads.extend(learnt.lead);
    }
}

fn new_job(dice: &mut Dice, now: Timestamp) -> NewJob {
    let kind = KINDS[[0, 0, 0, 1, 2][dice.roll(5) as usize]];
    let large = format!("\"{}\"", "x".repeat(2_500));
    let payload = ["null", "{\"a\":1e400}", "\"\\u0000\"", &large][dice.roll(4) as usize];
    let mut job = NewJob::new(kind)
        .payload(payload)
        .queue(QUEUES[dice.roll(3) as usize])
        .priority(dice.roll(10) as u8)
        .max_attempts(dice.roll(3) as u32 + 1);
    job = match dice.roll(6) {
        0 => job.run_in(MINUTE),
        1 => job.run_at(now.minus(HOUR)),
        2 => job.run_at(now.plus(SECOND)),
        _ => job,
    };
    if dice.roll(8) == 0 {
        job = job.retain(std::time::Duration::ZERO).tag("short");
    }
    if dice.roll(8) == 0 {
        job = job.meta("{\"b\":1, \"a\":2}").no_timeout();
    }
    if dice.roll(6) == 0 {
        job = job.payload_version(2).redact("a");
    }
    if dice.roll(8) == 0 { job.with_id(JobId::new()) } else { job }
}

/// Gives some jobs one of a few keys.
fn unique(dice: &mut Dice, job: NewJob, refuses: bool) -> NewJob {
    if dice.roll(3) > 0 {
        return job;
    }
    let mut unique = Unique::key(["x", "y"][dice.roll(2) as usize]);
    unique = match dice.roll(4) {
        0 => unique.within(MINUTE),
        1 => unique.for_good(),
        _ => unique,
    };
    unique = match dice.roll(3) {
        0 => unique.on_conflict(OnConflict::Replace),
        1 if refuses => unique.on_conflict(OnConflict::Refuse),
        _ => unique,
    };
    job.unique(if refuses && dice.roll(4) == 0 { unique.same_payload() } else { unique })
}

fn edit(dice: &mut Dice) -> Edit {
    let large = format!("\"{}\"", "y".repeat(2_500));
    let edit = match dice.roll(4) {
        0 => Edit::new().run_now(),
        1 => Edit::new().run_in(SECOND),
        2 if dice.roll(2) == 0 => Edit::new().payload(large.as_str()).payload_version(2),
        2 => Edit::new().payload("[0]").payload_version(1),
        _ => Edit::new().priority(3).queue("b").tags(["edited"]),
    };
    if dice.roll(3) == 0 { edit.if_version(dice.roll(2) as u32) } else { edit }
}

fn ending(dice: &mut Dice) -> Ending {
    let delay = [std::time::Duration::ZERO, MILLI, SECOND, MINUTE][dice.roll(4) as usize];
    match dice.roll(9) {
        0 => failed(delay),
        1 => dead(),
        2 => snoozed(delay),
        3 => Ending::GivenBack,
        4 => cancelled(),
        6 => Ending::Throttled { delay, error: fault("too often") },
        5 => done_with("{\"z\":1,\"a\":[]}"),
        _ => done(),
    }
}

fn sorted(mut rescued: longshore::store::Rescued) -> longshore::store::Rescued {
    rescued.nodes.sort();
    rescued.queued.sort();
    rescued.dead.sort();
    rescued.cancelled.sort();
    rescued
}

fn said<T: std::fmt::Debug>(answer: Result<T, longshore::StoreError>) -> String {
    match answer {
        Ok(answer) => format!("{answer:#?}"),
        Err(error) => format!("error: {error}"),
    }
}
