//! How we get at the database: through a pooler or not, and which connections are for what.

use std::str::FromStr;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, Executor, PgConnection, PgPool, Row};

use crate::store::{PoolUse, Pooler, Result, StoreError, StoreOptions, Traffic, without_secret};

use super::error;
use super::session::round_trips;

/// What may outlive a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// We talk to the server: settings, named statements and LISTEN stay.
    Direct,
    /// A pooler gives each transaction another session: unnamed statements, each inside
    /// `BEGIN … COMMIT`, since the driver prepares and runs in two round trips.
    Pooled,
}

/// Connections by what they are for, so that a burst of one cannot starve the other. They connect
/// when first used.
pub(super) struct Pools {
    /// Claims and results, planned once and in one way.
    pub hot: PgPool,
    /// Enqueues that are one statement, the same: a burst of them must not hold up a claim.
    pub adds: PgPool,
    /// Cancels, rescue and upkeep.
    pub vital: PgPool,
    /// Heartbeats, joining and leaving.
    pub beat: PgPool,
    /// Other enqueues, reads and edits.
    pub general: PgPool,
    /// Transactions of handlers, which may last as long as their runs.
    pub handlers: PgPool,
    /// Prunes: its statements may wait for a lock, and must not hold up a claim.
    pub chores: PgPool,
    /// Hears other processes; unused behind a pooler.
    pub listen: PgPool,
    /// Tells other processes.
    pub notify: PgPool,
}

/// A worker has one claim and two batches of results under way.
const HOT: u32 = 4;
/// The enqueue funnel needs one; calls with lists of jobs take turns.
const ADDS: u32 = 3;
const VITAL: u32 = 4;

/// Compiling a plan takes a second, and pays for statements that run for minutes. None of ours does.
pub(super) const NO_JIT: (&str, &str) = ("jit", "off");

/// A claim walks its index in order and stops when it has enough. Where the planner takes the waiting jobs for few (one
/// kind, no statistics yet), it would rather fetch them all and sort them: measured, 40 ms a claim instead of 2.
pub(super) const BY_INDEX: [(&str, &str); 2] =
    [("enable_bitmapscan", "off"), ("enable_seqscan", "off")];

/// With but one way left, a plan made on the empty table is as good as any later one: made once, not each time.
const PLANNED_ONCE: (&str, &str) = ("plan_cache_mode", "force_generic_plan");

/// Between two statements of ours in one transaction lie milliseconds. A session that idles so long belongs to a
/// process that hangs, or that no packet reaches; the server ends it, and with it the locks that others wait for.
const LONGEST_IDLE: &str = "10s";

impl Pools {
    fn new(options: &StoreOptions, connect: &PgConnectOptions, mode: Mode) -> Pools {
        // Poolers refuse such options: there each transaction begins with them, and idling has a limit of theirs.
        let with = |to: &PgConnectOptions, settings: &[(&'static str, &'static str)]| match mode {
            Mode::Direct => to.clone().options(settings.iter().copied()),
            Mode::Pooled => to.clone(),
        };
        let ours = with(connect, &[NO_JIT]);
        let bounded = with(&ours, &[("idle_in_transaction_session_timeout", LONGEST_IDLE)]);
        let often = with(&with(&bounded, &BY_INDEX), &[PLANNED_ONCE]);
        let pool = |most: u32, connect: &PgConnectOptions| {
            PgPoolOptions::new()
                .max_connections(most)
                .acquire_timeout(options.busy_for)
                // A dead connection shows at its first statement, which costs less than asking
                // every living one each time.
                .test_before_acquire(false)
                // Waiting long for a connection is an answer of ours, not the driver's log line.
                .acquire_slow_threshold(Duration::from_secs(3_600))
                .connect_lazy_with(connect.clone())
        };
        Pools {
            hot: pool(HOT, &often),
            adds: pool(ADDS, &often),
            vital: pool(VITAL, &bounded),
            beat: pool(1, &bounded),
            // A part of a large enqueue may be long in coming, and a handler does as it likes.
            general: pool(options.pool, &ours),
            handlers: pool(options.pool, connect),
            chores: pool(1, &bounded),
            listen: pool(1, &ours),
            notify: pool(1, &ours),
        }
    }

