"""Machines: made, found again, changed, deleted; what they are configured with."""

import datetime
import json

import pytest
from botocore.exceptions import ClientError

from definitions import FAIL, PASS, WAIT, passing, text, waiting
from everstep import ROLE, arn, until

GROUP = "arn:aws:logs:us-east-1:123456789012:log-group:steps:*"
LOGGING = {
    "level": "ERROR",
    "includeExecutionData": True,
    "destinations": [{"cloudWatchLogsLogGroup": {"logGroupArn": GROUP}}],
}
ENCRYPTION = {"type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "alias/key", "kmsDataKeyReusePeriodSeconds": 60}


def test_what_is_made_is_described(world):
    name = world.name()
    made = world.sfn.create_state_machine(name=name, definition=PASS, roleArn=ROLE)
    assert made["stateMachineArn"] == arn(f"stateMachine:{name}")
    assert isinstance(made["creationDate"], datetime.datetime)
    found = world.sfn.describe_state_machine(stateMachineArn=made["stateMachineArn"])
    expected = {
        "stateMachineArn": made["stateMachineArn"],
        "name": name,
        "status": "ACTIVE",
        "definition": PASS,
        "roleArn": ROLE,
        "type": "STANDARD",
        "creationDate": made["creationDate"],
        "loggingConfiguration": {"level": "OFF", "includeExecutionData": False},
        "tracingConfiguration": {"enabled": False},
        "encryptionConfiguration": {"type": "AWS_OWNED_KEY"},
    }
    assert {k: v for k, v in found.items() if k != "ResponseMetadata"} == expected


def test_logging_tracing_and_encryption_are_kept_and_shown(world):
    given = {
        "loggingConfiguration": LOGGING,
        "tracingConfiguration": {"enabled": True},
        "encryptionConfiguration": ENCRYPTION,
    }
    machine = world.machine(**given)
    found = world.sfn.describe_state_machine(stateMachineArn=machine)
    assert {member: found[member] for member in given} == given
    execution = world.start(machine)
    found = world.sfn.describe_state_machine_for_execution(executionArn=execution)
    assert {member: found[member] for member in given} == given
    world.sfn.update_state_machine(
        stateMachineArn=machine,
        loggingConfiguration={"level": "OFF"},
        tracingConfiguration={"enabled": False},
        encryptionConfiguration={"type": "AWS_OWNED_KEY"},
    )
    found = world.sfn.describe_state_machine(stateMachineArn=machine)
    assert found["loggingConfiguration"]["level"] == "OFF"
    assert found["tracingConfiguration"] == {"enabled": False}
    assert found["encryptionConfiguration"] == {"type": "AWS_OWNED_KEY"}
    activity = world.activity(encryptionConfiguration=ENCRYPTION)
    assert world.sfn.describe_activity(activityArn=activity)["encryptionConfiguration"] == ENCRYPTION


def test_the_same_request_finds_the_same_machine(world):
    request = {"name": world.name(), "definition": PASS, "roleArn": ROLE, "tags": [{"key": "a", "value": "1"}]}
    first = world.sfn.create_state_machine(**request)
    again = world.sfn.create_state_machine(**request)
    # The service compares neither the role nor the tags.
    other = world.sfn.create_state_machine(**request | {"roleArn": ROLE + "2", "tags": []})
    for answer in [again, other]:
        assert answer["stateMachineArn"] == first["stateMachineArn"]
        assert answer["creationDate"] == first["creationDate"]
    assert world.sfn.describe_state_machine(stateMachineArn=first["stateMachineArn"])["roleArn"] == ROLE
    for change in [{"definition": WAIT}, {"type": "EXPRESS"}, {"publish": True}, {"loggingConfiguration": LOGGING}]:
        with pytest.raises(world.sfn.exceptions.StateMachineAlreadyExists):
            world.sfn.create_state_machine(**request | change)


def test_an_update_makes_a_revision_and_leaves_what_runs(world):
    machine = world.machine(waiting(3600))
    before = world.start(machine)
    assert "revisionId" not in world.sfn.describe_state_machine(stateMachineArn=machine)
    updated = world.sfn.update_state_machine(stateMachineArn=machine, definition=passing({"new": True}))
    found = world.sfn.describe_state_machine(stateMachineArn=machine)
    assert found["revisionId"] == updated["revisionId"]
    same = world.sfn.update_state_machine(stateMachineArn=machine, definition=passing({"new": True}))
    assert same["revisionId"] == updated["revisionId"]
    assert json.loads(world.ended(world.start(machine))["output"]) == {"new": True}
    described = world.sfn.describe_state_machine_for_execution(executionArn=before)
    assert described["definition"] == waiting(3600)
    assert world.sfn.describe_execution(executionArn=before)["status"] == "RUNNING"
    world.sfn.stop_execution(executionArn=before)


def test_metadata_only(world):
    machine = world.machine(PASS)
    found = world.sfn.describe_state_machine(stateMachineArn=machine, includedData="METADATA_ONLY")
    assert found["definition"] == "{}"
    execution = world.start(machine, {"secret": 1})
    world.ended(execution)
    found = world.sfn.describe_execution(executionArn=execution, includedData="METADATA_ONLY")
    assert "input" not in found and "output" not in found
    assert found["inputDetails"] == {"included": False} == found["outputDetails"]


def test_variables_are_named_where_they_are_used(world):
    definition = text(
        {
            "Set": {"Type": "Pass", "Assign": {"x": 1}, "Next": "Use"},
            "Use": {"Type": "Pass", "Output": "{% $x %}", "End": True},
        },
        QueryLanguage="JSONata",
    )
    machine = world.machine(definition)
    found = world.sfn.describe_state_machine(stateMachineArn=machine)
    assert found["variableReferences"] == {"Use": ["x"]}
    assert json.loads(world.ended(world.start(machine))["output"]) == 1


def test_a_definition_is_refused_with_its_place(world):
    wrong = text({"A": {"Type": "Pass", "Next": "Nowhere"}})
    with pytest.raises(world.sfn.exceptions.InvalidDefinition) as raised:
        world.machine(wrong)
    message = raised.value.response["Error"]["Message"]
    assert message.startswith("Invalid State Machine Definition: '")
    assert "/States/A/Next" in message and "MISSING_TRANSITION_TARGET" in message


def test_deleted_machines_go_when_their_executions_are_over(world):
    machine, execution = world.deleting()
    assert world.sfn.describe_state_machine(stateMachineArn=machine)["status"] == "DELETING"
    assert world.sfn.describe_execution(executionArn=execution)["status"] == "RUNNING"
    world.sfn.stop_execution(executionArn=execution)

    def gone():
        try:
            world.sfn.describe_state_machine(stateMachineArn=machine)
        except world.sfn.exceptions.StateMachineDoesNotExist:
            return True

    until(gone, "the end of the machine")
    with pytest.raises(world.sfn.exceptions.ExecutionDoesNotExist):
        world.sfn.describe_execution(executionArn=execution)
    # The name is free again, and a machine that is gone may be deleted once more.
    world.sfn.delete_state_machine(stateMachineArn=machine)
    assert world.machine(FAIL, name=machine.rsplit(":", 1)[1]) == machine


def test_several_mistakes_are_told_at_once(world):
    with pytest.raises(ClientError) as raised:
        world.sfn.create_state_machine(name="x" * 81, definition=PASS, roleArn="r" * 257, type="SLOW")
    message = raised.value.response["Error"]["Message"]
    assert message.startswith("3 validation errors detected: ")
    assert "Member must satisfy enum value set: [STANDARD, EXPRESS]" in message


def test_validation_says_what_is_wrong(world):
    wrong = text({"A": {"Type": "Pass", "Next": "Nowhere"}, "B": {"Type": "Succeed"}})
    found = world.sfn.validate_state_machine_definition(definition=wrong, severity="WARNING")
    assert (found["result"], found["truncated"]) == ("FAIL", False)
    places = {(found["severity"], found["code"], found["location"]) for found in found["diagnostics"]}
    assert places == {
        ("ERROR", "MISSING_TRANSITION_TARGET", "/States/A/Next"),
        ("WARNING", "UNREACHABLE_STATE", "/States/B"),
    }
    cut = world.sfn.validate_state_machine_definition(definition=wrong, severity="WARNING", maxResults=1)
    assert len(cut["diagnostics"]) == 1 and cut["truncated"] is True
    not_json = world.sfn.validate_state_machine_definition(definition="{")
    assert [found["code"] for found in not_json["diagnostics"]] == ["INVALID_JSON_DESCRIPTION"]
    callback = text({"A": {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync", "End": True}})
    assert world.sfn.validate_state_machine_definition(definition=callback, type="EXPRESS")["result"] == "FAIL"


@pytest.mark.parametrize("kind", ["machine", "activity"])
def test_tags(world, kind):
    resource = getattr(world, kind)(tags=[{"key": "a", "value": "1"}])

    def tags():
        found = world.sfn.list_tags_for_resource(resourceArn=resource)["tags"]
        return {tag["key"]: tag["value"] for tag in found}

    assert tags() == {"a": "1"}
    world.sfn.tag_resource(resourceArn=resource, tags=[{"key": "a", "value": "2"}, {"key": "b", "value": ""}])
    assert tags() == {"a": "2", "b": ""}
    world.sfn.untag_resource(resourceArn=resource, tagKeys=["a", "never"])
    assert tags() == {"b": ""}
    with pytest.raises(ClientError) as raised:
        world.sfn.tag_resource(resourceArn=resource, tags=[{"key": "aws:x", "value": "1"}])
    assert raised.value.response["Error"]["Code"] == "ValidationException"
