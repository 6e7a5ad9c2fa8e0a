"""TestState: one state by itself, with mocks, at every level of inspection."""

import json

import pytest
from botocore.exceptions import ClientError

from definitions import text
from everstep import ROLE

TASK = {
    "Type": "Task",
    "Resource": "arn:aws:states:::lambda:invoke",
    "Parameters": {"FunctionName": "f", "Payload.$": "$"},
    "ResultSelector": {"got.$": "$.Payload"},
    "ResultPath": "$.result",
    "OutputPath": "$.result",
    "Retry": [{"ErrorEquals": ["Busy"], "IntervalSeconds": 2, "MaxAttempts": 2, "BackoffRate": 2}],
    "Catch": [{"ErrorEquals": ["Wrong"], "Next": "Caught"}],
    "Next": "After",
}


def inspected(world, state, **options):
    definition = state if isinstance(state, str) else json.dumps(state)
    return world.sfn.test_state(definition=definition, **options)


def test_levels_of_inspection(world):
    mock = {"result": json.dumps({"Payload": "five", "StatusCode": 200})}
    for level in ["INFO", "DEBUG", "TRACE"]:
        options = {"input": '{"a":1}', "mock": mock, "inspectionLevel": level}
        found = inspected(world, TASK, **options)
        assert (found["status"], json.loads(found["output"]), found["nextState"]) == (
            "SUCCEEDED",
            {"got": "five"},
            "After",
        )
        data = found.get("inspectionData", {})
        if level == "INFO":
            assert data == {}
        else:
            steps = {name: json.loads(data[name]) for name in data if name.startswith(("after", "input", "result"))}
            assert steps["input"] == {"a": 1}
            assert steps["afterParameters"] == {"FunctionName": "f", "Payload": {"a": 1}}
            assert steps["afterResultSelector"] == {"got": "five"}
            assert steps["afterResultPath"] == {"a": 1, "result": {"got": "five"}}


def test_errors_are_retried_caught_or_final(world):
    def failed(error, **configuration):
        mock = {"errorOutput": {"error": error, "cause": "C"}}
        return inspected(world, TASK, input="{}", mock=mock, inspectionLevel="DEBUG", **configuration)

    retried = failed("Busy", stateConfiguration={"retrierRetryCount": 1})
    assert (retried["status"], retried["error"]) == ("RETRIABLE", "Busy")
    details = retried["inspectionData"]["errorDetails"]
    assert (details["retryIndex"], details["retryBackoffIntervalSeconds"]) == (0, 4)
    exhausted = failed("Busy", stateConfiguration={"retrierRetryCount": 2})
    assert exhausted["status"] == "FAILED"
    caught = failed("Wrong")
    assert (caught["status"], caught["nextState"]) == ("CAUGHT_ERROR", "Caught")
    assert caught["inspectionData"]["errorDetails"]["catchIndex"] == 0
    final = failed("Other")
    assert (final["status"], final["error"], final["cause"]) == ("FAILED", "Other", "C")


def test_a_state_of_a_machine_with_variables_and_context(world):
    machine = text(
        {
            "One": {"Type": "Pass", "Next": "Two"},
            "Two": {
                "Type": "Task",
                "Resource": "arn:aws:states:::aws-sdk:sfn:createActivity",
                "Arguments": {"Name": "n"},
                "Output": "{% {'x': $x, 'id': $states.context.Execution.Id} %}",
                "End": True,
            },
        },
        QueryLanguage="JSONata",
    )
    found = inspected(
        world,
        machine,
        stateName="Two",
        variables='{"x":42}',
        context='{"Execution":{"Id":"mine"}}',
        mock={"result": '{"ActivityArn":"a","CreationDate":"2026-01-01T00:00:00Z"}'},
        input="{}",
        roleArn=ROLE,
    )
    assert json.loads(found["output"]) == {"x": 42, "id": "mine"}


def test_a_choice_and_a_failure(world):
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Next": "One"}], "Default": "Other"}
    assert inspected(world, choice, input='{"n":1}')["nextState"] == "One"
    assert inspected(world, choice, input='{"n":2}')["nextState"] == "Other"
    found = inspected(world, {"Type": "Fail", "Error": "E", "Cause": "C"}, input="{}")
    assert (found["status"], found["error"], found["cause"]) == ("FAILED", "E", "C")


def test_a_task_without_a_mock_is_really_called(world):
    name = world.name()
    state = {
        "Type": "Task",
        "Resource": "arn:aws:states:::aws-sdk:sfn:createActivity",
        "Parameters": {"Name": name},
        "End": True,
    }
    found = inspected(world, state, roleArn=ROLE)
    assert json.loads(found["output"])["ActivityArn"].endswith(f":activity:{name}")


@pytest.mark.parametrize(
    ("state", "options"),
    [
        (TASK, {"mock": {}}),
        (TASK, {"mock": {"result": "not JSON"}}),
        ({"Type": "Pass", "End": True}, {"stateName": "Nowhere"}),
        ({"Type": "Pass", "End": True}, {"variables": "[]"}),
    ],
)
def test_requests_that_make_no_sense(world, state, options):
    with pytest.raises(ClientError) as raised:
        inspected(world, state, roleArn=ROLE, **options)
    assert raised.value.response["Error"]["Code"] in {"ValidationException", "InvalidDefinition"}


def refusal(world, state, **options):
    with pytest.raises(ClientError) as raised:
        inspected(world, state, **options)
    return raised.value.response["Error"]


def test_the_context_of_a_test(world):
    """The name of the execution is the last part of its ARN, which has one part fewer than that of an EXPRESS execution."""
    state = {"Type": "Pass", "Parameters": {"execution.$": "$$.Execution"}, "End": True}
    execution = json.loads(inspected(world, state, input="{}")["output"])["execution"]
    place, kind, machine, name = execution["Id"].rsplit(":", 3)
    assert (kind, name) == ("express", execution["Name"])
    assert len(execution["Id"].split(":")) == 8
    assert sorted(execution) == ["Id", "Input", "Name", "RoleArn", "StartTime"]
    assert execution["RoleArn"] is None


def test_a_task_needs_a_role_or_a_mock(world):
    task = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sfn:listActivities", "Parameters": {}, "End": True}
    found = refusal(world, task)
    assert (found["Code"], found["Message"]) == (
        "ValidationException",
        "RoleArn must be specified when testing a Task state",
    )
    assert inspected(world, task, mock={"result": '{"Activities":[]}'})["status"] == "SUCCEEDED"


def test_secrets_of_a_mock(world):
    found = refusal(world, TASK, mock={"errorOutput": {"error": "E"}}, revealSecrets=True)
    assert (found["Code"], found["Message"]) == (
        "ValidationException",
        "TestState does not support RevealSecrets when a mock is specified.",
    )
