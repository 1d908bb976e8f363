//! What the driver's errors mean to us: repeat here, tell the caller to repeat, or a bug.

use std::time::{Duration, Instant};

use crate::store::StoreError;

use super::PostgresStore;
use super::unique::MAX_OVERTAKEN;

/// What a call may fail with before it was decided what to do about it.
#[derive(Debug)]
pub(super) enum Fault {
    /// The driver's error.
    Db(sqlx::Error),
    /// Decided already.
    Known(StoreError),
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Fault {
        Fault::Db(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Known(error)
    }
}

/// Deadlocks and serialisation errors are repeated this often.
const MAX_CLASHES: u32 = 5;
/// Midnight may pass between making a partition and using it; more is a bug.
const MAX_DAYS: u32 = 3;

/// Decides after each failed try of one call whether to try again.
pub(super) struct Tries {
    doing: &'static str,
    started: Instant,
    may_lose: u32,
    lost: u32,
    clashes: u32,
    days: u32,
    overtaken: u32,
}

impl Tries {
    /// For a call that must not be repeated here when its reply was lost.
    pub(super) fn of(doing: &'static str) -> Tries {
        let started = Instant::now();
        Tries { doing, started, may_lose: 0, lost: 0, clashes: 0, days: 0, overtaken: 0 }
    }

    /// For a call that may be: one that only reads, or whose repeat changes nothing.
    pub(super) fn repeatable(doing: &'static str) -> Tries {
        Tries { may_lose: 3, ..Tries::of(doing) }
    }

    /// Whether a try may have been carried out although it failed.
    pub(super) fn lost_a_reply(&self) -> bool {
        self.lost > 0
    }

    /// Returns when another try is worth it, with the error for the caller when not.
    pub(super) async fn after(
        &mut self,
        store: &PostgresStore,
        fault: Fault,
    ) -> Result<(), StoreError> {
        let error = match fault {
            // Somebody took a unique key between our two looks.
            Fault::Known(StoreError::KeyBusy) if self.overtaken < MAX_OVERTAKEN => {
                self.overtaken += 1;
                return Ok(());
            }
            Fault::Known(error) => return Err(error),
            Fault::Db(error) => error,
        };
        let code = sqlstate(&error);
        if matches!(code.as_deref(), Some("40001" | "40P01")) && self.clashes < MAX_CLASHES {
            self.clashes += 1;
            let span_ms = fastrand::u64(1..=10 * u64::from(self.clashes));
            tokio::time::sleep(Duration::from_millis(span_ms)).await;
            return Ok(());
        }
        if no_partition(&error) && self.days < MAX_DAYS {
            self.days += 1;
            return store.make_today().await;
        }
        if is_lost(&error) {
            store.forget_idle();
            if self.lost < self.may_lose && self.started.elapsed() < store.options.busy_for {
                self.lost += 1;
                return Ok(());
            }
        }
        Err(store.explain(self.doing, error).await)
    }
}

pub(super) fn sqlstate(error: &sqlx::Error) -> Option<String> {
    error.as_database_error().and_then(|error| error.code()).map(|code| code.into_owned())
}

/// An insert into `history` found no partition for its day.
fn no_partition(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| {
        error.code().as_deref() == Some("23514")
            && error.table() == Some("history")
            && error.constraint().is_none()
    })
}

/// The connection is gone; whether the statement was carried out is unknown.
pub(super) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            code.starts_with("08") || matches!(&*code, "25P03" | "57P01" | "57P02" | "57P03")
        }
        _ => false,
    }
}

fn is_unavailable(error: &sqlx::Error) -> bool {
    if is_lost(error) {
        return true;
    }
    match error {
        sqlx::Error::Tls(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            code.starts_with("53")
                || matches!(&*code, "55P03" | "40001" | "40P01" | "25006" | "57014")
        }
        _ => false,
    }
}

/// Sorts an error by what the caller can do. `found` is the schema's version, where it is known.
pub(super) fn sort(doing: &'static str, error: sqlx::Error) -> StoreError {
    if is_unavailable(&error) {
        StoreError::Unavailable { doing, source: error.into() }
    } else {
        StoreError::Bug { doing, source: error.into() }
    }
}

/// A table, schema, column or function is not there: most likely nobody migrated.
pub(super) fn misses_schema(error: &sqlx::Error) -> bool {
    matches!(sqlstate(error).as_deref(), Some("42P01" | "3F000" | "42703" | "42883"))
}
