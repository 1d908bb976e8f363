//! PostgreSQL. This file is the table of contents: each call's own file has the words and the SQL.
//!
//! Every call runs in a [`session::Session`], is bounded in time, and what fails goes through
//! [`error::Tries`], the one place that decides between trying again and telling the caller.

mod audit;
#[cfg(feature = "bench")]
mod bench;
mod bulk;
mod change;
mod checkup;
mod claim;
mod connect;
mod copy;
mod days;
mod edit;
mod enqueue;
mod error;
mod finish;
mod lead;
mod kinds;
mod list;
mod migrate;
mod node;
mod once;
mod operate;
mod operation;
mod pause;
mod prune;
mod queues;
mod ranges;
mod read;
mod remote;
mod rescue;
mod retention;
mod say;
#[cfg(feature = "testing")]
mod scratch;
mod session;
mod stretch;
mod signed_in;
mod token;
mod user;
mod tx;
mod types;
mod unique;
mod wake;

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

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

use super::{
    Ack, AskCancel, Beat, Check, Claim, Claimed, ClaimedJob, Conn, Count, Counted, Depth, DoneInTx,
    Edit, Effort, Emptied, Ending, Enqueued, Held, HeldRun, Lead, ListQuery, LogPage, LogQuery,
    NewNode, NodeId, NodeRow, Once, OpenTx, Page, Parts, Pause, PauseScope, ProgressRow, Pruned,
    Pruner, Pulse, QueueCount, Remote, Repeat, RequestKey, Rescued, Result, RetentionRule,
    RetentionScope, Said, Saying, SetPause, Store, StoreError, StoreOptions, StoredKind, Term,
    Traffic, WakeHub, Wish,
};
use connect::{Mode, Pools};
use error::Fault;
use wake::Notifier;

pub(crate) use enqueue::ENQUEUE_CALL;
pub(crate) use migrate::MIGRATIONS;
#[cfg(feature = "testing")]
pub(crate) use scratch::Scratch;
pub(crate) use tx::{HandlerTx, PgConn};

/// Jobs in PostgreSQL 15 or newer, schema `longshore`.
pub(crate) struct PostgresStore {
    options: StoreOptions,
    clock: Clock,
    mode: Mode,
    pools: Pools,
    hub: WakeHub,
    notifier: Notifier,
    stop: CancellationToken,
    /// Where the next sweep goes on.
    swept_to: Mutex<Uuid>,
    /// What a prune remembers.
    walks: crate::store::walk::Memories<prune::Memory>,
}

impl PostgresStore {
    pub(crate) async fn open(url: &str, options: StoreOptions) -> Result<PostgresStore> {
        let (pools, mode) = connect::open(url, &options).await?;
        let stop = CancellationToken::new();
        Ok(PostgresStore {
            clock: options.clock.clone(),
            hub: WakeHub::default(),
            notifier: Notifier::new(pools.notify.clone(), mode, stop.clone()),
            swept_to: Mutex::new(Uuid::nil()),
            walks: Default::default(),
            options,
            mode,
            pools,
            stop,
        })
    }

    fn seen_traffic(&self) -> Traffic {
        self.pools.traffic()
    }

    /// Whether statements are prepared by name.
    fn named(&self) -> bool {
        self.mode == Mode::Direct
    }

    /// How long one try of a call may take. Far above what any statement needs, so that it only ends
    /// calls that nobody will ever answer.
    fn patience(&self) -> Duration {
        self.options.busy_for.saturating_mul(6)
    }

    /// After a connection was lost, the idle ones most likely are too.
    fn forget_idle(&self) {
        for pool in self.pools.all() {
            while let Some(mut conn) = pool.try_acquire() {
                conn.close_on_drop();
            }
        }
    }

