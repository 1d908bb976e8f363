//! The driver's errors, sorted by what the caller can do.

use crate::store::StoreError;

const BUSY: i32 = 5;
const LOCKED: i32 = 6;
const READ_ONLY: i32 = 8;
const IO: i32 = 10;
const FULL: i32 = 13;
const CANNOT_OPEN: i32 = 14;
const PROTOCOL: i32 = 15;

/// SQLite's primary result code; extended codes carry more in their upper bits.
fn code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?;
    code.parse::<i32>().ok().map(|code| code & 0xff)
}

/// Another process or connection has the file just now.
pub(super) fn is_busy(error: &sqlx::Error) -> bool {
    matches!(code(error), Some(BUSY | LOCKED))
}

/// The file, or the disk it lies on, takes no writes.
pub(super) fn is_read_only(error: &sqlx::Error) -> bool {
    code(error) == Some(READ_ONLY)
}

/// A row with this id, or this key, is there already.
pub(super) fn is_there(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(|error| error.is_unique_violation())
}

/// Says what was being done when `error` came.
pub(super) fn failed(doing: &'static str) -> impl Fn(sqlx::Error) -> StoreError {
    move |error| {
        let source = error.to_string();
        let away = match code(&error) {
            Some(code) => {
                matches!(code, BUSY | LOCKED | READ_ONLY | IO | FULL | CANNOT_OPEN | PROTOCOL)
            }
            None => matches!(
                error,
                sqlx::Error::Io(_)
                    | sqlx::Error::PoolTimedOut
                    | sqlx::Error::PoolClosed
                    | sqlx::Error::WorkerCrashed
            ),
        };
        if away {
            StoreError::Unavailable { doing, source: source.into() }
        } else if source.contains("no such table: longshore_") {
            StoreError::Schema { found: 0, needed: super::migrate::KNOWN.len() as u32 }
        } else {
            StoreError::Bug { doing, source: source.into() }
        }
    }
}
