//! Tokens of the API.

use std::time::Duration;

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::error::failed;
use super::json_array;
use super::sql::TOKEN;
use crate::access::{MAX_TOKENS, NewToken, SecretHash, TokenId, TokenRow};
use crate::job::{Invalid, Problem};
use crate::store::Result;
use crate::time::Timestamp;

const USED_EVERY: Duration = Duration::from_secs(60);

impl SqliteStore {
    pub(super) async fn keep_token(&self, token: &NewToken, hash: SecretHash) -> Result<Timestamp> {
        let doing = "add a token";
        let mut tx = self.begin(doing).await?;
        let row = sqlx::query(TOKEN.step("add"))
            .bind(token.id.0)
            .bind(&token.name)
            .bind(hash.0.to_vec())
            .bind(&token.prefix)
            .bind(&token.role)
            .bind(json_array(&token.rights))
            .bind(&token.created_by)
            .bind(token.expires_at.map(Timestamp::as_micros))
            .bind(self.clock.now().as_micros())
            .bind(MAX_TOKENS as i64)
            .fetch_optional(&mut *tx)
            .await
            .map_err(failed(doing))?;
        let Some(row) = row else {
            let problem = Problem::TooMany { count: MAX_TOKENS + 1, limit: MAX_TOKENS };
            return Err(Invalid::new("tokens", problem).into());
        };
        let at = row.try_get(0).map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        Ok(Timestamp::from_micros(at))
    }

    pub(super) async fn all_tokens(&self) -> Result<Vec<TokenRow>> {
        let doing = "list tokens";
        let query = sqlx::query(TOKEN.step("list"))
            .bind(self.clock.now().as_micros())
            .bind(MAX_TOKENS as i64);
        self.rows(doing, query, token_row).await
    }

    pub(super) async fn find_token(&self, hash: SecretHash) -> Result<Option<TokenRow>> {
        let doing = "look up a token";
        let query = sqlx::query(TOKEN.step("find"))
            .bind(hash.0.to_vec())
            .bind(self.clock.now().as_micros());
        self.row(doing, query, token_row).await
    }

    pub(super) async fn note_use(&self, id: TokenId) -> Result<()> {
        let doing = "note that a token was used";
        let now = self.clock.now();
        let query = || {
            sqlx::query(TOKEN.step("touch"))
                .bind(id.0)
                .bind(now.as_micros())
                .bind(now.minus(USED_EVERY).as_micros())
        };
        self.write(doing, query).await?;
        Ok(())
    }

    pub(super) async fn end_token(&self, id: TokenId) -> Result<bool> {
        let doing = "revoke a token";
        let now = self.clock.now().as_micros();
        let found = || sqlx::query(TOKEN.step("revoke")).bind(id.0).bind(now);
        let found = self.write(doing, found).await?;
        Ok(found.rows_affected() > 0)
    }
}

fn token_row(row: &SqliteRow) -> sqlx::Result<TokenRow> {
    let at = |name: &str| -> sqlx::Result<Option<Timestamp>> {
        Ok(row.try_get::<Option<i64>, _>(name)?.map(Timestamp::from_micros))
    };
    Ok(TokenRow {
        id: TokenId(row.try_get("id")?),
        name: row.try_get("name")?,
        prefix: row.try_get("prefix")?,
        role: row.try_get("role")?,
        // What cannot be read gives nothing.
        rights: serde_json::from_str(row.try_get("rights")?).unwrap_or_default(),
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
        created_by: row.try_get("created_by")?,
        expires_at: at("expires_at")?,
        last_used_at: at("last_used_at")?,
        revoked_at: at("revoked_at")?,
        live: row.try_get("live")?,
    })
}
