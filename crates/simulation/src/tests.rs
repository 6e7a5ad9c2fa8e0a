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
    let mut noticed = (1..=60).filter_map(|seed| simulate(seed, &options).err());
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
fn failures_that_nobody_is_told_of_are_noticed() {
    check(Fault::TellsNobody, "failures_are_told");
    check(Fault::DropsOutbox, "failures_are_told");
}

#[test]
fn another_owner_is_noticed() {
    check(Fault::AnotherOwner, "expectations_hold");
}

#[test]
fn a_shard_that_never_rests_is_noticed() {
    check(Fault::Restless, "the_engine_comes_to_rest");
}