    /// How many of each are open, and what they are for.
    pub(super) fn traffic(&self) -> Traffic {
        let names =
            ["hot", "adds", "vital", "beat", "general", "handlers", "chores", "listen", "notify"];
        let pools = names.iter().zip(self.all()).map(|(name, pool)| PoolUse {
            name,
            open: pool.size(),
            idle: u32::try_from(pool.num_idle()).unwrap_or(u32::MAX),
            most: pool.options().get_max_connections(),
        });
        Traffic { pools: pools.collect(), round_trips: round_trips() }
    }

    pub(super) fn all(&self) -> [&PgPool; 9] {
        let Pools { hot, adds, vital, beat, general, handlers, chores, listen, notify } = self;
        [hot, adds, vital, beat, general, handlers, chores, listen, notify]
    }
}

/// Asks the database once, so that a wrong address is known now, and finds out the mode.
pub(super) async fn open(url: &str, options: &StoreOptions) -> Result<(Pools, Mode)> {
    let plain = parse(url)?;
    // A statement prepared while a table is empty would keep a plan for an empty table.
    let direct = plain.clone().options([("plan_cache_mode", "force_custom_plan")]);
    let (connect, mode) = match options.pooler {
        Pooler::Off => (direct.clone(), Mode::Direct),
        Pooler::Transaction => (plain.clone(), Mode::Pooled),
        Pooler::Auto => match probe(&direct, options.busy_for).await {
            Ok(true) => return Ok((Pools::new(options, &direct, Mode::Direct), Mode::Direct)),
            // The options were swallowed.
            Ok(false) => return Ok((Pools::new(options, &plain, Mode::Pooled), Mode::Pooled)),
            Err(refused) if refuses_options(&refused) => (plain, Mode::Pooled),
            Err(other) => return Err(fault(other)),
        },
    };
    probe(&connect, options.busy_for).await.map_err(fault)?;
    Ok((Pools::new(options, &connect, mode), mode))
}

pub(super) fn parse(url: &str) -> Result<PgConnectOptions> {
    let options = PgConnectOptions::from_str(url).map_err(|_| {
        StoreError::config(format!(
            "`{}` cannot be read as an address; use postgres://USER:PASSWORD@HOST:PORT/NAME",
            without_secret(url)
        ))
    })?;
    let named = match options.get_application_name() {
        Some(_) => options,
        None => options.application_name("longshore"),
    };
    // No column is a float, and poolers refuse this setting unless they are told not to.
    Ok(named.extra_float_digits(None).disable_statement_logging())
}

/// Connects once; whether the start-up option was taken.
async fn probe(options: &PgConnectOptions, limit: Duration) -> Result<bool, sqlx::Error> {
    let asked = async {
        let mut conn = PgConnection::connect_with(options).await?;
        let row = conn.fetch_one("show plan_cache_mode").await?;
        let mode: String = row.try_get(0)?;
        let _ = conn.close().await;
        Ok(mode == "force_custom_plan")
    };
    match tokio::time::timeout(limit, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(sqlx::Error::PoolTimedOut),
    }
}

fn refuses_options(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| {
        error.message().contains("startup parameter") || error.message().contains("startup option")
    })
}

pub(super) fn fault(error: sqlx::Error) -> StoreError {
    const DOING: &str = "connect to PostgreSQL";
    match &error {
        // No such database, no such user, wrong password: an answer, but no bug of ours.
        sqlx::Error::Database(reply)
            if matches!(reply.code().as_deref(), Some("3D000" | "28000" | "28P01" | "42501")) =>
        {
            StoreError::config(format!("could not {DOING}: {}", reply.message()))
        }
        sqlx::Error::Configuration(problem) => {
            StoreError::config(format!("could not {DOING}: {problem}"))
        }
        _ => error::sort(DOING, error),
    }
}
