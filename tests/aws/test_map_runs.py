"""Distributed Maps: child executions, their Map Runs, and what can be done to them while they run."""

import json

import pytest

from definitions import distributed
from everstep import until


def run_of(world, execution):
    return until(lambda: world.sfn.list_map_runs(executionArn=execution)["mapRuns"])[0]["mapRunArn"]


def children(world, run, **filters):
    pages = world.sfn.get_paginator("list_executions").paginate(mapRunArn=run, **filters)
    return [row for page in pages for row in page["executions"]]


@pytest.mark.parametrize("express", [False, True])
def test_items_become_executions(world, express):
    machine = world.machine(distributed({"Type": "Pass"}, express))
    execution = world.start(machine, [{"n": n} for n in range(25)])
    described = world.ended(execution)
    assert json.loads(described["output"]) == [{"n": n} for n in range(25)]
    run = run_of(world, execution)
    told = world.sfn.describe_map_run(mapRunArn=run)
    assert (told["status"], told["executionArn"]) == ("SUCCEEDED", execution)
    assert told["itemCounts"]["succeeded"] == told["executionCounts"]["total"] == 25
    assert len(children(world, run)) == (0 if express else 25)
    assert len(world.sfn.get_execution_history(executionArn=execution)["events"]) == 8
    assert len(world.sfn.list_executions(stateMachineArn=machine)["executions"]) == 1


def test_a_child_is_an_execution(world):
    machine = world.machine(distributed({"Type": "Pass"}))
    execution = world.start(machine, [1, 2])
    world.ended(execution)
    run = run_of(world, execution)
    for child in children(world, run):
        assert child["mapRunArn"] == run and child["itemCount"] == 1
        described = world.sfn.describe_execution(executionArn=child["executionArn"])
        assert described["mapRunArn"] == run and described["stateMachineArn"] == f"{machine}/each"
        history = world.sfn.get_execution_history(executionArn=child["executionArn"])["events"]
        assert [event["type"] for event in history] == [
            "ExecutionStarted",
            "PassStateEntered",
            "PassStateExited",
            "ExecutionSucceeded",
        ]
        of = world.sfn.describe_state_machine_for_execution(executionArn=child["executionArn"])
        assert (of["label"], of["mapRunArn"]) == ("each", run)
        assert json.loads(of["definition"])["StartAt"] == "Each"


def test_concurrency_and_tolerance_change_while_it_runs(world):
    activity = world.activity()
    each = {"Type": "Task", "Resource": activity}
    machine = world.machine(distributed(each, MaxConcurrency=1))
    execution = world.start(machine, list(range(4)))
    run = run_of(world, execution)
    first = world.sfn.get_activity_task(activityArn=activity)
    counts = world.sfn.describe_map_run(mapRunArn=run)["executionCounts"]
    assert (counts["running"], counts["pending"]) == (1, 3)
    world.sfn.update_map_run(mapRunArn=run, maxConcurrency=4, toleratedFailurePercentage=50)
    rest = [world.sfn.get_activity_task(activityArn=activity) for _ in range(3)]
    for given in [first, rest[0]]:
        world.sfn.send_task_failure(taskToken=given["taskToken"], error="No", cause="by design")
    for given in rest[1:]:
        world.sfn.send_task_success(taskToken=given["taskToken"], output="1")
    assert world.ended(execution)["status"] == "SUCCEEDED"
    told = world.sfn.describe_map_run(mapRunArn=run)
    assert (told["maxConcurrency"], told["toleratedFailurePercentage"]) == (4, 50.0)
    assert (told["itemCounts"]["failed"], told["itemCounts"]["succeeded"]) == (2, 2)
    failed = children(world, run, statusFilter="FAILED")
    assert len(failed) == 2
    status = world.sfn.describe_execution(executionArn=failed[0]["executionArn"])["redriveStatus"]
    assert status == "REDRIVABLE_BY_MAP_RUN"


def test_a_redrive_runs_only_what_did_not_succeed(world):
    activity = world.activity()
    machine = world.machine(distributed({"Type": "Task", "Resource": activity}))
    execution = world.start(machine, ["good", "bad"])
    tasks = [world.sfn.get_activity_task(activityArn=activity) for _ in range(2)]
    by_input = {json.loads(given["input"]): given["taskToken"] for given in tasks}
    world.sfn.send_task_success(taskToken=by_input["good"], output='"done"')
    run = run_of(world, execution)
    until(lambda: world.sfn.describe_map_run(mapRunArn=run)["itemCounts"]["succeeded"] == 1)
    world.sfn.send_task_failure(taskToken=by_input["bad"], error="No", cause="by design")
    described = world.ended(execution)
    assert (described["status"], described["error"]) == ("FAILED", "States.ExceedToleratedFailureThreshold")
    world.sfn.redrive_execution(executionArn=execution)
    again = world.sfn.get_activity_task(activityArn=activity)
    assert json.loads(again["input"]) == "bad"
    world.sfn.send_task_success(taskToken=again["taskToken"], output='"mended"')
    assert json.loads(world.ended(execution)["output"]) == ["done", "mended"]
    told = world.sfn.describe_map_run(mapRunArn=run)
    assert (told["status"], told["redriveCount"]) == ("SUCCEEDED", 1)


def test_a_stopped_execution_takes_its_children_along(world):
    machine = world.machine(distributed({"Type": "Wait", "Seconds": 3600}))
    execution = world.start(machine, [1, 2, 3])
    run = run_of(world, execution)
    until(lambda: world.sfn.describe_map_run(mapRunArn=run)["executionCounts"]["running"] == 3)
    world.sfn.stop_execution(executionArn=execution)
    until(lambda: world.sfn.describe_map_run(mapRunArn=run)["status"] == "ABORTED")
    assert len(children(world, run, statusFilter="ABORTED")) == 3


def test_runs_are_listed_page_by_page(world):
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1, "BackoffRate": 1.0}]
    failing = {"Type": "Task", "Resource": world.activity(), "TimeoutSeconds": 1}
    machine = world.machine(distributed(failing, Retry=retry))
    execution = world.start(machine, [1])
    assert world.ended(execution)["status"] == "FAILED"
    pages = world.sfn.get_paginator("list_map_runs").paginate(executionArn=execution, PaginationConfig={"PageSize": 1})
    listed = [page["mapRuns"] for page in pages]
    assert [len(runs) for runs in listed] == [1, 1]
    assert len({runs[0]["mapRunArn"] for runs in listed}) == 2


def test_too_many_failures(world):
    failing = {"Type": "Fail", "Error": "No", "Cause": "by design"}
    definition = json.loads(distributed({"Type": "Pass"}, ToleratedFailureCount=1))
    states = definition["States"]["Map"]["ItemProcessor"]["States"]
    states["Each"] = failing
    execution = world.start(world.machine(json.dumps(definition)), [1, 2, 3])
    assert world.ended(execution)["error"] == "States.ExceedToleratedFailureThreshold"
    assert world.sfn.describe_map_run(mapRunArn=run_of(world, execution))["status"] == "FAILED"
