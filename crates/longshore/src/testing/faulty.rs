//! A store around a store, where faults that a test armed come to pass.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::Faults;
use crate::access::{
    NewSession, NewToken, NewUser, PasswordHash, SecretHash, SessionId, SessionRow, TokenId,
    TokenRow, UserChange, UserRow,
};
use crate::audit::{Entry, EntryEnd, EntryId, NewEntry};
use crate::clock::Clock;
use crate::job::{JobId, JobRow, NewJob, State};
use crate::operation::{NewOperation, OperationAsk, OperationId, OperationRow, OperationStep};
use crate::query::Filter;
use crate::store::{
    Ack, AskCancel, Beat, Check, Claim, Claimed, ClaimedJob, Conn, Count, Counted, Depth, DoneInTx,
    Edit, Effort, Emptied, Ending, Enqueued, Held, HeldRun, Lead, ListQuery, LogPage, LogQuery,
    NewNode, NodeId, NodeRow, Once, OpenTx, Page, Parts, Pause, PauseScope, ProgressRow, Pruned,
    Pruner, Pulse, QueueCount, Remote, Repeat, RequestKey, Rescued, Result, RetentionRule,
    RetentionScope, Said, Saying, SetPause, Store, StoredKind, Term, Traffic, WakeHub, Wish,
    sealed,
};
use crate::time::Timestamp;

/// The store that clients and workers of a test see.
pub(super) struct Faulty {
    pub inner: Arc<dyn Store>,
    pub faults: Faults,
}

impl sealed::Sealed for Faulty {}

/// Writes the calls that are only handed on: the first group may be refused, the second is upkeep's, whose
/// number in a test nobody can tell. What is in the braces has faults of its own.
macro_rules! hand_on {
    (
        refused { $($asked:ident($($a:ident: $at:ty),*) -> $answer:ty;)* }
        never { $($free:ident($($f:ident: $ft:ty),*) -> $free_answer:ty;)* }
        own { $($own:tt)* }
    ) => {
        #[async_trait]
        impl Store for Faulty {
            $(async fn $asked(&self, $($a: $at),*) -> Result<$answer> {
                self.faults.pass(stringify!($asked))?;
                self.inner.$asked($($a),*).await
            })*
            $(async fn $free(&self, $($f: $ft),*) -> Result<$free_answer> {
                self.inner.$free($($f),*).await
            })*
            $($own)*
        }
    };
}

