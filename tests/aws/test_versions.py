"""Versions and aliases: what is published stays, and traffic goes by weights."""

import collections
import datetime
import json

import pytest
from botocore.exceptions import ClientError

from definitions import WAIT, passing
from everstep import ROLE, until


def two_versions(world):
    machine = world.machine(passing({"version": 1}), publish=True, versionDescription="one")
    made = world.sfn.update_state_machine(stateMachineArn=machine, definition=passing({"version": 2}), publish=True)
    assert made["stateMachineVersionArn"] == f"{machine}:2"
    return machine, f"{machine}:1", f"{machine}:2"


def test_a_version_stays_as_it_was_published(world):
    machine, one, two = two_versions(world)
    world.sfn.update_state_machine(stateMachineArn=machine, definition=passing({"version": "none"}))
    for arn, version in [(one, 1), (two, 2), (machine, "none")]:
        assert json.loads(world.ended(world.start(arn))["output"]) == {"version": version}
        found = world.sfn.describe_state_machine(stateMachineArn=arn)
        assert (found["stateMachineArn"], found["definition"]) == (arn, passing({"version": version}))
    assert world.sfn.describe_state_machine(stateMachineArn=one)["description"] == "one"
    described = world.ended(world.start(two))
    assert (described["stateMachineArn"], described["stateMachineVersionArn"]) == (machine, two)


def test_a_revision_has_one_version(world):
    machine = world.machine()
    one = world.publish(machine, revisionId="INITIAL")
    assert world.publish(machine) == one == f"{machine}:1"
    revision = world.sfn.update_state_machine(stateMachineArn=machine, definition=WAIT)["revisionId"]
    with pytest.raises(world.sfn.exceptions.ConflictException):
        world.publish(machine, revisionId="INITIAL")
    assert world.publish(machine, revisionId=revision) == f"{machine}:2"
    world.sfn.delete_state_machine_version(stateMachineVersionArn=f"{machine}:2")
    # Its number is not given again.
    assert world.publish(machine) == f"{machine}:3"
    with pytest.raises(world.sfn.exceptions.StateMachineDoesNotExist):
        world.start(f"{machine}:2")


def test_an_alias_routes_by_weight(world):
    machine, one, two = two_versions(world)
    alias = world.alias((one, 50), (two, 50), description="half")
    assert alias == f"{machine}:live"
    seen = collections.Counter()
    for _ in range(60):
        described = world.sfn.describe_execution(executionArn=world.start(alias))
        assert (described["stateMachineAliasArn"], described["stateMachineArn"]) == (alias, machine)
        seen[described["stateMachineVersionArn"]] += 1
    # That one of them is never drawn has a chance of one in 2^59.
    assert set(seen) == {one, two} and seen.total() == 60
    world.sfn.update_state_machine_alias(
        stateMachineAliasArn=alias,
        routingConfiguration=[
            {"stateMachineVersionArn": one, "weight": 0},
            {"stateMachineVersionArn": two, "weight": 100},
        ],
    )
    for _ in range(20):
        described = world.sfn.describe_execution(executionArn=world.start(alias))
        assert described["stateMachineVersionArn"] == two
    listed = world.sfn.list_executions(stateMachineArn=alias)["executions"]
    assert len(listed) == 80 and {row["stateMachineAliasArn"] for row in listed} == {alias}
    through_two = world.sfn.list_executions(stateMachineArn=two)["executions"]
    assert len(through_two) == seen[two] + 20


