//! Users who have signed in.

use std::time::Duration;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::error::failed;
use super::sql::SESSION;
use crate::access::{MAX_SESSIONS, NewSession, SESSION_IDLE, SESSION_LASTS};
use crate::access::{SecretHash, SessionId, SessionRow};
use crate::store::Result;
use crate::time::Timestamp;

const SEEN_EVERY: Duration = Duration::from_secs(60);
/// Sessions that a list shows.
const MOST: i64 = 1_000;

impl SqliteStore {
    pub(super) async fn open_session(
        &self,
        session: &NewSession,
        hash: SecretHash,
    ) -> Result<Option<Timestamp>> {
        let doing = "sign a user in";
        let mut tx = self.begin(doing).await?;
        let now = self.clock.now();
        sqlx::query(SESSION.step("tidy"))
            .bind(&session.user)
            .bind(now.as_micros())
            .bind(now.minus(SESSION_IDLE).as_micros())
            .bind(MAX_SESSIONS - 1)
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        let row = sqlx::query(SESSION.step("add"))
            .bind(session.id.0)
            .bind(hash.0.to_vec())
            .bind(&session.user)
            .bind(&session.password.0)
            .bind(now.as_micros())
            .bind(now.plus(SESSION_LASTS).as_micros())
            .bind(&session.address)
            .fetch_optional(&mut *tx)
            .await
            .map_err(failed(doing))?;
        let Some(row) = row else { return Ok(None) };
        sqlx::query(SESSION.step("signed_in"))
            .bind(&session.user)
            .bind(now.as_micros())
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        let at = row.try_get(0).map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        Ok(Some(Timestamp::from_micros(at)))
    }

    pub(super) async fn find_session(&self, hash: SecretHash) -> Result<Option<SessionRow>> {
        let doing = "look up a session";
        let now = self.clock.now();
        let query = sqlx::query(SESSION.step("find"))
            .bind(hash.0.to_vec())
            .bind(now.as_micros())
            .bind(now.minus(SESSION_IDLE).as_micros());
        self.row(doing, query, session_row).await
    }

    pub(super) async fn all_sessions(&self) -> Result<Vec<SessionRow>> {
        let doing = "list sessions";
        let now = self.clock.now();
        let query = sqlx::query(SESSION.step("list"))
            .bind(now.as_micros())
            .bind(now.minus(SESSION_IDLE).as_micros())
            .bind(MOST);
        self.rows(doing, query, session_row).await
    }

    pub(super) async fn see_session(&self, id: SessionId) -> Result<()> {
        let doing = "note that a session was used";
        let now = self.clock.now();
        let query = || {
            sqlx::query(SESSION.step("touch"))
                .bind(id.0)
                .bind(now.as_micros())
                .bind(now.minus(SEEN_EVERY).as_micros())
        };
        self.write(doing, query).await?;
        Ok(())
    }

    pub(super) async fn close_session(&self, id: SessionId) -> Result<bool> {
        let doing = "end a session";
        let found = || sqlx::query(SESSION.step("end")).bind(id.0);
        let found = self.write(doing, found).await?;
        Ok(found.rows_affected() > 0)
    }
}

fn session_row(row: &SqliteRow) -> sqlx::Result<SessionRow> {
    let at = |name: &str| row.try_get(name).map(Timestamp::from_micros);
    Ok(SessionRow {
        id: SessionId(row.try_get("id")?),
        user: row.try_get("user_name")?,
        role: row.try_get("role")?,
        // What cannot be read gives nothing.
        rights: serde_json::from_str(row.try_get("rights")?).unwrap_or_default(),
        created_at: at("created_at")?,
        seen_at: at("seen_at")?,
        expires_at: at("expires_at")?,
        address: row.try_get("address")?,
        live: row.try_get("live")?,
    })
}
