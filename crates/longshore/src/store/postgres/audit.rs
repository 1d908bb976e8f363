//! The audit log.

use std::time::Duration;

use sqlx::Row;
use sqlx::postgres::PgRow;
use uuid::Uuid;

use crate::audit::{Entry, EntryEnd, EntryId, NewEntry};
use crate::store::{Lead, Result};

use super::PostgresStore;
use super::error::Fault;
use super::session::Session;

const BEGIN: &str = include_str!("audit_begin.sql");
const END: &str = include_str!("audit_end.sql");
const LIST: &str = include_str!("audit_list.sql");
const PRUNE: &str = include_str!("audit_prune.sql");

/// Entries that go in one statement: some milliseconds.
const MOST: i64 = 1_000;

impl PostgresStore {
    pub(super) async fn begin_audit(&self, entry: &NewEntry) -> Result<()> {
        self.repeated("write the audit log", || self.try_begin_audit(entry)).await
    }

    async fn try_begin_audit(&self, entry: &NewEntry) -> Result<(), Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session
            .query(BEGIN)
            .bind(entry.id.0)
            .bind(self.clock.fixed())
            .bind(&entry.actor)
            .bind(&entry.actor_kind)
            .bind(&entry.actor_id)
            .bind(&entry.address)
            .bind(&entry.action)
            .bind(&entry.target)
            .bind(&entry.request_id);
        query.execute(session.conn()).await?;
        session.done().await
    }

    pub(super) async fn end_audit(&self, id: EntryId, end: &EntryEnd) -> Result<()> {
        self.repeated("end an entry of the audit log", || self.try_end_audit(id, end)).await
    }

    async fn try_end_audit(&self, id: EntryId, end: &EntryEnd) -> Result<(), Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session
            .query(END)
            .bind(id.0)
            .bind(i32::from(end.status))
            .bind(end.count.map(|count| count as i64))
            .bind(&end.why)
            .bind(&end.detail);
        query.execute(session.conn()).await?;
        session.done().await
    }

    pub(super) async fn list_audit(
        &self,
        before: Option<EntryId>,
        most: u32,
    ) -> Result<Vec<Entry>> {
        self.repeated("read the audit log", || self.try_list_audit(before, most)).await
    }

    async fn try_list_audit(
        &self,
        before: Option<EntryId>,
        most: u32,
    ) -> Result<Vec<Entry>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let before = before.map_or(Uuid::max(), |id| id.0);
        let query = session.query(LIST).bind(before).bind(i64::from(most));
        let rows = query.fetch_all(session.conn()).await?;
        session.done().await?;
        Ok(rows.iter().map(entry).collect::<Result<_, _>>()?)
    }

    pub(super) async fn forget_audit(&self, lead: Lead, keep: Duration) -> Result<bool> {
        self.repeated("prune the audit log", || self.try_forget_audit(lead, keep)).await
    }

    async fn try_forget_audit(&self, lead: Lead, keep: Duration) -> Result<bool, Fault> {
        let mut session = self.lead_session(&self.pools.chores, lead).await?;
        let query =
            session.query(PRUNE).bind(super::micros(keep)).bind(MOST).bind(self.clock.fixed());
        let gone: i64 = query.fetch_one(session.conn()).await?.try_get(0)?;
        session.done().await?;
        Ok(gone == MOST)
    }
}

fn entry(row: &PgRow) -> Result<Entry, sqlx::Error> {
    Ok(Entry {
        id: EntryId(row.try_get("id")?),
        at: row.try_get("at")?,
        actor: row.try_get("actor")?,
        actor_kind: row.try_get("actor_kind")?,
        actor_id: row.try_get("actor_id")?,
        address: row.try_get("address")?,
        action: row.try_get("action")?,
        target: row.try_get("target")?,
        request_id: row.try_get("request_id")?,
        status: row.try_get::<Option<i32>, _>("status")?.map(|status| status as u16),
        count: row.try_get::<Option<i64>, _>("count")?.map(|count| count as u64),
        why: row.try_get("why")?,
        detail: row.try_get("detail")?,
    })
}
