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
use super::stretch::{Stretch, may_be_copied, settle};

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
                    match whole.add(session.conn(), jobs, &mut parts, how).await? {
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
        let keyed = std::mem::take(&mut whole.keyed);
        let taken = whole.insert(session.conn(), &keyed, how).await;
        session.end(taken).await?;
        let wake = if whole.early { Wake::LookFromStart } else { Wake::Look };
        Ok((whole.answers, wake))
    }
}

/// Jobs, and their places among those of the call.
#[derive(Default)]
pub(super) struct Placed {
    pub jobs: Vec<NewJob>,
    pub places: Vec<usize>,
}

impl Placed {
    fn push(&mut self, at: usize, job: NewJob) {
        self.jobs.push(job);
        self.places.push(at);
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
    /// Jobs with a key: keys are taken at the end, all in one order.
    keyed: Placed,
    /// How long a statement may take.
    patience: Duration,
}

impl Whole {
    /// Adds a part, and the next ones with it if they may share its `COPY`; answers what was read beyond these.
    async fn add(
        &mut self,
        conn: &mut PgConnection,
        jobs: Vec<NewJob>,
        parts: &mut Parts,
        how: How,
    ) -> Result<Option<Part>, Fault> {
        let plain = self.sift(jobs);
        if Stretch::pays(&plain) {
            return self.copy(conn, plain, parts, how).await;
        }
        within(self.patience, self.insert(conn, &plain, how)).await?;
        Ok(None)
    }

    /// Sets aside what does not go now: jobs with keys, and those that the call has twice.
    fn sift(&mut self, jobs: Vec<NewJob>) -> Placed {
        let mut plain = Placed::default();
        for job in jobs {
            let at = self.answers.len();
            self.answers.push(Enqueued::added(job.id));
            if !self.ids.insert(job.id.as_uuid()) {
                self.answers[at] = Enqueued::duplicate(job.id);
            } else if job.unique.is_some() {
                self.keyed.push(at, job);
            } else {
                plain.push(at, job);
            }
        }
        plain
    }

    /// One `COPY`, for as long as parts come that it can take; answers what came in place of one.
    async fn copy(
        &mut self,
        conn: &mut PgConnection,
        mut plain: Placed,
        parts: &mut Parts,
        how: How,
    ) -> Result<Option<Part>, Fault> {
        let now = within(self.patience, self.now(conn, how)).await?;
        let mut beyond = None;
        let mut stretch = within(self.patience, Stretch::begin(conn, now)).await?;
        loop {
            within(self.patience, stretch.send(plain)).await?;
            if stretch.is_full() {
                break;
            }
            // Not for long: so nothing is left open for a caller that hangs.
            match tokio::time::timeout(GAP, parts.recv()).await {
                Ok(Some(Part::Jobs(jobs))) if may_be_copied(&jobs) => plain = self.sift(jobs),
                Ok(part) => {
                    beyond = part;
                    break;
                }
                Err(_) => break,
            }
        }
        let (sent, ended) = within(self.patience, async { Ok(stretch.end().await) }).await?;
        match within(self.patience, settle(conn, &sent.jobs, ended)).await? {
            true => self.early |= sent.jobs.iter().any(|job| job.due.at(now) < now.minus(EARLY)),
            false => within(self.patience, self.insert(conn, &sent, how)).await?,
        }
        Ok(beyond)
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
        placed: &Placed,
        how: How,
    ) -> Result<(), Fault> {
        let added = add_all(conn, &Call::of(&placed.jobs), how).await;
        let added = added.map_err(|fault| match fault {
            Fault::Known(refused) => refused.placed(|at| placed.places[at]).into(),
            fault => fault,
        })?;
        self.early |= added.early;
        for (at, answer) in placed.places.iter().zip(added.answers(&placed.jobs)) {
            self.answers[*at] = answer;
        }
        Ok(())
    }
}
