//! From a row to what it means. Decoding never panics; what is no value becomes an error.

use std::time::Duration;

use serde_json::value::RawValue;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row, Sqlite, Type};
use uuid::Uuid;

use crate::job::unique::callers;
use crate::job::{AttemptError, Backoff, Cancel, JobId, JobRow, State};
use crate::store::{ClaimedJob, Held, HeldRun, NodeId, NodeRow, NodeState, Wish};
use crate::time::Timestamp;

fn col<'r, T: Decode<'r, Sqlite> + Type<Sqlite>>(
    row: &'r SqliteRow,
    name: &str,
) -> sqlx::Result<T> {
    row.try_get(name)
}

fn at(row: &SqliteRow, name: &str) -> sqlx::Result<Option<Timestamp>> {
    Ok(col::<Option<i64>>(row, name)?.map(Timestamp::from_micros))
}

/// A column that holds JSON of ours.
fn json<'r, T: serde::Deserialize<'r>>(row: &'r SqliteRow, name: &str) -> sqlx::Result<Option<T>> {
    let Some(text) = col::<Option<&str>>(row, name)? else { return Ok(None) };
    serde_json::from_str(text).map(Some).map_err(|source| sqlx::Error::ColumnDecode {
        index: name.to_owned(),
        source: source.into(),
    })
}

/// What somebody wrote by hand may lie beyond; it is taken for the nearest that can be.
fn number(row: &SqliteRow, name: &str) -> sqlx::Result<u32> {
    Ok(near(col(row, name)?))
}

pub(super) fn near(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

fn text(row: &SqliteRow, name: &str) -> sqlx::Result<Option<Box<str>>> {
    Ok(col::<Option<String>>(row, name)?.map(String::into_boxed_str))
}

fn backoff(row: &SqliteRow) -> sqlx::Result<Option<Backoff>> {
    Ok(col::<Option<&str>>(row, "backoff")?.and_then(Backoff::from_json))
}

pub(super) fn id(row: &SqliteRow) -> sqlx::Result<JobId> {
    Ok(JobId::from_uuid(col(row, "id")?))
}

pub(super) fn claimed_job(row: &SqliteRow) -> sqlx::Result<ClaimedJob> {
    Ok(ClaimedJob {
        id: id(row)?,
        kind: col(row, "kind")?,
        queue: col(row, "queue")?,
        priority: col(row, "priority")?,
        run_at: Timestamp::from_micros(col(row, "run_at")?),
        attempt: number(row, "attempt")?,
        max_attempts: number(row, "max_attempts")?,
        backoff: backoff(row)?,
        timeout_ms: col(row, "timeout_ms")?,
        meta: text(row, "meta")?,
        payload: text(row, "payload")?.unwrap_or_default(),
        payload_version: number(row, "payload_version")?,
        redacted: json(row, "redacted")?.unwrap_or_default(),
        lease: col(row, "lease")?,
    })
}

pub(super) fn held_run(row: &SqliteRow) -> sqlx::Result<HeldRun> {
    Ok(HeldRun {
        held: Held { id: id(row)?, lease: col(row, "lease")? },
        kind: col(row, "kind")?,
        queue: col(row, "queue")?,
        attempt: number(row, "attempt")?,
        max_attempts: number(row, "max_attempts")?,
        backoff: backoff(row)?,
        ran: Duration::from_micros(col::<Option<i64>>(row, "ran")?.unwrap_or(0).max(0) as u64),
    })
}

pub(super) fn job_row(row: &SqliteRow) -> sqlx::Result<JobRow> {
    let payload = text(row, "payload")?;
    let size: Option<i64> = col(row, "payload_bytes")?;
    let millis = |name| -> sqlx::Result<Option<Duration>> {
        let span: Option<i64> = col(row, name)?;
        Ok(span.map(|ms| Duration::from_millis(ms.max(0) as u64)))
    };
    let cancel = match at(row, "cancel_at")? {
        Some(at) => Some(Cancel { at, by: col(row, "cancel_by")?, why: col(row, "cancel_why")? }),
        None => None,
    };
    let payload_bytes = match size {
        Some(size) => Some(size as usize),
        None => payload.as_ref().map(|text| text.len()),
    };
    Ok(JobRow {
        id: id(row)?,
        kind: col(row, "kind")?,
        queue: col(row, "queue")?,
        priority: col(row, "priority")?,
        state: state(row)?,
        run_at: at(row, "run_at")?,
        created_at: Timestamp::from_micros(col(row, "created_at")?),
        attempt: number(row, "attempt")?,
        max_attempts: number(row, "max_attempts")?,
        backoff: backoff(row)?.unwrap_or_default(),
        timeout: millis("timeout_ms")?,
        retain: millis("retain_ms")?,
        unique_key: col::<Option<&str>>(row, "unique_key")?.map(|key| callers(key).to_owned()),
        version: number(row, "version")?,
        tags: json(row, "tags")?.unwrap_or_default(),
        meta: text(row, "meta")?,
        payload: payload.unwrap_or_default(),
        payload_is_hidden: false,
        payload_is_cut: false,
        payload_bytes,
        payload_version: number(row, "payload_version")?,
        redacted: json(row, "redacted")?.unwrap_or_default(),
        errors: errors(row)?,
        cancel,
        node: col(row, "node")?,
        lease: col(row, "lease")?,
        leased_at: at(row, "leased_at")?,
        finished_at: at(row, "finished_at")?,
        output: text(row, "output")?,
    })
}

/// What cannot be read (another version's, or edited by hand) is left out: the job itself matters.
fn errors(row: &SqliteRow) -> sqlx::Result<Vec<AttemptError>> {
    let list = json::<Vec<&RawValue>>(row, "errors")?;
    let read = |error: &&RawValue| serde_json::from_str(error.get()).ok();
    Ok(list.unwrap_or_default().iter().filter_map(read).collect())
}

pub(super) fn state(row: &SqliteRow) -> sqlx::Result<State> {
    let word: &str = col(row, "state")?;
    word.parse().map_err(|error: crate::job::state::UnknownState| sqlx::Error::ColumnDecode {
        index: "state".to_owned(),
        source: error.into(),
    })
}

pub(super) fn node_row(row: &SqliteRow) -> sqlx::Result<NodeRow> {
    Ok(NodeRow {
        id: NodeId(col::<Uuid>(row, "id")?),
        name: col(row, "name")?,
        version: col(row, "version")?,
        queues: json(row, "queues")?.unwrap_or_default(),
        kinds: json(row, "kinds")?.unwrap_or_default(),
        started_at: Timestamp::from_micros(col(row, "started_at")?),
        expires_at: Timestamp::from_micros(col(row, "expires_at")?),
        lost_at: at(row, "lost_at")?,
        live: col(row, "live")?,
        state: NodeState::from_word(col(row, "state")?),
        wish: Wish::from_word(col(row, "wish")?),
        remote: col(row, "remote")?,
        running: number(row, "running")?.into(),
    })
}
