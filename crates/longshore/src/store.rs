//! Where jobs live: one trait, two backends, held to the same words by one conformance suite.

mod bulk;
pub(crate) mod checkup;
mod claim;
mod edit;
mod ending;
mod enqueued;
mod error;
pub(crate) mod keys;
mod kind;
mod look;
mod migration;
mod node;
mod options;
mod operation;
mod pause;
mod query;
mod remote;
pub(crate) mod once;
mod retention;
pub(crate) mod said;
mod traffic;
mod tx;
mod wake;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod walk;

#[cfg(feature = "postgres")]
pub(crate) mod postgres;
#[cfg(feature = "sqlite")]
pub(crate) mod sqlite;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::access::{
    NewSession, NewToken, NewUser, PasswordHash, SecretHash, SessionId, SessionRow, TokenId,
    TokenRow, UserChange, UserRow,
};
use crate::audit::{Entry, EntryEnd, EntryId, NewEntry};
use crate::clock::Clock;
use crate::job::{JobId, JobRow, NewJob, State};
use crate::operation::{NewOperation, OperationAsk, OperationId, OperationRow, OperationStep};
use crate::query::Filter;
use crate::time::Timestamp;

pub(crate) use bulk::{PART_BYTES, PART_JOBS};
pub use bulk::{Part, Parts};
pub use checkup::{Check, Depth, Verdict};
pub use claim::{
    ANY_VERSION, Claim, Claimed, ClaimedJob, KindAsk, LANES, LaneMark, QueueAsk, START,
};
pub use edit::Edit;
pub use ending::{Ack, DoneInTx, Ending, Held, MAX_THROTTLES, NodeFault};
pub use enqueued::{EnqueueOutcome, Enqueued, Repeat};
pub use error::StoreError;
pub use kind::{KnownKind, MAX_KNOWN, MAX_SCHEMA_BYTES, StoredKind};
pub use migration::Migration;
pub use node::{
    Beat, InvalidNodeId, Lead, NewNode, NodeId, NodeRow, NodeState, Pulse, Rescued, Term, Wish,
};
pub use once::{Once, REQUESTS_KEPT, RequestKey};
pub use options::{Durability, Pooler, StoreOptions};
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) use pause::EMPTY_STEP;
pub use pause::{Emptied, MAX_PAUSES, NewPause, Pause, PauseScope, PausesSeen, SetPause};
pub use query::{
    Count, Cursor, Detail, Effort, InvalidCursor, ListQuery, MAX_COUNT, MAX_PAGE, Page, Position,
    Relation,
};
pub use remote::{HeldRun, Remote};
pub use retention::{
    DEFAULT_KEEP, Keep, MAX_RULES, Pruned, Pruner, Removed, RetentionRule, RetentionScope,
};
pub use said::{
    Level, LogLine, LogPage, LogPart, LogPlace, LogQuery, LogRow, MAX_LINE_BYTES, MAX_LOG_ATTEMPTS,
    MAX_LOG_BYTES, MAX_LOG_LINES, MAX_LOG_PAGE, MAX_PROGRESS_BYTES, Progress, ProgressRow, Said,
    Saying, UnknownLevel,
};
pub use traffic::{COUNTED_WITHIN, Counted, MAX_DEPTH, MAX_QUEUES, PoolUse, QueueCount, Traffic};
pub use tx::{Conn, Driver, OpenTx, Tx};
pub use wake::{Wake, WakeHub, Woken};

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// What a store's calls may fail with.
pub type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Where jobs live. One conformance suite holds both backends to the words below.
/// Sealed: methods may change in any release.
///
/// Every call is all or nothing unless its words say otherwise. "Now" is the store's clock: the
/// database's on PostgreSQL, the process's on SQLite, or a test's. A call that fails with
/// [`StoreError::Unavailable`] may still have been carried out; each says what a repeat does.
#[async_trait]
pub trait Store: sealed::Sealed + Send + Sync + 'static {
    /// Brings the schema up to this program's version, each migration in one transaction under a
    /// lock, so that any number of nodes may call it at once. Answers the versions it applied.
    async fn migrate(&self) -> Result<Vec<u32>>;

    /// The schema's version; 0 for an empty database. Writes nothing.
    async fn schema_version(&self) -> Result<u32>;

    /// Adds all of `jobs` or none; answers in the order given. A job whose id is already there
    /// (waiting, running or dead; with [`Repeat::Yes`] in history as well) is a duplicate and left
    /// as it is. A job whose unique key another one holds is answered by its rule, with the holder's
    /// id, and never before the holder was committed. Wakes whom it must.
    async fn enqueue(&self, jobs: &[NewJob], repeat: Repeat) -> Result<Vec<Enqueued>>;

    /// The same for one call that comes in parts and so may be of any size: all of it or nothing, and
    /// seen by nobody before its end. Jobs with a unique key are kept until then, since keys are taken
    /// in one order. On SQLite nobody else writes meanwhile.
    async fn enqueue_parts(&self, parts: Parts) -> Result<Vec<Enqueued>>;

    /// The same, but rather than wait over a moment for a unique key that an open transaction holds,
    /// fails with [`StoreError::KeyBusy`].
    async fn enqueue_unless_busy(&self, jobs: &[NewJob]) -> Result<Vec<Enqueued>>;

    /// The same inside the caller's transaction: nothing is seen before it commits, nothing stays
    /// if it rolls back. Refused if the connection belongs to the other kind of database.
    async fn enqueue_in(&self, conn: Conn<'_>, jobs: &[NewJob]) -> Result<Vec<Enqueued>>;

    /// Takes queued jobs, of each queue up to its limit: smallest `priority` first, then oldest
    /// `run_at`, then smallest id. With a limit for all together, later queues get what earlier ones leave. Each gets one more attempt and the claim's number as its lease. A job of
    /// another kind than those asked for, or of a greater version, is left as it is.
    /// Fewer jobs than asked for, or none, is a normal answer. A node that is lost or unknown gets
    /// none and `live: false`.
    ///
    /// A repeat is another claim and needs another number; see [`Store::recall`].
    async fn claim(&self, claim: &Claim<'_>) -> Result<Claimed>;

    /// The jobs that this node still holds under claim number `no`: the answer to a claim whose
    /// reply was lost. Once it was answered, that claim cannot come true any more.
    async fn recall(&self, node: NodeId, no: i64) -> Result<Vec<ClaimedJob>>;

    /// Writes how runs ended, one answer each, in order. [`Ack::LeaseLost`]: the job is somebody
    /// else's by now (rescued), and nothing was written for it. A job that was asked to cancel ends
    /// cancelled, whatever its ending says. A repeat after a lost reply answers as the first did
    /// for what ended well and is kept, and does no harm otherwise.
    async fn finish(&self, node: NodeId, ended: &[(Held, Ending)]) -> Result<Vec<Ack>>;

    /// Keeps what runs said while they run, one answer each, in order: how far they are, and log lines.
    /// [`Said::LeaseLost`]: the job is somebody else's by now, and nothing was written for it. A job comes at
    /// most once in a call. Each attempt has a log of its own, numbered from 1 in the order of the calls; one that
    /// is given back or snoozed goes on with it. Of an attempt the newest [`MAX_LOG_LINES`] lines are kept, in
    /// [`MAX_LOG_BYTES`]; of a job the newest [`MAX_LOG_ATTEMPTS`] attempts. A crash of the database may take the
    /// last of it. A repeat adds nothing.
    async fn say(&self, node: NodeId, said: &[Saying]) -> Result<Vec<Said>>;

    /// Some lines of a job's log, oldest first, wherever the job is; none of a job that is not there.
    async fn log(&self, id: JobId, query: &LogQuery) -> Result<LogPage>;

    /// What a job said last of how far it is; `None` if it said nothing, or is not there.
    async fn progress(&self, id: JobId) -> Result<Option<ProgressRow>>;

    /// Begins a transaction for a handler to work in. On SQLite nobody else writes until it ends.
    async fn begin_tx(&self) -> Result<OpenTx>;

    /// Writes that a run ended well in the handler's own transaction, and commits both. With any other
    /// answer than [`State::Succeeded`] (the lease is lost, or the job was asked to cancel) both are rolled
    /// back, and the run is still to be ended. After an error it may have been committed; a
    /// [`Store::finish`] of the same run waits for that and then answers what became of it. What the run said last
    /// is kept too; if it is rolled back, perhaps not.
    async fn finish_tx(&self, tx: OpenTx, node: NodeId, done: DoneInTx<'_>) -> Result<Ack>;

    /// Ends a waiting job as cancelled ([`State::Cancelled`]), or asks the node of a running one to
    /// stop it ([`State::Running`]). Refused for a job that ended. Asking again changes nothing.
    async fn cancel(&self, id: JobId, cancel: &AskCancel) -> Result<State>;

    /// Which of this node's running jobs were asked to cancel.
    async fn cancels(&self, node: NodeId) -> Result<Vec<JobId>>;

    /// Makes a scheduled, retrying, dead or cancelled job queued, with at least `attempts` attempts
    /// left, and changes it as the edit says, both or neither. Its number of attempts and its errors stay.
    /// Refused in any other state, or if it has another version than the edit names.
    async fn retry(&self, id: JobId, attempts: u32, edit: &Edit) -> Result<()>;

    /// Changes a waiting job; answers its version after that. Refused in any other state, and when
    /// the edit names another version than it has. Wakes whom it must. A repeat does the same again,
    /// unless it names a version.
    async fn edit(&self, id: JobId, edit: &Edit) -> Result<u32>;

    /// Removes a job that does not run, with its payload, history, log and unique keys. A repeat finds
    /// nothing.
    async fn delete(&self, id: JobId) -> Result<()>;

    /// Forgets some unique keys whose window is over; whether there may be more. A key that is over is in
    /// nobody's way: this only gives its room back. Refused when the term is over.
    async fn forget_keys(&self, lead: Lead) -> Result<bool>;

    /// A job, wherever it is; `None` if there is none with that id (any more).
    async fn get(&self, id: JobId) -> Result<Option<JobRow>>;

    /// One page of jobs, newest first, over waiting and ended ones together, as they were at one
    /// moment. Looks at a bounded number of rows: a page may be short, even empty, and still have a
    /// cursor to go on from. Pages that follow each other join without gap or repeat, in both
    /// directions, whatever happens to their jobs meanwhile; a cursor of another filter is refused.
    async fn list(&self, query: &ListQuery) -> Result<Page>;

    /// How many jobs pass, at one moment. [`Effort::Bounded`] looks at a bounded number of rows and
    /// says if there may be more.
    async fn count(&self, filter: &Filter, effort: Effort) -> Result<Count>;

    /// Adds a node's row, and what it tells of its kinds. Its lease starts now.
    async fn join(&self, node: &NewNode) -> Result<()>;

    /// Renews the lease of all that the node holds, forgets claims that are over, keeps what the node is at and
    /// answers what it is asked to be. A node that
    /// is lost or unknown is told so and nothing is written.
    async fn beat(&self, beat: &Beat) -> Result<Pulse>;

    /// Removes the row of a node that holds nothing any more; of one that does, only ends its
    /// lease, so that its jobs are rescued at once.
    async fn leave(&self, node: NodeId) -> Result<()>;

    /// A node that works over a server, as it joined; `None` if it is lost, unknown, or none of these.
    async fn remote(&self, node: NodeId) -> Result<Option<Remote>>;

    /// The jobs that a node holds, but for those that are `known`, in the order they should start; at most so many.
    /// Forgets claims of which every job is over, so that a node whose claims nobody keeps a list of leaves no
    /// notes behind. A claim that is still under way may come true later.
    async fn held(&self, node: NodeId, known: &[JobId], most: u32) -> Result<Vec<ClaimedJob>>;

    /// What is known of the runs of these jobs that the node holds, in no particular order.
    async fn held_runs(&self, node: NodeId, ids: &[JobId]) -> Result<Vec<HeldRun>>;

    /// All nodes, live ones first, newest first; at most 1,000.
    async fn nodes(&self) -> Result<Vec<NodeRow>>;

    /// Asks a live node to be quiet or to stop, or with `None` to serve; it hears of it with its next heartbeat, and
    /// where it can be told at once. [`StoreError::NoNode`] if no live one has this id. A repeat changes nothing.
    async fn wish(&self, node: NodeId, wish: Option<Wish>) -> Result<()>;

    /// The kinds that nodes have described, by name; at most [`MAX_KNOWN`]. One that no live node runs is forgotten
    /// 30 days after it was described last.
    async fn kinds(&self) -> Result<Vec<StoredKind>>;

    /// How many jobs run, by queue; at most [`MAX_QUEUES`].
    async fn running(&self) -> Result<Vec<(String, u64)>>;

    /// Gives away the jobs of nodes whose lease ran out, of at most 10 nodes: queued again, or dead
    /// when their attempts are used up, or cancelled if that was asked for. The nodes are marked
    /// lost in the same transaction. Anyone may call it, at any time; it needs no handler.
    async fn rescue(&self) -> Result<Rescued>;

    /// Gives away running jobs that no live node holds and [`Store::rescue`] cannot see, and forgets
    /// nodes that were lost over an hour ago. Walks the running jobs; the leader calls it seldom.
    async fn sweep(&self, lead: Lead) -> Result<Rescued>;

    /// Takes the lead if nobody holds it, or renews it if this node does; `None` if another does.
    /// Each change of leader raises the term.
    async fn lead(&self, node: NodeId, for_: Duration) -> Result<Option<Term>>;

    /// Gives the lead up, if it is still held under this term.
    async fn resign(&self, lead: Lead) -> Result<()>;

    /// Makes history's partitions for today and the `days` after. Nothing to do on SQLite.
    /// Refused with [`StoreError::NotLeader`] when the term is over.
    async fn make_partitions(&self, lead: Lead, days: u32) -> Result<()>;

    /// Counts, for each queue that has due jobs or a live node, those jobs up to [`MAX_DEPTH`] and how long the oldest
    /// has been due, and keeps that for [`Store::queue_counts`]; forgets every other queue. At most [`MAX_QUEUES`], the
    /// first by name. A repeat counts anew. Refused with [`StoreError::NotLeader`] when the term is over.
    ///
    /// Also looks for operations: a leader counts every few seconds, and then needs no other look.
    async fn count_queues(&self, lead: Lead) -> Result<Counted>;

    /// What the leader counted last, by queue, unless that is longer ago than [`COUNTED_WITHIN`]. Counts nothing.
    async fn queue_counts(&self) -> Result<Vec<QueueCount>>;

    /// Pauses a queue or a kind, or sets its pause anew: a claim that begins after the answer takes nothing of it,
    /// on whatever node. What runs goes on. Refused with [`StoreError::Invalid`] when [`MAX_PAUSES`] others are in
    /// force. A repeat does the same again.
    async fn pause(&self, pause: &SetPause) -> Result<Pause>;

    /// Ends a pause; whether it was in force. Wakes from the start. A repeat does no harm.
    async fn resume(&self, scope: PauseScope, name: &str) -> Result<bool>;

    /// The pauses in force: queues first, by name. One whose end has come is over without anybody's doing.
    async fn pauses(&self) -> Result<Vec<Pause>>;

    /// One bounded step of emptying a queue: removes some jobs that wait in it (queued, scheduled, retrying) and
    /// were enqueued by then, each with its payload, log and unique key. A repeat goes on.
    async fn empty_queue(&self, queue: &str, came_by: Timestamp) -> Result<Emptied>;

    /// A number that is another one whenever jobs may have changed; it may change for nothing. Cheap enough to be asked
    /// for twice a second.
    async fn change_mark(&self) -> Result<u64>;

    /// The rules of retention, the most particular first.
    async fn retention(&self) -> Result<Vec<RetentionRule>>;

    /// Adds a rule, or gives the one with the same scope another span. A repeat changes nothing.
    /// Refused with [`StoreError::Invalid`] when there are [`MAX_RULES`] others.
    async fn set_retention(&self, rule: &RetentionRule) -> Result<()>;

    /// Removes the rule with this scope; whether there was one.
    async fn remove_retention(&self, scope: &RetentionScope) -> Result<bool>;

    /// One bounded step of a prune: removes some jobs that are past their time, each with its payload
    /// and log, or looks for them, for some hundredths of a second at most. What was looked at is remembered
    /// as long as the same pruner calls (by hand: within a minute) and no rule changes, so that a later step need not
    /// look again. A leader, a prune by hand and a look do not disturb each other; two prunes by hand share what they
    /// remember, and of two looks at once neither counts right. Jobs that move meanwhile (a retry, a cancel) are left alone. A repeat does no harm.
    ///
    /// On PostgreSQL the leader also removes days of history that are past as a whole.
    /// Refused with [`StoreError::NotLeader`] when the leader's term is over.
    async fn prune(&self, pruner: Pruner) -> Result<Pruned>;

    /// Adds all of `jobs`, or none, unless this request was carried out before, within the last 24 hours: request
    /// and jobs are committed together. Waits for one that is on its way; refused with
    /// [`StoreError::KeyBusy`] when that takes too long.
    async fn enqueue_once(&self, request: &RequestKey, jobs: &[NewJob]) -> Result<Once>;

    /// Keeps a token with its secret's hash; answers when. A repeat changes nothing. Refused with
    /// [`StoreError::Invalid`] when [`crate::access::MAX_TOKENS`] others are live.
    async fn add_token(&self, token: &NewToken, hash: SecretHash) -> Result<Timestamp>;

    /// The tokens, live ones first, newest first; at most [`crate::access::MAX_TOKENS`].
    async fn tokens(&self) -> Result<Vec<TokenRow>>;

    /// The token whose secret has this hash, live or not.
    async fn token(&self, hash: SecretHash) -> Result<Option<TokenRow>>;

    /// Notes that a token is used now, unless that was noted within the last minute.
    async fn touch_token(&self, id: TokenId) -> Result<()>;

    /// Revokes a token; whether there is one with this id. One that is revoked stays as it is.
    async fn revoke_token(&self, id: TokenId) -> Result<bool>;

    /// Keeps a user; not if the name is taken or there are [`crate::access::MAX_USERS`] others. A repeat
    /// changes nothing.
    async fn add_user(&self, user: &NewUser) -> Result<bool>;

    /// The users by name; at most [`crate::access::MAX_USERS`].
    async fn users(&self) -> Result<Vec<UserRow>>;

    /// The user of this name, in lower case, and the password's hash.
    async fn user(&self, name: &str) -> Result<Option<(UserRow, PasswordHash)>>;

    /// Changes a user and ends all sessions of it, also one that is made at this moment; whether there is one
    /// of this name.
    async fn change_user(&self, name: &str, change: &UserChange) -> Result<bool>;

    /// Removes a user with all sessions of it; whether there was one of this name.
    async fn remove_user(&self, name: &str) -> Result<bool>;

    /// Signs a user in; answers when the session ends at the latest. Not if the user is gone or kept out, or
    /// has another password by now. What has ended of the user goes. A repeat changes nothing.
    async fn add_session(
        &self,
        session: &NewSession,
        hash: SecretHash,
    ) -> Result<Option<Timestamp>>;

    /// The session whose secret has this hash, live or not.
    async fn session(&self, hash: SecretHash) -> Result<Option<SessionRow>>;

    /// Sessions, newest first; at most 1,000.
    async fn sessions(&self) -> Result<Vec<SessionRow>>;

    /// Notes that a session is used now, unless that was noted within the last minute.
    async fn touch_session(&self, id: SessionId) -> Result<()>;

    /// Ends a session; whether there was one with this id.
    async fn end_session(&self, id: SessionId) -> Result<bool>;

    /// Writes that a change is about to be made. A repeat changes nothing.
    async fn begin_entry(&self, entry: &NewEntry) -> Result<()>;

    /// Writes how a change ended, once: a repeat changes nothing, nor does the end of an unknown entry.
    async fn end_entry(&self, id: EntryId, end: &EntryEnd) -> Result<()>;

    /// Entries of the audit log, newest first: at most so many, older than `before`.
    async fn entries(&self, before: Option<EntryId>, most: u32) -> Result<Vec<Entry>>;

    /// Removes some entries that are older than this; whether there may be more.
    /// Refused with [`StoreError::NotLeader`] when the term is over.
    async fn prune_entries(&self, lead: Lead, keep: Duration) -> Result<bool>;

    /// Keeps an operation, running, with the count of what matched; a repeat changes nothing. It means the jobs that
    /// are there now. Refused with [`StoreError::Invalid`] when [`crate::operation::MAX_OPEN_OPERATIONS`] others have
    /// not ended.
    async fn start_operation(&self, operation: &NewOperation, total: Count)
    -> Result<OperationRow>;

    /// An operation; `None` if there is none with that id (any more).
    async fn operation(&self, id: OperationId) -> Result<Option<OperationRow>>;

    /// Operations, newest first: at most so many, older than `before`.
    async fn operations(&self, before: Option<OperationId>, most: u32)
    -> Result<Vec<OperationRow>>;

    /// Pauses, resumes or cancels an operation; once it is answered, no step that did not see it is committed any
    /// more. Refused in a state that does not allow it.
    async fn ask_operation(&self, id: OperationId, ask: OperationAsk) -> Result<OperationRow>;

    /// The running operation that has waited longest for its next step.
    async fn next_operation(&self) -> Result<Option<OperationId>>;

    /// One step of a running operation: looks at jobs in the order of their ids, a bounded number, and does the
    /// action to those that match when their turn comes, at most `most`; those that it cannot be done to are skipped
    /// and counted. All of that and the place it has come to are one transaction, so a step is done once, whoever
    /// else tries, dies, or asks. Answers how the operation stands; of one that does not run, nothing is changed.
    /// [`StoreError::NoOperation`] if it is not there. Refused with [`StoreError::NotLeader`] when the term is over.
    async fn step_operation(&self, lead: Lead, step: &OperationStep) -> Result<OperationRow>;

    /// Ends a running operation as failed. Refused with [`StoreError::NotLeader`] when the term is over.
    async fn fail_operation(&self, lead: Lead, id: OperationId, error: &str) -> Result<()>;

    /// Removes some operations that ended longer ago than this; whether there may be more.
    /// Refused with [`StoreError::NotLeader`] when the term is over.
    async fn prune_operations(&self, lead: Lead, keep: Duration) -> Result<bool>;

    /// Looks at the database and at what it needs, and writes nothing. A look that fails is a failed
    /// check where the others can go on without it.
    async fn checkup(&self, depth: Depth) -> Result<Vec<Check>>;

    /// SQLite in a file: bytes of its side file (`-wal`), which grows while a reader holds a snapshot.
    fn side_file_bytes(&self) -> Option<u64>;

    /// What goes between this process and its database.
    fn traffic(&self) -> Traffic;

    /// What wakes this process: its own calls, and other processes as far as they can be heard.
    fn wakes(&self) -> &WakeHub;

    /// Hears other processes until the store is closed: runs for ever, and by itself goes on after
    /// an outage. Nothing depends on it; polling alone is correct.
    async fn listen(&self);

    /// The store's clock, as far as this process sets it.
    fn clock(&self) -> &Clock;

    /// Now, by the clock that the database's times are made with.
    async fn now(&self) -> Result<Timestamp>;

    /// `sqlite` or `postgres`, for messages.
    fn backend(&self) -> &'static str;

    /// Closes every connection.
    async fn close(&self);

    /// What the benchmark needs beyond this.
    #[cfg(feature = "bench")]
    fn meter(&self) -> &dyn crate::bench::Meter;
}

/// Who wants a job cancelled, and why; both in the caller's words.
#[derive(Clone, Debug, Default)]
pub struct AskCancel {
    /// Who. Cut at 255 bytes.
    pub by: Option<String>,
    /// Why. Cut at 8 KiB.
    pub why: Option<String>,
}

/// The schema's steps in the database that `url` names, in order. Looks at the scheme alone: the
/// database is not touched.
pub fn migrations(url: &str) -> Result<&'static [Migration]> {
    scheme(url).and_then(steps).ok_or_else(|| unknown_database(url))
}

fn steps(scheme: &str) -> Option<&'static [Migration]> {
    match scheme {
        #[cfg(feature = "sqlite")]
        "sqlite" => Some(&sqlite::MIGRATIONS),
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => Some(postgres::MIGRATIONS),
        _ => None,
    }
}

