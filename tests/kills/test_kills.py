"""The server is killed at random moments under one load with all that is durable.

Every execution and event that a client was told of runs and ends as it must, soon after the last restart. No
timeout comes to the rescue: all are an hour long.
"""

import collections
import json
import random
import time

import pytest

from everstep import arn, until
from house import House, read_lines
from load import FAIL, RETRIES, Load, expected, functions, machines

# After the last restart: processes start, waits of a second pass, some retries are made.
END_SECONDS = 60
# Between two kills.
UPTIME_SECONDS_MAX = 1.2
# An attempt is repeated whatever cuts it short; only one that is cut short five times in a row has failed.
INTERRUPTED_SHARE_MAX = 0.01
ENDS = {"FAILED", "TIMED_OUT", "ABORTED", "SUCCEEDED"}


@pytest.fixture
def house(tmp_path):
    records = tmp_path / "records.jsonl"
    house = House(tmp_path, functions(records), stateMachines=machines())
    house.records = records
    yield house
    house.server.stop()


def test_nothing_that_was_accepted_is_lost(house, request):
    kills, seed = (request.config.getoption(name) for name in ("count", "seed"))
    load = Load(house)
    load.start()
    try:
        kill_often(house, load, kills, seed)
        load.starts_over.set()
        wait_for_all(house, load)
    finally:
        load.end()
    assert not load.problems, load.problems
    problems = []
    # One run shows all that is wrong.
    for check in (check_orders, check_invocations, check_deliveries):
        try:
            check(house, load)
        except AssertionError as error:
            problems.append(f"{check.__name__}: {str(error)[:2000]}")
    assert not problems, "\n".join(problems)


def kill_often(house, load, kills, seed):
    """Every third time at once, else at a moment between starts of workers and the ends of their tasks."""
    dice = random.Random(seed)
    for number in range(kills):
        uptime = 0 if number % 3 == 2 else dice.uniform(0, UPTIME_SECONDS_MAX)
        deadline = time.monotonic() + uptime
        until(lambda: load.problems or time.monotonic() >= deadline, "the moment", uptime + 1)
        assert house.server.process.poll() is None, house.server.said[-5:]
        assert not load.problems, load.problems
        house.restart()


def describe(house, machine, name):
    execution = arn(f"execution:{machine}:{name}")
    status, _, body = house.server.post("DescribeExecution", {"executionArn": execution})
    assert status == 200, (execution, body)
    return body


def wait_for_all(house, load):
    """Within some seconds after the last restart."""
    began = time.monotonic()
    waited = {("order", name) for name in load.orders} | {("fail", name) for name in load.failures}

    def over():
        waited.difference_update([one for one in waited if describe(house, *one)["status"] in ENDS])
        return not waited

    try:
        until(over, "the end of all executions", END_SECONDS)
        house.all_ended()
    except AssertionError:
        stranded = {one: last_event(house, *one) for one in sorted(waited)}
        going = [one for one in house.listed() if one["state"] in {"Accepted", "Running", "Waiting"}]
        raise AssertionError(f"stranded: {stranded} {going[:5]}") from None
    print(f"all was over {time.monotonic() - began:.1f} s after the last restart")


def last_event(house, machine, name):
    given = {"executionArn": arn(f"execution:{machine}:{name}"), "reverseOrder": True, "maxResults": 1}
    [event] = house.server.post("GetExecutionHistory", given)[2]["events"]
    return event["type"]


def check_orders(house, load):
    for name, n in load.orders.items():
        found = describe(house, "order", name)
        assert (found["status"], json.loads(found.get("output", "null"))) == ("SUCCEEDED", expected(n)), json.dumps(found)
        check_history(house, name)
    for name in load.failures:
        found = describe(house, "fail", name)
        assert (found["status"], found["error"]) == ("FAILED", FAIL["States"]["Fail"]["Error"])
    print(f"{len(load.orders)} orders and {len(load.failures)} failures, as they must be")


def check_history(house, name):
    """Each result counts once."""
    given = {"executionArn": arn(f"execution:order:{name}"), "maxResults": 1000, "includeExecutionData": False}
    types = collections.Counter(event["type"] for event in house.server.post("GetExecutionHistory", given)[2]["events"])
    once = ["ExecutionSucceeded", "ActivitySucceeded", "MapRunSucceeded"]
    assert {kind: types[kind] for kind in once} == dict.fromkeys(once, 1), types
    # The callback and the nested execution; the function by itself and for each item.
    assert (types["TaskSucceeded"], types["LambdaFunctionSucceeded"]) == (2, 4), types
    assert types["TaskTimedOut"] == types["ActivityTimedOut"] == types["LambdaFunctionTimedOut"] == 0, types


def check_invocations(house, load):
    found = {one["dedupeKey"]: one for one in house.listed() if one.get("dedupeKey") in load.invocations}
    assert {key: one["invocationId"] for key, one in found.items()} == load.invocations
    lines = collections.defaultdict(collections.Counter)
    for line in house.lines():
        lines[line["id"]][line["attempt"]] += 1
    never_run, wrong = [], []
    made = interrupted = repeated = 0
    for key, one in found.items():
        ran, attempts = lines[one["invocationId"]], one["attempts"]
        cut = [attempt["n"] for attempt in attempts if attempt.get("errorType") == "Runtime.Interrupted"]
        if not ran:
            never_run.append(key)
        elif not is_as_planned(key.split("-")[0], one, ran, cut):
            wrong.append(one)
        made, interrupted = made + len(attempts), interrupted + len(cut)
        repeated += sum(times - 1 for times in ran.values())
    print(f"{len(found)} invocations, {made} attempts, repeated {repeated} times, {interrupted} failed as interrupted")
    assert not never_run, f"{len(never_run)} were accepted and never run: {never_run}"
    assert not wrong, f"{len(wrong)} did not end as planned: {wrong[:3]}"
    assert interrupted <= INTERRUPTED_SHARE_MAX * made, f"{interrupted} of {made} attempts failed as interrupted"


def is_as_planned(function, one, ran, cut):
    """All attempts are there and have run, and there are as many as the function's plan makes."""
    numbers = [attempt["n"] for attempt in one["attempts"]]
    if numbers != list(range(1, len(numbers) + 1)) or not set(numbers) - set(cut) <= set(ran):
        return False
    plan = {"once": ("Succeeded", 1), "again": ("Succeeded", 2), "doomed": ("Exhausted", RETRIES + 1)}
    return bool(cut) or (one["state"], len(numbers)) == plan[function]


def check_deliveries(house, load):
    """Each destination is notified of each end: at least once, and the same each time."""
    by_key = {one["dedupeKey"]: one for one in house.listed() if one.get("dedupeKey") in load.invocations}
    dead = {one["invocationId"] for one in by_key.values() if one["state"] == "Exhausted" and one["function"] == "doomed"}
    told = collections.defaultdict(set)
    for record in read_lines(house.records):
        told[record["requestContext"]["requestId"]].add(json.dumps(record, sort_keys=True))
    assert set(told) == dead
    assert {len(records) for records in told.values()} <= {1}
    events = [line["event"] for line in house.lines("tell")]
    failures = {event["detail"]["executionArn"] for event in events if "detail" in event}
    assert failures == {arn(f"execution:fail:{name}") for name in load.failures}
    successes = {event["requestContext"]["requestId"] for event in events if "requestContext" in event}
    good = {one["invocationId"] for one in by_key.values() if one["state"] == "Succeeded" and one["function"] == "again"}
    assert successes == good
    print(f"{len(told)} records in a file, {len(failures) + len(successes)} notifications of a function")
