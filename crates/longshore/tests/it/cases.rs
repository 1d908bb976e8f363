//! Every field case and every fault of the forerunners, each with the tests that prove it or with what
//! it still waits for. The numbers are those of the project's lists; the words are ours.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use Proof::{Test, Waits};

enum Proof {
    /// The name of a test, or of a case of the suite.
    Test(&'static str),
    /// The part of the product that it waits for.
    Waits(&'static str),
}

type Row = (&'static str, &'static str, &'static [Proof]);

#[rustfmt::skip]
const CASES: &[Row] = &[
    ("FC-001", "a killed node's jobs start elsewhere", &[Test("jobs_of_a_node_whose_lease_ran_out_are_queued_again"), Test("a_killed_nodes_jobs_start_elsewhere")]),
    ("FC-002", "a long job runs once, an orphan soon", &[Test("a_heartbeat_renews_the_lease"), Test("handlers_that_block_every_thread_cost_no_lease"), Test("a_killed_nodes_jobs_start_elsewhere")]),
    ("FC-003", "no owner's row, no orphan", &[Test("a_node_row_deleted_by_hand_leaves_no_orphan"), Test("a_sweep_finds_running_jobs_without_a_node")]),
    ("FC-004", "upkeep leaves live runs alone", &[Test("a_heartbeat_renews_the_lease")]),
    ("FC-005", "a node that lost its lease writes nothing", &[Test("every_ending_of_a_lost_lease_writes_nothing"), Test("a_live_node_declared_lost_joins_anew"), Test("a_node_that_is_cut_off_stops_its_handlers_and_joins_anew"), Test("a_worker_that_sleeps_past_its_lease_hands_in_nothing")]),
    ("FC-006", "nothing runs without a live owner", &[Test("each_job_ends_once_whatever_happens_to_its_nodes"), Test("a_checkup_counts_running_jobs_without_a_live_node")]),
    ("FC-007", "a claim whose reply was lost", &[Test("a_lost_reply_is_recalled"), Test("a_claim_whose_reply_is_lost_runs_its_jobs_once"), Test("a_lost_lease_reply_is_handed_out_again_and_to_nobody_else"), Test("a_caller_that_hangs_up_finds_its_jobs_with_the_next_call")]),
    ("FC-008", "ready says when the database is away", &[Test("readiness_goes_with_the_lease_and_comes_back"), Test("health_is_told_to_everybody")]),
    ("FC-009", "a finish racing a rescue", &[Test("a_rescue_racing_a_finish_ends_each_job_once")]),
    ("FC-010", "a late release frees no slot", &[Waits("limits")]),
    ("FC-011", "a cancel just before the error", &[Test("whatever_ends_a_run_asked_to_cancel_ends_it_cancelled"), Test("a_cancel_racing_a_finish_has_one_winner")]),
    ("FC-012", "a late result of a cancelled run", &[Test("a_late_done_of_a_cancelled_job_leaves_its_output"), Test("a_late_success_of_a_cancelled_job_stays_cancelled")]),
    ("FC-013", "the busy count returns to nothing", &[Test("a_hundred_bad_ends_leave_nobody_busy")]),
    ("FC-014", "killed between two writes", &[Test("a_call_is_all_or_nothing"), Waits("failpoints")]),
    ("FC-015", "a slow database repeats no finished job", &[Test("results_outlast_an_outage_and_nothing_runs_twice"), Test("a_finish_whose_reply_is_lost_is_written_once"), Test("a_repeated_late_or_doubled_end_writes_nothing_more")]),
    ("FC-016", "retry of a dead job", &[Test("retry_of_a_dead_job_adds_attempts_and_numbers_rise")]),
    ("FC-017", "a job that kills its process dies in the end", &[Test("the_last_attempt_is_dead_with_node_lost"), Test("a_job_that_kills_its_process_dies_in_the_end")]),
    ("FC-018", "a panic costs an attempt, not a slot", &[Test("a_panic_costs_an_attempt_and_no_slot")]),
    ("FC-019", "a cancelled killer never runs again", &[Test("a_job_asked_to_cancel_ends_cancelled"), Test("whatever_ends_a_run_asked_to_cancel_ends_it_cancelled")]),
    ("FC-020", "handlers that never return", &[Test("a_handler_that_waits_for_ever_is_cut_off_in_time"), Test("a_handler_that_spins_is_cut_off_and_counted_as_stuck"), Test("a_blocking_handler_that_hangs_is_cut_off_and_counted_as_stuck")]),
    ("FC-021", "a frozen node that wakes", &[Test("a_late_worker_cannot_finish_a_rescued_job"), Test("a_live_node_declared_lost_joins_anew"), Test("a_node_whose_packets_vanish_stops_its_handlers_and_joins_anew"), Test("a_worker_that_sleeps_past_its_lease_hands_in_nothing")]),
    ("FC-022", "huge attempt numbers", &[Test("the_default_lies_between_a_second_and_its_cap_at_any_attempt"), Test("extreme_numbers_do_not_overflow")]),
    ("FC-023", "unknown kinds wait unharmed", &[Test("an_unknown_kind_is_never_claimed"), Test("a_newer_version_waits_for_a_node_that_knows_it"), Test("two_programs_share_the_work_of_a_rollout"), Test("an_unknown_kind_waits_for_a_node_that_knows_it"), Waits("dashboard")]),
    ("FC-024", "a rescue needs no handler", &[Test("the_last_attempt_is_dead_with_node_lost"), Test("a_rescue_by_a_node_without_handlers_is_enough")]),
    ("FC-025", "stop with too little grace", &[Test("a_job_given_back_is_queued_as_it_was"), Test("what_a_stop_cannot_wait_for_is_given_back"), Test("a_handler_that_ignores_a_stop_is_cut_off_and_given_back"), Test("a_forced_stop_waits_for_nobody")]),
    ("FC-026", "stop with enough grace", &[Test("a_stop_lets_runs_end_and_starts_nothing_new")]),
    ("FC-027", "given back without an error", &[Test("a_job_given_back_is_queued_as_it_was"), Test("what_a_stop_cannot_wait_for_is_given_back")]),
    ("FC-028", "signals in a container", &[Waits("command line")]),
    ("FC-029", "a migration under load", &[Test("a_migration_behind_a_long_reader_holds_up_nobody"), Test("a_policy_of_a_newer_program_is_read_as_none")]),
    ("FC-030", "a migration over a million rows", &[Test("a_migration_behind_a_long_reader_holds_up_nobody")]),
    ("FC-031", "five nodes migrate at once", &[Test("five_nodes_migrate_at_once")]),
    ("FC-032", "ids beyond what a float holds", &[Test("ids_grow_within_a_process"), Test("numbers_of_claims_are_whole_numbers_in_any_language"), Test("a_job_is_added_runs_and_is_looked_at")]),
    ("FC-033", "a key in an open transaction", &[Test("nobody_is_a_duplicate_of_what_rolls_back"), Test("a_key_that_an_open_transaction_holds_is_busy")]),
    ("FC-034", "fifty clients, one key", &[Test("fifty_callers_at_once_make_one_job")]),
    ("FC-035", "a key conflict stops no pass", &[Test("a_superseded_run_whose_node_is_lost_is_dead"), Test("a_retry_is_refused_while_another_job_holds_its_key")]),
    ("FC-036", "a singleton pair in one batch", &[Test("a_superseded_run_that_does_not_end_well_is_dead"), Test("a_running_holder_gets_one_successor")]),
    ("FC-037", "windows of uniqueness", &[Test("a_window_is_a_fixed_stretch_of_time_of_the_jobs_own_time")]),
    ("FC-038", "replace what waits", &[Test("a_running_holder_gets_one_successor")]),
    ("FC-039", "one key five times in a call", &[Test("the_same_key_many_times_in_one_call"), Test("two_calls_with_the_same_keys_in_opposite_order")]),
    ("FC-040", "the second of a key never sleeps", &[Waits("limits")]),
    ("FC-041", "two programs' schedules", &[Waits("schedules")]),
    ("FC-042", "a due time survives restarts", &[Waits("schedules")]),
    ("FC-043", "one job a tick", &[Waits("schedules")]),
    ("FC-044", "a stale leader is refused", &[Test("a_prune_under_an_old_term_is_refused"), Test("a_stale_leader_takes_no_day_away"), Test("a_sweep_under_an_old_term_is_refused"), Test("partitions_under_an_old_term_are_refused"), Waits("schedules")]),
    ("FC-045", "a leader whose first read fails", &[Test("a_leader_whose_first_chore_fails_does_it_later")]),
    ("FC-046", "there is a leader again", &[Test("an_expired_lead_goes_to_the_next_with_a_higher_term"), Test("concurrent_candidates_make_one_leader"), Test("there_is_a_leader_again_after_the_first_stops")]),
    ("FC-047", "killed between tick and job", &[Waits("schedules")]),
    ("FC-048", "a tick whose job still waits", &[Waits("schedules")]),
    ("FC-049", "no catching up from before creation", &[Waits("schedules")]),
    ("FC-050", "ticks that overlap", &[Waits("schedules")]),
    ("FC-051", "a tick that cannot enqueue", &[Waits("schedules")]),
    ("FC-052", "clock changes in ten zones", &[Waits("schedules")]),
    ("FC-053", "steps in the doubled hour", &[Waits("schedules")]),
    ("FC-054", "one run each local day", &[Waits("schedules")]),
    ("FC-055", "zones that skip midnight", &[Waits("schedules")]),
    ("FC-056", "noon of the change", &[Waits("schedules")]),
    ("FC-057", "the 29th of February", &[Waits("schedules")]),
    ("FC-058", "clocks that differ", &[Waits("simulator")]),
    ("FC-059", "times outside the calendar", &[Test("a_hand_made_time_stops_nobody"), Test("the_edges_of_time_are_kept"), Test("what_lies_outside_is_refused_with_the_range_and_shown_without_panic")]),
    ("FC-060", "never before its time", &[Test("a_future_job_is_never_claimed_before_its_time")]),
    ("FC-061", "zones of server and process", &[Waits("schedules")]),
    ("FC-062", "somebody's old snapshot", &[Waits("bench")]),
    ("FC-063", "what notifying costs", &[Test("callers_at_once_notify_once_in_a_while"), Test("switched_off_nobody_is_told"), Test("polling_alone_runs_every_job")]),
    ("FC-064", "a killed notification session", &[Test("a_killed_listener_comes_back"), Test("jobs_start_after_the_listener_was_killed_ten_times")]),
    ("FC-065", "a database away for minutes", &[Test("results_outlast_an_outage_and_nothing_runs_twice"), Test("a_node_without_its_database_burns_no_processor"), Test("readiness_goes_with_the_lease_and_comes_back")]),
    ("FC-066", "the suite through a pooler", &[Test("postgresql_is_tested_or_said_to_be_left_out")]),
    ("FC-067", "two million future jobs", &[Test("a_claim_walks_no_future_job"), Test("a_plan_made_on_the_empty_table_stays_good")]),
    ("FC-068", "plans without statistics", &[Test("a_plan_made_on_the_empty_table_stays_good"), Waits("bench")]),
    ("FC-069", "handlers that use up the pool", &[Test("handlers_that_use_the_client_cost_no_lease"), Test("settings_that_cannot_work_are_refused_together")]),
    ("FC-070", "overlapping bulk calls", &[Test("overlapping_edits_never_deadlock"), Test("two_leaders_at_once_do_no_step_twice"), Test("each_job_ends_once_whatever_happens_to_its_nodes")]),
    ("FC-071", "pruning keeps up", &[Test("a_step_is_small"), Test("rows_that_come_where_others_went_are_found"), Test("it_says_how_far_behind_it_is_and_when_to_come_again"), Test("a_long_reader_holds_up_no_finish")]),
    ("FC-072", "many writers on one file", &[Test("two_processes_share_a_file"), Test("a_writer_that_is_in_the_way_is_waited_for"), Test("a_commit_of_another_process_starts_a_job_at_once")]),
    ("FC-073", "the side file shrinks again", &[Test("the_side_file_shrinks_when_a_long_reader_is_gone")]),
    ("FC-074", "a full disk", &[Test("a_full_disk_refuses_whole_calls_and_they_work_later"), Test("a_store_opened_on_a_read_only_disk_writes_when_it_may"), Test("a_worker_keeps_its_results_while_the_disk_is_full"), Test("a_disk_that_is_full_for_longer_than_a_lease_costs_no_job"), Test("open_files_that_take_no_writes_refuse_whole_calls_and_they_work_later"), Waits("HTTP")]),
    ("FC-075", "a file on a network mount", &[Test("a_file_on_a_network_mount_is_refused_by_name"), Test("a_second_host_is_refused_while_the_first_lives"), Test("of_two_hosts_that_start_at_once_one_serves"), Test("a_node_that_does_not_beat_is_taken_over_whatever_the_clocks_say"), Test("a_checkup_finds_a_damaged_file")]),
    ("FC-076", "hostile JSON", &[Test("payloads_are_kept_byte_for_byte"), Test("at_random_both_doors_say_the_same"), Test("numbers_keys_and_blanks_come_back_as_they_were")]),
    ("FC-077", "hostile outputs", &[Test("an_output_that_cannot_be_kept_leaves_a_marker"), Test("an_output_is_kept_byte_for_byte"), Test("an_output_that_cannot_be_kept_is_told_apart")]),
    ("FC-078", "a large job notifies little", &[Test("a_payload_of_a_mebibyte_comes_back_whole"), Test("odd_names_are_kept_and_found")]),
    ("FC-079", "lists of large jobs", &[Test("payloads_are_previews"), Test("whole_jobs_come_whole_in_pages_that_end_early"), Waits("dashboard")]),
    ("FC-080", "around the size limit", &[Test("just_below_the_limit_is_fine"), Test("the_sentence_names_field_and_limit"), Test("a_payload_at_its_limit_is_kept_and_one_above_is_refused")]),
    ("FC-081", "failures come back spread", &[Test("the_default_lies_between_a_second_and_its_cap_at_any_attempt")]),
    ("FC-082", "every way back spreads", &[Test("the_default_lies_between_a_second_and_its_cap_at_any_attempt"), Waits("bulk edits")]),
    ("FC-083", "a small tenant beside a big one", &[Waits("limits")]),
    ("FC-084", "ticks while all slots are busy", &[Waits("schedules")]),
    ("FC-085", "children that end in every way", &[Waits("workflows")]),
    ("FC-086", "a deleted child", &[Waits("workflows")]),
    ("FC-087", "counts over millions", &[Test("a_count_stops_at_ten_thousand_and_says_so"), Waits("dashboard")]),
    ("FC-088", "lists over millions", &[Test("a_look_is_bounded_and_its_cursor_honest"), Test("no_list_scans_a_table"), Test("no_list_scans_a_file"), Waits("dashboard")]),
    ("FC-089", "odd names everywhere", &[Test("odd_but_visible_names_are_names"), Test("odd_names_are_kept_and_found"), Test("names_fit_by_star_and_by_byte"), Test("names_may_be_anything_that_can_be_seen"), Waits("dashboard")]),
    ("FC-090", "zones in the browser", &[Waits("dashboard")]),
    ("FC-091", "digits stay", &[Test("payloads_are_kept_byte_for_byte"), Test("an_export_keeps_every_digit"), Test("numbers_keys_and_blanks_come_back_as_they_were"), Waits("dashboard")]),
    ("FC-092", "queries do not grow with queues", &[Test("fifty_queues_in_one_claim"), Waits("dashboard")]),
    ("FC-093", "inert payloads", &[Waits("dashboard")]),
    ("FC-094", "inert addresses", &[Test("addresses_with_markup_are_inert"), Waits("dashboard")]),
    ("FC-095", "other origins", &[Test("a_page_of_another_origin_changes_nothing_and_reads_nothing")]),
    ("FC-096", "masked keys", &[Test("hidden_fields_are_shown_to_who_may_see_them"), Test("what_is_called_like_a_secret_is_shown_nowhere"), Test("fields_that_are_called_like_a_secret_are_hidden_wherever_they_are"), Waits("dashboard")]),
    ("FC-097", "webhooks to inside", &[Test("addresses_around_this_machine_are_refused_however_they_are_written"), Test("only_the_public_internet_is_open"), Test("the_operator_opens_networks_and_names"), Test("an_answer_that_is_too_long_or_none_is_a_failure_that_tells_nothing")]),
    ("FC-098", "a name server that changes its mind", &[Test("a_name_that_leads_elsewhere_the_second_time_is_refused_then"), Test("one_address_of_several_that_is_refused_is_enough")]),
    ("FC-099", "exec without a shell", &[Test("a_program_gets_its_arguments_its_input_and_hardly_any_environment"), Test("what_was_not_allowed_is_refused_by_name"), Test("it_begins_in_the_files_folder_or_below"), Test("a_program_runs_if_the_operator_allowed_it")]),
    ("FC-100", "secrets in output", &[Test("each_form_is_masked"), Test("within_other_base64_its_bytes_are_gone"), Test("secrets_are_masked_however_a_program_writes_them")]),
    ("FC-101", "series of gone nodes", &[Test("a_queue_that_is_gone_is_forgotten"), Test("a_count_that_nobody_renews_is_not_told_for_ever"), Test("the_leader_tells_everybody_how_deep_the_queues_are")]),
    ("FC-102", "ten thousand starts", &[Test("a_sweep_forgets_nodes_that_were_lost_over_an_hour_ago"), Test("a_node_that_leaves_is_forgotten"), Test("nodes_that_stop_leave_no_rows")]),
    ("A1", "a last attempt that crashes stops nobody", &[Test("the_last_attempt_is_dead_with_node_lost")]),
    ("A2", "a cancelled run that fails ends", &[Test("whatever_ends_a_run_asked_to_cancel_ends_it_cancelled")]),
    ("A3", "only the holder finishes", &[Test("a_late_worker_cannot_finish_a_rescued_job"), Test("another_nodes_run_cannot_be_finished")]),
    ("A4", "rescue at any time, by anyone", &[Test("concurrent_rescues_give_each_job_away_once"), Test("a_rescue_by_a_node_without_handlers_is_enough")]),
    ("A5", "live work is not stolen", &[Test("a_heartbeat_renews_the_lease"), Test("handlers_that_block_every_thread_cost_no_lease")]),
    ("A6", "a panic keeps the slot", &[Test("a_panic_costs_an_attempt_and_no_slot")]),
    ("A7", "one statement for many", &[Test("a_mixed_batch_is_written_whole"), Waits("bench")]),
    ("A8", "woken, not only polled", &[Test("an_enqueue_wakes_who_waits"), Test("an_idle_worker_starts_a_job_at_once")]),
    ("A9", "one clock", &[Test("a_claim_says_what_time_it_is"), Waits("simulator")]),
    ("A10", "keys with a scope and an end", &[Test("keys_of_two_kinds_do_not_meet"), Test("a_job_that_ends_gives_its_key_back_however_it_ends"), Test("the_same_key_with_another_payload_is_told_apart")]),
    ("A11", "pages by key; history is pruned", &[Test("pages_join_without_gap_or_repeat"), Test("going_forward_and_back_over_moving_jobs_joins"), Test("without_rules_ended_jobs_stay_a_week_and_dead_ones_for_ever")]),
    ("A12", "every fault in the promised form", &[Test("a_bad_address_is_refused")]),
    ("A13", "finished means written", &[Waits("metrics")]),
    ("A14", "names that tell nodes apart", &[Test("nodes_are_listed_live_ones_first")]),
    ("A15", "docs say what the code does", &[Test("links_in_the_docs_lead_somewhere"), Test("the_page_shows_what_is_compiled_here"), Test("the_commands_of_the_pages_work_on_sqlite")]),
    ("A16", "kinds are data", &[Test("an_unknown_kind_is_never_claimed")]),
    ("B1", "a stop lets runs end", &[Test("a_stop_lets_runs_end_and_starts_nothing_new")]),
    ("B2", "a hiccup ends no worker", &[Test("results_outlast_an_outage_and_nothing_runs_twice"), Test("a_file_locked_beyond_the_lease_stops_handlers_in_time")]),
    ("B3", "a crash counts", &[Test("the_attempt_is_counted_at_the_claim"), Test("the_last_attempt_is_dead_with_node_lost"), Test("a_job_that_kills_its_process_dies_in_the_end")]),
    ("B4", "a heartbeat, not a long lock", &[Test("a_heartbeat_renews_the_lease")]),
    ("B5", "only the holder makes it dead", &[Test("every_ending_of_a_lost_lease_writes_nothing")]),
    ("B6", "back-off with cap and spread", &[Test("the_default_lies_between_a_second_and_its_cap_at_any_attempt")]),
    ("B7", "what cannot work dies at once", &[Test("a_payload_that_does_not_fit_is_dead_at_once"), Test("what_cannot_be_upgraded_is_dead_at_once"), Test("a_handler_may_end_its_job_for_good")]),
    ("B8", "claims of many by an index", &[Test("a_claim_walks_no_future_job"), Test("a_plan_made_on_the_empty_table_stays_good")]),
    ("B9", "woken at once", &[Test("an_enqueue_wakes_who_waits"), Test("an_idle_worker_starts_a_job_at_once")]),
    ("B10", "one clock", &[Test("a_job_is_due_now_or_later_or_at_a_time"), Waits("simulator")]),
    ("B11", "order is told and kept", &[Test("the_smallest_priority_then_the_oldest_then_the_smallest_id")]),
    ("B12", "an enqueue answers, in a transaction too", &[Test("answers_come_in_the_order_given"), Test("a_callers_transaction_is_seen_when_it_commits"), Test("the_guides_trigger_enqueues_in_its_transaction"), Test("a_roll_back_leaves_neither_order_nor_job")]),
    ("B13", "no tick twice", &[Waits("schedules")]),
    ("B14", "something to look at", &[Waits("dashboard")]),
    ("C1", "a panic leaves no immortal", &[Test("a_panic_costs_an_attempt_and_no_slot"), Test("a_hundred_bad_ends_leave_nobody_busy")]),
    ("C2", "a stop stops all at once", &[Test("a_stop_lets_runs_end_and_starts_nothing_new"), Test("a_stop_gives_back_what_was_kept_ready")]),
    ("C3", "a pause leaves runs alone", &[Test("what_runs_goes_on_while_its_queue_is_paused"), Test("what_was_passed_over_runs_at_once_after_a_resume")]),
    ("C4", "a cancel from elsewhere arrives", &[Test("cancel_of_a_running_job_asks_its_node"), Test("cancels_lists_only_this_nodes_jobs"), Test("a_cancel_reaches_a_running_job_within_a_second")]),
    ("C5", "no failure after success", &[Test("a_repeat_after_the_job_ended_adds_nothing")]),
    ("C6", "unknown kinds wait", &[Test("an_unknown_kind_is_never_claimed"), Test("an_unknown_kind_waits_for_a_node_that_knows_it")]),
    ("C7", "failures wait", &[Test("a_failure_waits_at_least_a_millisecond"), Test("the_default_lies_between_a_second_and_its_cap_at_any_attempt")]),
    ("C8", "one throttled job stops one", &[Waits("limits")]),
    ("C9", "drained until told", &[Waits("limits")]),
    ("C10", "few round trips", &[Test("a_mixed_batch_is_written_whole"), Test("single_enqueues_share_their_commits"), Waits("bench")]),
    ("C11", "quiet when idle", &[Waits("bench")]),
    ("C12", "all ways to be due wake", &[Test("a_retry_wakes_from_the_start_and_a_cancel_its_node"), Test("a_rescue_wakes_from_the_start"), Test("a_killed_listener_comes_back"), Test("retries_rescues_and_what_is_given_back_start_at_once")]),
    ("C13", "one clock", &[Waits("simulator")]),
    ("C14", "keys held while retrying", &[Test("a_key_is_held_while_its_job_is_active"), Test("two_calls_with_the_same_keys_in_opposite_order"), Test("many_jobs_with_keys_in_opposite_order_meet_in_parts")]),
    ("C15", "a lost finish is repeated", &[Test("a_repeat_answers_as_the_first_did"), Test("a_finish_whose_reply_is_lost_is_written_once")]),
    ("C16", "a failed tick is tried again", &[Waits("schedules")]),
    ("C17", "leases never come twice", &[Test("an_older_lease_of_the_same_node_finishes_nothing")]),
    ("C18", "shares move round", &[Waits("limits")]),
    ("C19", "edits only where the table allows", &[Test("every_move_is_the_one_of_the_table"), Test("retry_is_refused_where_the_table_says_so")]),
    ("C20", "filters before pages", &[Test("random_filters_find_what_brute_force_finds"), Test("a_look_is_bounded_and_its_cursor_honest"), Test("filters_by_state")]),
    ("C21", "counts without scans", &[Test("a_count_stops_at_ten_thousand_and_says_so"), Waits("dashboard")]),
    ("C22", "rollups lose nothing", &[Waits("metrics")]),
    ("C23", "pruning in small steps", &[Test("a_step_is_small"), Test("large_rows_go_a_few_at_once"), Test("many_dead_jobs_are_walked_in_steps")]),
    ("C24", "rescue in one statement, bounded", &[Test("at_most_ten_nodes_are_rescued_at_once")]),
    ("C25", "a time limit", &[Test("a_handler_that_waits_for_ever_is_cut_off_in_time"), Test("a_blocking_handler_that_hangs_is_cut_off_and_counted_as_stuck")]),
    ("C26", "the child is killed", &[Test("a_stop_ends_the_program_and_all_that_it_started"), Test("what_a_program_leaves_behind_is_ended_with_it"), Test("a_program_that_never_reads_its_input_ends"), Test("outputs_are_kept_from_their_end_and_bounded"), Test("it_begins_in_the_files_folder_or_below")]),
    ("C27", "a free slot is used", &[Test("jobs_kept_ready_behind_a_slow_one_run_elsewhere")]),
    ("C28", "errors are bounded", &[Test("the_newest_ten_errors_are_kept"), Test("a_chain_is_bounded_as_a_whole")]),
    ("C29", "two processes on a file", &[Test("two_processes_share_a_file"), Test("others_commits_are_heard")]),
];

#[test]
fn every_case_is_listed_once() {
    let field = (1..=102).map(|n| format!("FC-{n:03}"));
    let faults = [("A", 16), ("B", 14), ("C", 29)];
    let faults =
        faults.into_iter().flat_map(|(who, most)| (1..=most).map(move |n| format!("{who}{n}")));
    let expected: Vec<String> = field.chain(faults).collect();
    let listed: Vec<&str> = CASES.iter().map(|(number, ..)| *number).collect();
    assert_eq!(listed, expected);
    for (number, words, proofs) in CASES {
        assert!(!words.is_empty() && !proofs.is_empty(), "{number} has no proof");
    }
}

#[test]
fn every_test_that_is_named_exists() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/");
    let mut tests = HashSet::new();
    let mut folders: Vec<PathBuf> = vec![crates.into()];
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("an entry").path())
        {
            if entry.is_dir() {
                folders.push(entry);
            } else if entry.extension().is_some_and(|ext| ext == "rs") {
                let text = std::fs::read_to_string(&entry).expect("a source file");
                tests.extend(
                    text.split("fn ")
                        .skip(1)
                        .filter_map(|rest| rest.split_once('(').map(|(name, _)| name.to_owned())),
                );
            }
        }
    }
    let mut open = 0;
    for (number, _, proofs) in CASES {
        for proof in *proofs {
            match proof {
                Test(name) => assert!(tests.contains(*name), "{number}: there is no test {name}"),
                Waits(part) => {
                    assert!(!part.is_empty(), "{number} says what it waits for");
                    open += 1;
                }
            }
        }
    }
    println!("{} cases, {open} of them wait for something", CASES.len());
}
