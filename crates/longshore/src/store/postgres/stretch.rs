//! Parts of an enqueue that share one `COPY`: while the database takes in one, the next is read and written out.

use sqlx::{Executor, PgConnection};

use crate::job::NewJob;
use crate::job::new::MAX_INLINE_BYTES;
use crate::time::Timestamp;

use super::bulk::Placed;
use super::copy::{Copy, Rows};
use super::enqueue::is_clash;
use super::error::Fault;

const COPY: &str = include_str!("copy.sql");
const COPY_ASIDE: &str = include_str!("copy_aside.sql");

/// Where a `COPY` of fewer jobs would not pay.
const FEW: usize = 100;
/// The most jobs of one `COPY`, and their bytes, unless one part has more: all are kept until it ends.
const MAX_JOBS: usize = 10_000;
const MAX_BYTES: usize = 8 << 20;

/// An open `COPY`, and what went into it.
pub(super) struct Stretch<'c> {
    copy: Copy<'c>,
    now: Timestamp,
    sent: Placed,
    bytes: usize,
}

impl<'c> Stretch<'c> {
    /// Whether to begin one for these.
    pub fn pays(plain: &Placed) -> bool {
        plain.jobs.len() >= FEW && may_be_copied(&plain.jobs)
    }

    /// Jobs without a due time of their own are due `now`.
    pub async fn begin(conn: &'c mut PgConnection, now: Timestamp) -> Result<Stretch<'c>, Fault> {
        conn.execute("SAVEPOINT longshore_copy").await?;
        let copy = Copy::begin(conn, COPY).await?;
        Ok(Stretch { copy, now, sent: Placed::default(), bytes: 0 })
    }

    pub async fn send(&mut self, plain: Placed) -> Result<(), Fault> {
        self.copy.send(|rows| job_rows(rows, &plain.jobs, self.now)).await?;
        self.bytes += plain.jobs.iter().map(NewJob::size_bytes).sum::<usize>();
        self.sent.jobs.extend(plain.jobs);
        self.sent.places.extend(plain.places);
        Ok(())
    }

    pub fn is_full(&self) -> bool {
        self.sent.jobs.len() >= MAX_JOBS || self.bytes >= MAX_BYTES
    }

    /// Ends it; what went in, and whether the database took it.
    pub async fn end(self) -> (Placed, Result<(), sqlx::Error>) {
        (self.sent, self.copy.end().await)
    }
}

/// Ids of callers' own may be there already; to find out is another statement. Jobs with a key go later.
pub(super) fn may_be_copied(jobs: &[NewJob]) -> bool {
    jobs.iter().all(|job| job.unique.is_some() || !job.id_is_callers)
}

/// What comes after the end. False if one of the jobs is there already: then none of them was added.
pub(super) async fn settle(
    conn: &mut PgConnection,
    jobs: &[NewJob],
    ended: Result<(), sqlx::Error>,
) -> Result<bool, Fault> {
    let ended = match ended {
        Ok(()) => copy_aside(conn, jobs).await,
        error => error,
    };
    match ended {
        Ok(()) => conn.execute("RELEASE SAVEPOINT longshore_copy").await?,
        Err(error) if is_clash(&error) => {
            conn.execute("ROLLBACK TO SAVEPOINT longshore_copy").await?;
            return Ok(false);
        }
        Err(error) => return Err(error.into()),
    };
    Ok(true)
}

/// As `copy.sql` wants them.
pub(super) fn job_rows(rows: &mut Rows, jobs: &[NewJob], now: Timestamp) {
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
}

async fn copy_aside(conn: &mut PgConnection, jobs: &[NewJob]) -> Result<(), sqlx::Error> {
    let aside = |job: &&NewJob| job.payload.len() > MAX_INLINE_BYTES;
    if !jobs.iter().any(|job| aside(&job)) {
        return Ok(());
    }
    let mut rows = Rows::new();
    for job in jobs.iter().filter(aside) {
        rows.row(2);
        rows.uuid(job.id.as_uuid());
        rows.text(&job.payload);
    }
    Copy::at_once(conn, COPY_ASIDE, rows).await
}
