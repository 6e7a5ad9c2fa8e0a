"""Functions through boto3's client for AWS Lambda."""

import base64
import http.client
import json
import re
import uuid

import pytest
from botocore.exceptions import ClientError

from everstep import ACCOUNT, REGION, Server, until
from conftest import FUNCTIONS


@pytest.fixture(scope="module")
def lambdas(functions):
    return functions.client(service="lambda")


def invoke(client, name, event=None, **options):
    """The answer, with its payload read and parsed."""
    given = {} if event is None else {"Payload": json.dumps(event)}
    answer = client.invoke(FunctionName=name, **given, **options)
    text = answer["Payload"].read()
    return answer | {"Payload": json.loads(text) if text else None}


def own(server, operation, **body):
    """An operation of the server's own."""
    status, _, answer = server.post(None, body, {"X-Amz-Target": f"Everstep.{operation}"})
    assert status == 200, answer
    return answer


def request_id(answer):
    return answer["ResponseMetadata"]["RequestId"]


def test_an_answer(lambdas):
    answer = invoke(lambdas, "greet", {"name": "Ä", "price": 1.5})
    assert answer["StatusCode"] == 200
    assert answer["ExecutedVersion"] == "$LATEST"
    assert "FunctionError" not in answer
    assert answer["Payload"]["hello"] == {"name": "Ä", "price": 1.5}
    assert answer["Payload"]["requestId"] == request_id(answer)


@pytest.mark.parametrize(
    "name",
    [
        "greet",
        "greet:$LATEST",
        f"{ACCOUNT}:function:greet",
        f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:greet",
        f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:greet:$LATEST",
    ],
)
def test_the_names_of_a_function(lambdas, name):
    assert invoke(lambdas, name, 17)["Payload"]["hello"] == 17


def test_an_event_may_be_left_out(lambdas):
    assert invoke(lambdas, "greet")["Payload"]["hello"] == {}


def test_a_function_that_fails(lambdas):
    answer = invoke(lambdas, "fails", {})
    assert (answer["StatusCode"], answer["FunctionError"]) == (200, "Unhandled")
    payload = answer["Payload"]
    assert (payload["errorType"], payload["errorMessage"]) == ("NoFunds", "the card has no funds")
    assert any("app.py" in line for line in payload["stackTrace"])


def test_a_function_that_takes_too_long(lambdas):
    answer = invoke(lambdas, "slow", {})
    assert answer["FunctionError"] == "Unhandled"
    assert answer["Payload"]["errorType"] == "Sandbox.Timedout"


def test_a_dry_run(lambdas):
    answer = invoke(lambdas, "greet", {}, InvocationType="DryRun")
    assert (answer["StatusCode"], answer["Payload"]) == (204, None)


@pytest.mark.parametrize("manner", ["RequestResponse", "Event", "DryRun"])
def test_a_function_that_is_not_there(lambdas, manner):
    with pytest.raises(ClientError) as caught:
        invoke(lambdas, "nobody", {}, InvocationType=manner)
    assert isinstance(caught.value, lambdas.exceptions.ResourceNotFoundException)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 404
    assert "function:nobody" in caught.value.response["Error"]["Message"]


def test_an_event_that_is_not_json(lambdas):
    with pytest.raises(lambdas.exceptions.InvalidRequestContentException):
        lambdas.invoke(FunctionName="greet", Payload="{")


@pytest.mark.parametrize("manner", ["RequestResponse", "Event"])
def test_an_event_that_is_too_large(lambdas, manner):
    with pytest.raises(lambdas.exceptions.RequestTooLargeException) as caught:
        lambdas.invoke(FunctionName="greet", Payload=b" " * (6 << 20) + b"1", InvocationType=manner)
    answer = caught.value.response
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 413
    assert answer["Error"]["Message"] == "Request must be smaller than 6291456 bytes for the InvokeFunction operation"


