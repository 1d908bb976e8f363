//! Looking up: one job, or a page of many.

use sqlx::{Row, SqliteConnection};
use uuid::Uuid;

use super::SqliteStore;
use super::edit::find;
use super::error::failed;
use super::rows;
use super::sql::LIST;
use crate::job::{JobId, JobRow};
use crate::store::query::{Look, MAX_LOOK, looked_to, merge, preview};
use crate::store::{ListQuery, Page, Result};

impl SqliteStore {
    pub(super) async fn one(&self, id: JobId) -> Result<Option<JobRow>> {
        let doing = "look up a job";
        let mut conn = self.read(doing).await?;
        find(&mut conn, id, self.clock.now()).await.map_err(failed(doing))
    }

    pub(super) async fn page(&self, query: &ListQuery) -> Result<Page> {
        let doing = "list jobs";
        let mut conn = self.read(doing).await?;
        let (mut hot, mut cold) = (Look::default(), Look::default());
        if query.wants_hot() {
            hot = self.look(&mut conn, query, "hot").await.map_err(failed(doing))?;
        }
        if query.wants_cold() {
            cold = self.look(&mut conn, query, "cold").await.map_err(failed(doing))?;
        }
        Ok(merge(hot, cold, query.page_size()))
    }

    async fn look(
        &self,
        conn: &mut SqliteConnection,
        query: &ListQuery,
        table: &str,
    ) -> sqlx::Result<Look> {
        let states = query.state_words();
        let states = (!states.is_empty()).then(|| super::json_array(&states));
        let rows = sqlx::query(LIST.step(table))
            .bind(query.below())
            .bind(self.clock.now().as_micros())
            .bind(&query.kind)
            .bind(&query.queue)
            .bind(states)
            .bind(query.page_size() as i64)
            .bind(MAX_LOOK)
            .fetch_all(&mut *conn)
            .await?;
        let jobs = rows
            .iter()
            .map(|row| rows::job_row(row).map(preview))
            .collect::<sqlx::Result<Vec<JobRow>>>()?;
        let last = sqlx::query(LIST.step(&format!("last_{table}")))
            .bind(query.below())
            .bind(MAX_LOOK)
            .fetch_optional(conn)
            .await?;
        let last = last.map(|row| row.try_get::<Uuid, _>("id")).transpose()?;
        let looked_to = looked_to(&jobs, query.page_size(), last.map(JobId::from_uuid));
        Ok(Look { jobs, looked_to })
    }
}