def test_an_alias_is_found_again_changed_and_deleted(world):
    _, one, two = two_versions(world)
    request = {
        "name": "live",
        "description": "d",
        "routingConfiguration": [{"stateMachineVersionArn": one, "weight": 100}],
    }
    first = world.sfn.create_state_machine_alias(**request)
    again = world.sfn.create_state_machine_alias(**request)
    alias = first["stateMachineAliasArn"]
    assert (again["stateMachineAliasArn"], again["creationDate"]) == (alias, first["creationDate"])
    found = world.sfn.describe_state_machine_alias(stateMachineAliasArn=alias)
    assert {member: found[member] for member in request} == request
    world.sfn.update_state_machine_alias(stateMachineAliasArn=alias, description="new")
    found = world.sfn.describe_state_machine_alias(stateMachineAliasArn=alias)
    assert found["description"] == "new" and found["routingConfiguration"] == request["routingConfiguration"]
    assert found["updateDate"] >= found["creationDate"]
    with pytest.raises(world.sfn.exceptions.ConflictException) as raised:
        world.sfn.delete_state_machine_version(stateMachineVersionArn=one)
    assert "live" in raised.value.response["Error"]["Message"]
    world.sfn.delete_state_machine_alias(stateMachineAliasArn=alias)
    world.sfn.delete_state_machine_version(stateMachineVersionArn=one)
    with pytest.raises(world.sfn.exceptions.ResourceNotFound) as raised:
        world.sfn.describe_state_machine_alias(stateMachineAliasArn=alias)
    assert raised.value.response["resourceName"] == alias
    with pytest.raises(world.sfn.exceptions.StateMachineDoesNotExist):
        world.start(alias)


def test_routes_that_lead_nowhere(world):
    machine, one, two = two_versions(world)
    other = world.publish(world.machine())
    for routes in [
        [(one, 99)],
        [(one, 50), (two, 51)],
        [(one, 50), (one, 50)],
        [(one, 50), (other, 50)],
        [(f"{machine}:live", 100)],
    ]:
        with pytest.raises(ClientError) as raised:
            world.alias(*routes, name="wrong")
        assert raised.value.response["Error"]["Code"] == "ValidationException", routes
        assert raised.value.response["reason"] == "INVALID_ROUTING_CONFIGURATION", routes
    with pytest.raises(ClientError) as raised:
        world.alias((one, 100), name="7")
    assert raised.value.response["Error"]["Code"] == "ValidationException"
    with pytest.raises(world.sfn.exceptions.ResourceNotFound):
        world.alias((f"{machine}:9", 100), name="wrong")


def test_routes_to_what_is_no_version(world):
    machine, one, two = two_versions(world)
    for routes in [[(machine, 100)], [(machine, 70), (two, 30)]]:
        with pytest.raises(ClientError) as raised:
            world.alias(*routes)
        received = ", ".join(arn for arn, _ in routes)
        found = raised.value.response["Error"]
        assert (found["Code"], found["Message"]) == (
            "ValidationException",
            f"Routing configuration must contain state machine version ARNs. Received: [{received}]",
        )


def later(world, alias):
    """Waits until the time at which an alias was created is over."""
    created = world.sfn.describe_state_machine_alias(stateMachineAliasArn=alias)["creationDate"]
    until(lambda: datetime.datetime.now(datetime.UTC) > created + datetime.timedelta(milliseconds=1))
    return alias


def test_aliases_are_listed_oldest_first_and_deleted_twice(world):
    machine, one, _ = two_versions(world)
    aliases = [later(world, world.alias((one, 100), name=name)) for name in ["c", "a", "b"]]

    def listed():
        answer = world.sfn.list_state_machine_aliases(stateMachineArn=machine)
        return [row["stateMachineAliasArn"] for row in answer["stateMachineAliases"]]

    assert listed() == aliases
    for _ in range(2):
        world.sfn.delete_state_machine_alias(stateMachineAliasArn=aliases[0])
    assert listed() == aliases[1:]


def test_another_description_publishes_no_other_version(world):
    """The service looks for a version of the current revision, and not at descriptions."""
    machine = world.machine()
    one = world.publish(machine, description="first")
    assert world.publish(machine, description="second") == one
    assert world.sfn.describe_state_machine(stateMachineArn=one)["description"] == "first"
    assert len(world.sfn.list_state_machine_versions(stateMachineArn=machine)["stateMachineVersions"]) == 1


def test_deleting_a_machine_takes_versions_and_aliases_along(world):
    machine, one, _ = two_versions(world)
    alias = world.alias((one, 100))
    world.sfn.delete_state_machine(stateMachineArn=machine)
    for arn in [one, alias]:
        with pytest.raises(world.sfn.exceptions.StateMachineDoesNotExist):
            world.start(arn)
    assert world.sfn.list_state_machine_versions(stateMachineArn=machine)["stateMachineVersions"] == []
    assert world.machine(name=machine.rsplit(":", 1)[1], roleArn=ROLE, publish=True) == machine
