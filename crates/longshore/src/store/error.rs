//! What can go wrong in a store, sorted by what the caller can do.

use super::node::NodeId;
use super::query::InvalidCursor;
use crate::job::{Event, Invalid, JobId, State};
use crate::operation::{OperationAsk, OperationId, OperationState};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What can go wrong in a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The job cannot be enqueued as it is; nothing was written.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The database is away, busy or out of connections: the same call may succeed later.
    #[error("could not {doing}: the database is unavailable")]
    Unavailable {
        /// What was being done.
        doing: &'static str,
        /// The driver's words.
        source: BoxError,
    },
    /// The file is not there, and was not to be made.
    #[error("no database at {path}; name another, or make this one with `longshore migrate up`")]
    NoDatabase {
        /// The file.
        path: String,
    },
    /// The SQLite file lies where more than one host may write, and where its locks do not hold.
    #[error(
        "{file} lies on {mount}, a shared file system ({kind}), where SQLite's locks do not hold: move it to a disk of this host, or use PostgreSQL; if no other host ever opens it, set `store.allow_shared_mount`"
    )]
    SharedMount {
        /// The file.
        file: String,
        /// Where the file system is mounted.
        mount: String,
        /// Its type, in the kernel's word.
        kind: String,
    },
    /// A node of another host serves the SQLite file; two hosts would damage it.
    #[error(
        "{file} is in use on another host, `{}`, whose node was heard of {} s ago: a SQLite file belongs to one host; stop the other, or use PostgreSQL (or, if both are one host, set `store.allow_other_host`)", crate::job::name::shown(.host), .seen.as_secs()
    )]
    OtherHost {
        /// The file.
        file: String,
        /// The other host.
        host: String,
        /// How long ago its node last beat, by this host's clock.
        seen: std::time::Duration,
    },
    /// There is no such job (any more).
    #[error("no job has id {0}")]
    NotFound(JobId),
    /// There is no live node with this id (any more).
    #[error("no live node has id {0}")]
    NoNode(NodeId),
    /// The node that works over a server is lost or unknown: others run its jobs by now. It drops what it runs, and
    /// joins anew.
    #[error("node {0} is lost or unknown: drop what it runs, and join anew")]
    NodeLost(NodeId),
    /// The job is in a state that does not allow it.
    #[error("job {id} is {state}, so it cannot {event}")]
    Refused {
        /// The job.
        id: JobId,
        /// Its state.
        state: State,
        /// What was asked for.
        event: Event,
    },
    /// Another job holds the unique key, and the enqueue or retry refuses that; nothing was written.
    #[error("{}unique key `{}` is held by job {holder}", place(*index), crate::job::name::shown(.key))]
    KeyHeld {
        /// The key, in the caller's words.
        key: String,
        /// The job that holds it.
        holder: JobId,
        /// The refused job's place in the call, counted from 0; `None` for a call with a single job.
        index: Option<usize>,
    },
    /// The unique key was used with another payload ([`crate::Unique::same_payload`]); nothing was
    /// written.
    #[error("{}unique key `{}` was used with another payload, by job {holder}", place(*index), crate::job::name::shown(.key))]
    KeyReused {
        /// The key, in the caller's words.
        key: String,
        /// The job that holds it.
        holder: JobId,
        /// The refused job's place in the call, counted from 0; `None` for a call with a single job.
        index: Option<usize>,
    },
    /// A unique key is held by a transaction that is still open; it may yet roll back, so nobody can
    /// say whether the job is a duplicate. Nothing was written.
    #[error("could not enqueue: a unique key is held by a transaction that is still open")]
    KeyBusy,
    /// The job was edited since it was read.
    #[error("job {id} is at version {found}, not {expected}: somebody edited it meanwhile")]
    VersionChanged {
        /// The job.
        id: JobId,
        /// The version it has.
        found: u32,
        /// The version that the edit named.
        expected: u32,
    },
    /// There is no such operation (any more).
    #[error("no operation has id {0}")]
    NoOperation(OperationId),
    /// The operation is in a state that does not allow it.
    #[error("operation {id} is {state}, so it cannot be {}", ask.done())]
    OperationRefused {
        /// The operation.
        id: OperationId,
        /// Its state.
        state: OperationState,
        /// What was asked for.
        ask: OperationAsk,
    },
    /// The database's schema is not the one that this program needs.
    #[error("the schema is at version {found}, this program needs {needed}: {}", way_out(*found, *needed))]
    Schema {
        /// The version found; 0 for none.
        found: u32,
        /// The version needed.
        needed: u32,
    },
    /// A migration that was applied is not the one this program knows.
    #[error(
        "migration {version} was applied with other contents than this program has; restore the program that applied it, or the database from a backup"
    )]
    Checksum {
        /// Its number.
        version: u32,
    },
    /// The cursor cannot be used for this list.
    #[error(transparent)]
    Cursor(#[from] InvalidCursor),
    /// Another node leads by now.
    #[error("this node does not lead any more")]
    NotLeader,
    /// A setting that cannot work.
    #[error("{0}")]
    Config(String),
    /// A bug in our SQL or code; retrying will not help.
    #[error("could not {doing}")]
    Bug {
        /// What was being done.
        doing: &'static str,
        /// The driver's words.
        source: BoxError,
    },
}

