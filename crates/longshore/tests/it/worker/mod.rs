//! A worker as its users see it: real handlers, the real clock, short times. A case is written once
//! and stamped for each backend, like those of the suite.

pub mod cancel;
#[cfg(feature = "capture")]
pub mod captured;
#[cfg(feature = "postgres")]
pub mod cut;
pub mod dead;
#[cfg(feature = "macros")]
pub mod derived;
pub mod files;
#[cfg(feature = "postgres")]
pub mod hints;
pub mod hooks;
pub mod lease;
pub mod metrics;
pub mod outcomes;
pub mod pauses;
#[cfg(target_os = "linux")]
pub mod processes;
#[cfg(feature = "postgres")]
pub mod races;
pub mod said;
pub mod slots;
pub mod stops;
pub mod transactions;
pub mod typed;
pub mod versions;
pub mod wakes;
pub mod wishes;
pub mod work;

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use longshore::store::{AskCancel, Store};
use longshore::{
    Client, Clock, JobId, JobRow, Limits, NewJob, State, Timestamp, Worker, WorkerConfig,
};

use crate::harness::*;

/// How long a test's node keeps its jobs without a heartbeat.
pub const LEASE: Duration = Duration::from_secs(3);
/// How long before the end of its lease it stops its handlers.
pub const MARGIN: Duration = Duration::from_secs(1);
const BEAT: Duration = Duration::from_millis(300);
const LONGEST_CASE: Duration = Duration::from_secs(90);
const LONGEST_WAIT: Duration = Duration::from_secs(20);

/// A database with the real clock, and a client on it.
pub struct Desk {
    pub t: Harness,
    pub client: Client,
}

