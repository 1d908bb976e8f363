//! How a store is opened.

use std::time::Duration;

use crate::clock::Clock;

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Whose clock counts; a test sets its own.
    pub clock: Clock,
    /// Connections for everything but the worker's own claims, results and heartbeats, which have
    /// theirs. Default 5. On SQLite the number of readers.
    pub pool: u32,
    /// Whether a pooler such as PgBouncer stands before the database. Default: find out.
    pub pooler: Pooler,
    /// Whether other nodes are told of new work (`NOTIFY`), and heard. Without, it is found by
    /// polling, which is always enough. Default on. No effect on SQLite.
    pub notify: bool,
    /// SQLite: what a commit waits for. Default [`Durability::Full`].
    pub durability: Durability,
    /// SQLite: whether a missing file is made. Default yes; without, opening it is refused with
    /// [`crate::StoreError::NoDatabase`], as suits a program that only looks.
    pub create: bool,
    /// SQLite: whether a file on a network or host-shared file system is opened all the same, with a
    /// warning. Default no: it is refused with [`crate::StoreError::SharedMount`]. Told on Linux alone.
    pub allow_shared_mount: bool,
    /// SQLite: whether a file is opened although a node of another host serves it. Default no: that is
    /// refused with [`crate::StoreError::OtherHost`]. Two hosts that write to one file damage it.
    pub allow_other_host: bool,
    /// SQLite: what tells this host from others. Default: its name, and the id that the kernel was given
    /// at its start, which all containers of a host have in common and which alone counts. The last word
    /// is what is compared. No effect on PostgreSQL.
    pub host: Option<String>,
    /// How long a call waits for a database that is locked or has no free connection. Default 5 s.
    pub busy_for: Duration,
}

/// What stands between us and PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooler {
    /// Find out at the first connection.
    Auto,
    /// Nothing: sessions keep their settings and prepared statements, and can listen.
    Off,
    /// A pooler in transaction mode: nothing outlives a transaction.
    Transaction,
}

/// What a commit on SQLite waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// The disk: a power cut loses nothing that was answered.
    Full,
    /// The operating system: a killed process loses nothing, a power cut may lose the last commits.
    Normal,
}

impl Default for StoreOptions {
    fn default() -> Self {
        StoreOptions {
            clock: Clock::real(),
            pool: 5,
            pooler: Pooler::Auto,
            notify: true,
            durability: Durability::Full,
            create: true,
            allow_shared_mount: false,
            allow_other_host: false,
            host: None,
            busy_for: Duration::from_secs(5),
        }
    }
}
