//! Hearing the commits of other processes on the same file.

use std::time::Duration;

use super::SqliteStore;
use crate::store::Wake;

/// How often we ask: a question costs under 7 µs in the database.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// After an error.
const PAUSE: Duration = Duration::from_secs(1);

impl SqliteStore {
    pub(super) async fn hear_others(&self) {
        if self.in_memory {
            return std::future::pending().await;
        }
        let mut seen = None;
        loop {
            tokio::time::sleep(ASK_EVERY).await;
            // Asked on the writer: there it changes with the commits of others only.
            let version: sqlx::Result<i64> =
                sqlx::query_scalar("PRAGMA data_version").fetch_one(&self.writer).await;
            match version {
                Ok(version) => {
                    if seen.is_some_and(|seen| seen != version) {
                        self.hub.wake(Wake::Look);
                        self.hub.wake(Wake::Cancels);
                    }
                    seen = Some(version);
                }
                Err(_) if self.writer.is_closed() => return std::future::pending().await,
                Err(_) => tokio::time::sleep(PAUSE).await,
            }
        }
    }
}
