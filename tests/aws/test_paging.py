"""Lists and histories, page by page; tokens that are good for one list only."""

import pytest

from definitions import PASS, WAIT, text
from everstep import ROLE


def pages(method, member, **request):
    """All pages of a list, of two each."""
    found, token = [], {}
    while True:
        page = method(maxResults=2, **request, **token)
        assert len(page[member]) <= 2
        found.append(page[member])
        if "nextToken" not in page:
            return found
        assert page[member], "a page that is not the last has something"
        token = {"nextToken": page["nextToken"]}


def flat(found):
    return [row for page in found for row in page]


def test_machines_and_activities(world):
    machines = {world.machine() for _ in range(5)}
    found = [row["stateMachineArn"] for row in flat(pages(world.sfn.list_state_machines, "stateMachines"))]
    assert machines <= set(found) and len(found) == len(set(found))
    assert found == sorted(found)
    whole = world.sfn.get_paginator("list_state_machines").paginate(PaginationConfig={"PageSize": 3})
    assert [row["stateMachineArn"] for page in whole for row in page["stateMachines"]] == found
    activities = {world.activity() for _ in range(5)}
    found = [row["activityArn"] for row in flat(pages(world.sfn.list_activities, "activities"))]
    assert activities <= set(found) and len(found) == len(set(found))


def test_executions_the_latest_first(world):
    machine = world.machine(WAIT)
    started = [world.start(machine) for _ in range(5)]
    found = pages(world.sfn.list_executions, "executions", stateMachineArn=machine)
    assert [len(page) for page in found] == [2, 2, 1]
    dates = [row["startDate"] for row in flat(found)]
    assert dates == sorted(dates, reverse=True)
    assert {row["executionArn"] for row in flat(found)} == set(started)
    running = pages(world.sfn.list_executions, "executions", stateMachineArn=machine, statusFilter="RUNNING")
    assert flat(running) == flat(found)
    # What is started while somebody reads does not disturb.
    first = world.sfn.list_executions(stateMachineArn=machine, maxResults=3)
    world.start(machine)
    rest = world.sfn.list_executions(stateMachineArn=machine, maxResults=3, nextToken=first["nextToken"])
    assert first["executions"] + rest["executions"] == flat(found)


def test_versions_and_aliases_the_latest_first(world):
    machine = world.machine()
    versions = []
    for number in range(5):
        world.sfn.update_state_machine(stateMachineArn=machine, roleArn=f"{ROLE}-{number}")
        versions.append(world.publish(machine))
    found = pages(world.sfn.list_state_machine_versions, "stateMachineVersions", stateMachineArn=machine)
    assert [row["stateMachineVersionArn"] for row in flat(found)] == versions[::-1]
    aliases = {world.alias((versions[0], 100), name=f"alias-{number}") for number in range(5)}
    found = pages(world.sfn.list_state_machine_aliases, "stateMachineAliases", stateMachineArn=machine)
    assert [len(page) for page in found] == [2, 2, 1]
    assert {row["stateMachineAliasArn"] for row in flat(found)} == aliases
    none = world.sfn.list_state_machine_aliases(stateMachineArn=versions[1])
    assert none["stateMachineAliases"] == []


def long_history(world):
    states = {f"S{number}": {"Type": "Pass", "Next": f"S{number + 1}"} for number in range(6)}
    execution = world.start(world.machine(text(states | {"S6": {"Type": "Pass", "End": True}})))
    world.ended(execution)
    return execution


@pytest.mark.parametrize("reverse", [False, True])
def test_histories(world, reverse):
    execution = long_history(world)
    found = pages(world.sfn.get_execution_history, "events", executionArn=execution, reverseOrder=reverse)
    ids = [event["id"] for event in flat(found)]
    assert sorted(ids, reverse=reverse) == ids and set(ids) == set(range(1, 17))
    assert [len(page) for page in found] == [2] * 8
    whole = world.sfn.get_execution_history(executionArn=execution, reverseOrder=reverse, maxResults=1000)
    assert whole["events"] == flat(found) and "nextToken" not in whole
    assert all(event["previousEventId"] < event["id"] for event in whole["events"])


def test_a_history_without_data(world):
    execution = world.start(world.machine(PASS), {"secret": 1})
    world.ended(execution)
    shown = world.sfn.get_execution_history(executionArn=execution, includeExecutionData=True)
    hidden = world.sfn.get_execution_history(executionArn=execution, includeExecutionData=False)
    assert "secret" in str(shown["events"]) and "secret" not in str(hidden["events"])
    assert [event["type"] for event in shown["events"]] == [event["type"] for event in hidden["events"]]


def test_a_token_is_good_for_its_own_list(world):
    one, other = long_history(world), long_history(world)
    token = world.sfn.get_execution_history(executionArn=one, maxResults=1)["nextToken"]
    machine = world.machine(WAIT)
    for _ in range(2):
        world.start(machine)
    executions = world.sfn.list_executions(stateMachineArn=machine, maxResults=1)["nextToken"]
    [world.machine() for _ in range(2)]
    machines = world.sfn.list_state_machines(maxResults=1)["nextToken"]
    wrong = [
        lambda: world.sfn.get_execution_history(executionArn=other, nextToken=token),
        lambda: world.sfn.get_execution_history(executionArn=one, reverseOrder=True, nextToken=token),
        lambda: world.sfn.get_execution_history(executionArn=one, nextToken=executions),
        lambda: world.sfn.get_execution_history(executionArn=one, nextToken=token[:-1]),
        lambda: world.sfn.list_executions(stateMachineArn=world.machine(), nextToken=executions),
        lambda: world.sfn.list_executions(stateMachineArn=machine, statusFilter="FAILED", nextToken=executions),
        lambda: world.sfn.list_executions(stateMachineArn=machine, nextToken=machines),
        lambda: world.sfn.list_activities(nextToken=machines),
        lambda: world.sfn.list_state_machines(nextToken=token),
        lambda: world.sfn.list_state_machine_versions(stateMachineArn=machine, nextToken=machines),
        lambda: world.sfn.list_state_machine_aliases(stateMachineArn=machine, nextToken=machines),
    ]
    for ask in wrong:
        with pytest.raises(world.sfn.exceptions.InvalidToken):
            ask()
    assert world.sfn.get_execution_history(executionArn=one, nextToken=token)["events"][0]["id"] == 2


def test_a_page_may_have_a_size_of_nought(world):
    """Which means as many as usual, as the service has it."""
    machine = world.machine(WAIT)
    started = {world.start(machine) for _ in range(3)}
    found = world.sfn.list_executions(stateMachineArn=machine, maxResults=0)
    assert {row["executionArn"] for row in found["executions"]} == started
