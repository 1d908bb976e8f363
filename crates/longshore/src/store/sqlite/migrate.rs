//! The schema's migrations.

use sqlx::{Row, SqliteConnection};

use super::SqliteStore;
use super::error::failed;
use crate::store::migration::{Migration, pending};
use crate::store::{Result, StoreError};

pub(crate) const KNOWN: [Migration; 14] = [
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

const TABLE: &str = "CREATE TABLE IF NOT EXISTS longshore_migration (
    version INTEGER PRIMARY KEY, name TEXT NOT NULL, checksum TEXT NOT NULL,
    applied_at INTEGER NOT NULL) STRICT";
const APPLIED: &str = "SELECT version, checksum FROM longshore_migration ORDER BY version";
const NOTE: &str =
    "INSERT INTO longshore_migration (version, name, checksum, applied_at) VALUES ($1, $2, $3, $4)";

impl SqliteStore {
    pub(super) async fn migrate_up(&self) -> Result<Vec<u32>> {
        let doing = "migrate the schema";
        // The write lock comes first, so of many that start at once one works and the rest find it done.
        let mut tx = self.begin(doing).await?;
        sqlx::query(TABLE).execute(&mut *tx).await.map_err(failed(doing))?;
        let applied = applied(&mut tx).await.map_err(failed(doing))?;
        let todo = pending(&KNOWN, &applied)?;
        for migration in todo {
            sqlx::raw_sql(migration.sql).execute(&mut *tx).await.map_err(failed(doing))?;
            sqlx::query(NOTE)
                .bind(migration.version)
                .bind(migration.name)
                .bind(migration.checksum())
                .bind(self.clock.now().as_micros())
                .execute(&mut *tx)
                .await
                .map_err(failed(doing))?;
        }
        tx.commit().await.map_err(failed(doing))?;
        Ok(todo.iter().map(|migration| migration.version).collect())
    }

    pub(super) async fn version(&self) -> Result<u32> {
        let doing = "read the schema's version";
        let mut conn = self.read(doing).await?;
        self.version_in(&mut conn).await
    }

    /// The same, on a connection that reads.
    pub(super) async fn version_in(&self, conn: &mut SqliteConnection) -> Result<u32> {
        match applied(conn).await.map_err(failed("read the schema's version")) {
            Ok(applied) => Ok(applied.last().map_or(0, |(version, _)| *version)),
            Err(StoreError::Schema { found, .. }) => Ok(found),
            Err(error) => Err(error),
        }
    }
}

async fn applied(conn: &mut SqliteConnection) -> sqlx::Result<Vec<(u32, String)>> {
    let rows = sqlx::query(APPLIED).fetch_all(conn).await?;
    rows.iter().map(|row| Ok((row.try_get("version")?, row.try_get("checksum")?))).collect()
}
