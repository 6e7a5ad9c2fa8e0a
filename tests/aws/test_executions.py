"""Executions: started by name, described, listed, stopped, redriven; nested and synchronous ones."""

import json

import pytest

from definitions import FAIL, PASS, WAIT, failing, passing, task, text
from everstep import arn, until


def test_an_execution_from_start_to_end(world):
    machine = world.machine(passing({"sum": 3}, ResultPath="$.result"))
    execution = world.start(machine, {"a": 1}, name="first", traceHeader="Root=1-a")
    assert execution == machine.replace(":stateMachine:", ":execution:") + ":first"
    ended = world.ended(execution)
    assert (ended["name"], ended["status"], ended["stateMachineArn"]) == ("first", "SUCCEEDED", machine)
    assert json.loads(ended["input"]) == {"a": 1}
    assert json.loads(ended["output"]) == {"a": 1, "result": {"sum": 3}}
    assert ended["startDate"] <= ended["stopDate"]
    assert ended["inputDetails"] == {"included": True} == ended["outputDetails"]
    assert (ended["redriveCount"], ended["redriveStatus"]) == (0, "NOT_REDRIVABLE")
    assert ended["redriveStatusReason"] == "Execution is SUCCEEDED and cannot be redriven"
    assert ended["traceHeader"] == "Root=1-a"
    assert world.types(execution) == ["ExecutionStarted", "PassStateEntered", "PassStateExited", "ExecutionSucceeded"]


def test_names_are_good_for_one_execution(world):
    machine = world.machine(WAIT)
    request = {"stateMachineArn": machine, "name": "same", "input": '{"n":1}'}
    first = world.sfn.start_execution(**request)
    again = world.sfn.start_execution(**request)
    assert (again["executionArn"], again["startDate"]) == (first["executionArn"], first["startDate"])
    with pytest.raises(world.sfn.exceptions.ExecutionAlreadyExists):
        world.sfn.start_execution(**request | {"input": '{"n":2}'})
    world.sfn.stop_execution(executionArn=first["executionArn"])
    with pytest.raises(world.sfn.exceptions.ExecutionAlreadyExists):
        world.sfn.start_execution(**request)
    assert len(world.sfn.list_executions(stateMachineArn=machine)["executions"]) == 1
    other = world.machine(WAIT)
    assert world.start(other, name="same") != first["executionArn"]


def test_every_start_of_an_express_machine_is_another(world):
    machine = world.express()
    one, two = world.start(machine, name="same"), world.start(machine, name="same")
    assert one != two and one.startswith(machine.replace(":stateMachine:", ":express:") + ":same:")
    with pytest.raises(world.sfn.exceptions.InvalidArn):
        world.sfn.describe_execution(executionArn=one)


def test_stopping(world):
    machine = world.machine(WAIT)
    execution = world.start(machine)
    stopped = world.sfn.stop_execution(executionArn=execution, error="Why", cause="because")
    ended = world.ended(execution)
    assert (ended["status"], ended["error"], ended["cause"]) == ("ABORTED", "Why", "because")
    assert ended["stopDate"] == stopped["stopDate"]
    last = world.history(execution)[-1]
    assert last["executionAbortedEventDetails"] == {"error": "Why", "cause": "because"}
    again = world.sfn.stop_execution(executionArn=execution, error="Other")
    assert again["stopDate"] == stopped["stopDate"]
    assert world.ended(execution)["error"] == "Why"
    silent = world.start(machine)
    world.sfn.stop_execution(executionArn=silent)
    ended = world.ended(silent)
    assert "error" not in ended and "cause" not in ended


def test_failures_and_time_outs(world):
    failed = world.run(failing("E", "C"))
    assert (failed["status"], failed["error"], failed["cause"]) == ("FAILED", "E", "C")
    assert "output" not in failed and failed["redriveStatus"] == "REDRIVABLE"
    late = world.run(text({"W": {"Type": "Wait", "Seconds": 3600, "End": True}}, TimeoutSeconds=1))
    assert (late["status"], late["error"]) == ("TIMED_OUT", "States.Timeout")
    assert late["cause"] == "The execution ran longer than its TimeoutSeconds (1 s)."
    assert world.types(late["executionArn"])[-1] == "ExecutionTimedOut"


