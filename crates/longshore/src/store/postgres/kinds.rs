//! What nodes tell of their kinds.

use std::time::Duration;

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::store::{KnownKind, MAX_KNOWN, Result, StoredKind};

use super::PostgresStore;
use super::error::Fault;
use super::session::Session;

const KEEP: &str = include_str!("kinds_keep.sql");
const LIST: &str = include_str!("kinds_list.sql");

/// A kind that nobody runs is forgotten so long after it was told of.
const FORGET_AFTER: Duration = Duration::from_secs(30 * 86_400);

impl PostgresStore {
    /// In the transaction of the node's join.
    pub(super) async fn keep_kinds(
        &self,
        session: &mut Session,
        known: &[KnownKind],
    ) -> Result<(), Fault> {
        let names: Vec<&str> = known.iter().map(|kind| kind.name.as_str()).collect();
        let version =
            |kind: &KnownKind| kind.version.and_then(|version| i32::try_from(version).ok());
        let versions: Vec<Option<i32>> = known.iter().map(version).collect();
        let schemas: Vec<Option<&str>> = known.iter().map(|kind| kind.schema.as_deref()).collect();
        session
            .query(KEEP)
            .bind(names)
            .bind(versions)
            .bind(schemas)
            .bind(super::micros(FORGET_AFTER))
            .bind(self.clock.fixed())
            .execute(session.conn())
            .await?;
        Ok(())
    }

    pub(super) async fn all_kinds(&self) -> Result<Vec<StoredKind>> {
        self.repeated("list kinds", || self.try_kinds()).await
    }

    async fn try_kinds(&self) -> Result<Vec<StoredKind>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session.query(LIST).bind(MAX_KNOWN as i64);
        let rows = query.fetch_all(session.conn()).await?;
        session.done().await?;
        let kind = |row: &PgRow| {
            let version: Option<i32> = row.try_get("version")?;
            let known = KnownKind {
                name: row.try_get("name")?,
                version: version.and_then(|version| u32::try_from(version).ok()),
                schema: row.try_get("schema")?,
            };
            Ok(StoredKind { known, seen_at: row.try_get("seen_at")? })
        };
        rows.iter().map(kind).collect()
    }
}
