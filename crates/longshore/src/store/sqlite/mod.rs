//! SQLite: a file in the same process.
//!
//! One connection writes; every writing transaction takes the lock at its start. A few connections
//! read, in short transactions of their own. Twin of `postgres/`: same file names, same words.

mod audit;
#[cfg(feature = "bench")]
mod bench;
mod bulk;
mod checkpoint;
mod checkup;
mod claim;
mod connect;
mod edit;
mod enqueue;
mod error;
mod finish;
mod host;
mod kinds;
mod list;
mod migrate;
mod mount;
mod node;
mod once;
mod operate;
mod operation;
mod pause;
mod prune;
mod queues;
mod read;
mod relaxed;
mod remote;
mod retention;
mod rows;
mod say;
mod sql;
mod session;
mod token;
mod user;
mod tx;
mod unique;
mod wake;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;

use super::tx::Inner;
use super::*;
pub(crate) use migrate::KNOWN as MIGRATIONS;
pub(crate) use tx::{HandlerTx, SqliteConn};

/// Jobs in one SQLite file.
pub(crate) struct SqliteStore {
    writer: connect::Pool,
    readers: connect::Pool,
    /// `None`: in memory.
    file: Option<PathBuf>,
    durability: Durability,
    /// What nodes of this process say of their host.
    host: String,
    allow_other_host: bool,
    clock: Clock,
    busy_for: Duration,
    hub: WakeHub,
    /// `None`: in memory.
    checkpoints: Option<checkpoint::Checkpoints>,
    /// What a prune remembers.
    walks: walk::Memories<walk::Walk>,
}

impl sealed::Sealed for SqliteStore {}

#[async_trait]
impl Store for SqliteStore {
    async fn migrate(&self) -> Result<Vec<u32>> {
        self.migrate_up().await
    }

    async fn schema_version(&self) -> Result<u32> {
        self.version().await
    }

    async fn enqueue(&self, jobs: &[NewJob], repeat: Repeat) -> Result<Vec<Enqueued>> {
        self.add(jobs, repeat).await
    }

    async fn enqueue_parts(&self, parts: Parts) -> Result<Vec<Enqueued>> {
        self.add_parts(parts).await
    }

    async fn enqueue_unless_busy(&self, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        self.add(jobs, Repeat::No).await
    }

    async fn enqueue_in(&self, conn: Conn<'_>, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
        match conn.0 {
            Inner::Sqlite(conn) => self.add_in(conn.0, jobs).await,
            #[cfg(feature = "postgres")]
            _ => Err(StoreError::config(
                "the transaction is of another database than this store, which is SQLite",
            )),
        }
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
        self.asked(node).await
    }

    async fn retry(&self, id: JobId, attempts: u32, edit: &Edit) -> Result<()> {
        self.again(id, attempts, edit).await
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
        self.one(id).await
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
        self.forget_lost(lead).await
    }

    async fn lead(&self, node: NodeId, for_: Duration) -> Result<Option<Term>> {
        self.take_lead(node, for_).await
    }

    async fn resign(&self, lead: Lead) -> Result<()> {
        self.give_up_lead(lead).await
    }

    async fn make_partitions(&self, _lead: Lead, _days: u32) -> Result<()> {
        Ok(())
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

    async fn checkup(&self, depth: Depth) -> Result<Vec<Check>> {
        self.look_over(depth).await
    }

    fn side_file_bytes(&self) -> Option<u64> {
        self.side_bytes()
    }

    fn traffic(&self) -> Traffic {
        self.seen_traffic()
    }

    fn wakes(&self) -> &WakeHub {
        &self.hub
    }

    async fn listen(&self) {
        self.hear_others().await;
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    async fn now(&self) -> Result<Timestamp> {
        Ok(self.clock.now())
    }

    fn backend(&self) -> &'static str {
        "sqlite"
    }

    async fn close(&self) {
        if let Some(checkpoints) = &self.checkpoints {
            checkpoints.stop();
        }
        self.readers.close().await;
        self.writer.close().await;
    }

    #[cfg(feature = "bench")]
    fn meter(&self) -> &dyn crate::bench::Meter {
        self
    }
}

/// A list as JSON, for `json_each`.
fn json_array<T: serde::Serialize>(items: &[T]) -> String {
    serde_json::to_string(items).expect("lists of texts and numbers are JSON")
}
