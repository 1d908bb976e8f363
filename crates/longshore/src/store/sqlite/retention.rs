//! The rules of retention.

use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection};

use super::SqliteStore;
use super::error::failed;
use super::sql::RETENTION;
use crate::job::{Invalid, Problem};
use crate::store::{Keep, MAX_RULES, Result, RetentionRule, RetentionScope};

impl SqliteStore {
    pub(super) async fn all_rules(&self) -> Result<Vec<RetentionRule>> {
        let doing = "read the rules of retention";
        let mut conn = self.read(doing).await?;
        rules(&mut conn).await.map_err(failed(doing))
    }

    pub(super) async fn set_rule(&self, rule: &RetentionRule) -> Result<()> {
        let doing = "set a rule of retention";
        let RetentionScope { queue, kind, .. } = &rule.scope;
        let mut tx = self.begin(doing).await?;
        let others: i64 = sqlx::query_scalar(RETENTION.step("others"))
            .bind(rule.scope.state_word())
            .bind(queue)
            .bind(kind)
            .fetch_one(&mut *tx)
            .await
            .map_err(failed(doing))?;
        if others as usize >= MAX_RULES {
            let problem = Problem::TooMany { count: others as usize + 1, limit: MAX_RULES };
            return Err(Invalid::new("retention", problem).into());
        }
        sqlx::query(RETENTION.step("set"))
            .bind(rule.scope.state_word())
            .bind(queue)
            .bind(kind)
            .bind(rule.keep.as_ms())
            .execute(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))
    }

    pub(super) async fn remove_rule(&self, scope: &RetentionScope) -> Result<bool> {
        let doing = "remove a rule of retention";
        let gone = || {
            sqlx::query(RETENTION.step("remove"))
                .bind(scope.state_word())
                .bind(&scope.queue)
                .bind(&scope.kind)
        };
        let gone = self.write(doing, gone).await?;
        Ok(gone.rows_affected() > 0)
    }
}

pub(super) async fn rules(conn: &mut SqliteConnection) -> sqlx::Result<Vec<RetentionRule>> {
    let rows = sqlx::query(RETENTION.step("list")).fetch_all(conn).await?;
    let rule = |row: &SqliteRow| {
        let state: Option<&str> = row.try_get("state")?;
        let scope = RetentionScope {
            state: state.and_then(|word| word.parse().ok()),
            queue: row.try_get("queue")?,
            kind: row.try_get("kind")?,
        };
        Ok(RetentionRule { scope, keep: Keep::from_ms(row.try_get("keep_ms")?) })
    };
    rows.iter().map(rule).collect()
}
