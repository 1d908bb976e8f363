//! How the program behaves, in layers: flags > environment > file > defaults.

mod http;
mod keys;
mod kinds;
mod layers;
mod queues;
mod remote;
mod store;

use std::time::Duration;

use clap::ValueEnum;
use longshore::store::Level;
use longshore::{Limits, TraceMode, WorkerConfig};
use serde::{Deserialize, Serialize};

use longshore_kinds::Secret;
use longshore_server::wire::Span;

pub use http::HttpSettings;
pub use kinds::KindsSettings;
pub(crate) use layers::{Way, load};
pub use queues::Queues;
pub use remote::{RemoteSettings, TokenText};
pub use store::StoreSettings;

/// Every setting. Field names are the keys of `longshore.toml`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// `sqlite:PATH` or `postgres://…`. Default `sqlite:longshore.db` in the working folder.
    pub database: String,
    /// A running server to work through in place of the database, such as `https://jobs.example.org`. Default: empty, none.
    pub url: String,
    /// What the server is shown. Default: empty, nothing.
    pub token: TokenText,
    /// How the server is worked with.
    pub remote: RemoteSettings,
    /// How the database is used.
    pub store: StoreSettings,
    /// The queues that a worker serves, each with its slots. Default `default=10`.
    pub queues: Queues,
    /// How a worker behaves.
    pub worker: WorkerSettings,
    /// Whether and how the API is served.
    pub http: HttpSettings,
    /// What built-in kinds may do.
    pub kinds: KindsSettings,
    /// What a job may be at most.
    pub limits: LimitsSettings,
    /// What is logged, and how.
    pub log: LogSettings,
}

/// How a worker behaves.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerSettings {
    /// The node's name, for people. Default: the host's.
    pub name: String,
    /// How long this node's jobs stay its own when it does not answer. A sixth of it passes between
    /// heartbeats. Default 30 s.
    pub lease: Span,
    /// After a stop is asked for, how long running jobs may go on. Default 25 s.
    pub drain: Span,
    /// How often an idle node looks for work that nobody told it of. Default 1 s.
    pub poll: Span,
    /// What handlers log is kept with their jobs from this level on. Default `info`.
    pub log_level: Level,
    /// How spans of runs stand to the enqueue's trace, where spans are exported: `linked` or `continued`.
    /// Default linked.
    pub trace: TraceMode,
    /// Whether it takes part in upkeep. Default yes.
    #[serde(deserialize_with = "layers::text_or")]
    pub upkeep: bool,
    /// How long entries of the audit log are kept, as far as this node leads. Default 90 days.
    pub audit: Span,
}

/// What a job may be at most.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LimitsSettings {
    /// Bytes of one payload. Default 1 MiB.
    #[serde(deserialize_with = "layers::text_or")]
    pub payload_bytes: usize,
}

/// What is logged, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogSettings {
    /// How a line looks. Default `auto`.
    pub format: LogFormat,
    /// A level, or the syntax of `RUST_LOG`. Default: empty, the command's own (`info` for `serve`).
    pub level: String,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// `compact` on a terminal, `json` elsewhere.
    Auto,
    /// Several lines each, for reading closely.
    Pretty,
    /// One line each, for people.
    Compact,
    /// One JSON object a line, for machines.
    Json,
}

impl Default for Settings {
    fn default() -> Settings {
        let worker = WorkerConfig::default();
        Settings {
            database: "sqlite:longshore.db".to_owned(),
            url: String::new(),
            token: TokenText::default(),
            remote: RemoteSettings::default(),
            store: StoreSettings::default(),
            queues: Queues::default(),
            worker: WorkerSettings {
                name: host_name().unwrap_or(worker.name),
                lease: Span(worker.lease_for),
                drain: Span(worker.drain_for),
                poll: Span(worker.poll_every),
                log_level: worker.log_level,
                trace: worker.trace,
                upkeep: worker.upkeep,
                audit: Span(worker.audit_for),
            },
            http: HttpSettings::default(),
            kinds: KindsSettings::default(),
            limits: LimitsSettings { payload_bytes: Limits::default().payload_bytes },
            log: LogSettings { format: LogFormat::Auto, level: String::new() },
        }
    }
}

impl Settings {
    /// The library's limits.
    pub(crate) fn limits(&self) -> Limits {
        Limits { payload_bytes: self.limits.payload_bytes }
    }

    /// What no job may show, of the settings that are not the kinds' own.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let of_database = longshore_kinds::password_of(&self.database).unwrap_or_default();
        [self.token.reveal(), of_database].map(Secret::from).into()
    }

    /// The library's settings for a worker of this version of the application.
    pub(crate) fn worker_config(&self, version: &str) -> WorkerConfig {
        // Both as by default, seen from the lease: two beats may be lost, and handlers are gone
        // before the lease is.
        let sixth: Duration = self.worker.lease.0 / 6;
        WorkerConfig {
            name: self.worker.name.clone(),
            version: version.to_owned(),
            lease_for: self.worker.lease.0,
            heartbeat_every: sixth,
            stop_margin: sixth,
            poll_every: self.worker.poll.0,
            drain_for: self.worker.drain.0,
            log_level: self.worker.log_level,
            trace: self.worker.trace,
            upkeep: self.worker.upkeep,
            audit_for: self.worker.audit.0,
        }
    }
}

/// The entries of a text that separates them by commas.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|one| !one.is_empty())
}

fn host_name() -> Option<String> {
    let name = std::env::var("HOSTNAME")
        .or_else(|_| std::fs::read_to_string("/proc/sys/kernel/hostname"))
        .ok()?;
    let name = name.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
