//! The rules of retention.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::job::{Invalid, Problem};
use crate::store::{Keep, MAX_RULES, Result, RetentionRule, RetentionScope};

use super::PostgresStore;
use super::error::{Fault, Tries};
use super::session::{Session, within};

const LIST: &str = include_str!("retention_list.sql");
const SET: &str = include_str!("retention_set.sql");
const REMOVE: &str = include_str!("retention_remove.sql");

impl PostgresStore {
    pub(super) async fn all_rules(&self) -> Result<Vec<RetentionRule>> {
        self.repeated("read the rules of retention", || self.try_all_rules()).await
    }

    async fn try_all_rules(&self) -> Result<Vec<RetentionRule>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let rows = session.query(LIST).fetch_all(session.conn()).await?;
        session.done().await?;
        let rule = |row: &PgRow| {
            let state: Option<&str> = row.try_get(0)?;
            let scope = RetentionScope {
                state: state.and_then(|word| word.parse().ok()),
                queue: row.try_get(1)?,
                kind: row.try_get(2)?,
            };
            Ok(RetentionRule { scope, keep: Keep::from_ms(row.try_get(3)?) })
        };
        rows.iter().map(rule).collect()
    }

    pub(super) async fn set_rule(&self, rule: &RetentionRule) -> Result<()> {
        if self.repeated("set a rule of retention", || self.try_set_rule(rule)).await? {
            return Ok(());
        }
        let problem = Problem::TooMany { count: MAX_RULES + 1, limit: MAX_RULES };
        Err(Invalid::new("retention", problem).into())
    }

    async fn try_set_rule(&self, rule: &RetentionRule) -> Result<bool, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let set = session
            .query(SET)
            .bind(rule.scope.state_word())
            .bind(&rule.scope.queue)
            .bind(&rule.scope.kind)
            .bind(rule.keep.as_ms())
            .bind(MAX_RULES as i64 - 1)
            .fetch_optional(session.conn())
            .await?;
        session.done().await?;
        Ok(set.is_some())
    }

    pub(super) async fn remove_rule(&self, scope: &RetentionScope) -> Result<bool> {
        let mut tries = Tries::repeatable("remove a rule of retention");
        loop {
            match within(self.patience(), self.try_remove_rule(scope)).await {
                // After a lost reply it may have been there.
                Ok(gone) => return Ok(gone || tries.lost_a_reply()),
                Err(fault) => tries.after(self, fault).await?,
            }
        }
    }

    async fn try_remove_rule(&self, scope: &RetentionScope) -> Result<bool, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let gone = session
            .query(REMOVE)
            .bind(scope.state_word())
            .bind(&scope.queue)
            .bind(&scope.kind)
            .fetch_optional(session.conn())
            .await?;
        session.done().await?;
        Ok(gone.is_some())
    }
}
