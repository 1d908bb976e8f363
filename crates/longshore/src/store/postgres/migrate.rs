//! Brings the schema up to date.

use std::time::{Duration, Instant};

use sqlx::{Executor, Row};

use crate::store::Result;
use crate::store::migration::{Migration, pending};

use super::PostgresStore;
use super::error::{Fault, Tries, sqlstate};
use super::session::Session;

pub(crate) const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "jobs", sql: include_str!("migrations/0001_jobs.sql") },
    Migration { version: 2, name: "unique", sql: include_str!("migrations/0002_unique.sql") },
    Migration { version: 3, name: "retention", sql: include_str!("migrations/0003_retention.sql") },
    Migration { version: 4, name: "door", sql: include_str!("migrations/0004_door.sql") },
    Migration { version: 5, name: "host", sql: include_str!("migrations/0005_host.sql") },
    Migration { version: 6, name: "versions", sql: include_str!("migrations/0006_versions.sql") },
    Migration { version: 7, name: "said", sql: include_str!("migrations/0007_said.sql") },
    Migration { version: 8, name: "access", sql: include_str!("migrations/0008_access.sql") },
    Migration {
        version: 9,
        name: "queue_stats",
        sql: include_str!("migrations/0009_queue_stats.sql"),
    },
    Migration { version: 10, name: "users", sql: include_str!("migrations/0010_users.sql") },
    Migration { version: 11, name: "requests", sql: include_str!("migrations/0011_requests.sql") },
    Migration {
        version: 12,
        name: "operations",
        sql: include_str!("migrations/0012_operations.sql"),
    },
    Migration { version: 13, name: "queues", sql: include_str!("migrations/0013_queues.sql") },
    Migration { version: 14, name: "remote", sql: include_str!("migrations/0014_remote.sql") },
];

const LOCK: &str = include_str!("migrate_lock.sql");
const FOUND: &str = include_str!("migrate_found.sql");
const BEGIN: &str = include_str!("migrate_begin.sql");
const APPLIED: &str = include_str!("migrate_applied.sql");
const NOTE: &str = include_str!("migrate_note.sql");

/// The version this program needs.
pub(super) fn needed() -> u32 {
    MIGRATIONS.last().map_or(0, |last| last.version)
}

/// A step waits no longer than this for a table's lock: meanwhile everybody else waits behind it.
const LOCK_WAIT: Duration = Duration::from_millis(500);
/// Between two tries for that lock others get their turn.
const LOCK_PAUSE: Duration = Duration::from_secs(1);
/// So long somebody may hold it, a report or a backup.
const LOCK_PATIENCE: Duration = Duration::from_secs(600);

impl PostgresStore {
    /// Applies what is missing, one transaction each. Whoever comes second waits for the lock and
    /// then finds the work done.
    pub(super) async fn migrate_all(&self) -> Result<Vec<u32>> {
        let mut applied = Vec::new();
        let mut tries = Tries::of("migrate the schema");
        let give_up = Instant::now() + LOCK_PATIENCE;
        loop {
            match self.migrate_next().await {
                Ok(Some(version)) => applied.push(version),
                Ok(None) => return Ok(applied),
                Err(Fault::Db(error))
                    if sqlstate(&error).as_deref() == Some("55P03") && Instant::now() < give_up =>
                {
                    tracing::info!("a migration waits for somebody who uses a table it changes");
                    tokio::time::sleep(LOCK_PAUSE.mul_f64(0.5 + fastrand::f64())).await;
                }
                Err(fault) => tries.after(self, fault).await?,
            }
        }
    }

    async fn migrate_next(&self) -> Result<Option<u32>, Fault> {
        let mut session = Session::transaction(&self.pools.general, self.mode).await?;
        session.query(LOCK).execute(session.conn()).await?;
        let found = session.query(FOUND).fetch_one(session.conn()).await?;
        if !found.try_get::<bool, _>(0)? {
            session.conn().execute(BEGIN).await?;
        }
        let rows = session.query(APPLIED).fetch_all(session.conn()).await?;
        let applied: Result<Vec<(u32, String)>, sqlx::Error> = rows
            .iter()
            .map(|row| Ok((row.try_get::<i32, _>(0)? as u32, row.try_get(1)?)))
            .collect();
        let next = match pending(MIGRATIONS, &applied?) {
            Ok(todo) => todo.first(),
            Err(refused) => {
                session.undo().await?;
                return Err(refused.into());
            }
        };
        let Some(next) = next else {
            session.undo().await?;
            return Ok(None);
        };
        session.wait_for_rows(LOCK_WAIT).await?;
        sqlx::raw_sql(next.sql).execute(session.conn()).await?;
        let note = session.query(NOTE).bind(next.version as i32).bind(next.name);
        note.bind(next.checksum()).execute(session.conn()).await?;
        session.done().await?;
        Ok(Some(next.version))
    }

    pub(super) async fn found_version(&self) -> Result<u32, Fault> {
        let mut session = Session::transaction(&self.pools.general, self.mode).await?;
        let found = session.query(FOUND).fetch_one(session.conn()).await?;
        let mut version = 0;
        if found.try_get::<bool, _>(0)? {
            for row in session.query(APPLIED).fetch_all(session.conn()).await? {
                version = row.try_get::<i32, _>(0)?.max(version);
            }
        }
        session.done().await?;
        Ok(version as u32)
    }
}
