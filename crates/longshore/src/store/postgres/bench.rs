//! What the benchmark asks of PostgreSQL.

use std::any::Any;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, PgPool, Postgres, Row, Transaction};

use super::PostgresStore;
use super::copy::{self, Copy};
use super::error::sort;
use super::stretch::job_rows;
use crate::bench::{Counts, Desk, Meter, OwnTx, Rows, Written};
use crate::job::NewJob;
use crate::store::{Conn, Result, Tx};
use crate::time::Timestamp;

const DOING: &str = "measure";
const COUNTS: &str = include_str!("bench.sql");
const STATEMENTS: &str = include_str!("bench_statements.sql");
const FOREIGN: &str = include_str!("bench_foreign.sql");
const HISTORY: &str = include_str!("bench_history.sql");
const CLEAR: &str = include_str!("bench_clear.sql");
const OWN: &str = include_str!("bench_own.sql");
const WRITTEN: &str = include_str!("bench_written.sql");
const PLAIN: &str = include_str!("bench_plain.sql");
const PLAIN_COPY: &str = include_str!("bench_plain_copy.sql");
const DEAD: &str = include_str!("bench_dead.sql");
/// How long a caller waits for one of its connections: as many callers share them as there are.
const PATIENCE: Duration = Duration::from_secs(60);

#[async_trait]
impl Meter for PostgresStore {
    async fn foreign_jobs(&self) -> Result<u64> {
        let row = sqlx::query(FOREIGN).persistent(false).fetch_one(&self.pools.general).await;
        let jobs: i64 = row.and_then(|row| row.try_get("jobs")).map_err(|e| sort(DOING, e))?;
        Ok(jobs as u64)
    }

    async fn clear(&self) -> Result<()> {
        let cleared = sqlx::query(CLEAR).persistent(false).execute(&self.pools.general).await;
        cleared.map_err(|e| sort(DOING, e))?;
        self.settle().await
    }

    /// No checkpoint: after it the first touch of each page would log it whole, and the figures would
    /// tell of that.
    async fn settle(&self) -> Result<()> {
        for statement in ["vacuum analyze longshore.job", "vacuum analyze longshore.history"] {
            self.pools.general.execute(statement).await.map_err(|e| sort(DOING, e))?;
        }
        Ok(())
    }

    async fn counts(&self) -> Result<Counts> {
        // Sessions report what they did about once a second.
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        let row = sqlx::query(COUNTS).persistent(false).fetch_one(&self.pools.general).await;
        let row = row.map_err(|e| sort(DOING, e))?;
        // Without the extension nothing is counted; making it needs rights, so it may fail.
        let _ =
            self.pools.general.execute("create extension if not exists pg_stat_statements").await;
        let statements =
            sqlx::query(STATEMENTS).persistent(false).fetch_one(&self.pools.general).await;
        let number = |column| row.try_get::<i64, _>(column).map(|number| number as f64);
        let rows = || {
            Ok::<_, sqlx::Error>(Rows {
                ins: number("ins")?,
                upd: number("upd")?,
                hot: number("hot")?,
                del: number("del")?,
            })
        };
        Ok(Counts {
            wal_bytes: row.try_get("wal_bytes").ok(),
            commits: row.try_get("commits").ok(),
            statements: statements.ok().and_then(|row| row.try_get("statements").ok()),
            rows: rows().ok(),
        })
    }

    async fn history_size(&self) -> Result<(i64, i64)> {
        let row = sqlx::query(HISTORY).persistent(false).fetch_one(&self.pools.general).await;
        let row = row.map_err(|e| sort(DOING, e))?;
        let number = |column| row.try_get(column).map_err(|e| sort(DOING, e));
        Ok((number("rows")?, number("bytes")?))
    }

    async fn pin(&self) -> Result<Box<dyn Any + Send>> {
        let mut snapshot = self.pools.general.acquire().await.map_err(|e| sort(DOING, e))?;
        for statement in
            ["begin isolation level repeatable read", "select count(*) from longshore.node"]
        {
            snapshot.execute(statement).await.map_err(|e| sort(DOING, e))?;
        }
        snapshot.close_on_drop();
        Ok(Box::new(snapshot))
    }

    async fn own_jobs(&self) -> Result<(u64, u64)> {
        let row = sqlx::query(OWN).persistent(false).fetch_one(&self.pools.general).await;
        let row = row.map_err(|e| sort(DOING, e))?;
        let number = |column| row.try_get::<i64, _>(column).map_err(|e| sort(DOING, e));
        Ok((number("waiting")? as u64, number("ended")? as u64))
    }

    async fn written(&self) -> Result<Option<Written>> {
        let row = sqlx::query(WRITTEN).persistent(false).fetch_one(&self.pools.general).await;
        let row = row.map_err(|e| sort(DOING, e))?;
        let number = |column| row.try_get::<i64, _>(column).map_err(|e| sort(DOING, e));
        Ok(Some(Written { wal_bytes: number("wal_bytes")?, transactions: number("transactions")? }))
    }

    async fn plain_copy(&self, calls: &[Vec<NewJob>]) -> Result<Option<Duration>> {
        let mut conn = self.pools.general.acquire().await.map_err(|e| sort(DOING, e))?;
        let now = Timestamp::now();
        let rows = |call: &Vec<NewJob>| {
            let mut rows = copy::Rows::new();
            job_rows(&mut rows, call, now);
            rows
        };
        let calls: Vec<copy::Rows> = calls.iter().map(rows).collect();
        conn.execute(PLAIN).await.map_err(|e| sort(DOING, e))?;
        let from = Instant::now();
        for rows in calls {
            Copy::at_once(&mut conn, PLAIN_COPY, rows).await.map_err(|e| sort(DOING, e))?;
        }
        let took = from.elapsed();
        conn.execute("drop table longshore.bench_plain").await.map_err(|e| sort(DOING, e))?;
        Ok(Some(took))
    }

    async fn dead_rows(&self) -> Result<Option<i64>> {
        let row = sqlx::query(DEAD).persistent(false).fetch_one(&self.pools.general).await;
        let dead = row.and_then(|row| row.try_get("dead")).map_err(|e| sort(DOING, e))?;
        Ok(Some(dead))
    }

    async fn desk(&self, connections: u32) -> Result<Option<Box<dyn Desk>>> {
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(PATIENCE)
            .test_before_acquire(false)
            .connect_lazy_with((*self.pools.general.connect_options()).clone());
        Ok(Some(Box::new(pool)))
    }
}

#[async_trait]
impl Desk for PgPool {
    async fn begin(&self) -> Result<Box<dyn OwnTx>> {
        let tx = PgPool::begin(self).await.map_err(|e| sort(DOING, e))?;
        Ok(Box::new(tx))
    }

    async fn close(&self) {
        PgPool::close(self).await;
    }
}

#[async_trait]
impl OwnTx for Transaction<'static, Postgres> {
    fn conn(&mut self) -> Conn<'_> {
        Tx::conn(self)
    }

    async fn commit(self: Box<Self>) -> Result<()> {
        Transaction::commit(*self).await.map_err(|e| sort(DOING, e))
    }
}
