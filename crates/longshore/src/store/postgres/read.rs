//! Answers questions about jobs.

use std::time::Duration;

use serde_json::value::RawValue;
use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::job::unique::callers;
use crate::job::{Cancel, JobId, JobRow, State};
use crate::store::Result;
use crate::time::Timestamp;

use super::PostgresStore;
use super::error::Fault;
use super::session::Session;

const GET: &str = include_str!("get.sql");
const NOW: &str = include_str!("now.sql");

const DAY: Duration = Duration::from_secs(86_400);
const FOREVER: Timestamp = Timestamp::from_micros(i64::MIN);

impl PostgresStore {
    pub(super) async fn find(&self, id: JobId) -> Result<Option<JobRow>> {
        self.repeated("get a job", || self.try_find(id)).await
    }

    /// First where it most likely is: a job ends after its id was made, so newer partitions do.
    /// The second statement also meets a job that was just moved back, which the first one missed.
    async fn try_find(&self, id: JobId) -> Result<Option<JobRow>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let mut found = None;
        for from in made_at(id).map(|made| made.minus(DAY)).into_iter().chain([FOREVER]) {
            let query = session.query(GET).bind(id.as_uuid()).bind(from).bind(self.clock.fixed());
            found = query.fetch_optional(session.conn()).await?;
            if found.is_some() {
                break;
            }
        }
        let mut job = found.map(|row| job_row(&row)).transpose()?;
        session.done().await?;
        if let Some(job) = &mut job {
            job.payload_bytes = Some(job.payload.len());
        }
        Ok(job)
    }

    pub(super) async fn clock_time(&self) -> Result<Timestamp> {
        self.repeated("ask for the time", || self.try_now()).await
    }

    async fn try_now(&self) -> Result<Timestamp, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let row = session.query(NOW).fetch_one(session.conn()).await?;
        session.done().await?;
        Ok(row.try_get(0)?)
    }
}

/// When an id was made, by the clock of whoever made it, if it is of the kind that says so.
fn made_at(id: JobId) -> Option<Timestamp> {
    let id = id.as_uuid();
    let millis = (id.as_u128() >> 80) as i64;
    (id.get_version_num() == 7).then(|| Timestamp::from_micros(millis * 1_000))
}
/// What somebody wrote by hand may lie below; it is taken for zero.
pub(super) fn near(number: i32) -> u32 {
    number.max(0) as u32
}

pub(super) fn job_row(row: &PgRow) -> Result<JobRow, sqlx::Error> {
    let text = |name| row.try_get::<Option<&str>, _>(name);
    let span = |name| {
        row.try_get::<Option<i64>, _>(name)
            .map(|millis| millis.map(|millis| Duration::from_millis(millis.max(0) as u64)))
    };
    let cancel_at: Option<Timestamp> = row.try_get("cancel_at")?;
    let cancel = match cancel_at {
        Some(at) => {
            Some(Cancel { at, by: row.try_get("cancel_by")?, why: row.try_get("cancel_why")? })
        }
        None => None,
    };
    Ok(JobRow {
        id: JobId::from_uuid(row.try_get("id")?),
        kind: row.try_get("kind")?,
        queue: row.try_get("queue")?,
        priority: row.try_get::<i16, _>("priority")? as u8,
        state: state(row.try_get("state")?)?,
        run_at: row.try_get("run_at")?,
        created_at: row.try_get("created_at")?,
        attempt: near(row.try_get("attempt")?),
        max_attempts: near(row.try_get("max_attempts")?),
        backoff: text("backoff")?
            .and_then(|policy| serde_json::from_str(policy).ok())
            .unwrap_or_default(),
        timeout: span("timeout_ms")?,
        retain: span("retain_ms")?,
        unique_key: text("unique_key")?.map(|key| callers(key).to_owned()),
        version: near(row.try_get("version")?),
        tags: row.try_get::<Option<_>, _>("tags")?.unwrap_or_default(),
        meta: text("meta")?.map(Into::into),
        payload: text("payload")?.unwrap_or_default().into(),
        payload_is_hidden: false,
        payload_is_cut: false,
        payload_bytes: None,
        payload_version: near(row.try_get("payload_version")?),
        redacted: row.try_get::<Option<_>, _>("redacted")?.unwrap_or_default(),
        errors: errors(text("errors")?),
        cancel,
        node: row.try_get("node")?,
        lease: row.try_get("lease")?,
        leased_at: row.try_get("leased_at")?,
        finished_at: row.try_get("finished_at")?,
        output: text("output")?.map(Into::into),
    })
}

fn state(word: &str) -> Result<State, sqlx::Error> {
    word.parse().map_err(|unknown| sqlx::Error::Decode(Box::new(unknown)))
}

/// What cannot be read (another version's, or edited by hand) is left out: the job itself matters.
fn errors(list: Option<&str>) -> Vec<crate::job::AttemptError> {
    let list = list.and_then(|list| serde_json::from_str::<Vec<&RawValue>>(list).ok());
    let read = |error: &&RawValue| serde_json::from_str(error.get()).ok();
    list.unwrap_or_default().iter().filter_map(read).collect()
}