    /// The error for the caller; says which schema was found, if it is that.
    async fn explain(&self, doing: &'static str, error: sqlx::Error) -> StoreError {
        if error::misses_schema(&error)
            && let Ok(found) = self.found_version().await
            && found != migrate::needed()
        {
            return StoreError::Schema { found, needed: migrate::needed() };
        }
        error::sort(doing, error)
    }
}

/// A span in the database's microseconds; at most a hundred years, beyond which it is a mistake.
fn micros(span: Duration) -> i64 {
    const MOST: i64 = 100 * 366 * 86_400_000_000;
    i64::try_from(span.as_micros()).unwrap_or(MOST).min(MOST)
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// Our own plain types as JSON text.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it has no maps and no fallible parts")
}

impl super::sealed::Sealed for PostgresStore {}

#[async_trait]
impl Store for PostgresStore {
    async fn migrate(&self) -> Result<Vec<u32>> {
        self.migrate_all().await
    }

    async fn schema_version(&self) -> Result<u32> {
        match self.found_version().await {
            Ok(version) => Ok(version),
            Err(Fault::Known(error)) => Err(error),
            Err(Fault::Db(error)) => Err(error::sort("read the schema's version", error)),
        }
    }

    async fn enqueue(&self, jobs: &[NewJob], repeat: Repeat) -> Result<Vec<Enqueued>> {
        self.add(jobs, repeat).await
    }

    async fn enqueue_parts(&self, parts: Parts) -> Result<Vec<Enqueued>> {
        self.add_parts(parts).await
    }

    async fn enqueue_unless_busy(&self, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        self.add_unless_busy(jobs).await
    }

    async fn enqueue_in(&self, conn: Conn<'_>, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        self.add_in(conn, jobs).await
    }

    async fn claim(&self, claim: &Claim<'_>) -> Result<Claimed> {
        self.take(claim).await
    }

    async fn recall(&self, node: NodeId, no: i64) -> Result<Vec<ClaimedJob>> {
        self.take_again(node, no).await
    }

    async fn finish(&self, node: NodeId, ended: &[(Held, Ending)]) -> Result<Vec<Ack>> {
        self.end(node, ended).await
    }

    async fn say(&self, node: NodeId, said: &[Saying]) -> Result<Vec<Said>> {
        self.keep_said(node, said).await
    }

    async fn log(&self, id: JobId, query: &LogQuery) -> Result<LogPage> {
        self.read_log(id, query).await
    }

    async fn progress(&self, id: JobId) -> Result<Option<ProgressRow>> {
        self.read_progress(id).await
    }

    async fn begin_tx(&self) -> Result<OpenTx> {
        self.open_tx().await
    }

    async fn finish_tx(&self, tx: OpenTx, node: NodeId, done: DoneInTx<'_>) -> Result<Ack> {
        self.close_tx(tx, node, done).await
    }

    async fn cancel(&self, id: JobId, cancel: &AskCancel) -> Result<State> {
        self.ask_cancel(id, cancel).await
    }

    async fn cancels(&self, node: NodeId) -> Result<Vec<JobId>> {
        self.asked_to_cancel(node).await
    }

    async fn retry(&self, id: JobId, attempts: u32, edit: &Edit) -> Result<()> {
        self.queue_again(id, attempts, edit).await
    }

    async fn edit(&self, id: JobId, edit: &Edit) -> Result<u32> {
        self.change(id, edit).await
    }

    async fn delete(&self, id: JobId) -> Result<()> {
        self.remove(id).await
    }

    async fn forget_keys(&self, lead: Lead) -> Result<bool> {
        self.forget_old_keys(lead).await
    }

    async fn get(&self, id: JobId) -> Result<Option<JobRow>> {
        self.find(id).await
    }

    async fn list(&self, query: &ListQuery) -> Result<Page> {
        self.page(query).await
    }

    async fn count(&self, filter: &Filter, effort: Effort) -> Result<Count> {
        self.number(filter, effort).await
    }

    async fn join(&self, node: &NewNode) -> Result<()> {
        self.add_node(node).await
    }

