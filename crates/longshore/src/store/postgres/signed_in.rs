//! Users who have signed in.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::access::{MAX_SESSIONS, NewSession, SESSION_IDLE, SESSION_LASTS};
use crate::access::{SecretHash, SessionId, SessionRow};
use crate::store::{Result, Store};
use crate::time::Timestamp;

use super::PostgresStore;
use super::error::Fault;
use super::micros;
use super::session::Session;

const ADD: &str = include_str!("session_add.sql");
const FIND: &str = include_str!("session_find.sql");
const LIST: &str = include_str!("session_list.sql");
const TOUCH: &str = include_str!("session_touch.sql");
const END: &str = include_str!("session_end.sql");

/// Sessions that a list shows.
const MOST: i64 = 1_000;

impl PostgresStore {
    pub(super) async fn open_session(
        &self,
        new: &NewSession,
        hash: SecretHash,
    ) -> Result<Option<Timestamp>> {
        let ends = self.now().await?.plus(SESSION_LASTS);
        self.repeated("sign a user in", || self.try_open_session(new, hash, ends)).await
    }

    async fn try_open_session(
        &self,
        new: &NewSession,
        hash: SecretHash,
        ends: Timestamp,
    ) -> Result<Option<Timestamp>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session
            .query(ADD)
            .bind(new.id.0)
            .bind(hash.0.to_vec())
            .bind(&new.user)
            .bind(&new.password.0)
            .bind(self.clock.fixed())
            .bind(ends)
            .bind(&new.address)
            .bind(micros(SESSION_IDLE))
            .bind(MAX_SESSIONS - 1);
        let row = query.fetch_optional(session.conn()).await?;
        let at = row.map(|row| row.try_get(0)).transpose()?;
        session.done().await?;
        Ok(at)
    }

    pub(super) async fn find_session(&self, hash: SecretHash) -> Result<Option<SessionRow>> {
        self.repeated("look up a session", || self.try_find_session(hash)).await
    }

    async fn try_find_session(&self, hash: SecretHash) -> Result<Option<SessionRow>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session
            .query(FIND)
            .bind(hash.0.to_vec())
            .bind(self.clock.fixed())
            .bind(micros(SESSION_IDLE));
        let row = query.fetch_optional(session.conn()).await?;
        session.done().await?;
        Ok(row.as_ref().map(session_row).transpose()?)
    }

    pub(super) async fn all_sessions(&self) -> Result<Vec<SessionRow>> {
        self.repeated("list sessions", || self.try_sessions()).await
    }

    async fn try_sessions(&self) -> Result<Vec<SessionRow>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query =
            session.query(LIST).bind(self.clock.fixed()).bind(micros(SESSION_IDLE)).bind(MOST);
        let rows = query.fetch_all(session.conn()).await?;
        session.done().await?;
        Ok(rows.iter().map(session_row).collect::<Result<_, _>>()?)
    }

    pub(super) async fn see_session(&self, id: SessionId) -> Result<()> {
        self.repeated("note that a session was used", || self.try_see_session(id)).await
    }

    async fn try_see_session(&self, id: SessionId) -> Result<(), Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session.query(TOUCH).bind(id.0).bind(self.clock.fixed());
        query.execute(session.conn()).await?;
        session.done().await
    }

    pub(super) async fn close_session(&self, id: SessionId) -> Result<bool> {
        self.repeated("end a session", || self.try_close_session(id)).await
    }

    async fn try_close_session(&self, id: SessionId) -> Result<bool, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let row = session.query(END).bind(id.0).fetch_optional(session.conn()).await?;
        session.done().await?;
        Ok(row.is_some())
    }
}

fn session_row(row: &PgRow) -> Result<SessionRow, sqlx::Error> {
    Ok(SessionRow {
        id: SessionId(row.try_get("id")?),
        user: row.try_get("user_name")?,
        role: row.try_get("role")?,
        rights: row.try_get("rights")?,
        created_at: row.try_get("created_at")?,
        seen_at: row.try_get("seen_at")?,
        expires_at: row.try_get("expires_at")?,
        address: row.try_get("address")?,
        live: row.try_get("live")?,
    })
}
