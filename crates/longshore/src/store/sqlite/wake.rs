//! Hearing the commits of other processes on the same file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::SqliteStore;
use super::error::failed;
use crate::store::{Result, Wake};

/// How often we look whether anything was committed while others commit.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The same after a while without: every 5 ms costs an idle process 0.7 % of a core, this a fifth of it.
const LOOK_SELDOM: Duration = Duration::from_millis(25);
/// That while.
const LIVELY_FOR: Duration = Duration::from_secs(1);
/// A file's time moves in ticks of a few milliseconds: one so young may hide a later commit.
const YOUNG: Duration = Duration::from_millis(20);
/// After an error.
const PAUSE: Duration = Duration::from_secs(1);

impl SqliteStore {
    /// Every commit writes to the log; in memory there is but one connection, which counts what it changes.
    pub(super) async fn mark_of_changes(&self) -> Result<u64> {
        let Some(file) = &self.file else {
            let changes: sqlx::Result<i64> =
                sqlx::query_scalar("SELECT total_changes()").fetch_one(&self.writer).await;
            return changes.map(|changes| changes as u64).map_err(failed("look for changes"));
        };
        let log = fs::metadata(Log::of(file).path).ok();
        let moment = |log: &fs::Metadata| log.modified().ok()?.duration_since(UNIX_EPOCH).ok();
        let time = log.as_ref().and_then(moment).unwrap_or_default().as_nanos() as u64;
        Ok(time.rotate_left(16) ^ log.map_or(0, |log| log.len()))
    }

    pub(super) async fn hear_others(&self) {
        let Some(file) = &self.file else { return std::future::pending().await };
        let mut log = Log::of(file);
        let mut seen = None;
        // Our own commits, such as heartbeats, are no reason to look often.
        let mut heard_at = Instant::now();
        loop {
            let lively = heard_at.elapsed() < LIVELY_FOR;
            tokio::time::sleep(if lively { LOOK_EVERY } else { LOOK_SELDOM }).await;
            if !log.may_have_grown() {
                continue;
            }
            // Somebody did; whether it was another process is asked on the writer, where the answer
            // changes with the commits of others only.
            let version: sqlx::Result<i64> =
                sqlx::query_scalar("PRAGMA data_version").fetch_one(&self.writer).await;
            match version {
                Ok(version) => {
                    if seen.is_some_and(|seen| seen != version) {
                        heard_at = Instant::now();
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

/// The write-ahead log, which every commit writes to. Its size and time are asked of the file system,
/// a hundred times cheaper than a statement through the driver.
///
/// Never opened: when a process closes any descriptor of a database's files, the system drops all
/// the locks that SQLite holds on that file in this process, and two writers meet.
struct Log {
    path: PathBuf,
    last: Option<(SystemTime, u64)>,
}

impl Log {
    fn of(database: &Path) -> Log {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        Log { path: path.into(), last: None }
    }

    /// Whether it may have been written to since the last look; yes, if that cannot be told.
    fn may_have_grown(&mut self) -> bool {
        let now = fs::metadata(&self.path).ok();
        let now = now.and_then(|log| Some((log.modified().ok()?, log.len())));
        let same = now.is_some() && now == self.last;
        let young = now.is_none_or(|(time, _)| time.elapsed().is_ok_and(|age| age < YOUNG));
        self.last = now;
        !same || young
    }
}
