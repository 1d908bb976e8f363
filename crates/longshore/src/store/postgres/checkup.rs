//! A look at the server, its settings and our schema.

use sqlx::Row;
use sqlx::postgres::PgRow;

use super::error::{Fault, sort};
use super::session::Session;
use super::{PostgresStore, migrate};
use crate::store::checkup::{self, Check};
use crate::store::{Result, Store, StoreError};
use crate::time::Timestamp;

const SERVER: &str = include_str!("checkup.sql");
const JOBS: &str = include_str!("checkup_jobs.sql");

/// The oldest server that our statements are tested with.
const OLDEST: i32 = 150_000;
/// Two clocks may differ by so much; a job's time is then as much off.
const MOST_SKEW_MS: i64 = 1_000;
/// A transaction older than this keeps dead row versions alive that every claim then walks over.
const LONG_S: i64 = 300;

impl PostgresStore {
    pub(super) async fn look_over(&self) -> Result<Vec<Check>> {
        let before = Timestamp::now();
        let row = self.ask(SERVER, false).await?;
        let after = Timestamp::now();
        let mut checks = server(&row, (before, after)).map_err(odd)?;
        let found = self.schema_version().await?;
        checks.push(checkup::schema(found, migrate::needed()));
        if found > 0 {
            match self.ask(JOBS, true).await {
                Ok(row) => checks.extend(jobs(&row).map_err(odd)?),
                Err(error) => checks.push(Check::unseen("jobs", error)),
            }
        }
        Ok(checks)
    }

    async fn ask(&self, sql: &'static str, clocked: bool) -> Result<PgRow> {
        self.repeated("look at the database", || self.try_ask(sql, clocked)).await
    }

    async fn try_ask(&self, sql: &'static str, clocked: bool) -> Result<PgRow, Fault> {
        let mut session = Session::single(&self.pools.general, self.mode).await?;
        let mut query = session.query(sql);
        if clocked {
            query = query.bind(self.clock.fixed());
        }
        let row = query.fetch_one(session.conn()).await?;
        session.done().await?;
        Ok(row)
    }
}

fn odd(error: sqlx::Error) -> StoreError {
    sort("look at the database", error)
}

fn server(row: &PgRow, (before, after): (Timestamp, Timestamp)) -> sqlx::Result<Vec<Check>> {
    let version: i32 = row.try_get("version")?;
    let detail = format!("PostgreSQL {}.{}", version / 10_000, version % 10_000);
    let mut checks = vec![match version >= OLDEST {
        true => Check::ok("server", detail),
        false => Check::fail("server", detail, "upgrade it: version 15 is the oldest that works"),
    }];
    for (name, lost) in [
        ("fsync", "a power cut may destroy the database; set it to `on`"),
        ("synchronous_commit", "a crash of the server may lose the last commits; set it to `on`"),
        ("full_page_writes", "a power cut may tear pages; set it to `on`"),
        ("autovacuum", "claims will get slower and slower; set it to `on`"),
    ] {
        let value: String = row.try_get(name)?;
        checks.push(match (value.as_str(), name) {
            ("off", "fsync") => Check::fail(name, value, lost),
            ("off", _) => Check::warn(name, value, lost),
            _ => Check::ok(name, value),
        });
    }
    checks.push(clocks(row.try_get("now")?, before, after));
    let seconds: Option<i64> = row.try_get("seconds")?;
    checks.push(match seconds {
        Some(seconds) if seconds > LONG_S => {
            let pid: i32 = row.try_get("pid")?;
            let application: Option<String> = row.try_get("application")?;
            let of = application.filter(|name| !name.is_empty()).unwrap_or_else(|| "unnamed".into());
            Check::warn(
                "transactions",
                format!("process {pid} ({of}) has had one open for {seconds} s, and keeps dead rows alive"),
                format!("end it there, or with `select pg_terminate_backend({pid})`"),
            )
        }
        _ => Check::ok("transactions", "none is older than 5 minutes"),
    });
    Ok(checks)
}

/// The server's time against ours before and after it was asked for.
fn clocks(server: Timestamp, before: Timestamp, after: Timestamp) -> Check {
    let off = server.since(after).max(before.since(server)).as_millis() as i64;
    let detail = format!("{off} ms between this machine and the server");
    if off > MOST_SKEW_MS {
        let advice =
            "set both by NTP: delays and schedules are the server's, log lines this machine's";
        return Check::warn("clocks", detail, advice);
    }
    Check::ok("clocks", detail)
}

fn jobs(row: &PgRow) -> sqlx::Result<Vec<Check>> {
    let invalid: Option<String> = row.try_get("invalid")?;
    let missing: Option<String> = row.try_get("missing")?;
    Ok(vec![
        match invalid {
            None => Check::ok("indexes", "all are valid"),
            Some(names) => Check::fail(
                "indexes",
                format!("not valid: {names}"),
                "`reindex index concurrently longshore.NAME` for each",
            ),
        },
        match missing {
            None => Check::ok("partitions", "today and the two days after are there"),
            Some(days) => Check::warn(
                "partitions",
                format!("history has none for {days}"),
                "run `longshore serve` with upkeep: the leader makes them every hour",
            ),
        },
        checkup::nodes(row.try_get("nodes")?),
        checkup::orphans(row.try_get("orphans")?),
        checkup::unowned(row.try_get("unowned")?),
    ])
}
