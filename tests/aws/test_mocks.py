"""Test cases of AWS Step Functions Local: executions whose tasks a mock file answers."""

import json

import pytest

from conftest import World
from definitions import distributed, task
from everstep import Server

CALLBACK = "arn:aws:states:::sqs:sendMessage.waitForTaskToken"
NESTED = "arn:aws:states:::states:startExecution.sync:2"
FUNCTION = "arn:aws:states:::lambda:invoke"

MOCKS = {
    "StateMachines": {
        "fast": {"TestCases": {"Good": {"Work": "Answer"}, "Bad": {"Work": "Error"}}},
        "callback": {"TestCases": {"Good": {"Work": "Answer"}, "Bad": {"Work": "Error"}}},
        "nested": {"TestCases": {"Good": {"Work": "Answer"}, "Bad": {"Work": "Error"}}},
        "plain": {"TestCases": {"Good": {"Work": "Answer"}}},
        "map": {"TestCases": {"Good": {"Each": "Numbers"}}},
        "maps": {"TestCases": {"Good": {"Inner": "Numbers"}}},
        "express-map": {"TestCases": {"Good": {"Each": "Numbers"}}},
    },
    "MockedResponses": {
        "Answer": {"0": {"Return": {"answer": 42}}},
        "Error": {"0": {"Throw": {"Error": "Wrong", "Cause": "by the file"}}},
        "Numbers": {str(n): {"Return": n} for n in range(4)},
    },
}


@pytest.fixture(scope="module")
def mocked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mocks")
    (folder / "mocks.json").write_text(json.dumps(MOCKS))
    server = Server(folder / "store", {"SFN_MOCK_CONFIG": str(folder / "mocks.json")})
    yield World(server, server.client())
    server.stop()


def function(**fields):
    return task(FUNCTION, {"FunctionName": "nowhere"}, **fields)


def test_a_synchronous_execution_of_a_test_case(mocked):
    machine = mocked.express(function(), name="fast")
    good = mocked.sfn.start_sync_execution(stateMachineArn=f"{machine}#Good")
    assert (good["status"], json.loads(good["output"])) == ("SUCCEEDED", {"answer": 42})
    assert good["stateMachineArn"] == machine
    bad = mocked.sfn.start_sync_execution(stateMachineArn=f"{machine}#Bad")
    assert (bad["status"], bad["error"], bad["cause"]) == ("FAILED", "Wrong", "by the file")


@pytest.mark.parametrize(
    ("name", "definition"),
    [
        ("callback", task(CALLBACK, {"QueueUrl": "q", "MessageBody": {"token.$": "$$.Task.Token"}})),
        ("nested", task(NESTED, {"StateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:none"})),
    ],
)
def test_what_waits_is_submitted_first(mocked, name, definition):
    machine = mocked.machine(definition, name=name)
    before = ["ExecutionStarted", "TaskStateEntered", "TaskScheduled", "TaskStarted", "TaskSubmitted"]
    good = mocked.start(f"{machine}#Good")
    assert json.loads(mocked.ended(good)["output"]) == {"answer": 42}
    assert mocked.types(good) == [*before, "TaskSucceeded", "TaskStateExited", "ExecutionSucceeded"]
    bad = mocked.start(f"{machine}#Bad")
    assert mocked.ended(bad)["error"] == "Wrong"
    assert mocked.types(bad) == [*before, "TaskFailed", "ExecutionFailed"]


def test_what_does_not_wait_is_not_submitted(mocked):
    machine = mocked.machine(function(), name="plain")
    execution = mocked.start(f"{machine}#Good")
    assert json.loads(mocked.ended(execution)["output"]) == {"answer": 42}
    assert "TaskSubmitted" not in mocked.types(execution)


@pytest.mark.parametrize("express", [False, True])
def test_children_of_a_distributed_map(mocked, express):
    """All items count together, as those of an inline Map do."""
    each = json.loads(function())["States"]["Work"]
    definition = distributed(each, express=express)
    machine = mocked.machine(definition, name="express-map" if express else "map")
    ended = mocked.ended(mocked.start(f"{machine}#Good", [None] * 4))
    assert ended["status"] == "SUCCEEDED", ended
    assert sorted(json.loads(ended["output"])) == [0, 1, 2, 3]


def test_children_of_children(mocked):
    inner = json.loads(function())["States"]["Work"]
    states = json.loads(distributed(inner))["States"]
    states["Map"]["ItemProcessor"]["StartAt"] = "Inner"
    states["Map"]["ItemProcessor"]["States"] = {"Inner": inner}
    states["Map"]["Label"] = "inner"
    outer = distributed(states["Map"] | {"Type": "Map"})
    machine = mocked.machine(outer, name="maps")
    ended = mocked.ended(mocked.start(f"{machine}#Good", [[1, 2], [3, 4]]))
    assert ended["status"] == "SUCCEEDED", ended
    assert sorted(sum(json.loads(ended["output"]), [])) == [0, 1, 2, 3]


def test_other_executions_are_not_mocked(mocked):
    ended = mocked.run(function(), name="unmocked")
    assert (ended["status"], ended["error"]) == ("FAILED", "Lambda.ResourceNotFoundException")
