//! How the database is used.

use longshore::StoreOptions;
use longshore::store::{Durability, Pooler};
use serde::{Deserialize, Serialize};

use super::layers;
use longshore_server::wire::Span;

/// How the database is used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoreSettings {
    /// Connections beside the worker's own; on SQLite the number of readers. Default 5.
    #[serde(deserialize_with = "layers::text_or")]
    pub pool: u32,
    /// PostgreSQL: whether a pooler stands before it. Default `auto`.
    pub pooler: Pooler,
    /// PostgreSQL: whether other nodes are told of new work. Default yes.
    #[serde(deserialize_with = "layers::text_or")]
    pub notify: bool,
    /// SQLite: what a commit waits for. Default `full`.
    pub durability: Durability,
    /// SQLite: whether a file on a network or host-shared file system is opened. Default no.
    #[serde(deserialize_with = "layers::text_or")]
    pub allow_shared_mount: bool,
    /// SQLite: whether a file is opened although another host serves it. Default no.
    #[serde(deserialize_with = "layers::text_or")]
    pub allow_other_host: bool,
    /// How long a call waits for a locked database or a free connection. Default 5 s.
    pub busy: Span,
}

impl Default for StoreSettings {
    fn default() -> StoreSettings {
        let options = StoreOptions::default();
        StoreSettings {
            pool: options.pool,
            pooler: options.pooler,
            notify: options.notify,
            durability: options.durability,
            allow_shared_mount: options.allow_shared_mount,
            allow_other_host: options.allow_other_host,
            busy: Span(options.busy_for),
        }
    }
}

impl StoreSettings {
    /// The library's settings.
    pub(crate) fn options(&self) -> StoreOptions {
        StoreOptions {
            pool: self.pool,
            pooler: self.pooler,
            notify: self.notify,
            durability: self.durability,
            allow_shared_mount: self.allow_shared_mount,
            allow_other_host: self.allow_other_host,
            busy_for: self.busy.0,
            ..StoreOptions::default()
        }
    }
}
