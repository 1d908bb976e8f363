//! The words of the `Store` trait, each sentence as a case. A case is written once and stamped for
//! each backend; a case that is missing from the list below is dead code, and the lints say so.

pub mod audit;
pub mod bulk;
pub mod claim;
pub mod edit;
pub mod enqueue;
pub mod filter;
pub mod finish;
pub mod hostile;
pub mod leader;
pub mod list;
pub mod operations;
pub mod node;
pub mod pause;
pub mod queues;
pub mod remote;
pub mod rescue;
pub mod retention;
pub mod said;
pub mod states;
pub mod stress;
pub mod once;
pub mod token;
pub mod user;
pub mod unique;
pub mod unique_races;
pub mod versions;

/// `conformance!(Sqlite)`: one test for each case, on that backend.
macro_rules! conformance {
    ($flavour:ident) => {
        conformance! { @stamp $flavour;
            enqueue: [
                a_job_is_read_back_as_it_was_given,
                a_job_that_says_nothing_has_the_defaults,
                answers_come_in_the_order_given,
                a_job_is_due_now_or_later_or_at_a_time,
                an_id_that_is_there_is_a_duplicate_and_left_as_it_is,
                the_same_id_twice_in_one_call_is_one_job,
                a_repeat_after_the_job_ended_adds_nothing,
                a_callers_own_id_is_looked_up_in_history_without_being_asked,
                a_call_is_all_or_nothing,
                a_call_without_jobs_adds_nothing,
                a_thousand_jobs_keep_their_order,
                an_enqueue_wakes_who_waits,
                a_callers_transaction_is_seen_when_it_commits,
                a_callers_transaction_that_rolls_back_leaves_nothing,
                a_repeat_in_a_callers_transaction_adds_nothing,
                concurrent_enqueues_of_one_id_make_one_job,
            ];
            bulk: [
                parts_are_one_call_in_order,
                very_many_parts_are_one_call,
                parts_may_come_slowly,
                a_job_in_a_part_is_the_job_it_would_be_alone,
                nothing_is_seen_before_the_end_and_nothing_stays_without_it,
                a_part_with_known_ids_adds_the_others,
                unique_jobs_in_parts_keep_their_places,
                many_jobs_with_keys_in_opposite_order_meet_in_parts,
            ];
            claim: [
                the_smallest_priority_then_the_oldest_then_the_smallest_id,
                each_queue_gives_up_to_its_limit,
                a_claim_with_room_says_when_the_next_job_falls_due,
                a_limit_counts_over_all_priorities,
                an_unknown_kind_is_never_claimed,
                a_future_job_is_never_claimed_before_its_time,
                a_job_of_the_first_and_of_the_last_year_is_taken_in_its_time,
                a_lane_is_looked_at_from_its_mark,
                start_hides_nothing,
                a_lost_node_gets_nothing_and_is_told,
                an_unknown_node_gets_nothing_and_is_told,
                the_attempt_is_counted_at_the_claim,
                a_claim_says_what_time_it_is,
                what_is_running_dead_or_ended_is_not_claimed,
                concurrent_claims_share_no_job,
                names_are_compared_byte_by_byte,
                fifty_queues_in_one_claim,
                a_lost_reply_is_recalled,
                a_recall_shows_only_what_is_still_held_under_that_number,
            ];
            finish: [
                a_done_job_goes_to_history_with_its_output,
                an_output_is_kept_byte_for_byte,
                retain_zero_keeps_nothing,
                a_failed_job_waits_and_keeps_its_error,
                a_failure_waits_at_least_a_millisecond,
                a_dead_job_has_no_time_and_waits_for_a_person,
                the_newest_ten_errors_are_kept,
                a_snooze_does_not_count,
                a_snooze_after_a_failure_is_retrying,
                a_job_given_back_is_queued_as_it_was,
                a_handler_may_cancel,
                a_repeat_answers_as_the_first_did,
                a_repeat_does_no_harm_to_a_later_run,
                another_nodes_run_cannot_be_finished,
                an_older_lease_of_the_same_node_finishes_nothing,
                answers_come_in_the_order_given,
                an_unknown_job_is_a_lost_lease,
                a_mixed_batch_is_written_whole,
                concurrent_finishes_of_one_run_end_it_once,
                a_late_worker_cannot_finish_a_rescued_job,
                every_ending_of_a_lost_lease_writes_nothing,
                a_payload_aside_goes_with_its_job,
                a_throttled_job_waits_and_its_attempt_does_not_count,
                too_many_throttles_in_a_row_are_a_failure,
                a_last_attempt_throttled_too_often_is_dead,
            ];
            unique: [
                a_key_is_held_while_its_job_is_active,
                a_job_that_ends_gives_its_key_back_however_it_ends,
                keys_of_two_kinds_do_not_meet,
                the_rule_is_refuse_and_the_call_is_all_or_nothing,
                a_refusal_in_a_callers_transaction_leaves_the_transaction_as_it_was,
                a_waiting_holder_is_replaced,
                a_payload_that_is_replaced_may_change_its_place,
                a_running_holder_gets_one_successor,
                a_superseded_run_that_does_not_end_well_is_dead,
                a_superseded_run_whose_node_is_lost_is_dead,
                a_superseded_run_that_is_done_has_succeeded,
                a_window_is_a_fixed_stretch_of_time_of_the_jobs_own_time,
                a_window_is_kept_by_success_and_given_back_by_cancel,
                for_good_is_for_good_unless_it_did_not_succeed,
                the_same_key_with_another_payload_is_told_apart,
                the_same_key_many_times_in_one_call,
                rules_in_one_call_apply_in_order,
                a_repeat_after_the_end_runs_nothing_twice,
                a_repeat_keeps_its_answer_whoever_holds_the_key_now,
                a_retry_takes_its_key_again,
                a_retry_is_refused_while_another_job_holds_its_key,
                a_retry_after_its_window_is_in_nobodys_way,
                a_key_whose_job_was_deleted_by_hand_is_free,
                keys_of_windows_that_are_over_are_forgotten,
            ];
            rescue: [
                jobs_of_a_node_whose_lease_ran_out_are_queued_again,
                a_live_node_keeps_its_jobs,
                a_heartbeat_renews_the_lease,
                a_heartbeat_says_that_another_node_is_overdue,
                the_last_attempt_is_dead_with_node_lost,
                a_job_asked_to_cancel_ends_cancelled,
                a_lost_node_hears_that_it_is_lost,
                an_unknown_node_hears_that_it_is_lost,
                a_node_row_deleted_by_hand_leaves_no_orphan,
                a_rescue_after_a_finish_finds_nothing,
                a_finish_after_the_lease_ran_out_but_before_the_rescue_counts,
                a_rescue_racing_a_finish_ends_each_job_once,
                at_most_ten_nodes_are_rescued_at_once,
                concurrent_rescues_give_each_job_away_once,
                a_rescue_wakes_from_the_start,
                a_node_that_leaves_is_forgotten,
                a_node_that_leaves_with_jobs_loses_them_at_once,
                nodes_are_listed_live_ones_first,
                errors_of_rescues_are_capped_as_well,
            ];
            remote: [
                a_remote_node_is_read_back_as_it_joined,
                what_a_node_holds_is_told_but_for_what_is_known,
                claims_that_are_over_are_forgotten_and_no_other,
                ends_are_told_the_terms_of_runs_that_are_held,
                a_limit_for_all_queues_is_kept_in_their_order,
            ];
            unique_races: [
                two_calls_with_the_same_keys_in_opposite_order,
                fifty_callers_at_once_make_one_job,
                nobody_is_a_duplicate_of_what_rolls_back,
                a_key_that_an_open_transaction_holds_is_busy,
                a_replacement_racing_a_claim_leaves_one_waiting_job,
                enqueues_racing_the_end_of_the_holder_are_answered_truly,
            ];
            leader: [
                only_one_leads,
                renewing_keeps_the_term,
                an_expired_lead_goes_to_the_next_with_a_higher_term,
                an_own_lead_that_expired_raises_the_term,
                a_lead_that_is_resigned_is_free_at_once,
                resigning_an_old_term_changes_nothing,
                a_sweep_under_an_old_term_is_refused,
                partitions_under_an_old_term_are_refused,
                a_sweep_forgets_nodes_that_were_lost_over_an_hour_ago,
                a_sweep_finds_running_jobs_without_a_node,
                a_recall_after_the_rescue_keeps_no_lost_node,
                concurrent_candidates_make_one_leader,
            ];
            queues: [
                only_what_is_due_and_waits_is_counted,
                the_oldest_of_all_priorities_is_told_and_grows_older,
                a_count_of_a_queue_stops_and_says_so,
                a_queue_that_is_gone_is_forgotten,
                a_count_that_nobody_renews_is_not_told_for_ever,
                a_count_under_an_old_term_is_refused,
                odd_names_of_queues_are_counted_byte_by_byte,
            ];
            node: [
                a_node_hears_what_it_is_asked_with_its_next_heartbeat,
                others_see_what_a_node_is_at,
                a_node_that_is_gone_cannot_be_asked,
                a_wish_wakes_heartbeats_alone,
                a_process_that_joins_anew_is_still_asked,
                nodes_tell_of_their_kinds_and_the_greatest_version_has_the_say,
                a_kind_that_nobody_runs_is_forgotten_in_the_end,
                odd_kinds_are_told_of_and_many_are_bounded,
                a_queue_is_known_by_its_jobs_its_nodes_or_its_pause,
                a_change_of_a_job_changes_the_mark,
            ];
            pause: [
                nothing_of_a_paused_queue_is_taken_by_nobody,
                a_pause_of_a_kind_leaves_other_kinds_alone,
                a_kind_and_its_queue_are_paused_each_by_itself,
                what_runs_goes_on_while_its_queue_is_paused,
                all_else_works_as_ever_while_paused,
                a_pause_says_who_and_why_and_keeps_its_beginning,
                a_pause_ends_by_itself_by_the_stores_clock,
                a_clock_that_jumps_is_believed,
                a_claim_tells_one_set_of_pauses_from_another,
                a_resume_wakes_from_the_start,
                odd_names_are_paused_byte_by_byte_and_hostile_ones_refused,
                there_are_only_so_many_pauses,
                a_queue_is_emptied_of_what_waits,
                a_large_queue_is_emptied_in_steps,
                claims_beside_an_emptying_take_each_job_once_or_not_at_all,
            ];
            retention: [
                without_rules_ended_jobs_stay_a_week_and_dead_ones_for_ever,
                the_most_particular_rule_wins,
                a_rule_may_say_for_ever,
                a_jobs_own_span_goes_before_every_rule,
                a_span_of_one_job_is_found_among_others_that_stay,
                what_has_not_ended_is_never_removed,
                payloads_go_with_their_jobs_and_no_others,
                dead_jobs_go_by_a_rule_of_theirs,
                many_dead_jobs_are_walked_in_steps,
                a_step_is_small,
                large_rows_go_a_few_at_once,
                a_repeat_does_no_harm,
                a_prune_under_an_old_term_is_refused,
                a_changed_rule_counts_for_what_has_ended_already,
                a_new_leader_finds_what_the_old_one_left,
                rows_that_come_where_others_went_are_found,
                a_retry_racing_a_prune_has_one_winner,
                a_prune_beside_a_rescue_takes_only_what_had_ended,
                two_prunes_at_once_take_each_job_once,
                a_look_counts_and_removes_nothing,
                it_says_how_far_behind_it_is_and_when_to_come_again,
                rules_are_set_replaced_and_removed,
                there_are_only_so_many_rules,
            ];
            said: [
                what_a_run_says_is_read_back,
                many_runs_are_kept_in_one_call,
                the_last_progress_counts,
                a_run_that_lost_its_lease_writes_nothing,
                one_lost_lease_keeps_nothing_from_its_neighbours,
                each_attempt_has_its_own_log,
                a_run_that_is_given_back_goes_on_with_its_log,
                a_repeat_adds_nothing,
                lines_that_were_left_out_are_counted,
                of_an_attempt_the_newest_thousand_lines_are_kept,
                of_an_attempt_the_newest_bytes_are_kept,
                of_a_job_the_newest_ten_attempts_are_kept,
                pages_of_a_log_join,
                only_lines_that_are_grave_enough_are_shown,
                hostile_lines_are_kept_within_bounds,
                odd_progress_is_refused_or_cut,
                a_line_of_another_program_hides_no_other,
                what_was_said_goes_with_a_deleted_job,
                what_was_said_goes_with_a_job_that_keeps_nothing,
                what_was_said_goes_with_a_job_that_is_pruned,
                what_was_said_outlives_a_retry,
                saying_beside_ends_and_rescues_never_deadlocks,
            ];
            list: [
                newest_first_over_waiting_and_ended,
                pages_join_without_gap_or_repeat,
                pages_stay_right_while_jobs_move,
                filters_by_state,
                filters_by_kind_and_queue,
                a_look_is_bounded_and_its_cursor_honest,
                payloads_are_previews,
                a_page_has_at_most_two_hundred_jobs,
                a_cursor_reads_back,
                an_empty_store_has_an_empty_page,
            ];
            filter: [
                names_fit_by_star_and_by_byte,
                states_nodes_and_ids_fit,
                a_key_fits_with_or_without_its_window,
                numbers_and_times_fit,
                a_hand_made_name_with_a_nul_fits_nothing,
                random_filters_find_what_brute_force_finds,
                going_forward_and_back_over_moving_jobs_joins,
                a_cursor_outlives_its_row_and_serves_no_other_filter,
                whole_jobs_come_whole_in_pages_that_end_early,
                a_count_stops_at_ten_thousand_and_says_so,
            ];
            states: [
                every_state_can_be_reached_and_is_told_the_same_way,
                every_move_is_the_one_of_the_table,
            ];
            edit: [
                cancel_ends_a_waiting_job_at_once,
                cancel_of_a_running_job_asks_its_node,
                whatever_ends_a_run_asked_to_cancel_ends_it_cancelled,
                a_late_done_of_a_cancelled_job_leaves_its_output,
                cancel_after_the_end_is_refused,
                asking_again_changes_nothing,
                who_and_why_are_cut,
                a_cancelled_job_that_keeps_nothing_is_gone,
                retry_of_a_dead_job_adds_attempts_and_numbers_rise,
                retry_of_a_cancelled_job_takes_it_from_history,
                retry_of_a_waiting_job_runs_it_now,
                retry_is_refused_where_the_table_says_so,
                a_retry_may_mend_the_payload,
                retry_with_absurd_attempts_stays_in_range,
                an_unknown_job_is_not_found,
                a_cancel_racing_a_finish_has_one_winner,
                cancels_lists_only_this_nodes_jobs,
                a_retry_wakes_from_the_start_and_a_cancel_its_node,
                an_edit_changes_what_it_names_and_nothing_else,
                an_edit_of_the_payload_keeps_one_copy,
                an_edit_names_the_version_it_knows,
                an_edit_may_run_now_or_later,
                an_edit_of_what_does_not_wait_is_refused,
                an_edit_wakes_from_the_start,
                an_edit_racing_a_claim_has_one_order,
                a_deleted_job_leaves_nothing,
                a_running_job_cannot_be_deleted,
            ];
            hostile: [
                payloads_are_kept_byte_for_byte,
                a_payload_of_a_mebibyte_comes_back_whole,
                payloads_around_the_border_of_aside_come_back_whole,
                odd_names_are_kept_and_found,
                odd_texts_in_errors_and_reasons_are_kept,
                meta_and_tags_are_kept,
                the_edges_of_time_are_kept,
                a_hand_made_time_stops_nobody,
                a_hand_made_row_stops_no_neighbour,
                five_nodes_migrate_at_once,
                migrating_again_applies_nothing,
                an_unreadable_error_kind_hides_no_job,
            ];
            versions: [
                a_job_that_says_nothing_is_of_the_first_version,
                a_version_stays_with_its_job_however_that_ends,
                a_version_outlives_the_node_that_is_lost,
                lists_and_large_calls_know_versions,
                a_newer_version_waits_for_a_node_that_knows_it,
                each_kind_has_its_own_versions,
                a_replacement_has_the_version_of_its_payload,
                an_edit_may_say_another_version,
                a_repeat_changes_no_version,
            ];
            token: [
                a_token_is_found_by_its_secret_alone,
                a_token_expires_at_its_time_and_a_revoked_one_stays_revoked,
                a_use_is_noted_once_a_minute,
                live_tokens_come_first,
                there_are_only_so_many_live_tokens,
                a_token_without_a_good_name_is_refused,
            ];
            once: [
                a_repeat_adds_nothing_and_is_answered_as_the_first_was,
                keys_are_told_apart_by_caller_and_by_what_is_asked_for,
                what_is_refused_is_not_remembered,
                of_many_at_once_one_is_carried_out,
                old_requests_go_with_new_ones,
            ];
            user: [
                a_name_has_one_user_whatever_its_case,
                a_user_is_added_once_though_the_reply_was_lost,
                a_session_says_who_and_lives_until_it_idles_or_expires,
                each_change_of_a_user_ends_its_sessions,
                a_session_of_the_user_as_it_was_gives_nothing,
                a_removed_user_leaves_no_session,
                a_session_ends_alone_and_old_ones_make_room,
            ];
            audit: [
                an_entry_is_read_back_as_it_was_written,
                pages_of_the_audit_log_join,
                the_leader_prunes_the_audit_log_in_steps,
            ];
            operations: [
                an_operation_is_read_back_as_it_was_started,
                everything_must_be_meant,
                a_retry_takes_dead_and_cancelled_jobs_and_skips_the_rest,
                a_cancel_ends_waiting_jobs_and_asks_running_ones,
                a_delete_leaves_nothing_and_spares_what_runs,
                waiting_jobs_are_rescheduled_moved_and_given_another_priority,
                a_step_is_bounded_and_the_next_goes_on,
                jobs_that_come_later_are_not_met,
                a_job_that_matches_again_is_not_met_again,
                times_are_those_of_the_start_and_states_those_of_the_step,
                an_operation_is_paused_resumed_and_cancelled_in_the_middle,
                a_pause_beside_steps_is_obeyed,
                two_leaders_at_once_do_no_step_twice,
                a_leader_of_yesterday_does_no_step,
                a_step_that_is_cut_off_is_repeated_or_was_done,
                a_step_that_fails_changes_nothing,
                a_job_that_the_database_refuses_stops_no_operation,
                a_retry_takes_keys_again_or_skips,
                a_job_that_changes_before_its_turn_is_judged_anew,
                a_job_that_changes_while_a_step_waits_for_it_is_left_alone,
                an_operation_that_cannot_be_read_has_failed,
                there_are_only_so_many_open_operations,
                the_leader_prunes_operations_that_ended,
            ];
            stress: [
                each_job_ends_once_whatever_happens_to_its_nodes,
                overlapping_edits_never_deadlock,
            ];
        }
    };
    (@stamp $flavour:ident; $($file:ident: [$($case:ident,)*];)*) => {
        $(mod $file {
            $(#[test]
            fn $case() {
                crate::harness::run(
                    crate::harness::Flavour::$flavour,
                    crate::conformance::$file::$case,
                );
            })*
        })*
    };
}
