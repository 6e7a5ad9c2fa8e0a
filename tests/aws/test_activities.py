"""Activities: workers that wait, work, give signs of life, fail and are late."""

import json
import threading

import pytest

from definitions import task, text


def test_a_worker_waits_for_its_task(world):
    activity = world.activity()
    machine = world.machine(task(activity))
    taken = []
    worker = threading.Thread(
        target=lambda: taken.append(world.sfn.get_activity_task(activityArn=activity, workerName="w"))
    )
    worker.start()
    execution = world.start(machine, {"n": 7})
    worker.join()
    assert json.loads(taken[0]["input"]) == {"n": 7}
    world.sfn.send_task_heartbeat(taskToken=taken[0]["taskToken"])
    world.sfn.send_task_success(taskToken=taken[0]["taskToken"], output='{"n":8}')
    assert json.loads(world.ended(execution)["output"]) == {"n": 8}
    events = world.history(execution)
    assert [event["type"] for event in events] == [
        "ExecutionStarted",
        "TaskStateEntered",
        "ActivityScheduled",
        "ActivityStarted",
        "ActivitySucceeded",
        "TaskStateExited",
        "ExecutionSucceeded",
    ]
    assert events[2]["activityScheduledEventDetails"]["resource"] == activity
    assert events[3]["activityStartedEventDetails"]["workerName"] == "w"


def test_each_task_goes_to_one_worker(world):
    activity = world.activity()
    machine = world.machine(task(activity))
    executions = {world.start(machine, number): number for number in range(12)}
    taken = []

    def work():
        for _ in range(3):
            found = world.sfn.get_activity_task(activityArn=activity)
            taken.append(int(found["input"]))
            world.sfn.send_task_success(taskToken=found["taskToken"], output=str(2 * int(found["input"])))

    workers = [threading.Thread(target=work) for _ in range(4)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert sorted(taken) == list(range(12))
    for execution, number in executions.items():
        assert world.ended(execution)["output"] == str(2 * number)


def test_what_a_worker_says_counts_once(world):
    execution, taken = world.running()
    token = taken["taskToken"]
    world.sfn.send_task_success(taskToken=token, output="1")
    for late in [
        lambda: world.sfn.send_task_success(taskToken=token, output="2"),
        lambda: world.sfn.send_task_failure(taskToken=token, error="E"),
        lambda: world.sfn.send_task_heartbeat(taskToken=token),
    ]:
        with pytest.raises(world.sfn.exceptions.TaskTimedOut):
            late()
    assert world.ended(execution)["output"] == "1"


def test_an_output_that_is_too_large_is_refused_and_the_task_goes_on(world):
    execution, taken = world.running()
    large = json.dumps("x" * 262_143)
    with pytest.raises(world.sfn.exceptions.ClientError) as raised:
        world.sfn.send_task_success(taskToken=taken["taskToken"], output=large)
    assert raised.value.response["Error"]["Code"] in {"InvalidOutput", "ValidationException"}
    world.sfn.send_task_success(taskToken=taken["taskToken"], output=json.dumps("x" * 262_142))
    assert world.ended(execution)["status"] == "SUCCEEDED"


def test_a_failure_is_retried_and_then_caught(world):
    activity = world.activity()
    states = {
        "Work": {
            "Type": "Task",
            "Resource": activity,
            "Retry": [{"ErrorEquals": ["Flaky"], "IntervalSeconds": 1, "MaxAttempts": 1, "BackoffRate": 1}],
            "Catch": [{"ErrorEquals": ["Flaky"], "Next": "Caught"}],
            "End": True,
        },
        "Caught": {"Type": "Succeed"},
    }
    execution = world.start(world.machine(text(states)))
    for attempt in ["first", "second"]:
        taken = world.sfn.get_activity_task(activityArn=activity)
        world.sfn.send_task_failure(taskToken=taken["taskToken"], error="Flaky", cause=attempt)
    assert json.loads(world.ended(execution)["output"]) == {"Error": "Flaky", "Cause": "second"}
    types = world.types(execution)
    assert types.count("ActivityScheduled") == types.count("ActivityFailed") == 2


def test_a_task_that_is_late(world):
    activity = world.activity()
    execution = world.start(world.machine(task(activity, TimeoutSeconds=1)))
    taken = world.sfn.get_activity_task(activityArn=activity)
    ended = world.ended(execution)
    assert (ended["status"], ended["error"]) == ("FAILED", "States.Timeout")
    with pytest.raises(world.sfn.exceptions.TaskTimedOut):
        world.sfn.send_task_success(taskToken=taken["taskToken"], output="{}")
    assert world.types(execution)[-2:] == ["ActivityTimedOut", "ExecutionFailed"]


def test_a_worker_that_gives_no_sign_of_life(world):
    activity = world.activity()
    definition = task(activity, TimeoutSeconds=600, HeartbeatSeconds=1)
    execution = world.start(world.machine(definition))
    taken = world.sfn.get_activity_task(activityArn=activity)
    world.sfn.send_task_heartbeat(taskToken=taken["taskToken"])
    ended = world.ended(execution)
    assert ended["status"] == "FAILED" and ended["error"] in {"States.Timeout", "States.HeartbeatTimeout"}


def test_an_activity_is_found_again_and_deleted(world):
    name = world.name()
    first = world.sfn.create_activity(name=name)
    again = world.sfn.create_activity(name=name, tags=[{"key": "k", "value": "v"}])
    assert (again["activityArn"], again["creationDate"]) == (first["activityArn"], first["creationDate"])
    described = world.sfn.describe_activity(activityArn=first["activityArn"])
    assert (described["name"], described["creationDate"]) == (name, first["creationDate"])
    for _ in range(2):
        world.sfn.delete_activity(activityArn=first["activityArn"])
    with pytest.raises(world.sfn.exceptions.ActivityDoesNotExist):
        world.sfn.get_activity_task(activityArn=first["activityArn"])