def test_an_event_that_is_accepted_is_run(functions, lambdas):
    answer = invoke(lambdas, "greet", {"n": 1}, InvocationType="Event")
    assert (answer["StatusCode"], answer["Payload"]) == (202, None)

    def ended():
        shown = own(functions, "ShowInvocation", id=request_id(answer))
        return shown if shown["state"] == "Succeeded" else None

    assert until(ended)["response"]["hello"] == {"n": 1}


def test_an_event_is_tried_again_and_kept(functions, lambdas):
    answer = invoke(lambdas, "fails", {"n": 2}, InvocationType="Event")

    def ended():
        shown = own(functions, "ShowInvocation", id=request_id(answer))
        return shown if shown["state"] == "Exhausted" else None

    shown = until(ended)
    assert [attempt["errorType"] for attempt in shown["attempts"]] == ["NoFunds", "NoFunds"]
    assert shown["deadLetter"] and shown["payload"] == {"n": 2}


@pytest.mark.parametrize("manner", ["RequestResponse", "Event"])
def test_a_key_runs_once(functions, manner):
    client, key = functions.client(service="lambda"), str(uuid.uuid4())
    client.meta.events.register(
        "before-call.lambda.Invoke", lambda params, **_: params["headers"].update({"Idempotency-Key": key})
    )
    answers = [invoke(client, "greet", number, InvocationType=manner) for number in range(3)]
    assert len({request_id(answer) for answer in answers}) == 1
    if manner == "RequestResponse":
        assert [answer["Payload"]["hello"] for answer in answers] == [0, 0, 0]


def context(value):
    return base64.b64encode(json.dumps(value).encode()).decode()


def test_a_client_context(lambdas):
    given = context({"env": {"locale": "de"}, "custom": {"tenant": "a", "n": 1}})
    payload = invoke(lambdas, "told", {}, ClientContext=given)["Payload"]
    assert payload["env"] == {"locale": "de"}
    assert (payload["custom"]["tenant"], payload["custom"]["n"]) == ("a", 1)
    assert payload["custom"]["everstep.attempt"] == "1"


def test_a_client_context_is_not_for_events(functions, lambdas):
    """As Lambda does it: it is taken, and not handed on."""
    answer = invoke(lambdas, "told", {}, InvocationType="Event", ClientContext=context({"custom": {"tenant": "a"}}))

    def ended():
        shown = own(functions, "ShowInvocation", id=request_id(answer))
        return shown if shown["state"] == "Succeeded" else None

    assert "tenant" not in until(ended)["response"]["custom"]


@pytest.mark.parametrize("given", ["{}", context([]), context("text"), context({"a": "b" * 2700}), "e30"])
def test_a_client_context_that_is_none(lambdas, given):
    with pytest.raises(lambdas.exceptions.InvalidRequestContentException) as caught:
        lambdas.invoke(FunctionName="told", ClientContext=given)
    assert "Client context must be" in caught.value.response["Error"]["Message"]


def test_a_client_context_cannot_be_kept_with_a_key(functions):
    client = functions.client(service="lambda")
    client.meta.events.register(
        "before-call.lambda.Invoke", lambda params, **_: params["headers"].update({"Idempotency-Key": "k"})
    )
    with pytest.raises(client.exceptions.InvalidParameterValueException) as caught:
        client.invoke(FunctionName="told", ClientContext=context({}))
    assert "idempotency key" in caught.value.response["Error"]["Message"]


NAMES = ["fails", "greet", "says", "shell", "slow", "told", "web"]


def test_all_functions(lambdas):
    listed = lambdas.list_functions()
    assert [found["FunctionName"] for found in listed["Functions"]] == NAMES
    assert "NextMarker" not in listed


def test_functions_page_by_page(lambdas):
    pages = lambdas.get_paginator("list_functions").paginate(PaginationConfig={"PageSize": 4})
    assert [[found["FunctionName"] for found in page["Functions"]] for page in pages] == [NAMES[:4], NAMES[4:]]
    with pytest.raises(lambdas.exceptions.InvalidParameterValueException):
        lambdas.list_functions(MaxItems=10001)


