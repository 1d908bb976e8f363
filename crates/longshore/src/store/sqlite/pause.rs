//! Pauses of queues and kinds. Claims read the same table, each by itself.

use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::SqliteStore;
use super::error::failed;
use super::sql::PAUSE;
use crate::job::{Invalid, Problem};
use crate::store::{MAX_PAUSES, Pause, PauseScope, Result, SetPause, Wake};
use crate::time::Timestamp;

impl SqliteStore {
    pub(super) async fn set_pause(&self, pause: &SetPause) -> Result<Pause> {
        let doing = "pause";
        let now = self.clock.now().as_micros();
        let mut tx = self.begin(doing).await?;
        let forget = sqlx::query(PAUSE.step("forget")).bind(now);
        forget.execute(&mut *tx).await.map_err(failed(doing))?;
        let others: i64 = sqlx::query_scalar(PAUSE.step("others"))
            .bind(pause.scope.as_str())
            .bind(&pause.name)
            .fetch_one(&mut *tx)
            .await
            .map_err(failed(doing))?;
        if others as usize >= MAX_PAUSES {
            let problem = Problem::TooMany { count: others as usize + 1, limit: MAX_PAUSES };
            return Err(Invalid::new("pauses", problem).into());
        }
        let since: i64 = sqlx::query_scalar(PAUSE.step("set"))
            .bind(pause.scope.as_str())
            .bind(&pause.name)
            .bind(&pause.by)
            .bind(&pause.why)
            .bind(now)
            .bind(pause.until.map(Timestamp::as_micros))
            .bind(fastrand::i64(1..))
            .fetch_one(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        let SetPause { scope, name, by, why, until } = pause.clone();
        Ok(Pause { scope, name, by, why, since: Timestamp::from_micros(since), until })
    }

    pub(super) async fn end_pause(&self, scope: PauseScope, name: &str) -> Result<bool> {
        let doing = "resume";
        let mut tx = self.begin(doing).await?;
        let held: Option<bool> = sqlx::query_scalar(PAUSE.step("end"))
            .bind(scope.as_str())
            .bind(name)
            .bind(self.clock.now().as_micros())
            .fetch_optional(&mut *tx)
            .await
            .map_err(failed(doing))?;
        tx.commit().await.map_err(failed(doing))?;
        // Marks have moved past what was paused.
        self.hub.wake(Wake::LookFromStart);
        Ok(held.unwrap_or(false))
    }

    pub(super) async fn all_pauses(&self) -> Result<Vec<Pause>> {
        let pause = |row: &SqliteRow| {
            Ok(Pause {
                scope: PauseScope::from_word(row.try_get("scope")?),
                name: row.try_get("name")?,
                by: row.try_get("paused_by")?,
                why: row.try_get("why")?,
                since: Timestamp::from_micros(row.try_get("since")?),
                until: row.try_get::<Option<i64>, _>("until")?.map(Timestamp::from_micros),
            })
        };
        let query = sqlx::query(PAUSE.step("list")).bind(self.clock.now().as_micros());
        self.rows("read what is paused", query, pause).await
    }
}
