"""Every operation of the service's model, called once as it is meant to be called.

An operation that botocore knows and this file does not fails its test. The answers must have all that the
model requires of them; what they mean is looked at in the files beside this one.
"""

import json

import pytest

from definitions import FAIL, PASS, WAIT, distributed, passing, waiting
from everstep import ROLE, until
from model import OPERATIONS, missing_members

CALLS = {}

def call(operation):
    def keep(function):
        CALLS[operation] = function
        return function

    return keep


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operation(world, operation):
    assert operation in CALLS, f"{operation} is not tested"
    answer = CALLS[operation](world)
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert answer["ResponseMetadata"]["RequestId"]
    assert missing_members(operation, answer) == []


def test_nothing_is_listed_that_is_not_in_the_model():
    assert set(CALLS) == set(OPERATIONS)


def version(world):
    machine = world.machine()
    return machine, world.publish(machine)


def alias(world):
    machine, version_arn = version(world)
    return machine, world.alias((version_arn, 100))


@call("CreateActivity")
def _(world):
    return world.sfn.create_activity(name=world.name(), tags=[{"key": "k", "value": "v"}])


@call("CreateStateMachine")
def _(world):
    return world.sfn.create_state_machine(name=world.name(), definition=PASS, roleArn=ROLE, publish=True)


@call("CreateStateMachineAlias")
def _(world):
    _, version_arn = version(world)
    routes = [{"stateMachineVersionArn": version_arn, "weight": 100}]
    return world.sfn.create_state_machine_alias(name="live", routingConfiguration=routes)


@call("DeleteActivity")
def _(world):
    return world.sfn.delete_activity(activityArn=world.activity())


@call("DeleteStateMachine")
def _(world):
    return world.sfn.delete_state_machine(stateMachineArn=world.machine())


@call("DeleteStateMachineAlias")
def _(world):
    return world.sfn.delete_state_machine_alias(stateMachineAliasArn=alias(world)[1])


@call("DeleteStateMachineVersion")
def _(world):
    return world.sfn.delete_state_machine_version(stateMachineVersionArn=version(world)[1])


@call("DescribeActivity")
def _(world):
    return world.sfn.describe_activity(activityArn=world.activity())


@call("DescribeExecution")
def _(world):
    return world.sfn.describe_execution(executionArn=world.start(world.machine()))


def map_run(world, state=None):
    """An execution of a distributed Map, and its Map Run."""
    machine = world.machine(distributed(state or {"Type": "Pass"}))
    execution = world.start(machine, [1, 2, 3])
    return execution, until(lambda: world.sfn.list_map_runs(executionArn=execution)["mapRuns"])[0]["mapRunArn"]


@call("DescribeMapRun")
def _(world):
    return world.sfn.describe_map_run(mapRunArn=map_run(world)[1])


@call("ListMapRuns")
def _(world):
    return world.sfn.list_map_runs(executionArn=map_run(world)[0])


@call("UpdateMapRun")
def _(world):
    execution, run = map_run(world, {"Type": "Wait", "Seconds": 3600})
    answer = world.sfn.update_map_run(mapRunArn=run, maxConcurrency=2)
    world.sfn.stop_execution(executionArn=execution)
    return answer


@call("DescribeStateMachine")
def _(world):
    return world.sfn.describe_state_machine(stateMachineArn=world.machine())


@call("DescribeStateMachineAlias")
def _(world):
    return world.sfn.describe_state_machine_alias(stateMachineAliasArn=alias(world)[1])


@call("DescribeStateMachineForExecution")
def _(world):
    execution = world.start(world.machine())
    return world.sfn.describe_state_machine_for_execution(executionArn=execution)


@call("GetActivityTask")
def _(world):
    execution, task = world.running()
    assert task["taskToken"] and json.loads(task["input"]) == {"n": 1}
    world.sfn.stop_execution(executionArn=execution)
    return task


@call("GetExecutionHistory")
def _(world):
    execution = world.start(world.machine())
    world.ended(execution)
    return world.sfn.get_execution_history(executionArn=execution)