def test_a_function(lambdas):
    arn = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:told"
    found = lambdas.get_function(FunctionName=arn)
    assert found["Concurrency"] == {"ReservedConcurrentExecutions": 3}
    configuration = found["Configuration"]
    architectures = configuration.pop("Architectures")
    assert architectures in (["x86_64"], ["arm64"])
    assert configuration == {
        "FunctionName": "told",
        "FunctionArn": arn,
        "Runtime": "python3.11",
        "Handler": "app.told",
        "Timeout": 60,
        "MemorySize": 512,
        "Version": "$LATEST",
        "State": "Active",
        "LastUpdateStatus": "Successful",
    }
    alone = lambdas.get_function_configuration(FunctionName="told:$LATEST")
    alone.pop("ResponseMetadata")
    assert alone == configuration | {"Architectures": architectures}


def test_a_function_of_no_runtime_of_lambda(lambdas):
    for name in ["shell", "web"]:
        found = lambdas.get_function(FunctionName=name)
        assert "Runtime" not in found["Configuration"] and "Concurrency" not in found


def test_functions_can_be_waited_for(lambdas):
    for waiter in ["function_exists", "function_active_v2", "function_updated_v2"]:
        lambdas.get_waiter(waiter).wait(FunctionName="greet", WaiterConfig={"MaxAttempts": 1})


@pytest.mark.parametrize("operation", ["get_function", "get_function_configuration"])
def test_looking_for_a_function_that_is_not_there(lambdas, operation):
    with pytest.raises(lambdas.exceptions.ResourceNotFoundException) as caught:
        getattr(lambdas, operation)(FunctionName="nobody")
    assert "function:nobody" in caught.value.response["Error"]["Message"]


HERE = {"Invoke", "ListFunctions", "GetFunction", "GetFunctionConfiguration"}


def test_what_is_not_supported_is_refused_by_name(functions, lambdas):
    model = lambdas.meta.service_model
    connection = http.client.HTTPConnection("127.0.0.1", functions.port)
    for name in sorted(set(model.operation_names) - HERE):
        asked = model.operation_model(name).http
        connection.request(asked["method"], re.sub(r"\{[^}]*\}", "x", asked["requestUri"]))
        answer = connection.getresponse()
        body = json.loads(answer.read())
        assert (answer.status, answer.headers["x-amzn-ErrorType"]) == (501, "UnsupportedOperationException"), name
        assert body["Message"].startswith(f"{name} is not supported"), body
    with pytest.raises(ClientError) as caught:
        lambdas.delete_function(FunctionName="greet")
    assert caught.value.response["Error"]["Code"] == "UnsupportedOperationException"


def test_requests_are_signed(tmp_path):
    environment = {"EVERSTEP_FUNCTIONS": str(FUNCTIONS), "EVERSTEP_ACCESS_KEYS": "ME:secret"}
    server = Server(tmp_path / "store", environment)
    name = f"arn:aws:lambda:{REGION}:{ACCOUNT}:function:greet"
    good = server.client("ME", "secret", service="lambda")
    assert invoke(good, name, 17)["Payload"]["hello"] == 17
    for key, secret, code in [
        ("ME", "guess", "InvalidSignatureException"),
        ("YOU", "secret", "UnrecognizedClientException"),
    ]:
        with pytest.raises(ClientError) as caught:
            invoke(server.client(key, secret, service="lambda"), name, 17)
        assert caught.value.response["Error"]["Code"] == code
        with pytest.raises(ClientError) as caught:
            server.client(key, secret, service="lambda").list_functions()
        assert caught.value.response["Error"]["Code"] == code
    assert len(good.list_functions()["Functions"]) == len(NAMES)
    server.stop()
