//! Answers questions about jobs.

use std::time::Duration;

use serde_json::value::RawValue;
use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::job::unique::callers;
use crate::job::{Cancel, JobId, JobRow, State};
use crate::store::query::{Look, MAX_LOOK, PREVIEW_BYTES, looked_to, merge, preview};
use crate::store::{ListQuery, Page, Result};
use crate::time::Timestamp;

use super::PostgresStore;
use super::error::{Fault, Tries};
use super::session::{Session, within};

const GET: &str = include_str!("get.sql");
const LIST: &str = include_str!("list.sql");
const LIST_ENDED: &str = include_str!("list_ended.sql");
const NOW: &str = include_str!("now.sql");

const DAY: Duration = Duration::from_secs(86_400);
const FOREVER: Timestamp = Timestamp::from_micros(i64::MIN);

impl PostgresStore {
    pub(super) async fn find(&self, id: JobId) -> Result<Option<JobRow>> {
        let mut tries = Tries::repeatable("get a job");
        loop {
            match within(self.patience(), self.try_find(id)).await {
                Ok(job) => return Ok(job),
                Err(fault) => tries.after(self, fault).await?,
            }
        }
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

    pub(super) async fn page(&self, query: &ListQuery) -> Result<Page> {
        let mut tries = Tries::repeatable("list jobs");
        loop {
            match within(self.patience(), self.try_page(query)).await {
                Ok(page) => return Ok(page),
                Err(fault) => tries.after(self, fault).await?,
            }
        }
    }

    async fn try_page(&self, query: &ListQuery) -> Result<Page, Fault> {
        // Both looks in one session, but not in one snapshot: a job that moves in between may be in
        // both, which `merge` sees. Hot first, so that none is in neither.
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let hot = match query.wants_hot() {
            true => self.look(&mut session, LIST, query).await?,
            false => Look::default(),
        };
        let cold = match query.wants_cold() {
            true => self.look(&mut session, LIST_ENDED, query).await?,
            false => Look::default(),
        };
        session.done().await?;
        Ok(merge(hot, cold, query.page_size()))
    }

    async fn look(
        &self,
        session: &mut Session,
        sql: &'static str,
        list: &ListQuery,
    ) -> Result<Look, Fault> {
        let mut query = session
            .query(sql)
            .bind(list.below())
            .bind(MAX_LOOK)
            .bind(&list.kind)
            .bind(&list.queue)
            .bind(list.state_words())
            .bind(list.page_size() as i64);
        if sql == LIST {
            query = query.bind(self.clock.fixed());
        }
        let rows = query.bind(PREVIEW_BYTES as i32).fetch_all(session.conn()).await?;
        let mut jobs = Vec::with_capacity(rows.len());
        let mut edge: Option<Uuid> = None;
        for row in &rows {
            edge = row.try_get("edge")?;
            if row.try_get::<Option<Uuid>, _>("id")?.is_some() {
                jobs.push(preview(listed(row)?));
            }
        }
        let looked_to = looked_to(&jobs, list.page_size(), edge.map(JobId::from_uuid));
        Ok(Look { jobs, looked_to })
    }

    pub(super) async fn clock_time(&self) -> Result<Timestamp> {
        let mut tries = Tries::repeatable("ask for the time");
        loop {
            match within(self.patience(), self.try_now()).await {
                Ok(now) => return Ok(now),
                Err(fault) => tries.after(self, fault).await?,
            }
        }
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

fn job_row(row: &PgRow) -> Result<JobRow, sqlx::Error> {
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
        attempt: row.try_get::<i32, _>("attempt")? as u32,
        max_attempts: row.try_get::<i32, _>("max_attempts")? as u32,
        backoff: text("backoff")?
            .and_then(|policy| serde_json::from_str(policy).ok())
            .unwrap_or_default(),
        timeout: span("timeout_ms")?,
        retain: span("retain_ms")?,
        unique_key: text("unique_key")?.map(|key| callers(key).to_owned()),
        version: row.try_get::<i32, _>("version")?.max(0) as u32,
        tags: row.try_get::<Option<_>, _>("tags")?.unwrap_or_default(),
        meta: text("meta")?.map(Into::into),
        payload: text("payload")?.unwrap_or_default().into(),
        payload_bytes: None,
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

/// A listed job: its payload is a part, so the whole one's size comes with it.
fn listed(row: &PgRow) -> Result<JobRow, sqlx::Error> {
    let mut job = job_row(row)?;
    let bytes: Option<i32> = row.try_get("payload_bytes")?;
    job.payload_bytes = bytes.map(|bytes| bytes as usize);
    Ok(job)
}