    async fn beat(&self, beat: &Beat) -> Result<Pulse> {
        self.renew(beat).await
    }

    async fn leave(&self, node: NodeId) -> Result<()> {
        self.remove_node(node).await
    }

    async fn remote(&self, node: NodeId) -> Result<Option<Remote>> {
        self.remote_node(node).await
    }

    async fn held(&self, node: NodeId, known: &[JobId], most: u32) -> Result<Vec<ClaimedJob>> {
        self.all_held(node, known, most).await
    }

    async fn held_runs(&self, node: NodeId, ids: &[JobId]) -> Result<Vec<HeldRun>> {
        self.runs_held(node, ids).await
    }

    async fn nodes(&self) -> Result<Vec<NodeRow>> {
        self.all_nodes().await
    }

    async fn wish(&self, node: NodeId, wish: Option<Wish>) -> Result<()> {
        self.ask_node(node, wish).await
    }

    async fn kinds(&self) -> Result<Vec<StoredKind>> {
        self.all_kinds().await
    }

    async fn running(&self) -> Result<Vec<(String, u64)>> {
        self.count_running().await
    }

    async fn rescue(&self) -> Result<Rescued> {
        self.rescue_lost().await
    }

    async fn sweep(&self, lead: Lead) -> Result<Rescued> {
        self.sweep_strays(lead).await
    }

    async fn lead(&self, node: NodeId, for_: Duration) -> Result<Option<Term>> {
        self.take_lead(node, for_).await
    }

    async fn resign(&self, lead: Lead) -> Result<()> {
        self.give_up_lead(lead).await
    }

    async fn make_partitions(&self, lead: Lead, days: u32) -> Result<()> {
        self.make_days(lead, days).await
    }

    async fn count_queues(&self, lead: Lead) -> Result<Counted> {
        self.count_all(lead).await
    }

    async fn queue_counts(&self) -> Result<Vec<QueueCount>> {
        self.all_counts().await
    }

    async fn pause(&self, pause: &SetPause) -> Result<Pause> {
        self.set_pause(pause).await
    }

    async fn resume(&self, scope: PauseScope, name: &str) -> Result<bool> {
        self.end_pause(scope, name).await
    }

    async fn pauses(&self) -> Result<Vec<Pause>> {
        self.all_pauses().await
    }

    async fn empty_queue(&self, queue: &str, came_by: Timestamp) -> Result<Emptied> {
        self.empty_step(queue, came_by).await
    }

    async fn change_mark(&self) -> Result<u64> {
        self.mark_of_changes().await
    }

    async fn retention(&self) -> Result<Vec<RetentionRule>> {
        self.all_rules().await
    }

    async fn set_retention(&self, rule: &RetentionRule) -> Result<()> {
        self.set_rule(rule).await
    }

    async fn remove_retention(&self, scope: &RetentionScope) -> Result<bool> {
        self.remove_rule(scope).await
    }

    async fn prune(&self, pruner: Pruner) -> Result<Pruned> {
        self.prune_step(pruner).await
    }

    async fn enqueue_once(&self, request: &RequestKey, jobs: &[NewJob]) -> Result<Once> {
        self.add_once(request, jobs).await
    }

    async fn add_token(&self, token: &NewToken, hash: SecretHash) -> Result<Timestamp> {
        self.keep_token(token, hash).await
    }

    async fn tokens(&self) -> Result<Vec<TokenRow>> {
        self.all_tokens().await
    }

    async fn token(&self, hash: SecretHash) -> Result<Option<TokenRow>> {
        self.find_token(hash).await
    }

    async fn touch_token(&self, id: TokenId) -> Result<()> {
        self.note_use(id).await
    }

    async fn revoke_token(&self, id: TokenId) -> Result<bool> {
        self.end_token(id).await
    }

    async fn add_user(&self, user: &NewUser) -> Result<bool> {
        self.keep_user(user).await
    }

