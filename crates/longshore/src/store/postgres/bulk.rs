//! An enqueue in parts: one transaction, and `COPY` for all that needs no look at what is there.

use std::collections::HashSet;
use std::time::Duration;

use sqlx::{PgConnection, Row};
use uuid::Uuid;

use crate::job::NewJob;
use crate::store::bulk::left;
use crate::store::{Enqueued, Part, Parts, Repeat, Result, Wake};
use crate::time::Timestamp;

use super::PostgresStore;
use super::enqueue::{Call, DOING, How, add_all};
use super::error::Fault;
use super::session::{Session, within};
use super::stretch::{Stretch, settle};

/// Others' low-water marks may stand here.
const EARLY: Duration = Duration::from_secs(1);
/// How long an open `COPY` waits for the next part: an end of it costs some round trips.
const GAP: Duration = Duration::from_millis(100);

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
        let mut whole = Whole { patience: self.patience(), ..Whole::default() };
        let mut next = parts.recv().await;
        loop {
            next = match next {
                Some(Part::Jobs(jobs)) => {
                    whole.add(session.conn(), jobs, &mut parts, how).await?;
                    match whole.beyond.take() {
                        Some(part) => Some(part),
                        None => parts.recv().await,
                    }
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
            };
        }
        // Never repeated: a `COPY` knows no "on conflict", so a lost reply is the caller's to handle.
        let taken = whole.take_keys(session.conn(), how).await;
        session.end(taken).await?;
        let wake = if whole.early { Wake::LookFromStart } else { Wake::Look };
        Ok((whole.answers, wake))
    }
}

/// Jobs that wait for no key, and their places among those of the call.
#[derive(Default)]
pub(super) struct Plain {
    pub jobs: Vec<NewJob>,
    pub places: Vec<usize>,
}

impl Plain {
    /// Ids of callers' own may be there already; to find out is another statement.
    pub fn are_fresh(&self) -> bool {
        self.jobs.iter().all(|job| !job.id_is_callers)
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
    /// A message that was read while a `COPY` was open, and is not for it.
    beyond: Option<Part>,
    /// How long a statement may take.
    patience: Duration,
}

impl Whole {
    /// Adds a part, and the next ones with it if they may share its `COPY`.
    async fn add(
        &mut self,
        conn: &mut PgConnection,
        jobs: Vec<NewJob>,
        parts: &mut Parts,
        how: How,
    ) -> Result<(), Fault> {
        let plain = self.sift(jobs);
        let others = match Stretch::pays(&plain) {
            true => self.copy(conn, plain, parts, how).await?,
            false => plain,
        };
        within(self.patience, self.insert(conn, &others, how)).await
    }

    /// Sets aside what does not go now: jobs with keys, and those that the call has twice.
    fn sift(&mut self, jobs: Vec<NewJob>) -> Plain {
        let mut plain = Plain::default();
        for job in jobs {
            let at = self.answers.len();
            self.answers.push(Enqueued::added(job.id));
            if !self.ids.insert(job.id.as_uuid()) {
                self.answers[at] = Enqueued::duplicate(job.id);
            } else if job.unique.is_some() {
                self.keyed.push((at, job));
            } else {
                plain.jobs.push(job);
                plain.places.push(at);
            }
        }
        plain
    }

    /// One `COPY`, for as long as parts come that it can take. Answers the jobs of the first that it cannot.
    async fn copy(
        &mut self,
        conn: &mut PgConnection,
        mut plain: Plain,
        parts: &mut Parts,
        how: How,
    ) -> Result<Plain, Fault> {
        let now = self.now(conn, how).await?;
        let mut others = Plain::default();
        let mut stretch = within(self.patience, Stretch::begin(conn, now)).await?;
        loop {
            within(self.patience, stretch.send(plain)).await?;
            if stretch.is_full() {
                break;
            }
            // Not for long: so nothing is left open for a caller that hangs.
            match tokio::time::timeout(GAP, parts.recv()).await {
                Ok(Some(Part::Jobs(jobs))) => plain = self.sift(jobs),
                Ok(part) => {
                    self.beyond = part;
                    break;
                }
                Err(_) => break,
            }
            if !plain.are_fresh() {
                others = plain;
                break;
            }
        }
        let (sent, ended) = within(self.patience, async { Ok(stretch.end().await) }).await?;
        match within(self.patience, settle(conn, &sent.jobs, ended)).await? {
            true => self.early |= sent.jobs.iter().any(|job| job.due.at(now) < now.minus(EARLY)),
            false => within(self.patience, self.insert(conn, &sent, how)).await?,
        }
        Ok(others)
    }

    async fn now(&mut self, conn: &mut PgConnection, how: How) -> Result<Timestamp, Fault> {
        let now = match self.now.or(how.now) {
            Some(now) => now,
            None => {
                how.query("select statement_timestamp()").fetch_one(&mut *conn).await?.try_get(0)?
            }
        };
        self.now = Some(now);
        Ok(now)
    }

    /// By statements that look for what is there already.
    async fn insert(
        &mut self,
        conn: &mut PgConnection,
        plain: &Plain,
        how: How,
    ) -> Result<(), Fault> {
        let added = add_all(conn, &Call::of(&plain.jobs), how).await?;
        self.early |= added.early;
        for (at, answer) in plain.places.iter().zip(added.answers(&plain.jobs)) {
            self.answers[*at] = answer;
        }
        Ok(())
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
