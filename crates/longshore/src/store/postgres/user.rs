//! People who sign in.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::access::{MAX_USERS, NewUser, PasswordHash, UserChange, UserRow};
use crate::store::Result;

use super::PostgresStore;
use super::error::Fault;
use super::session::Session;

const ADD: &str = include_str!("user_add.sql");
const LIST: &str = include_str!("user_list.sql");
const FIND: &str = include_str!("user_find.sql");
const CHANGE: &str = include_str!("user_change.sql");
const REMOVE: &str = include_str!("user_remove.sql");

impl PostgresStore {
    pub(super) async fn keep_user(&self, user: &NewUser) -> Result<bool> {
        self.repeated("add a user", || self.try_keep_user(user)).await
    }

    async fn try_keep_user(&self, user: &NewUser) -> Result<bool, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session
            .query(ADD)
            .bind(&user.name)
            .bind(&user.password.0)
            .bind(&user.role)
            .bind(&user.rights)
            .bind(&user.created_by)
            .bind(self.clock.fixed())
            .bind(MAX_USERS as i64);
        let row = query.fetch_optional(session.conn()).await?;
        session.done().await?;
        Ok(row.is_some())
    }

    pub(super) async fn all_users(&self) -> Result<Vec<UserRow>> {
        self.repeated("list users", || self.try_users()).await
    }

    async fn try_users(&self) -> Result<Vec<UserRow>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session.query(LIST).bind(MAX_USERS as i64);
        let rows = query.fetch_all(session.conn()).await?;
        session.done().await?;
        Ok(rows.iter().map(user_row).collect::<Result<_, _>>()?)
    }

    pub(super) async fn find_user(&self, name: &str) -> Result<Option<(UserRow, PasswordHash)>> {
        self.repeated("look up a user", || self.try_find_user(name)).await
    }

    async fn try_find_user(&self, name: &str) -> Result<Option<(UserRow, PasswordHash)>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let row = session.query(FIND).bind(name).fetch_optional(session.conn()).await?;
        session.done().await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some((user_row(&row)?, PasswordHash(row.try_get("password")?))))
    }

    pub(super) async fn edit_user(&self, name: &str, change: &UserChange) -> Result<bool> {
        self.repeated("change a user", || self.try_edit_user(name, change)).await
    }

    async fn try_edit_user(&self, name: &str, change: &UserChange) -> Result<bool, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let (role, rights) = change.grant.clone().unwrap_or_default();
        let query = session
            .query(CHANGE)
            .bind(name)
            .bind(change.password.as_ref().map(PasswordHash::as_str))
            .bind(change.grant.is_some())
            .bind(role)
            .bind(rights)
            .bind(change.disabled)
            .bind(self.clock.fixed());
        let row = query.fetch_optional(session.conn()).await?;
        session.done().await?;
        Ok(row.is_some())
    }

    pub(super) async fn drop_user(&self, name: &str) -> Result<bool> {
        // After a lost reply nobody can tell whether it was there, so it is asked first.
        let found = self.find_user(name).await?.is_some();
        self.repeated("remove a user", || self.try_drop_user(name)).await?;
        Ok(found)
    }

    async fn try_drop_user(&self, name: &str) -> Result<(), Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        session.query(REMOVE).bind(name).fetch_optional(session.conn()).await?;
        session.done().await
    }
}

fn user_row(row: &PgRow) -> Result<UserRow, sqlx::Error> {
    Ok(UserRow {
        name: row.try_get("name")?,
        role: row.try_get("role")?,
        rights: row.try_get("rights")?,
        created_at: row.try_get("created_at")?,
        created_by: row.try_get("created_by")?,
        changed_at: row.try_get("changed_at")?,
        disabled_at: row.try_get("disabled_at")?,
        signed_in_at: row.try_get("signed_in_at")?,
    })
}
