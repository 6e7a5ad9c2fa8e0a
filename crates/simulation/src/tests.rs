//! The same seed gives the same run, and every checker can fail.

use crate::{Fault, Options, names, simulate};

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 1..=10 {
        let run =
            || simulate(seed, &Options::default()).unwrap_or_else(|failure| panic!("{failure}"));
        assert_eq!(run().digest, run().digest, "seed {seed}");
    }
}

/// With one part broken, the checker that must notice does, within some seeds.
fn check(fault: Fault, checker: &str) {
    assert!(names().any(|name| name == checker), "there is no checker {checker}");
    let options = Options { fault: Some(fault), ..Options::default() };
    let mut noticed = (1..=2000).filter_map(|seed| simulate(seed, &options).err());
    assert!(
        noticed.any(|failure| failure.checker == checker),
        "{checker} has not noticed {fault:?}"
    );
}

#[test]
fn a_disk_that_acknowledges_early_is_noticed() {
    check(Fault::AcknowledgesEarly, "acknowledged_is_durable");
}

#[test]
fn a_disk_that_loses_what_it_acknowledged_is_noticed() {
    check(Fault::LosesStarts, "no_acknowledged_start_lost");
}

#[test]
fn lost_deaths_are_noticed() {
    check(Fault::DropsDeaths, "quarantine_is_earned");
}

#[test]
fn rows_that_belong_to_nothing_are_noticed() {
    check(Fault::KeepsSessions, "verify_finds_no_damage");
}

#[test]
fn lost_wakes_are_noticed() {
    check(Fault::DropsWakes, "lists_agree");
}

#[test]
fn lost_lists_are_noticed() {
    check(Fault::DropsLists, "lists_agree");
}

#[test]
fn what_is_never_removed_is_noticed() {
    check(Fault::DropsClosed, "retention_removes_everything");
    check(Fault::KeepsSteps, "lists_agree");
}

#[test]
fn forgotten_retries_are_noticed() {
    check(Fault::ForgetsRetries, "retry_counts_exact");
}

#[test]
fn forgotten_results_are_noticed() {
    check(Fault::ForgetsResults, "acknowledged_is_durable");
    check(Fault::ForgetsResults, "recovery_is_a_fold");
}

#[test]
fn a_state_entered_twice_is_noticed() {
    check(Fault::RepeatsEntries, "no_completed_step_run_again");
}

#[test]
fn a_dispatch_too_many_is_noticed() {
    check(Fault::DispatchesTwice, "same_attempt_same_id");
    check(Fault::RenamesTasks, "same_attempt_same_id");
}

#[test]
fn a_clock_that_lies_is_noticed() {
    check(Fault::ClockLies, "timers_fire_and_never_early");
}

#[test]
fn a_turn_that_comes_late_is_noticed() {
    check(Fault::LateTurns, "timers_fire_and_never_early");
}

#[test]
fn a_result_accepted_too_often_is_noticed() {
    check(Fault::AcceptsEverything, "a_result_counts_once");
}

#[test]
fn lost_results_are_noticed() {
    check(Fault::LosesResults, "every_execution_ends_or_waits_for_something");
}

#[test]
fn lost_replies_are_noticed() {
    check(Fault::SwallowsReplies, "every_request_is_answered");
}

#[test]
fn failures_that_are_not_notified_are_noticed() {
    check(Fault::NotifiesNobody, "failures_are_notified");
    check(Fault::DropsOutbox, "failures_are_notified");
}

#[test]
fn another_owner_is_noticed() {
    check(Fault::AnotherOwner, "expectations_hold");
}

#[test]
fn a_shard_that_never_rests_is_noticed() {
    check(Fault::Restless, "the_engine_comes_to_rest");
}

#[test]
fn a_disk_that_loses_invocations_is_noticed() {
    check(Fault::LosesInvocations, "accepted_is_never_lost");
}

#[test]
fn lost_retries_of_functions_are_noticed() {
    check(Fault::LosesRetries, "attempts_exact");
}

#[test]
fn a_forgotten_interruption_is_noticed() {
    check(Fault::LosesInterruptions, "attempts_exact");
}

#[test]
fn an_attempt_that_counts_without_a_worker_is_noticed() {
    check(Fault::ClaimsWithoutAWorker, "what_is_accepted_runs");
}

#[test]
fn an_attempt_that_code_is_given_too_late_is_noticed() {
    check(Fault::RunsEarlierAttempts, "no_attempt_after_a_later_one_ended");
}

#[test]
fn an_answer_accepted_too_often_is_noticed() {
    check(Fault::AcceptsStaleAnswers, "an_answer_counts_once");
}

#[test]
fn a_slot_too_many_is_noticed() {
    check(Fault::LendsSlots, "slots_are_kept");
}

#[test]
fn a_key_that_is_forgotten_is_noticed() {
    check(Fault::ForgetsKeys, "a_key_runs_once");
}

#[test]
fn lost_deliveries_are_noticed() {
    check(Fault::LosesRecords, "a_record_arrives_after_its_commit_and_at_least_once");
    check(Fault::DropsDeliveries, "invocation_rows_agree");
    check(Fault::DeliversEarly, "a_record_arrives_after_its_commit_and_at_least_once");
}

#[test]
fn lost_letters_are_noticed() {
    check(Fault::DropsLetters, "dead_letters_agree");
}

#[test]
fn invocations_that_are_never_removed_are_noticed() {
    check(Fault::KeepsEvents, "invocations_are_removed_in_time");
}

#[test]
fn a_session_that_does_not_hear_of_its_steps_is_noticed() {
    check(Fault::DropsSteps, "sessions_end");
}

#[test]
fn a_notification_that_is_forgotten_is_noticed() {
    check(Fault::ForgetsNotifications, "notifications_become_invocations");
}

#[test]
fn a_child_under_two_names_is_noticed() {
    check(Fault::RenamesChildren, "children_have_one_name");
}

#[test]
fn a_tally_that_is_not_that_of_the_children_is_noticed() {
    check(Fault::MiscountsChildren, "map_run_tally_equals_children");
}

#[test]
fn an_execution_that_a_task_starts_twice_is_noticed() {
    check(Fault::RenamesNested, "nested_found_again");
}

#[test]
fn children_that_are_not_stopped_are_noticed() {
    check(Fault::DropsCancellations, "stop_reaches_children");
}

#[test]
fn a_task_that_no_worker_can_find_is_noticed() {
    check(Fault::ForgetsOffers, "no_offered_task_is_stranded");
    check(Fault::MarksEarly, "no_offered_task_is_stranded");
}
