//! An enqueue in parts: one transaction, and `COPY` for all that needs no look at what is there.

use std::collections::HashSet;
use std::time::Duration;

use sqlx::{Executor, PgConnection, Row};
use uuid::Uuid;

use crate::job::NewJob;
use crate::job::new::MAX_INLINE_BYTES;
use crate::store::bulk::left;
use crate::store::{Enqueued, Part, Parts, Repeat, Result, Wake};
use crate::time::Timestamp;

use super::PostgresStore;
use super::copy::Rows;
use super::enqueue::{Call, DOING, How, add_all, is_clash};
use super::error::Fault;
use super::session::{Session, within};

const COPY: &str = include_str!("copy.sql");
const COPY_ASIDE: &str = include_str!("copy_aside.sql");

/// Where a `COPY` of fewer jobs would not pay.
const FEW: usize = 100;
/// Others' low-water marks may stand here.
const EARLY: Duration = Duration::from_secs(1);

impl PostgresStore {
    pub(super) async fn add_parts(&self, parts: Parts) -> Result<Vec<Enqueued>> {
        match self.try_add_parts(parts).await {
            Ok((answers, wake)) => {
                self.tell(wake);
                Ok(answers)
            }
            Err(Fault::Known(error)) => Err(error),
            Err(Fault::Db(error)) => Err(self.explain(DOING, error).await),
        }
    }

    async fn try_add_parts(&self, mut parts: Parts) -> Result<(Vec<Enqueued>, Wake), Fault> {
        let mut session = Session::transaction(&self.pools.general, self.mode).await?;
        session.wait_for_rows(self.options.busy_for).await?;
        let how = How::silent(self.named(), self.clock.fixed(), Repeat::No);
        let mut whole = Whole::default();
        loop {
            match parts.recv().await {
                Some(Part::Jobs(jobs)) => {
                    within(self.patience(), whole.add(session.conn(), jobs, how)).await?;
                }
                Some(Part::End) => break,
                Some(Part::Abort(error)) => {
                    session.undo().await?;
                    return Err(error.into());
                }
                None => {
                    session.undo().await?;
                    return Err(left(DOING).into());
                }
            }
        }
        // Never repeated: a `COPY` knows no "on conflict", so a lost reply is the caller's to handle.
        let taken = whole.take_keys(session.conn(), how).await;
        session.end(taken).await?;
        let wake = if whole.early { Wake::LookFromStart } else { Wake::Look };
        Ok((whole.answers, wake))
    }
}

/// What came of the parts so far.
#[derive(Default)]
struct Whole {
    answers: Vec<Enqueued>,
    early: bool,
    /// Of all its `COPY`s: it is asked for once.
    now: Option<Timestamp>,
    ids: HashSet<Uuid>,
    /// Jobs with a key, and their places: keys are taken at the end, all in one order.
    keyed: Vec<(usize, NewJob)>,
}

impl Whole {
    async fn add(
        &mut self,
        conn: &mut PgConnection,
        jobs: Vec<NewJob>,
        how: How,
    ) -> Result<(), Fault> {
        let mut plain = Vec::with_capacity(jobs.len());
        let mut places = Vec::with_capacity(jobs.len());
        for job in jobs {
            let at = self.answers.len();
            self.answers.push(Enqueued::added(job.id));
            if !self.ids.insert(job.id.as_uuid()) {
                self.answers[at] = Enqueued::duplicate(job.id);
            } else if job.unique.is_some() {
                self.keyed.push((at, job));
            } else {
                plain.push(job);
                places.push(at);
            }
        }
        let fresh = plain.len() >= FEW && plain.iter().all(|job| !job.id_is_callers);
        if fresh && self.copy(conn, &plain, how).await? {
            return Ok(());
        }
        if !plain.is_empty() {
            let added = add_all(conn, &Call::of(&plain), how).await?;
            self.early |= added.early;
            for (at, answer) in places.into_iter().zip(added.answers(&plain)) {
                self.answers[at] = answer;
            }
        }
        Ok(())
    }

    /// False if one of them is there already: then nothing was done.
    async fn copy(
        &mut self,
        conn: &mut PgConnection,
        jobs: &[NewJob],
        how: How,
    ) -> Result<bool, Fault> {
        let now = match self.now.or(how.now) {
            Some(now) => now,
            None => {
                how.query("select statement_timestamp()").fetch_one(&mut *conn).await?.try_get(0)?
            }
        };
        self.now = Some(now);
        conn.execute("SAVEPOINT longshore_copy").await?;
        match copy_all(conn, jobs, now).await {
            Ok(()) => {}
            Err(error) if is_clash(&error) => {
                conn.execute("ROLLBACK TO SAVEPOINT longshore_copy").await?;
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        }
        conn.execute("RELEASE SAVEPOINT longshore_copy").await?;
        self.early |= jobs.iter().any(|job| job.due.at(now) < now.minus(EARLY));
        Ok(true)
    }

    async fn take_keys(&mut self, conn: &mut PgConnection, how: How) -> Result<(), Fault> {
        if self.keyed.is_empty() {
            return Ok(());
        }
        let (places, jobs): (Vec<usize>, Vec<NewJob>) =
            std::mem::take(&mut self.keyed).into_iter().unzip();
        let added = add_all(conn, &Call::of(&jobs), how).await;
        let added = added.map_err(|fault| match fault {
            Fault::Known(refused) => refused.placed(|at| places[at]).into(),
            fault => fault,
        })?;
        self.early |= added.early;
        for (at, answer) in places.into_iter().zip(added.answers(&jobs)) {
            self.answers[at] = answer;
        }
        Ok(())
    }
}

async fn copy_all(
    conn: &mut PgConnection,
    jobs: &[NewJob],
    now: Timestamp,
) -> Result<(), sqlx::Error> {
    job_rows(jobs, now).send(conn, COPY).await?;
    copy_aside(conn, jobs).await
}

/// As `copy.sql` wants them.
pub(super) fn job_rows(jobs: &[NewJob], now: Timestamp) -> Rows {
    let mut rows = Rows::new();
    for job in jobs {
        let aside = job.payload.len() > MAX_INLINE_BYTES;
        rows.row(15);
        rows.uuid(job.id.as_uuid());
        rows.text(&job.kind);
        rows.text(&job.queue);
        rows.int2(job.priority.into());
        rows.time(job.due.at(now));
        rows.time(now);
        rows.int4(i32::try_from(job.max_attempts).unwrap_or(i32::MAX));
        rows.maybe_text(job.backoff_json().as_deref());
        rows.maybe_int8(job.timeout_ms());
        rows.maybe_int8(job.retain_ms());
        rows.texts(&job.tags);
        rows.maybe_text(job.meta.as_deref());
        rows.maybe_text((!aside).then_some(&*job.payload));
        rows.int4(i32::try_from(job.payload_version).unwrap_or(i32::MAX));
        rows.texts(&job.redacted);
    }
    rows
}

async fn copy_aside(conn: &mut PgConnection, jobs: &[NewJob]) -> Result<(), sqlx::Error> {
    let mut rows = Rows::new();
    let mut some = false;
    for job in jobs {
        if job.payload.len() > MAX_INLINE_BYTES {
            some = true;
            rows.row(2);
            rows.uuid(job.id.as_uuid());
            rows.text(&job.payload);
        }
    }
    if some { rows.send(conn, COPY_ASIDE).await } else { Ok(()) }
}