    async fn users(&self) -> Result<Vec<UserRow>> {
        self.all_users().await
    }

    async fn user(&self, name: &str) -> Result<Option<(UserRow, PasswordHash)>> {
        self.find_user(name).await
    }

    async fn change_user(&self, name: &str, change: &UserChange) -> Result<bool> {
        self.edit_user(name, change).await
    }

    async fn remove_user(&self, name: &str) -> Result<bool> {
        self.drop_user(name).await
    }

    async fn add_session(
        &self,
        session: &NewSession,
        hash: SecretHash,
    ) -> Result<Option<Timestamp>> {
        self.open_session(session, hash).await
    }

    async fn session(&self, hash: SecretHash) -> Result<Option<SessionRow>> {
        self.find_session(hash).await
    }

    async fn sessions(&self) -> Result<Vec<SessionRow>> {
        self.all_sessions().await
    }

    async fn touch_session(&self, id: SessionId) -> Result<()> {
        self.see_session(id).await
    }

    async fn end_session(&self, id: SessionId) -> Result<bool> {
        self.close_session(id).await
    }

    async fn begin_entry(&self, entry: &NewEntry) -> Result<()> {
        self.begin_audit(entry).await
    }

    async fn end_entry(&self, id: EntryId, end: &EntryEnd) -> Result<()> {
        self.end_audit(id, end).await
    }

    async fn entries(&self, before: Option<EntryId>, most: u32) -> Result<Vec<Entry>> {
        self.list_audit(before, most).await
    }

    async fn prune_entries(&self, lead: Lead, keep: Duration) -> Result<bool> {
        self.forget_audit(lead, keep).await
    }

    async fn start_operation(
        &self,
        operation: &NewOperation,
        total: Count,
    ) -> Result<OperationRow> {
        self.keep_operation(operation, total).await
    }

    async fn operation(&self, id: OperationId) -> Result<Option<OperationRow>> {
        self.find_operation(id).await
    }

    async fn operations(
        &self,
        before: Option<OperationId>,
        most: u32,
    ) -> Result<Vec<OperationRow>> {
        self.list_operations(before, most).await
    }

    async fn ask_operation(&self, id: OperationId, ask: OperationAsk) -> Result<OperationRow> {
        self.tell_operation(id, ask).await
    }

    async fn next_operation(&self) -> Result<Option<OperationId>> {
        self.first_operation().await
    }

    async fn step_operation(&self, lead: Lead, step: &OperationStep) -> Result<OperationRow> {
        self.do_step(lead, step).await
    }

    async fn fail_operation(&self, lead: Lead, id: OperationId, error: &str) -> Result<()> {
        self.give_up_operation(lead, id, error).await
    }

    async fn prune_operations(&self, lead: Lead, keep: Duration) -> Result<bool> {
        self.forget_operations(lead, keep).await
    }

    async fn checkup(&self, _depth: Depth) -> Result<Vec<Check>> {
        self.look_over().await
    }

    fn side_file_bytes(&self) -> Option<u64> {
        None
    }

    fn traffic(&self) -> Traffic {
        self.seen_traffic()
    }

    fn wakes(&self) -> &WakeHub {
        &self.hub
    }

    async fn listen(&self) {
        self.hear().await;
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    async fn now(&self) -> Result<Timestamp> {
        match self.clock.fixed() {
            Some(now) => Ok(now),
            None => self.clock_time().await,
        }
    }

    fn backend(&self) -> &'static str {
        "postgres"
    }

    async fn close(&self) {
        self.stop.cancel();
        let all = futures_util::future::join_all(self.pools.all().map(|pool| pool.close()));
        // Not for ever: a connection whose packets vanish is not given back.
        let _ = tokio::time::timeout(self.options.busy_for, all).await;
    }

    #[cfg(feature = "bench")]
    fn meter(&self) -> &dyn crate::bench::Meter {
        self
    }
}
