//! Hearing the commits of other processes on the same file.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::SqliteStore;
use super::error::failed;
use super::watch::{News, Watch};
use crate::store::{Result, Wake};

/// How often we look whether anything was committed while others commit, where nobody tells us.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// The same after a while without: every 5 ms costs an idle process 0.7 % of a core, this a fifth of it.
const LOOK_SELDOM: Duration = Duration::from_millis(25);
/// That while.
const LIVELY_FOR: Duration = Duration::from_secs(1);
/// A file's time moves in ticks of a few milliseconds: one so young may hide a later commit.
const YOUNG: Duration = Duration::from_millis(20);
/// Where we are told of writes: a commit is written to the log before it counts, and the disk may take its time. So
/// far apart we look after a write; the poll of a node finds what took longer.
const AFTER_A_WRITE: [Duration; 8] = {
    let ms = Duration::from_millis;
    [ms(1), ms(5), ms(5), ms(10), ms(20), ms(40), ms(80), ms(160)]
};
/// After a further one meanwhile: our own commits are told as well, and come by the thousand.
const AFTER_ANOTHER: usize = 1;
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
        let mut ear = Ear::of(file);
        let mut seen = None;
        loop {
            ear.something().await;
            // Whether it was another process is asked on the writer, where the answer changes with the commits of
            // others only.
            let version: sqlx::Result<i64> =
                sqlx::query_scalar("PRAGMA data_version").fetch_one(&self.writer).await;
            match version {
                Ok(version) => {
                    if seen.is_some_and(|seen| seen != version) {
                        ear.heard_at = Instant::now();
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

/// Waits for whatever may be a commit.
struct Ear {
    log: Log,
    watch: Option<Watch>,
    /// How often we looked since the last write that we were told of.
    looks: usize,
    /// When others committed last; our own commits, such as heartbeats, are no reason to look often.
    heard_at: Instant,
}

impl Ear {
    fn of(database: &Path) -> Ear {
        let log = Log::of(database);
        let watch = Watch::of(&log.path);
        Ear { log, watch, looks: 0, heard_at: Instant::now() }
    }

    async fn something(&mut self) {
        let Some(watch) = &mut self.watch else { return self.look().await };
        let news = match AFTER_A_WRITE.get(self.looks) {
            None => watch.news().await,
            Some(apart) => {
                tokio::time::sleep(*apart).await;
                watch.take()
            }
        };
        let was_quiet = self.looks == AFTER_A_WRITE.len();
        self.looks = match news {
            News::Nothing => self.looks + 1,
            News::Written if was_quiet => 0,
            News::Written => AFTER_ANOTHER,
            News::Gone => {
                self.watch = Watch::of(&self.log.path);
                0
            }
        };
    }

    /// What is left where nobody tells.
    async fn look(&mut self) {
        loop {
            let lively = self.heard_at.elapsed() < LIVELY_FOR;
            tokio::time::sleep(if lively { LOOK_EVERY } else { LOOK_SELDOM }).await;
            if self.log.may_have_grown() {
                // The log may be there only now.
                self.watch = Watch::of(&self.log.path);
                self.looks = 0;
                return;
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
