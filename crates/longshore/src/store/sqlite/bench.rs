//! What the benchmark asks of SQLite.

use std::any::Any;
use std::sync::LazyLock;
use std::time::Duration;

use async_trait::async_trait;
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{Sqlite, SqlitePool, Transaction};

use super::SqliteStore;
use super::error::failed;
use super::sql::Steps;
use crate::bench::{Counts, Desk, Meter, OwnTx, Written};
use crate::job::NewJob;
use crate::store::{Conn, Result, Tx};

const DOING: &str = "measure";
static BENCH: LazyLock<Steps> = LazyLock::new(|| Steps::parse(include_str!("bench.sql")));
/// How long a caller waits for the one connection: all callers share it.
const PATIENCE: Duration = Duration::from_secs(60);

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

    async fn own_jobs(&self) -> Result<(u64, u64)> {
        let (waiting, ended): (i64, i64) = sqlx::query_as(BENCH.step("own"))
            .fetch_one(&self.readers)
            .await
            .map_err(failed(DOING))?;
        Ok((waiting as u64, ended as u64))
    }

    /// SQLite counts nothing.
    async fn written(&self) -> Result<Option<Written>> {
        Ok(None)
    }

    /// SQLite has none.
    async fn plain_copy(&self, _: &[Vec<NewJob>]) -> Result<Option<Duration>> {
        Ok(None)
    }

    async fn dead_rows(&self) -> Result<Option<i64>> {
        Ok(None)
    }

    /// One connection, since there is one writer: with more, callers wait in SQLite, which is not fair.
    async fn desk(&self, _: u32) -> Result<Option<Box<dyn Desk>>> {
        if self.file.is_none() {
            return Ok(None);
        }
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(PATIENCE)
            .test_before_acquire(false)
            .connect_lazy_with((*self.readers.connect_options()).clone());
        Ok(Some(Box::new(pool)))
    }
}

#[async_trait]
impl Desk for SqlitePool {
    async fn begin(&self) -> Result<Box<dyn OwnTx>> {
        let tx = self.begin_with("BEGIN IMMEDIATE").await.map_err(failed(DOING))?;
        Ok(Box::new(tx))
    }

    async fn close(&self) {
        SqlitePool::close(self).await;
    }
}

#[async_trait]
impl OwnTx for Transaction<'static, Sqlite> {
    fn conn(&mut self) -> Conn<'_> {
        Tx::conn(self)
    }

    async fn commit(self: Box<Self>) -> Result<()> {
        Transaction::commit(*self).await.map_err(failed(DOING))
    }
}