fn place(index: Option<usize>) -> String {
    index.map(|index| format!("job {index}: ")).unwrap_or_default()
}

fn way_out(found: u32, needed: u32) -> &'static str {
    if found > needed { "upgrade this program" } else { "run `longshore migrate up`" }
}

impl StoreError {
    pub(crate) fn config(message: impl Into<String>) -> StoreError {
        StoreError::Config(message.into())
    }

    /// The error without its place in the call, and that place, counted from 0; for who has a better
    /// name for it, such as the number of a line. `None` if the call had a single job, or no job is to
    /// blame.
    pub fn split_place(self) -> (StoreError, Option<usize>) {
        match self {
            StoreError::Invalid(Invalid { field, problem, index }) => {
                (Invalid { field, problem, index: None }.into(), index)
            }
            StoreError::KeyHeld { key, holder, index } => {
                (StoreError::KeyHeld { key, holder, index: None }, index)
            }
            StoreError::KeyReused { key, holder, index } => {
                (StoreError::KeyReused { key, holder, index: None }, index)
            }
            other => (other, None),
        }
    }

    /// The same refusal in a larger call: `place` says where a job of this one stands in that.
    pub(crate) fn placed(self, place: impl Fn(usize) -> usize) -> StoreError {
        let (error, index) = self.split_place();
        let at = place(index.unwrap_or(0));
        match error {
            StoreError::Invalid(invalid) => invalid.at(at).into(),
            StoreError::KeyHeld { key, holder, .. } => {
                StoreError::KeyHeld { key, holder, index: Some(at) }
            }
            StoreError::KeyReused { key, holder, .. } => {
                StoreError::KeyReused { key, holder, index: Some(at) }
            }
            other => other,
        }
    }

    /// The same error for another caller of the same batch; what caused it is kept as text.
    pub(crate) fn copy(&self) -> StoreError {
        match self {
            StoreError::Invalid(invalid) => StoreError::Invalid(invalid.clone()),
            StoreError::Unavailable { doing, source } => {
                StoreError::Unavailable { doing, source: source.to_string().into() }
            }
            StoreError::NoDatabase { path } => StoreError::NoDatabase { path: path.clone() },
            StoreError::SharedMount { file, mount, kind } => StoreError::SharedMount {
                file: file.clone(),
                mount: mount.clone(),
                kind: kind.clone(),
            },
            StoreError::OtherHost { file, host, seen } => {
                StoreError::OtherHost { file: file.clone(), host: host.clone(), seen: *seen }
            }
            StoreError::NotFound(id) => StoreError::NotFound(*id),
            StoreError::NoNode(id) => StoreError::NoNode(*id),
            StoreError::NodeLost(id) => StoreError::NodeLost(*id),
            StoreError::Refused { id, state, event } => {
                StoreError::Refused { id: *id, state: *state, event: *event }
            }
            StoreError::KeyHeld { key, holder, index } => {
                StoreError::KeyHeld { key: key.clone(), holder: *holder, index: *index }
            }
            StoreError::KeyReused { key, holder, index } => {
                StoreError::KeyReused { key: key.clone(), holder: *holder, index: *index }
            }
            StoreError::KeyBusy => StoreError::KeyBusy,
            StoreError::VersionChanged { id, found, expected } => {
                StoreError::VersionChanged { id: *id, found: *found, expected: *expected }
            }
            StoreError::NoOperation(id) => StoreError::NoOperation(*id),
            StoreError::OperationRefused { id, state, ask } => {
                StoreError::OperationRefused { id: *id, state: *state, ask: *ask }
            }
            StoreError::Schema { found, needed } => {
                StoreError::Schema { found: *found, needed: *needed }
            }
            StoreError::Checksum { version } => StoreError::Checksum { version: *version },
            StoreError::Cursor(cursor) => StoreError::Cursor(cursor.clone()),
            StoreError::NotLeader => StoreError::NotLeader,
            StoreError::Config(text) => StoreError::Config(text.clone()),
            StoreError::Bug { doing, source } => {
                StoreError::Bug { doing, source: source.to_string().into() }
            }
        }
    }

    /// Whether the same call may succeed later without anybody doing anything.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, StoreError::Unavailable { .. } | StoreError::KeyBusy)
    }
}
