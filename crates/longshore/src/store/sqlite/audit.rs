//! The audit log.

use std::time::Duration;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::error::failed;
use super::sql::AUDIT;
use crate::audit::{Entry, EntryEnd, EntryId, NewEntry};
use crate::store::{Lead, Result};
use crate::time::Timestamp;

/// Entries that go in one statement: some milliseconds.
const MOST: i64 = 1_000;

impl SqliteStore {
    pub(super) async fn begin_audit(&self, entry: &NewEntry) -> Result<()> {
        let doing = "write the audit log";
        let now = self.clock.now().as_micros();
        let query = || {
            sqlx::query(AUDIT.step("begin"))
                .bind(entry.id.0)
                .bind(now)
                .bind(&entry.actor)
                .bind(&entry.actor_kind)
                .bind(&entry.actor_id)
                .bind(&entry.address)
                .bind(&entry.action)
                .bind(&entry.target)
                .bind(&entry.request_id)
        };
        self.write(doing, query).await?;
        Ok(())
    }

    pub(super) async fn end_audit(&self, id: EntryId, end: &EntryEnd) -> Result<()> {
        let doing = "end an entry of the audit log";
        let query = || {
            sqlx::query(AUDIT.step("end"))
                .bind(id.0)
                .bind(i64::from(end.status))
                .bind(end.count.map(|count| count as i64))
                .bind(&end.why)
                .bind(&end.detail)
        };
        self.write(doing, query).await?;
        Ok(())
    }

    pub(super) async fn list_audit(
        &self,
        before: Option<EntryId>,
        most: u32,
    ) -> Result<Vec<Entry>> {
        let doing = "read the audit log";
        let query =
            sqlx::query(AUDIT.step("list")).bind(before.map(|id| id.0)).bind(i64::from(most));
        self.rows(doing, query, entry).await
    }

    pub(super) async fn forget_audit(&self, lead: Lead, keep: Duration) -> Result<bool> {
        let doing = "prune the audit log";
        let now = self.clock.now();
        let mut tx = self.begin(doing).await?;
        self.must_lead(&mut tx, lead, now).await?;
        let gone = sqlx::query(AUDIT.step("prune"))
            .bind(now.minus(keep).as_micros())
            .bind(MOST)
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        Ok(gone.rows_affected() == MOST as u64)
    }
}

fn entry(row: &SqliteRow) -> sqlx::Result<Entry> {
    Ok(Entry {
        id: EntryId(row.try_get("id")?),
        at: Timestamp::from_micros(row.try_get("at")?),
        actor: row.try_get("actor")?,
        actor_kind: row.try_get("actor_kind")?,
        actor_id: row.try_get("actor_id")?,
        address: row.try_get("address")?,
        action: row.try_get("action")?,
        target: row.try_get("target")?,
        request_id: row.try_get("request_id")?,
        status: row.try_get::<Option<i64>, _>("status")?.map(|status| status as u16),
        count: row.try_get::<Option<i64>, _>("count")?.map(|count| count as u64),
        why: row.try_get("why")?,
        detail: row.try_get("detail")?,
    })
}