def test_lists_by_status_and_redrive(world):
    machine = world.machine(
        text(
            {
                "Which": {
                    "Type": "Choice",
                    "Choices": [
                        {"Variable": "$.do", "StringEquals": "fail", "Next": "Fail"},
                        {"Variable": "$.do", "StringEquals": "wait", "Next": "Wait"},
                    ],
                    "Default": "Done",
                },
                "Fail": {"Type": "Fail", "Error": "E"},
                "Wait": {"Type": "Wait", "Seconds": 3600, "End": True},
                "Done": {"Type": "Succeed"},
            }
        )
    )
    started = {}
    for what in ["fail", "wait", "done", "stop", "again"]:
        word = {"stop": "wait", "again": "fail"}.get(what, what)
        started[what] = world.start(machine, {"do": word}, name=what)
    world.sfn.stop_execution(executionArn=started["stop"])
    for what in ["fail", "done", "again"]:
        world.ended(started[what])
    world.sfn.redrive_execution(executionArn=started["again"])
    world.ended(started["again"])

    def names(**filters):
        found = world.sfn.list_executions(stateMachineArn=machine, **filters)["executions"]
        return {execution["name"] for execution in found}

    assert names() == set(started)
    assert names(statusFilter="RUNNING") == {"wait"}
    assert names(statusFilter="SUCCEEDED") == {"done"}
    assert names(statusFilter="FAILED") == {"fail", "again"}
    assert names(statusFilter="ABORTED") == {"stop"}
    assert names(statusFilter="TIMED_OUT") == set()
    assert names(redriveFilter="REDRIVEN") == {"again"}
    assert names(redriveFilter="NOT_REDRIVEN", statusFilter="FAILED") == {"fail"}
    world.sfn.stop_execution(executionArn=started["wait"])


def test_a_redrive_goes_on_from_where_it_failed(world):
    activity = world.activity()
    machine = world.machine(
        text(
            {
                "First": {"Type": "Pass", "Result": 1, "ResultPath": "$.first", "Next": "Work"},
                "Work": {"Type": "Task", "Resource": activity, "End": True},
            }
        )
    )
    execution = world.start(machine, {})

    def worked(**answer):
        taken = world.sfn.get_activity_task(activityArn=activity)
        assert json.loads(taken["input"]) == {"first": 1}
        answer.setdefault("taskToken", taken["taskToken"])
        return answer

    world.sfn.send_task_failure(**worked(error="Not.Now"))
    assert world.ended(execution)["redriveStatus"] == "REDRIVABLE"
    token = world.name()
    first = world.sfn.redrive_execution(executionArn=execution, clientToken=token)
    again = world.sfn.redrive_execution(executionArn=execution, clientToken=token)
    assert first["redriveDate"] == again["redriveDate"]
    with pytest.raises(world.sfn.exceptions.ExecutionNotRedrivable):
        world.sfn.redrive_execution(executionArn=execution, clientToken=world.name())
    world.sfn.send_task_success(**worked(output='"done"'))
    ended = world.ended(execution)
    assert (ended["status"], ended["output"], ended["redriveCount"]) == ("SUCCEEDED", '"done"', 1)
    assert ended["redriveDate"] == first["redriveDate"]
    types = world.types(execution)
    assert types.count("PassStateEntered") == 1 and types.count("TaskStateEntered") == 1
    assert types[types.index("ExecutionRedriven") - 1] == "ExecutionFailed"


NESTED = "arn:aws:states:::states:startExecution"


def parent(child, pattern="", given=None, **fields):
    given = {"child": 1} if given is None else given
    return task(NESTED + pattern, {"StateMachineArn": child, "Input": given}, **fields)


def test_nested_executions_that_are_only_started(world):
    child = world.machine(WAIT)
    answer = world.output(parent(child))
    assert set(answer) >= {"ExecutionArn", "StartDate"}
    found = world.sfn.describe_execution(executionArn=answer["ExecutionArn"])
    assert (found["status"], json.loads(found["input"])) == ("RUNNING", {"child": 1})
    world.sfn.stop_execution(executionArn=answer["ExecutionArn"])


@pytest.mark.parametrize(("pattern", "output"), [(".sync", '{"is":"done"}'), (".sync:2", {"is": "done"})])
def test_nested_executions_that_are_waited_for(world, pattern, output):
    child = world.machine(passing({"is": "done"}))
    answer = world.output(parent(child, pattern))
    assert (answer["Status"], answer["StateMachineArn"]) == ("SUCCEEDED", child)
    found = json.loads(answer["Output"]) if pattern == ".sync" else answer["Output"]
    assert isinstance(answer["Output"], type(output)) and found == {"is": "done"}


@pytest.mark.parametrize("pattern", [".sync", ".sync:2"])
def test_a_nested_execution_that_fails(world, pattern):
    child = world.machine(failing("Inner", "deep"))
    ended = world.run(parent(child, pattern))
    assert (ended["status"], ended["error"]) == ("FAILED", "States.TaskFailed")
    cause = json.loads(ended["cause"])
    assert (cause["Status"], cause["Error"], cause["Cause"]) == ("FAILED", "Inner", "deep")
    types = world.types(ended["executionArn"])
    assert types[1:6] == ["TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskSubmitted", "TaskFailed"]