@call("ListActivities")
def _(world):
    world.activity()
    return world.sfn.list_activities()


@call("ListExecutions")
def _(world):
    machine = world.machine()
    world.start(machine)
    answer = world.sfn.list_executions(stateMachineArn=machine)
    assert len(answer["executions"]) == 1
    return answer


@call("ListStateMachineAliases")
def _(world):
    machine, alias_arn = alias(world)
    answer = world.sfn.list_state_machine_aliases(stateMachineArn=machine)
    assert [found["stateMachineAliasArn"] for found in answer["stateMachineAliases"]] == [alias_arn]
    return answer


@call("ListStateMachineVersions")
def _(world):
    machine, version_arn = version(world)
    answer = world.sfn.list_state_machine_versions(stateMachineArn=machine)
    assert [found["stateMachineVersionArn"] for found in answer["stateMachineVersions"]] == [version_arn]
    return answer


@call("ListStateMachines")
def _(world):
    world.machine()
    return world.sfn.list_state_machines()


@call("ListTagsForResource")
def _(world):
    return world.sfn.list_tags_for_resource(resourceArn=world.machine())


@call("PublishStateMachineVersion")
def _(world):
    return world.sfn.publish_state_machine_version(stateMachineArn=world.machine())


@call("RedriveExecution")
def _(world):
    execution = world.start(world.machine(FAIL))
    world.ended(execution)
    return world.sfn.redrive_execution(executionArn=execution)


@call("SendTaskFailure")
def _(world):
    execution, task = world.running()
    answer = world.sfn.send_task_failure(taskToken=task["taskToken"], error="E", cause="C")
    ended = world.ended(execution)
    assert (ended["status"], ended["error"], ended["cause"]) == ("FAILED", "E", "C")
    return answer


@call("SendTaskHeartbeat")
def _(world):
    execution, task = world.running()
    answer = world.sfn.send_task_heartbeat(taskToken=task["taskToken"])
    world.sfn.stop_execution(executionArn=execution)
    return answer


@call("SendTaskSuccess")
def _(world):
    execution, task = world.running()
    answer = world.sfn.send_task_success(taskToken=task["taskToken"], output='{"done":true}')
    assert world.ended(execution)["output"] == '{"done":true}'
    return answer


@call("StartExecution")
def _(world):
    return world.sfn.start_execution(stateMachineArn=world.machine(), name="one", input="{}", traceHeader="Root=1")


@call("StartSyncExecution")
def _(world):
    answer = world.sfn.start_sync_execution(stateMachineArn=world.express(passing({"a": 1})))
    assert (answer["status"], json.loads(answer["output"])) == ("SUCCEEDED", {"a": 1})
    return answer


@call("StopExecution")
def _(world):
    return world.sfn.stop_execution(executionArn=world.start(world.machine(WAIT)), error="E", cause="C")


@call("TagResource")
def _(world):
    return world.sfn.tag_resource(resourceArn=world.machine(), tags=[{"key": "k", "value": "v"}])


@call("TestState")
def _(world):
    state = '{"Type":"Pass","Result":1,"End":true}'
    answer = world.sfn.test_state(definition=state, roleArn=ROLE, input="{}")
    assert (answer["status"], answer["output"]) == ("SUCCEEDED", "1")
    return answer


@call("UntagResource")
def _(world):
    return world.sfn.untag_resource(resourceArn=world.activity(), tagKeys=["k"])


@call("UpdateStateMachine")
def _(world):
    return world.sfn.update_state_machine(stateMachineArn=world.machine(), definition=waiting(1))


@call("UpdateStateMachineAlias")
def _(world):
    return world.sfn.update_state_machine_alias(stateMachineAliasArn=alias(world)[1], description="other")


@call("ValidateStateMachineDefinition")
def _(world):
    answer = world.sfn.validate_state_machine_definition(definition=PASS)
    assert (answer["result"], answer["diagnostics"]) == ("OK", [])
    return answer
