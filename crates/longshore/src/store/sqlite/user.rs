//! People who sign in.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::error::failed;
use super::json_array;
use super::sql::USER;
use crate::access::{MAX_USERS, NewUser, PasswordHash, UserChange, UserRow};
use crate::store::Result;
use crate::time::Timestamp;

impl SqliteStore {
    pub(super) async fn keep_user(&self, user: &NewUser) -> Result<bool> {
        let doing = "add a user";
        let mut tx = self.begin(doing).await?;
        let row = sqlx::query(USER.step("add"))
            .bind(&user.name)
            .bind(&user.password.0)
            .bind(&user.role)
            .bind(json_array(&user.rights))
            .bind(&user.created_by)
            .bind(self.clock.now().as_micros())
            .bind(MAX_USERS as i64)
            .fetch_optional(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        Ok(row.is_some())
    }

    pub(super) async fn all_users(&self) -> Result<Vec<UserRow>> {
        let doing = "list users";
        let query = sqlx::query(USER.step("list")).bind(MAX_USERS as i64);
        self.rows(doing, query, user_row).await
    }

    pub(super) async fn find_user(&self, name: &str) -> Result<Option<(UserRow, PasswordHash)>> {
        let doing = "look up a user";
        let mut conn = self.read(doing).await?;
        let row = sqlx::query(USER.step("find"))
            .bind(name)
            .fetch_optional(&mut *conn)
            .await
            .map_err(failed(doing))?;
        row.map(|row| Ok((user_row(&row)?, PasswordHash(row.try_get("password")?))))
            .transpose()
            .map_err(failed(doing))
    }

    pub(super) async fn edit_user(&self, name: &str, change: &UserChange) -> Result<bool> {
        let doing = "change a user";
        let mut tx = self.begin(doing).await?;
        let (role, rights) = change.grant.clone().unwrap_or_default();
        let found = sqlx::query(USER.step("change"))
            .bind(name)
            .bind(change.password.as_ref().map(PasswordHash::as_str))
            .bind(change.grant.is_some())
            .bind(role)
            .bind(json_array(&rights))
            .bind(change.disabled)
            .bind(self.clock.now().as_micros())
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        sqlx::query(USER.step("end_sessions"))
            .bind(name)
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        Ok(found.rows_affected() > 0)
    }

    pub(super) async fn drop_user(&self, name: &str) -> Result<bool> {
        let doing = "remove a user";
        let mut tx = self.begin(doing).await?;
        sqlx::query(USER.step("end_sessions"))
            .bind(name)
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        let found = sqlx::query(USER.step("remove"))
            .bind(name)
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        Ok(found.rows_affected() > 0)
    }
}

fn user_row(row: &SqliteRow) -> sqlx::Result<UserRow> {
    let at = |name: &str| -> sqlx::Result<Option<Timestamp>> {
        Ok(row.try_get::<Option<i64>, _>(name)?.map(Timestamp::from_micros))
    };
    Ok(UserRow {
        name: row.try_get("name")?,
        role: row.try_get("role")?,
        // What cannot be read gives nothing.
        rights: serde_json::from_str(row.try_get("rights")?).unwrap_or_default(),
        created_at: Timestamp::from_micros(row.try_get("created_at")?),
        created_by: row.try_get("created_by")?,
        changed_at: Timestamp::from_micros(row.try_get("changed_at")?),
        disabled_at: at("disabled_at")?,
        signed_in_at: at("signed_in_at")?,
    })
}
