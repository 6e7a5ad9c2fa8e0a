"""Functions as tasks of executions, with the results and errors that AWS records."""

import base64
import json

import pytest

from conftest import World
from definitions import task
from everstep import ACCOUNT, REGION

INVOKE = "arn:aws:states:::lambda:invoke"


@pytest.fixture(scope="module")
def tasks(functions):
    return World(functions, functions.client())


def invoke(**parameters):
    return task(INVOKE, parameters)


@pytest.mark.parametrize(
    "payload, event",
    [
        ('{"a": 1}', {"a": 1}),
        ("[]", []),
        ("0", 0),
        ('"text"', "text"),
        ({"a": "1"}, {"a": "1"}),
        (None, {}),
    ],
)
def test_a_string_is_the_text_of_the_event(tasks, payload, event):
    answer = tasks.output(invoke(FunctionName="greet", Payload=payload))
    assert answer["Payload"]["hello"] == event
    assert "LogResult" not in answer


def test_a_string_that_is_not_json(tasks):
    ended = tasks.run(invoke(FunctionName="greet", Payload="text"))
    assert (ended["status"], ended["error"]) == ("FAILED", "Lambda.InvalidRequestContentException")
    assert ended["cause"].startswith("Could not parse request body into json: ")


def test_the_end_of_the_log(tasks):
    answer = tasks.output(invoke(FunctionName="says", LogType="Tail"))
    log = base64.b64decode(answer["LogResult"]).decode().splitlines()
    identifier = answer["SdkResponseMetadata"]["RequestId"]
    assert log == [f"START RequestId: {identifier} Version: $LATEST", "well", f"END RequestId: {identifier}"]
    assert answer["SdkHttpMetadata"]["HttpHeaders"]["X-Amz-Log-Result"] == answer["LogResult"]


def test_a_cause_is_the_text_of_the_function(tasks):
    resource = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:fails"
    ended = tasks.run(task(resource))
    assert ended["error"] == "NoFunds"
    assert ended["cause"].startswith('{"errorMessage": "the card has no funds", "errorType": "NoFunds", "requestId": "')


def test_the_cause_of_an_invocation_is_compact(tasks):
    ended = tasks.run(invoke(FunctionName="fails"))
    assert ended["error"] == "NoFunds"
    assert ended["cause"] == json.dumps(json.loads(ended["cause"]), separators=(",", ":"))
