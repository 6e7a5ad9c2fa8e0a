"""Every error that every operation declares, provoked through boto3.

The model says which errors a client of an operation must be ready for. Each is provoked here, or stands in
`NEVER` with the reason why it cannot happen; an error that is in neither fails its test, and so does one
that is listed and that the model does not have.
"""

import contextlib
import json
import socket

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from definitions import PASS, WAIT, distributed, task
from everstep import DEADLINE_SECONDS, ROLE, arn
from model import OPERATIONS, errors

NO_MACHINE = arn("stateMachine:nowhere")
NO_EXECUTION = arn("execution:nowhere:nothing")
NO_MAP_RUN = arn("mapRun:nowhere/label:nothing-0")
LABELLED = arn("stateMachine:machine/Map")
LONG = arn("execution:m:" + "x" * 300)
TAGS = [{"key": f"k{number}", "value": "v"} for number in range(51)]
KEY = {"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "alias/key"}
KEYLESS = {"type": "CUSTOMER_MANAGED_KMS_KEY"}
LOGGING = {"level": "ALL", "destinations": []}

NO_KEYS = "encryption settings are kept and shown; no key service is ever called"
NO_LIMIT = "the number is not limited here"
RETRIED = "a change that meets another is made again on top of it"

# By the error alone, or by the operation and the error.
NEVER = {
    "KmsAccessDeniedException": NO_KEYS,
    "KmsInvalidStateException": NO_KEYS,
    "KmsThrottlingException": NO_KEYS,
    "ActivityLimitExceeded": NO_LIMIT,
    "ExecutionLimitExceeded": NO_LIMIT,
    "StateMachineLimitExceeded": NO_LIMIT,
    ("CreateStateMachine", "StateMachineTypeNotSupported"): "both types can be made",
    ("CreateStateMachine", "ConflictException"): RETRIED,
    ("UpdateStateMachine", "ConflictException"): RETRIED,
    ("UpdateStateMachineAlias", "ConflictException"): RETRIED,
    ("DeleteStateMachineAlias", "ConflictException"): RETRIED,
    ("UpdateStateMachineAlias", "StateMachineDeleting"): "aliases are gone as soon as their machine is being deleted",
    ("CreateStateMachineAlias", "InvalidName"): "the model's pattern refuses such names: a ValidationException",
    ("StartSyncExecution", "StateMachineDeleting"): "no record of an EXPRESS execution holds its machine back",
}

CASES = {}
DECLARED = [(operation, error) for operation in OPERATIONS for error in errors(operation)]


def case(operation, error):
    def keep(function):
        assert (operation, error) not in CASES
        CASES[operation, error] = function
        return function

    return keep


def simple(operation, error, **request):
    """A request that is wrong by itself."""
    method = "".join("_" + c.lower() if c.isupper() else c for c in operation).lstrip("_")
    case(operation, error)(lambda world: getattr(world.sfn, method)(**request))


@pytest.mark.parametrize(("operation", "error"), DECLARED)
def test_error(world, operation, error):
    if error in NEVER or (operation, error) in NEVER:
        assert (operation, error) not in CASES, "it happens, and is listed among those that never do"
        return
    assert (operation, error) in CASES, f"{error} of {operation} is neither provoked nor explained"
    with pytest.raises(ClientError) as raised:
        CASES[operation, error](world)
    assert raised.value.operation_name == operation
    assert raised.value.response["Error"]["Code"] == error
    assert raised.value.response["Error"]["Message"]
    # What users catch: a class of its own, by the name the model gives it.
    assert isinstance(raised.value, getattr(world.sfn.exceptions, error))
    expected = {"ConflictException": 409, "ServiceQuotaExceededException": 402}.get(error, 400)
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == expected


def test_nothing_is_listed_that_is_not_in_the_model():
    assert set(CASES) <= set(DECLARED)
    assert {key for key in NEVER if isinstance(key, tuple)} <= set(DECLARED)
    assert {key for key in NEVER if isinstance(key, str)} <= {error for _, error in DECLARED}


# Activities

simple("CreateActivity", "InvalidName", name="a b")
simple("CreateActivity", "TooManyTags", name="a", tags=TAGS)
simple("CreateActivity", "InvalidEncryptionConfiguration", name="a", encryptionConfiguration=KEYLESS)
simple("DeleteActivity", "InvalidArn", activityArn="no ARN")
simple("DescribeActivity", "InvalidArn", activityArn=NO_MACHINE)
simple("DescribeActivity", "ActivityDoesNotExist", activityArn=arn("activity:nowhere"))
simple("GetActivityTask", "InvalidArn", activityArn="no ARN")
simple("GetActivityTask", "ActivityDoesNotExist", activityArn=arn("activity:nowhere"))
simple("ListActivities", "InvalidToken", nextToken="none")


@case("ListMapRuns", "InvalidToken")
def _(world):
    world.sfn.list_map_runs(executionArn=world.start(world.machine()), nextToken="none")


@case("UpdateMapRun", "ValidationException")
def _(world):
    """It is over."""
    execution = world.start(world.machine(distributed({"Type": "Pass"})), [1])
    world.ended(execution)
    run = world.sfn.list_map_runs(executionArn=execution)["mapRuns"][0]["mapRunArn"]
    world.sfn.update_map_run(mapRunArn=run, maxConcurrency=1)


@case("CreateActivity", "ActivityAlreadyExists")
def _(world):
    activity = world.activity()
    world.sfn.create_activity(name=activity.rsplit(":", 1)[1], encryptionConfiguration=KEY)


@case("GetActivityTask", "ActivityWorkerLimitExceeded")
def _(world):
    """A thousand workers wait; the next one is turned away."""
    activity = world.activity()
    body = json.dumps({"activityArn": activity})
    request = (
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n"
        f"X-Amz-Target: AWSStepFunctions.GetActivityTask\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    ).encode()
    workers = []

    def wait_for_work():
        workers.append(socket.create_connection(("127.0.0.1", world.server.port)))
        workers[-1].sendall(request)

    client = world.server.client(timeout=1)
    try:
        for _ in range(1000):
            wait_for_work()
        for _ in range(DEADLINE_SECONDS):
            # As long as this one waits too, a thousand are not there yet: some may still be on their way.
            with contextlib.suppress(ReadTimeoutError):
                client.get_activity_task(activityArn=activity)
            wait_for_work()
    finally:
        for worker in workers:
            worker.close()


# State machines

simple("CreateStateMachine", "InvalidArn", name="a", definition=PASS, roleArn="no role")
simple("CreateStateMachine", "InvalidDefinition", name="a", definition="{}", roleArn=ROLE)
simple("CreateStateMachine", "InvalidName", name="a b", definition=PASS, roleArn=ROLE)
simple(
    "CreateStateMachine",
    "InvalidLoggingConfiguration",
    name="a",
    definition=PASS,
    roleArn=ROLE,
    loggingConfiguration=LOGGING,
)
simple(
    "CreateStateMachine",
    "InvalidTracingConfiguration",
    name="a",
    definition=PASS,
    roleArn=ROLE,
    tracingConfiguration={},
)
simple(
    "CreateStateMachine",
    "InvalidEncryptionConfiguration",
    name="a",
    definition=PASS,
    roleArn=ROLE,
    encryptionConfiguration=KEYLESS,
)
simple("CreateStateMachine", "TooManyTags", name="a", definition=PASS, roleArn=ROLE, tags=TAGS)
simple(
    "CreateStateMachine",
    "ValidationException",
    name="a",
    definition=PASS,
    roleArn=ROLE,
    versionDescription="unpublished",
)
simple("UpdateStateMachine", "InvalidArn", stateMachineArn="no ARN", definition=PASS)
simple("UpdateStateMachine", "StateMachineDoesNotExist", stateMachineArn=NO_MACHINE, definition=PASS)
simple("UpdateStateMachine", "ValidationException", stateMachineArn=LABELLED, definition=PASS)
simple("DescribeStateMachine", "InvalidArn", stateMachineArn="no ARN")
simple("DescribeStateMachine", "StateMachineDoesNotExist", stateMachineArn=NO_MACHINE)
simple("DeleteStateMachine", "InvalidArn", stateMachineArn="no ARN")
simple("DeleteStateMachine", "ValidationException", stateMachineArn=LABELLED)
simple("ListStateMachines", "InvalidToken", nextToken="none")
simple("ValidateStateMachineDefinition", "ValidationException", definition=PASS, maxResults=1000)


@case("CreateStateMachine", "StateMachineAlreadyExists")
def _(world):
    machine = world.machine()
    world.machine(WAIT, name=machine.rsplit(":", 1)[1])


@case("CreateStateMachine", "StateMachineDeleting")
def _(world):
    machine, _ = world.deleting()
    world.machine(WAIT, name=machine.rsplit(":", 1)[1])


@case("UpdateStateMachine", "StateMachineDeleting")
def _(world):
    world.sfn.update_state_machine(stateMachineArn=world.deleting()[0], definition=PASS)


@case("UpdateStateMachine", "MissingRequiredParameter")
def _(world):
    world.sfn.update_state_machine(stateMachineArn=world.machine())


@case("UpdateStateMachine", "InvalidDefinition")
def _(world):
    world.sfn.update_state_machine(stateMachineArn=world.machine(), definition="[]")


@case("UpdateStateMachine", "InvalidLoggingConfiguration")
def _(world):
    world.sfn.update_state_machine(stateMachineArn=world.machine(), loggingConfiguration=LOGGING)


@case("UpdateStateMachine", "InvalidTracingConfiguration")
def _(world):
    world.sfn.update_state_machine(stateMachineArn=world.machine(), tracingConfiguration={})


@case("UpdateStateMachine", "InvalidEncryptionConfiguration")
def _(world):
    world.sfn.update_state_machine(stateMachineArn=world.machine(), encryptionConfiguration=KEYLESS)


def full_of_versions(world):
    """A machine with the thousand versions it may have, and a revision that has none."""
    machine = world.machine(publish=True)
    for number in range(1000):
        role = f"{ROLE}-{number}"
        world.sfn.update_state_machine(stateMachineArn=machine, roleArn=role, publish=number < 999)
    return machine


@case("UpdateStateMachine", "ServiceQuotaExceededException")
def _(world):
    world.sfn.update_state_machine(stateMachineArn=full_of_versions(world), definition=WAIT, publish=True)


# Versions and aliases

simple("PublishStateMachineVersion", "InvalidArn", stateMachineArn="no ARN")
simple("PublishStateMachineVersion", "StateMachineDoesNotExist", stateMachineArn=NO_MACHINE)
simple("PublishStateMachineVersion", "ValidationException", stateMachineArn=LABELLED)
simple("ListStateMachineVersions", "InvalidArn", stateMachineArn="no ARN")
simple("ListStateMachineVersions", "InvalidToken", stateMachineArn=NO_MACHINE, nextToken="none")
simple("ListStateMachineVersions", "ValidationException", stateMachineArn=LABELLED)
simple("DeleteStateMachineVersion", "InvalidArn", stateMachineVersionArn=NO_MACHINE)
simple("DeleteStateMachineVersion", "ValidationException", stateMachineVersionArn=LABELLED)
simple("DescribeStateMachineAlias", "InvalidArn", stateMachineAliasArn=NO_MACHINE)
simple("DescribeStateMachineAlias", "ResourceNotFound", stateMachineAliasArn=NO_MACHINE + ":live")
simple("DescribeStateMachineAlias", "ValidationException", stateMachineAliasArn=LABELLED)
simple("DeleteStateMachineAlias", "InvalidArn", stateMachineAliasArn=NO_MACHINE)
simple("DeleteStateMachineAlias", "ResourceNotFound", stateMachineAliasArn=NO_MACHINE + ":live")
simple("DeleteStateMachineAlias", "ValidationException", stateMachineAliasArn=LABELLED)
simple("UpdateStateMachineAlias", "InvalidArn", stateMachineAliasArn=NO_MACHINE, description="d")
simple("UpdateStateMachineAlias", "ResourceNotFound", stateMachineAliasArn=NO_MACHINE + ":live", description="d")
simple("UpdateStateMachineAlias", "ValidationException", stateMachineAliasArn=NO_MACHINE + ":live")
simple("ListStateMachineAliases", "InvalidArn", stateMachineArn="no ARN")
simple("ListStateMachineAliases", "StateMachineDoesNotExist", stateMachineArn=NO_MACHINE)
simple("ListStateMachineAliases", "ResourceNotFound", stateMachineArn=NO_MACHINE + ":1")
simple(
    "CreateStateMachineAlias",
    "InvalidArn",
    name="live",
    routingConfiguration=[{"stateMachineVersionArn": "no ARN", "weight": 100}],
)
simple(
    "CreateStateMachineAlias",
    "ResourceNotFound",
    name="live",
    routingConfiguration=[{"stateMachineVersionArn": NO_MACHINE + ":1", "weight": 100}],
)
simple(
    "CreateStateMachineAlias",
    "ValidationException",
    name="live",
    routingConfiguration=[{"stateMachineVersionArn": NO_MACHINE + ":1", "weight": 99}],
)


@case("PublishStateMachineVersion", "ConflictException")
def _(world):
    world.sfn.publish_state_machine_version(stateMachineArn=world.machine(), revisionId="another")


@case("PublishStateMachineVersion", "StateMachineDeleting")
def _(world):
    world.sfn.publish_state_machine_version(stateMachineArn=world.deleting()[0])


@case("PublishStateMachineVersion", "ServiceQuotaExceededException")
def _(world):
    world.sfn.publish_state_machine_version(stateMachineArn=full_of_versions(world))


@case("DeleteStateMachineVersion", "ConflictException")
def _(world):
    version = world.publish(world.machine())
    world.alias((version, 100))
    world.sfn.delete_state_machine_version(stateMachineVersionArn=version)


@case("CreateStateMachineAlias", "ConflictException")
def _(world):
    version = world.publish(world.machine())
    world.alias((version, 100))
    world.alias((version, 100), description="other")


@case("CreateStateMachineAlias", "StateMachineDeleting")
def _(world):
    machine = world.machine(WAIT)
    version = world.publish(machine)
    world.start(machine)
    world.sfn.delete_state_machine(stateMachineArn=machine)
    world.alias((version, 100))


@case("CreateStateMachineAlias", "ServiceQuotaExceededException")
def _(world):
    version = world.publish(world.machine())
    for number in range(101):
        world.alias((version, 100), name=f"a{number}")


@case("ListStateMachineAliases", "InvalidToken")
def _(world):
    world.sfn.list_state_machine_aliases(stateMachineArn=world.machine(), nextToken="none")


@case("ListStateMachineAliases", "StateMachineDeleting")
def _(world):
    world.sfn.list_state_machine_aliases(stateMachineArn=world.deleting()[0])


# Executions

simple("StartExecution", "InvalidArn", stateMachineArn="no ARN")
simple("StartExecution", "StateMachineDoesNotExist", stateMachineArn=NO_MACHINE)
simple("StartExecution", "ValidationException", stateMachineArn=LABELLED)
simple("StartSyncExecution", "InvalidArn", stateMachineArn="no ARN")
simple("StartSyncExecution", "StateMachineDoesNotExist", stateMachineArn=NO_MACHINE)
simple("StopExecution", "InvalidArn", executionArn="no ARN")
simple("StopExecution", "ExecutionDoesNotExist", executionArn=NO_EXECUTION)
simple("StopExecution", "ValidationException", executionArn=LONG)
simple("DescribeExecution", "InvalidArn", executionArn="no ARN")
simple("DescribeExecution", "ExecutionDoesNotExist", executionArn=NO_EXECUTION)
simple("DescribeStateMachineForExecution", "InvalidArn", executionArn="no ARN")
simple("DescribeStateMachineForExecution", "ExecutionDoesNotExist", executionArn=NO_EXECUTION)
simple("GetExecutionHistory", "InvalidArn", executionArn="no ARN")
simple("GetExecutionHistory", "ExecutionDoesNotExist", executionArn=NO_EXECUTION)
simple("ListExecutions", "InvalidArn", stateMachineArn="no ARN")
simple("ListExecutions", "StateMachineDoesNotExist", stateMachineArn=NO_MACHINE)
simple("ListExecutions", "ResourceNotFound", mapRunArn=arn("mapRun:machine/Map:00000000-0000-0000-0000-000000000000"))
simple("ListExecutions", "ValidationException")
simple("DescribeMapRun", "InvalidArn", mapRunArn=NO_EXECUTION)
simple("DescribeMapRun", "ResourceNotFound", mapRunArn=NO_MAP_RUN)
simple("ListMapRuns", "InvalidArn", executionArn="no ARN")
simple("ListMapRuns", "ExecutionDoesNotExist", executionArn=NO_EXECUTION)
simple("UpdateMapRun", "InvalidArn", mapRunArn="no ARN")
simple("UpdateMapRun", "ResourceNotFound", mapRunArn=NO_MAP_RUN, maxConcurrency=1)
simple("RedriveExecution", "InvalidArn", executionArn="no ARN")
simple("RedriveExecution", "ExecutionDoesNotExist", executionArn=NO_EXECUTION)
simple("RedriveExecution", "ValidationException", executionArn=LONG)


@case("StartExecution", "InvalidName")
def _(world):
    world.start(world.machine(), name="a/b")


@case("StartExecution", "InvalidExecutionInput")
def _(world):
    world.sfn.start_execution(stateMachineArn=world.machine(), input="{")


@case("StartExecution", "ExecutionAlreadyExists")
def _(world):
    machine = world.machine(WAIT)
    world.start(machine, {"n": 1}, name="same")
    world.start(machine, {"n": 2}, name="same")


@case("StartExecution", "StateMachineDeleting")
def _(world):
    world.start(world.deleting()[0])


@case("StartSyncExecution", "InvalidName")
def _(world):
    world.sfn.start_sync_execution(stateMachineArn=world.express(), name="a/b")


@case("StartSyncExecution", "InvalidExecutionInput")
def _(world):
    world.sfn.start_sync_execution(stateMachineArn=world.express(), input="not JSON")


@case("StartSyncExecution", "StateMachineTypeNotSupported")
def _(world):
    world.sfn.start_sync_execution(stateMachineArn=world.machine())


@case("GetExecutionHistory", "InvalidToken")
def _(world):
    execution = world.start(world.machine())
    world.sfn.get_execution_history(executionArn=execution, nextToken="none")


@case("ListExecutions", "InvalidToken")
def _(world):
    world.sfn.list_executions(stateMachineArn=world.machine(), nextToken="none")


@case("ListExecutions", "StateMachineTypeNotSupported")
def _(world):
    world.sfn.list_executions(stateMachineArn=world.express())


@case("RedriveExecution", "ExecutionNotRedrivable")
def _(world):
    execution = world.start(world.machine())
    world.ended(execution)
    world.sfn.redrive_execution(executionArn=execution)


# Task tokens

simple("SendTaskSuccess", "InvalidToken", taskToken="none", output="{}")
simple("SendTaskFailure", "InvalidToken", taskToken="none")
simple("SendTaskHeartbeat", "InvalidToken", taskToken="none")


@case("SendTaskSuccess", "InvalidOutput")
def _(world):
    _, taken = world.running()
    world.sfn.send_task_success(taskToken=taken["taskToken"], output="{")


def settled(world):
    """The token of a task whose execution has been stopped."""
    execution, taken = world.running()
    world.sfn.stop_execution(executionArn=execution)
    return taken["taskToken"]


def forgotten(world):
    """The token of a task whose execution went with its machine."""
    activity = world.activity()
    machine = world.machine(task(activity))
    execution = world.start(machine)
    token = world.sfn.get_activity_task(activityArn=activity)["taskToken"]
    world.sfn.stop_execution(executionArn=execution)
    world.sfn.delete_state_machine(stateMachineArn=machine)
    return token


for error, token in {"TaskTimedOut": settled, "TaskDoesNotExist": forgotten}.items():
    case("SendTaskSuccess", error)(
        lambda world, token=token: world.sfn.send_task_success(taskToken=token(world), output="1")
    )
    case("SendTaskFailure", error)(lambda world, token=token: world.sfn.send_task_failure(taskToken=token(world)))
    case("SendTaskHeartbeat", error)(lambda world, token=token: world.sfn.send_task_heartbeat(taskToken=token(world)))


# Tests of one state

PASS_STATE = '{"Type":"Pass","End":true}'
simple("TestState", "InvalidArn", definition=PASS_STATE, roleArn="no role")
simple("TestState", "InvalidDefinition", definition='{"Type":"Fly"}', roleArn=ROLE)
simple("TestState", "InvalidExecutionInput", definition=PASS_STATE, roleArn=ROLE, input="{")
simple(
    "TestState",
    "ValidationException",
    definition=PASS_STATE,
    roleArn=ROLE,
    mock={"result": "1", "errorOutput": {"error": "E"}},
)


# Tags

for operation, more in {
    "ListTagsForResource": {},
    "TagResource": {"tags": TAGS[:1]},
    "UntagResource": {"tagKeys": ["k"]},
}.items():
    simple(operation, "InvalidArn", resourceArn="no ARN", **more)
    simple(operation, "ResourceNotFound", resourceArn=NO_MACHINE, **more)


@case("TagResource", "TooManyTags")
def _(world):
    machine = world.machine(tags=TAGS[:50])
    world.sfn.tag_resource(resourceArn=machine, tags=TAGS[50:])