def test_a_nested_execution_ends_with_its_parent(world):
    child = world.machine(WAIT)
    execution = world.start(world.machine(parent(child, ".sync:2")))
    [running] = until(lambda: world.sfn.list_executions(stateMachineArn=child)["executions"], "the child")
    world.sfn.stop_execution(executionArn=execution)
    assert world.ended(running["executionArn"])["status"] == "ABORTED"


def test_a_nested_execution_that_calls_back(world):
    child = world.machine(WAIT)
    given = {"token.$": "$$.Task.Token"}
    execution = world.start(world.machine(parent(child, ".waitForTaskToken", given)))
    [running] = until(lambda: world.sfn.list_executions(stateMachineArn=child)["executions"], "the child")
    found = world.sfn.describe_execution(executionArn=running["executionArn"])
    token = json.loads(found["input"])["token"]
    world.sfn.send_task_heartbeat(taskToken=token)
    world.sfn.send_task_success(taskToken=token, output='{"called":"back"}')
    ended = world.ended(execution)
    assert (ended["status"], json.loads(ended["output"])) == ("SUCCEEDED", {"called": "back"})
    with pytest.raises(world.sfn.exceptions.TaskTimedOut):
        world.sfn.send_task_success(taskToken=token, output="{}")
    world.sfn.stop_execution(executionArn=running["executionArn"])


def test_a_callback_that_fails_is_caught(world):
    child = world.machine(PASS)
    states = json.loads(parent(child, ".waitForTaskToken", {"token.$": "$$.Task.Token"}))["States"]
    states["Work"]["Catch"] = [{"ErrorEquals": ["Refused"], "Next": "Caught", "ResultPath": "$.error"}]
    states["Caught"] = {"Type": "Succeed"}
    execution = world.start(world.machine(text(states)), {"kept": True})
    [running] = until(lambda: world.sfn.list_executions(stateMachineArn=child)["executions"], "the child")
    token = json.loads(world.ended(running["executionArn"])["input"])["token"]
    world.sfn.send_task_failure(taskToken=token, error="Refused", cause="no")
    ended = world.ended(execution)
    assert json.loads(ended["output"]) == {"kept": True, "error": {"Error": "Refused", "Cause": "no"}}


def test_tasks_that_call_the_service_itself(world):
    name = world.name()
    made = world.output(task("arn:aws:states:::aws-sdk:sfn:createActivity", {"Name": name}))
    assert made["ActivityArn"] == arn(f"activity:{name}")
    fast = world.express(passing({"fast": True}))
    answer = world.output(task("arn:aws:states:::aws-sdk:sfn:startSyncExecution", {"StateMachineArn": fast}))
    assert (answer["Status"], json.loads(answer["Output"])) == ("SUCCEEDED", {"fast": True})
    missing = world.run(task("arn:aws:states:::aws-sdk:sfn:describeActivity", {"ActivityArn": arn("activity:none")}))
    assert missing["error"] == "Sfn.ActivityDoesNotExistException"
    # Neither the token nor the output is right: the token is looked at first.
    wrong = {"TaskToken": "NoSuchTaskToken", "Output": "ParameterOutput"}
    sent = world.run(task("arn:aws:states:::aws-sdk:sfn:sendTaskSuccess", wrong))
    assert sent["error"] == "Sfn.InvalidTokenException"
    assert sent["cause"].startswith("Invalid Token: 'Invalid token' (Service: Sfn, Status Code: 400, Request ID: ")


def test_synchronous_executions(world):
    machine = world.express(passing({"b": 2}, ResultPath="$.r"))
    done = world.sfn.start_sync_execution(stateMachineArn=machine, name="n", input='{"a":1}', traceHeader="Root=1")
    assert (done["status"], done["name"], done["stateMachineArn"]) == ("SUCCEEDED", "n", machine)
    assert (done["input"], json.loads(done["output"])) == ('{"a":1}', {"a": 1, "r": {"b": 2}})
    assert done["executionArn"].startswith(machine.replace(":stateMachine:", ":express:") + ":n:")
    assert done["billingDetails"]["billedMemoryUsedInMB"] == 64 and done["traceHeader"] == "Root=1"
    only = world.sfn.start_sync_execution(stateMachineArn=machine, input='{"a":1}', includedData="METADATA_ONLY")
    assert "input" not in only and "output" not in only and only["outputDetails"] == {"included": False}
    failed = world.sfn.start_sync_execution(stateMachineArn=world.express(FAIL))
    assert (failed["status"], failed["error"], failed["cause"]) == ("FAILED", "Broken", "by design")
    slow = text({"W": {"Type": "Wait", "Seconds": 100, "End": True}}, TimeoutSeconds=1)
    late = world.sfn.start_sync_execution(stateMachineArn=world.express(slow))
    assert (late["status"], late["error"]) == ("TIMED_OUT", "States.Timeout")