/// The schema's version that this program needs on `backend`.
pub(crate) fn needed(backend: &str) -> u32 {
    steps(backend).map_or(0, |steps| steps.len() as u32)
}

/// Opens the store that `url` names: `sqlite:PATH`, `sqlite::memory:` or `postgres://…`. Creates a
/// missing SQLite file; migrates nothing.
pub async fn open(url: &str, options: StoreOptions) -> Result<Arc<dyn Store>> {
    if options.pool == 0 {
        return Err(StoreError::config("pool is 0; it needs at least 1 connection"));
    }
    match scheme(url) {
        #[cfg(feature = "sqlite")]
        Some("sqlite") => Ok(Arc::new(sqlite::SqliteStore::open(url, options).await?)),
        #[cfg(feature = "postgres")]
        Some("postgres" | "postgresql") => {
            Ok(Arc::new(postgres::PostgresStore::open(url, options).await?))
        }
        _ => Err(unknown_database(url)),
    }
}

fn scheme(url: &str) -> Option<&str> {
    url.split_once(':').map(|(scheme, _)| scheme)
}

fn unknown_database(url: &str) -> StoreError {
    StoreError::config(format!(
        "`{}` names no database that this program knows; use sqlite:PATH or postgres://USER@HOST/NAME",
        without_secret(url)
    ))
}

/// A database's address with its password left out.
pub fn without_secret(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((user, host)) => {
            let user = user.split_once(':').map_or(user, |(name, _)| name);
            format!("{scheme}://{user}@{host}{}", path.split('?').next().unwrap_or_default())
        }
        None => format!("{scheme}://{authority}{}", path.split('?').next().unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::without_secret;

    #[test]
    fn a_password_is_never_shown() {
        assert_eq!(without_secret("postgres://u:p@ss@h:5/d?password=x"), "postgres://u@h:5/d");
        assert_eq!(without_secret("postgres://h/d"), "postgres://h/d");
        assert_eq!(without_secret("sqlite:jobs.db"), "sqlite:jobs.db");
    }
}
