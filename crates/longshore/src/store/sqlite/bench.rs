//! What the benchmark asks of SQLite.

use std::any::Any;
use std::sync::LazyLock;

use async_trait::async_trait;

use super::SqliteStore;
use super::error::failed;
use super::sql::Steps;
use crate::bench::{Counts, Meter};
use crate::store::Result;

const DOING: &str = "measure";
static BENCH: LazyLock<Steps> = LazyLock::new(|| Steps::parse(include_str!("bench.sql")));

#[async_trait]
impl Meter for SqliteStore {
    async fn foreign_jobs(&self) -> Result<u64> {
        let jobs: i64 = sqlx::query_scalar(BENCH.step("foreign"))
            .fetch_one(&self.readers)
            .await
            .map_err(failed(DOING))?;
        Ok(jobs as u64)
    }

    async fn clear(&self) -> Result<()> {
        sqlx::raw_sql(BENCH.step("clear")).execute(&self.writer).await.map_err(failed(DOING))?;
        self.settle().await
    }

    async fn settle(&self) -> Result<()> {
        sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&self.writer)
            .await
            .map_err(failed(DOING))?;
        Ok(())
    }

    /// SQLite counts nothing.
    async fn counts(&self) -> Result<Counts> {
        Ok(Counts::default())
    }

    async fn history_size(&self) -> Result<(i64, i64)> {
        let rows: i64 = sqlx::query_scalar(BENCH.step("rows"))
            .fetch_one(&self.readers)
            .await
            .map_err(failed(DOING))?;
        let size = |end: &str| {
            let mut file = self.file.as_ref()?.as_os_str().to_owned();
            file.push(end);
            std::fs::metadata(file).ok().map(|file| file.len() as i64)
        };
        Ok((rows, size("").unwrap_or(0) + size("-wal").unwrap_or(0)))
    }

    async fn pin(&self) -> Result<Box<dyn Any + Send>> {
        let mut snapshot = self.readers.begin().await.map_err(failed(DOING))?;
        sqlx::query(BENCH.step("foreign"))
            .fetch_one(&mut *snapshot)
            .await
            .map_err(failed(DOING))?;
        Ok(Box::new(snapshot))
    }
}