/// Runs `case` on a fresh database, and takes the database away whatever happened.
pub fn run<F: Future<Output = ()>>(flavour: Flavour, case: impl FnOnce(Arc<Desk>) -> F) {
    block_on(async {
        let Some(t) = Harness::with_clock(flavour, Clock::real()).await else { return };
        let client = client_at(&t, &t.database.url()).await;
        let desk = Arc::new(Desk { t: t.clone(), client: client.clone() });
        let case = tokio::time::timeout(LONGEST_CASE, case(desk));
        let ended = AssertUnwindSafe(case).catch_unwind().await;
        client.close().await;
        t.remove().await;
        match ended {
            Ok(in_time) => in_time.expect("the test ends in time"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    });
}

async fn client_at(t: &Harness, url: &str) -> Client {
    let options = t.database.options(Clock::real());
    Client::open_with(url, options, Limits::default()).await.expect("a client")
}

/// Short times, so that a test may wait for them.
pub fn short() -> WorkerConfig {
    WorkerConfig {
        lease_for: LEASE,
        heartbeat_every: BEAT,
        stop_margin: MARGIN,
        poll_every: 200 * MILLI,
        drain_for: 5 * SECOND,
        ..WorkerConfig::default()
    }
}

/// Waits until `come` is true, not for ever.
pub async fn until(what: &str, mut come: impl AsyncFnMut() -> bool) {
    let give_up = Instant::now() + LONGEST_WAIT;
    while !come().await {
        assert!(Instant::now() < give_up, "waited {LONGEST_WAIT:?} in vain until {what}");
        tokio::time::sleep(5 * MILLI).await;
    }
}

impl Desk {
    /// A worker with short times and ten slots, without handlers.
    pub fn worker(&self) -> Worker {
        Worker::new(self.client.clone()).config(short()).queue("default", 10)
    }

    /// Another process's client on the same database.
    pub async fn beside(&self) -> Client {
        self.client_at(&self.t.database.url()).await
    }

    pub async fn client_at(&self, url: &str) -> Client {
        client_at(&self.t, url).await
    }

    /// A store whose clock is so far ahead that every lease has run out by it.
    pub async fn ahead(&self) -> Arc<dyn Store> {
        let clock = Clock::manual(Timestamp::now());
        clock.advance(MINUTE);
        longshore::store::open(&self.t.database.url(), self.t.database.options(clock))
            .await
            .expect("a store ahead of time")
    }

    pub async fn enqueue(&self, job: NewJob) -> JobId {
        self.client.enqueue(job).await.expect("a job is enqueued").id
    }

    pub async fn enqueue_many(&self, jobs: Vec<NewJob>) -> Vec<JobId> {
        let added = self.client.enqueue_many(jobs).await.expect("jobs are enqueued");
        added.into_iter().map(|added| added.id).collect()
    }

    pub async fn get(&self, id: JobId) -> JobRow {
        self.t.get(id).await
    }

    /// Waits until the job is in this state.
    pub async fn comes_to(&self, id: JobId, state: State) -> JobRow {
        until(&format!("job {id} is {state}"), async || self.t.state(id).await == state).await;
        self.get(id).await
    }

    pub async fn cancel(&self, id: JobId) -> State {
        self.client.cancel(id, AskCancel::default()).await.expect("a cancel")
    }

    /// How many jobs the database says are running.
    pub async fn running(&self) -> u64 {
        self.client.nodes().await.expect("nodes").iter().map(|node| node.running).sum()
    }

    /// How many jobs are in this state.
    pub async fn count(&self, state: State) -> usize {
        let filter = longshore::Filter::all().state(state);
        let effort = longshore::store::Effort::Unbounded;
        self.client.count(filter, effort).await.expect("a count").value as usize
    }
}

/// Counts what happens in handlers.
#[derive(Clone, Default)]
pub struct Tally(Arc<AtomicUsize>);

impl Tally {
    pub fn add(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Holds handlers until it is opened.
#[derive(Clone, Default)]
pub struct Gate(tokio_util::sync::CancellationToken);

impl Gate {
    pub fn open(&self) {
        self.0.cancel();
    }

    pub fn is_open(&self) -> bool {
        self.0.is_cancelled()
    }

    pub async fn pass(&self) {
        self.0.cancelled().await;
    }
}

/// `worker_cases!(Sqlite; file: [case, …]; …)`: one test for each case, on that backend.
macro_rules! worker_cases {
    ($flavour:ident; $($file:ident: [$($case:ident,)*];)*) => {
        $(mod $file {
            $(#[test]
            fn $case() {
                crate::worker::run(
                    crate::harness::Flavour::$flavour,
                    crate::worker::$file::$case,
                );
            })*
        })*
    };
}

/// All that hold on every backend.
macro_rules! every_worker_case {
    ($flavour:ident) => {
        worker_cases! { $flavour;
            outcomes: [
                a_panic_costs_an_attempt_and_no_slot,
                an_error_is_kept_with_its_causes,
                a_handler_that_waits_for_ever_is_cut_off_in_time,
                a_handler_that_spins_is_cut_off_and_counted_as_stuck,
                a_blocking_handler_that_hangs_is_cut_off_and_counted_as_stuck,
                a_hundred_bad_ends_leave_nobody_busy,
                a_snooze_costs_no_attempt,
                a_handler_may_end_its_job_for_good,
                a_payload_that_does_not_fit_is_dead_at_once,
                an_output_that_cannot_be_kept_is_told_apart,
                an_unknown_kind_waits_for_a_node_that_knows_it,
                a_result_that_cannot_be_stored_fails_alone,
                a_kind_may_say_itself_how_long_it_waits,
                a_kinds_backoff_that_panics_leaves_it_to_the_policy,
            ];
            cancel: [
                a_cancel_reaches_a_running_job_within_a_second,
                a_late_success_of_a_cancelled_job_stays_cancelled,
                a_cancel_of_a_job_kept_ready_ends_it_unstarted,
            ];
            said: [
                progress_and_lines_are_seen_while_it_runs,
                short_runs_leave_all_they_said,
                much_progress_is_few_writes,
                whatever_ends_a_run_its_words_stay,
                what_a_stop_gives_back_has_its_words,
                a_flood_of_lines_keeps_the_newest_and_blocks_nobody,
                no_fraction_fails_a_handler,
                a_log_that_cannot_be_kept_costs_no_run,
                words_are_kept_with_a_handlers_own_transaction,
                follow_ups_of_a_repeated_run_are_there_once,
            ];
            slots: [
                jobs_kept_ready_behind_a_slow_one_run_elsewhere,
                handlers_that_use_the_client_cost_no_lease,
                handlers_that_block_every_thread_cost_no_lease,
                settings_that_cannot_work_are_refused_together,
            ];
            stops: [
                a_stop_lets_runs_end_and_starts_nothing_new,
                what_a_stop_cannot_wait_for_is_given_back,
                a_handler_that_ignores_a_stop_is_cut_off_and_given_back,
                a_forced_stop_waits_for_nobody,
                a_stop_gives_back_what_was_kept_ready,
                nodes_that_stop_leave_no_rows,
            ];
            lease: [
                a_live_node_declared_lost_joins_anew,
                a_rescue_by_a_node_without_handlers_is_enough,
                there_is_a_leader_again_after_the_first_stops,
            ];
            typed: [
                a_handler_takes_what_it_needs,
                what_cannot_be_taken_ends_the_attempt_as_it_says,
                what_a_handler_lacks_is_said_at_the_start,
                an_error_says_what_it_means,
                a_kinds_own_backoff_comes_with_its_type,
                a_handler_that_heeds_a_stop_loses_no_attempt,
                a_function_that_blocks_is_a_handler_too,
                an_output_comes_back_as_its_type,
                layers_lie_around_one_handler_and_around_all,
                a_limit_in_a_layer_is_shared_by_all_runs,
                an_error_of_a_layer_fails_the_attempt,
            ];
            dead: [
                all_that_match_run_again_or_go,
                all_that_match_are_cancelled,
            ];
            metrics: [
                every_end_of_a_run_is_counted_by_kind_queue_and_outcome,
                the_leader_tells_everybody_how_deep_the_queues_are,
                only_what_is_new_counts_as_enqueued,
            ];
            hooks: [
                hooks_are_told_how_runs_start_and_end,
                a_hook_is_told_of_jobs_that_died_with_their_node,
                a_hook_before_the_enqueue_sees_every_job,
            ];
            transactions: [
                an_effect_and_its_completion_are_committed_together,
                an_attempt_that_fails_leaves_no_effect,
                a_handler_cut_off_by_a_stop_leaves_no_effect,
                two_transactions_for_one_handler_are_refused,
            ];
            versions: [
                an_older_payload_is_upgraded_when_it_runs,
                what_cannot_be_upgraded_is_dead_at_once,
                two_programs_share_the_work_of_a_rollout,
                what_does_not_fit_is_not_quoted,
                people_are_shown_no_redacted_field,
                a_program_can_be_asked_what_it_would_do,
                a_version_that_no_job_can_have_is_refused_at_the_start,
            ];
            pauses: [
                what_was_passed_over_runs_at_once_after_a_resume,
                another_process_pauses_and_resumes,
                a_pause_that_ends_by_itself_is_over_at_once,
                a_node_that_starts_while_paused_waits,
                polling_alone_obeys,
            ];
            wishes: [
                a_quiet_node_claims_nothing_finishes_what_runs_and_goes_on_when_asked,
                a_node_is_told_at_once_by_its_own_process,
                a_stop_from_elsewhere_is_like_one_from_here,
                a_quiet_process_that_is_lost_joins_anew_and_stays_quiet,
            ];
            work: [
                a_lost_lease_reply_is_handed_out_again_and_to_nobody_else,
                a_caller_that_hangs_up_finds_its_jobs_with_the_next_call,
                a_server_started_anew_goes_on_where_the_other_stopped,
                ends_are_written_as_a_worker_in_the_process_writes_them,
                attempts_and_backoff_come_from_the_store,
                a_repeated_late_or_doubled_end_writes_nothing_more,
                a_worker_that_sleeps_past_its_lease_hands_in_nothing,
                a_waiting_call_hears_that_its_node_is_lost,
                an_enqueue_on_one_server_answers_who_waits_at_the_other,
                a_cancel_reaches_a_waiting_heartbeat_within_a_second,
                a_heartbeat_never_waits_longer_than_a_third_of_its_lease,
                a_quiet_node_gets_nothing_new_and_hears_why,
                a_server_that_stops_ends_every_wait,
                pauses_and_limits_are_kept,
                an_answer_has_so_many_bytes_and_the_rest_is_others,
                what_workers_say_is_kept_once,
                a_worker_that_leaves_holds_up_nobody,
                ended_claims_leave_no_notes,
            ];
            wakes: [
                an_idle_worker_starts_a_job_at_once,
                what_runs_again_after_a_while_does_so_in_time,
                what_is_scheduled_starts_in_time,
                retries_rescues_and_what_is_given_back_start_at_once,
                a_commit_of_another_process_starts_a_job_at_once,
                a_callers_commit_wakes_an_idle_worker,
                a_job_that_was_passed_over_starts_on_a_busy_worker,
                polling_alone_runs_every_job,
                a_failed_job_comes_back_at_its_time,
                a_bad_row_fails_no_neighbour,
            ];
        }
    };
}

mod sqlite {
    every_worker_case!(Sqlite);
    #[cfg(feature = "capture")]
    worker_cases! { Sqlite;
        captured: [
            events_of_a_handler_are_kept_with_its_run,
        ];
    }
    #[cfg(feature = "macros")]
    worker_cases! { Sqlite;
        derived: [
            a_derived_job_runs_as_its_options_say,
        ];
    }
    worker_cases! { Sqlite;
        files: [
            a_file_locked_beyond_the_lease_stops_handlers_in_time,
            a_stop_while_the_file_is_locked_ends_in_bounded_time,
        ];
    }
    #[cfg(target_os = "linux")]
    worker_cases! { Sqlite;
        processes: [
            a_job_that_kills_its_process_dies_in_the_end,
            a_killed_nodes_jobs_start_elsewhere,
            a_worker_whose_handle_is_dropped_serves_and_rests,
            a_node_whose_file_is_locked_burns_little,
        ];
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    every_worker_case!(Postgres);
    #[cfg(feature = "capture")]
    worker_cases! { Postgres;
        captured: [
            events_of_a_handler_are_kept_with_its_run,
        ];
    }
    #[cfg(feature = "macros")]
    worker_cases! { Postgres;
        derived: [
            a_derived_job_runs_as_its_options_say,
        ];
    }
    worker_cases! { Postgres;
        cut: [
            a_node_that_is_cut_off_stops_its_handlers_and_joins_anew,
            a_node_whose_packets_vanish_stops_its_handlers_and_joins_anew,
            results_outlast_an_outage_and_nothing_runs_twice,
            readiness_goes_with_the_lease_and_comes_back,
            a_claim_whose_reply_is_lost_runs_its_jobs_once,
            a_finish_whose_reply_is_lost_is_written_once,
            a_stop_while_the_database_is_away_ends_in_bounded_time,
            a_stop_while_packets_vanish_ends_in_bounded_time,
            claims_pause_while_results_pile_up,
        ];
        races: [
            a_cancel_meanwhile_takes_the_effect_back,
            a_lost_lease_takes_the_effect_back,
            a_commit_whose_reply_is_lost_counts_once,
            a_commit_that_never_arrives_does_nothing,
        ];
        hints: [
            single_enqueues_share_their_commits,
            jobs_start_after_the_listener_was_killed_ten_times,
            a_leader_whose_first_chore_fails_does_it_later,
            a_leader_that_hangs_holds_up_no_rescue,
            callers_at_once_notify_once_in_a_while,
            switched_off_nobody_is_told,
            a_database_may_switch_it_off_for_callers,
        ];
    }
    #[cfg(target_os = "linux")]
    worker_cases! { Postgres;
        processes: [
            a_job_that_kills_its_process_dies_in_the_end,
            a_killed_nodes_jobs_start_elsewhere,
            a_worker_whose_handle_is_dropped_serves_and_rests,
            a_node_without_its_database_burns_no_processor,
        ];
    }
}

/// Through a pooler nothing is heard, so there polling must do.
#[cfg(feature = "postgres")]
mod pooled {
    worker_cases! { Pooled;
        outcomes: [
            a_panic_costs_an_attempt_and_no_slot,
            a_hundred_bad_ends_leave_nobody_busy,
            a_snooze_costs_no_attempt,
        ];
        cancel: [
            a_cancel_reaches_a_running_job_within_a_second,
        ];
        slots: [
            handlers_that_use_the_client_cost_no_lease,
        ];
        stops: [
            what_a_stop_cannot_wait_for_is_given_back,
        ];
        lease: [
            a_live_node_declared_lost_joins_anew,
        ];
        transactions: [
            an_effect_and_its_completion_are_committed_together,
            an_attempt_that_fails_leaves_no_effect,
        ];
        pauses: [
            polling_alone_obeys,
        ];
        wakes: [
            polling_alone_runs_every_job,
        ];
    }
}
