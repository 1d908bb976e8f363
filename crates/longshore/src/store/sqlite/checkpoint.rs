//! Moves what was committed from the side file into the file, beside the writer.
//!
//! SQLite does that in the commit that makes the side file too long: one finish in a hundred then waits
//! for two more writes to the disk. Here nobody does. A checkpoint beside the writer never reaches the
//! side file's end while the writer goes on, and only at the end can the side file begin anew; so once it
//! is long, the last bit is done with the writer held.

use std::sync::Arc;
use std::time::Duration;

use sqlx::{Row, SqliteConnection};
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::connect::Pool;

/// Pages in the side file that are worth a checkpoint: SQLite's own measure.
const WORTH: i64 = 1_000;
/// From here on it is to begin anew: 16 MiB of 4 KiB pages.
const LONG: i64 = 4_096;
/// So long that the writer waits for a whole checkpoint: 64 MiB.
const TOO_LONG: i64 = 16_384;
/// Between two looks while there are commits.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A file's checkpoints; they end when it is dropped.
pub(super) struct Checkpoints {
    wrote: Arc<Notify>,
    task: AbortHandle,
}

impl Checkpoints {
    /// Begins; runs on the current runtime.
    pub fn start(writer: Pool, readers: Pool) -> Checkpoints {
        let wrote = Arc::new(Notify::new());
        let task = tokio::spawn(run(writer, readers, Arc::clone(&wrote))).abort_handle();
        Checkpoints { wrote, task }
    }

    /// Somebody is about to write.
    pub fn wrote(&self) {
        self.wrote.notify_one();
    }

    /// No more of them.
    pub fn stop(&self) {
        self.task.abort();
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn run(writer: Pool, readers: Pool, wrote: Arc<Notify>) {
    loop {
        wrote.notified().await;
        // As long as anybody writes: a long transaction shows only at its end.
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            // What fails, for a full disk say, comes again.
            let _ = look(&writer, &readers).await;
            if writer.num_idle() as u32 == writer.size() {
                break;
            }
        }
    }
}

/// Pages in the side file, and how many of them the file has by now.
#[derive(Clone, Copy)]
struct Pages {
    all: i64,
    moved: i64,
}

async fn look(writer: &Pool, readers: &Pool) -> sqlx::Result<()> {
    let mut reader = readers.acquire().await?;
    let before = checkpoint(&mut reader, "PRAGMA wal_checkpoint(NOOP)").await?;
    if before.left() < WORTH && before.all <= LONG {
        return Ok(());
    }
    // Moves what no reader needs, and waits for nobody.
    let after = checkpoint(&mut reader, "PRAGMA wal_checkpoint(PASSIVE)").await?;
    drop(reader);
    // A reader needs the rest, and until it is gone nothing helps.
    let pinned = after.moved == before.moved && after.left() >= WORTH;
    let nearly = after.left() < after.all / 2;
    if !pinned && after.all > LONG && (nearly || after.all > TOO_LONG) {
        // In the way of a reader it moves what it can, and the next look comes soon.
        checkpoint(&mut *writer.acquire().await?, "PRAGMA wal_checkpoint(RESTART)").await?;
    }
    Ok(())
}

impl Pages {
    fn left(self) -> i64 {
        self.all - self.moved
    }
}

async fn checkpoint(conn: &mut SqliteConnection, how: &'static str) -> sqlx::Result<Pages> {
    let row = sqlx::query(how).fetch_one(conn).await?;
    Ok(Pages { all: row.try_get(1)?, moved: row.try_get(2)? })
}
