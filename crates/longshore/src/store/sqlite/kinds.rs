//! What nodes tell of their kinds.

use std::time::Duration;

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::SqliteStore;
use super::sql::KINDS;
use crate::store::{KnownKind, MAX_KNOWN, Result, StoredKind};
use crate::time::Timestamp;

/// A kind that nobody runs is forgotten so long after it was told of.
const FORGET_AFTER: Duration = Duration::from_secs(30 * 86_400);

/// In the transaction of the node's join.
pub(super) async fn keep(
    conn: &mut SqliteConnection,
    known: &[KnownKind],
    now: Timestamp,
) -> sqlx::Result<()> {
    for kind in known {
        sqlx::query(KINDS.step("keep"))
            .bind(&kind.name)
            .bind(kind.version)
            .bind(&kind.schema)
            .bind(now.as_micros())
            .execute(&mut *conn)
            .await?;
    }
    sqlx::query(KINDS.step("forget"))
        .bind(now.minus(FORGET_AFTER).as_micros())
        .bind(now.as_micros())
        .execute(&mut *conn)
        .await?;
    Ok(())
}

impl SqliteStore {
    pub(super) async fn all_kinds(&self) -> Result<Vec<StoredKind>> {
        let kind = |row: &SqliteRow| {
            let version: Option<i64> = row.try_get("version")?;
            let known = KnownKind {
                name: row.try_get("name")?,
                version: version.and_then(|version| u32::try_from(version).ok()),
                schema: row.try_get("schema")?,
            };
            Ok(StoredKind { known, seen_at: Timestamp::from_micros(row.try_get("seen_at")?) })
        };
        let query = sqlx::query(KINDS.step("list")).bind(MAX_KNOWN as i64);
        self.rows("list kinds", query, kind).await
    }
}
