//! Transactions that need not survive a power cut: claims, prunes, what runs say.
//!
//! A claim that is lost is simply claimed again, and its number never comes twice, so a late finish
//! matches nothing. Not waiting for the disk halves the waits of a drain. The next commit that does
//! wait takes the claim's pages along.

use std::time::Instant;

use sqlx::pool::PoolConnection;
use sqlx::{Sqlite, SqliteConnection, Transaction};

use super::SqliteStore;
use super::connect::pause;
use super::error::{failed, is_busy, is_read_only};
use crate::store::{Durability, Result};

/// The writer's connection, inside a transaction whose commit does not wait for the disk. Dropped
/// before its commit it is closed, so that no later commit is weaker than it should be.
pub(super) struct Relaxed {
    pub conn: PoolConnection<Sqlite>,
    done: bool,
}

impl SqliteStore {
    /// Whether there is anything to gain, and a file to come back to if the connection is closed.
    pub(super) fn may_relax(&self) -> bool {
        self.durability == Durability::Full && self.file.is_some()
    }

    /// Like `begin`, on a connection that does not wait for the disk.
    pub(super) async fn begin_relaxed(&self, doing: &'static str) -> Result<Relaxed> {
        self.will_write();
        let conn = self.writer.acquire().await.map_err(failed(doing))?;
        let mut relaxed = Relaxed { conn, done: false };
        let give_up = Instant::now() + self.busy_for;
        loop {
            // In one go: each goes to the connection's thread and back.
            match run(&mut relaxed.conn, "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE").await {
                Ok(()) => return Ok(relaxed),
                Err(error) if is_busy(&error) && Instant::now() < give_up => pause().await,
                Err(error) => {
                    drop(relaxed);
                    if is_read_only(&error) {
                        self.reopen().await;
                    }
                    return Err(failed(doing)(error));
                }
            }
        }
    }
}

/// A transaction that waits for the disk no more than it must.
pub(super) enum Lightly {
    Plain(Transaction<'static, Sqlite>),
    Relaxed(Relaxed),
}

impl SqliteStore {
    /// A write that may be lost in a power cut.
    pub(super) async fn begin_lightly(&self, doing: &'static str) -> Result<Lightly> {
        match self.may_relax() {
            true => self.begin_relaxed(doing).await.map(Lightly::Relaxed),
            false => self.begin(doing).await.map(Lightly::Plain),
        }
    }
}

impl Lightly {
    pub fn conn(&mut self) -> &mut SqliteConnection {
        match self {
            Lightly::Plain(tx) => tx,
            Lightly::Relaxed(relaxed) => &mut relaxed.conn,
        }
    }

    pub async fn commit(self, doing: &'static str) -> Result<()> {
        let done = match self {
            Lightly::Plain(tx) => tx.commit().await,
            Lightly::Relaxed(relaxed) => relaxed.commit().await,
        };
        done.map_err(failed(doing))
    }
}

impl Relaxed {
    pub async fn commit(mut self) -> sqlx::Result<()> {
        run(&mut self.conn, "COMMIT; PRAGMA synchronous = FULL").await?;
        self.done = true;
        Ok(())
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        if !self.done {
            self.conn.close_on_drop();
        }
    }
}

async fn run(conn: &mut SqliteConnection, statement: &'static str) -> sqlx::Result<()> {
    sqlx::query(statement).execute(conn).await?;
    Ok(())
}