hand_on! {
    refused {
        enqueue_in(conn: Conn<'_>, jobs: &[NewJob]) -> Vec<Enqueued>;
        begin_tx() -> OpenTx;
        begin_entry(entry: &NewEntry) -> ();
        start_operation(operation: &NewOperation, total: Count) -> OperationRow;
        operation(id: OperationId) -> Option<OperationRow>;
        operations(before: Option<OperationId>, most: u32) -> Vec<OperationRow>;
        ask_operation(id: OperationId, ask: OperationAsk) -> OperationRow;
        cancel(id: JobId, ask: &AskCancel) -> State;
        retry(id: JobId, attempts: u32, edit: &Edit) -> ();
        edit(id: JobId, edit: &Edit) -> u32;
        delete(id: JobId) -> ();
        get(id: JobId) -> Option<JobRow>;
        log(id: JobId, query: &LogQuery) -> LogPage;
        progress(id: JobId) -> Option<ProgressRow>;
        list(query: &ListQuery) -> Page;
        count(filter: &Filter, effort: Effort) -> Count;
    }
    never {
        migrate() -> Vec<u32>;
        schema_version() -> u32;
        cancels(node: NodeId) -> Vec<JobId>;
        forget_keys(lead: Lead) -> bool;
        join(node: &NewNode) -> ();
        remote(node: NodeId) -> Option<Remote>;
        held(node: NodeId, known: &[JobId], most: u32) -> Vec<ClaimedJob>;
        held_runs(node: NodeId, ids: &[JobId]) -> Vec<HeldRun>;
        nodes() -> Vec<NodeRow>;
        wish(node: NodeId, wish: Option<Wish>) -> ();
        kinds() -> Vec<StoredKind>;
        running() -> Vec<(String, u64)>;
        rescue() -> Rescued;
        sweep(lead: Lead) -> Rescued;
        lead(node: NodeId, for_: Duration) -> Option<Term>;
        resign(lead: Lead) -> ();
        make_partitions(lead: Lead, days: u32) -> ();
        count_queues(lead: Lead) -> Counted;
        queue_counts() -> Vec<QueueCount>;
        pause(pause: &SetPause) -> Pause;
        resume(scope: PauseScope, name: &str) -> bool;
        pauses() -> Vec<Pause>;
        empty_queue(queue: &str, came_by: Timestamp) -> Emptied;
        change_mark() -> u64;
        retention() -> Vec<RetentionRule>;
        set_retention(rule: &RetentionRule) -> ();
        remove_retention(scope: &RetentionScope) -> bool;
        prune(pruner: Pruner) -> Pruned;
        add_token(token: &NewToken, hash: SecretHash) -> Timestamp;
        tokens() -> Vec<TokenRow>;
        token(hash: SecretHash) -> Option<TokenRow>;
        touch_token(id: TokenId) -> ();
        revoke_token(id: TokenId) -> bool;
        add_user(user: &NewUser) -> bool;
        users() -> Vec<UserRow>;
        user(name: &str) -> Option<(UserRow, PasswordHash)>;
        change_user(name: &str, change: &UserChange) -> bool;
        remove_user(name: &str) -> bool;
        add_session(session: &NewSession, hash: SecretHash) -> Option<Timestamp>;
        session(hash: SecretHash) -> Option<SessionRow>;
        sessions() -> Vec<SessionRow>;
        touch_session(id: SessionId) -> ();
        end_session(id: SessionId) -> bool;
        end_entry(id: EntryId, end: &EntryEnd) -> ();
        entries(before: Option<EntryId>, most: u32) -> Vec<Entry>;
        prune_entries(lead: Lead, keep: Duration) -> bool;
        next_operation() -> Option<OperationId>;
        step_operation(lead: Lead, step: &OperationStep) -> OperationRow;
        fail_operation(lead: Lead, id: OperationId, error: &str) -> ();
        prune_operations(lead: Lead, keep: Duration) -> bool;
        checkup(depth: Depth) -> Vec<Check>;
        now() -> Timestamp;
    }
    own {
        async fn enqueue(&self, jobs: &[NewJob], repeat: Repeat) -> Result<Vec<Enqueued>> {
            self.faults.pass("enqueue")?;
            self.faults.reply(self.inner.enqueue(jobs, repeat).await?)
        }

        async fn enqueue_once(&self, request: &RequestKey, jobs: &[NewJob]) -> Result<Once> {
            self.faults.pass("enqueue")?;
            self.faults.reply(self.inner.enqueue_once(request, jobs).await?)
        }

        async fn enqueue_parts(&self, parts: Parts) -> Result<Vec<Enqueued>> {
            self.faults.pass("enqueue")?;
            self.faults.reply(self.inner.enqueue_parts(parts).await?)
        }

        async fn enqueue_unless_busy(&self, jobs: &[NewJob]) -> Result<Vec<Enqueued>> {
            self.faults.pass("enqueue")?;
            self.faults.reply(self.inner.enqueue_unless_busy(jobs).await?)
        }

        async fn claim(&self, claim: &Claim<'_>) -> Result<Claimed> {
            self.faults.pass("claim jobs")?;
            if self.faults.is_gone(claim.node) {
                // A real worker finds itself lost by this and joins anew: its process was restarted.
                let now = self.inner.now().await?;
                return Ok(Claimed { jobs: Vec::new(), now, live: false, picked: 0, pauses: Default::default(), next_due: None });
            }
            let claimed = self.inner.claim(claim).await?;
            if !claimed.jobs.is_empty() && self.faults.crashes_after_claim(claim.node) {
                self.faults.pass_node(claim.node, "claim jobs")?;
            }
            Ok(claimed)
        }

        async fn recall(&self, node: NodeId, no: i64) -> Result<Vec<ClaimedJob>> {
            if self.faults.is_gone(node) {
                return Ok(Vec::new());
            }
            self.inner.recall(node, no).await
        }

        async fn finish(&self, node: NodeId, ended: &[(Held, Ending)]) -> Result<Vec<Ack>> {
            self.faults.pass("write how jobs ended")?;
            // What is given back was not run, so there is no ack to crash before.
            let ran = ended.iter().any(|(_, ending)| !matches!(ending, Ending::GivenBack));
            if ran {
                self.faults.crashes_before_ack(node);
            }
            self.faults.pass_node(node, "write how jobs ended")?;
            self.inner.finish(node, ended).await
        }

        async fn say(&self, node: NodeId, said: &[Saying]) -> Result<Vec<Said>> {
            self.faults.pass_node(node, "keep what runs said")?;
            self.inner.say(node, said).await
        }

        async fn finish_tx(&self, tx: OpenTx, node: NodeId, done: DoneInTx<'_>) -> Result<Ack> {
            self.faults.pass("commit a handler's transaction")?;
            self.faults.crashes_before_ack(node);
            self.faults.pass_node(node, "commit a handler's transaction")?;
            self.inner.finish_tx(tx, node, done).await
        }

        async fn beat(&self, beat: &Beat) -> Result<Pulse> {
            if self.faults.is_gone(beat.node) {
                return Ok(Pulse::Lost);
            }
            self.inner.beat(beat).await
        }

        async fn leave(&self, node: NodeId) -> Result<()> {
            if self.faults.is_gone(node) {
                return Ok(());
            }
            self.inner.leave(node).await
        }

        fn wakes(&self) -> &WakeHub {
            self.inner.wakes()
        }

        async fn listen(&self) {
            self.inner.listen().await;
        }

        fn side_file_bytes(&self) -> Option<u64> {
            self.inner.side_file_bytes()
        }

        fn traffic(&self) -> Traffic {
            self.inner.traffic()
        }

        fn clock(&self) -> &Clock {
            self.inner.clock()
        }

        fn backend(&self) -> &'static str {
            self.inner.backend()
        }

        async fn close(&self) {
            self.inner.close().await;
        }

        #[cfg(feature = "bench")]
        fn meter(&self) -> &dyn crate::bench::Meter {
            self.inner.meter()
        }
    }
}
