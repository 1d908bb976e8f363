//! A handler's transaction and the job's completion: both or neither.

use longshore::extract::{State as Shared, Tx};
use longshore::{Job, JobError};
use serde::{Deserialize, Serialize};

use super::*;

/// What a handler does once it has paid.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Then {
    Answer,
    Fail,
    Panic,
    Wait,
}

#[derive(Serialize, Deserialize)]
struct Pay {
    order: i64,
    then: Then,
}

impl Job for Pay {
    const KIND: &'static str = "pay";
    type Output = i64;

    fn options(&self, job: NewJob) -> NewJob {
        job.max_attempts(1)
    }
}

const PAID: &str = "insert into paid (order_no) values ($1)";

async fn then(job: &Pay, gate: &Gate, begun: &Tally) -> Result<i64, JobError> {
    begun.add();
    match job.then {
        Then::Answer => Ok(job.order),
        Then::Fail => Err(JobError::new("no money")),
        Then::Panic => panic!("dropped the purse"),
        Then::Wait => {
            gate.pass().await;
            Ok(job.order)
        }
    }
}

async fn pay_sqlite(
    job: Pay,
    mut tx: Tx<sqlx::Sqlite>,
    client: Client,
    Shared((gate, begun)): Shared<(Gate, Tally)>,
) -> Result<i64, JobError> {
    sqlx::query(PAID).bind(job.order).execute(tx.conn().await?).await?;
    client.enqueue_in(tx.conn().await?, NewJob::new("receipt")).await?;
    then(&job, &gate, &begun).await
}

#[cfg(feature = "postgres")]
async fn pay_postgres(
    job: Pay,
    mut tx: Tx<sqlx::Postgres>,
    client: Client,
    Shared((gate, begun)): Shared<(Gate, Tally)>,
) -> Result<i64, JobError> {
    sqlx::query(PAID).bind(job.order).persistent(false).execute(tx.conn().await?).await?;
    client.enqueue_in(tx.conn().await?, NewJob::new("receipt")).await?;
    then(&job, &gate, &begun).await
}

/// A desk with a table of payments, and a worker that pays.
pub struct Till {
    pub d: Arc<Desk>,
    pub gate: Gate,
    pub begun: Tally,
}

impl Till {
    pub async fn new(d: Arc<Desk>) -> Till {
        d.t.execute("create table paid (order_no bigint primary key)".into()).await;
        Till { d, gate: Gate::default(), begun: Tally::default() }
    }

    pub fn pays(&self, worker: Worker) -> Worker {
        let worker = worker.state((self.gate.clone(), self.begun.clone()));
        if self.d.t.is_sqlite() {
            return worker.job(pay_sqlite);
        }
        #[cfg(feature = "postgres")]
        return worker.job(pay_postgres);
        #[cfg(not(feature = "postgres"))]
        unreachable!("only SQLite is there")
    }

    pub async fn enqueue(&self, order: i64, then: Then) -> JobId {
        self.d.enqueue(Pay { order, then }.into()).await
    }

    /// Payments, and receipts that were asked for with them.
    pub async fn paid(&self) -> (i64, i64) {
        let paid = self.d.t.number("select count(*) from paid".into()).await;
        let receipts =
            format!("select count(*) from {} where kind = 'receipt'", self.d.t.table("job"));
        (paid, self.d.t.number(receipts).await)
    }
}

pub async fn an_effect_and_its_completion_are_committed_together(d: Arc<Desk>) {
    let till = Till::new(d).await;
    let worker = till.pays(till.d.worker()).start().expect("a worker");
    let id = till.enqueue(7, Then::Answer).await;
    let row = till.d.comes_to(id, State::Succeeded).await;
    assert_eq!((row.attempt, row.output.as_deref()), (1, Some("7")));
    assert_eq!(till.paid().await, (1, 1));
    until("it is counted", async || worker.health().finished_total == 1).await;
    worker.stop().await;
}

pub async fn an_attempt_that_fails_leaves_no_effect(d: Arc<Desk>) {
    let till = Till::new(d).await;
    let worker = till.pays(till.d.worker()).start().expect("a worker");
    for (order, how) in [(1, Then::Fail), (2, Then::Panic)] {
        let id = till.enqueue(order, how).await;
        let row = till.d.comes_to(id, State::Dead).await;
        assert_eq!(row.errors.len(), 1, "{how:?}");
    }
    let id =
        till.d.enqueue(Pay { order: 3, then: Then::Wait }.new_job().timeout(100 * MILLI)).await;
    till.d.comes_to(id, State::Dead).await;
    // The same order again: nothing of the first try is in its way.
    let id = till.enqueue(1, Then::Answer).await;
    till.d.comes_to(id, State::Succeeded).await;
    assert_eq!(till.paid().await, (1, 1));
    worker.stop().await;
}

pub async fn a_handler_cut_off_by_a_stop_leaves_no_effect(d: Arc<Desk>) {
    let till = Till::new(d).await;
    let config = WorkerConfig { drain_for: 50 * MILLI, ..short() };
    let worker = till.pays(till.d.worker()).config(config).start().expect("a worker");
    let id = till.enqueue(1, Then::Wait).await;
    until("it runs", async || till.begun.get() == 1).await;
    worker.stop().await;
    assert_eq!(till.d.t.state(id).await, State::Queued);
    assert_eq!(till.paid().await, (0, 0));
}

pub async fn two_transactions_for_one_handler_are_refused(d: Arc<Desk>) {
    async fn greedy(_: Pay, _a: Tx<sqlx::Sqlite>, _b: Tx<sqlx::Sqlite>) -> Result<i64, JobError> {
        Ok(0)
    }
    let worker = d.worker().job(greedy).start();
    if !d.t.is_sqlite() {
        let says = worker.expect_err("another database").to_string();
        assert!(says.contains("`Tx`") && says.contains("postgres"), "{says}");
        return;
    }
    let id = d.enqueue(Pay { order: 1, then: Then::Answer }.into()).await;
    let row = d.comes_to(id, State::Dead).await;
    assert!(row.errors[0].message.contains("once only"), "{row:?}");
    worker.expect("a worker").stop().await;
}
