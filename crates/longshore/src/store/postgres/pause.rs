//! Pauses of queues and kinds. Claims read the same table, each by itself.

use sqlx::Row;
use sqlx::postgres::PgRow;

use crate::job::{Invalid, Problem};
use crate::store::{MAX_PAUSES, Pause, PauseScope, Result, SetPause, Wake};

use super::PostgresStore;
use super::error::{Fault, Tries};
use super::session::{Session, within};

const SET: &str = include_str!("pause_set.sql");
const END: &str = include_str!("pause_end.sql");
const LIST: &str = include_str!("pause_list.sql");

impl PostgresStore {
    pub(super) async fn set_pause(&self, pause: &SetPause) -> Result<Pause> {
        let mut tries = Tries::repeatable("pause");
        let mark = fastrand::i64(1..);
        loop {
            match within(self.patience(), self.try_set_pause(pause, mark)).await {
                Ok(Some(set)) => return Ok(set),
                Ok(None) => {
                    let problem = Problem::TooMany { count: MAX_PAUSES + 1, limit: MAX_PAUSES };
                    return Err(Invalid::new("pauses", problem).into());
                }
                Err(fault) => tries.after(self, fault).await?,
            }
        }
    }

    async fn try_set_pause(&self, pause: &SetPause, mark: i64) -> Result<Option<Pause>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let row = session
            .query(SET)
            .bind(pause.scope.as_str())
            .bind(&pause.name)
            .bind(&pause.by)
            .bind(&pause.why)
            .bind(pause.until)
            .bind(mark)
            .bind(MAX_PAUSES as i64 - 1)
            .bind(self.clock.fixed())
            .fetch_optional(session.conn())
            .await?;
        session.done().await?;
        let Some(row) = row else { return Ok(None) };
        let SetPause { scope, name, by, why, until } = pause.clone();
        Ok(Some(Pause { scope, name, by, why, since: row.try_get(0)?, until }))
    }

    pub(super) async fn end_pause(&self, scope: PauseScope, name: &str) -> Result<bool> {
        let mut tries = Tries::repeatable("resume");
        loop {
            match within(self.patience(), self.try_end_pause(scope, name)).await {
                Ok(held) => {
                    // Marks have moved past what was paused.
                    self.tell(Wake::LookFromStart);
                    return Ok(held || tries.lost_a_reply());
                }
                Err(fault) => tries.after(self, fault).await?,
            }
        }
    }

    async fn try_end_pause(&self, scope: PauseScope, name: &str) -> Result<bool, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let row = session
            .query(END)
            .bind(scope.as_str())
            .bind(name)
            .bind(self.clock.fixed())
            .fetch_optional(session.conn())
            .await?;
        session.done().await?;
        Ok(row.map(|row| row.try_get(0)).transpose()?.unwrap_or(false))
    }

    pub(super) async fn all_pauses(&self) -> Result<Vec<Pause>> {
        self.repeated("read what is paused", || self.try_pauses()).await
    }

    async fn try_pauses(&self) -> Result<Vec<Pause>, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let query = session.query(LIST).bind(self.clock.fixed());
        let rows = query.fetch_all(session.conn()).await?;
        session.done().await?;
        let pause = |row: &PgRow| {
            Ok(Pause {
                scope: PauseScope::from_word(row.try_get("scope")?),
                name: row.try_get("name")?,
                by: row.try_get("paused_by")?,
                why: row.try_get("why")?,
                since: row.try_get("since")?,
                until: row.try_get("until")?,
            })
        };
        rows.iter().map(pause).collect()
    }
}
