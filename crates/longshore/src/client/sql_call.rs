//! An enqueue as a call of `longshore.enqueue`, for transactions of other drivers than sqlx.

use std::fmt;

use serde::Serialize;

use super::Client;
use crate::job::new::Due;
use crate::job::{Invalid, JobId, NewJob, OnConflict, Problem, Unique};
use crate::store::{Result, StoreError, postgres};

/// One job as a call of the SQL function `longshore.enqueue`; see [`Client::sql_call`].
///
/// The statement has one parameter and answers one row with one column, `id`, both of type `text`, so
/// every driver can run it. It is the same text for all jobs, so a driver may keep it prepared.
#[derive(Clone)]
#[must_use = "a job is enqueued by running the statement"]
pub struct SqlCall {
    id: JobId,
    kind: String,
    argument: String,
}

impl SqlCall {
    /// The statement.
    pub fn sql(&self) -> &'static str {
        postgres::ENQUEUE_CALL
    }

    /// What `$1` is: the job as JSON, whole, so also with what nobody is shown.
    pub fn argument(&self) -> &str {
        &self.argument
    }

    /// The id that the job gets. The statement answers another one if another job holds the unique
    /// key: that one's. Running the same call again adds nothing.
    pub fn id(&self) -> JobId {
        self.id
    }
}

/// Without the argument, which may hold what nobody is shown.
impl fmt::Debug for SqlCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqlCall").field("id", &self.id).field("kind", &self.kind).finish()
    }
}

impl Client {
    /// A job as a call of the SQL function `longshore.enqueue`, for a transaction that is not sqlx's: of
    /// tokio-postgres, SeaORM, Diesel or any other driver of PostgreSQL. The job is there if that
    /// transaction commits, and was never there if it rolls back.
    ///
    /// ```
    /// # async fn example(client: longshore::Client) -> Result<(), longshore::StoreError> {
    /// # use longshore::NewJob;
    /// let call = client.sql_call(NewJob::new("send_receipt").payload(r#"{"order": 7}"#))?;
    /// // tokio-postgres: tx.query_one(call.sql(), &[&call.argument()]).await?
    /// # Ok(()) }
    /// ```
    ///
    /// The job goes through the hooks of this client ([`Client::before_enqueue`]) and is checked as
    /// [`Client::enqueue`] does it; nothing is written. Fails with [`StoreError::Invalid`] for a job that
    /// cannot be enqueued, also for one with a [`NewJob::backoff`] of its own or with
    /// [`Unique::same_payload`], which the function does not know; with [`StoreError::Config`] if the
    /// jobs are on SQLite.
    pub fn sql_call(&self, job: impl Into<NewJob>) -> Result<SqlCall> {
        let backend = self.store().backend();
        if backend != "postgres" {
            return Err(StoreError::config(
                "the jobs are on SQLite, which has no function for it: use `enqueue_in`",
            ));
        }
        let (job, _sending) = self.sending(job);
        job.check(&self.inner.limits)?;
        if job.backoff.is_some() {
            return Err(Invalid::new("backoff", Problem::NotInSql).into());
        }
        if job.unique.as_ref().is_some_and(|unique| unique.same_payload) {
            return Err(Invalid::new("same_payload", Problem::NotInSql).into());
        }
        let argument = serde_json::to_string(&Argument::of(&job)).expect("texts and numbers");
        Ok(SqlCall { id: job.id, kind: job.kind, argument })
    }
}

/// `$1` of the statement.
#[derive(Serialize)]
struct Argument<'a> {
    id: JobId,
    kind: &'a str,
    payload: &'a str,
    payload_version: u32,
    redacted: &'a [String],
    queue: &'a str,
    priority: u8,
    run_at_us: Option<i64>,
    run_in_us: Option<i64>,
    max_attempts: u32,
    timeout_ms: Option<i64>,
    retain_ms: Option<i64>,
    tags: &'a [String],
    meta: Option<&'a str>,
    unique_key: Option<String>,
    unique_within_ms: Option<i64>,
    unique_for_good: bool,
    on_conflict: &'static str,
}

impl<'a> Argument<'a> {
    fn of(job: &'a NewJob) -> Argument<'a> {
        let unique = job.unique.as_ref();
        let (run_at_us, run_in_us) = match job.due {
            Due::Now => (None, None),
            Due::At(at) => (Some(at.as_micros()), None),
            // Checked before: a hundred years at most.
            Due::In(delay) => (None, Some(delay.as_micros() as i64)),
        };
        Argument {
            id: job.id,
            kind: &job.kind,
            payload: &job.payload,
            payload_version: job.payload_version,
            redacted: &job.redacted,
            queue: &job.queue,
            priority: job.priority,
            run_at_us,
            run_in_us,
            max_attempts: job.max_attempts,
            timeout_ms: job.timeout_ms(),
            retain_ms: job.retain_ms(),
            tags: &job.tags,
            meta: job.meta.as_deref(),
            unique_key: unique.map(|unique| unique.text(&job.payload)),
            unique_within_ms: unique.and_then(Unique::span_ms),
            unique_for_good: unique.is_some_and(Unique::is_for_good),
            on_conflict: match unique.map_or(OnConflict::Keep, |unique| unique.on_conflict) {
                OnConflict::Keep => "keep",
                OnConflict::Replace => "replace",
                OnConflict::Refuse => "refuse",
            },
        }
    }
}
