//! Tokens of the API.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::access::{MAX_TOKENS, NewToken, SecretHash, TokenId, TokenRow};
use crate::job::{Invalid, Problem};
use crate::store::Result;
use crate::time::Timestamp;

use super::PostgresStore;
use super::error::Fault;
use super::session::Session;

const ADD: &str = include_str!("token_add.sql");
const LIST: &str = include_str!("token_list.sql");
const FIND: &str = include_str!("token_find.sql");
const TOUCH: &str = include_str!("token_touch.sql");
const REVOKE: &str = include_str!("token_revoke.sql");

impl PostgresStore {
    pub(super) async fn keep_token(&self, token: &NewToken, hash: SecretHash) -> Result<Timestamp> {
        let kept = self.repeated("add a token", || self.try_keep_token(token, hash)).await?;
        kept.ok_or_else(|| {
            let problem = Problem::TooMany { count: MAX_TOKENS + 1, limit: MAX_TOKENS };
            Invalid::new("tokens", problem).into()
        })
    }

    async fn try_keep_token(
        &self,
        token: &NewToken,
        hash: SecretHash,
    ) -> Result<Option<Timestamp>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session
            .query(ADD)
            .bind(token.id.0)
            .bind(&token.name)
            .bind(hash.0.to_vec())
            .bind(&token.prefix)
            .bind(&token.role)
            .bind(&token.rights)
            .bind(&token.created_by)
            .bind(token.expires_at)
            .bind(self.clock.fixed())
            .bind(MAX_TOKENS as i64);
        let row = query.fetch_optional(session.conn()).await?;
        let at = row.map(|row| row.try_get(0)).transpose()?;
        session.done().await?;
        Ok(at)
    }

    pub(super) async fn all_tokens(&self) -> Result<Vec<TokenRow>> {
        self.repeated("list tokens", || self.try_tokens()).await
    }

    async fn try_tokens(&self) -> Result<Vec<TokenRow>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session.query(LIST).bind(self.clock.fixed()).bind(MAX_TOKENS as i64);
        let rows = query.fetch_all(session.conn()).await?;
        session.done().await?;
        Ok(rows.iter().map(token_row).collect::<Result<_, _>>()?)
    }

    pub(super) async fn find_token(&self, hash: SecretHash) -> Result<Option<TokenRow>> {
        self.repeated("look up a token", || self.try_find_token(hash)).await
    }

    async fn try_find_token(&self, hash: SecretHash) -> Result<Option<TokenRow>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session.query(FIND).bind(hash.0.to_vec()).bind(self.clock.fixed());
        let row = query.fetch_optional(session.conn()).await?;
        session.done().await?;
        Ok(row.as_ref().map(token_row).transpose()?)
    }

    pub(super) async fn note_use(&self, id: TokenId) -> Result<()> {
        self.repeated("note that a token was used", || self.try_mark(TOUCH, id)).await?;
        Ok(())
    }

    pub(super) async fn end_token(&self, id: TokenId) -> Result<bool> {
        self.repeated("revoke a token", || self.try_mark(REVOKE, id)).await
    }

    async fn try_mark(&self, sql: &'static str, id: TokenId) -> Result<bool, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session.query(sql).bind(id.0).bind(self.clock.fixed());
        let changed = query.execute(session.conn()).await?;
        session.done().await?;
        Ok(changed.rows_affected() > 0)
    }
}

fn token_row(row: &PgRow) -> Result<TokenRow, sqlx::Error> {
    Ok(TokenRow {
        id: TokenId(row.try_get("id")?),
        name: row.try_get("name")?,
        prefix: row.try_get("prefix")?,
        role: row.try_get("role")?,
        rights: row.try_get("rights")?,
        created_at: row.try_get("created_at")?,
        created_by: row.try_get("created_by")?,
        expires_at: row.try_get("expires_at")?,
        last_used_at: row.try_get("last_used_at")?,
        revoked_at: row.try_get("revoked_at")?,
        live: row.try_get("live")?,
    })
}
